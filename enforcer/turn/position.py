"""Matcher states of a turn, and the automaton of those that turns with the same tools share.

Owns: the fields of a position; mask rows and transitions over token ids of those that depend
on the envelope alone (no text's grammar, no deadline, no failure), and their bound. Must not know:
which ids are legal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from weakref import ref

    from enforcer.engines import ArgumentMatcher
    from enforcer.errors import EnforcerError
    from enforcer.turn.bits import Sparse
    from enforcer.turn.header import HeaderNode, HeaderTrie
    from enforcer.turn.lexer import Place
    from enforcer.turn.table import StateRow

_MOST = 256 << 10  # bytes for the envelopes of one kind
_STATE, _TRANSITION, _KEPT = 700, 100, 400  # bytes


class Position(NamedTuple):
    """State of a turn's matcher. The same object may stand for many ids in a row.

    Attributes:
        place: between which symbols.
        row: the markers that are legal once the state's text is complete, which free text
            always is, and free text itself.
        before: the markers that are legal while it is not.
        calls: calls completed.
        text: text ids outside a think so far, counted only while a call is demanded.
        header: place in the header trie, while in a header.
        grammar: the engine's state of arguments or of formatted content; it moves by itself.
        failure: the error after which the turn may only end; None for none.
        tool: whose arguments these are; empty outside of arguments.
        shared: the cache of a position that all turns with the same tools share.

    """

    place: Place
    row: StateRow
    before: StateRow
    calls: int
    text: int
    header: HeaderNode | None = None
    grammar: ArgumentMatcher | None = None
    failure: EnforcerError | None = None
    tool: str = ""
    shared: SharedState | None = None

    def but(self, **changes: Any) -> Position:
        """Return another position, which shares nothing."""
        return self._replace(shared=None, **changes)

    @property
    def state(self) -> str:
        """State of the envelope."""
        return self.place.state

    def complete(self) -> bool:
        """Return whether the state's text may end here."""
        if self.grammar is not None:
            return self.grammar.is_accepting()
        return self.header is None or self.header.name is not None

    @property
    def markers(self) -> StateRow:
        """The markers that are legal here."""
        return self.row if self.complete() else self.before


class Kept(NamedTuple):
    """The mask row of a shared position, and the grammars that it was computed with, by tool."""

    row: Sparse
    asked: tuple[tuple[str, ref[Any]], ...]


class Begins(NamedTuple):
    """The beginning of the arguments to which a token leads.

    Attributes:
        at: the position there, without the grammar.
        name: of the tool.
        start: how many bytes of the token stand before them.

    """

    at: Position
    name: str
    start: int


class SharedState:
    """The cached mask row and transitions of a shared position.

    Attributes:
        begins: the arguments that begin behind or within a token id.
        after: the positions behind it by token id, but for those in `told`.
        told: those of whose tool the host has to be told.
        row: the mask row, if no grammar was asked for.
        kept: the mask row; None until it is needed.

    """

    __slots__ = ("after", "begins", "kept", "row", "told")

    def __init__(self) -> None:
        self.begins: dict[int, Begins] = {}
        self.row: Sparse | None = None
        self.after: dict[int, Position] = {}
        self.told: dict[int, Position] = {}
        self.kept: Kept | None = None


class SharedStates:
    """The automaton of all envelopes of a table that allow the same.

    Attributes:
        weight: approximate size in bytes.

    """

    def __init__(self) -> None:
        self.weight = 0
        self._positions: dict[Position, Position] = {}
        self._by_state: dict[tuple[int, ...], Position] = {}
        self._tries: set[HeaderTrie] = set()  # which the positions in headers hold

    def share(self, position: Position) -> Position:
        """Return the shared position that equals one, if what may follow depends on no text."""
        if position.grammar is not None or position.failure is not None or position.shared:
            return position
        found = self._positions.get(position)
        if found is None:
            found = position
            tries = set() if found.header is None else {found.header.trie} - self._tries
            more = _STATE + sum(each.weight for each in tries)
            if self.weight + more <= _MOST:
                self._tries |= tries
                found = found._replace(shared=SharedState())
                found = self._positions.setdefault(position, found)
                self.weight += more
        return found

    def of_state(self, state: tuple[int, ...]) -> Position | None:
        """Return the shared position of a state of the kernel's turn; None if it is not cached."""
        return self._by_state.get(state)

    def share_of_state(self, state: tuple[int, ...], position: Position) -> Position:
        """Return the shared position that equals one, and cache it for a state of the kernel."""
        position = self.share(position)
        if position.shared is not None and self.weight < _MOST:
            self._by_state[state] = position
            self.weight += _TRANSITION
        return position

    def lead(self, token_id: int, before: Position, to: Position, *, told: bool) -> None:
        """Keep where an id leads, if both positions are shared.

        Not of free text, of which any id may come: they would fill what there is room for.
        """
        if before.shared is None or to.shared is None or self.weight >= _MOST:
            return
        if before.row.text and to.row.text and token_id not in before.row.markers:
            return
        (before.shared.told if told else before.shared.after)[token_id] = to
        self.weight += _TRANSITION

    def note_beginning(self, before: SharedState, token_id: int, begins: Begins) -> None:
        """Keep which arguments begin behind a shared position."""
        if self.weight < _MOST:
            before.begins[token_id] = begins
            self.weight += _STATE

    def keep(self, at: SharedState, kept: Kept) -> None:
        """Keep the mask row of a shared position."""
        if self.weight < _MOST:
            before = at.kept
            at.kept = kept
            self.weight += kept.row.weight - (-_KEPT if before is None else before.row.weight)
            if not any(name for name, _ in kept.asked):
                at.row = kept.row
