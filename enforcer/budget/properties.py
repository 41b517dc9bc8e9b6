"""Shortest completions of an object, from any set of its properties.

Owns: the properties that are still needed, the cheapest first, and their cost in ids. Choices
depend on the present state alone, never on its history. Must not know: how a text is followed, the
costs of values.
"""

from __future__ import annotations

from functools import cached_property, reduce
from itertools import chain
from math import inf
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.budget.pieces import ones
from enforcer.budget.tails import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from enforcer.budget.pieces import Way
    from enforcer.budget.values import Values

_FEW_NAMES = 8  # undeclared
_KEPT = 10_000  # answers kept for each node
_UNDECLARED = -1


class Pair(NamedTuple):
    """One property that an object still needs.

    Attributes:
        name: its name.
        number: of that; -1 if it is not declared.
        classes: those of an undeclared name, as bits.
        cost: of its value.

    """

    name: str
    number: int
    classes: int
    cost: float

    @property
    def text(self) -> bytes:
        """The name and the colon."""
        return b'"' + whole(self.name, quoted=True) + b":"


class ObjectCosts:
    """The shapes of objects of one node.

    Attributes:
        value_of: the value of the node that each shape is of.
        names: the declared names, ascending.
        required: the names that each shape requires.
        required_by: the shapes that require each name.
        automaton: of undeclared names.

    """

    def __init__(self, plan: Values, node: Any) -> None:
        def masks(at: int, count: int) -> list[int]:
            return [plan.mask(at + i * node.shape_words, node.shape_words) for i in range(count)]

        self._plan = plan
        self._width = 64 * node.shape_words
        self.automaton = node.class_automaton
        self.names = plan.words.names(node.name_trie, node.names) if node.names else []
        records = plan.table("names")[node.name0 : node.name0 + node.names]
        self._children = [(each.node, masks(each.fits, each.values)) for each in records]
        self.required_by = [masks(each.required, 1)[0] for each in records]
        self.value_of = [0] * node.shapes
        for value, mask in enumerate(masks(node.shapes_of, node.values)):
            for shape in ones(mask):
                self.value_of[shape] = value
        self.required = [0] * node.shapes
        for index, mask in enumerate(self.required_by):
            for shape in ones(mask):
                self.required[shape] |= 1 << index
        limits = plan.table("limits")[node.limit0 : node.limit0 + node.limits]
        # More than all declared names are counted in no grammar of which the ends are told.
        least = [min(each.minimum, len(self.names) + 1) for each in limits]
        self._minimum: Sequence[int] = least or [0] * node.shapes
        self._wanted = masks(node.witnessed, node.witnesses)
        self._marks = [
            (each, masks(each.hits, node.witnesses))
            for each in plan.table("marks")[node.mark0 : node.mark0 + node.marks]
        ]
        self._class_node = node.class_node
        self._classes = [
            masks(at, node.class_values)
            for at in plan.table("classes")[node.class0 : node.class0 + node.classes]
        ]
        self._known: dict[object, Way] = {}

    def values(self, index: int, classes: int = 0) -> tuple[int, list[int]]:
        """Return the node of a property's value, and the shapes that allow each value of it."""
        if index >= 0:
            return self._children[index]
        found = [self._classes[each] for each in ones(classes)]
        return self._class_node, [reduce(or_, masks) for masks in zip(*found, strict=True)]

    def hits(self, index: int, classes: int, value: int, before: int = 0) -> int:
        """Return the witnesses that an object has with a property, as the kernel has them."""
        for mark, masks in self._marks:
            is_other = index < 0 and not classes >> mark.class_ & 1
            if mark.name == index and mark.value == value and not is_other:
                before |= sum(mask << i * self._width for i, mask in enumerate(masks))
        return before

    @cached_property
    def by_cost(self) -> list[int]:
        """The numbers of declared names, that of the shortest property first."""
        best, count = self._plan.best, self._plan.pieces.count

        def cost(index: int) -> float:
            node, fits = self._children[index]
            least = min((best[node][value][0] for value, _ in enumerate(fits)), default=inf)
            return least + count(Pair(self.names[index], index, 0, 0).text)

        return sorted(range(len(self.names)), key=cost)

    def growths(self) -> Iterator[float]:
        """Yield what one more property can commit a text to."""
        count, far = self._plan.pieces.count, self._plan.whole
        for name, (node, fits) in zip(self.names, self._children, strict=True):
            cost = self._plan.most(node, len(fits))
            yield count(b"," + Pair(name, 0, 0, 0).text) + cost
        for number, fits in enumerate(self._classes):
            yield far(self.automaton, 0, number) + 4 + self._plan.most(self._class_node, len(fits))

    def rest(
        self,
        shape: int,
        seen: int,
        extras: Callable[[], frozenset[str]],
        hits: int,
        *,
        comma: bool,
        more: bool = False,
    ) -> Way:
        """Count the ids until an object is closed, and give the piece that comes first.

        Args:
            shape: its number.
            seen: a bit for each declared name that is there.
            extras: gives the undeclared names that are there.
            hits: the witnesses that are there; see `hits`.
            comma: whether a comma stands before the next property.
            more: whether one must follow in any case.

        """
        is_counted = more or self._minimum[shape] > seen.bit_count() or self._wanted
        names = extras() if is_counted else frozenset[str]()
        key = (shape, seen, names, hits, comma, more)
        known = self._known.get(key)
        if known is None:
            pairs = self.missing(shape, seen, names, hits, more=more)
            known = (inf, b"") if pairs is None else self._sum(pairs, comma=comma)
            # A text may write thousands of names, and each answer would hold them all.
            if self._plan.is_final and len(names) <= _FEW_NAMES:
                if len(self._known) > _KEPT:
                    self._known.clear()
                self._known[key] = known
        return known

    def _sum(self, pairs: list[Pair], *, comma: bool) -> Way:
        """Count the ids of some properties, of which any may come first, and of the bracket."""
        if not pairs:
            return 1, b"}"
        total = 1 + sum(self._cost(each, comma=True) for each in pairs)
        if comma or total == inf:
            return total, b"," + pairs[0].text
        saved = [self._cost(each) - self._cost(each, comma=True) for each in pairs]
        return total + min(saved), pairs[saved.index(min(saved))].text

    def missing(
        self, shape: int, seen: int, extras: frozenset[str], hits: int, *, more: bool = False
    ) -> list[Pair] | None:
        """List the properties that are still needed, in the order in which they are written.

        None if the object cannot be completed. Arguments as for `rest`.
        """
        chosen = [self._pair(index, shape) for index in ones(self.required[shape] & ~seen)]
        seen |= self.required[shape]

        def take(pairs: Iterable[Pair]) -> Pair | None:
            nonlocal seen, extras
            best = min(pairs, key=lambda pair: (self._cost(pair), pair.name), default=None)
            if best is None or self._cost(best) == inf:
                return None
            chosen.append(best)
            if best.number < 0:
                extras |= {best.name}
            else:
                seen |= 1 << best.number
            return best

        for i, wanted in enumerate(self._wanted):
            if wanted >> shape & 1 and not hits >> (i * self._width + shape) & 1:
                found = take(self._witnesses(i, shape, seen, extras))
                if found is None:
                    return None
                node, _ = self.values(found.number, found.classes)
                for value, _ in enumerate(self._plan.best[node]):
                    hits = self.hits(found.number, found.classes, value, hits)
        while seen.bit_count() + len(extras) < self._minimum[shape] or (more and not chosen):
            if take(self._others(shape, seen, extras)) is None:
                return None
        return chosen

    def _witnesses(
        self, number: int, shape: int, seen: int, extras: frozenset[str]
    ) -> Iterator[Pair]:
        for mark, masks in self._marks:
            if masks[number] >> shape & 1:
                if mark.name < 0:
                    yield from self._fresh(mark.class_, shape, extras)
                elif not seen >> mark.name & 1:
                    yield self._pair(mark.name, shape)

    def _others(self, shape: int, seen: int, extras: frozenset[str]) -> Iterator[Pair]:
        for index in range(len(self.names)):
            if not seen >> index & 1:
                yield self._pair(index, shape)
        yield from chain(*(self._fresh(i, shape, extras) for i, _ in enumerate(self._classes)))

    def _fresh(self, number: int, shape: int, extras: frozenset[str]) -> Iterator[Pair]:
        """Yield the shortest property of a class of undeclared names that is not there."""
        words = self._plan.words
        for name in words.words(self.automaton, 0, number):
            if name not in extras and name not in self._declared:
                classes = words.languages_of(self.automaton, name)
                yield self._pair(_UNDECLARED, shape, name, classes)
                return

    @cached_property
    def _declared(self) -> frozenset[str]:
        return frozenset(self.names)

    def _pair(self, index: int, shape: int, name: str = "", classes: int = 0) -> Pair:
        node, fits = self.values(index, classes)
        best = self._plan.best[node]
        costs = (best[value][0] for value, mask in enumerate(fits) if mask >> shape & 1)
        name = name if index < 0 else self.names[index]
        return Pair(name, index, classes, min(costs, default=inf))

    def _cost(self, pair: Pair, *, comma: bool = False) -> float:
        text = b"," + pair.text if comma else pair.text
        return self._plan.pieces.count(text) + pair.cost
