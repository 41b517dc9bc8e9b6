"""The ids of a vocabulary by what they write within a JSON string: how many characters, and which.

Owns: that table, built once for a vocabulary, and finding the ids that are too long for a place.
Must not know: grammars, how a text is followed beyond one id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer.partial import Partial
from enforcer.regex.charset import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from enforcer.engines.lengths.automaton import Automaton
    from enforcer.engines.lengths.follower import Place
    from enforcer.vocabulary import Vocabulary

    Row = npt.NDArray[np.int32]
    Ids = npt.NDArray[np.int64]

_QUOTE, _BACKSLASH = b'"\\'
_FRESH = Partial()
# What may stand behind a backslash alone, one letter each, and means a character.
_LETTERS = {ord(letter): ord(char) for letter, char in zip("/bfnrt", "/\b\f\n\r\t", strict=True)}
_FEW = 500  # ids that take less than a mask
_NONE = np.zeros(0, np.int64)
_LONG_OPENING = 40  # characters behind a quote: more than most ids have, fewer than any bound


class _Odd(NamedTuple):
    """An id within a string that writes more than whole characters, or less.

    Attributes:
        text: its whole characters, up to the end of the string or of the id.
        ends: whether it ends the string.
        begun: the character that it has begun.

    """

    text: str
    ends: bool
    begun: Partial


class _Alike(NamedTuple):
    """Ids that write equally many whole characters.

    Attributes:
        ids: they.
        codes: the characters, as numbers of `StringIds.codes`, shape `(characters, ids)`.
        ends: of each whether it ends the string.
        begun: of each the number of the character that it has begun; 0 if none.

    """

    ids: Ids
    codes: npt.NDArray[np.int32]
    ends: npt.NDArray[np.bool_]
    begun: npt.NDArray[np.int32]

    def some(self, where: npt.NDArray[np.bool_]) -> _Alike:
        """Give those of them where it is true."""
        return _Alike(self.ids[where], self.codes[:, where], self.ends[where], self.begun[where])


class StringIds:
    """The ids of a vocabulary; a third of a second to build for 160,000, one for all texts.

    Attributes:
        codes: the code points of all characters, in order.

    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary.words
        self._bytes = vocabulary.token_bytes
        self._lengths = np.zeros(vocabulary.size, np.int32)
        self._firsts = np.zeros(vocabulary.size, np.int32)
        # Which character one may become that an id has begun; of none that it has not.
        self._begun = [ALL]
        by_length: dict[int, tuple[list[int], list[str]]] = {}
        odd: dict[int, _Odd] = {}
        opening: list[int] = []
        for data, token_id in zip(*vocabulary.sorted_text, strict=True):
            self._lengths[token_id] = len(data)
            self._firsts[token_id] = data[0]
            text = _plain(data)
            if text is None:
                at = data.rfind(b'"') + 1
                if at and len(data) - at >= _LONG_OPENING:
                    opening.append(token_id)
                read = _read(data)
                if read is None:
                    continue
                odd[token_id] = read
                text = read.text
            ids, texts = by_length.setdefault(len(text), ([], []))
            ids.append(token_id)
            texts.append(text)
        self._opening = vocabulary.row(opening) if opening else None
        self.codes = np.unique(_code_points(x for _, texts in by_length.values() for x in texts))
        numbers = {_FRESH: 0}
        self._alike = {
            length: self._gathered(*found, odd, numbers) for length, found in by_length.items()
        }
        # A character that has been begun counts as one.
        self.longest = max(by_length, default=0) + 1
        self._no_longer: dict[int, Row] = {}

    def _gathered(
        self,
        ids: list[int],
        texts: list[str],
        odd: Mapping[int, _Odd],
        numbers: dict[Partial, int],
    ) -> _Alike:
        ends, begun = np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.int32)
        for at, token_id in enumerate(ids):
            if token_id not in odd:
                continue
            _, ends[at], partial = odd[token_id]
            if partial not in numbers:
                numbers[partial] = len(self._begun)
                self._begun.append(partial.characters)
            begun[at] = numbers[partial]
        codes = self.codes.searchsorted(_code_points(texts)).astype(np.int32)
        codes = np.ascontiguousarray(codes.reshape(len(ids), len(texts[0])).T)
        return _Alike(np.array(ids, np.int64), codes, ends, begun)

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
        if place.left >= self.longest + furthest:
            return
        if place.partial.pending:
            self._forbid_behind_part(place, automaton, row, fits)
            return
        row &= self._no_longer_than(place.left)
        if furthest:
            self._forbid_without_end(place, automaton, row)

    def forbid_openings(self, row: Row, fits: Callable[[bytes], bool]) -> None:
        """Leave out those that open a string and are too long for it; none in most vocabularies."""
        if self._opening is not None:
            self._try(row, members(row & self._opening), fits)

    def _no_longer_than(self, count: int) -> Row:
        """Give a mask of all but the ids that write more characters."""
        found = self._no_longer.get(count)
        if found is None:
            wrong = [
                alike.ids[alike.begun > 0] if length == count else alike.ids
                for length, alike in self._alike.items()
                if length >= count
            ]
            found = self._no_longer[count] = self._all_but(wrong)
        return found

    def _forbid_without_end(self, place: Place, automaton: Automaton, row: Row) -> None:
        """Leave out the ids that are short enough, but after which the end is too far away."""
        state, left = place.state, place.left
        found = automaton.kept.get((state, left))
        if found is None:
            lengths = range(max(left - automaton.furthest[state], 0), left + 1)
            asked = [self._alike[length] for length in lengths if length in self._alike]
            wrong = [alike.ids[self._wrong(alike, state, left, automaton)] for alike in asked]
            count = sum(map(len, wrong))
            # A few by themselves, many as a mask of all others.
            ids = np.concatenate([_NONE, *wrong] if count < _FEW else [_NONE])
            found = automaton.keep(state, left, ids, None if count < _FEW else self._all_but(wrong))
        ids, others = found
        clear(row, ids)
        if others is not None:
            row &= others

    def _wrong(
        self, alike: _Alike, state: int, left: int, automaton: Automaton
    ) -> npt.NDArray[np.bool_]:
        """Tell which ids of equal length leave too little room for the rest of the string."""
        columns = automaton.columns_of(self.codes)
        states = automaton.run(state, columns, alike.codes)
        left -= len(alike.codes)
        wrong: npt.NDArray[np.bool_] = (automaton.least_of(states) > left) & ~alike.ends
        at = np.flatnonzero(alike.begun)
        kinds = len(self._begun)
        pairs, of = np.unique(states[at] * kinds + alike.begun[at], return_inverse=True)
        least = [
            automaton.least_behind(pair // kinds, self._begun[pair % kinds])
            for pair in pairs.tolist()
        ]
        wrong[at] = (np.array(least, np.int32) >= left)[of]
        return wrong

    def _forbid_behind_part(
        self, place: Place, automaton: Automaton, row: Row, fits: Callable[[bytes], bool]
    ) -> None:
        """Do so where a character has been begun: few ids may follow, but for a backslash's."""
        ids = members(row)
        # No id writes more characters than it has bytes.
        room = place.left - automaton.furthest[place.state]
        ids = ids[np.maximum(self._lengths[ids], 1) > room]
        if place.partial.pending == bytes([_BACKSLASH]):
            letters = np.isin(self._firsts[ids], [*_LETTERS])
            self._forbid_letters(place, automaton, row, ids[letters])
            ids = ids[~letters]
        self._try(row, ids, fits)

    def _forbid_letters(self, place: Place, automaton: Automaton, row: Row, ids: Ids) -> None:
        """Do so of ids that begin with a letter behind a backslash, which means a character."""
        meant = np.full(0x80, -1, np.int32)
        meant[[*_LETTERS]] = [*_LETTERS.values()]
        for length, every in self._alike.items():
            alike = every.some(np.isin(every.ids, ids, assume_unique=True)) if length else every
            if not length or not len(alike.ids):
                continue
            if length > place.left:
                clear(row, alike.ids)
                continue
            firsts = meant[self._firsts[alike.ids]]
            state = np.array([automaton.step(place.state, chr(code)) for code in firsts.tolist()])
            for first in np.unique(state[state >= 0]).tolist():
                some = alike.some(state == first)
                rest = some._replace(codes=some.codes[1:])
                clear(row, some.ids[self._wrong(rest, first, place.left - 1, automaton)])
            clear(row, alike.ids[state < 0])

    def _try(self, row: Row, ids: Ids, fits: Callable[[bytes], bool]) -> None:
        clear(row, np.array([i for i in ids.tolist() if not fits(self._bytes(i))], np.int64))

    def _all_but(self, ids: list[Ids]) -> Row:
        bits = np.ones(32 * self._words, np.uint8)
        for some in ids:
            bits[some] = 0
        return np.packbits(bits, bitorder="little").view(np.int32)


def _plain(data: bytes) -> str | None:
    """Give the characters of an id that writes just these; None if there is more to look at."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() and '"' not in text and "\\" not in text else None


def _read(data: bytes) -> _Odd | None:
    """Read an id from the beginning of a character; None if it stands nowhere there."""
    begun, text = _FRESH, list[str]()
    for byte in data:
        if byte == _QUOTE and not begun.pending:
            return _Odd("".join(text), ends=True, begun=_FRESH)
        found = begun.read(byte)
        if found is None:
            return None
        begun, char = found
        if char is not None:
            text.append(char)
    return _Odd("".join(text), ends=False, begun=begun)


def _code_points(texts: Iterable[str]) -> npt.NDArray[np.int32]:
    return np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)


def members(row: Row) -> Ids:
    """List the ids of a mask row."""
    words = np.flatnonzero(row)
    bits = np.unpackbits(row[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    at, bit = np.nonzero(bits)
    found: Ids = words[at] * 32 + bit
    return found


def clear(row: Row, ids: Ids) -> None:
    """Leave ids out of a mask row."""
    if len(ids):
        bits = np.left_shift(np.uint32(1), (ids & 31).astype(np.uint32), dtype=np.uint32)
        np.bitwise_and.at(row.view(np.uint32), ids >> 5, ~bits)
