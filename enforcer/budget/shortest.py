"""The shortest instance of every value of a finished grammar, in ids.

Owns: what each value takes, and which piece comes first. Choices depend on what is there alone,
never on how it came about, so that after the first id of a shortest end the rest of it is the
shortest end that is found. Must not know: how a text is followed, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from enforcer.budget.arrays import Arrays
from enforcer.budget.least import Unbounded, furthest, least, widest
from enforcer.budget.objects import Objects, Pair
from enforcer.budget.steps import Steps
from enforcer.errors import EnforcerError, Problem, UnsupportedSchema
from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import NotSpellableError
from enforcer.partial import spell
from enforcer.regex import NOTHING, either, literal
from enforcer.regex.derivative import derivative
from enforcer.schema.finishing.distinct import forgotten, offence, remembered
from enforcer.schema.grammar import NEVER, ArrayShape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from enforcer.budget.pieces import Pieces
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ArgumentGrammar, ObjectShape, Value, ValueId

# What a character that has been begun may take beyond what the text did before it.
PENDING = 12


class NoShortestEnd(EnforcerError):  # noqa: N818 - named for what is wrong
    """The schema has values of which the shortest cannot be told.

    Attributes:
        problems: what it is, from the schema's root; never empty.

    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__(problems[0].reason)
        self.problems = problems


_DISTINCT = (
    "the shortest completion of an array of distinct elements cannot be "
    "computed: list the values in an `enum`, or drop `uniqueItems`"
)
_COUNTED = (
    "the shortest completion of an object cannot be computed where undeclared "
    "properties are counted: declare the names"
)
_ENFORCED = (
    "without `finish_within_budget`, which may be the server's own setting, it is enforced exactly"
)

# Bytes a value, answers included, and thrice as many for the objects that make it up: a cache full
# of them is what Python's collector looks through while all requests wait.
_EACH = 16_000


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
        kept = [shape for value in grammar.definitions.values() for shape in remembered(value)]
        if kept:
            raise NoShortestEnd(*dict.fromkeys(map(_problem, kept)))
        self.grammar = grammar
        self.pieces = pieces
        self.final = False
        self._costs: dict[ValueId, float] = dict.fromkeys(grammar.definitions, inf)
        self.bare: Mapping[ValueId, Regex] = {
            number: _bare(value) for number, value in grammar.definitions.items()
        }
        self.objects: Mapping[ValueId, tuple[Objects, ...]] = {
            number: tuple(Objects(self, shape) for shape in value.objects)
            for number, value in grammar.definitions.items()
        }
        self.arrays: Mapping[ValueId, tuple[Arrays, ...]] = {
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
        self.steps = Steps(self)
        if self.cost(grammar.root) == inf:
            raise NoShortestEnd(Problem("$", "", "no shortest value was found that fits it"))
        _ = self.growth  # found out now, so that what cannot be told is refused at once

    @property
    def definitions(self) -> Mapping[ValueId, Value]:
        """What each number stands for."""
        return self.grammar.definitions

    def behind(self, bare: Regex, char: str) -> Regex:
        """Give what may follow one more character of what is written without quotes."""
        return derivative(bare, char)

    def reach(self, regex: Regex, *, quoted: bool = True) -> int:
        """Bound the bytes that the end of a string or a bare text takes."""
        return (self._widest(regex) if quoted else 1) * furthest(regex)

    def _widest(self, regex: Regex) -> int:
        """Bound the bytes of each character in the end of a string."""
        return widest(regex) * self.pieces.widening

    def lives(self, value: ValueId) -> bool:
        """Tell whether anything fits a value."""
        return value != NEVER and value in self.grammar.definitions

    def cost(self, value: ValueId) -> float:
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

    def first(self, value: ValueId) -> bytes:
        """Give the piece that the shortest instance begins with."""
        return min(self._ways(value), key=lambda way: way[0])[1]

    def _ways(self, number: ValueId) -> Iterable[tuple[float, bytes]]:
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
                most = max(most, self._widest(value.strings) * furthest(value.strings) + 2)
            for each in self.objects[number]:
                for i in range(len(each.names)):
                    most = max(most, self.pair(Pair(i, *each.names[i]), comma=True))
                for regex, child in each.classes:
                    most = max(most, self._widest(regex) * furthest(regex) + 5 + self.cost(child))
                for regex, _ in each.marks:
                    furthest(regex)  # no name may lead to where its end takes long to find
        return int(most) + PENDING


@dataclass(frozen=True, slots=True)
class Untimed:
    """A grammar of whose texts nobody can tell how soon they can end.

    Attributes:
        problems: what it is in the schema; never empty.
        cost_of_root: a number of ids that no text has less than, as far as that is known.

    """

    problems: tuple[Problem, ...]
    cost_of_root: float


def shortest(grammar: ArgumentGrammar, pieces: Pieces) -> Shortest | Untimed:
    """Give what every value takes at least, or what it is that nobody can tell it of.

    Which of the two, and why, depends on the grammar alone.
    """
    try:
        return Shortest(grammar, pieces)
    except NoShortestEnd as error:
        problems = error.problems
    except Unbounded as error:
        problems = (Problem("$", "", str(error)),)
    try:
        least_ids = Shortest(loosened(grammar), pieces).cost_of_root
    except (NoShortestEnd, Unbounded):
        least_ids = 1
    return Untimed(problems, least_ids)


def loosened(grammar: ArgumentGrammar) -> ArgumentGrammar:
    """Give the same grammar without what takes a memory to keep, as elements that differ.

    It permits more, and how soon its texts can end is no question of what they hold.
    """
    kept = [shape for value in grammar.definitions.values() for shape in remembered(value)]
    if not kept:
        return grammar
    return replace(grammar, definitions=forgotten(dict(grammar.definitions), kept))


def _problem(shape: ArrayShape | ObjectShape) -> Problem:
    path, keyword = offence(shape)
    return Problem(path, keyword, _DISTINCT if isinstance(shape, ArrayShape) else _COUNTED)


def untimed(*problems: Problem) -> UnsupportedSchema:
    """Give the error of what cannot be finished within a budget, where that is to be."""
    told = (replace(each, reason=f"{each.reason}; {_ENFORCED}") for each in problems)
    return UnsupportedSchema(tuple(told))


def unknown_text(kind: str) -> Problem:
    """Say that nobody can tell of texts of a format that is no JSON Schema."""
    reason = "how many tokens such a text needs to end is not known"
    return Problem(f"$.response_format.{kind}", kind, reason)


def _bare(value: Value) -> Regex:
    texts = [literal(word) for word in value.words]
    try:
        texts.extend(map(number_texts, value.numbers))
    except NotSpellableError as error:
        reason = (
            "a number has a `multipleOf` that cannot be written as a regular "
            "expression: list the values in an `enum`"
        )
        raise NoShortestEnd(Problem("$", "", reason)) from error
    return either(*texts) if texts else NOTHING
