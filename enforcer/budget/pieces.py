"""Lengths of text pieces in token ids, and weights of token ids by the completions they need.

Owns: splitting bytes into ids, the longest first, and a weight for each id. A piece that
has been split so keeps its split when its first id is taken away, so that what remains to
be written is one id shorter after each. Must not know: grammars, turns.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from enforcer.vocabulary import Vocabulary

Way: TypeAlias = tuple[float, bytes]  # the ids that an end takes, and the piece that comes first

_KEY = 3  # bytes by which lengths are looked up
_COUNTED, _COUNT = 8 << 20, 150  # bytes of pieces whose number of ids is kept, and beside each
_TRIED = 3  # bytes of the ids that are tried one by one near the end
_HEAVIEST = 40
# Each of these may begin a value, a name, or promise one more.
_BEGINNING = frozenset(b'{[,":')
_STRUCTURE = frozenset(b'{}[],":')
_AROUND = _STRUCTURE | frozenset(b" \n")
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # of UTF-8
_SCALAR = frozenset(b"0123456789.eE+-tfn")


class Pieces:
    """Splits bytes into the tokens of a vocabulary.

    Attributes:
        widening: by how much a character may take more bytes than bounds have for one, since it
            is written as escapes: 12 where the widest otherwise has 6.
        heaviest: the greatest weight of an id.
        tried_row: mask row of the ids that are tried one by one where the end is near: those that
            begin or end something in few bytes.
        tried_outside_row: the same outside strings, where numbers and words begin.

    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._is_complete = vocabulary.is_complete
        self.widening = 1 if self._is_complete else 2
        keys, ids = vocabulary.sorted_text
        self._ids = dict(zip(reversed(keys), reversed(ids), strict=True))
        lengths: dict[bytes, set[int]] = {}
        for key in keys:
            lengths.setdefault(key[:_KEY], set()).add(len(key))
        self._lengths = {key: sorted(found, reverse=True) for key, found in lengths.items()}
        self._counts: dict[bytes, int] = {}
        self._counted = 0  # bytes of these
        weights = np.zeros(vocabulary.size, dtype=np.int16)
        tried: list[list[int]] = [[], []]
        for key, token_id in zip(keys, ids, strict=True):
            weights[token_id] = _weight(key)
            if len(key) <= _TRIED and set(key) <= _AROUND:
                tried[0].append(token_id)
            elif len(key) == 1 and key[0] in _SCALAR:
                tried[1].append(token_id)
        self.tried_row = vocabulary.row(tried[0])
        self.tried_outside_row = vocabulary.row(tried[0] + tried[1])
        self.heaviest = int(weights.max(initial=0))
        # Here and not with the first mask, which a server's step would wait for: 40 ms.
        self._rows = [
            vocabulary.row(np.flatnonzero(weights <= weight).tolist())
            for weight in range(self.heaviest + 1)
        ]

    def up_to(self, weight: int) -> npt.NDArray[np.int32]:
        """Return the shared mask row (int32) of the token ids of at most a weight; see `_weight`.

        A token id of weight 0 opens nothing that has to be closed.
        """
        return self._rows[min(weight, self.heaviest)]

    def first(self, data: bytes) -> int:
        """Return the id that a piece begins with."""
        data = self._written(data)
        return self._ids[data[: self._step(data, 0)]]

    def count(self, data: bytes) -> int:
        """Count the ids of a piece."""
        known = self._counts.get(data)
        if known is not None:
            return known
        at = found = 0
        written = self._written(data)
        while at < len(written):
            at += self._step(written, at)
            found += 1
        self._counted += len(data) + _COUNT
        if self._counted > _COUNTED:
            self._counts.clear()
            self._counted = len(data) + _COUNT
        self._counts[data] = found
        return found

    def _written(self, data: bytes) -> bytes:
        """Write characters that the vocabulary has no ids for as JSON's escapes.

        Only strings have such characters; the rest of one that has been begun stays as it is.
        """
        if self._is_complete or data.isascii():
            return data
        text = "".join(map(self._character, data.decode(errors="surrogateescape")))
        return text.encode(errors="surrogateescape")

    def _character(self, char: str) -> str:
        is_part = "\udc80" <= char <= "\udcff"
        if is_part or self.vocabulary.can_write(char):
            return char
        return json.dumps(char)[1:-1]

    def _step(self, data: bytes, at: int) -> int:
        for size in range(_KEY, 0, -1):
            for length in self._lengths.get(data[at : at + size], ()):
                if data[at : at + length] in self._ids and at + length <= len(data):
                    return length
        raise ValueError(f"no id stands for the byte {data[at]:#04x}")


def _weight(data: bytes) -> int:
    """Weigh an id: 0 for characters that neither begin nor end anything.

    The first may have been begun by another id, which what is left then makes room for.
    """
    beginning = sum(byte in _BEGINNING for byte in data)
    if beginning or b"\\" in data or _STRUCTURE & set(data):
        return 1 + min(beginning, _HEAVIEST)
    try:
        data.lstrip(_CONTINUATIONS).decode()
    except UnicodeDecodeError:
        return 1
    return 0


def ones(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
