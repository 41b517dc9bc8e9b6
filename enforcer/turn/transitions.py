"""Transitions between the positions of a turn.

Owns: the beginning of a new segment: its mask row, the trie of its header, the grammar of its text;
and the cached values of shared positions, valid as long as the same grammars were asked for. Must
not know: which token crossed the border, rollback, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from enforcer.errors import EnforcerError, UnexpectedFailure
from enforcer.turn.dialect import FREE_TEXT, Guard, Segment
from enforcer.turn.lexer import Place
from enforcer.turn.position import Kept, Position

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.engines import ArgumentMatcher, Startable
    from enforcer.turn.bits import Sparse
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Opening
    from enforcer.turn.position import Begins, SharedState


class Transitions:
    """The transitions of one turn; see `Matcher` for the arguments."""

    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], Startable],
        expect: Callable[[str], None] | None,
        *,
        is_shared: bool,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._arguments = arguments
        self._expect = expect
        # The automaton of positions outside texts; a turn with a deadline has none.
        self.shared = envelope.alike() if is_shared else None
        # What was asked for: grammars by tool, None for one that starts no text; by no name, what
        # turns with the same names share.
        self._asked: dict[str, Any] = {}

    def share(self, position: Position) -> Position:
        """Return the shared position that equals one; see `SharedStates.share`."""
        return position if self.shared is None else self.shared.share(position)

    def kept(self, at: SharedState) -> Sparse | None:
        """Return the row that is kept at a shared position, unless a grammar is another now."""
        known = at.kept
        is_valid = known is not None and all(self._is(*asked) for asked in known.asked)
        self._asked.clear()  # what is asked for from here on, a new row depends on
        return known.row if known is not None and is_valid else None

    def keep(self, at: SharedState, row: Sparse) -> None:
        """Keep the row of a shared position, which depends on what has been asked for."""
        found = [(name, ref(each)) for name, each in self._asked.items() if each is not None]
        if self.shared is not None and len(found) == len(self._asked):
            self.shared.keep(at, Kept(row, tuple(found)))

    def _is(self, name: str, found: ref[Any]) -> bool:
        """Return whether what was asked for is the same."""
        try:
            return (self._arguments(name) if name else self.shared) is found()
        except EnforcerError:
            return False

    def depend_on(self, name: str) -> None:
        """Note that what is being made depends on the grammar of a tool, or that it has none."""
        self._note(name, self.grammar(name))

    def _ask(self, name: str) -> Startable:
        found = self._arguments(name)
        self._note(name, found)
        return found

    def start(self, name: str) -> ArgumentMatcher | None:
        """Start the arguments of a tool for a trial; None where they cannot begin."""
        try:
            return self._arguments(name).matcher()
        except BaseException as error:  # noqa: BLE001 - the turn fails where the text begins
            named(error, f"starting the arguments of {name}")
            return None

    def grammar(self, name: str) -> Startable | None:
        """Return the grammar of a tool's arguments; None where there is none."""
        try:
            return self._arguments(name)
        except BaseException as error:  # noqa: BLE001 - the turn fails where the text begins
            named(error, f"looking up the arguments of {name}")
            return None

    def ask_names(self) -> None:
        """Note that what is being made depends on the names that may be called."""
        self._note("", self.shared)

    def _note(self, name: str, found: object) -> None:
        if found is None or name not in self._asked:
            self._asked[name] = found

    def enter(
        self, state: str, calls: int, text: int, place: Place | None = None, *, fits: bool = False
    ) -> Position:
        """Begin a state's text, or go on in free text at a place; see `Envelope.opening`."""
        table = self._table
        place = Place(state) if place is None else place
        opening = self._envelope.opening(calls, text, fits=fits)
        formatted = self._envelope.text_format
        if formatted is None or table.segment(state) is not Segment.CONTENT:
            return Position(place, table.row_at(place, opening), table.nothing, calls, text)
        position = Position(
            place,
            table.row_at(place, replace(opening, text=False, empty=True)),
            table.row_at(place, replace(opening, text=False, finish=False)),
            calls,
            text,
        )
        # The text fits the format or the turn is calls: a demanded call leaves no text.
        if not opening.finish:
            return position
        self.ask_names()
        return self._with_grammar(position, formatted)

    def follow(self, now: Position, to: str) -> Position:
        """Return the position after a marker that has been read outside of arguments."""
        if now.header is not None and now.header.name is not None:
            return self.begin_arguments(now, now.header.name, to)
        position = self.enter(to, now.calls, now.text, fits=self._fits(now, to))
        if self._table.segment(to) is Segment.HEADER:
            return self.at_header(position, self._envelope.headers(now.calls).root, now)
        return position

    def _fits(self, now: Position, to: str) -> bool:
        """Return whether a marker has ended a text that fits its format, be it none at all.

        What the marker was read with says so: in the midst of one, the grammar is gone. Before a
        think, no text has ended: it is behind.
        """
        if self._envelope.text_format is None or self._table.segment(to) in FREE_TEXT:
            return False
        is_text = self._table.segment(now.state) is Segment.CONTENT
        return is_text and now.markers.opening.permits(Guard.EMPTY)

    def begin_arguments(self, now: Position, name: str, to: str) -> Position:
        """Begin the arguments of a call whose header has been read."""
        return self.start_arguments(self.enter(to, now.calls, now.text), name)

    def start_arguments(self, at: Position, name: str) -> Position:
        """Start the text of a tool's arguments at the position where they begin."""
        return self._with_grammar(at, lambda: self._ask(name).matcher(), name)

    def inside(
        self, place: Place, opening: Opening, calls: int, text: int, header: HeaderNode | None
    ) -> Position:
        """Return a position inside a marker that has been begun."""
        row = self._table.row_at(place, opening)
        return Position(place, row, self._table.nothing, calls, text, header)

    def at_header(self, position: Position, node: HeaderNode, before: Position) -> Position:
        """Go on in a header; tells of the tool once it can be no other."""
        if node.depth:
            self.ask_names()
        if node.only is not None:
            self.decide(before.header, node.only)
        return position.but(header=node)

    def decide(self, before: HeaderNode | None, name: str) -> None:
        """Announce a tool to the host, once the header can be of no other."""
        if self._expect is not None and (before is None or before.only is None):
            self._expect(name)

    def lead(self, token_id: int, now: Position, to: Position) -> None:
        """Keep where an id leads between shared positions, unless a grammar was asked for."""
        if self.shared is not None and not any(self._asked):
            was_open = now.header is None or now.header.only is None
            told = to.header is not None and to.header.only is not None and was_open
            self.shared.lead(token_id, now, to, told=told)

    def note_beginning(self, before: SharedState, token_id: int, begins: Begins) -> None:
        """Keep which arguments begin behind a shared position."""
        if self.shared is not None:
            self.shared.note_beginning(before, token_id, begins)

    def told(self, token_id: int, shared: SharedState) -> Position | None:
        """Return where an id leads with which the tool is decided, if that is known.

        What is asked for from here on, `lead` takes for what the step depends on.
        """
        self._asked.clear()
        found = shared.told.get(token_id)
        if found is not None and found.header is not None and found.header.only is not None:
            self.decide(None, found.header.only)
        return found

    def _with_grammar(
        self, position: Position, start: Callable[[], ArgumentMatcher], tool: str = ""
    ) -> Position:
        try:
            grammar = start()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            failure = named(error, f"starting a text in {position.state}")
            self._note(tool, None)
            return position.but(failure=failure, tool=tool)
        place, row, before, calls, text, *_ = position
        return Position(place, row, before, calls, text, None, grammar, None, tool)


def named(error: BaseException, doing: str) -> EnforcerError:
    """Return the error of ours that stands for any other; what ends the process is none."""
    if isinstance(error, EnforcerError):
        return error
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    found = UnexpectedFailure(f"{type(error).__name__} while {doing}: {error}")
    found.__cause__ = error
    return found
