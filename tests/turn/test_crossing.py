"""One token across one border, or several: what it does to a turn, and taking it back."""

from collections.abc import Callable
from typing import Any

import pytest

from enforcer.turn.table import Table
from tests.dialect_cases import TOOLS, at, opening, served, vocabulary
from tests.support import cases
from tests.vocabularies import feed, legal, row_of


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "token", "state"),
    cases.params("turn/cases/crossing.toml", "format, text, token, state"),
)
def test_a_token_crosses_its_borders(name: str, text: str, token: str, state: str | None) -> None:
    matcher, find = at(name, text)
    before, token_id = row_of(matcher), find(token.encode())
    assert token_id is not None
    assert (token_id in legal(matcher)) == (state is not None)
    assert matcher.accept(token_id) == (state is not None)
    if state is None:
        return
    assert matcher.state == state
    matcher.rollback(1)
    assert (row_of(matcher) == before).all()
    # The same bytes, one by one, lead to the same place.
    feed(matcher, list(token.encode()))
    assert matcher.state == state
    matcher.rollback(len(token.encode()))
    assert (row_of(matcher) == before).all()


def test_a_token_that_fails_behind_the_border_changes_nothing() -> None:
    matcher, find = at("hermes", '<tool_call>{"name": "get", "arguments": {"a": 1')
    before = row_of(matcher)
    assert not matcher.accept(find(b"}},"))
    assert (row_of(matcher) == before).all()
    assert matcher.accept(find(b"}}\n"))


def test_text_before_a_demanded_call_is_counted_by_tokens() -> None:
    matcher, find = at("hermes", "", tool_choice="required")
    many = find(b"functions.get:0")
    for _ in range(5):
        assert matcher.accept(many)
    assert not matcher.accept(many)
    assert {vocabulary("hermes").token_bytes(i) for i in legal(matcher)} <= {
        *(b"<tool_call>"[:n] for n in range(1, 12))
    }


def test_reasoning_before_a_demanded_call_is_not_counted() -> None:
    found = vocabulary("hermes")
    prompt_ids = [*opening("hermes"), found.control("<think>")]
    matcher = served("hermes").matcher(TOOLS, prompt_ids=prompt_ids, tool_choice="required")
    for _ in range(6):
        feed(matcher, [found.find(b"x{")])
    feed(matcher, [found.control("</think>")])
    for _ in range(5):
        feed(matcher, [found.find(b"x{")])
    assert found.find(b"x{") not in legal(matcher)


def test_rows_are_found_behind_tokens_and_not_at_bytes(calls_of: Callable[..., list[Any]]) -> None:
    """Each place in white space has a row of its own, which takes milliseconds to find."""
    matcher, find = at("granite_20b_fc", "Well")
    token = find(b"<function_call")
    asked = calls_of(Table, "row_at")
    assert matcher.accept(token)
    assert len(asked) == 1
    assert find(b">") in legal(matcher)
