"""Arrays whose elements are counted, as tables: what each kind still takes.

A *tally* is one number whose digits are how many elements of each kind there are, a digit that is
full standing for more where there may be more. For each tally, and each place of an element with
ways of its own, the table says how many further elements an array takes that is complete then.

Owns: these tables. Must not know: how the kernel reads them, what the elements are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from enforcer.machine.alphabet import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.schema.grammar import ArrayShape

MOST_TALLIES = 100_000  # times ways to fill an element
NONE = 1 << 30  # no number of further elements: `least` of what cannot be completed
_Need = tuple[int, int]  # the least and the greatest number of further elements
_NEVER = NONE, NONE


class Kind(NamedTuple):
    """A digit of a tally.

    Attributes:
        step: what one element adds to the tally.
        most: the greatest digit.
        is_bounded: whether no further element may come behind it.

    """

    step: int
    most: int
    is_bounded: bool


class Tallies(NamedTuple):
    """The tables of one array.

    Attributes:
        kinds: digits, the lowest first.
        places: how many elements have ways of their own, the last one standing for all further.
        sums: how many tallies there are.
        needs: for each place and tally how many more elements an array may have.

    """

    kinds: tuple[Kind, ...]
    places: int
    sums: int
    needs: list[_Need]

    @property
    def farthest(self) -> int:
        """The greatest number of elements that some tally needs."""
        return max((least for least, _ in self.needs if least != NONE), default=0)

    @property
    def is_dead(self) -> bool:
        """Whether no array is complete."""
        return self.needs[0][0] == NONE


def tallies_of(array: ArrayShape) -> Tallies:
    """Make the tables of an array whose elements are counted.

    Raises:
        TooLargeError: there are too many tallies, or they need numbers of elements with gaps.

    """
    kinds: list[Kind] = []
    sums = 1
    for each in array.contains:
        most = max(each.minimum, each.maximum or 0)
        kinds.append(Kind(sums, most, each.maximum is not None))
        sums *= most + 1
        _check(sums)
    ways = [dict.fromkeys(choice.counted for choice in choices) for choices in array.choices]
    _check(sums * sum(map(len, ways)))
    wanted = [
        (kind.step, kind.most, each.minimum)
        for kind, each in zip(kinds, array.contains, strict=True)
    ]
    is_done = [
        all(tally // step % (most + 1) >= least for step, most, least in wanted)
        for tally in range(sums)
    ]
    behind: list[_Need] = [_NEVER] * sums
    for tally in range(sums - 1, -1, -1):  # those behind an element are greater, or equal
        behind[tally] = _need(kinds, [*ways[-1]], behind, tally, is_done=is_done[tally])
        if behind[tally] != _NEVER and any(_after(kinds, tally, way) == tally for way in ways[-1]):
            behind[tally] = behind[tally][0], NONE
    needs = behind
    for each in reversed(ways[:-1]):
        behind = [
            _need(kinds, [*each], behind, tally, is_done=done) for tally, done in enumerate(is_done)
        ]
        needs = behind + needs
    return Tallies(tuple(kinds), len(ways), sums, needs)


def _check(count: int) -> None:
    if count > MOST_TALLIES:
        raise TooLargeError("numbers of elements to count that are too large together")


def _need(
    kinds: Sequence[Kind],
    ways: Sequence[tuple[int, ...]],
    behind: Sequence[_Need],
    tally: int,
    *,
    is_done: bool,
) -> _Need:
    """Return how many elements may follow a tally, by what `behind` has for those after one."""
    found = [(0, 0)] if is_done else []
    for way in ways:
        after = _after(kinds, tally, way)
        if after is not None and behind[after] != _NEVER:
            least, most = behind[after]
            found.append((least + 1, min(most + 1, NONE)))
    found.sort()
    if not found:
        return _NEVER
    least, most = found[0]
    for other, end in found[1:]:
        if other > most + 1:
            raise TooLargeError("counted elements whose number has gaps")
        most = max(most, end)
    return least, most


def _after(kinds: Sequence[Kind], tally: int, way: Sequence[int]) -> int | None:
    """Return the tally behind an element of some kinds; None if there may be no such element."""
    after = tally
    for number in way:
        kind = kinds[number]
        if tally // kind.step % (kind.most + 1) < kind.most:
            after += kind.step
        elif kind.is_bounded:
            return None
    return after
