"""Turns with the same tools share mask rows and transitions outside of texts."""

from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.turn import dialects, position
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.matcher import Matcher
from enforcer.turn.table import Table
from tests import toys
from tests.turn.known import HEADER, TEXTS, V
from tests.vocabularies import call, feed, row_of, section, write

TURN = write(V, "<think>hm</think>ok" + section(call("get", 0, "{}"), call("get", 1, '{"a": 1}')))


class Turns:
    """Turns of one table."""

    def __init__(self) -> None:
        self.table = Table(dialects.load("kimi_k2"), V)
        self.told: list[str] = []

    def begin(
        self, *names: str, due: Due = Due.WORD, preamble: int = 9, prompt: str = HEADER
    ) -> Matcher:
        envelope = Envelope(
            self.table, names or ("get", "other"), due=due, most=9, first=0, preamble=preamble
        )
        start = toys.Starts(lambda: toys.Listed(V, TEXTS))
        return Matcher(envelope, lambda _: start, write(V, prompt), expect=self.told.append)


def followed(matcher: Matcher) -> list[Any]:
    """Return the masks and positions of a whole turn."""
    found = []
    for token_id in TURN:
        found.append((row_of(matcher).tolist(), matcher.position))
        feed(matcher, [token_id])
    return found


@pytest.mark.parametrize("due", Due)
def test_the_masks_of_later_turns_are_those_of_the_first(due: Due) -> None:
    turns = Turns()
    first, second, third = (followed(turns.begin(due=due)) for _ in range(3))
    assert [row for row, _ in first] == [row for row, _ in second] == [row for row, _ in third]
    outside = [each for (_, each), (_, other) in zip(second, third, strict=True) if each is other]
    assert len(outside) > len(TURN) // 2
    assert all(at.grammar is None for at in outside)
    assert [at for _, at in first if at.shared] == outside


def test_other_tools_and_other_duties_share_nothing() -> None:
    turns = Turns()
    for _ in range(3):
        followed(turns.begin("get", due=Due.WORD))
    for _ in range(2):
        owing, other = turns.begin("get", due=Due.CALL), turns.begin("other", due=Due.WORD)
    assert [row for row, _ in followed(owing)] != [row for row, _ in followed(turns.begin("get"))]
    feed(other, TURN[: TURN.index(V.control("<|tool_call_begin|>")) + 1])
    feed(other, write(V, "functions."))
    assert not other.accept(ord("g"))


def test_each_turn_is_told_of_its_tool() -> None:
    turns = Turns()
    for count in range(1, 4):
        followed(turns.begin())
        assert turns.told == ["get", "get"] * count


def test_a_turn_that_fails_leaves_the_others_as_they_were() -> None:
    turns = Turns()
    expected = [row for row, _ in followed(turns.begin())]
    for at in range(len(TURN)):
        failing = turns.begin()
        feed(failing, TURN[:at])
        failing.fail(ConfigurationError("no more"))
        assert failing.accept(TURN[at]) == (at == len(TURN) - 1)
    assert [row for row, _ in followed(turns.begin())] == expected


def test_ids_are_taken_back_across_shared_positions() -> None:
    turns = Turns()
    expected = [row for row, _ in followed(turns.begin())]
    for _ in range(2):
        matcher = turns.begin()
        feed(matcher, TURN)
        for at in reversed(range(len(TURN))):
            matcher.rollback(1)
            assert row_of(matcher).tolist() == expected[at]


def test_what_is_shared_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "_MOST", 5000)
    turns = Turns()
    rows = [[row for row, _ in followed(turns.begin())] for _ in range(4)]
    assert rows[0] == rows[1] == rows[2] == rows[3]
    shared = turns.begin().envelope.alike()
    assert shared is not None
    assert 4000 < shared.weight < 6000
    assert turns.table.alike.weight == shared.weight


def test_the_headers_of_a_kind_count_for_its_weight_wherever_they_begin() -> None:
    turns = Turns()
    begun = f"{HEADER}<|tool_calls_section_begin|><|tool_call_begin|>functions."
    names = tuple(f"get_{at}" for at in range(100))
    for _ in range(2):
        feed(turns.begin(*names, prompt=begun), write(V, "get_1"))
    (header,) = turns.table.tries._values.values()
    assert turns.table.alike.weight > header.weight / 2


def test_headers_heavier_than_the_bound_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "_MOST", 5000)
    turns = Turns()
    names = tuple(f"get_{at}" for at in range(100))
    for _ in range(3):
        matcher = turns.begin(*names)
        feed(matcher, write(V, "ok<|tool_calls_section_begin|><|tool_call_begin|>"))
        assert matcher.position.shared is None
    assert 0 < turns.table.alike.weight <= 5000


@pytest.mark.parametrize("due", [Due.WORD, Due.CALL])
def test_text_does_not_fill_what_is_shared(due: Due) -> None:
    turns = Turns()
    for token_id in range(ord("A"), ord("z")):
        feed(turns.begin(due=due), [token_id, *TURN[TURN.index(V.control("</think>")) + 1 :]])
        if token_id == ord("B"):
            weight = turns.table.alike.weight
    assert weight == turns.table.alike.weight > 0
