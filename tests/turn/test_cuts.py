"""Ids that a border cuts, and which of them are asked for."""

from __future__ import annotations

import numpy as np

from enforcer.turn.bits import ids_of, of_ids, write
from enforcer.turn.cuts import NONE, Cut

# The last has a part that is no id: the longest ids that its parts begin with are 2 and 8.
CUT = Cut(ids_of([5, 6, 7]), ids_of([1, 2, 2]), ids_of([3, 4, 8]), (1,))


def before(*tails: int) -> Cut:
    """Give a cut whose ids go on with some."""
    return Cut(ids_of(range(len(tails))), ids_of(tails), ids_of(tails), ())


def yes(*_: int) -> bool:
    return True


def no(*_: int) -> bool:
    return False


def test_those_that_are_needed_keep_their_parts() -> None:
    found = CUT.among(before(6, 7, 9))
    assert (found.ids.tolist(), found.heads.tolist()) == ([6, 7], [2, 2])
    assert (found.tails.tolist(), found.loose) == ([4, 8], (1,))
    assert CUT.among(before(5, 6)).loose == ()
    assert CUT.among(before(5, 6, 7)) is CUT
    assert not CUT.among(before(9))
    assert not NONE


def test_what_rows_before_and_behind_a_border_permit() -> None:
    for tails, ids in (([3, 8], [5, 7]), ([4], [6]), ([3, 4], [5, 6]), ([3, 4, 8], [5, 6, 7])):
        assert CUT.permitted(_row(tails), yes).ids.tolist() == ids
    for heads, ids in (([1], [5]), ([2], [6, 7]), ([1, 2], [5, 6, 7]), ([8], [])):
        assert CUT.begun(_row(heads), yes).ids.tolist() == ids
    assert CUT.permitted(_row([3, 8]), no).ids.tolist() == [5]
    assert CUT.begun(_row([1, 2]), no).ids.tolist() == [5, 6]


def test_a_part_that_is_no_id_is_read_where_its_longest_beginning_may_stand() -> None:
    asked: list[tuple[int, int]] = []

    def reads(token: int, count: int) -> bool:
        asked.append((token, count))
        return False

    assert not CUT.permitted(_row([9]), reads)
    assert not asked
    assert not CUT.permitted(_row([8]), reads)
    assert asked == [(7, 1)]


def _row(ids: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    row = np.zeros(1, dtype=np.int32)
    write(row, of_ids(ids_of(ids)))
    return row
