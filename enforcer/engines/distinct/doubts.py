"""The ids that would repeat an element of any kind, or begin what can only be repeated.

An id can do so in two ways. Along the rest of what is there already: the sorted vocabulary is a
tree of bytes, and only the branches of it are followed in which there still are rivals, few. Or
behind a comma, in another element: few ids have a comma and the beginning of a value behind it, and
most of these beginnings can still become endless values.

Owns: finding those ids. Must not know: grammars, engines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

from enforcer.engines.distinct.places import Kind
from enforcer.engines.distinct.tokens import is_member, members
from enforcer.partial import spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines.distinct.elements import Elements
    from enforcer.engines.distinct.places import Level, Spot
    from enforcer.schema.nodes import Formula
    from enforcer.vocabulary import Vocabulary

    Row = npt.NDArray[np.int32]

_BLANKS = b" \t\r\n"
_BLANKS_EACH = (b" ", b"\t", b"\r", b"\n")
_STRUCTURE = b'{}[],:"'
_BARE = b"+-.0123456789Eaeflnrstu"
_QUOTE, _BACKSLASH = 0x22, 0x5C
# What follows a comma, as far as it may be an element.
_NEXT = re.compile(rb',[ \t\r\n]*((?:["{\[\-0-9tfn].*)?)$', re.DOTALL)
_COMMA = re.compile(rb",")
_TWO = re.compile(rb"\[[ \t\r\n]*[^ \t\r\n\],].*,", re.DOTALL)


class Branches:
    """Some spellings in the order of their bytes, with the ids of each."""

    def __init__(self, pairs: Iterable[tuple[bytes, int]]) -> None:
        ordered = sorted(pairs)
        self.keys = [key for key, _ in ordered]
        self.ids = [token_id for _, token_id in ordered]

    def below(self, low: int, high: int, start: bytes, byte: int) -> tuple[int, int]:
        """Give the range of those that go on with a byte, of a range that begins alike."""
        first = bisect_left(self.keys, start + bytes([byte]), low, high)
        if byte == 0xFF:  # noqa: PLR2004
            return first, high
        return first, bisect_left(self.keys, start + bytes([byte + 1]), first, high)

    def bytes_after(self, low: int, high: int, start: bytes) -> Iterator[int]:
        """List the bytes with which those of a range go on."""
        at, depth = low, len(start)
        while at < high:
            if len(self.keys[at]) == depth:
                at += 1
                continue
            byte = self.keys[at][depth]
            yield byte
            at = self.below(at, high, start, byte)[1]


class Doubts:
    """A vocabulary, sorted by what its ids do to elements; one is enough for all texts."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._keys, self._ids = vocabulary.sorted_text

    @cached_property
    def all(self) -> Branches:
        """All ids of text."""
        return Branches(zip(self._keys, self._ids, strict=True))

    @cached_property
    def behind_blanks(self) -> Branches:
        """The ids that begin with white space, by what follows it."""
        pairs = zip(self._keys, self._ids, strict=True)
        return Branches((key.lstrip(_BLANKS), i) for key, i in pairs if key[:1] in _BLANKS_EACH)

    @cached_property
    def twice(self) -> Row:
        """The ids that may open an array, write an element and go on to another."""
        pairs = zip(self._keys, self._ids, strict=True)
        return self._vocabulary.row([i for key, i in pairs if _TWO.search(key)])

    @cached_property
    def next_elements(self) -> dict[bytes, list[int]]:
        """What ids have behind a comma, where it may be an element, and which ids have it."""
        found: dict[bytes, list[int]] = {}
        for key, token_id in zip(self._keys, self._ids, strict=True):
            if b"," not in key:
                continue
            for comma in _COMMA.finditer(key):
                match = _NEXT.match(key, comma.start())
                if match:
                    found.setdefault(match[1], []).append(token_id)
        return found

    def row(self, ids: Iterable[int]) -> Row:
        """Give a mask row with these ids."""
        return self._vocabulary.row(list(ids))

    def token(self, token_id: int) -> bytes:
        """Give the bytes of an id."""
        return self._vocabulary.token_bytes(token_id)


