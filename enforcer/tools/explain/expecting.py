"""The legal continuations of one place of a turn, in words, by its mask row.

Must not know: how a turn is advanced, how a text is read, why an id is not legal (`turn.why`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import is_member, members
from enforcer.tools.explain.text import FollowedText
from enforcer.tools.explain.words import Expected, Option, listing, quoted, shown, spelled
from enforcer.turn.dialect import Segment
from enforcer.turn.pattern import ID, MADE

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import PartialMarker
    from enforcer.turn.matcher import Matcher
    from enforcer.turn.position import Position

_NOTATION = re.compile(r"\{_\}|\{(?=\{)|\}(?=\})")  # what a pattern has beside its text
_LISTED = 5  # ids that are listed where there are no words for them


def is_set(row: npt.NDArray[np.int32], token_id: int) -> bool:
    """Return whether a mask row has an id."""
    return 0 <= token_id < 32 * len(row) and is_member(row, token_id)


class ExplainedPosition:
    """One place of a turn, with its mask row: int32, shape `(vocabulary.words,)`."""

    def __init__(self, matcher: Matcher) -> None:
        self.now: Position = matcher.position
        self.envelope: Envelope = matcher.envelope
        self.table = self.envelope.table
        self.vocabulary = self.table.vocabulary
        self.row: npt.NDArray[np.int32] = matcher.mask()

    @cached_property
    def expected(self) -> Expected:
        """What may come next."""
        now = self.now
        at: str | None = None
        begun = ""
        options: tuple[Option, ...] = ()
        text = now.grammar if isinstance(now.grammar, FollowedText) else None
        if now.failure is not None:
            pass
        elif text is not None:
            at, begun, options, _ = text.expected()
        elif now.grammar is not None:
            options = (Option("more of this text"),)
        elif now.header is not None:
            begun = self.header_so_far().decode("utf-8", "replace")
            options = tuple(self._header_options())
        elif now.row.text and (self.row & self.vocabulary.text_row).any():
            options = (Option("any text"),)
        return Expected(
            now.state,
            None if text is None else text.subject.tool,
            at,
            begun,
            tuple(dict.fromkeys((*options, *self._markers()))) or self._ids(),
            int(np.bitwise_count(self.row.view(np.uint32)).sum()),
        )

    def _ids(self) -> tuple[Option, ...]:
        """List the legal ids, where nothing better is known of them."""
        legal = self._legal()
        texts = [shown(self.vocabulary.token_bytes(token_id)) for token_id in legal[:_LISTED]]
        if not texts:
            return ()
        more = len(legal) - len(texts)
        what = f"{', '.join(texts)}, … and {more} more tokens" if more else listing(texts)
        return (Option(what, () if more else tuple(text[1:-1] for text in texts)),)

    def _markers(self) -> Iterator[Option]:
        if self.now.failure is not None:
            return
        for found, rest in self._exits():
            name = self._written(rest)
            if self._begins_legally(rest):
                joint = ", which goes on with" if found.length else ":"
                marker = "the marker of " + found.role.replace("_", " ")
                yield Option(f"{marker}{joint} {shown(name)}", (name,))

    def _exits(self) -> Iterator[tuple[PartialMarker, Sequence[int]]]:
        """Return the open markers and the rest of each; the mask may forbid some."""
        now, table = self.now, self.table
        if not (now.place.begun or now.complete()):
            return
        is_inside = table.segment(now.state) is Segment.ARGUMENTS
        opening = (now.row if is_inside else now.markers).opening
        for found in table.lexer.open_markers(now.place, opening):
            rest = found.rest.shortest
            # A field holds anything, so that its shortest text is no text of the marker.
            texts = (_NOTATION.sub("", x) for x in table.dialect.markers[found.role])
            is_fixed = any(text.endswith(self._written(rest)) for text in texts)
            if rest and is_fixed and not self._belongs(rest[0]):
                yield found, rest

    def _belongs(self, symbol: int) -> bool:
        """Return whether a symbol is one of the header or of the arguments."""
        place = self.now.place
        if place.begun:
            return False
        return self.table.segment(self.now.state) is Segment.HEADER and symbol < ID

    def _written(self, symbols: Sequence[int]) -> str:
        return spelled(symbols, self.vocabulary.token_bytes)

    def header_so_far(self) -> bytes:
        """Return what has been written of a header."""
        node = self.now.header
        if node is None or node.low == node.high:
            return b""
        return node.trie.texts[node.low][: node.depth]

    def _header_options(self) -> Iterator[Option]:
        node = self.now.header
        if node is None or node.low == node.high:
            return
        if node.is_behind and node.rest is not None:
            rest = node.rest.shortest
            is_fixed = MADE not in self.table.dialect.header_pieces
            if rest and is_fixed and self._begins_legally(rest):
                what = f"the rest of the header of {quoted(node.trie.names[node.low])}"
                yield Option(f"{what}, written {shown(self._written(rest))}")
            return
        head = () if node.rest is None else node.rest.shortest
        rests = {at: node.trie.texts[at][node.depth :] for at in range(node.low, node.high)}
        left = [at for at, rest in rests.items() if self._begins_legally((*head, *rest))]
        names = tuple(dict.fromkeys(node.trie.names[at] for at in left if rests[at] or head))
        if names:
            one = (*head, *node.trie.texts[left[-1]])
            text = f", written {shown(self._written(one))}" if len(left) == 1 else ""
            yield Option(f"the name of a tool: {listing(names)}{text}", names)
        if node.name is not None:
            yield from self._fallen(node, node.name)

    def _fallen(self, node: HeaderNode, name: str) -> Iterator[Option]:
        """Yield the arguments if only a byte that no tool's name contains ends the header."""
        if self.table.dialect.states[self.now.state].then is None:
            return
        firsts = {next(iter(self.table.symbols(token_id))) for token_id in self._legal()}
        firsts = {each for each in firsts if each >= ID or node.step(each) is None}
        if firsts - {rest[0] for _, rest in self._exits()}:
            yield Option(f"the arguments of {quoted(name)}")

    def _legal(self) -> list[int]:
        legal: list[int] = members(self.row).tolist()
        return legal

    def _begins_legally(self, symbols: Sequence[int]) -> bool:
        """Return whether a legal id begins a text."""
        if symbols and symbols[0] >= ID:
            return is_set(self.row, symbols[0] - ID)
        text: list[int] = list(takewhile(lambda each: each < ID, symbols))
        data = bytes(text)
        found = (self.vocabulary.find(data[:end]) for end in range(1, len(data) + 1))
        return any(token_id is not None and is_set(self.row, token_id) for token_id in found)
