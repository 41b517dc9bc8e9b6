"""The headers that may follow: a finite set of strings, walked token by token.

Owns: the trie over the headers' bytes and its masks. Must not know: states,
markers, schemas. The trie is implicit: the headers are sorted, and a node is the
range of them that share the bytes read so far, so that building one costs a sort
and nothing else.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.turn.dialect import Dialect
    from enforcer.vocabulary import Vocabulary

_WORD = 32
_NEVER_IN_UTF8 = 0xFF


class HeaderTrie:
    """The headers of some tools at one index; shared across requests and threads."""

    def __init__(
        self, dialect: Dialect, vocabulary: Vocabulary, names: tuple[str, ...], index: int
    ) -> None:
        pairs = sorted((dialect.header_text(name, index).encode(), name) for name in names)
        self.texts = [text for text, _ in pairs]
        self.names = [name for _, name in pairs]
        self.vocabulary = vocabulary
        self._nodes: dict[tuple[int, int, int], HeaderNode] = {}
        self.root = self.node(0, len(self.texts), 0)

    def node(self, low: int, high: int, depth: int) -> HeaderNode:
        """Give the one node of that range; nodes keep their masks."""
        key = (low, high, depth)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = HeaderNode(self, low, high, depth)
        return node

    def narrow(self, low: int, high: int, prefix: bytes) -> tuple[int, int]:
        """Narrow a range to the headers that begin with `prefix`."""
        return _narrow(self.texts, low, high, prefix)


class HeaderNode:
    """A place in a trie: headers `low` to `high` agree in their first `depth` bytes."""

    __slots__ = ("__dict__", "depth", "high", "low", "trie")

    def __init__(self, trie: HeaderTrie, low: int, high: int, depth: int) -> None:
        self.trie = trie
        self.low = low
        self.high = high
        self.depth = depth

    @cached_property
    def name(self) -> str | None:
        """The tool whose header has been read in full, if one has."""
        if self.low < self.high and len(self.trie.texts[self.low]) == self.depth:
            return self.trie.names[self.low]
        return None

    @property
    def only(self) -> str | None:
        """The one tool that the header can still be of, if there is one."""
        return self.trie.names[self.low] if self.high - self.low == 1 else None

    def advance(self, token_id: int) -> HeaderNode | None:
        """Read one text id; None if no header goes on with its bytes."""
        vocabulary = self.trie.vocabulary
        data = vocabulary.token_bytes(token_id)
        if not data or token_id in vocabulary.control_ids or self.low == self.high:
            return None
        prefix = self.trie.texts[self.low][: self.depth] + data
        low, high = self.trie.narrow(self.low, self.high, prefix)
        return self.trie.node(low, high, len(prefix)) if low < high else None

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Overwrite a mask row (int32, shape `(words,)`) with the ids that may come next."""
        words, bits = self._mask
        row.fill(0)
        row[words] = bits

    @cached_property
    def _mask(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        ids = np.array(sorted(self._legal()), dtype=np.int64)
        words, starts = np.unique(ids // _WORD, return_index=True)
        if not len(ids):
            return words, np.zeros(0, dtype=np.int32)
        bits = np.left_shift(np.uint32(1), (ids % _WORD).astype(np.uint32), dtype=np.uint32)
        return words, np.bitwise_or.reduceat(bits, starts).view(np.int32)

    def _legal(self) -> set[int]:
        """Walk headers and vocabulary side by side, both being sorted by their bytes."""
        keys, ids = self.trie.vocabulary.sorted_text
        texts = self.trie.texts
        legal: set[int] = set()
        todo = [(self.low, self.high, 0, len(keys), b"")]
        while todo:
            low, high, first, last, read = todo.pop()
            while first < last and keys[first] == read:
                legal.add(ids[first])
                first += 1
            at = self.depth + len(read)
            if low < high and len(texts[low]) == at:
                low += 1
            while low < high and first < last:
                step = read + texts[low][at : at + 1]
                until = bisect_left(texts, texts[low][:at] + _successor(step[-1:]), low, high)
                begin, end = _narrow(keys, first, last, step)
                if begin < end:
                    todo.append((low, until, begin, end, step))
                low, first = until, end
        return legal


def _narrow(keys: Sequence[bytes], low: int, high: int, prefix: bytes) -> tuple[int, int]:
    low = bisect_left(keys, prefix, low, high)
    if prefix[-1] == _NEVER_IN_UTF8:
        return low, low
    return low, bisect_left(keys, prefix[:-1] + _successor(prefix[-1:]), low, high)


def _successor(byte: bytes) -> bytes:
    """Least bytes after everything that begins with `byte`, which is not 0xFF."""
    return bytes([byte[0] + 1])
