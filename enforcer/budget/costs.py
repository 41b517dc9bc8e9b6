"""Shortest instances of the values of a compiled grammar, in token ids.

Owns: the length of each instance, and its first piece. Choices depend on the present state alone,
never on its history, so that after the first id of a shortest completion the rest of it is the
shortest completion that is found. Must not know: texts that are being written, turns.
"""

from __future__ import annotations

from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any

from enforcer.budget.elements import Arrays
from enforcer.budget.properties import ObjectCosts
from enforcer.budget.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer import kernel
    from enforcer.budget.pieces import Pieces, Way

# What a character that has been begun may take beyond what the text did before it.
PENDING = 12

# Bytes a value, answers included, and thrice as many for the objects that make it up: a cache full
# of them is what Python's collector looks through while all requests wait.
_EACH = 16_000


class Shortest(Values):
    """The shortest instance of each value of a grammar.

    Args:
        arrays: of `kernel.Tables`, by name.
        pieces: of the vocabulary.

    Attributes:
        objects: of nodes that have objects, by number.
        arrays: of nodes that have arrays.
        growth: the greatest number of ids that one more beginning can commit a text to.

    """

    def __init__(self, arrays: Mapping[str, Any], pieces: Pieces) -> None:
        super().__init__(arrays, pieces)
        nodes = [*enumerate(self.nodes)]
        self.objects = {at: ObjectCosts(self, node) for at, node in nodes if node.shapes}
        self.arrays = {at: Arrays(self, node) for at, node in nodes if node.arrays}
        composed = sorted({*self.objects, *self.arrays}, reverse=True)
        changed = True
        while changed:
            changed = False
            for at in composed:
                for value, way in self._composed(at):
                    if way[0] < self.best[at][value][0]:
                        self.best[at][value] = way
                        changed = True
        self.is_final = True
        self.growth = PENDING + int(max(self._growths(), default=0))

    @classmethod
    def of(cls, tables: kernel.Tables, pieces: Pieces) -> Shortest:
        """Return those of a compiled grammar, made when they are first asked for."""
        if tables.shortest is None:
            made = cls(tables.arrays_by_name, pieces)
            tables.set_shortest(made, made.weight)
        found: Shortest = tables.shortest
        return found

    @property
    def cost_of_root(self) -> float:
        """Return the length of the shortest text in ids."""
        return min(cost for cost, _ in self.best[0])

    @property
    def weight(self) -> int:
        """Approximate size in bytes."""
        return _EACH * (1 + len(self.nodes))

    def _composed(self, at: int) -> Iterator[tuple[int, Way]]:
        """Yield the shortest instance of each shape of a node, and the value that it is of."""
        if at in self.objects:
            of = self.objects[at]
            for shape, value in enumerate(of.value_of):
                yield value, (1 + of.rest(shape, 0, frozenset, 0, comma=False)[0], b"{")
        if at in self.arrays:
            arrays = self.arrays[at]
            for shape, value in enumerate(arrays.value_of):
                yield value, (1 + arrays.rest(shape, 0, 0, comma=False)[0], b"[")

    def _growths(self) -> Iterator[float]:
        """Yield what one more value, name or element can commit a text to."""
        for at, node in enumerate(self.nodes):
            ways = [way for ways in self.scalars[at] for way in ways]
            ways += [way for _, way in self._composed(at)]
            yield from (cost for cost, _ in ways if cost < inf)
            for _, languages, starts, quoted in self.texts(node):
                for start, language in product(starts, range(languages)):
                    yield self.whole(*start, language, quoted=quoted) + quoted
            if at in self.objects:
                yield from self.objects[at].growths()
