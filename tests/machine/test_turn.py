"""A turn around its texts, by the sources of the kernel and by the compiled one."""

from __future__ import annotations

import pytest

import enforcer
from enforcer.engines import machine
from enforcer.machine import grammar
from enforcer.turn import around, dialects, header, reader
from enforcer.vocabulary import Vocabulary
from tests.dialect_cases import TOOLS
from tests.machine.interpreted import interpreted
from tests.vocabularies import row_of

HERMES = '<tool_call>\n{"name": "get", "arguments": {"a": 1}}\n</tool_call>\n<tool_call>'
CROSSING = [b'{"name": "get', b'", "arg', b'": {"a', b"1}}\n", b'": {}}', b"12}", b"call>\n"]
TURNS = {
    "hermes": ("Well. " + HERMES, CROSSING),
    "pythonic": ("[get(a=1), a()]", [b"[get", b"get(", b"()", b"(), a(", b"1), ", b")]", b"]x"]),
    "qwen3_coder": (
        "<tool_call>\n<function=get>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        [b"=get>\n", b">\n<parameter", b"\n</", b"</function>\n", b"1\n</parameter>\n"],
    ),
    "mistral": ('[TOOL_CALLS]get{"a": 1}[TOOL_CALLS]a{}', [b"get{", b"{}", b'{"a', b"weather{}"]),
}


def of(name: str, pieces: list[bytes]) -> Vocabulary:
    """Return a vocabulary of ASCII, of tokens over borders, and of special tokens that it needs."""
    tokens = [*(bytes([byte]) for byte in range(128)), *pieces]
    dialect, controls = dialects.load(name), {}
    for control in dialect.controls:
        if control not in dialect.tokens.spelled:
            controls[control] = len(tokens)
            tokens.append(control.encode())
    return Vocabulary(tokens, controls)


@pytest.mark.parametrize("name", TURNS)
def test_interpreted_it_does_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, pieces = TURNS[name]
    some, found = of(name, pieces), []
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
