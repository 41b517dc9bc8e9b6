"""Lower bounds on the number of values that distinct elements of an array can have.

Owns: the values with so many texts that there is always another one, and the rejection of arrays
that need more elements than there are. Must not know: how tables are made.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.machine.automata import automaton_of
from enforcer.machine.lengths import Bounded, alternatives
from enforcer.numbers.languages import number_texts
from enforcer.numbers.sets import candidates
from enforcer.regex import either
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.schema.grammar import NEVER
from enforcer.schema.lowering.distinct import is_remembered, offence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.machine.automata import Automaton
    from enforcer.machine.lengths import Language
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId

_TOO_FEW = (
    "the schema is not known to have as many distinct elements as `minItems` demands; lower "
    "`minItems`"
)


def why_not_held(grammar: ArgumentGrammar) -> UnsupportedSchema | None:
    """Return an error if arrays of a grammar may need more distinct elements than there are."""
    definitions = grammar.definitions
    kept = {
        array: None
        for value in definitions.values()
        for array in value.arrays
        if is_remembered(array) and array.minimum > 1
    }
    if not kept:
        return None
    counts = Counts(definitions)
    few = [array for array in kept if not counts.has_enough(array)]
    problems = dict.fromkeys(Problem(*offence(array), _TOO_FEW) for array in few)
    return UnsupportedSchema(tuple(problems)) if problems else None


class Counts:
    """Counts the values of a grammar.

    Args:
        definitions: of a finished grammar.

    Attributes:
        many_words: the values with more texts than any array has elements.

    """

    def __init__(self, definitions: Mapping[ValueId, Value]) -> None:
        self._definitions = definitions
        self.many_words: set[ValueId] = set()
        grown = True
        while grown:
            found = {number for number in definitions if self._is_many(number)}
            grown = found != self.many_words
            self.many_words = found

    def _is_many(self, number: ValueId) -> bool:
        value = self._definitions[number]
        return number in self.many_words or (
            _has_vast_texts(value)
            or any(map(self._has_vast_parts, value.objects))
            or any(map(self._has_vast_elements, value.arrays))
        )

    def _has_vast_parts(self, shape: ObjectShape) -> bool:
        if shape.maximum is not None:
            return False
        names = tuple(names for names, child in shape.classes if child != NEVER)
        return any(child in self.many_words for _, child in shape.names) or (
            bool(names) and (found := _automaton(names)) is not None and found.never_runs_out
        )

    def _has_vast_elements(self, array: ArrayShape) -> bool:
        if array.choices:
            return False
        most = array.maximum
        children = array.prefix[:most]
        if most is None or most > len(children):
            children += (array.rest,)
        is_endless = most is None and array.rest != NEVER and not array.unique
        return is_endless or any(child in self.many_words for child in children)

    def has_enough(self, array: ArrayShape) -> bool:
        """Return whether an array has as many distinct elements as it needs."""
        least = array.minimum
        needed = [*enumerate(array.prefix[:least], 1)]
        if least > len(needed):
            needed.append((least, array.rest))
        return all(self.at_least(child, count) >= count for count, child in needed)

    def at_least(self, number: ValueId, most: int, around: frozenset[ValueId] = frozenset()) -> int:
        """Return a lower bound on the number of a value's instances, from 1 to `most`.

        Args:
            number: of the value.
            most: the number up to which instances are counted.
            around: the values that it is nested in, counted as one instance each.

        """
        if number in self.many_words:
            return most
        if number in around or number not in self._definitions:
            return 1
        value = self._definitions[number]
        around |= {number}
        listed = [candidates(each, most) for each in value.numbers]
        texts = () if value.strings is None else alternatives(value.strings)
        kinds = (  # for each kind the count of each alternative
            [len(value.words)],
            [most if each is None else len(each) for each in listed],
            [found.count_words(0) for text in texts if (found := _automaton((text,)))],
            [self._of_object(shape, most, around) for shape in value.objects],
            [self._of_array(array, most, around) for array in value.arrays],
        )
        return max(1, min(most, sum(max(counts, default=0) for counts in kinds)))

    def _of_object(self, shape: ObjectShape, most: int, around: frozenset[ValueId]) -> int:
        is_free = not (shape.witnesses or shape.maximum is not None)
        is_free = is_free and shape.minimum <= len(shape.required)
        names = {name: child for name, child in shape.names if child != NEVER}
        return prod(
            self.at_least(child, most, around) + (name not in shape.required)
            for name, child in names.items()
            if is_free or name in shape.required
        )

    def _of_array(self, array: ArrayShape, most: int, around: frozenset[ValueId]) -> int:
        if array.choices or array.unique:
            return 1
        children = (*array.prefix, *[array.rest] * array.minimum)[: min(array.minimum, most)]
        return prod(self.at_least(child, most, around) for child in children)


def _has_vast_texts(value: Value) -> bool:
    languages: list[Language] = [] if value.strings is None else [*alternatives(value.strings)]
    if value.numbers:
        languages.append(Bounded(either(*map(number_texts, value.numbers))))
    found = (_automaton((language,)) for language in languages)
    return any(each is not None and each.has_many_words for each in found)


def _automaton(languages: tuple[Language, ...]) -> Automaton | None:
    try:
        return automaton_of(languages)
    except TooLargeError:  # raised again where the tables are built
        return None
