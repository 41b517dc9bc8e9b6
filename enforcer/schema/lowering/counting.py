"""Arrays whose elements are counted, as tables: what each kind still takes.

A *tally* is one number whose digits are how many elements of each kind there are, a digit that is
full standing for more where there may be more. For each tally, and each place of an element with
ways of its own, the table says how many further elements an array takes that is complete then.

Owns: these tables. Must not know: how the machine's kernel reads them, what the elements are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from enforcer.errors import UnsupportedSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.schema.grammar import ArrayShape

_MOST_TALLIES = 100_000  # times ways to fill an element
NONE = 1 << 30  # no number of further elements: `least` of what cannot be completed
_Need = tuple[int, int]  # the least and the greatest number of further elements
_NEVER = NONE, NONE
_TOO_LARGE = (
    "the numbers of elements to count are too large together; lower `minItems`, `maxItems` or "
    "`minContains`"
)
_GAPS = "the numbers of elements that there may be have gaps; use fewer bounds on `contains`"


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


@dataclass(frozen=True, slots=True)
class Tallies:
    """The tables of one array.

    Attributes:
        array: what they are of.
        kinds: digits, the lowest first.
        sums: how many tallies there are.
        needs: for each place and tally how many more elements an array may have.

    """

    array: ArrayShape
    kinds: tuple[Kind, ...]
    sums: int
    needs: list[_Need]

    @property
    def farthest(self) -> int:
        """The greatest number of elements that some tally needs."""
        return max((least for least, _ in self.needs if least != NONE), default=0)

    def behind(self, tally: int, counted: Iterable[int]) -> int | None:
        """Return the tally behind an element of some kinds; None if there may be no such one."""
        after = tally
        for number in counted:
            step, most, is_bounded = self.kinds[number]
            if tally // step % (most + 1) < most:
                after += step
            elif is_bounded:
                return None
        return after

    def lives(self, index: int = 0, tally: int = 0) -> bool:
        """Return whether an array with so many elements, and a tally, can become complete."""
        place = min(index, len(self.array.choices) - 1)
        least, most = self.needs[place * self.sums + tally]
        room = NONE - 1 if self.array.maximum is None else self.array.maximum - index
        return least <= room and self.array.minimum - index <= most

    def is_done(self, tally: int) -> bool:
        """Return whether there are enough elements of each kind."""
        return all(
            tally // step % (most + 1) >= each.minimum
            for (step, most, _), each in zip(self.kinds, self.array.contains, strict=True)
        )


def tallies_of(array: ArrayShape) -> Tallies:
    """Make the tables of an array whose elements are counted.

    Raises:
        UnsupportedSchema: there are too many tallies, or the numbers of elements have gaps.

    """
    kinds: list[Kind] = []
    sums = 1
    for each in array.contains:
        most = max(each.minimum, each.maximum or 0)
        kinds.append(Kind(sums, most, each.maximum is not None))
        sums *= most + 1
    ways = [tuple(dict.fromkeys(choice.counted for choice in slot)) for slot in array.choices]
    if sums * max(sum(map(len, ways)), 1) > _MOST_TALLIES:
        raise _unsupported(array, _TOO_LARGE)
    found = Tallies(array, tuple(kinds), sums, [])
    behind = [_NEVER] * sums
    for tally in range(sums - 1, -1, -1):  # those behind an element are greater, or equal
        behind[tally] = _need(found, ways[-1], behind, tally)
        if behind[tally] != _NEVER and tally in (found.behind(tally, way) for way in ways[-1]):
            behind[tally] = behind[tally][0], NONE
    rows = [behind]
    for slot in reversed(ways[:-1]):
        rows.append([_need(found, slot, rows[-1], tally) for tally in range(sums)])
    for row in reversed(rows):
        found.needs.extend(row)
    return found


def _need(
    tallies: Tallies, ways: Iterable[tuple[int, ...]], behind: Sequence[_Need], tally: int
) -> _Need:
    """Return how many elements may follow a tally, by what `behind` has for those after one."""
    found = [(0, 0)] if tallies.is_done(tally) else []
    for way in ways:
        after = tallies.behind(tally, way)
        if after is not None and behind[after] != _NEVER:
            least, most = behind[after]
            found.append((least + 1, min(most + 1, NONE)))
    found.sort()
    if not found:
        return _NEVER
    least, most = found[0]
    for other, end in found[1:]:
        if other > most + 1:
            raise _unsupported(tallies.array, _GAPS)
        most = max(most, end)
    return least, most


def _unsupported(array: ArrayShape, reason: str) -> UnsupportedSchema:
    return UnsupportedSchema.of(f"{array.path}.contains", "contains", reason)
