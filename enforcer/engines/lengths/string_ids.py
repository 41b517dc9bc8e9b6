"""The ids of a vocabulary by what they write within a JSON string: how many characters, and which.

Owns: that table, built once for a vocabulary, and finding the ids that are too long for a place.
Must not know: grammars, how a text is followed beyond one id.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from enforcer.partial import Partial

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from enforcer.engines.lengths.automaton import Automaton
    from enforcer.engines.lengths.follower import Place
    from enforcer.vocabulary import Vocabulary

    Row = npt.NDArray[np.int32]
    Ids = npt.NDArray[np.int64]

_QUOTE, _BACKSLASH = b'"\\'
_CONTROL = 0x20
_ENTRY = 40
# What may stand behind a backslash alone, one letter each, and means a character.
_LETTERS = {ord(letter): ord(char) for letter, char in zip("/bfnrt", "/\b\f\n\r\t", strict=True)}
_LONG_OPENING = 40  # characters behind a quote: more than most ids have, fewer than any bound


class StringIds:
    """The ids of a vocabulary; a tenth of a second to build for 160,000, one for all texts."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary.words
        self._bytes = vocabulary.token_bytes
        size = vocabulary.size
        # A character that has been begun counts as one.
        self._counts = np.zeros(size, np.int32)
        self._ends = np.zeros(size, np.bool_)
        self._begun = np.zeros(size, np.int32)
        self._lengths = np.zeros(size, np.int32)
        self._firsts = np.zeros(size, np.int32)
        self._partials = [Partial()]
        texts: list[str] = []
        starts = np.zeros(size + 1, np.int64)
        numbers: dict[Partial, int] = {self._partials[0]: 0}
        opening: list[int] = []
        _, ids = vocabulary.sorted_text
        found: dict[int, tuple[str, bool, Partial]] = {}
        for token_id in ids:
            data = vocabulary.token_bytes(token_id)
            self._lengths[token_id] = len(data)
            self._firsts[token_id] = data[0]
            read = _read(data)
            if read is not None:
                found[token_id] = read
            at = data.rfind(b'"') + 1
            if at and len(data) - at >= _LONG_OPENING:
                opening.append(token_id)
        for token_id in range(size):
            text, ends, partial = found.get(token_id, ("", False, self._partials[0]))
            starts[token_id + 1] = starts[token_id] + len(text)
            if token_id not in found:
                continue
            texts.append(text)
            self._counts[token_id] = len(text) + bool(partial.pending)
            self._ends[token_id] = ends
            if partial not in numbers:
                numbers[partial] = len(self._partials)
                self._partials.append(partial)
            self._begun[token_id] = numbers[partial]
        self._starts = starts
        self._codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
        self._known = np.fromiter(sorted(found), np.int64, len(found))
        self._opening = vocabulary.row(opening) if opening else None

    @cached_property
    def longest(self) -> int:
        """Characters that an id writes at most."""
        return int(self._counts.max())

    @cached_property
    def _at_most(self) -> dict[int, Row]:
        return {}

    @cached_property
    def _by_count(self) -> tuple[Ids, list[int]]:
        """The ids in the order of their counts, and where those of each count begin."""
        order = self._known[np.argsort(self._counts[self._known], kind="stable")]
        begin = self._counts[order].searchsorted(np.arange(self.longest + 2))
        return order, begin.tolist()

    def forbid(
        self, place: Place, automaton: Automaton, row: Row, fits: Callable[[bytes], bool]
    ) -> None:
        """Leave out of a mask row the ids after which a string is, or can only become, too long.

        Args:
            place: within a string that is counted.
            automaton: the pattern of that string.
            row: mask row of the ids that the engine allows.
            fits: tells it of the bytes of one id, for the few that are not looked up.

        """
        furthest = automaton.furthest[place.state]
        if place.left >= self.longest + furthest + 1:
            return
        if place.partial.pending:
            self._forbid_behind_part(place, automaton, row, fits)
            return
        row &= self._no_longer_than(place.left)
        ids = self._of_counts(place.left - furthest + 1, place.left)
        if len(ids):
            self._forbid_these(place, automaton, row, among(row, ids))

    def forbid_openings(self, row: Row, fits: Callable[[bytes], bool]) -> None:
        """Leave out those that open a string and are too long for it; none in most vocabularies."""
        if self._opening is not None:
            self._try(row, members(row & self._opening), fits)

    def _no_longer_than(self, count: int) -> Row:
        found = self._at_most.get(count)
        if found is None:
            found = np.full(self._words, -1, np.int32)
            clear(found, self._of_counts(count + 1, self.longest))
            self._at_most[count] = found
        return found

    def _of_counts(self, least: int, most: int) -> Ids:
        order, begin = self._by_count
        last = self.longest + 1
        return order[begin[min(max(least, 0), last)] : begin[min(most + 1, last)]]

    def _forbid_these(
        self, place: Place, automaton: Automaton, row: Row, ids: Ids, first: Row | None = None
    ) -> None:
        """Follow ids that are read from the beginning of a character, and leave out what is wrong.

        Args:
            place: where they begin.
            automaton: the pattern.
            row: mask row that they are in.
            ids: they.
            first: what the first character of each is, if it is not what it looks like.

        """
        counts = self._counts[ids]
        for count in np.unique(counts):
            some = ids[counts == count]
            whole = int(count) - (self._begun[some] > 0)
            for length in np.unique(whole):
                these = some[whole == length]
                codes = self._codes[self._starts[these][:, None] + np.arange(length)]
                if first is not None and length:
                    codes[:, 0] = first[counts == count][whole == length]
                states = automaton.run(place.state, codes)
                left = place.left - length
                wrong = (automaton.least_of(states) > left) & ~self._ends[these]
                wrong |= left < 0
                begun = np.flatnonzero(self._begun[these])
                for at in begun:
                    part = self._partials[self._begun[these[at]]]
                    state = int(states[at])
                    wrong[at] = (
                        not automaton.has(state)
                        or automaton.least_behind(state, part.characters) >= left
                    )
                clear(row, these[wrong])

    def _forbid_behind_part(
        self, place: Place, automaton: Automaton, row: Row, fits: Callable[[bytes], bool]
    ) -> None:
        """Do so where a character has been begun: few ids may follow, but for a backslash's."""
        ids = members(row)
        room = place.left - automaton.furthest[place.state]
        # No id writes more characters than it has bytes.
        ids = ids[np.maximum(self._lengths[ids], 1) > room]
        if place.partial.pending == bytes([_BACKSLASH]):
            letters = np.isin(self._firsts[ids], [*_LETTERS])
            short = ids[letters]
            meant = np.array([_LETTERS[each] for each in self._firsts[short].tolist()], np.int32)
            self._forbid_these(place, automaton, row, short, meant)
            ids = ids[~letters]
        self._try(row, ids, fits)

    def _try(self, row: Row, ids: Ids, fits: Callable[[bytes], bool]) -> None:
        clear(row, np.array([i for i in ids.tolist() if not fits(self._bytes(i))], np.int64))


