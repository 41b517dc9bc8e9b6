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
from itertools import accumulate, pairwise
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
_DIGITS = b"123456789"
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
        starts = [bisect_left(self.keys, bytes([byte])) for byte in range(256)]
        self._firsts = list(pairwise([*starts, len(self.keys)]))
        # Of those that are not all digits, how many stand before each.
        self._others = [0, *accumulate(not key.isdigit() for key in self.keys)]

    def below(self, low: int, high: int, start: bytes, byte: int) -> tuple[int, int]:
        """Give the range of those that go on with a byte, of a range that begins alike."""
        if not start:
            return self._firsts[byte]
        first = bisect_left(self.keys, start + bytes([byte]), low, high)
        if byte == 0xFF:  # noqa: PLR2004
            return first, high
        return first, bisect_left(self.keys, start + bytes([byte + 1]), first, high)

    def are_digits(self, low: int, high: int) -> bool:
        """Tell whether all of a range are digits and nothing else."""
        return self._others[low] == self._others[high]


class Doubts:
    """A vocabulary, sorted by what its ids do to elements; one is enough for all texts.

    Attributes:
        all: all ids of text.
        quoted: those with a quote.
        behind_blanks: those that begin with white space, by what follows it.
        longest_digits: digits of the longest id that is nothing else.
        twice: mask row of those that may open an array, write an element and go on to another.
        next_elements: what ids have behind a comma, where it may be an element, and which have it.

    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        keys, ids = vocabulary.sorted_text
        pairs = list(zip(keys, ids, strict=True))
        self.all = Branches(pairs)
        self.quoted = Branches((key, i) for key, i in pairs if b'"' in key)
        self.behind_blanks = Branches(
            (key.lstrip(_BLANKS), i) for key, i in pairs if key[:1] in _BLANKS_EACH
        )
        self.longest_digits = max((len(key) for key in keys if key.isdigit()), default=0)
        commas = [(key, i) for key, i in pairs if b"," in key]
        self.twice = vocabulary.row([i for key, i in commas if _TWO.search(key)])
        self.next_elements: dict[bytes, list[int]] = {}
        for key, token_id in commas:
            for comma in _COMMA.finditer(key):
                match = _NEXT.match(key, comma.start())
                if match:
                    self.next_elements.setdefault(match[1], []).append(token_id)

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
        if not spot.contested:
            return
        elements = self._elements
        for at, end, branches, after in self._walk(spot):
            for i in range(at, end):
                token_id = branches.ids[i]
                if is_member(row, token_id) and (after is None or not elements.living.lives(after)):
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
        if elements.living.follows_any_text(spot):
            every = self._doubts.quoted  # nothing within the string can be a dead end
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
            for byte in self._bytes(start, here):
                first, last = branches.below(whole, high, start, byte)
                if first == last:
                    continue
                if byte in _DIGITS and branches.are_digits(first, last):
                    length = self._doubts.longest_digits
                    if elements.living.digits_are_free(here, byte, length):
                        continue
                after = elements.step(here, byte)
                if after is None:
                    yield first, last, branches, None
                elif after.threads != () and after.contested:
                    stack.append((branches, first, last, start + bytes([byte]), after))

    def _bytes(self, start: bytes, spot: Spot) -> Iterable[int]:
        """List the bytes behind which there may still be rivals."""
        if spot.kind in (None, Kind.BARE):
            return (*self._elements.living.bytes_after(spot), *(_BLANKS if start else b""))
        at = spot.length
        following = {x[at : at + 1] for each in spot.rivals for x in each if isinstance(x, str)}
        if spot.partial.pending:
            rests = (rest for char in following if char for rest in spot.partial.rests_of(char))
            return {rest[0] for rest in rests}
        return {spell(x, quoted=True)[0] if x else _QUOTE for x in following} | {_BACKSLASH}


def _around(level: Level | None) -> Iterator[Level]:
    while level is not None:
        if level.used is not None:
            yield level
        level = level.outer
