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
SPACED = 3  # the style of `json.dumps`
CASES = cases.read(cases.table_of(__file__), "drafted")


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


def drafted(text: Any, style: int | None, *, is_likely: bool) -> str:
    """Return a draft, with a point behind what is complete; all of it has to be legal."""
    before = text.token_ids(), machine.mask(text, V)
    _, pieces, is_whole = text.draft(MOST, style or SPACED, is_likely)
    ids = [i for each in pieces for i in (each if isinstance(each, bytes) else [each])]
    assert before == (text.token_ids(), machine.mask(text, V))
    assert all(map(text.accept, ids))
    assert text.is_accepting() or not is_whole
    text.rollback(len(ids))
    return V.decode(ids).decode(errors="backslashreplace") + " ·" * bool(is_whole)


def agree(trees: Callable[[str], kernel.Tree], case: dict[str, Any]) -> None:
    for text, *expected in case["rows"]:
        found = begun(trees, case["schema"], text, case.get("layout", "json"))
        both = [drafted(found, case.get("style"), is_likely=each) for each in (True, False)]
        assert both == expected, text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_likely_is_drafted(case: dict[str, Any]) -> None:
    agree(known, case)


@pytest.mark.slow
def test_interpreted_it_drafts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "kernel", interpreted())
    anew = cache(tree)
    for case in CASES:
        agree(anew, case)


@each_case
def test_styles(text: str, layout: str | None, before: int, after: int) -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {}}, "additionalProperties": False}
    found = begun(known, schema, text, layout or "json")
    assert found.draft(0, before, True) == (after, [b""], False)
