"""The ids of a vocabulary that make a string too long.

Owns: finding them, wherever in a string a text is, and keeping what is found. Must not know:
grammars, how a text is followed beyond one id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.lengths.escapes import Escapes
from enforcer.engines.lengths.written import Characters, Written, read
from enforcer.engines.mask_rows import among, clear, members, put

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from enforcer.engines.lengths.counted import Counted
    from enforcer.engines.lengths.written import Ids
    from enforcer.vocabulary import Vocabulary

    Row = npt.NDArray[np.int32]

_FEW = 500  # ids that take less than a mask
_NONE = np.zeros(0, np.int64)
_LONG_OPENING = 40  # characters behind a quote: more than most ids have, fewer than any bound


class StringIds:
    """The ids of a vocabulary; half a second to build for 160,000, one for all texts.

    Args:
        vocabulary: the ids.
        quoted: whether strings are JSON's; else they stand as they are.

    """

    def __init__(self, vocabulary: Vocabulary, *, quoted: bool = True) -> None:
        self._words = vocabulary.words
        self._bytes = vocabulary.token_bytes
        self._lengths = np.zeros(vocabulary.size, np.int32)
        found: dict[int, str | Written] = {}
        opening: list[int] = []
        for data, token_id in zip(*vocabulary.sorted_text, strict=True):
            self._lengths[token_id] = len(data)
            written = read(data, quoted=quoted)
            if written is not None:
                found[token_id] = written
            if quoted and not isinstance(written, str):
                at = data.rfind(b'"') + 1
                if at and len(data) - at >= _LONG_OPENING:
                    opening.append(token_id)
        self._opening = vocabulary.row(opening) if opening else None
        self._characters = Characters(found)
        self._escapes = Escapes(vocabulary, self._characters) if quoted else None
        # A character that has been begun counts as one.
        self.longest = max(self._characters.alike, default=0) + 1
        self._no_longer: dict[int, Row] = {}

    def forbid(self, place: Counted, row: Row, fits: Callable[[bytes], bool]) -> None:
        """Leave out of a mask row the ids after which a string is, or can only become, too long.

        Args:
            place: within a string that is counted.
            row: mask row of the ids that the engine allows.
            fits: tells it of the bytes of one id, for the few that are not looked up.

        """
        left, furthest = place.left, place.automaton.furthest[place.state]
        if left >= self.longest + furthest:
            return
        if not place.partial.pending:
            row &= self._no_longer_than(left)
            if furthest:
                self._forbid_without_end(place, row)
            return
        behind = None if self._escapes is None else self._escapes.behind(place)
        if behind is None:
            ids = members(row)
            # No id writes more characters than it has bytes.
            self._try(row, ids[self._lengths[ids] + furthest > left], fits)
            return
        doubtful = among(row, behind.doubtful)
        row &= self._no_longer_than(left + behind.more)
        clear(row, behind.wrong)
        wrong = [i for i in doubtful.tolist() if not fits(self._bytes(i))]
        put(row, doubtful)
        clear(row, np.array(wrong, np.int64))

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
                for length, alike in self._characters.alike.items()
                if length >= count
            ]
            found = self._no_longer[count] = self._all_but(wrong)
        return found

    def _forbid_without_end(self, place: Counted, row: Row) -> None:
        """Leave out the ids that are short enough, but after which the end is too far away."""
        automaton, left, state, _ = place
        found = automaton.kept.get((state, left))
        if found is None:
            alike = self._characters.alike
            asked = [alike[length] for length in place.close if length in alike]
            wrong = [self._characters.too_long(each, automaton, state, left) for each in asked]
            count = sum(map(len, wrong))
            # A few by themselves, many as a mask of all others.
            ids = np.concatenate([_NONE, *wrong] if count < _FEW else [_NONE])
            found = automaton.keep(state, left, ids, None if count < _FEW else self._all_but(wrong))
        ids, others = found
        clear(row, ids)
        if others is not None:
            row &= others

    def _try(self, row: Row, ids: Ids, fits: Callable[[bytes], bool]) -> None:
        clear(row, np.array([i for i in ids.tolist() if not fits(self._bytes(i))], np.int64))

    def _all_but(self, ids: list[Ids]) -> Row:
        bits = np.ones(32 * self._words, np.uint8)
        for some in ids:
            bits[some] = 0
        return np.packbits(bits, bitorder="little").view(np.int32)
