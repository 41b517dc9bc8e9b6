"""Token ids of texts by what they may begin or end, for turns that end within a budget.

Owns: a weight of each token id, and which ids are tried one by one where little room is left. Must
not know: grammars, turns.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import members
from enforcer.layouts import ID, LayoutKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.layouts import BoundLayout
    from enforcer.turn.pattern import Language
    from enforcer.vocabulary import Vocabulary

_SHORT = 2  # bytes
_FEW = 3_000  # ids, so many of which are tried for a row
_USUAL = 2  # a weight that models write: a comma and a quote, a brace and a quote
MOST_SURE = 15  # the weight up to which ids are in rows
_KEPT = 20_000  # pieces whose number of ids is kept
# What may end a header, and what arguments may begin with.
_LEADING = re.compile(rb"[:>(\]]\s*([{<a-z)].*)", re.DOTALL)
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # of UTF-8
_SCALAR = b"0123456789.eE+-tfnTFN"
# What may begin or end something in a text of each layout. A delimiter of raw text begins with one
# of these, unless it is a special token.
_STRUCTURE = {
    LayoutKind.JSON: b'{}[],:"\\',
    LayoutKind.PAIRS: b'{}[],:"\\<>\n',
    LayoutKind.PYTHON: b"{}[],:\"\\'()=",
}
# What may begin or end something within a string, and within raw text.
_ENDS = {
    LayoutKind.JSON: (b'"\\', b""),
    LayoutKind.PAIRS: (b'"\\<', b'{["\\<\n'),
    LayoutKind.PYTHON: (b"\"'\\", b""),
}


class TokenWeights:
    """The weights of a vocabulary's token ids in the texts of a layout.

    Attributes:
        weights: int16, by token id: how many bytes may begin or end something.
        partial: mask row of the ids of weight 0 that begin a character and do not end it.
        heaviest: the greatest weight.
        leading: the greatest weight of what stands, in a token, behind what may end a header.
        short: mask row of special tokens and the ids of few bytes, which are tried outside of
            texts.
        inside: by the kind of text, see `TextMatcher.end_growth`, mask rows of the ids that neither
            begin nor end anything in it.
        usual: mask row of the ids that models write often, those of small weights.

    """

    def __init__(self, vocabulary: Vocabulary, layout: BoundLayout) -> None:
        self._vocabulary = vocabulary
        structure = _STRUCTURE[layout.layout.kind]
        around = frozenset(structure + b" \n")
        keys, ids = vocabulary.sorted_text
        self.weights = np.zeros(vocabulary.size, dtype=np.int16)
        first = [*layout.ids]
        partial = []
        inside: tuple[list[int], list[int]] = [], []
        for key, token_id in zip(keys, ids, strict=True):
            for some, ends in zip(inside, _ENDS[layout.layout.kind], strict=True):
                if len(key.translate(None, ends)) == len(key):
                    some.append(token_id)
            self.weights[token_id] = len(key) - len(key.translate(None, structure))
            if not self.weights[token_id] and _is_partial(key):
                partial.append(token_id)
            is_scalar = len(key) == 1 and key in _SCALAR
            if len(key) <= _SHORT and (is_scalar or around.issuperset(key)):
                first.append(token_id)
        led = (each[1] for each in map(_LEADING.search, keys) if each)
        self.leading = max((len(it) - len(it.translate(None, structure)) for it in led), default=0)
        self._first = vocabulary.row(first)
        self.heaviest = int(self.weights.max(initial=0))
        # Here and not with the first mask, which a server's step would wait for: 40 ms.
        self.partial = vocabulary.row(partial)
        self.inside = [
            vocabulary.row(()),
            *(vocabulary.row(some) & ~self.partial for some in inside),
        ]
        whole = vocabulary.text_row & ~self.partial
        self._rows = [
            vocabulary.row(np.flatnonzero(self.weights <= weight).tolist()) & whole
            for weight in range(MOST_SURE + 1)
        ]
        self.usual = self._rows[_USUAL]
        self._heavy = vocabulary.text_row & ~self._rows[0]
        self.short = vocabulary.row(i for k, i in zip(keys, ids, strict=True) if len(k) <= _SHORT)
        self.short |= vocabulary.row(vocabulary.control_ids)
        self.pieces = lru_cache(_KEPT)(self._pieces)
        self.ids_of = lru_cache(_KEPT)(self._ids_of)

    def to_try(self, row: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return the ids of a mask row (int32) that are worth a search of an end behind them.

        At most 3,000; of more, those that begin or end something, or are characters with which
        numbers and words begin. The short ones come first, those in `partial` last: searches
        behind them take longest.
        """
        first = row & self._first
        rest = row & ~first
        if np.bitwise_count(rest.view(np.uint32)).sum() > _FEW:
            rest &= self._heavy
        last = rest & self.partial
        found: npt.NDArray[np.int64] = np.concatenate(
            [members(first), members(rest & ~last), members(last)]
        )
        return found[:_FEW]

    def up_to(self, weight: int) -> npt.NDArray[np.int32]:
        """Return the shared mask row (int32) of the ids of at most a weight, `MOST_SURE` at most.

        Special tokens, which have no bytes, are in none, nor are those in `partial`.
        """
        return self._rows[weight]

    def _pieces(self, data: bytes) -> tuple[int, ...]:
        """Return the ids of a text, the longest first."""
        return tuple(self._vocabulary.pieces(data))

    def count(self, text: tuple[int, ...]) -> int:
        """Count the ids of symbols."""
        return len(self._ids_of_symbols(text))

    def _ids_of(self, rest: Language) -> tuple[int, ...]:
        """Return the ids of the shortest text of a language over symbols."""
        return self._ids_of_symbols(rest.shortest)

    def _ids_of_symbols(self, text: tuple[int, ...]) -> tuple[int, ...]:
        found: list[int] = []
        for is_text, symbols in groupby(text, lambda symbol: symbol < ID):
            some = [*symbols]
            found += self._vocabulary.pieces(bytes(some)) if is_text else (i - ID for i in some)
        return tuple(found)


def _is_partial(data: bytes) -> bool:
    """Return whether a token begins a character that it does not end."""
    try:
        data.lstrip(_CONTINUATIONS).decode()
    except UnicodeDecodeError:
        return True
    return False
