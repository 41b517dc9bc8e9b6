"""Shortest strings, numbers and words of a compiled grammar, in token ids.

Owns: the shortest one of each value of a node, and bounds on the completions of partial ones. Must
not know: objects and arrays, texts that are being written.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.budget.pieces import ones
from enforcer.budget.tails import whole
from enforcer.budget.words import TRIES, Words, records
from enforcer.regex.charset import CharSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.budget.pieces import Pieces, Way

_NONE = -1
_MOST_ENDS = 500  # of a language, that are looked at one by one
_UNEVEN = 4  # ids that fewer of the same characters may take more
_WIDEST = 6  # bytes of a character: `\\u0000`


class Values:
    """The values of a grammar's nodes.

    Args:
        arrays: of `kernel.Tables`, by name.
        pieces: of the vocabulary.

    Attributes:
        words: of its automata and tries.
        scalars: of each node's values the shortest strings, numbers and words.
        best: of each node's values the shortest instance, as far as it is known.
        unescaped: the characters that no escape stands for in names and listed strings.
        is_final: whether `best` is; until then it only gets shorter.

    """

    def __init__(self, arrays: Mapping[str, Any], pieces: Pieces) -> None:
        self.pieces = pieces
        self.words = Words(arrays)
        self.table = cache(lambda name: records(arrays, name))
        self.nodes = self.table("nodes")
        self._bits = np.asarray(arrays["bits"])
        plain = np.flatnonzero(np.asarray(arrays["unescaped"])).tolist()
        self.unescaped = CharSet.of([(code, code) for code in plain])
        self.far = cache(self._far)
        self.scalars = [self._scalars(node) for node in self.nodes]
        self.best = [[min(ways, default=(inf, b"")) for ways in each] for each in self.scalars]
        self.is_final = False

    def mask(self, at: int, words: int = 1) -> int:
        """Return a set of bits."""
        return int.from_bytes(self._bits[at : at + words].tobytes(), "little")

    def most(self, node: int, values: int) -> float:
        """Count the ids of the longest of the shortest instances of a node's values."""
        return max((cost for cost, _ in self.best[node][:values] if cost < inf), default=0)

    def texts(self, node: Any) -> Iterator[tuple[int, int, list[tuple[int, int]], bool]]:
        """Yield how the numbers and words of a node are written, and its strings.

        Yields:
            Where the values of each language begin, how many languages there are, the automata of
            these with the first state of each, and whether the texts have quotes.

        """
        yield node.bare_of, node.bare_languages, _present((node.bare_automaton, 0)), False
        starts = _present((node.string_automaton, 0), (TRIES, node.string_trie))
        yield node.strings_of, node.string_languages, starts, True

    def _scalars(self, node: Any) -> list[list[Way]]:
        """Return for each value of a node its shortest strings, numbers and words."""
        found: list[list[Way]] = [[] for _ in range(node.values)]
        for of, languages, starts, quoted in self.texts(node):
            for language in range(languages):
                for start in starts:
                    text = self.words.word(*start, language)
                    if text is not None:
                        piece = (b'"' if quoted else b"") + whole(text, quoted=quoted)
                        for value in ones(self.mask(of + language)):
                            found[value].append((self.pieces.count(piece), piece))
        return found

    def _far(self, number: int, root: int, language: int, *, quoted: bool = True) -> float:
        """Bound the ids that end a text, from whatever state of its language.

        If it has a least length, they are what an end takes beyond that of any text before it.
        """
        least, _ = self.words.lengths(number, language)
        more = _UNEVEN if least else 0
        states = self.words.states(number, root, language)
        if len(states) > _MOST_ENDS:
            width = _WIDEST * self.pieces.widening
            return width * self.words.farthest(number, root, language) + 1 + more
        words = (next(self.words.words(number, at, language, least), None) for at in states)
        pieces = (whole(each, quoted=quoted) for each in words if each is not None)
        return more + max(map(self.pieces.count, pieces), default=0)

    def whole(self, number: int, root: int, language: int, *, quoted: bool = True) -> float:
        """Bound the ids that a text takes that begins in a language."""
        far = self.far(number, root, language, quoted=quoted)
        if not self.words.lengths(number, language)[0]:
            return far
        return far + self.pieces.count(
            whole(self.words.word(number, root, language) or "", quoted=quoted)
        )


def _present(*starts: tuple[int, int]) -> list[tuple[int, int]]:
    return [(number, root) for number, root in starts if _NONE not in {number, root}]
