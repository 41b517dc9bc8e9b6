"""A text that grows by a character at a time, while all its earlier versions are kept.

Owns: sharing what the versions have in common. Must not know: what the text is.
"""

from __future__ import annotations


class PersistentText:
    """The characters so far; immutable.

    In pieces that get shorter towards the end, as in a binary counter: a character more costs as
    much as the logarithm of the length, and a thousand places hold little more than one.
    """

    __slots__ = ("_pieces", "length")

    def __init__(self, pieces: tuple[str, ...] = (), length: int = 0) -> None:
        self._pieces = pieces
        self.length = length

    def add(self, text: str) -> PersistentText:
        """Return the text with one character more, or a few."""
        pieces = [*self._pieces, text]
        while len(pieces) > 1 and len(pieces[-2]) <= len(pieces[-1]):
            last = pieces.pop()
            pieces[-1] += last
        return PersistentText(tuple(pieces), self.length + len(text))

    def whole(self) -> str:
        """Return the text; takes as long as it is."""
        return "".join(self._pieces)


EMPTY = PersistentText()
