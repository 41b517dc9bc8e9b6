"""An engine around another one, which keeps elements of arrays and names of objects distinct.

Owns: the engine, grammar and matcher of `enforcer.engines`, around those of another engine that
masks everything else; a grammar in which nothing has to be distinct passes through unchanged. Must
not know: which engine it is around.
"""

from __future__ import annotations

import json
from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Any

from enforcer.engines import ArgumentEngine
from enforcer.engines.distinct import uniqueness
from enforcer.engines.distinct.element_tokens import ElementTokens
from enforcer.engines.distinct.keepers import keepers
from enforcer.engines.distinct.string_tokens import StringTokens
from enforcer.errors import EngineFailure, Problem, UnsupportedSchema
from enforcer.layouts import LayoutKind
from enforcer.schema.finishing.distinct import offence, remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.engines.capacity import Capacity
    from enforcer.engines.distinct.keepers import Keeper
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, ObjectShape
    from enforcer.vocabulary import Vocabulary

_MARK = "\0distinct "
_PLACES = 64  # more than drafts take back
_EACH = 4_000  # bytes of a track, its language included
_EACH_STATE = 1_500  # bytes of a state of what is written without quotes
_LISTS = 800_000  # bytes of the numbers that are remembered of one grammar, at most


class DistinctEngine(ArgumentEngine):
    """Keeps elements distinct around another engine; see `enforcer.engines.ArgumentEngine`."""

    def __init__(self, engine: ArgumentEngine, vocabulary: Vocabulary) -> None:
        self.engine = engine
        self._vocabulary = vocabulary

    @property
    def name(self) -> str:
        """The name of the engine within."""
        return self.engine.name

    @property
    def capacity(self) -> Capacity:
        """What the engine within holds; arrays of distinct elements are not its to bear."""
        return self.engine.capacity

    @cached_property
    def _string_tokens(self) -> StringTokens:
        return StringTokens(self._vocabulary)

    @cached_property
    def _element_tokens(self) -> ElementTokens:
        return ElementTokens(self._vocabulary)

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise what `write` or `read` would."""
        self._uniqueness(grammar, layout)
        self.engine.check(grammar, layout)

    def write(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> str:
        """Write a grammar, and what has to be distinct in its texts if anything has."""
        distinct = self._uniqueness(grammar, layout)
        text = self.engine.write(grammar, layout, quick=quick)
        return _MARK + json.dumps([text, distinct]) if distinct else text

    def read(self, written: str) -> CompiledGrammar:
        """Compile what `write` has given."""
        if not written.startswith(_MARK):
            return self.engine.read(written)
        text, distinct = json.loads(written.removeprefix(_MARK))
        found = uniqueness.read(distinct)
        inner = self.engine.read(text)
        made = keepers(found, lambda: self._string_tokens, lambda: self._element_tokens)
        weight = _EACH * (len(found.tracks) + len(found.definitions)) + _EACH_STATE * found.states
        return _Grammar(inner, made, self._vocabulary, weight + (_LISTS if found.states else 0))

    @staticmethod
    def _uniqueness(grammar: ArgumentGrammar, layout: BoundLayout | None) -> list[Any]:
        found = uniqueness.written(grammar)
        if not found:
            return found
        if layout is None or layout.layout.kind is LayoutKind.JSON:
            few = uniqueness.too_few(grammar)
            if few:
                reason = "fewer values than `minItems` asks for are described; allow fewer elements"
                raise _unsupported(few, reason)
            return found
        # Tracks lead through JSON, from its first bracket on.
        raise _unsupported(
            (shape for value in grammar.definitions.values() for shape in remembered(value)),
            "elements can only be kept distinct, and more properties than a few be counted, in "
            "formats whose arguments are JSON; leave it out, list the elements that there may be "
            "in an `enum`, or declare the properties",
        )

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a format of text that is no JSON Schema."""
        return self.engine.compile_text(wanted)


def _unsupported(shapes: Iterable[ArrayShape | ObjectShape], reason: str) -> UnsupportedSchema:
    places = dict.fromkeys(map(offence, shapes))
    return UnsupportedSchema(tuple(Problem(*place, reason) for place in places))


class _Grammar:
    """A compiled grammar with arrays of distinct elements."""

    def __init__(
        self,
        inner: CompiledGrammar,
        keepers: Callable[[], Keeper],
        vocabulary: Vocabulary,
        weight: int,
    ) -> None:
        self._inner = inner
        self._keepers = keepers
        self._vocabulary = vocabulary
        self._weight = weight

    @property
    def weight(self) -> int:
        return self._inner.weight + self._weight

    @property
    def is_ready(self) -> bool:
        return self._inner.is_ready

    def renew(self) -> None:
        self._inner.renew()

    def matcher(self) -> ArgumentMatcher:
        return _Matcher(self._inner.matcher(), self._keepers(), self._vocabulary)


class _Matcher:
    """One text: what the engine allows, less what repeats an element."""

    def __init__(self, inner: ArgumentMatcher, keeper: Keeper, vocabulary: Vocabulary) -> None:
        self._inner = inner
        self._keeper = keeper
        self._vocabulary = vocabulary
        self._ids = array("I")
        # After the last ids; those before are read again if need be.
        self._places: list[Any] = [keeper.start]

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        self._inner.fill(row)
        self._keeper.forbid(self._places[-1], row)

    def _after(self, token_id: int) -> Any:
        return self._keeper.read(self._places[-1], self._vocabulary.token_bytes(token_id))

    def accept(self, token_id: int) -> bool:
        if not 0 <= token_id < self._vocabulary.size:
            return False
        if not self._inner.accept(token_id):
            return False
        try:
            place = self._after(token_id)
        except EngineFailure:
            self._inner.rollback(1)
            raise
        if place is None:
            self._inner.rollback(1)
            return False
        self._ids.append(token_id)
        self._places.append(place)
        if len(self._places) > 2 * _PLACES:
            del self._places[:_PLACES]
        return True

    def rollback(self, count: int) -> None:
        self._inner.rollback(count)
        del self._ids[len(self._ids) - count :]
        del self._places[max(len(self._places) - count, 0) :]
        if self._places:
            return
        self._places = [self._keeper.start]
        for token_id in self._ids:
            place = self._after(token_id)
            if place is None:
                raise EngineFailure("a text that was taken cannot be read again")
            self._places[0] = place

    def is_accepting(self) -> bool:
        return self._inner.is_accepting()
