"""A turn around its texts, by the sources of the kernel and by the compiled one."""

from typing import Any

import pytest

import enforcer
from enforcer.engines import machine
from enforcer.machine import grammar
from enforcer.turn import around, dialects, header, reader
from enforcer.vocabulary import Vocabulary
from tests.dialect_cases import TOOLS
from tests.machine.interpreted import interpreted
from tests.support import cases
from tests.vocabularies import row_of


def of(name: str, pieces: list[bytes]) -> Vocabulary:
    """Return a vocabulary of ASCII, of tokens over borders, and of special tokens that it needs."""
    tokens = [*(bytes([byte]) for byte in range(128)), *pieces]
    dialect, controls = dialects.load(name), {}
    for control in dialect.controls:
        if control not in dialect.tokens.spelled:
            controls[control] = len(tokens)
            tokens.append(control.encode())
    return Vocabulary(tokens, controls)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "tokens"), cases.params("machine/cases/turns.toml", "name, text, pieces")
)
def test_interpreted_it_does_the_same(
    name: str, text: str, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [token.encode() for token in tokens]
    some, found = of(name, pieces), list[Any]()
    for is_source in (False, True):
        for module in (grammar, machine, around, reader, header) if is_source else ():
            monkeypatch.setattr(module, "kernel", interpreted())
        matcher = enforcer.Enforcer(some, name).matcher(TOOLS)
        rows = []
        for token in some.encode(text, markers=True):
            crossed = [each for each in pieces if matcher.validate([some.find(each)])]
            rows.append((crossed, row_of(matcher).tolist()))
            assert matcher.accept(token)
        assert matcher.failure is None
        found.append(rows)
    assert found[0] == found[1]
