"""What an object still takes to be complete, from any set of its properties.

Owns: which properties are still needed, the cheapest of them first, and what they cost. Choices
depend on what is there alone, never on how it came about. Must not know: how a text is
followed, what values cost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import TYPE_CHECKING, Protocol

from enforcer.budget.least import least
from enforcer.partial import spell
from enforcer.regex import both, either, inverse, literal
from enforcer.regex.caching import cached
from enforcer.regex.derivative import fullmatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.regex import Regex
    from enforcer.schema.grammar import ObjectShape, ValueId

_FEW = 16  # names that are weighed one by one
KEPT = 10_000  # answers kept for each shape
_SHORT = 200  # characters of a name whose text is kept


@dataclass(frozen=True, slots=True)
class Pair:
    """One property that an object still needs: `"name":` and what its value takes."""

    index: int | None
    name: str
    value: ValueId

    @property
    def text(self) -> bytes:
        """The name and the colon."""
        return _named(self.name)


def _named(name: str) -> bytes:
    # A client's name may have megabytes, and thousands of such must not be kept.
    return _short(name) if len(name) <= _SHORT else _written(name)


@lru_cache(maxsize=8_192)
def _short(name: str) -> bytes:
    return _written(name)


def _written(name: str) -> bytes:
    return b'"' + spell(name, quoted=True) + b'":'


class Plan(Protocol):
    """What values take, once that has been found out."""

    @property
    def final(self) -> bool:
        """Whether the costs are known; until then they only get smaller."""
        ...

    def lives(self, value: ValueId) -> bool:
        """Tell whether anything fits a value."""
        ...

    def cost(self, value: ValueId) -> float:
        """Count the ids of the shortest instance."""
        ...

    def first(self, value: ValueId) -> bytes:
        """Give the piece that the shortest instance begins with."""
        ...

    def pair(self, pair: Pair, *, comma: bool = False) -> float:
        """Count the ids of a property."""
        ...


class Objects:
    """One shape of objects.

    Attributes:
        names: the declared names that may occur, and their values.
        classes: the languages of undeclared names, and their values.
        marks: the languages of undeclared names that count as witnesses, and a bit for each of
            these. Each language is part of a class, all of whose properties count that have such
            a name: where the value decides, names are kept distinct, and no end is known.

    """

    def __init__(self, plan: Plan, shape: ObjectShape) -> None:
        self._plan = plan
        self.shape = shape
        self.names = tuple((name, value) for name, value in shape.names if plan.lives(value))
        self.values = dict(self.names)
        self.index = {name: i for i, (name, _) in enumerate(self.names)}
        self.declared = frozenset(name for name, _ in shape.names)
        self.classes = tuple(each for each in shape.classes if plan.lives(each[1]))
        self.marks = tuple((mark.names, 1 << mark.witness) for mark in shape.marks)
        self._required = self._bits(shape.required)
        self._known: dict[object, tuple[Pair, ...] | None] = {}
        self._rests: dict[object, float] = {}
        self._sorted = sorted(self.index)
        self._declared = sorted(self.declared)

    def begins(self, text: str) -> bool:
        """Tell whether a declared name that may occur begins so."""
        at = bisect_left(self._sorted, text)
        return at < len(self._sorted) and self._sorted[at].startswith(text)

    def beginning(self, text: str) -> Sequence[str]:
        """List the declared names that begin so, also those that cannot occur."""
        return _beginning(self._declared, text)

    @cached_property
    def _by_cost(self) -> list[int]:
        return sorted(range(len(self.names)), key=lambda i: self._cost_of(self._pair(i)))

    def candidates(self, text: str, seen: int, extras: frozenset[str], hits: int) -> Iterable[int]:
        """List declared names that begin so, the shortest to complete among them or nearly so.

        Of many names only a few are given: what the object needs, and what costs least as a
        whole. However a name goes on, of those that still begin so the same come first: what
        one of them has promised stays within reach.

        Args:
            text: what has been written of the name.
            seen, extras, hits: as in `missing`.

        """
        found = [self.index[name] for name in _beginning(self._sorted, text)]
        if len(found) <= _FEW:
            return (i for i in found if not seen >> i & 1)
        chosen: dict[int, None] = {}
        for more in (False, True):
            for pair in self.missing(seen, extras, hits, more=more) or ():
                if len(chosen) >= _FEW:
                    break
                if pair.index is not None and pair.name.startswith(text):
                    chosen[pair.index] = None
        needed = len(chosen)
        for i in self._by_cost:
            if len(chosen) >= needed + _FEW:
                break
            if not seen >> i & 1 and self.names[i][0].startswith(text):
                chosen[i] = None
        return chosen

    def _bits(self, names: Iterable[str]) -> int:
        return sum(1 << self.index[name] for name in names if name in self.index)

    def missing(
        self, seen: int, extras: frozenset[str], hits: int, *, more: bool = False
    ) -> tuple[Pair, ...] | None:
        """List the properties that are still needed, in the order in which they are written.

        Args:
            seen: a bit for each declared name that is there.
            extras: the undeclared names that are there.
            hits: a bit for each witness that is there.
            more: whether one must follow in any case.

        Returns:
            None if the object cannot be completed.

        """
        if not self._plan.final:
            return self._missing(seen, extras, hits, more=more)
        extras = self._told_apart(extras, more=more)
        key = (seen, extras, hits, more)
        if key not in self._known:
            if len(self._known) > KEPT:
                self._known.clear()
            self._known[key] = self._missing(seen, extras, hits, more=more)
        return self._known[key]

    def _told_apart(self, extras: frozenset[str], *, more: bool) -> frozenset[str]:
        """Forget the undeclared names where they make no difference."""
        return extras if self.shape.minimum or more or self.shape.marks else frozenset()

    def _missing(
        self, seen: int, extras: frozenset[str], hits: int, *, more: bool
    ) -> tuple[Pair, ...] | None:
        chosen: list[Pair] = []
        base = seen
        extra = extras

        def take(pair: Pair) -> None:
            nonlocal base, extra
            chosen.append(pair)
            if pair.index is None:
                extra |= {pair.name}
            else:
                base |= 1 << pair.index

        for i in _ones(self._required & ~seen):
            take(Pair(i, *self.names[i]))
        for i in range(len(self.shape.witnesses)):
            if not hits >> i & 1:
                best = min(self._witnesses(i, extra), key=self._cost_of, default=None)
                if best is None:
                    return None
                hits |= self.hits_of(best.name)
                take(best)
        while base.bit_count() + len(extra) < self.shape.minimum or (more and not chosen):
            found = self._another(base, extra)
            if found is None:
                return None
            take(found)
        return tuple(chosen)

    def _witnesses(self, index: int, extra: frozenset[str]) -> Iterable[Pair]:
        for regex, hits in self.marks:
            if hits >> index & 1:
                name = fresh(regex, self.declared | extra)
                if name is not None:
                    yield self.undeclared(name)

    def undeclared(self, name: str) -> Pair:
        """Give the property of an undeclared name, with the value that a reader finds for it."""
        return Pair(None, name, self.shape.child(name))

    def hits_of(self, name: str) -> int:
        """Give the bits of the witnesses that a property of an undeclared name counts as."""
        found = 0
        for regex, hits in self.marks:
            if fullmatch(regex, name):
                found |= hits
        return found

    def _pair(self, index: int) -> Pair:
        return Pair(index, *self.names[index])

    def _cost_of(self, pair: Pair) -> tuple[float, str]:
        return self._plan.pair(pair), pair.name

    def _another(self, base: int, extra: frozenset[str]) -> Pair | None:
        """Choose the shortest property that is not there."""
        free = [i for i in range(len(self.names)) if not base >> i & 1]
        found = [self._pair(i) for i in free]
        found += [
            pair
            for regex, value in self.classes
            if (pair := self._fresh(regex, value, extra)) is not None
        ]
        found = [pair for pair in found if self._plan.pair(pair) < inf]
        return min(found, key=self._cost_of, default=None)

    def _fresh(self, regex: Regex, value: ValueId, extra: frozenset[str]) -> Pair | None:
        name = fresh(regex, self.declared | extra)
        return None if name is None else Pair(None, name, value)

    def rest(
        self, seen: int, extras: frozenset[str], hits: int, *, comma: bool, more: bool = False
    ) -> float:
        """Count the ids until the object is closed.

        Args:
            seen, extras, hits: what is there.
            comma: whether a comma stands before the next property.
            more: whether one must follow in any case.

        """
        key = (seen, self._told_apart(extras, more=more), hits, comma, more)
        known = self._rests.get(key) if self._plan.final else None
        if known is None:
            known = self._sum(self.missing(seen, extras, hits, more=more), comma=comma)
            if self._plan.final:
                if len(self._rests) > KEPT:
                    self._rests.clear()
                self._rests[key] = known
        return known

    def _sum(self, pairs: tuple[Pair, ...] | None, *, comma: bool) -> float:
        if pairs is None:
            return inf
        total: float = 1
        for i, pair in enumerate(pairs):
            total += self._plan.pair(pair, comma=comma or i > 0)
        return total

    def next(
        self, seen: int, extras: frozenset[str], hits: int, *, comma: bool, more: bool = False
    ) -> bytes:
        """Give the piece that comes first, if the object can be completed."""
        pairs = self.missing(seen, extras, hits, more=more)
        if not pairs:
            return b"}"
        return (b"," if comma else b"") + pairs[0].text


def _beginning(names: list[str], text: str) -> list[str]:
    """Give those of some sorted names that begin so."""
    low = bisect_left(names, text)
    return names[low : bisect_right(names, text, low, key=lambda name: name[: len(text)])]


def _ones(bits: int) -> Iterable[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


@cached
def fresh(regex: Regex, taken: frozenset[str]) -> str | None:
    """Find the least member that is not taken; None if there is none."""
    found = least(regex)
    if found is None or found not in taken:
        return found
    return least(both(regex, inverse(either(*map(literal, sorted(taken))))))
