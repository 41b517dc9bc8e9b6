"""Ids that a border cuts, and which of them are asked for."""

from __future__ import annotations

import numpy as np

from enforcer.turn.bits import ids_of, of_ids, write
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


def test_a_part_that_is_no_id_is_left_out_beside_all_that_are() -> None:
    found = CUT.among(before(5, 6))
    assert (found.ids.tolist(), found.loose) == ([5, 6], ())
    assert CUT.among(before(5, 6, 7)) is CUT


def test_what_rows_before_and_behind_a_border_permit() -> None:
    for tails, ids in (([3, 8], [5, 7]), ([4], [6]), ([3, 4], [5, 6]), ([3, 4, 8], [5, 6, 7])):
        assert sorted(CUT.permitted(_row(tails), bool).every) == ids
    for heads, ids in (([1], [5]), ([2], [6, 7]), ([1, 2], [5, 6, 7]), ([8], [])):
        assert sorted(CUT.begun(_row(heads), bool).every) == ids
    assert CUT.permitted(_row([3, 8]), lambda _: False).every == [5]
    assert CUT.begun(_row([1, 2]), lambda _: False).every == [5, 6]


def _row(ids: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    row = np.zeros(1, dtype=np.int32)
    write(row, of_ids(ids_of(ids)))
    return row


def test_what_has_to_be_known_behind_the_border() -> None:
    assert CUT.behind.tolist() == [3, 4, 8]
    assert CUT.among(before(5)).behind.tolist() == [3]
    assert sorted(CUT.every) == [5, 6, 7]
