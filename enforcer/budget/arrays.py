"""What an array still takes to be complete, from any place in it.

Owns: the elements that are still needed, and what they cost. Must not know: how a text is
followed, what values cost.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from enforcer.budget.least import Unbounded
from enforcer.budget.objects import KEPT
from enforcer.schema.finishing.counting import Tallies, tallies_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.budget.objects import Plan
    from enforcer.schema.grammar import ArrayShape, ValueId

# Where in an array a text is: elements so far, or a bit for each choice taken; of counted elements
# their tally as well, times as many as there are numbers of elements.
Place = int

# The cost without a first comma, the next element if any, and the place after it.
_Best = tuple[float, "ValueId | None", Place]
_Steps = list[tuple["ValueId", Place]]

_MOST_PLACES = 2_000  # of an array whose elements are counted
_TOO_MANY = "an array has elements to count that are too many to tell its shortest end"


class Arrays:
    """One shape of arrays, whose places are numbers."""

    start: Place = 0

    def __init__(self, plan: Plan, shape: ArrayShape) -> None:
        self._plan = plan
        self.shape = shape
        self._unique = shape.unique and bool(shape.choices)
        self._top = max(shape.minimum, len(shape.prefix), shape.maximum or 0, 1)
        self._tallies = tallies_of(shape) if shape.choices and not self._unique else None
        self._moves = None if self._tallies is None else self._counted(self._tallies)
        self._known: dict[tuple[Place, bool], _Best] = {}

    def _counted(self, tallies: Tallies) -> dict[Place, _Steps]:
        """Return the elements that may come next at each place, and the places after them."""
        size, maximum, choices = self._top + 1, self.shape.maximum, self.shape.choices
        found: dict[Place, _Steps] = {}
        queue = [self.start]
        for at in queue:
            if at in found:
                continue
            if len(found) > _MOST_PLACES:
                raise Unbounded(_TOO_MANY)
            tally, index = divmod(at, size)
            further = min(index + 1, self._top)
            slot = choices[min(index, len(choices) - 1)] if index != maximum else ()
            after = [(each.value, tallies.behind(tally, each.counted)) for each in slot]
            found[at] = [
                (value, behind * size + further)
                for value, behind in after
                if behind is not None and tallies.lives(further, behind)
            ]
            queue.extend(place for _, place in found[at])
        return found

    def _may_end(self, at: Place) -> bool:
        tally, index = divmod(at, self._top + 1)
        return index >= self.shape.minimum and (
            self._tallies is None or self._tallies.is_done(tally)
        )

    def steps(self, at: Place) -> Sequence[tuple[ValueId, Place]]:
        """List the elements that may come next, and the places after them."""
        if self._moves is not None:
            return self._moves.get(at, ())
        maximum = self.shape.maximum
        if self._unique:
            if maximum is not None and at.bit_count() >= maximum:
                return ()
            choices = self.shape.choices[-1]
            return [(c.value, at | 1 << i) for i, c in enumerate(choices) if not at >> i & 1]
        if maximum is not None and at >= maximum:
            return ()
        prefix = self.shape.prefix
        value = prefix[at] if at < len(prefix) else self.shape.rest
        return [(value, min(at + 1, self._top))] if self._plan.lives(value) else ()

    def rest(self, at: Place, *, comma: bool, more: bool = False) -> float:
        """Count the ids until the array is closed; arguments as for objects."""
        cost, value, _ = self._best(at, more=more)
        return cost + (comma and value is not None)

    def next(self, at: Place, *, comma: bool, more: bool = False) -> bytes:
        """Give the piece that comes first."""
        _, value, _ = self._best(at, more=more)
        if value is None:
            return b"]"
        return b"," if comma else self._plan.first(value)

    def _best(self, at: Place, *, more: bool) -> _Best:
        """Find the cost without a first comma, the next element if any, and the place after."""
        key = (at, more)
        if self._plan.final and key in self._known:
            return self._known[key]
        if self._moves is not None:
            found = self._search(at, self._moves, more=more)
        elif self._unique:
            found = self._cheapest(at, more=more)
        else:
            found = self._straight(at, more=more)
        if self._plan.final:
            if len(self._known) > KEPT:
                self._known.clear()
            self._known[key] = found
        return found

    def _straight(self, at: Place, *, more: bool) -> _Best:
        shape, cost = self.shape, self._plan.cost
        until = max(shape.minimum, at + 1 if more else 0)
        if until <= at:
            return 1, None, at
        ready = shape.prefix[at:until]
        rest = max(until - max(at, len(shape.prefix)), 0)
        total = sum(map(cost, ready)) + (rest * cost(shape.rest) if rest else 0)
        return total + until - at, ready[0] if ready else shape.rest, at + 1

    def _cheapest(self, at: Place, *, more: bool) -> _Best:
        need = max(self.shape.minimum - at.bit_count(), int(more))
        if not need:
            return 1, None, at
        free = sorted((self._plan.cost(value), i, value) for i, value in self._free(at))
        if len(free) < need:
            return inf, None, at
        cost = sum(each[0] for each in free[:need]) + need
        return cost, free[0][2], at | 1 << free[0][1]

    def _free(self, at: int) -> list[tuple[int, ValueId]]:
        choices = self.shape.choices[-1]
        return [(i, c.value) for i, c in enumerate(choices) if not at >> i & 1]

    def _search(self, at: Place, moves: dict[Place, _Steps], *, more: bool) -> _Best:
        """Go backwards from the ends, until nothing gets shorter."""
        known = self._known if self._plan.final else {}
        if (self.start, False) not in known:
            costs: dict[Place, _Best] = {
                place: (1 if self._may_end(place) else inf, None, place) for place in moves
            }
            changed = True
            while changed:
                changed = False
                for place, out in moves.items():
                    for value, after in out:
                        cost = self._through(value, costs[after])
                        if cost < costs[place][0]:
                            costs[place] = (cost, value, after)
                            changed = True
            for place, out in moves.items():
                known[place, False] = costs[place]
                ways = [(self._through(v, costs[after]), v, after) for v, after in out]
                known[place, True] = min(ways, key=lambda way: way[0], default=(inf, None, place))
        return known.get((at, more), (inf, None, at))

    def _through(self, value: ValueId, after: _Best) -> float:
        return self._plan.cost(value) + after[0] + (after[1] is not None)
