"""Where a turn stands, and the automaton of positions that turns with the same tools share.

Owns: what is known of one position; mask rows and transitions over token ids of those that depend
on the envelope alone (no text's grammar, no deadline, no failure), and their bound. Must not know:
which ids are legal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.turn.bits import Sparse, sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from enforcer.budget.reading import Reading
    from enforcer.engines import ArgumentMatcher
    from enforcer.engines.mask_rows import Row as MaskRow
    from enforcer.errors import EnforcerError
    from enforcer.turn.header import HeaderNode, HeaderTrie
    from enforcer.turn.lexer import Place
    from enforcer.turn.table import Row

_MOST = 256 << 10  # bytes for the envelopes of one kind
_STATE, _TRANSITION = 700, 100  # bytes


class Position(NamedTuple):
    """Where the turn is. The same object may stand for many ids in a row.

    Attributes:
        state: state of the envelope.
        row: the markers that are legal once the state's text is complete, which free text
            always is, and free text itself.
        before: the markers that are legal while it is not.
        calls: calls completed.
        text: text ids outside a think so far, counted only while a call is demanded.
        header: place in the header trie, while in a header.
        grammar: the engine's state of arguments or of formatted content; it moves by itself.
        reading: the same text as the deadline sees it, where there is one.
        place: between which symbols, where markers are spelled or texts end by themselves.
        fed: how many ids the token that led here, out of another text, fed to that text's grammar.
        failure: why the gate is closed; None while it is open.
        tool: whose arguments these are; empty outside of arguments.
        shared: the cache of a position that all turns with the same tools share.

    """

    state: str
    row: Row
    before: Row
    calls: int
    text: int
    header: HeaderNode | None = None
    grammar: ArgumentMatcher | None = None
    reading: Reading | None = None
    place: Place | None = None
    fed: int = 0
    failure: EnforcerError | None = None
    tool: str = ""
    shared: SharedState | None = None

    def but(self, **changes: Any) -> Position:
        """Return another position, which shares nothing."""
        return self._replace(shared=None, **changes)

    def complete(self) -> bool:
        """Tell whether the state's text may end here."""
        if self.grammar is not None:
            return self.grammar.is_accepting()
        return self.header is None or self.header.name is not None

    @property
    def markers(self) -> Row:
        """The markers that are legal here."""
        return self.row if self.complete() else self.before


class SharedState:
    """The mask row of a position, once it has been asked for, and the positions behind it by id.

    Attributes:
        after: the positions, but for those in `told`.
        told: those of whose tool the host has to be told.
        row: the mask row.

    """

    __slots__ = ("after", "row", "told")

    def __init__(self) -> None:
        self.after: dict[int, Position] = {}
        self.told: dict[int, Position] = {}
        self.row: Sparse | None = None


class SharedStates:
    """The automaton of all envelopes of a table that allow the same; compared by identity.

    Attributes:
        count: how many of these envelopes there have been.
        weight: bytes that it holds, about.

    """

    def __init__(self) -> None:
        self.count = 0
        self.weight = 0
        self._positions: dict[Hashable, Position] = {}
        self._tries: set[HeaderTrie] = set()  # which the positions in headers hold

    def position(self, key: Hashable, make: Callable[[], Position]) -> Position:
        """Return the shared position of a key, which says all that it depends on."""
        found = self._positions.get(key)
        if found is None:
            found = make()
            tries = set() if found.header is None else {found.header.trie} - self._tries
            more = _STATE + sum(each.weight for each in tries)
            if self.weight + more <= _MOST:
                self._tries |= tries
                found = found._replace(shared=SharedState())
                found = self._positions.setdefault(key, found)
                self.weight += more
        return found

    def lead(self, token_id: int, before: Position, to: Position, *, told: bool) -> None:
        """Keep where an id leads, if both positions are shared.

        Not of free text, of which any id may come: they would fill what there is room for.
        """
        if before.shared is None or to.shared is None or self.weight >= _MOST:
            return
        if before.header is None and token_id not in before.row.markers:
            return
        (before.shared.told if told else before.shared.after)[token_id] = to
        self.weight += _TRANSITION

    def keep(self, row: MaskRow, at: Position) -> None:
        """Keep the mask row of a shared position."""
        if at.shared is None or self.weight >= _MOST:
            return
        if at.header is None and at.row.ready:  # which the table has
            at.shared.row = Sparse(slice(None), at.row.mask)
        else:
            at.shared.row = sparse(row)
            self.weight += at.shared.row.weight
