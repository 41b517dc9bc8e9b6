"""What an array still takes to be complete, from any place in it.

Owns: the elements that are still needed, and what they cost. Must not know: how a text is
followed, what values cost.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from enforcer.budget.objects import KEPT
from enforcer.schema.finishing.counting import State, counting_automaton
from enforcer.schema.grammar import ValueId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.budget.objects import Plan
    from enforcer.schema.grammar import ArrayShape

# Where in an array a text is: elements so far, a bit for each choice taken, or what counts.
Place = int | State


# The cost without a first comma, the next element if any, and the place after it.
_Best = tuple[float, ValueId | None, Place]


class Arrays:
    """One shape of arrays; a place in it is a number of elements, or what has been counted."""

    def __init__(self, plan: Plan, shape: ArrayShape) -> None:
        self._plan = plan
        self.shape = shape
        self._counted = None
        self.start: Place = 0
        self._unique = shape.unique and bool(shape.choices)
        if shape.choices and not self._unique:
            self._counted = counting_automaton(shape)
            self.start = self._counted.start
        self._top = max(shape.minimum, len(shape.prefix), shape.maximum or 0, 1)
        self._known: dict[tuple[Place, bool], _Best] = {}

    def steps(self, at: Place) -> Sequence[tuple[ValueId, Place]]:
        """List the elements that may come next, and the places after them."""
        if self._counted is not None:
            return () if isinstance(at, int) else self._counted.moves.get(at, ())
        at = _number(at)
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
        if self._counted is not None:
            found = self._search(at, more=more)
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
        at = _number(at)
        shape, cost = self.shape, self._plan.cost
        until = max(shape.minimum, at + 1 if more else 0)
        if until <= at:
            return 1, None, at
        ready = shape.prefix[at:until]
        rest = max(until - max(at, len(shape.prefix)), 0)
        total = sum(map(cost, ready)) + (rest * cost(shape.rest) if rest else 0)
        return total + until - at, ready[0] if ready else shape.rest, at + 1

    def _cheapest(self, at: Place, *, more: bool) -> _Best:
        at = _number(at)
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

    def _search(self, at: Place, *, more: bool) -> _Best:
        """Go backwards from the ends, until nothing gets shorter."""
        counted = self._counted
        if counted is None:
            return inf, None, at
        known = self._known if self._plan.final else {}
        if (self.start, False) not in known:
            costs: dict[Place, _Best] = {
                state: (1, None, state) if state in counted.final else (inf, None, state)
                for state in counted.moves
            }
            changed = True
            while changed:
                changed = False
                for state, out in counted.moves.items():
                    for value, after in out:
                        cost = self._through(value, costs[after])
                        if cost < costs[state][0]:
                            costs[state] = (cost, value, after)
                            changed = True
            for state, out in counted.moves.items():
                known[state, False] = costs[state]
                ways = [(self._through(v, costs[after]), v, after) for v, after in out]
                known[state, True] = min(ways, key=lambda way: way[0], default=(inf, None, state))
        return known.get((at, more), (inf, None, at))

    def _through(self, value: ValueId, after: _Best) -> float:
        return self._plan.cost(value) + after[0] + (after[1] is not None)


def _number(at: Place) -> int:
    """Narrow a place to a number."""
    if not isinstance(at, int):
        raise TypeError(f"not a place in this array: {at!r}")
    return at
