"""Automaton over token ids around the calls: a dialect bound to a vocabulary.

Owns: the legal ids of each state, as precomputed rows. Must not know: requests (what one
allows is an `envelope`), schemas, engines, hosts, or how a turn is advanced (that is `matcher`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

from enforcer.engines import MACHINE
from enforcer.errors import ConfigurationError
from enforcer.machine.grammar import any_grammar
from enforcer.turn import pattern
from enforcer.turn.around import Around
from enforcer.turn.dialect import Segment, written
from enforcer.turn.draft_style import DraftStyle
from enforcer.turn.header import HeaderForm, HeaderTrie
from enforcer.turn.lexer import OPEN, Lexer, Opening, Place
from enforcer.turn.pattern import ID, NAME
from enforcer.turn.token_weights import TokenWeights
from enforcer.turn.tools_cache import ToolsCache
from enforcer.turn.turn_start import TurnStart

_ROWS = 4096
_SOME_NAME = "a"
# Of a turn that may call and end, one that owes a call, and one without tools.
_USUAL = (
    Opening(call=True, finish=True, text=True, empty=False),
    Opening(call=True, finish=False, text=True, empty=False),
    Opening(call=False, finish=True, text=True, empty=False),
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import Startable
    from enforcer.turn.dialect import Dialect
    from enforcer.turn.pattern import Language
    from enforcer.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class StateRow:
    """The ids that are legal at one moment, apart from headers and arguments.

    A table has one for each place and opening, and tells them apart by identity.

    Attributes:
        markers: legal control id to the state it leads to.
        mask: int32, shape `(vocabulary.words,)`: the special tokens of markers.
        text: whether text is free.
        opening: what it was computed for.

    """

    markers: Mapping[int, str]
    mask: npt.NDArray[np.int32]
    text: bool
    opening: Opening


class Table:
    """A dialect bound to a vocabulary: the rows of every state.

    Args:
        dialect: the format.
        vocabulary: the tokens.
        any_text: returns a grammar over all tokens, whose texts lend their memory to the rows of
            turns; None for one of its own.

    Raises:
        InvalidVocabulary: the tokenizer lacks a control token that the dialect needs.

    """

    def __init__(
        self,
        dialect: Dialect,
        vocabulary: Vocabulary,
        any_text: Callable[[], Startable] | None = None,
    ) -> None:
        self._find_any_text = any_text or partial(any_grammar, vocabulary)
        self.dialect = dialect
        self.vocabulary = vocabulary
        self.draft_style = DraftStyle(vocabulary)  # of the turns' draft tokens
        controls = vocabulary.controls
        needed = dialect.tokens.needed or ()
        for name in (*needed, *dialect.turn.begin[:1], *filter(None, [dialect.turn.end])):
            vocabulary.control(name)
        self._inside = {name: controls.get(name) for name in dialect.tokens.names}
        markers = {
            role: tuple(self._language(text) for text in texts if self.is_there(text))
            for role, texts in dialect.markers.items()
        }
        self.layout = dialect.layout(controls, vocabulary.writable)
        header = pattern.language(dialect.header, self._inside.get)
        self.lexer = Lexer(dialect, self.layout, markers, header)
        # By a role, the ids that are the whole of one of its markers.
        self._ids = {
            role: tuple(
                token
                for text in texts
                if self.is_there(text) and (token := self._only_id(text)) is not None
            )
            for role, texts in dialect.markers.items()
        }
        # Computed here, so that no request waits for them.
        _ = vocabulary.sorted_text, vocabulary.text_kinds
        self.form = self._form()
        self.tries: ToolsCache[HeaderTrie] = ToolsCache()
        self.alike: ToolsCache[Any] = ToolsCache()  # what envelopes share that allow the same
        self.is_simple = dialect.is_simple
        nothing = vocabulary.row(())
        nothing.setflags(write=False)
        closed = Opening(call=False, finish=False, text=False, empty=False)
        self.nothing = StateRow({}, nothing, text=False, opening=closed)
        # Every marker of a state that is one token, whatever the request.
        self.leaves: Mapping[str, Mapping[int, str]] = {
            name: {
                token: transition.to
                for role, transition in state.on.items()
                for token in self._ids[role]
            }
            for name, state in dialect.states.items()
        }
        self.turn_end_ids = frozenset(self.leaves[dialect.final])
        self._turn_start = TurnStart(dialect, vocabulary, self.turn_end_ids)
        # Words of masks of texts that were not zero where all of those before were.
        self.likely: tuple[int, ...] = ()
        self._places = lru_cache(_ROWS)(self._build_at)

    def headers(self, names: tuple[str, ...], indices: tuple[int, ...]) -> HeaderTrie:
        """Return the headers of some tools at some indices."""
        return self.tries.get((names, indices), lambda: HeaderTrie(self.form, names, indices))

    def is_there(self, text: str) -> bool:
        """Return whether the tokenizer can have a marker.

        Raises:
            InvalidVocabulary: it must, and cannot.

        """
        tokens, controls = self.dialect.tokens, self.vocabulary.controls
        if tokens.needed is not None:
            return not any(name in text and name not in controls for name in tokens.optional)
        if text not in controls and text not in tokens.optional:
            self.vocabulary.control(text)
        return text in controls

    def _only_id(self, text: str) -> int | None:
        """Return the id that is the whole of a marker, if it is one."""
        return self.vocabulary.controls.get(text)

    def _language(self, text: str) -> Language:
        token = self._only_id(text)
        if token is not None:
            return pattern.symbol(ID + token)
        return pattern.language(text, self._inside.get)

    @cached_property
    def call_begins(self) -> tuple[Language, ...]:
        """Text that begins a call's header."""
        texts = dict.fromkeys(
            text
            for state in self.dialect.states.values()
            for role, transition in state.on.items()
            if self.segment(transition.to) is Segment.HEADER
            for text in self.dialect.markers[role]
        )
        return tuple(self._language(text) for text in texts if self.is_there(text))

    @cached_property
    def call_ends(self) -> tuple[Language, ...]:
        """What ends a call's arguments, be it a marker or their own; none if a brace does."""
        own = self.dialect.arguments.close
        roles = (
            role
            for state in self.dialect.states.values()
            if state.segment is Segment.ARGUMENTS
            for role in state.on
        )
        texts = [text for role in roles for text in self.dialect.markers[role]]
        there = [text for text in texts if self.is_there(text)]
        return tuple(map(self._language, [own, *there] if own else there))

    def _form(self) -> HeaderForm:
        """Divide the header's pattern: white space that may be missing is not the trie's."""
        pieces = self.dialect.header_pieces
        at = pieces.index(NAME)
        first, last = self.dialect.header_ends

        def around(index: int) -> tuple[str, str]:
            sides = pieces[first:at], pieces[at + 1 : last]
            before, behind = (written(side, "", index) for side in sides)
            return before, behind

        head, tail = pattern.of_pieces(pieces[:first]), pattern.of_pieces(pieces[last:])
        states = self.dialect.states.values()
        ends = pieces[-1] != NAME and any(x.then for x in states if x.segment is Segment.HEADER)
        return HeaderForm(around, self.vocabulary, head, tail, ends=ends)

    @cached_property
    def behind_arguments(self) -> str | None:
        """The state behind arguments that end by themselves; None where a special token does."""
        states = self.dialect.states.values()
        return next((x.then for x in states if x.segment is Segment.ARGUMENTS), None)

    def refuse_engine(self, name: str) -> None:
        """Reject an engine that cannot tell where the arguments of this format end.

        The kernel alone can tell it within a token. Other engines need a special token there.

        Raises:
            ConfigurationError: the engine is not the machine, and arguments end by themselves.

        """
        if name != MACHINE and self.behind_arguments is not None:
            raise ConfigurationError(
                f"the engine {name} cannot tell where arguments end in the format "
                f"{self.dialect.name}: use the engine {MACHINE}"
            )

    def warm(self) -> None:
        """Compute what the first turns would wait for."""
        self.around.warm(_USUAL)
        _ = self.any_text, self.longest_marker

    @cached_property
    def any_text(self) -> Startable:
        """A grammar over all tokens, whose texts lend their memory to the rows of turns."""
        return self._find_any_text()

    @cached_property
    def token_weights(self) -> TokenWeights:
        """Token ids by what they may begin in arguments, for turns that end within a budget."""
        return TokenWeights(self.vocabulary, self.layout)

    @cached_property
    def longest_marker(self) -> int:
        """By how many ids a marker can be longer than one, once it has begun.

        What is left of it may take more ids than all of it.
        """
        markers = {
            each.rest.shortest
            for name in self.dialect.states
            for each in self.lexer.open_markers(Place(name), OPEN)
        }
        counts = (
            self.token_weights.count(symbols[first:])
            for symbols in markers
            for first in range(len(symbols))
        )
        return max(counts, default=1) - 1

    @cached_property
    def around(self) -> Around:
        """The automaton around the texts of calls."""
        return Around(self.lexer, self.form, self.opening, self._known)

    @cached_property
    def spells_calls(self) -> bool:
        """Whether text outside a think may turn out to be the beginning of a call."""
        return any(
            any(self.lexer.spelled(name))
            for name, state in self.dialect.states.items()
            if state.segment is Segment.CONTENT
        )

    def segment(self, state: str) -> Segment:
        """Return the kind of a state's text."""
        return self.dialect.states[state].segment

    def symbols(self, token_id: int) -> Sequence[int]:
        """Return the symbols of an id: its bytes, or itself; none for a hole or a stranger."""
        vocabulary = self.vocabulary
        if token_id in vocabulary.control_ids:
            return (ID + token_id,)
        return vocabulary.token_bytes(token_id) if 0 <= token_id < vocabulary.size else ()

    def row_at(self, place: Place, opening: Opening) -> StateRow:
        """Look up what is legal at a place between two symbols, apart from what is inside.

        The inside of headers and arguments is not the table's: there, a row has what ends them.
        """
        if place.text is not None:
            place = Place(place.state)
        return self._places(place, self.opening(place.state, opening))

    def opening(self, state: str, opening: Opening) -> Opening:
        """Close the text of a state after which nothing could be called, while a call is owed."""
        found = self.dialect.states[state]
        if opening.finish or found.segment is not Segment.CONTENT:
            return opening
        text = opening.text and found.text_to in self._before_calls
        blank = opening.blank and found.blank_to in self._before_calls
        return replace(opening, text=text, blank=blank)

    @cached_property
    def _before_calls(self) -> frozenset[str]:
        """The states from which a call can still begin."""
        states = self.dialect.states
        found = {name for name, state in states.items() if state.segment is Segment.HEADER}
        before = -1
        while before < len(found):
            before = len(found)
            for name, state in states.items():
                if found & {state.text_to, *(each.to for each in state.on.values())}:
                    found.add(name)
        return frozenset(found)

    def _build_at(self, place: Place, opening: Opening) -> StateRow:
        vocabulary, state = self.vocabulary, self.dialect.states[place.state]
        markers = {}
        for token in sorted(self._known):
            step = self.lexer.by_markers(place, ID + token, opening)
            if step is not None:
                markers[token] = step.place.state
        mask = vocabulary.row(markers)
        free = not place.committed and (
            state.segment is Segment.REASONING
            or (state.segment is Segment.CONTENT and opening.text)
        )
        mask.setflags(write=False)
        return StateRow(markers, mask, free, opening)

    @cached_property
    def _known(self) -> frozenset[int]:
        """The special tokens in markers."""
        whole = (token for tokens in self._ids.values() for token in tokens)
        return frozenset(whole).union(i for i in self._inside.values() if i is not None)

    def opened(self, prompt_ids: Sequence[int]) -> tuple[str, Sequence[int]]:
        """Find the turn that a prompt has opened; see `TurnStart.find`."""
        return self._turn_start.find(prompt_ids)

    def opens_near(self, prompt_ids: Sequence[int], most: int) -> bool:
        """Return whether a prompt's turn is opened in its last ids; see `TurnStart.is_near`."""
        return self._turn_start.is_near(prompt_ids, most)
