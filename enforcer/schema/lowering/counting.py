"""Tables for arrays whose elements are counted: how many further elements may follow each tally.

A *tally* is one mixed-radix number: each digit counts the elements of one kind, and a full digit
means "or more" if more are allowed. For each tally, and each element index with choices of its own,
the table has the least and the greatest number of further elements with which the array can be
complete. Must not know: how the kernel reads the tables, what the elements are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from enforcer.errors import UnsupportedSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.schema.grammar import ArrayShape

_MOST_TALLIES = 100_000  # times ways to fill an element
NONE = 1 << 30  # further elements: none suffice (least), or any number may come (most)
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
        step: the digit's weight, which one element adds to the tally.
        most: the greatest digit.
        is_bounded: whether no further element of the kind may follow the greatest digit.

    """

    step: int
    most: int
    is_bounded: bool


@dataclass(frozen=True, slots=True)
class Tallies:
    """The tables of one array.

    Attributes:
        array: the shape.
        kinds: the digits, the lowest first.
        sums: the number of tallies.
        needs: for each index into `array.choices` and each tally, at `index * sums + tally`, the
            least and the greatest number of further elements.

    """

    array: ArrayShape
    kinds: tuple[Kind, ...]
    sums: int
    needs: list[_Need]

    @property
    def farthest(self) -> int:
        """The greatest number of further elements that some tally needs."""
        return max((least for least, _ in self.needs if least != NONE), default=0)

    def behind(self, tally: int, counted: Iterable[int]) -> int | None:
        """Return the tally after an element of some kinds; None if no such element may follow."""
        after = tally
        for number in counted:
            step, most, is_bounded = self.kinds[number]
            if tally // step % (most + 1) < most:
                after += step
            elif is_bounded:
                return None
        return after

    def can_complete(self, index: int = 0, tally: int = 0) -> bool:
        """Return whether an array of `index` elements with a tally can be completed."""
        place = min(index, len(self.array.choices) - 1)
        least, most = self.needs[place * self.sums + tally]
        room = NONE - 1 if self.array.maximum is None else self.array.maximum - index
        return least <= room and self.array.minimum - index <= most

    def is_done(self, tally: int) -> bool:
        """Return whether a tally has the least number of elements of each kind."""
        return all(
            tally // step % (most + 1) >= each.minimum
            for (step, most, _), each in zip(self.kinds, self.array.contains, strict=True)
        )


def tallies_of(array: ArrayShape) -> Tallies:
    """Build the tables of an array shape with `choices`.

    Raises:
        UnsupportedSchema: too many tallies, or the possible numbers of elements have gaps.

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
    for tally in range(sums - 1, -1, -1):  # an element never lowers a tally
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
    """Return the least and greatest number of elements after a tally.

    Args:
        tallies: for the digits.
        ways: the kinds that the next element may have.
        behind: the result for each tally after the next element.
        tally: the tally.

    """
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
