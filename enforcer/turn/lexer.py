"""Lexer of a dialect, shared by matcher and parser: one step for each symbol of a turn.

Owns: the step from a place of a turn over one symbol, a byte or a control token, and so over any
token, however many borders its bytes cross. A segment ends where its text does or where a marker is
complete. Must not know: which names, arguments and guards a request has (`opening` tells of the
last), masks, hosts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from enforcer.layouts.scanning import within
from enforcer.turn.dialect import FREE_TEXT, Guard, Segment
from enforcer.turn.pattern import ID, Language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.layouts import BoundLayout, Scan
    from enforcer.turn.dialect import Dialect

_CALL = frozenset({Segment.HEADER, Segment.ARGUMENTS})
# What ASCII has of white space, as in a token that is blank; what takes more bytes passes for text.
BLANK_BYTES = frozenset(byte for byte in range(128) if chr(byte).isspace())


@dataclass(frozen=True, slots=True)
class Opening:
    """The guards that a request opens in one state of the turn.

    Attributes:
        call: another call may begin.
        finish: the turn may end.
        text: text outside a think may go on (a demanded call cannot be put off for ever).
        blank: white space may before any other text, where that may not.
        empty: the turn may end though it has said nothing.
        lenient: what spells a marker that is closed is text like any other.
        barred: it is not, even where the format says so.

    """

    call: bool
    finish: bool
    text: bool
    empty: bool
    blank: bool = False
    lenient: bool = False
    barred: bool = False

    def permits(self, guard: Guard) -> bool:
        """Return whether transitions with that guard are open."""
        if guard is Guard.CALL:
            return self.call
        if guard is Guard.FINISH:
            return self.finish
        if guard is Guard.CALL_OR_EMPTY and self.call:
            return True
        return guard is Guard.ALWAYS or (self.finish and self.empty)


# For whoever reads a turn that somebody else has written.
OPEN = Opening(call=True, finish=True, text=True, empty=True)
# After text that fits its format.
FITTING = Opening(call=False, finish=True, text=False, empty=True)


@dataclass(frozen=True, slots=True)
class PartialMarker:
    """A partially matched marker.

    Attributes:
        role: of the marker.
        rest: its remaining symbols.
        length: how many symbols were read.
        bound: whether a control token was among them, so that it is no text any more.

    """

    role: str
    rest: Language
    length: int = 0
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The lexer's state between two symbols.

    Attributes:
        state: of the dialect.
        begun: markers that have been begun, the one begun first in front.
        text: what may follow of a header or of arguments that end by themselves, in one.

    """

    state: str
    begun: tuple[PartialMarker, ...] = ()
    text: Scan | None = None

    @property
    def committed(self) -> bool:
        """Whether what has been begun is a marker for certain, so that it must go on."""
        return bool(self.begun) and self.begun[0].bound


@dataclass(frozen=True, slots=True)
class Step:
    """The result of reading one symbol.

    Attributes:
        place: the place after it.
        taken: it belongs to the text of a header or of arguments.
        said: it is text, or may turn out to be: as much as `place` has begun is held back.
        marker: length of the marker that it has completed, in symbols; 0 if it has not.
        fallen: the place behind a header that has ended before the symbol, as those do whose
            pattern has nothing behind the name: what no name has ends it.

    """

    place: Place
    taken: bool = False
    said: bool = False
    marker: int = 0
    fallen: Place | None = None


