"""Token ids of texts by what they may begin or end, for turns that end within a budget.

Owns: a weight of each token id, and which ids are tried one by one where little room is left. Must
not know: grammars, turns.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from enforcer.layouts import ID, LayoutKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.layouts import BoundLayout
    from enforcer.turn.pattern import Language
    from enforcer.vocabulary import Vocabulary

# The greatest cost of an end at which ids of two bytes, one, or none are tried one by one: behind
# each of them an end is searched for.
_TRIED = (16, 2), (100, 1), (inf, 0)
_SHORT = 2  # bytes
MOST_SURE = 15  # the weight up to which ids are in rows
_KEPT = 20_000  # pieces whose number of ids is kept
# What may end a header, and what arguments may begin with.
_LEADING = re.compile(rb"[:>(\]]\s*([{<a-z)].*)", re.DOTALL)
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
        leading: the greatest weight of what stands, in a token, behind what may end a header.
        short: mask row of special tokens and the ids of few bytes, which are tried outside of
            texts.

    """

    def __init__(self, vocabulary: Vocabulary, layout: BoundLayout) -> None:
        self._vocabulary = vocabulary
        structure = _STRUCTURE[layout.layout.kind]
        around = frozenset(structure + b" \n")
        keys, ids = vocabulary.sorted_text
        self.weights = np.zeros(vocabulary.size, dtype=np.int16)
        tried: dict[int, list[int]] = {1: [*layout.ids], 2: []}
        for key, token_id in zip(keys, ids, strict=True):
            self.weights[token_id] = _weight(key, structure)
            is_scalar = len(key) == 1 and key in _SCALAR
            if len(key) in tried and (is_scalar or around.issuperset(key)):
                tried[len(key)].append(token_id)
        led = (_LEADING.search(key) for key in keys)
        self.leading = max((_weight(each[1], structure) for each in led if each), default=0)
        every: list[int] = []
        self._tried = [vocabulary.row(every)]
        self._tried += [vocabulary.row(every := every + tried[size]) for size in tried]
        self.heaviest = int(self.weights.max(initial=0))
        # Here and not with the first mask, which a server's step would wait for: 40 ms.
        self._rows = [
            vocabulary.row(np.flatnonzero(self.weights <= weight).tolist()) & vocabulary.text_row
            for weight in range(MOST_SURE + 1)
        ]
        self.short = vocabulary.row(i for k, i in zip(keys, ids, strict=True) if len(k) <= _SHORT)
        self.short |= vocabulary.row(vocabulary.control_ids)
        self.pieces = lru_cache(_KEPT)(self._pieces)
        self.ids_of = lru_cache(_KEPT)(self._ids_of)

    def tried(self, cost: float) -> npt.NDArray[np.int32]:
        """Return the shared mask row (int32) of the ids that are tried one by one.

        They begin or end something in few bytes, in the fewer the longer the end takes; or numbers
        and words begin with them.
        """
        return self._tried[next(size for most, size in _TRIED if cost <= most)]

    def up_to(self, weight: int) -> npt.NDArray[np.int32]:
        """Return the shared mask row (int32) of the ids of at most a weight, `MOST_SURE` at most.

        Special tokens, which have no bytes, are in none.
        """
        return self._rows[weight]

    def _pieces(self, data: bytes) -> tuple[int, ...]:
        """Return the ids of a text, the longest first."""
        return tuple(self._vocabulary.pieces(data))

    def _ids_of(self, rest: Language) -> tuple[int, ...]:
        """Return the ids of the shortest text of a language over symbols."""
        found: list[int] = []
        for is_text, symbols in groupby(rest.shortest(), lambda symbol: symbol < ID):
            some = [*symbols]
            found += self._vocabulary.pieces(bytes(some)) if is_text else (i - ID for i in some)
        return tuple(found)


def _weight(data: bytes, structure: bytes) -> int:
    found = len(data) - len(data.translate(None, structure))
    if found:
        return found
    try:
        data.lstrip(_CONTINUATIONS).decode()
    except UnicodeDecodeError:
        return 1
    return 0
