"""Limits of one request on its turn: the calls, their number, and the end of the turn.

Owns: the allowed headers of a request, and the guards that are open after some calls and text. No
text is compiled here, so the cost of an envelope does not depend on what the tools' schemas look
like. Must not know: token ids (that is `table`), schemas, engines, hosts.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from enforcer.turn.dialect import Ids
from enforcer.turn.lexer import Opening
from enforcer.turn.position import SharedStates

_BLANKS = 8  # token ids that templates and models write behind reasoning, and a few
_opening = lru_cache(None)(Opening)  # there are 64

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from enforcer.engines import ArgumentMatcher
    from enforcer.turn.header import HeaderTrie
    from enforcer.turn.table import Table


class Due(Enum):
    """Content that a turn must have before it may end."""

    NOTHING = "nothing"
    WORD = "text or a call"
    CALL = "a call"


class Envelope:
    """The limits of one request: a table, the names it may call, and the first index.

    Args:
        names: the tools that may be called; empty means that no call may be made.
        due: what the turn must have before it may end.
        most: how many calls the turn may have.
        first: index of the turn's first call.
        preamble: how many token ids of text may precede a demanded call outside of reasoning;
            before them there may be white space.
        identical: how many equal calls in a row end the calls of the turn; None for no limit.
        text_format: starts the grammar that content must fit; None for free text.

    """

    def __init__(
        self,
        table: Table,
        names: tuple[str, ...],
        *,
        due: Due,
        most: int,
        first: int,
        preamble: int,
        identical: int | None = None,
        text_format: Callable[[], ArgumentMatcher] | None = None,
    ) -> None:
        self.table = table
        self.names = names
        self.due = due
        self.most = most if names else 0
        self.first = first
        self.preamble = preamble
        self.identical = identical
        self.text_format = text_format

    def alike(self) -> SharedStates:
        """Return what turns that allow the same share; a turn with a format of text shares none."""
        if self.text_format is not None:
            return SharedStates()
        found: SharedStates = self.table.alike.get(self._key, SharedStates)
        return found

    @cached_property
    def _key(self) -> Hashable:
        """Key that envelopes with equal limits have in common."""
        settings = (self.due.value, self.most, self.first, self.preamble)
        # By a digest: the names are as many as clients like, and no name has a line's end.
        return sha256("\n".join(self.names).encode("utf-8", "surrogatepass")).digest(), settings

    def opening(self, calls: int, text: int, *, fits: bool = False) -> Opening:
        """Return what is open after so many calls and ids of text outside a think.

        Args:
            calls: completed.
            text: ids of text, counted only while a call is demanded.
            fits: whether a text has ended right before that fits the format of text.

        """
        owed = self.due is Due.CALL and calls == 0
        return _opening(
            call=calls < self.most,
            finish=not owed,
            text=not owed or text < self.preamble,
            blank=owed and self.preamble <= text < _BLANKS,
            # Where text has a format, it is for the format to say whether none at all fits.
            empty=self.due is Due.NOTHING if self.text_format is None else fits,
        )

    def headers(self, calls: int) -> HeaderTrie:
        """Return the trie of the headers that are legal for the next call."""
        if self.table.dialect.ids is Ids.MESSAGE:
            # From 1 in each message; some count the dialog's on, and no parser reads it.
            indices = tuple(sorted({1 + calls, 1 + self.first + calls}))
        else:
            indices = (self.first + calls if self.table.dialect.has_index else 0,)
        return self.table.headers(self.names, indices)
