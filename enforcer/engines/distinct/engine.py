"""Elements of arrays kept distinct around the machine, which does it for strings by itself.

The machine masks a grammar in which other elements may repeat; a *keeper* follows the text beside
it and leaves out of each mask what would repeat one. Other grammars pass through.

Owns: which arrays these are, and what of that nobody can keep. Must not know: how
texts are followed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from enforcer.engines import pairs
from enforcer.engines.distinct import uniqueness
from enforcer.engines.distinct.element_tokens import ElementTokens
from enforcer.engines.distinct.keepers import keepers
from enforcer.engines.kept_texts import JsonKeeper, KeptMatcher
from enforcer.engines.machine import MachineEngine
from enforcer.engines.pairs_keeper import PairsKeeper
from enforcer.errors import Problem, UnsupportedSchema
from enforcer.layouts import LayoutKind
from enforcer.schema.finishing.distinct import is_remembered, is_text, offence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.engines.keeper import TextKeeper
    from enforcer.layouts import BoundLayout
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape
    from enforcer.vocabulary import Vocabulary

_MARK = "\0distinct "
_EACH = 4_000  # bytes of a track, its language included
_EACH_STATE = 1_500  # bytes of a state of what is written without quotes
_LISTS = 800_000  # bytes of the numbers that are remembered of one grammar, at most


class DistinctEngine(MachineEngine):
    """Keeps elements distinct around the machine; see `enforcer.engines.ArgumentEngine`."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self._crossings: dict[tuple[bytes, bytes], pairs.Crossing] = {}

    @cached_property
    def _element_tokens(self) -> ElementTokens:
        return ElementTokens(self.vocabulary)

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build the tables of the token ids that elements are made of."""
        _ = self._element_tokens
        if layout is not None and layout.layout.kind is LayoutKind.PAIRS:
            self._crossing(*pairs.borders(layout.pair))
        super().warm(layout)

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise what `write` or `read` would."""
        super().check(self._divide(grammar, layout)[0], layout)

    def write(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> str:
        """Write a grammar, and what has to be distinct in its texts."""
        masked, kept = self._divide(grammar, layout)
        text = super().write(masked, layout)
        if not kept:
            return text
        return _MARK + json.dumps([text, kept, pairs.written(layout, grammar)])

    def read(self, written: str) -> CompiledGrammar:
        """Compile what `write` has given."""
        if not written.startswith(_MARK):
            return super().read(written)
        text, kept, laid_out = json.loads(written.removeprefix(_MARK))
        layout = None if laid_out is None else pairs.read(laid_out)
        return self._around(super().read(text), kept, layout)

    def compile(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None
    ) -> CompiledGrammar:
        """Compile a grammar in this process, without writing it where nothing is to be kept."""
        masked, kept = self._divide(grammar, layout)
        if kept:
            return self.read(self.write(grammar, layout))
        return super().compile(masked, layout)

    def _crossing(self, stop: bytes, opens: bytes) -> pairs.Crossing:
        """Return the token ids that cross such borders of values."""
        if (stop, opens) not in self._crossings:
            self._crossings[stop, opens] = pairs.Crossing(self.vocabulary, stop, opens)
        return self._crossings[stop, opens]

    def _divide(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None
    ) -> tuple[ArgumentGrammar, list[Any]]:
        """Return the grammar without such elements, and what has to be distinct in its texts.

        Raises:
            UnsupportedSchema: the layout cannot be followed, or fewer elements are described than
                are needed.

        """
        others = [*_others(grammar)]
        if not others:
            return grammar, []
        if not pairs.can_follow(layout):
            reason = (
                "this tool-call format supports no distinct elements but strings; leave the "
                "keyword out, or list the elements that there may be in an `enum`"
            )
            raise _unsupported(others, reason)
        kept = _unique_where(grammar, lambda array: array in others)
        few = uniqueness.too_few(kept)
        if few:
            reason = (
                "the schema has fewer distinct elements than `minItems` demands; lower `minItems`"
            )
            raise _unsupported(few, reason)
        masked = _unique_where(grammar, lambda array: array not in others)
        return masked, uniqueness.written(kept)

    def _around(
        self, inner: CompiledGrammar, kept: list[Any], layout: pairs.Pairs | None
    ) -> CompiledGrammar:
        found = uniqueness.read(kept)
        made = keepers(found, self._element_tokens)
        weight = _EACH * (len(found.tracks) + len(found.definitions)) + _EACH_STATE * found.states
        weight += _LISTS if found.states else 0
        vocabulary = self.vocabulary
        if layout is None:
            return _DistinctGrammar(inner, lambda: JsonKeeper(made(), vocabulary), weight)
        crossing = self._crossing(layout.stop, layout.opens)
        return _DistinctGrammar(
            inner, lambda: PairsKeeper(layout, crossing, vocabulary, made()), weight
        )


class _DistinctGrammar:
    """A compiled grammar, each text of which has a keeper.

    Args:
        inner: that of the engine within.
        keeper: makes one.
        weight: bytes beside the grammar within, roughly.

    """

    def __init__(
        self, inner: CompiledGrammar, keeper: Callable[[], TextKeeper], weight: int
    ) -> None:
        self._inner = inner
        self._keeper = keeper
        self._weight = weight

    @property
    def weight(self) -> int:
        """Bytes that this may hold now."""
        return self._inner.weight + self._weight

    def matcher(self) -> ArgumentMatcher:
        """Start a new text."""
        return KeptMatcher(self._inner.matcher(), self._keeper())


def _others(grammar: ArgumentGrammar) -> Iterator[ArrayShape]:
    """Yield the arrays of distinct elements that are not all strings."""
    for value in grammar.definitions.values():
        for array in value.arrays:
            if is_remembered(array) and not is_text(grammar.definitions[array.rest]):
                yield array


def _unique_where(
    grammar: ArgumentGrammar, is_unique: Callable[[ArrayShape], bool]
) -> ArgumentGrammar:
    """Return a grammar in which the elements of other arrays may repeat."""
    definitions = {
        number: value._replace(
            arrays=tuple(
                replace(array, unique=False)
                if is_remembered(array) and not is_unique(array)
                else array
                for array in value.arrays
            ),
        )
        for number, value in grammar.definitions.items()
    }
    return replace(grammar, definitions=definitions)


def _unsupported(shapes: Iterable[ArrayShape], reason: str) -> UnsupportedSchema:
    places = dict.fromkeys(map(offence, shapes))
    return UnsupportedSchema(tuple(Problem(*place, reason) for place in places))
