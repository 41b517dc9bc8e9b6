"""The tokens of a vocabulary in which keys of a layout of pairs begin or end.

A token that begins before a key and holds all of it is illegal once the key has been written, so
rows of such texts are not kept. A token that ends a key and its value is looked at by itself, since
the walk of a row does not note the keys that end in it. Owns: these tokens. Must not know: tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OF_MARKER = -1  # in place of a byte


class KeyTokens:
    """Finds these tokens for one layout; 0.1 s for the vocabulary of Kimi.

    Args:
        pieces: the tokens, each with its id.
        around: the last byte before a key, the first one behind it, and those of the delimiter of
            values; `OF_MARKER` for a marker, which no token of text holds.

    Attributes:
        spanning: the token ids in which a key and its value end.

    """

    def __init__(self, pieces: Iterable[tuple[bytes, int]], around: Sequence[int]) -> None:
        first, last, *delimiter = around
        opening, end, stop = _text([first]), _text([last]), _text(delimiter)
        self._begun = {""}
        self._cut: set[str] = set()  # the texts behind which a character is broken off
        self.spanning: list[int] = []
        for piece, token_id in pieces:
            if opening and opening in piece:
                for at, byte in enumerate(piece, 1):
                    if byte == first:
                        self._add(piece[at:], end)
            if end and stop and stop in piece and stop in piece.partition(end)[2]:
                self.spanning.append(token_id)

    def _add(self, behind: bytes, end: bytes) -> None:
        body = behind[: behind.index(end) + 1] if end and end in behind else behind
        text = body.decode(errors="ignore")
        self._begun.update(text[:n] for n in range(1, len(text) + 1))
        if text.encode() != body:
            self._cut.add(text)

    def affects_earlier(self, text: str, exhausted: int) -> bool:
        """Return whether a token that begins before a key depends on its being written.

        Args:
            text: the key, and the character that ends it.
            exhausted: how many of its first characters begin no other one; -1 if all do.

        """
        start = text if exhausted < 0 else text[:exhausted]
        return start in self._begun or start[:-1] in self._cut


def _text(symbols: Sequence[int]) -> bytes:
    """Return bytes; none if there is a marker among them."""
    return b"" if OF_MARKER in symbols else bytes(symbols)
