"""A tool-call format as a frozen value.

Owns: the fields of a format, and their consequences for states and headers. Must not know: files
(that is `dialects`), token ids (that is `table`), tools, or any format in particular: a format is
data, never code.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from enforcer.layouts import Layout
from enforcer.regex.charset import ALL
from enforcer.turn import pattern
from enforcer.turn.pattern import BLANK, INDEX, NAME, Choice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from enforcer.layouts import BoundLayout
    from enforcer.regex.charset import CharSet
    from enforcer.turn.pattern import Fixed

_FORMS: Mapping[Fixed, str] = MappingProxyType(
    {NAME: "(?P<name>.+)", INDEX: "(?P<index>0|[1-9][0-9]{0,8})", BLANK: r"\s*"}
)


class Segment(Enum):
    """Kind of the text of a state."""

    REASONING = "reasoning"
    CONTENT = "content"
    HEADER = "header"
    ARGUMENTS = "arguments"
    NONE = "none"


FREE_TEXT = frozenset({Segment.REASONING, Segment.CONTENT})


class Ids(Enum):
    """Source of a call's id."""

    WRITTEN = "written"  # it is the header, whose index counts the dialog's calls
    MESSAGE = "message"  # the header's index counts the calls of its message; nothing renders ids
    RANDOM = "random"  # nothing of it is in the text: the server invents one
    RANDOM9 = "random9"  # likewise, of nine letters and digits, as Mistral's templates demand


class Names(Enum):
    """Set of tool names that the format can write."""

    ANY = "any"
    IDENTIFIER = "identifier"  # of Python, no keyword, no underscore first


class Guard(Enum):
    """Condition of a transition."""

    ALWAYS = "always"
    CALL = "call"
    FINISH = "finish"
    EMPTY = "empty"
    CALL_OR_EMPTY = "call or empty"


@dataclass(frozen=True, slots=True)
class Transition:
    """Transition by a marker.

    Attributes:
        to: the state after it.
        when: what opens it.
        else_text: whether its text is like any other while it is closed; else it is illegal.

    """

    to: str
    when: Guard
    else_text: bool = False


