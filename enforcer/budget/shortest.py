"""The shortest instance of every value of a finished grammar, in ids.

Owns: what a value, an object from any set of its properties, and an array from any length
still take to be complete, and which piece comes first. Choices depend on what is there
alone, never on how it came about, so that after the first id of a shortest end the rest of
it is the shortest end that is found. Must not know: how a text is followed, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import TYPE_CHECKING

from enforcer.budget.least import furthest, least, widest
from enforcer.budget.spelled import spell
from enforcer.errors import EnforcerError
from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiple_text import NotSpellableError
from enforcer.regex import NOTHING, both, either, inverse, literal
from enforcer.schema.finishing.counting import State, counting_automaton
from enforcer.schema.nodes import NEVER, Formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.budget.pieces import Pieces
    from enforcer.regex import Regex
    from enforcer.schema.nodes import ArgumentGrammar, ArrayShape, ObjectShape, Value

# What a character that has been begun may take beyond what the text did before it.
PENDING = 12


class NoShortestEnd(EnforcerError):  # noqa: N818 - named for what is wrong
    """The schema has values of which the shortest cannot be told."""


# Where in an array a text is: elements so far, a bit for each choice taken, or what counts.
Place = int | State


@dataclass(frozen=True, slots=True)
class Pair:
    """One property that an object still needs: `"name":` and what its value takes."""

    index: int | None
    name: str
    value: Formula

    @property
    def text(self) -> bytes:
        """The name and the colon."""
        return _named(self.name)


@lru_cache(maxsize=8_192)
def _named(name: str) -> bytes:
    return b'"' + spell(name, quoted=True) + b'":'


# The cost without a first comma, the next element if any, and the place after it.
_Best = tuple[float, Formula | None, Place]


class Objects:
    """One shape of objects.

    Attributes:
        names: the declared names that may occur, and their values.
        classes: the languages of undeclared names, and their values.

    """

    def __init__(self, plan: Shortest, shape: ObjectShape) -> None:
        self._plan = plan
        self.shape = shape
        self.names = tuple((name, value) for name, value in shape.names if plan.lives(value))
        self.values = dict(self.names)
        self.index = {name: i for i, (name, _) in enumerate(self.names)}
        self.declared = frozenset(name for name, _ in shape.names)
        self.classes = tuple(each for each in shape.classes if plan.lives(each[1]))
        self._required = self._bits(shape.required)
        self._clauses = tuple(sorted(self._bits(clause) for clause in shape.some))
        self._known: dict[object, tuple[Pair, ...] | None] = {}
        self._rests: dict[object, float] = {}

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
            if len(self._known) > _KEPT:
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
        for clause in self._clauses:
            if not base & clause:
                found = min(map(self._pair, _ones(clause)), key=self._cost_of, default=None)
                if found is None:
                    return None
                take(found)
        for i in range(len(self.shape.witnesses)):
            if not hits >> i & 1:
                marks = [mark for mark in self.shape.marks if i in mark.hits]
                named = [self._fresh(mark.names, mark.value, extra) for mark in marks]
                best = min((x for x in named if x is not None), key=self._cost_of, default=None)
                if best is None:
                    return None
                mark = marks[named.index(best)]
                hits |= sum(1 << hit for hit in mark.hits)
                take(best)
        while base.bit_count() + len(extra) < self.shape.minimum or (more and not chosen):
            found = self._another(base, extra)
            if found is None:
                return None
            take(found)
        return tuple(chosen)

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

    def _fresh(self, regex: Regex, value: Formula, extra: frozenset[str]) -> Pair | None:
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
                if len(self._rests) > _KEPT:
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


class Arrays:
    """One shape of arrays; a place in it is a number of elements, or what has been counted."""

    def __init__(self, plan: Shortest, shape: ArrayShape) -> None:
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

    def steps(self, at: Place) -> Sequence[tuple[Formula, Place]]:
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
            if len(self._known) > _KEPT:
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

    def _free(self, at: int) -> list[tuple[int, Formula]]:
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

    def _through(self, value: Formula, after: _Best) -> float:
        return self._plan.cost(value) + after[0] + (after[1] is not None)


_KEPT = 10_000  # answers kept for each shape
_EACH = 4_000  # bytes a value, answers included


def _number(at: Place) -> int:
    """Narrow a place to a number."""
    if not isinstance(at, int):
        raise TypeError(f"not a place in this array: {at!r}")
    return at


def _ones(bits: int) -> Iterable[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


@lru_cache(maxsize=8_192)
def fresh(regex: Regex, taken: frozenset[str]) -> str | None:
    """Find the least member that is not taken; None if there is none."""
    found = least(regex)
    if found is None or found not in taken:
        return found
    return least(both(regex, inverse(either(*map(literal, sorted(taken))))))


class Shortest:
    """What every value of a grammar takes at least.

    Args:
        grammar: the finished grammar.
        pieces: of the vocabulary.

    Attributes:
        growth: the greatest number of ids that one more beginning can commit a text to.

    Raises:
        NoShortestEnd: a value of which the shortest cannot be told.

    """

    def __init__(self, grammar: ArgumentGrammar, pieces: Pieces) -> None:
        self.grammar = grammar
        self.pieces = pieces
        self.final = False
        self._costs: dict[Formula, float] = dict.fromkeys(grammar.definitions, inf)
        self.bare: dict[Formula, Regex] = {
            number: _bare(value) for number, value in grammar.definitions.items()
        }
        self.objects = {
            number: tuple(Objects(self, shape) for shape in value.objects)
            for number, value in grammar.definitions.items()
        }
        self.arrays = {
            number: tuple(Arrays(self, shape) for shape in value.arrays)
            for number, value in grammar.definitions.items()
        }
        numbers = tuple(grammar.definitions)[::-1]
        changed = True
        while changed:
            changed = False
            for number in numbers:
                cost = min((way[0] for way in self._ways(number)), default=inf)
                if cost < self._costs[number]:
                    self._costs[number] = cost
                    changed = True
        self.final = True
        if self.cost(grammar.root) == inf:
            raise NoShortestEnd("no shortest instance of the schema could be found")
        _ = self.growth  # found out now, so that what cannot be told is refused at once

    def lives(self, value: Formula) -> bool:
        """Tell whether anything fits a value."""
        return value != NEVER and value in self.grammar.definitions

    def cost(self, value: Formula) -> float:
        """Count the ids of the shortest instance."""
        return self._costs.get(value, inf)

    @property
    def weight(self) -> int:
        """Bytes that it takes, roughly."""
        return _EACH * len(self.grammar.definitions) + _EACH

    @property
    def cost_of_root(self) -> float:
        """Count the ids of the shortest text."""
        return self.cost(self.grammar.root)

    def pair(self, pair: Pair, *, comma: bool = False) -> float:
        """Count the ids of a property."""
        return self.pieces.count(b"," + pair.text if comma else pair.text) + self.cost(pair.value)

    def first(self, value: Formula) -> bytes:
        """Give the piece that the shortest instance begins with."""
        return min(self._ways(value), key=lambda way: way[0])[1]

    def _ways(self, number: Formula) -> Iterable[tuple[float, bytes]]:
        """Give the shortest instance of each type: its ids, and its first piece."""
        value = self.grammar.definitions[number]
        count = self.pieces.count
        bare = least(self.bare[number])
        if bare is not None:
            yield count(bare.encode()), bare.encode()
        if value.strings is not None and (text := least(value.strings)) is not None:
            spelled = b'"' + spell(text, quoted=True) + b'"'
            yield count(spelled), spelled
        for shape in self.objects[number]:
            yield 1 + shape.rest(0, frozenset(), 0, comma=False), b"{"
        for array in self.arrays[number]:
            yield 1 + array.rest(array.start, comma=False), b"["

    @cached_property
    def growth(self) -> int:
        """Bound what one more value, name or element can commit a text to."""
        most: float = 0
        for number, value in self.grammar.definitions.items():
            most = max(most, *(way[0] for way in self._ways(number) if way[0] < inf), 0)
            if self.bare[number] != NOTHING:
                most = max(most, furthest(self.bare[number]))
            if value.strings is not None:
                most = max(most, widest(value.strings) * furthest(value.strings) + 2)
            for each in self.objects[number]:
                for i in range(len(each.names)):
                    most = max(most, self.pair(Pair(i, *each.names[i]), comma=True))
                for regex, child in each.classes:
                    most = max(most, widest(regex) * furthest(regex) + 5 + self.cost(child))
        return int(most) + PENDING


def _bare(value: Value) -> Regex:
    words = ["null"] if value.null else []
    words.extend("true" if each else "false" for each in sorted(value.booleans))
    texts = [literal(word) for word in words]
    try:
        texts.extend(map(number_texts, value.numbers))
    except NotSpellableError as error:
        raise NoShortestEnd(
            "a number with a divisor that no expression holds: list the values in an `enum`"
        ) from error
    return either(*texts) if texts else NOTHING
