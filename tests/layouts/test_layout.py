"""The table `[arguments]`: what it says, what it may not, and what binding finds."""

from typing import Any

import pytest

from enforcer.layouts import Layout, LayoutKind, Trim, Types, WhiteSpace
from tests.laid_out import DECLARED, FORMATS, TABLES, bound
from tests.support import cases

K3 = TABLES["kimi_k3"]


def test_nothing_said_is_json() -> None:
    layout = Layout.read({})
    assert layout.kind is LayoutKind.JSON
    assert layout.bind(lambda _: None).plain


def test_json_without_line_breaks_is_not_plain() -> None:
    assert bound("deepseek").layout.white_space is WhiteSpace.NO_LINE_BREAKS
    assert not bound("deepseek").plain


@pytest.mark.parametrize("name", FORMATS)
def test_a_bound_layout_is_a_key(name: str) -> None:
    again = Layout.read(TABLES[name]).bind(dict(zip(("<|sep|>",), (3,), strict=True)).get)
    assert hash(bound(name)) == hash(bound(name))
    assert (again == bound(name)) == (not bound(name).ids)


def test_ids_and_stops() -> None:
    layout = bound("kimi_k3")
    assert len(layout.ids) == 3
    assert layout.text_behind("value") == "<|close|>argument<|sep|>"
    assert layout.ends_by_id("value")
    assert not layout.ends_by_id("key")
    assert bound("glm45").ends_by_id("key")
    assert bound("qwen3_coder").layout.trim is Trim.NEWLINE
    assert layout.layout.types is Types.WRITTEN
    assert all(bound(name).layout.types is Types.DECLARED for name in DECLARED)


@pytest.mark.parametrize("change", cases.read("layouts/cases/layout.toml"))
def test_patterns_that_do_not_go_together_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Layout.read({**K3, **change})


def test_what_is_no_text_or_missing_is_refused() -> None:
    with pytest.raises(TypeError):
        Layout.read({**K3, "close": 5})
    with pytest.raises(TypeError):
        Layout.read({**K3, "never": [5]})
    with pytest.raises(KeyError):
        Layout.read({"layout": "pairs", "pair": K3["pair"]})