@dataclass(frozen=True, slots=True)
class DialectState:
    """One state of a format: its text and its transitions.

    Attributes:
        segment: kind of its text.
        text_to, blank_to: the state after a piece of text, and after one of white space.
        on: the transition of each marker.
        then: the state after a header or arguments that end by themselves; None where a marker
            ends them.

    """

    segment: Segment
    text_to: str
    blank_to: str
    on: Mapping[str, Transition]
    then: str | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The special tokens in markers.

    Attributes:
        needed: those that a tokenizer must have; None if each marker is one token as a whole.
        optional: those that it may lack, as it then lacks the markers that have them.
        spelled: those that are text where it lacks them.

    """

    needed: tuple[str, ...] | None
    optional: frozenset[str]
    spelled: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """All that may stand inside a marker."""
        return (*(self.needed or ()), *sorted(self.optional | self.spelled))


@dataclass(frozen=True, slots=True)
class TurnOpening:
    """The part of a prompt that opens the turn to be generated.

    Attributes:
        begin: control tokens any of which begins it; none where the roles are only text.
        role: the text that follows; None if it may be any.
        end: control token behind it; None if there is none.
        state: where the turn begins after it.

    """

    begin: tuple[str, ...]
    role: str | None
    end: str | None
    state: str


@dataclass(frozen=True)
class Dialect:
    """A format. `states` and `markers` keep the order of the file.

    Attributes:
        parsers: names of vLLM's parsers for it.
        ids: where the ids of its calls come from.
        names: which names it can write.
        header: pattern of a call's header, with `{name}` and perhaps `{index}`.
        start: state of a turn whose prompt is not known.
        final: state after the end of the turn.
        markers: role to the patterns that play it.
        tokens: the control tokens in them.
        arguments: how the arguments of a call are laid out.
        turn: what opens a turn.
        preamble_ids: how many token ids of text the models write before a demanded call.
        examples: the file's own examples, for the tests.

    """

    name: str
    parsers: tuple[str, ...]
    ids: Ids
    names: Names
    header: str
    start: str
    final: str
    markers: Mapping[str, tuple[str, ...]]
    tokens: Tokens
    arguments: Layout
    turn: TurnOpening
    preamble_ids: int
    states: Mapping[str, DialectState]
    examples: tuple[Mapping[str, Any], ...]

    @property
    def turn_state(self) -> str:
        """State right after what opens a turn."""
        return self.turn.state

    @cached_property
    def header_pieces(self) -> tuple[Fixed, ...]:
        """The header's fixed texts, its fields, and white space that may be missing."""
        return pattern.pieces_of(self.header, pattern.FIELDS)

    @cached_property
    def header_ends(self) -> tuple[int, int]:
        """Where in `header_pieces` the part with the name begins and ends.

        No white space that may be missing, and no choice, is in it.
        """
        pieces = self.header_pieces
        at = pieces.index(NAME)
        loose = [i for i, piece in enumerate(pieces) if piece is BLANK or type(piece) is Choice]
        first = max((i for i in loose if i < at), default=-1) + 1
        return first, min((i for i in loose if i > at), default=len(pieces))

    @cached_property
    def _header_form(self) -> re.Pattern[str]:
        return re.compile(
            "".join(_FORMS.get(piece) or _form(piece) for piece in self.header_pieces), re.DOTALL
        )

    @cached_property
    def calling(self) -> frozenset[str]:
        """The states inside a call, or a section of calls, that more must follow of.

        Those from which a call must follow, and those behind the beginning of one as long as
        another may follow.
        """
        headers = {n for n, each in self.states.items() if each.segment is Segment.HEADER}
        ends = {n for n, each in self.states.items() if each.segment in FREE_TEXT} | {self.final}
        leads = {name: closure(self, {name}) for name in self.states}
        behind = closure(self, set(headers))
        demanded = {name for name in leads if not closure(self, {name}, beyond=headers) & ends}
        found = {name for name in behind if leads[name] & headers or _is_call(self.states[name])}
        return frozenset(found | demanded) - ends

    @cached_property
    def speaking(self) -> frozenset[str]:
        """The states that a turn without calls can be in."""
        begun = closure(self, {self.start, self.turn_state}, beyond=self.calling)
        return frozenset(begun) - self.calling

    @cached_property
    def has_index(self) -> bool:
        """Whether the header has an index."""
        return INDEX in self.header_pieces

    def layout(self, controls: Mapping[str, int], writable: CharSet = ALL) -> BoundLayout:
        """Return the layout of arguments, bound to a tokenizer's special tokens and characters."""
        inside = {name: controls.get(name) for name in self.tokens.names}
        bound = self.arguments.bind(inside.get, writable)
        texts = *chain.from_iterable(self.markers.values()), *bound.avoided
        return replace(bound, escaped="".join(sorted({text[-1:] for text in texts})))

    @property
    def is_simple(self) -> bool:
        """Whether each marker is one control token, so that no token goes across a border."""
        return (
            self.tokens.needed is None
            and self.arguments == Layout()
            and not any(state.then for state in self.states.values())
        )

    @property
    def controls(self) -> tuple[str, ...]:
        """Names of all control tokens that the format may use."""
        if self.tokens.needed is None:
            inside = tuple(text for texts in self.markers.values() for text in texts)
        else:
            inside = self.tokens.names
        ends = () if self.turn.end is None else (self.turn.end,)
        return tuple(dict.fromkeys((*self.turn.begin, *ends, *inside)))

    def can_write(self, name: str) -> bool:
        """Return whether the format has a call to a tool of that name."""
        if self.names is Names.ANY:
            return True
        # Python reads some letters as others.
        same = unicodedata.normalize("NFKC", name) == name
        return same and name.isidentifier() and not (keyword.iskeyword(name) or name[0] == "_")

    def header_text(self, name: str, index: int) -> str:
        """Header of the call number `index`, to the tool `name`, without white space."""
        return written(self.header_pieces, name, index)

    def header_parts(self, text: str) -> tuple[str, int] | None:
        """Name and index that a header carries; None if it is not one.

        The index is 0 where the format has none. One of ten digits or more is none: no dialog
        has as many calls.
        """
        found = self._header_form.fullmatch(text)
        if found is None:
            return None
        return found["name"], int(found["index"]) if self.has_index else 0

    def diagram(self) -> str:
        """Draw the table as a Mermaid state diagram."""
        lines = ["stateDiagram-v2", f"    [*] --> {self.turn_state}"]
        for name, state in self.states.items():
            if state.text_to != name:
                lines.append(f"    {name} --> {state.text_to}: text")
            if state.blank_to not in {name, state.text_to}:
                lines.append(f"    {name} --> {state.blank_to}: white space")
            if state.then is not None:
                lines.append(f"    {name} --> {state.then}: its end")
            for marker, transition in state.on.items():
                guard = "" if transition.when is Guard.ALWAYS else f" [{transition.when.value}]"
                lines.append(f"    {name} --> {transition.to}: {marker}{guard}")
        lines.append(f"    {self.final} --> [*]")
        return "\n".join(lines)


def written(pieces: Sequence[Fixed], name: str, index: int) -> str:
    """Write part of a header, without the white space that may be missing."""
    values: Mapping[Fixed, str] = {NAME: name, INDEX: str(index), BLANK: ""}
    return "".join(
        piece.words[0] if isinstance(piece, Choice) else values.get(piece, str(piece))
        for piece in pieces
    )


def _form(piece: Fixed) -> str:
    if isinstance(piece, Choice):
        return "(?:" + "|".join(map(re.escape, piece.words)) + ")"
    return re.escape(str(piece))


def targets(state: DialectState) -> tuple[str, ...]:
    """Return the states that one leads to."""
    then = () if state.then is None else (state.then,)
    return (state.text_to, state.blank_to, *then, *(found.to for found in state.on.values()))


def _is_call(state: DialectState) -> bool:
    return state.segment in {Segment.HEADER, Segment.ARGUMENTS}


def closure(dialect: Dialect, names: set[str], beyond: Collection[str] = ()) -> set[str]:
    """Add all states that can be reached; through those of `beyond`, none is."""
    todo = list(names)
    while todo:
        at = todo.pop()
        if at in beyond:
            continue
        for target in targets(dialect.states[at]):
            if target not in names:
                names.add(target)
                todo.append(target)
    return names
