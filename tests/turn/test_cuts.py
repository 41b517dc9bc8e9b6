"""Ids that a border cuts, and which of them are asked for."""

from __future__ import annotations

from enforcer.turn.bits import ids_of
from enforcer.turn.cuts import NONE, Cut, Loose

CUT = Cut(ids_of([5, 6]), ids_of([1, 2]), ids_of([3, 4]), (Loose(7, 1, 2, 8),))


def before(*tails: int) -> Cut:
    """Give a cut whose ids go on with some."""
    return Cut(ids_of(range(len(tails))), ids_of(tails), ids_of(tails), ())


def test_those_that_are_needed_keep_their_parts() -> None:
    found = CUT.among(before(6, 7, 9))
    assert (found.ids.tolist(), found.heads.tolist(), found.tails.tolist()) == ([6], [2], [4])
    assert found.loose == CUT.loose
    assert not CUT.among(before(9))
    assert not NONE


def test_what_has_to_be_known_behind_the_border() -> None:
    assert CUT.behind.tolist() == [3, 4, 8]
    assert CUT.among(before(5)).behind.tolist() == [3]
    assert sorted(CUT.every) == [5, 6, 7]