class DoubtsOf:
    """The doubts of one grammar.

    Args:
        doubts: of the vocabulary.
        elements: follows the texts of the grammar.

    """

    def __init__(self, doubts: Doubts, elements: Elements) -> None:
        self._doubts = doubts
        self._elements = elements
        self._rows: dict[Formula, Row] = {}

    def illegal(self, spot: Spot, row: Row) -> Iterator[int]:
        """List the ids of a mask row that are illegal, among others that are not in it."""
        risky = row & self._doubts.twice
        for level in _around(spot.level):
            element = self._elements.element_of(level)
            if element is not None:
                risky |= row & self._row(element)
        for token_id in members(risky):
            if self._elements.read(spot, self._doubts.token(token_id)) is None:
                yield token_id
        if spot.kind is Kind.OTHER or not (spot.contested or _may_go_on(spot)):
            return
        elements = self._elements
        for at, end, branches, after in self._walk(spot):
            for i in range(at, end):
                token_id = branches.ids[i]
                if is_member(row, token_id) and (after is None or not elements.lives(after)):
                    yield token_id

    def _row(self, element: Formula) -> Row:
        found = self._rows.get(element)
        if found is None:
            ids = {
                token_id
                for text, each in self._doubts.next_elements.items()
                if self._elements.may_end(element, text)
                for token_id in each
            }
            found = self._rows[element] = self._doubts.row(ids)
        return found

    def _walk(self, spot: Spot) -> Iterator[tuple[int, int, Branches, Spot | None]]:
        """Follow the branches with rivals; give ranges of ids, and where these lead."""
        elements, every = self._elements, self._doubts.all
        stack = [(every, 0, len(every.keys), b"", spot)]
        if spot.kind in (None, Kind.BARE):
            blank = self._doubts.behind_blanks
            after = elements.step(spot, _BLANKS[0])
            if after is None:
                yield 0, len(blank.keys), blank, None
            else:
                stack.append((blank, 0, len(blank.keys), b"", after))
        while stack:
            branches, low, high, start, here = stack.pop()
            whole = low
            while whole < high and len(branches.keys[whole]) == len(start):
                whole += 1
            if whole > low and here is not spot and here.contested:
                yield low, whole, branches, here
            for byte in self._bytes(branches, (whole, high), start, here):
                first, last = branches.below(whole, high, start, byte)
                if first == last:
                    continue
                after = elements.step(here, byte)
                if after is None:
                    yield first, last, branches, None
                elif after.threads != () and (after.contested or _may_go_on(after)):
                    stack.append((branches, first, last, start + bytes([byte]), after))

    @staticmethod
    def _bytes(
        branches: Branches, within: tuple[int, int], start: bytes, spot: Spot
    ) -> Iterable[int]:
        """List the bytes behind which there may still be rivals."""
        if spot.kind is None:
            return _STRUCTURE + _BARE + (_BLANKS if start else b"")
        if spot.kind is Kind.BARE:
            return _BARE + b"},]" + (_BLANKS if start else b"")
        if spot.partial.pending:
            return branches.bytes_after(*within, start)
        found = {_QUOTE, _BACKSLASH}
        for each in spot.rivals:
            for text in each:
                if isinstance(text, str) and len(text) > spot.length:
                    found.add(spell(text[spot.length], quoted=True)[0])
        return sorted(found)


def _may_go_on(spot: Spot) -> bool:
    """Tell whether another element may follow, or one that is written may end."""
    level = spot.level
    if level is None or level.used is None:
        return False
    return spot.kind is None and len(level.used) > 0


def _around(level: Level | None) -> Iterator[Level]:
    while level is not None:
        if level.used is not None:
            yield level
        level = level.outer
