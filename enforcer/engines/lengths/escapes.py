r"""The ids of a vocabulary behind an escape that has been begun.

Behind a backslash, or some digits of `\uXXXX`, thousands of ids go on with words that only happen
to begin with a letter or a digit: `\` and `name` is a line's end and `ame`. They are followed from
behind the character that they complete.

Owns: what the first characters of an id mean there. Must not know: masks, where a text is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer.engines.lengths.written import Characters, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from enforcer.engines.lengths.counted import Counted
    from enforcer.engines.lengths.written import Alike, Ids, Integers
    from enforcer.vocabulary import Vocabulary

_ASCII = 0x80
_DIGITS, _UNIT = 4, 6  # of a unit, and its bytes
_HIGH, _LOW, _BEHIND = 0xD800, 0xDC00, 0xE000
_ASTRAL, _HALF_BITS = 0x10000, 10
_NONE = np.zeros(0, np.int64)


def _table(meant: Mapping[str, int]) -> Integers:
    found = np.full(_ASCII + 1, -1, np.int32)  # the last for all others
    for char, value in meant.items():
        found[ord(char)] = value
    return found


_LETTERS = _table(dict(zip("/bfnrt", map(ord, "/\b\f\n\r\t"), strict=True)))
_HEX = _table({char: int(char, 16) for char in "0123456789abcdefABCDEF"})


class Behind(NamedTuple):
    """What is known of the ids behind an escape.

    Attributes:
        more: characters that ids may look longer there than they are.
        wrong: those after which a string is, or can only become, too long.
        doubtful: those of which it is not known; few are legal.

    """

    more: int
    wrong: Ids
    doubtful: Ids


class Escapes:
    """The ids behind a backslash and behind digits.

    Args:
        vocabulary: the ids.
        characters: what they write from the beginning of a character.

    """

    def __init__(self, vocabulary: Vocabulary, characters: Characters) -> None:
        self._characters = characters
        ascii_ = np.minimum(characters.codes, _ASCII)
        self._letters, self._hex = _LETTERS[ascii_], _HEX[ascii_]
        # A quote and another backslash mean themselves, and no id is read so otherwise.
        escaped = {}
        units, unread = [], []
        for data, token_id in zip(*vocabulary.sorted_text, strict=True):
            behind = read(data[1:]) if data[0] in b'"\\' else None
            if behind is not None:
                escaped[token_id] = behind
            if data[0] == ord("u"):
                units.append(token_id)
            if read(data) is None:
                unread.append(token_id)
        self._escaped = Characters(escaped)
        self._firsts = np.zeros(vocabulary.size, np.int32)
        self._firsts[[*escaped]] = [vocabulary.token_bytes(token_id)[0] for token_id in escaped]
        self._units, self._unread = np.array(units, np.int64), np.array(unread, np.int64)

    def behind(self, string: Counted) -> Behind | None:
        """Look at the ids that may follow an escape; None if all that are legal are few.

        Args:
            string: in which the escape, or another character, has been begun.

        """
        begun = string.partial.pending
        if begun == b"\\":
            # Those that begin with a unit may look longer than they are.
            return Behind(0, _all(self._behind_backslash(string)), self._units)
        if begun[:1] != b"\\" or len(begun) % _UNIT < len(b"\\u"):
            return None
        known = begun[len(begun) // _UNIT * _UNIT + len(b"\\u") :]
        missing = _DIGITS - len(known)
        high = int(begun[2:_UNIT], 16) if len(begun) > _UNIT else None
        wrong = _all(self._behind_digits(known, high, string))
        doubtful = _all(self._parts_of_pairs(known, high, string))
        return Behind(missing - 1, wrong, np.concatenate([self._unread, doubtful]))

    def _behind_backslash(self, string: Counted) -> Iterator[Ids]:
        for written in string.close:
            alike = self._characters.alike.get(written)
            if alike is not None:
                yield self._too_long(alike, self._letters[alike.codes[0]], 1, string)
        for alike in self._escaped.alike.values():
            states = string.automaton.after(string.state, self._firsts[alike.ids])
            yield self._escaped.too_long(alike, string.automaton, states, string.left - 1)

    def _behind_digits(self, known: bytes, high: int | None, string: Counted) -> Iterator[Ids]:
        missing = _DIGITS - len(known)
        for written in string.close:
            alike = self._characters.alike.get(written + missing - 1)
            if alike is not None:
                codes = _code_points(self._values(alike, known, missing), high)
                yield self._too_long(alike, codes, missing, string)
        if high is not None or string.automaton.furthest[string.state] < string.left:
            return
        for length in range(1, missing):
            alike = self._characters.alike.get(length)
            if alike is not None:
                low, over = self._ranges(alike, known)
                whole = (low >= 0) & ~_meets_surrogates(low, over)
                least = string.automaton.least_within(string.state, low[whole], over[whole] - 1)
                yield alike.ids[whole][least >= string.left]

    def _parts_of_pairs(self, known: bytes, high: int | None, string: Counted) -> Iterator[Ids]:
        """List the ids that write one half of a pair, or a part of that."""
        if high is not None and string.automaton.furthest[string.state] < string.left:
            return
        for length in range(1, _DIGITS - len(known) + 1):
            alike = self._characters.alike.get(length)
            if alike is not None:
                low, over = self._ranges(alike, known)
                yield alike.ids[(low >= 0) & _meets_surrogates(low, over)]

    def _values(self, alike: Alike, known: bytes, count: int) -> Integers:
        """Give the number that some digits and the first characters of ids make; -1 if none."""
        found = np.full(len(alike.ids), int(known or b"0", 16), np.int32)
        fine = np.ones(len(alike.ids), np.bool_)
        for row in alike.codes[:count]:
            digits = self._hex[row]
            found = found * 16 + digits
            fine &= digits >= 0
        return np.where(fine, found, -1)

    def _ranges(self, alike: Alike, known: bytes) -> tuple[Integers, Integers]:
        """Give which units ids of digits alone may become: the first, and what is behind the last.

        Others have -1.
        """
        shift = 4 * (_DIGITS - len(known) - len(alike.codes))
        found = self._values(alike, known, len(alike.codes))
        return np.where(found < 0, -1, found << shift), (found + 1) << shift

    def _too_long(self, alike: Alike, codes: Integers, count: int, string: Counted) -> Ids:
        """List those that are, of ids whose first characters mean one; -1 where they do not."""
        fine = codes >= 0
        states = string.automaton.after(string.state, codes[fine])
        rest = alike.some(fine).behind(count)
        return self._characters.too_long(rest, string.automaton, states, string.left - 1)


def _all(found: Iterator[Ids]) -> Ids:
    return np.concatenate([_NONE, *found])


def _meets_surrogates(low: Integers, behind: Integers) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (behind > _HIGH) & (low < _BEHIND)
    return found


def _code_points(units: Integers, high: int | None) -> Integers:
    """Give what units mean; -1 for half of a pair without its other half."""
    if high is None:
        return np.where((units >= _HIGH) & (units < _BEHIND), -1, units)
    low = units - _LOW
    code = _ASTRAL + ((high - _HIGH) << _HALF_BITS) + low
    found: npt.NDArray[np.int32] = np.where((low >= 0) & (units < _BEHIND), code, -1)
    return found
