"""Which languages go on without end, and behind which beginnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from enforcer.regex import both, inverse, literal, parse
from enforcer.regex.derivative import derivative
from enforcer.schema.finishing import infinite
from enforcer.schema.finishing.infinite import (
    can_be_explored,
    is_infinite,
    is_vast,
    moves,
    stays_infinite,
    stays_vast,
)

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.regex.charset import CharSet

    Moves = tuple[tuple[CharSet, Regex], ...]


@pytest.mark.parametrize(
    ("pattern", "endless"),
    [("^a*$", True), ("^[ab]{0,9}$", False), ("^a|b.*$", True), ("^x$", False), ("^(ab)+$", True)],
)
def test_a_language_is_endless_if_some_text_in_it_can_go_round(pattern: str, endless: bool) -> None:
    language = parse(pattern)
    assert is_infinite(language) == endless
    without = both(language, inverse(literal("ab")))
    assert is_infinite(without) == endless
    assert not is_infinite(both(language, parse("^.{0,4}$")))
    assert not is_infinite(both(parse("^a*$"), inverse(parse("^aaa"))))  # of no known length


@pytest.mark.parametrize(
    ("pattern", "never"),
    [
        ("^.*$", True),
        ("^x-", True),
        ("^[a-z]+$", True),
        ("^(ab)+$", True),
        ("^[ab]{0,9}$", False),
        ("^a|b.*$", True),  # anything that begins with an a, too
        ("^(a|b.*)$", False),  # behind an a there is nothing
        ("^(x.*|ab|cd)$", False),
    ],
)
def test_a_language_never_runs_out_if_every_beginning_can_go_round(
    pattern: str, never: bool
) -> None:
    language = parse(pattern)
    assert stays_infinite(language) == never
    # Without a few texts it does not run out sooner.
    assert stays_infinite(both(language, inverse(literal("abab")))) == never
    assert not stays_infinite(both(language, parse("^.{0,6}$")))


@pytest.mark.parametrize(("states", "explored"), [(150, True), (250, False)])
def test_a_language_of_too_many_states_is_not_explored(states: int, explored: bool) -> None:
    language = both(parse(f"^a{{{states}}}b*$"), inverse(literal("b")))
    assert can_be_explored(language) == explored
    assert is_infinite(language) == explored
    assert stays_infinite(language) == explored
    assert can_be_explored(parse(f"^a{{{states}}}b*$"))  # nothing of it has to be found out


@pytest.mark.parametrize(
    "pattern", ["^[ab]{0,40}a[ab]{12}$", "^(a|b|ab|ba|aab){0,30}$", "^[a-c]{0,40}a[ab]{12}$"]
)
def test_of_a_language_with_many_states_few_are_looked_at(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Regex] = []

    def counted(language: Regex) -> Moves:
        looked_at.append(language)
        return moves(language)

    monkeypatch.setattr(infinite, "moves", counted)
    language = parse(pattern)
    for char in "abba":
        language = derivative(language, char)
        infinite._has_many(language)
    assert 0 < len(looked_at) <= 4 * 24


@pytest.mark.parametrize(
    ("pattern", "vast", "ahead"),
    [
        ("^.{1,100}$", True, 90),
        ("^[0-9a-f]{64}$", True, 50),  # of the last six there are sixteen million
        ("^x[0-9]{7}$", True, 1),
        ("^[0-9]{6}$", False, 0),
        ("^a{0,9}$", False, 0),
        ("^a*$", True, 1_000),
        ("^(ab|.{3,9})$", True, 6),
    ],
)
def test_a_language_is_vast_if_it_has_more_members_than_a_text_has_elements(
    pattern: str, *, vast: bool, ahead: int
) -> None:
    language = parse(pattern)
    assert is_vast(language) == vast
    assert is_vast(both(language, inverse(literal("abab")))) == vast
    assert stays_vast(language, ahead) == vast
    assert not vast or pattern == "^a*$" or not stays_vast(language, ahead + 60)
