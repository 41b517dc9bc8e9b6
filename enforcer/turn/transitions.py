"""How a turn gets from one position to the next.

Owns: what a new segment begins with: its mask row, the trie of its header, the grammar of its text;
and which of the request's own names and grammars were asked for meanwhile. Must not know: which
token crossed the border, rollback, hosts.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from enforcer.errors import EnforcerError, UnexpectedFailure
from enforcer.turn.bits import NOTHING
from enforcer.turn.dialect import FREE_TEXT, Guard, Segment
from enforcer.turn.position import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from enforcer.engines import ArgumentMatcher, Startable
    from enforcer.turn.bits import Sparse
    from enforcer.turn.countdown import Countdown
    from enforcer.turn.cuts import Cut
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Place
    from enforcer.turn.position import SharedState, SharedStates


@dataclass(slots=True)
class Dependencies:
    """What masks behind borders depend on, beside the table and what is open.

    Attributes:
        grammars: of arguments, by tool; None for one that is of no use.
        own: whether on names, or the format of text, which are the request's own.

    """

    grammars: dict[str, Startable | None] = field(default_factory=dict)
    own: bool = False


class Transitions:
    """The transitions of one turn; see `Matcher` for the arguments."""

    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], Startable],
        expect: Callable[[str], None] | None,
        countdown: Countdown | None,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._arguments = arguments
        self._expect = expect
        self._countdown = countdown
        # The automaton of positions outside texts, where this turn may follow it.
        self.shared: SharedStates | None = None
        # What was asked for while a mask is computed that is to be kept.
        self._recording: Dependencies | None = None

    @contextmanager
    def recorded(self) -> Iterator[Dependencies]:
        """Record what is asked for meanwhile; what is recorded around this depends on it, too."""
        outer = self._recording
        found = self._recording = Dependencies()
        try:
            yield found
        finally:
            self._recording = outer
            self.depend(found)

    def depend(self, dependencies: Dependencies) -> None:
        """Record what a mask depends on that is used again."""
        for name, grammar in dependencies.grammars.items():
            self._note(name, grammar)
        if dependencies.own:
            self._note_own()

    def enter(
        self, state: str, calls: int, text: int, place: Place | None = None, *, fits: bool = False
    ) -> Position:
        """Begin a state's text, or go on in free text at a place; see `Envelope.opening`."""
        if self.shared is not None:
            return self.shared.position(
                (state, calls, text), lambda: self._entered(state, calls, text, place, fits=fits)
            )
        return self._entered(state, calls, text, place, fits=fits)

    def _entered(
        self, state: str, calls: int, text: int, place: Place | None, *, fits: bool
    ) -> Position:
        table = self._table
        if place is None and not table.is_simple:
            place = table.lexer.enter(state)
        opening = self._envelope.opening(calls, text, fits=fits)
        formatted = self._envelope.text_format
        if formatted is None or table.segment(state) is not Segment.CONTENT:
            row = table.row_of(state, place, opening)
            return Position(state, row, table.nothing, calls, text, place=place)
        self._note_own()
        position = Position(
            state,
            table.row_of(state, place, replace(opening, text=False, empty=True)),
            table.row_of(state, place, replace(opening, text=False, finish=False)),
            calls,
            text,
            place=place,
        )
        # The text fits the format or the turn is calls: a demanded call leaves no text.
        if not opening.finish:
            return position
        if self._countdown is not None:
            position = position.but(reading=self._countdown.text())
        return self._with_grammar(position, formatted)

    def follow(self, now: Position, to: str) -> Position:
        """Go where a marker leads that has been read."""
        segment = self._table.segment(now.state)
        if segment is Segment.ARGUMENTS:
            return self.enter(to, now.calls + 1, now.text)
        if now.header is not None and now.header.name is not None:
            return self.begin_arguments(now, now.header.name, to)
        position = self.enter(to, now.calls, now.text, fits=self._fits(now, to))
        if self._table.segment(to) is Segment.HEADER:
            self._note_own()
            return self.at_header(position, self._envelope.headers(now.calls).root)
        return position

    def _fits(self, now: Position, to: str) -> bool:
        """Tell whether a marker has ended a text that fits its format, be it none at all.

        What the marker was read with says so: in the midst of one, the grammar is gone. Before a
        think, no text has ended: it is behind.
        """
        if self._envelope.text_format is None or self._table.segment(to) in FREE_TEXT:
            return False
        is_text = self._table.segment(now.state) is Segment.CONTENT
        return is_text and now.markers.opening.permits(Guard.EMPTY)

    def begin_arguments(self, now: Position, name: str, to: str) -> Position:
        """Begin the arguments of a call whose header has been read."""
        position = self.enter(to, now.calls, now.text)
        if self._countdown is not None:
            position = position.but(reading=self._countdown.arguments(name))
        return self._with_grammar(position, lambda: self._ask(name).matcher(), name)

    def look_at_arguments(self, now: Position, name: str, to: str) -> Position:
        """Give where the arguments of a call would begin, of which only masks are asked."""
        position = self.enter(to, now.calls, now.text)
        firsts = self._table.firsts
        position = self._with_grammar(position, lambda: firsts.text(self._ask(name)))
        if position.failure is not None:
            self._note(name, None)
        return position

    def first_ids(self, name: str, cut: Cut) -> Sparse:
        """Give those ids that end a tool's header and begin its arguments.

        Args:
            name: of the tool.
            cut: ids whose second part stays in the arguments.

        """
        grammar = self.grammar(name)
        found = None if grammar is None else self._table.firsts.legal(cut, grammar)
        if found is None:
            self._note(name, None)
            return NOTHING
        return found

    def grammar(self, name: str) -> Startable | None:
        """Give the grammar of a tool; None if there is none, which a call to it is told."""
        try:
            return self._ask(name)
        except EnforcerError:
            return None

    def _ask(self, name: str) -> Startable:
        try:
            found = self._arguments(name)
        except BaseException:
            self._note(name, None)
            raise
        self._note(name, found)
        return found

    def _note(self, name: str, grammar: Startable | None) -> None:
        if self._recording is not None and (
            grammar is None or name not in self._recording.grammars
        ):
            self._recording.grammars[name] = grammar

    def _note_own(self) -> None:
        if self._recording is not None:
            self._recording.own = True

    def at_header(self, position: Position, node: HeaderNode) -> Position:
        """Go on in a header; tells of the tool once it can be no other."""
        if _decides(position.header, node):
            self._tell(node)
        if self.shared is None:
            return position.but(header=node)
        key = (position.state, position.calls, position.text, node)
        return self.shared.position(key, lambda: position.but(header=node))

    def _tell(self, node: HeaderNode) -> None:
        if self._expect is not None and node.only is not None:
            self._expect(node.only)

    def lead(self, token_id: int, now: Position, to: Position) -> None:
        """Keep where an id leads between shared positions."""
        if self.shared is not None:
            told = to.header is not None and _decides(now.header, to.header)
            self.shared.lead(token_id, now, to, told=told)

    def told(self, token_id: int, shared: SharedState) -> Position | None:
        """Return where an id leads with which the tool is decided, if that is known."""
        found = shared.told.get(token_id)
        if found is not None and found.header is not None:
            self._tell(found.header)
        return found

    def _with_grammar(
        self, position: Position, start: Callable[[], ArgumentMatcher], tool: str = ""
    ) -> Position:
        try:
            return position.but(grammar=start(), tool=tool)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            failure = named(error, f"starting a text in {position.state}")
            return position.but(failure=failure, tool=tool)


def _decides(before: HeaderNode | None, node: HeaderNode) -> bool:
    """Return whether a header can be of one tool alone from here on."""
    return node.only is not None and (before is None or before.only is None)


def named(error: BaseException, doing: str) -> EnforcerError:
    """Give the error of ours that stands for any other; what ends the process is none."""
    if isinstance(error, EnforcerError):
        return error
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    found = UnexpectedFailure(f"{type(error).__name__} while {doing}: {error}")
    found.__cause__ = error
    return found