def _read(data: bytes) -> tuple[str, bool, Partial] | None:
    """Read an id within a string: its characters, whether it ends it, and what it has begun."""
    fresh = Partial()
    if _QUOTE not in data and _BACKSLASH not in data and min(data) >= _CONTROL:
        try:
            return data.decode(), False, fresh
        except UnicodeDecodeError:
            pass
    partial, text = fresh, list[str]()
    for byte in data:
        if byte == _QUOTE and not partial.pending:
            return "".join(text), True, fresh
        found = partial.read(byte)
        if found is None:
            return None  # it stands nowhere, or behind a part of a character
        partial, char = found
        if char is not None:
            text.append(char)
    return "".join(text), False, partial


def members(row: Row) -> Ids:
    """List the ids of a mask row."""
    words = np.flatnonzero(row)
    bits = np.unpackbits(row[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    at, bit = np.nonzero(bits)
    found: Ids = words[at] * 32 + bit
    return found


def among(row: Row, ids: Ids) -> Ids:
    """List those of some ids that are in a mask row."""
    found: Ids = ids[(row[ids >> 5] >> (ids & 31).astype(np.int32) & 1).astype(bool)]
    return found


def clear(row: Row, ids: Ids) -> None:
    """Leave ids out of a mask row."""
    if len(ids):
        bits = np.left_shift(np.uint32(1), (ids & 31).astype(np.uint32), dtype=np.uint32)
        np.bitwise_and.at(row.view(np.uint32), ids >> 5, ~bits)
