"""The ids that would repeat an element of any kind, or begin what can only repeat one.

An id can do so in two ways. It goes on with the element that is being written: the sorted
vocabulary is walked as a tree of bytes, and only branches in which there still are rivals are
followed, which are few. Or it has a comma, behind which another element begins: few ids have both,
and most such elements can still become infinitely many values.

Owns: finding those ids. Must not know: grammars, engines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.distinct.element_follower import is_one_gap
from enforcer.engines.distinct.element_places import TextKind
from enforcer.engines.mask_rows import clear, is_member, members
from enforcer.partial import spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from enforcer.engines.distinct.element_follower import ElementFollower
    from enforcer.engines.distinct.element_places import Level, Spot
    from enforcer.schema.grammar import ValueId
    from enforcer.vocabulary import Vocabulary

    Row = npt.NDArray[np.int32]

_BLANKS = b" \t\r\n"
_BLANKS_EACH = (b" ", b"\t", b"\r", b"\n")
_DIGITS = b"0123456789"
_QUOTE, _BACKSLASH, _LAST_BYTE = 0x22, 0x5C, 0xFF
_SHORT = 8  # bytes; most ids that write hashes, names or dates have no more
_KEPT = 2  # bytes of beginnings behind which it is kept what follows
# What follows a comma, as far as it may be an element.
_NEXT = re.compile(rb',[ \t\r\n]*((?:["{\[\-0-9tfn].*)?)$', re.DOTALL)
_COMMA = re.compile(rb",")
_TWO = re.compile(rb"\[[ \t\r\n]*[^ \t\r\n\],].*,", re.DOTALL)


class Branches:
    """Some spellings in the order of their bytes, with the ids of each."""

    def __init__(self, pairs: Iterable[tuple[bytes, int]]) -> None:
        ordered = sorted(pairs)
        self.keys = [key for key, _ in ordered]
        self.ids = np.array([token_id for _, token_id in ordered], np.int64)
        self._below: dict[tuple[int, int, int], dict[int, tuple[int, int]]] = {}
        # Of those that are not all digits, how many stand before each.
        self._others = [0, *accumulate(not key.isdigit() for key in self.keys)]

    def below(self, low: int, high: int, length: int) -> dict[int, tuple[int, int]]:
        """Give the ranges of those that go on with each byte, of one that so many bytes begin."""
        key = low, high, length
        found = self._below.get(key)
        if found is not None:
            return found
        found, at = {}, low
        while at < high:
            start, byte = self.keys[at][:length], self.keys[at][length]
            beyond = start + bytes([byte + 1]) if byte < _LAST_BYTE else start + bytes([byte] * 256)
            end = bisect_left(self.keys, beyond, at, high)
            found[byte] = at, end
            at = end
        if length <= _KEPT:
            self._below[key] = found
        return found

    def are_digits(self, low: int, high: int) -> bool:
        """Tell whether all of a range are digits and nothing else."""
        return self._others[low] == self._others[high]


class ElementTokens:
    """A vocabulary, sorted by what its ids do to elements; one is enough for all texts.

    Attributes:
        token: gives the bytes of an id.
        all: all ids of text.
        quoted: those with a quote.
        quoted_or_long: these, and others of more than a few bytes.
        behind_blanks: those that begin with white space, by what follows it.
        blanks: these by that white space.
        longest_digits: digits of the longest id that is nothing else.
        twice: mask row of those that may open an array, write an element and go on to another.
        next_elements: what ids have behind a comma, where it may be an element, and which have it.

    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.token = vocabulary.token_bytes
        self._row = vocabulary.row
        keys, ids = vocabulary.sorted_text
        pairs = list(zip(keys, ids, strict=True))
        self.all = Branches(pairs)
        self.quoted = Branches((key, i) for key, i in pairs if b'"' in key)
        self.quoted_or_long = Branches(
            (key, i) for key, i in pairs if b'"' in key or len(key) > _SHORT
        )
        self.behind_blanks = Branches(
            (key.lstrip(_BLANKS), i) for key, i in pairs if key[:1] in _BLANKS_EACH
        )
        runs: dict[str, list[int]] = {}
        for key, token_id in pairs:
            if key[:1] in _BLANKS_EACH:
                blanks = key[: len(key) - len(key.lstrip(_BLANKS))].decode()
                runs.setdefault(blanks, []).append(token_id)
        self.blanks = {blanks: np.array(ids, np.int64) for blanks, ids in runs.items()}
        self.longest_digits = max((len(key) for key in keys if key.isdigit()), default=0)
        commas = [(key, i) for key, i in pairs if b"," in key]
        self.twice = vocabulary.row([i for key, i in commas if _TWO.search(key)])
        self.next_elements: dict[bytes, list[int]] = {}
        for key, token_id in commas:
            for comma in _COMMA.finditer(key):
                match = _NEXT.match(key, comma.start())
                if match:
                    self.next_elements.setdefault(match[1], []).append(token_id)

    def risky(self, elements: ElementFollower, element: ValueId) -> Row:
        """Give the ids that may end an element behind a comma, as a mask row."""
        ids = {
            token_id
            for text, each in self.next_elements.items()
            if elements.may_end(element, text)
            for token_id in each
        }
        return self._row(list(ids))


