"""Boolean functions in canonical form: reduced ordered binary decision diagrams (Bryant 1986).

Owns: building and combining them, with a bound on their number. Must not know: what their variables
stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FALSE = 0
TRUE = 1


class TooManyNodesError(Exception):
    """The diagrams hold more nodes than they may."""


class Diagrams:
    """A store of diagrams; a diagram is an index into it, equal if and only if equivalent.

    Args:
        limit: the number of nodes from which on `TooManyNodesError` is raised.

    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._nodes: list[tuple[int, int, int]] = [(-1, 0, 0), (-1, 1, 1)]
        self._index: dict[tuple[int, int, int], int] = {}
        self._chosen: dict[tuple[int, int, int], int] = {}

    def variable(self, number: int) -> int:
        """Build the function that is one variable."""
        return self._node(number, FALSE, TRUE)

    def choose(self, condition: int, then: int, other: int) -> int:
        """Build "if condition then `then` else `other`", from which all operators follow."""
        if condition in (FALSE, TRUE) or then == other:
            return then if condition == TRUE or then == other else other
        key = (condition, then, other)
        if key not in self._chosen:
            top = min(self._nodes[f][0] for f in key if f > TRUE)
            low = self.choose(*[self._cofactor(f, top, branch=1) for f in key])
            high = self.choose(*[self._cofactor(f, top, branch=2) for f in key])
            self._chosen[key] = self._node(top, low, high)
        return self._chosen[key]

    def both(self, left: int, right: int) -> int:
        """Build the conjunction."""
        return self.choose(left, right, FALSE)

    def either(self, left: int, right: int) -> int:
        """Build the disjunction."""
        return self.choose(left, TRUE, right)

    def inverse(self, function: int) -> int:
        """Build the negation."""
        return self.choose(function, FALSE, TRUE)

    def substitute(self, function: int, replacement: Callable[[int], int]) -> int:
        """Put a function in place of every variable."""
        done = {FALSE: FALSE, TRUE: TRUE}

        def visit(at: int) -> int:
            if at not in done:
                variable, low, high = self._nodes[at]
                done[at] = self.choose(replacement(variable), visit(high), visit(low))
            return done[at]

        return visit(function)

    def _node(self, variable: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (variable, low, high)
        if key not in self._index:
            if len(self._nodes) >= self._limit:
                raise TooManyNodesError
            self._index[key] = len(self._nodes)
            self._nodes.append(key)
        return self._index[key]

    def _cofactor(self, function: int, variable: int, *, branch: int) -> int:
        node = self._nodes[function]
        return node[branch] if node[0] == variable else function
