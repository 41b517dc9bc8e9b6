"""Transitions between the positions of a turn.

Owns: the beginning of a new segment: its mask row, the trie of its header, the grammar of its text;
and the cached values of shared positions, valid as long as the same grammars were asked for. Must
not know: which token crossed the border, rollback, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import ref

from enforcer.errors import EnforcerError, UnexpectedFailure
from enforcer.turn.dialect import FREE_TEXT, Guard, Segment
from enforcer.turn.position import Kept, Position

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.engines import ArgumentMatcher, Startable
    from enforcer.turn.bits import Sparse
    from enforcer.turn.cuts import Cut
    from enforcer.turn.deadline import Deadline
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Place
    from enforcer.turn.position import SharedState

_Kept = TypeVar("_Kept", "Sparse", "Cut")
_CUTS = 64  # that are kept by grammar: at most 0.3 MB


class Transitions:
    """The transitions of one turn; see `Matcher` for the arguments."""

    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], Startable],
        expect: Callable[[str], None] | None,
        deadline: Deadline | None,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._arguments = arguments
        self._expect = expect
        self._deadline = deadline
        # The automaton of positions outside texts; a turn with a deadline has none.
        self.shared = envelope.alike() if deadline is None else None
        # What was asked for: grammars by tool, None for one that starts no text; by no name, what
        # turns with the same names share.
        self._asked: dict[str, Any] = {}

    def share(self, position: Position) -> Position:
        """Return the shared position that equals one; see `SharedStates.share`."""
        return position if self.shared is None else self.shared.share(position)

    def kept(self, at: SharedState, key: Cut | None, make: Callable[[], _Kept]) -> _Kept:
        """Return what is kept at a shared position, made anew where a grammar is another."""
        known = at.kept.get(key)
        if known is not None and all(self._is(name, found) for name, found in known.asked):
            return cast("_Kept", known.value)
        value, asked = self._asking(make)
        found = [(name, ref(each)) for name, each in asked.items() if each is not None]
        if self.shared is not None and len(found) == len(asked):
            self.shared.keep(at, key, Kept(value, tuple(found)))
        return value

    def kept_by_grammar(self, at: Position, cut: Cut, make: Callable[[], Cut]) -> Cut:
        """Return the ids of a cut that may begin arguments, kept unless they depend on more."""
        grammar = self._asked.get(at.tool) if at.tool else None
        if grammar is None:
            return make()
        known = self._table.begun.setdefault(grammar, {})
        behind = self._envelope.opening(at.calls + 1, at.text)
        key = (cut, at.place, at.row.opening, behind)
        found = known.get(key)
        if found is None:
            found, asked = self._asking(make)
            if not asked and len(known) < _CUTS:
                known[key] = found
        return found

    def _asking(self, make: Callable[[], _Kept]) -> tuple[_Kept, dict[str, Any]]:
        """Make a value; returns what was asked for meanwhile, too."""
        before, self._asked = self._asked, {}
        try:
            return make(), self._asked
        finally:
            asked, self._asked = self._asked, before
            for name, found in asked.items():  # what is made around this depends on them, too
                self._note(name, found)

    def _is(self, name: str, found: ref[Any]) -> bool:
        """Return whether what was asked for is the same; what is made around depends on it, too."""
        if not name:
            self.ask_names()
        try:
            return (self._ask(name) if name else self.shared) is found()
        except EnforcerError:
            return False

    def _ask(self, name: str) -> Startable:
        found = self._arguments(name)
        self._note(name, found)
        return found

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
        place = table.lexer.enter(state) if place is None else place
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
        """Go where a marker leads that has been read."""
        segment = self._table.segment(now.state)
        if segment is Segment.ARGUMENTS:
            return self.enter(to, now.calls + 1, now.text)
        if now.header is not None and now.header.name is not None:
            return self.begin_arguments(now, now.header.name, to)
        position = self.enter(to, now.calls, now.text, fits=self._fits(now, to))
        if self._table.segment(to) is Segment.HEADER:
            return self.at_header(position, self._envelope.headers(now.calls).root)
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
        position = self.enter(to, now.calls, now.text)
        return self._with_grammar(position, lambda: self._ask(name).matcher(), name)

    def at_header(self, position: Position, node: HeaderNode) -> Position:
        """Go on in a header; tells of the tool once it can be no other."""
        if node.depth:
            self.ask_names()
        if _decides(position.header, node):
            self._tell(node)
        return position.but(header=node)

    def _tell(self, node: HeaderNode) -> None:
        if self._expect is not None and node.only is not None:
            self._expect(node.only)

    def lead(self, token_id: int, now: Position, to: Position) -> None:
        """Keep where an id leads between shared positions, unless a grammar was asked for."""
        if self.shared is not None and not any(self._asked):
            told = to.header is not None and _decides(now.header, to.header)
            self.shared.lead(token_id, now, to, told=told)

    def told(self, token_id: int, shared: SharedState) -> Position | None:
        """Return where an id leads with which the tool is decided, if that is known.

        What is asked for from here on, `lead` takes for what the step depends on.
        """
        self._asked.clear()
        found = shared.told.get(token_id)
        if found is not None and found.header is not None:
            self._tell(found.header)
        return found

    def _with_grammar(
        self, position: Position, start: Callable[[], ArgumentMatcher], tool: str = ""
    ) -> Position:
        try:
            text = start()
            ends = None if self._deadline is None else self._deadline.ends(text, tool)
            return position.but(grammar=text, ends=ends, tool=tool)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            failure = named(error, f"starting a text in {position.state}")
            self._note(tool, None)
            return position.but(failure=failure, tool=tool)


def _decides(before: HeaderNode | None, node: HeaderNode) -> bool:
    """Return whether a header can be of one tool alone from here on."""
    return node.only is not None and (before is None or before.only is None)


def named(error: BaseException, doing: str) -> EnforcerError:
    """Return the error of ours that stands for any other; what ends the process is none."""
    if isinstance(error, EnforcerError):
        return error
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    found = UnexpectedFailure(f"{type(error).__name__} while {doing}: {error}")
    found.__cause__ = error
    return found
