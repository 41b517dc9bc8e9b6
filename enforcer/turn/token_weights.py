"""Token ids of texts by what they may begin or end, for turns that end within a budget.

Owns: a weight of each token id, and which ids are tried one by one where little room is left. Must
not know: grammars, turns.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from enforcer.layouts import ID, LayoutKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.layouts import BoundLayout
    from enforcer.turn.pattern import Language
    from enforcer.vocabulary import Vocabulary

# The greatest cost of an end at which ids of up to three, two, or one byte are tried one by one.
_TRIED = (8, 3), (24, 2), (inf, 1)
MOST_SURE = 15  # the weight up to which ids are in rows
_KEPT = 20_000  # pieces whose number of ids is kept
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # of UTF-8
_SCALAR = b"0123456789.eE+-tfnTFN"
# What may begin or end something in a text of each layout; a delimiter between pairs ends in `>`,
# unless it is a special token.
_STRUCTURE = {
    LayoutKind.JSON: b'{}[],:"\\',
    LayoutKind.PAIRS: b'{}[],:"\\>',
    LayoutKind.PYTHON: b"{}[],:\"\\'()=",
}


class TokenWeights:
    """The weights of a vocabulary's token ids in the texts of a layout.

    Attributes:
        weights: int16, by token id: how many bytes may begin or end something. 0 for characters
            that do neither, of which a token may not even begin another one.
        heaviest: the greatest weight.
        long_blanks: mask row of white space of more bytes than the ids have that are tried.

    """

    def __init__(self, vocabulary: Vocabulary, layout: BoundLayout) -> None:
        self._vocabulary = vocabulary
        structure = _STRUCTURE[layout.layout.kind]
        around = frozenset(structure + b" \n")
        keys, ids = vocabulary.sorted_text
        self.weights = np.zeros(vocabulary.size, dtype=np.int16)
        tried: dict[int, list[int]] = {1: [*layout.ids], 2: [], 3: []}
        for key, token_id in zip(keys, ids, strict=True):
            self.weights[token_id] = _weight(key, structure)
            is_scalar = len(key) == 1 and key in _SCALAR
            if len(key) in tried and (is_scalar or around.issuperset(key)):
                tried[len(key)].append(token_id)
        every: list[int] = []
        self._tried = [vocabulary.row(every := every + tried[size]) for size in tried]
        self.heaviest = int(self.weights.max(initial=0))
        # Here and not with the first mask, which a server's step would wait for: 40 ms.
        self._rows = [
            vocabulary.row(np.flatnonzero(self.weights <= weight).tolist()) & vocabulary.text_row
            for weight in range(MOST_SURE + 1)
        ]
        long = (i for i in vocabulary.blank_ids if len(vocabulary.token_bytes(i)) > len(tried))
        self.long_blanks = vocabulary.row(long)
        self.count = lru_cache(_KEPT)(self._count)
        self.count_rest = lru_cache(_KEPT)(self._count_rest)

    def tried(self, cost: float) -> npt.NDArray[np.int32]:
        """Return the shared mask row (int32) of the ids that are tried one by one.

        They begin or end something in few bytes, in the fewer the longer the end takes; or numbers
        and words begin with them.
        """
        return self._tried[next(size for most, size in _TRIED if cost <= most) - 1]

    def up_to(self, weight: int) -> npt.NDArray[np.int32]:
        """Return the shared mask row (int32) of the ids of at most a weight, `MOST_SURE` at most.

        Special tokens, which have no bytes, are in none.
        """
        return self._rows[weight]

    def _count(self, data: bytes) -> int:
        """Count the ids of a text, the longest first."""
        return len(self._vocabulary.pieces(data))

    def _count_rest(self, rest: Language) -> int:
        """Count the ids of the shortest text of a language over symbols."""
        found, data = 0, bytearray()
        for symbol in (*rest.shortest(), ID):
            if symbol < ID:
                data.append(symbol)
                continue
            found += 1 + (self.count(bytes(data)) if data else 0)
            data.clear()
        return found - 1


def _weight(data: bytes, structure: bytes) -> int:
    found = len(data) - len(data.translate(None, structure))
    if found:
        return found
    try:
        data.lstrip(_CONTINUATIONS).decode()
    except UnicodeDecodeError:
        return 1
    return 0
