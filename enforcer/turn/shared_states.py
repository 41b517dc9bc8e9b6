"""Positions outside texts that all turns with the same tools pass, with mask rows and transitions.

Owns: the lazily built automaton of such positions over token ids, and its bound. Only positions
that depend on the envelope alone are in it: no text's grammar, no deadline, no failure. Must not
know: what positions are, which ids are legal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.turn.bits import Sparse, sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from enforcer.engines.mask_rows import Row
    from enforcer.turn.position import Position

_MOST = 256 << 10  # bytes for the envelopes of one kind
_STATE, _TRANSITION = 700, 100  # bytes


class SharedState:
    """The mask row of a position, once it has been asked for, and the positions behind it by id."""

    __slots__ = ("after", "row")

    def __init__(self) -> None:
        self.after: dict[int, Position] = {}
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

    def position(self, key: Hashable, make: Callable[[], Position]) -> Position:
        """Return the shared position of a key, which says all that it depends on."""
        found = self._positions.get(key)
        if found is None:
            found = make()
            if self.weight < _MOST:
                found = found._replace(shared=SharedState())
                found = self._positions.setdefault(key, found)
                self.weight += _STATE
        return found

    def lead(self, token_id: int, before: Position, to: Position) -> None:
        """Keep where an id leads, if both positions are shared."""
        if before.shared is None or to.shared is None or self.weight >= _MOST:
            return
        before.shared.after[token_id] = to
        self.weight += _TRANSITION
        if to.header is not None and before.header is None:
            self.weight += to.header.trie.weight

    def keep(self, row: Row, at: Position) -> None:
        """Keep the mask row of a shared position."""
        if at.shared is None or self.weight >= _MOST:
            return
        if at.header is None and at.row.ready:  # which the table has
            at.shared.row = Sparse(slice(None), at.row.mask)
        else:
            at.shared.row = sparse(row)
            self.weight += at.shared.row.weight
