"""Where a turn stands.

Owns: what is known of one place in a turn. Must not know: how a turn comes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from enforcer.budget.reading import Reading
    from enforcer.engines import ArgumentMatcher
    from enforcer.errors import EnforcerError
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Place
    from enforcer.turn.shared_states import SharedState
    from enforcer.turn.table import Row


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
