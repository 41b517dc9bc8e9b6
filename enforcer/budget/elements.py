"""Shortest completions of an array, from any number of its elements.

Owns: the elements that are still needed, and their cost in ids. Must not know: how a text is
followed, the costs of values.
"""

from __future__ import annotations

from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.budget.pieces import Way
    from enforcer.budget.values import Values

MOST_PLACES = 2_000  # of an array whose elements are counted
_FAR = 1 << 30  # elements that no array is completed with
_KEPT = 10_000  # answers kept for each node

_At = tuple[int, int]  # elements so far, as far as they make a difference, and their tally
_Best = tuple[float, bytes | None]  # the cost without a first comma, and the first piece


class Arrays:
    """The shapes of arrays of one node.

    Attributes:
        value_of: the value of the node that each shape is of.

    """

    def __init__(self, plan: Values, node: Any) -> None:
        self._plan, self._node = plan, node
        self._shapes = plan.table("arrays")[node.array0 : node.array0 + node.arrays]
        self._places = plan.table("item_slots")[node.slot0 : node.slot0 + node.slots]
        self._counts, self._needs = plan.table("counts"), plan.table("needs")
        self.value_of = [each.value for each in self._shapes]
        self._tops = [max(x.minimum, x.slots, x.maximum + 1, 1) for x in self._shapes]
        self._known: dict[tuple[int, int, int], _Best] = {}
        self._moves: dict[int, dict[_At, list[tuple[int, _At]]]] = {}

    def rest(self, shape: int, length: int, tally: int, *, comma: bool) -> Way:
        """Count the ids until an array is closed, and give the piece that comes first.

        Args:
            shape: its number.
            length: elements that it has.
            tally: see `kernel.TextMatcher.tally_behind`.
            comma: whether a comma stands before the next element.

        """
        key = shape, min(length, self._tops[shape]), tally
        best = self._known.get(key)
        if best is None:
            best = self._best(*key)
            if self._plan.is_final:
                if len(self._known) > _KEPT:
                    self._known.clear()
                self._known[key] = best
        cost, piece = best
        if piece is None:
            return cost, b"]"
        return cost + comma, b"," if comma else piece

    def live(self, frame: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
        """Yield the live shapes of an open array, each with its length and tally.

        Args:
            frame: of `kernel.TextMatcher.open_values`.

        """
        for shape, each in enumerate(self._shapes):
            if frame[3] >> shape & 1:
                yield shape, frame[2], 0 if each.tally < 0 else frame[4 + each.tally]

    def behind(self, shape: int, length: int, tally: int, value: int) -> int | None:
        """Return the tally behind an element; None if no array that goes on so is complete."""
        each, plan = self._shapes[shape], self._plan
        place = self._places[min(length, len(self._places) - 1)]
        if 0 <= each.maximum <= length or not plan.mask(place.fits + value) >> shape & 1:
            return None
        if each.tally < 0:
            return 0
        hits = plan.mask(place.hits + value * self._node.arrays + shape)
        if not each.counts:
            return None if tally & hits else tally | hits
        for n, kind in enumerate(self._counts[each.count0 : each.count0 + each.counts]):
            if hits >> n & 1:
                if tally // kind.step % (kind.most + 1) < kind.most:
                    tally += kind.step
                elif kind.is_bounded:
                    return None
        need = self._need(shape, length + 1, tally)
        is_short = length + 1 + need.most < each.minimum and need.most < _FAR
        is_long = need.least == _FAR or 0 <= each.maximum < length + 1 + need.least
        return None if is_short or is_long else tally

    def _need(self, shape: int, length: int, tally: int) -> Any:
        each = self._shapes[shape]
        return self._needs[each.need0 + min(length, each.slots - 1) * each.sums + tally]

    def _best(self, shape: int, length: int, tally: int) -> _Best:
        each = self._shapes[shape]
        if each.counts and each.sums * self._tops[shape] <= MOST_PLACES:
            return self._counted(shape, length, tally)
        if each.tally >= 0 and not each.counts:
            return self._distinct(shape, length, tally)
        return self._straight(shape, length)

    def _ways(self, shape: int, length: int, tally: int) -> list[tuple[float, bytes, int]]:
        """List the values that an element may have, the shortest first."""
        place = self._places[min(length, len(self._places) - 1)]
        best = self._plan.best[place.node][: place.values]
        ways = [(*way, value) for value, way in enumerate(best)]
        ways = [way for way in ways if self.behind(shape, length, tally, way[2]) is not None]
        return sorted(ways, key=itemgetter(0))

    def _straight(self, shape: int, length: int) -> _Best:
        """Take the shortest elements, of which those from the last place on are alike."""
        total, first = 0.0, None
        minimum, last = self._shapes[shape].minimum, max(len(self._places) - 1, length)
        for at in range(length, min(minimum, last + 1)):
            cost, piece, _ = next(iter(self._ways(shape, at, 0)), (inf, b"", 0))
            total += (cost + 1) * (minimum - last if at == last else 1)
            first = piece if first is None else first
        return total or 1, first

    def _distinct(self, shape: int, length: int, tally: int) -> _Best:
        """Take the shortest of the listed values that are not there."""
        need = self._shapes[shape].minimum - length
        if need <= 0:
            return 1, None
        free = self._ways(shape, length, tally)
        if len(free) < need:
            return inf, None
        return sum(way[0] for way in free[:need]) + need, free[0][1]

    def _counted(self, shape: int, length: int, tally: int) -> _Best:
        """Search backwards from the ends, until nothing gets shorter."""
        moves = self._moves.get(shape)
        if moves is None:
            moves = self._moves[shape] = self._all_moves(shape)
        minimum, best = self._shapes[shape].minimum, self._plan.best
        costs: dict[_At, _Best] = {
            at: (1 if at[0] >= minimum and not self._need(shape, *at).least else inf, None)
            for at in moves
        }
        changed = True
        while changed:
            changed = False
            for at, out in moves.items():
                node = self._places[min(at[0], len(self._places) - 1)].node
                for value, after in out:
                    cost, piece = best[node][value]
                    cost += costs[after][0] + (costs[after][1] is not None)
                    if cost < costs[at][0]:
                        costs[at] = cost, piece
                        changed = True
        if self._plan.is_final:
            self._known |= {(shape, *at): found for at, found in costs.items()}
        return costs.get((length, tally), (inf, None))

    def _all_moves(self, shape: int) -> dict[_At, list[tuple[int, _At]]]:
        """Return the elements that may come next at each place, and the places behind them."""
        found: dict[_At, list[tuple[int, _At]]] = {}
        queue: list[_At] = [(0, 0)]
        for at in queue:
            if at in found:
                continue
            further = min(at[0] + 1, self._tops[shape])
            place = self._places[min(at[0], len(self._places) - 1)]
            after = [(value, self.behind(shape, *at, value)) for value in range(place.values)]
            found[at] = [(value, (further, tally)) for value, tally in after if tally is not None]
            queue += (to for _, to in found[at])
        return found
