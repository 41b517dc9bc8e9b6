"""The ids of a vocabulary that could repeat a string of an array, or a name of an object.

At most places few ids can, and only these are tried, one by one. Ids without escapes and without
parts of characters spell what they mean: those that write the rest of a string that is there with
its quote, or a spent prefix, are neighbours in the sorted vocabulary. All other ids are indexed by
what they mean at the beginning of a character.

Owns: finding those ids. Must not know: grammars, how a text is followed beyond one id.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from enforcer.engines.mask_rows import members
from enforcer.partial import Partial, spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines.distinct.seen_strings import SeenStrings
    from enforcer.engines.distinct.string_follower import Place
    from enforcer.vocabulary import Vocabulary

    Row = npt.NDArray[np.int32]

_QUOTE = 0x22
_FRESH = Partial()
_MOST = 4  # quotes around two elements
_FEW = 200  # beginnings, of which each is looked up
_STRUCTURE = (b",", b"{[", b"}]")
_MARKS = frozenset(b'"\\,{[}]')  # what ids that are looked at have in them, or begin with
_ENDED = re.compile(rb'[}\]].*"', re.DOTALL)  # another string begins outside


class _Meanings:
    """What ids mean, read from the beginning of a character within a string."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, int]] = []
        self._closing: dict[str, list[int]] = {}
        self._pending: dict[str, list[int]] = {}

    def add(self, data: bytes, token_id: int) -> None:
        """Read the bytes of an id, up to a quote that ends the string."""
        partial, text = _FRESH, ""
        for byte in data:
            if byte == _QUOTE and not partial.pending:
                self._closing.setdefault(text, []).append(token_id)
                break
            found = partial.read(byte)
            if found is None:
                return  # it never stands there
            partial, char = found
            text += char or ""
        else:
            if partial.pending:
                self._pending.setdefault(text, []).append(token_id)
        self._texts.append((text, token_id))

    def sort(self) -> None:
        """Make it ready for questions."""
        self._texts.sort()

    @property
    def closing(self) -> Mapping[str, Sequence[int]]:
        """The ids that end a string, by the text that they end it with."""
        return self._closing

    def beginning_with(self, text: str) -> Iterable[int]:
        """List the ids that write this text, and those that come to a part of its last character.

        The text is not empty.
        """
        found = list(self._pending.get(text[:-1], ()))
        at = bisect_left(self._texts, (text, -1))
        while at < len(self._texts) and self._texts[at][0].startswith(text):
            found.append(self._texts[at][1])
            at += 1
        return found


class StringTokens:
    """A vocabulary, sorted by what its ids do to a string.

    It takes a fifth of a second to build for 160,000 ids; one is enough for all texts.

    Attributes:
        token: gives the bytes of an id.

    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.token = vocabulary.token_bytes
        self._beginning_with = vocabulary.beginning_with
        self._keys, self._ids = vocabulary.sorted_text
        quoted: list[list[int]] = [[] for _ in range(_MOST + 1)]
        reopening: list[int] = []
        structure: dict[bytes, list[int]] = {mark: [] for mark in _STRUCTURE}
        self._within = _Meanings()
        self._opening = _Meanings()
        for key, token_id in zip(self._keys, self._ids, strict=True):
            if key.isalnum() or (key[1:].isalpha() and key[0] not in _MARKS):
                continue  # most of them
            if b'"' in key:
                count = key.count(b'"')
                for least in range(1, min(count, _MOST) + 1):
                    quoted[least].append(token_id)
                self._opening.add(key[key.index(b'"') + 1 :], token_id)
            for mark, ids in structure.items():
                if any(byte in mark for byte in key):
                    ids.append(token_id)
            if _ENDED.search(key):
                reopening.append(token_id)
            if b'"' in key or b"\\" in key or not _is_whole(key):
                self._within.add(key, token_id)
        self._within.sort()
        self._opening.sort()
        self._commas, self._openings, self._endings = map(vocabulary.row, structure.values())
        self._reopening = vocabulary.row(reopening)
        self._quoted = [vocabulary.row(ids) for ids in quoted]

    def doubtful(self, place: Place, row: Row) -> set[int]:
        """List ids that may repeat an element, all legal ones that do among them.

        Args:
            place: where the text is.
            row: mask row of the legal ids.

        """
        found: set[int] = set()
        if place.memory is None:
            # One element of what it opens, and another that ends, or can only be repeated.
            found = _members(row & self._quoted[3] & self._openings)
        else:
            found = self._doubtful_here(place, place.memory, row)
        level = None if place.level is None else place.level.outer
        while level is not None:
            if level.own is not None:
                found |= _members(row & self._reopening)
                if level.own.may_fill_up:
                    found |= _members(row & self._endings & self._commas)
            level = level.outer
        return found

    def _doubtful_here(self, place: Place, memory: SeenStrings, row: Row) -> set[int]:
        if place.kind is not None:
            # One that ends, one that is whole, and perhaps one that begins with what is spent,
            # maybe by the one that ends.
            found = _members(row & self._quoted[2 if memory.may_spend else 3])
            if memory.may_fill_up:
                found |= _members(row & self._quoted[1] & self._commas)
            if place.remembers and place.text.length <= memory.longest:
                found |= self._doubtful_within(place, memory, row)
            return found
        found = _members(row & self._quoted[3])
        if memory.may_fill_up:
            found |= _members(row & self._quoted[2] & self._commas)
        found.update(_closing(self._opening, memory))
        if memory.is_full:
            return found | _members(row & self._commas)
        spent = list(memory.spent)
        if len(spent) > _FEW:
            return found | _members(row & self._quoted[1])
        for text in spent:
            found.update(self._opening.beginning_with(text))
        return found

    def _doubtful_within(self, place: Place, memory: SeenStrings, row: Row) -> set[int]:
        """List those that go on with a beginning."""
        spent = list(_ahead(memory.spent, place))
        if len(spent) > _FEW:
            legal = _members(row)
            if len(legal) < len(spent):
                return legal
        found: set[int] = set()
        partial = place.partial
        if partial.pending:
            heads = {tail[0] for tail in (*_ahead(memory, place), *spent)}
            for char in heads:
                found.update(self._from_part(char, partial))
            return found
        found.update(_closing(self._within, memory, place.text.whole()))
        for tail in spent:
            found.update(self._beginning_with(spell(tail, quoted=True)))
            found.update(self._within.beginning_with(tail))
        return found

    def _from_part(self, char: str, partial: Partial) -> Iterable[int]:
        """List the ids that complete a character in one of its spellings, or go on with it."""
        for rest in partial.rests_of(char):
            yield from self._beginning_with(rest)
            for length in range(1, len(rest)):
                part = rest[:length]
                # Several ids may spell the same.
                yield from self._ids[bisect_left(self._keys, part) : bisect_right(self._keys, part)]


def _closing(meanings: _Meanings, memory: SeenStrings, start: str = "") -> Iterator[int]:
    """Give the ids that end a string which begins so with one that is there already."""
    if len(memory) < len(meanings.closing):
        for text in memory:
            if text.startswith(start):
                yield from meanings.closing.get(text[len(start) :], ())
    else:
        for rest, ids in meanings.closing.items():
            if start + rest in memory:
                yield from ids


def _ahead(texts: Iterable[str], place: Place) -> Iterator[str]:
    """Give what is left of those texts that what is being written may become."""
    start = place.text.whole()
    for text in texts:
        if text.startswith(start) and (text != start or not place.partial.pending):
            yield text[len(start) :]


def _members(row: Row) -> set[int]:
    return set(members(row).tolist())


def _is_whole(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True
