"""Elements of arrays and names of objects kept distinct around an engine.

Owns: what of a grammar has to be kept distinct, and what of that nobody can. Must not know: which
engine it is around.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from enforcer.engines.beside import KeeperEngine
from enforcer.engines.distinct import uniqueness
from enforcer.engines.distinct.element_tokens import ElementTokens
from enforcer.engines.distinct.keepers import keepers
from enforcer.engines.distinct.string_tokens import StringTokens
from enforcer.engines.pairs import can_follow
from enforcer.errors import Problem, UnsupportedSchema
from enforcer.layouts import LayoutKind
from enforcer.schema.finishing.distinct import is_remembered, is_text, offence, remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from enforcer.engines import ArgumentEngine
    from enforcer.engines.keeper import Keeper
    from enforcer.layouts import BoundLayout
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, ObjectShape
    from enforcer.vocabulary import Vocabulary

_EACH = 4_000  # bytes of a track, its language included
_EACH_STATE = 1_500  # bytes of a state of what is written without quotes
_LISTS = 800_000  # bytes of the numbers that are remembered of one grammar, at most


class DistinctEngine(KeeperEngine):
    """Keeps elements distinct around another engine.

    Args:
        engine: the engine within.
        vocabulary: what its ids stand for.
        keeps_strings: whether the engine within lets no name of an object come twice, and no
            element of an array of distinct strings.

    """

    mark: ClassVar[str] = "\0distinct "

    def __init__(
        self, engine: ArgumentEngine, vocabulary: Vocabulary, *, keeps_strings: bool = False
    ) -> None:
        super().__init__(engine, vocabulary)
        self._keeps_strings = keeps_strings

    @cached_property
    def _string_tokens(self) -> StringTokens:
        return StringTokens(self.vocabulary)

    @cached_property
    def _element_tokens(self) -> ElementTokens:
        return ElementTokens(self.vocabulary)

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build the tables of the ids that elements are made of."""
        _ = self._string_tokens, self._element_tokens
        super().warm(layout)

    def divide(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None
    ) -> tuple[ArgumentGrammar, list[Any]]:
        """Return the grammar without distinct elements, and what has to be distinct in its texts.

        Raises:
            UnsupportedSchema: the layout cannot be followed, or fewer elements are described than
                are needed.

        """
        whole = grammar
        if self._keeps_strings:
            if not any(_others(grammar)):
                return grammar, []
            grammar = _without_distinct_names(grammar)
        found = uniqueness.written(grammar)
        if not found:
            return grammar, found
        if not can_follow(layout):
            raise _unsupported(
                (shape for value in grammar.definitions.values() for shape in remembered(value)),
                "this tool-call format supports neither distinct elements nor the counting "
                "of many properties; leave the keyword out, list the elements that there "
                "may be in an `enum`, or declare the properties",
            )
        if layout is not None and layout.layout.kind is not LayoutKind.JSON:
            named = [x for x in grammar.definitions[grammar.root].objects if x.distinct_names]
            if named:
                reason = (
                    "in this tool-call format only a few undeclared arguments can be counted; "
                    "leave the keyword out, or declare them"
                )
                raise _unsupported(named, reason)
        few = uniqueness.too_few(grammar)
        if few:
            reason = (
                "the schema has fewer distinct elements than `minItems` demands; lower `minItems`"
            )
            raise _unsupported(few, reason)
        return _without_distinct_elements(whole), found

    def keepers(self, kept: list[Any]) -> tuple[Callable[[], Keeper], int]:
        """Give what makes a keeper for each text, and the bytes that they share."""
        found = uniqueness.read(kept)
        made = keepers(found, lambda: self._string_tokens, lambda: self._element_tokens)
        weight = _EACH * (len(found.tracks) + len(found.definitions)) + _EACH_STATE * found.states
        return made, weight + (_LISTS if found.states else 0)


def _without_distinct_elements(grammar: ArgumentGrammar) -> ArgumentGrammar:
    """Return a grammar in which elements that a keeper keeps distinct may repeat."""
    definitions = {
        number: value._replace(
            arrays=tuple(
                replace(array, unique=False) if is_remembered(array) else array
                for array in value.arrays
            )
        )
        for number, value in grammar.definitions.items()
    }
    return replace(grammar, definitions=definitions)


def _others(grammar: ArgumentGrammar) -> Iterator[ArrayShape]:
    """Yield the arrays of distinct elements that are not strings."""
    for value in grammar.definitions.values():
        for array in value.arrays:
            if is_remembered(array) and not is_text(grammar.definitions[array.rest]):
                yield array


def _without_distinct_names(grammar: ArgumentGrammar) -> ArgumentGrammar:
    """Return a grammar of whose objects none asks a keeper to let no name come twice."""
    definitions = {
        number: value._replace(
            objects=tuple(
                replace(shape, distinct_names=False) if shape.distinct_names else shape
                for shape in value.objects
            )
        )
        for number, value in grammar.definitions.items()
    }
    return replace(grammar, definitions=definitions)


def _unsupported(shapes: Iterable[ArrayShape | ObjectShape], reason: str) -> UnsupportedSchema:
    places = dict.fromkeys(map(offence, shapes))
    return UnsupportedSchema(tuple(Problem(*place, reason) for place in places))
