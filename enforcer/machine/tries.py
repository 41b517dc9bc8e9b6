"""Tries of listed texts, as flat arrays: names of properties, and texts of an enumeration.

A trie node is a span of the sorted texts and a depth; nodes are numbered breadth first, so an edge
leads to a higher number. Owns: the arrays. Must not know: what the texts are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from enforcer.machine.tree import GROUP_NUMBERS, groups_beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

NO_NAME = -1
_ASCII = 128
_GROUPS = [1 << number for number in GROUP_NUMBERS[:_ASCII].tolist()]  # of each byte, as a bit


class Tries:
    """The tries of one grammar, one behind the other; equal ones are stored once."""

    def __init__(self) -> None:
        self._roots: dict[object, int] = {}
        self._edges: list[int] = []
        self._edge_character: list[int] = []
        self._edge_to: list[int] = []
        self._value: list[int] = []
        self._low: list[int] = []
        self._high: list[int] = []
        self._opens: list[int] = []

    def __len__(self) -> int:
        return len(self._value)

    def of_names(self, names: Sequence[str]) -> int:
        """Append the trie of ascending names and return its root.

        The value of a node is the index of the name that ends there, or `NO_NAME`; `low` and `high`
        are the span of the names below it.
        """
        key = tuple(names)
        if key not in self._roots:
            self._roots[key] = self._append(names, [*range(len(names))], None)
        return self._roots[key]

    def of_texts(self, texts: dict[str, int]) -> int:
        """Append the trie of texts and return its root.

        The value of a node is that of the text that ends there (bits), or 0; `low` is the union of
        the values of all texts below it.
        """
        key = tuple(texts.items())
        if key not in self._roots:
            words = sorted(texts)
            self._roots[key] = self._append(words, [texts[word] for word in words], 0)
        return self._roots[key]

    def _append(self, words: Sequence[str], values: Sequence[int], nothing: int | None) -> int:
        """Append a trie; `nothing` is the value of no text, None for names."""
        root = len(self._value)
        spans = [(0, len(words), 0)]
        for low, high, depth in spans:
            first = low
            value = NO_NAME if nothing is None else nothing
            if len(words[low]) == depth:
                value = values[low]
                first += 1
            self._value.append(value)
            if nothing is None:
                self._low.append(low)
                self._high.append(high)
            else:
                below = 0
                for each in values[low:high]:
                    below |= each
                self._low.append(below)
                self._high.append(0)
            self._edges.append(len(self._edge_to))
            opens = 0
            while first < high:
                character = words[first][depth]
                end = first + 1
                if words[high - 1][depth] == character:
                    end = high
                while end < high and words[end][depth] == character:
                    end += 1
                self._edge_character.append(ord(character))
                code = ord(character)
                opens |= _GROUPS[code] if code < _ASCII else groups_beyond_ascii(code, code)
                self._edge_to.append(root + len(spans))
                spans.append((first, end, depth + 1))
                first = end
            self._opens.append(opens)
        return root

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the arrays; `trie_edges` has one entry more than there are nodes."""
        return {
            "trie_edges": np.array([*self._edges, len(self._edge_to)], np.int32),
            "edge_character": np.array(self._edge_character, np.int32),
            "edge_to": np.array(self._edge_to, np.int32),
            "trie_value": np.array(self._value, np.int64),
            "trie_low": np.array(self._low, np.int64),
            "trie_high": np.array(self._high, np.int64),
            "trie_opens": np.array(self._opens, np.int64),
        }
