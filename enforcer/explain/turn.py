"""What may come next in a turn, in words, and why an id may not.

Owns: putting the places of a turn in words: markers and what keeps them closed, headers, free
text, and where a text's own words come in. Legal is what the mask says. Must not know: how a
turn is advanced, how a text is read.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from enforcer.explain import borders
from enforcer.explain.borders import exits
from enforcer.explain.text import FollowedText
from enforcer.explain.words import (
    Expected,
    Explanation,
    Option,
    in_words,
    listing,
    quoted,
    shown,
)
from enforcer.turn.dialect import Guard, Segment
from enforcer.turn.envelope import Due
from enforcer.turn.matcher import Matcher
from enforcer.turn.pattern import ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.position import Position

_LISTED = 5  # ids that are listed where there are no words for them
_TOO_LONG = "would leave too few ids to finish what the turn has to"


def mask_of(matcher: Matcher) -> npt.NDArray[np.int32]:
    """Give the mask row of a matcher: int32, shape `(vocabulary.words,)`."""
    row = np.zeros((1, matcher.envelope.table.vocabulary.words), dtype=np.int32)
    matcher.fill(row)
    legal: npt.NDArray[np.int32] = row[0]
    return legal


def is_set(row: npt.NDArray[np.int32], token_id: int) -> bool:
    """Tell whether a mask row has an id."""
    return bool(0 <= token_id < 32 * len(row) and row[token_id // 32] >> (token_id % 32) & 1)


def expected(matcher: Matcher, row: npt.NDArray[np.int32] | None = None) -> Expected:
    """Say what may come next in a turn; `row` is its mask, if that is at hand."""
    row = mask_of(matcher) if row is None else row
    return _Place(matcher, row).expected()


def explain(
    matcher: Matcher, token_id: int, row: npt.NDArray[np.int32] | None = None
) -> Explanation:
    """Say why an id is legal in a turn or not; `row` is its mask, if that is at hand."""
    row = mask_of(matcher) if row is None else row
    return _Place(matcher, row).explain(token_id)


class ExplainedMatcher(Matcher):
    """A matcher with words for what it allows; `Enforcer.matcher` makes it."""

    def expected(self) -> Expected:
        """Say what may come next, with the paths of the schema; takes milliseconds."""
        return expected(self)

    def explain(self, token_id: int) -> Explanation:
        """Say why an id may come next or may not; takes milliseconds."""
        return explain(self, token_id)


class _Place:
    """One place of a turn, and its mask."""

    def __init__(self, matcher: Matcher, row: npt.NDArray[np.int32]) -> None:
        self._now: Position = matcher.position
        self._envelope: Envelope = matcher.envelope
        self._table = self._envelope.table
        self._vocabulary = self._table.vocabulary
        self._row = row
        self._roles = {
            self._vocabulary.control(name): role
            for role, names in self._table.dialect.markers.items()
            for name in names
            if name in self._vocabulary.controls
        }

    # What is legal.

    def expected(self) -> Expected:
        now = self._now
        at: str | None = None
        begun = ""
        options: tuple[Option, ...] = ()
        text = now.grammar if isinstance(now.grammar, FollowedText) else None
        if now.failure is not None:
            pass
        elif text is not None:
            at, begun, options = text.expected()
        elif now.grammar is not None:
            options = (Option("more of a text of which no words are kept"),)
        elif now.header is not None:
            begun = self._header_so_far().decode("utf-8", "replace")
            options = self._header_options()
        elif now.row.text and (self._row & self._vocabulary.text_row).any():
            options = (Option("any text"),)
        return Expected(
            now.state,
            None if text is None else text.subject.tool,
            at,
            begun,
            options + self._marker_options() or self._ids(),
            int(np.bitwise_count(self._row.view(np.uint32)).sum()),
        )

    def _ids(self) -> tuple[Option, ...]:
        """List the legal ids, where nothing better is known of them."""
        legal = self._legal()
        texts = [shown(self._vocabulary.token_bytes(token_id)) for token_id in legal[:_LISTED]]
        if not texts:
            return ()
        more = len(legal) - len(texts)
        what = f"{', '.join(texts)}, … and {more} more ids" if more else listing(texts)
        return (Option(what, () if more else tuple(text[1:-1] for text in texts)),)

    def _marker_options(self) -> tuple[Option, ...]:
        if not self._table.is_simple and self._now.failure is None:
            return tuple(self._spelled_markers())
        names = {
            self._name(token_id): self._role(token_id)
            for token_id in sorted(self._roles)
            if is_set(self._row, token_id)
        }
        return tuple(Option(f"{role}: `{name}`", (name,)) for name, role in names.items())

    def _spelled_markers(self) -> Iterator[Option]:
        said = set()
        for found in exits(self._table, self._now):
            name = self._written(found.rest)
            if (found.role, name) in said or not self._begins_legally(found.rest):
                continue
            said.add((found.role, name))
            role = f"the marker of {found.role.replace('_', ' ')}"
            if found.begun:
                yield Option(f"{role}, which goes on with {shown(name)}", (name,))
            else:
                yield Option(f"{role}: {shown(name)}", (name,))

    def _written(self, symbols: Sequence[int]) -> str:
        """Write symbols as text, control tokens by their names."""
        data = b"".join(
            bytes([each]) if each < ID else self._vocabulary.token_bytes(each - ID)
            for each in symbols
        )
        return data.decode("utf-8", "replace")

    def _name(self, token_id: int) -> str:
        return self._vocabulary.token_bytes(token_id).decode()

    def _role(self, token_id: int) -> str:
        return "the marker of " + self._roles.get(token_id, "no known role").replace("_", " ")

    def _header_so_far(self) -> bytes:
        node = self._now.header
        if node is None or node.low == node.high:
            return b""
        return node.trie.texts[node.low][: node.depth]

    def _header_options(self) -> tuple[Option, ...]:
        node = self._now.header
        if node is None or node.low == node.high:
            return ()
        if node.tail is not None:
            rest = borders.behind_name(self._table, node.tail)
            if not rest or not self._begins_legally(rest):
                return ()
            what = f"the rest of the header of {quoted(node.trie.names[node.low])}"
            return (Option(f"{what}, written {shown(self._written(rest))}"),)
        head = () if node.head is None else borders.before_name(self._table, node.head)
        if head is None:
            return ()
        rests = {at: node.trie.texts[at][node.depth :] for at in range(node.low, node.high)}
        left = [at for at, rest in rests.items() if self._begins_legally((*head, *rest))]
        names = tuple(dict.fromkeys(node.trie.names[at] for at in left if rests[at] or head))
        found = []
        if names:
            one = (*head, *node.trie.texts[left[-1]])
            spelled = f", written {shown(self._written(one))}" if len(left) == 1 else ""
            found.append(Option(f"the name of a tool: {listing(names)}{spelled}", names))
        return (*found, *self._fallen(node))

    def _fallen(self, node: HeaderNode) -> Iterator[Option]:
        """Tell of arguments that follow a header which nothing ends but what no name has."""
        place, name = self._now.place, node.name
        then = self._table.dialect.states[self._now.state].then
        if name is None or then is None or place is None or place.header is None:
            return
        if not place.header.nullable:
            return
        firsts = {next(iter(self._table.symbols(token_id))) for token_id in self._legal()}
        exits_of = {each.rest[0] for each in exits(self._table, self._now)}
        if any(first not in exits_of and not _steps(node, first) for first in firsts):
            yield Option(f"the arguments of {quoted(name)}")

    def _legal(self) -> list[int]:
        bits = np.unpackbits(self._row.view(np.uint8), bitorder="little")
        legal: list[int] = np.flatnonzero(bits).tolist()
        return legal

    def _begins_legally(self, symbols: Sequence[int]) -> bool:
        """Tell whether a legal id begins a text."""
        if symbols and symbols[0] >= ID:
            return is_set(self._row, symbols[0] - ID)
        text: list[int] = list(takewhile(lambda each: each < ID, symbols))
        data = bytes(text)
        found = (self._vocabulary.find(data[:end]) for end in range(1, len(data) + 1))
        return any(token_id is not None and is_set(self._row, token_id) for token_id in found)

    # Why not.

    def explain(self, token_id: int) -> Explanation:
        known = 0 <= token_id < self._vocabulary.size
        data = self._vocabulary.token_bytes(token_id) if known else b""
        token = data.decode("utf-8", "backslashreplace")
        found = self.expected()
        legal = is_set(self._row, token_id)
        if legal:
            reason = f"{shown(data)} is legal"
        elif not known:
            reason = f"the vocabulary has {self._vocabulary.size} ids, of which {token_id} is none"
        elif not data:
            reason = f"id {token_id} stands for nothing"
        elif self._now.failure is not None:
            reason = f"the turn may only end, for it has failed: {self._now.failure}"
        elif token_id in self._vocabulary.control_ids:
            reason = self._why_no_marker(token_id, found)
        else:
            reason = self._why_no_text(data, token_id, found)
        return Explanation(token_id, token, legal, reason, found)

    def _why_no_marker(self, token_id: int, found: Expected) -> str:
        now, name = self._now, shown(self._vocabulary.token_bytes(token_id))
        role = self._roles.get(token_id)
        transition = None
        if role is not None:
            transition = self._table.dialect.states[now.state].on.get(role)
        if transition is None:
            return f"{name} does not follow in the state {now.state}: expected {found}"
        if token_id in now.markers.markers:
            return f"{name} {_TOO_LONG}: expected {found}"
        if transition.when is not Guard.ALWAYS and token_id not in now.row.markers:
            return f"{name} is not open: {self._closed(transition.when)}"
        return f"{name} comes too early: there is more to {self._segment()}, expected {found}"

    def _segment(self) -> str:
        if isinstance(self._now.grammar, FollowedText):
            return self._now.grammar.subject.what
        return "the header" if self._now.header is not None else "the text"

    def _closed(self, guard: Guard) -> str:
        now, envelope = self._now, self._envelope
        if guard is Guard.CALL:
            if not envelope.names:
                return "no tool may be called: none is declared, or `tool_choice` is none"
            if now.calls >= envelope.most:
                return f"the turn has the {envelope.most} calls that it may have"
            return "no call may begin any more"
        if envelope.due is Due.CALL and not now.calls:
            return "`tool_choice` demands a call, and none has been made"
        if guard is Guard.EMPTY:
            return "the turn has said nothing: it has neither text nor a call"
        return "the turn may not end here"

    def _why_no_text(self, data: bytes, token_id: int, found: Expected) -> str:
        now = self._now
        if now.grammar is not None:
            return self._why_not_in(now.grammar, data, token_id, found)
        if now.header is not None:
            return self._why_no_header(data, token_id, found)
        segment = self._table.segment(now.state)
        if segment is Segment.NONE:
            return f"{shown(data)}: in the state {now.state} stands no text, expected {found}"
        if now.row.text:
            return f"{shown(data)} {_TOO_LONG}: expected {found}"
        if self._envelope.due is Due.CALL and not now.calls and segment is Segment.CONTENT:
            return (
                f"{shown(data)}: `tool_choice` demands a call, before which at most "
                f"{self._envelope.preamble} ids of text may stand: expected {found}"
            )
        return f"{shown(data)} is no text: expected {found}"

    def _why_not_in(self, text: object, data: bytes, token_id: int, found: Expected) -> str:
        if not isinstance(text, FollowedText):
            return f"{shown(data)} does not fit: expected {found}"
        row = np.zeros_like(self._row)
        text.fill(row)
        if is_set(row, token_id):
            return f"{shown(data)} {_TOO_LONG}: expected {found}"
        count = text.ahead(data)
        if count == len(data):
            return f"{shown(data)} would fit, but is an id that is kept out: expected {found}"
        if not count:
            return f"{shown(data)} does not fit: expected {found}"
        _, _, options = text.expected(data[:count])
        return (
            f"{shown(data[:count])} would fit, but not {shown(_whole(data[count:]))} behind it: "
            f"expected {in_words(options) if options else 'no more of ' + text.subject.what}"
        )

    def _why_no_header(self, data: bytes, token_id: int, found: Expected) -> str:
        node = self._now.header
        if node is not None and node.advance(token_id) is not None:
            return f"{shown(data)} {_TOO_LONG}: expected {found}"
        if node is None or node.low == node.high:
            return f"{shown(data)} does not fit: expected {found}"
        return (
            f"{shown(self._header_so_far() + data)} begins no header of a tool that may be "
            f"called: expected {found}"
        )


def _steps(node: HeaderNode, symbol: int) -> bool:
    return symbol < ID and node.step(symbol) is not None


def _whole(data: bytes) -> bytes:
    """Cut to the first character."""
    for end in range(1, min(len(data), 4) + 1):
        try:
            data[:end].decode()
        except UnicodeDecodeError:
            continue
        return data[:end]
    return data[:1]
