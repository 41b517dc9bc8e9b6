"""What no raw string may hold: how far one has been written, and the ids that complete it.

Owns: that, for what ends a value and what else stock parsers take for a marker in it. Must not
know: engines, masks.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.engines.mask_rows import Ids
    from enforcer.vocabulary import Vocabulary

_BLANK = b"\t\n\v\f\r "
_SPACE = "{_}"
_MANY = 8  # ids that begin alike are asked for together

Begun = frozenset[tuple[int, int]]
NOTHING: Begun = frozenset()


class Completing(NamedTuple):
    """The ids that begin with what is missing of stops that have begun.

    Attributes:
        ids: all of them.
        alone: those that have to be looked at one by one.
        by: an id with which many others begin, that is one of them; None if there is none.
        others: these.
        rests: what each of them goes on with, as an id.

    """

    ids: Ids
    alone: list[int]
    by: int | None
    others: Ids
    rests: Ids


class Stops:
    """Finds beginnings of stops in a text, by the positions of a nondeterministic automaton.

    A position is a stop's number and how many of its pieces have been written; a piece is a byte,
    or white space of any length.

    Args:
        texts: as `BoundLayout.avoided` has them; the first ends a value, and all begin with one
            character.
        vocabulary: all ids.

    Attributes:
        beginning: the ids behind which a stop may have begun.
        telling: these, and those that are no text.

    """

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary) -> None:
        self._pieces = [_pieces(text) for text in texts]
        self._first, self._end = texts[0][:1].encode(), texts[0].encode()
        self._start: Begun = frozenset((number, 0) for number in range(len(texts)))
        self._steps: dict[tuple[Begun, int], Begun] = {}
        self._completing: dict[Begun, Completing] = {}
        self._find = vocabulary.find
        self._controls = vocabulary.control_ids
        self.bytes_of = vocabulary.token_bytes
        self._keys, self._ids = vocabulary.sorted_text
        every = list(zip(self._keys, self._ids, strict=True))
        # What begins with white space, of which there may be any number of ids, by what is behind.
        is_spaced = any(None in pieces for pieces in self._pieces)
        stripped = ((data.lstrip(_BLANK), data, i) for data, i in every if is_spaced)
        spaced = sorted((rest, i) for rest, data, i in stripped if rest != data)
        self._spaced_keys = tuple(rest for rest, _ in spaced)
        self._spaced_ids = tuple(i for _, i in spaced)
        self.beginning = frozenset(i for data, i in every if self._first in data)
        self.telling = self.beginning | self._controls

    def after(self, begun: Begun, data: bytes) -> Begun:
        """Give the positions in stops that have begun once more bytes are written."""
        at = 0
        while at < len(data):
            if not begun:
                at = data.find(self._first, at)
                if at < 0:
                    break
            key = (begun, data[at])
            found = self._steps.get(key)
            if found is None:
                found = self._steps[key] = self._step(begun | self._start, data[at])
            begun = found
            at += 1
        return begun

    def may_end(self, ids: Sequence[int]) -> bool:
        """Tell whether a value may end within ids, and another one begin."""
        is_text = self._controls.isdisjoint(ids)
        return not is_text or self._end in b"".join(map(self.bytes_of, ids))

    def completing(self, begun: Begun) -> Completing:
        """Find the ids that begin with what is missing of stops."""
        found = self._completing.get(begun)
        if found is None:
            found = self._completing[begun] = self._found(begun)
        return found

    def _step(self, positions: Begun, byte: int) -> Begun:
        """Go on by a byte; a stop that is complete is left out."""
        return frozenset(each for each in self._moved(positions, byte) if not self._is_whole(each))

    def _moved(self, positions: Begun, byte: int) -> Iterator[tuple[int, int]]:
        for number, at in positions:
            pieces = self._pieces[number]
            if pieces[at] is None and byte in _BLANK:
                yield number, at
            solid = at + (pieces[at] is None)
            if pieces[solid] == byte:
                yield number, solid + 1

    def _is_whole(self, position: tuple[int, int]) -> bool:
        return position[1] == len(self._pieces[position[0]])

    def _found(self, begun: Begun) -> Completing:
        groups = [
            (at, list(self._ids[first:end])) for at, first, end in self._search(begun, self._keys)
        ]
        behind = frozenset((n, at + 1) for n, at in begun if self._pieces[n][at] is None)
        alone = [
            i
            for _, first, end in self._search(behind, self._spaced_keys)
            for i in self._spaced_ids[first:end]
        ]
        by, others = None, np.empty((2, 0), np.int64)
        for begins, ids in groups:
            opening = self._find(begins)
            if by is not None or opening is None or len(ids) < _MANY:
                alone += ids
                continue
            by = opening
            rests = [(i, self._find(self.bytes_of(i)[len(begins) :])) for i in ids if i != by]
            known = [(i, rest) for i, rest in rests if rest is not None]
            others = np.array(known, np.int64).reshape(-1, 2).T
            alone += [i for i, rest in rests if rest is None]
        ids = [*alone, *others[0].tolist(), *([] if by is None else [by])]
        return Completing(np.array(ids, np.int64), alone, by, others[0], others[1])

    def _search(
        self, positions: Begun, keys: Sequence[bytes], begins: bytes = b""
    ) -> Iterator[tuple[bytes, int, int]]:
        """Find what completes a stop in sorted texts: what they begin with, and their places.

        But for texts of white space that go on behind it.
        """
        for byte in sorted(self._next_bytes(positions, inside=bool(begins))):
            longer = begins + bytes([byte])
            first, end = bisect_left(keys, longer), bisect_left(keys, begins + bytes([byte + 1]))
            if first == end:
                continue
            moved = frozenset(self._moved(positions, byte))
            if any(map(self._is_whole, moved)):
                yield longer, first, end
            else:
                yield from self._search(moved, keys, longer)

    def _next_bytes(self, positions: Begun, *, inside: bool) -> set[int]:
        found: set[int] = set()
        for number, at in positions:
            piece = self._pieces[number][at]
            if piece is None:
                found.update(_BLANK if inside else b"")
                piece = self._pieces[number][at + 1]
            found.add(piece or 0)
        return found


def _pieces(text: str) -> list[int | None]:
    first, *others = text.split(_SPACE)
    found: list[int | None] = [*first.encode()]
    for each in others:
        found += [None, *each.encode()]
    return found