class Lexer:
    """A dialect's states over symbols.

    Args:
        dialect: the format.
        layout: of arguments, bound to the tokenizer.
        markers: role to the languages over symbols of its markers.
        header: language over symbols of a header, whatever its name.

    """

    def __init__(
        self,
        dialect: Dialect,
        layout: BoundLayout,
        markers: Mapping[str, tuple[Language, ...]],
        header: Language,
    ) -> None:
        self.dialect = dialect
        self.layout = layout
        # Where each marker is one token, it alone ends arguments.
        arguments = None if dialect.is_simple else layout.scan()
        own: Mapping[Segment, Scan | None] = {Segment.ARGUMENTS: arguments}
        self._begins: Mapping[str, Place] = {
            name: Place(name, text=header)
            if state.segment is Segment.HEADER and state.then
            else Place(name, text=own.get(state.segment))
            for name, state in dialect.states.items()
        }
        # By state: the marker, and its language.
        self._exits: Mapping[str, tuple[tuple[str, Language], ...]] = {
            name: tuple((role, language) for role in state.on for language in markers[role])
            for name, state in dialect.states.items()
        }
        # By the states of text that leads nowhere else: the bytes that markers begin with. In
        # headers and arguments that only a marker ends, all bytes are theirs.
        self._firsts = {
            name: bytes(
                byte
                for byte in range(ID)
                if state.segment in FREE_TEXT
                and any(language.after(byte) is not None for _, language in self._exits[name])
            )
            for name, state in dialect.states.items()
            if state.segment is not Segment.NONE and {state.text_to, state.blank_to} == {name}
        }

    def enter(self, state: str) -> Place:
        """Return the place at the beginning of a state's text."""
        return self._begins[state]

    def within(self, place: Place, data: bytes) -> Place | None:
        """Read bytes at once that are all of the text which a place is in.

        Args:
            place: in free text that may go on, or in arguments.
            data: the bytes.

        Returns:
            The place behind them, the same object if it is no other. None if they are not, or if
            only reading them one by one tells.

        """
        if place.text is not None:
            text = within(place.text, data)
            if text is None or text is place.text:
                return None if text is None else place
            return replace(place, text=text)
        firsts = self._firsts.get(place.state)
        if firsts is None or place.begun or len(data.translate(None, firsts)) < len(data):
            return None
        return place

    def step(self, place: Place, symbol: int, opening: Opening) -> Step | None:
        """Read one symbol; None if the format does not allow it there."""
        found, after = self.dialect.states[place.state], None
        if place.text is not None:
            after = place.text.after(symbol)
        elif found.segment in _CALL and symbol < ID and not place.begun:
            return Step(place, taken=True)  # whatever a marker ends
        if after is not None:
            if after.ends and found.then is not None:
                return Step(self.enter(found.then), taken=True)
            return Step(replace(place, text=after), taken=True)
        step = self.by_markers(place, symbol, opening)
        is_whole = isinstance(place.text, Language) and place.text.nullable
        if step is None and is_whole and found.then is not None:
            fallen = self.enter(found.then)
            step = self.step(fallen, symbol, opening)
            return None if step is None else replace(step, fallen=fallen)
        return step

    def by_markers(self, place: Place, symbol: int, opening: Opening) -> Step | None:
        """Read one symbol that is none of a header or of arguments; see `step`."""
        found = self.dialect.states[place.state]
        free = found.segment in FREE_TEXT and symbol < ID and not place.committed
        silent = opening.blank and found.blank_to != found.text_to and not place.begun
        blank = silent and symbol in BLANK_BYTES
        text = free and (opening.text or blank or found.segment is Segment.REASONING)
        begun: list[PartialMarker] = []
        for each in self._going_on(place, anew=text or not place.begun):
            rest = each.rest.after(symbol)
            if rest is None:
                continue
            transition = found.on[each.role]
            is_open = opening.permits(transition.when)
            is_text = opening.lenient or (transition.else_text and not opening.barred)
            if not is_open and (not text or is_text):
                continue
            if not rest.nullable:
                bound = each.bound or symbol >= ID
                if is_open or not bound:
                    begun.append(PartialMarker(each.role, rest, each.length + 1, bound))
            elif is_open:
                return Step(self.enter(transition.to), marker=each.length + 1)
            else:
                return None  # what spells a closed marker is no text either
        if bound_to := tuple(each for each in begun if each.bound):
            return Step(Place(place.state, bound_to))
        if text:
            to = found.blank_to if symbol in BLANK_BYTES else found.text_to
            known = self.dialect.states[to].on
            left = tuple(each for each in begun if each.role in known)
            return Step(Place(to, left), said=True)
        # Where no text may stand, a marker that has been begun has to go on.
        return Step(Place(place.state, tuple(begun))) if begun else None

    def _going_on(self, place: Place, *, anew: bool) -> Iterator[PartialMarker]:
        """Yield the markers that a symbol may go on with, and those that it may begin."""
        yield from place.begun
        if anew and not place.committed:
            for role, language in self._exits[place.state]:
                yield PartialMarker(role, language)

    def marker_bytes(self, place: Place) -> frozenset[int]:
        """Return the bytes that go on with a marker, or begin one, whatever is open."""
        every = (each.rest.firsts for each in self._going_on(place, anew=True))
        return frozenset[int]().union(*every)

    def open_markers(self, place: Place, opening: Opening) -> tuple[PartialMarker, ...]:
        """Return the open markers that a symbol may go on with, and those that it may begin."""
        found = self.dialect.states[place.state]
        text = found.segment in FREE_TEXT and (opening.text or found.segment is Segment.REASONING)
        return tuple(
            each
            for each in self._going_on(place, anew=text or not place.begun)
            if opening.permits(found.on[each.role].when)
        )

    def spelled(self, state: str) -> Iterator[bytes]:
        """Yield what the markers of a state begin with that begin with bytes."""
        for _, language in self._exits[state]:
            if begins := language.beginning():
                yield begins