class ElementMask:
    """Masks the ids of one text that repeat an element, or can only repeat one.

    Args:
        tokens: of the vocabulary.
        elements: follows the text.
        risky: for each kind of element, the ids that may end it behind a comma.

    """

    def __init__(
        self, tokens: ElementTokens, elements: ElementFollower, risky: Mapping[ValueId, Row]
    ) -> None:
        self._tokens = tokens
        self._elements = elements
        self._risky = risky

    def forbid(self, spot: Spot, row: Row) -> None:
        """Leave out of a mask row the ids that are illegal."""
        elements = self._elements
        risky = row & self._tokens.twice
        for level in _around(spot.level):
            element = elements.element_of(level)
            if element is not None:
                risky |= row & self._risky[element]
        read = ((i, elements.read(spot, self._tokens.token(i))) for i in members(risky).tolist())
        clear(row, [token_id for token_id, after in read if after is None])
        if not spot.contested:
            return
        dead = list(self._dead(spot, row))
        if dead:
            clear(row, np.concatenate(dead))

    def _dead(self, spot: Spot, row: Row) -> Iterator[npt.NDArray[np.int64]]:
        """Follow the branches with rivals; give the ids, in ranges, that lead to none but these."""
        elements, every = self._elements, self._tokens.all
        liveness = elements.liveness
        if liveness.follows_any_text(spot):
            every = self._tokens.quoted  # nothing within the string can be a dead end
        elif liveness.follows_texts_of(spot, _SHORT):
            every = self._tokens.quoted_or_long
        if elements.is_open(spot) and elements.must_go_on(spot):
            gap = spot.text()
            runs = self._tokens.blanks.items()
            yield from (ids for blanks, ids in runs if not is_one_gap(gap + blanks))
        stack = [(every, 0, len(every.keys), b"", spot)]
        if spot.kind in (None, TextKind.BARE):
            blank = self._tokens.behind_blanks
            after = spot if spot.kind is None else elements.step(spot, _BLANKS[0])
            if after is None:
                yield blank.ids
            elif after.threads != () and after.contested:
                stack.append((blank, 0, len(blank.keys), b"", after))
        while stack:
            branches, low, high, start, here = stack.pop()
            whole = low
            while whole < high and len(branches.keys[whole]) == len(start):
                whole += 1
            ends = branches.ids[low:whole].tolist() if here is not spot else ()
            if any(is_member(row, token_id) for token_id in ends) and not liveness.lives(here):
                yield branches.ids[low:high]
                continue
            fixed = liveness.is_fixed(here) and liveness.lives(here)
            following = branches.below(whole, high, len(start)) if whole < high else {}
            for byte in self._bytes(start, here) if following else ():
                if byte not in following:
                    continue
                if byte in _DIGITS and elements.leaves_rivals(here, byte):
                    continue
                first, last = following[byte]
                if byte in _DIGITS and branches.are_digits(first, last):
                    length = self._tokens.longest_digits - len(start)
                    if fixed or liveness.digits_are_free(here, byte, length):
                        continue
                after = elements.step(here, byte)
                if after is None:
                    yield branches.ids[first:last]
                elif after.threads != () and after.contested:
                    stack.append((branches, first, last, start + bytes([byte]), after))

    def _bytes(self, start: bytes, spot: Spot) -> Iterable[int]:
        """List the bytes behind which there may still be rivals."""
        if spot.kind in (None, TextKind.BARE):
            return (*self._elements.liveness.bytes_after(spot), *(_BLANKS if start else b""))
        at = spot.written.length
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
