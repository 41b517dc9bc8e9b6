"""The likely continuation of a text: what is proposed, in which style, and that it is legal."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from enforcer import kernel
from enforcer.layouts import COMPACT, JSON, LayoutKind
from enforcer.layouts.pattern import ID
from enforcer.machine import grammar as binding
from enforcer.schema import Root
from tests import laid_out
from tests.machine.interpreted import interpreted
from tests.support import cases, machine
from tests.support.cases import each_case

V = laid_out.vocabulary()
MOST = 80  # symbols of a draft
SPACED = 3


def tree(layout: str) -> kernel.Tree:
    kind = bound(layout).layout.kind
    is_python = kind is LayoutKind.PYTHON
    return binding.bound_vocabulary(V, is_raw=kind is LayoutKind.PAIRS, is_python=is_python)


known = cache(tree)


def token(symbol: int) -> int:
    return symbol if symbol < ID else symbol - ID


def bound(layout: str) -> Any:
    return {"json": JSON, "compact": COMPACT}.get(layout) or laid_out.bound(layout)


def begun(trees: Callable[[str], kernel.Tree], schema: Any, text: str, layout: str) -> Any:
    found = machine.held(schema, trees(layout), bound(layout), root=Root.OBJECT).matcher()
    assert all(map(found.accept, map(token, laid_out.symbols_of(text, layout)))), text
    return found


def drafted(text: Any, *, is_likely: bool) -> str:
    """Return a draft, with a point behind what is complete; all of it has to be legal."""
    before = text.token_ids(), machine.mask(text, V)
    _, pieces, is_whole = text.draft(MOST, SPACED, is_likely)
    ids = [i for each in pieces for i in (each if isinstance(each, bytes) else [each])]
    assert before == (text.token_ids(), machine.mask(text, V))
    assert text.count_legal(ids) == len(ids) - text_ends(ids)
    assert all(map(text.accept, ids))
    assert text.is_accepting() or not is_whole
    text.rollback(len(ids))
    return V.decode(ids).decode(errors="backslashreplace") + " ·" * bool(is_whole)


@each_case
def test_proposed(schema: Any, rows: list[list[str]], layout: str | None) -> None:
    for text, *expected in rows:
        found = begun(known, schema, text, layout or "json")
        assert [drafted(found, is_likely=each) for each in (True, False)] == expected, text


@each_case
def test_styles(text: str, before: int, after: int) -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {}}, "additionalProperties": False}
    assert begun(known, schema, text, "json").draft(0, before, True)[0] == after


@pytest.mark.slow
def test_interpreted_it_proposes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "kernel", interpreted())
    anew = cache(tree)
    for case in cases.read(cases.table_of(__file__), "proposed"):
        layout = case.get("layout", "json")
        for text, *expected in case["rows"]:
            found = begun(anew, case["schema"], text, layout)
            assert [drafted(found, is_likely=each) for each in (True, False)] == expected, text
