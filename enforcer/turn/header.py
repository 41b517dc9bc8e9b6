"""The headers that may follow, walked byte by byte and token by token.

Owns: the trie over the headers' bytes and its masks, with the white space that a format lets
stand before and behind a name. Must not know: states, markers, schemas. The trie is implicit:
the headers are sorted, and a node is the range of them that share the bytes read so far, so
that building one costs a sort and nothing else.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from enforcer.turn.walk import Walked, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from enforcer.turn.borders import Cut
    from enforcer.turn.pattern import Language
    from enforcer.vocabulary import Vocabulary

_WORD = 32
_NEVER_IN_UTF8 = 0xFF


@dataclass(frozen=True, slots=True)
class HeaderForm:
    """How a format writes headers.

    Attributes:
        text: writes the part with the name in it, which has no white space that may be missing,
            of a name at an index.
        head: language of what stands before that part; None where nothing does.
        tail: likewise of what stands behind it.

    """

    text: Callable[[str, int], str]
    head: Language | None = None
    tail: Language | None = None


class HeaderTrie:
    """The headers of some tools at some indices; shared across requests and threads."""

    def __init__(
        self,
        form: HeaderForm,
        vocabulary: Vocabulary,
        names: tuple[str, ...],
        indices: tuple[int, ...],
    ) -> None:
        pairs = sorted((form.text(name, i).encode(), name) for name in names for i in indices)
        self.texts = [text for text, _ in pairs]
        self.names = [name for _, name in pairs]
        self.vocabulary = vocabulary
        self.tail = form.tail
        self._nodes: dict[tuple[object, ...], HeaderNode] = {}
        self.root = self.node(0, len(self.texts), 0, form.head)

    def node(
        self,
        low: int,
        high: int,
        depth: int,
        head: Language | None = None,
        tail: Language | None = None,
    ) -> HeaderNode:
        """Give the one node of that range; nodes keep their masks."""
        key = (low, high, depth, head, tail)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = HeaderNode(self, low, high, depth, head, tail=tail)
        return node

    def narrow(self, low: int, high: int, prefix: bytes) -> tuple[int, int]:
        """Narrow a range to the headers that begin with `prefix`."""
        return _narrow(self.texts, low, high, prefix)


class HeaderNode:
    """A place in a trie: headers `low` to `high` agree in their first `depth` bytes.

    Attributes:
        head: what may still stand before them; None once they have begun, or nothing does.
        tail: what may still stand behind the one that has been read; None before that.
        followed: those of `beyond` that the format can go on with, by tool; None before somebody
            knows.

    """

    __slots__ = ("__dict__", "depth", "followed", "head", "high", "low", "tail", "trie")

    def __init__(
        self,
        trie: HeaderTrie,
        low: int,
        high: int,
        depth: int,
        head: Language | None,
        *,
        tail: Language | None,
    ) -> None:
        self.trie = trie
        self.low = low
        self.high = high
        self.depth = depth
        self.head = head
        self.tail = tail
        self.followed: Mapping[str, Cut] | None = None

    @cached_property
    def name(self) -> str | None:
        """The tool whose header has been read in full, if one has."""
        if self.tail is not None and not self.tail.ends:
            return None
        if self.low < self.high and len(self.trie.texts[self.low]) == self.depth:
            return self.trie.names[self.low]
        return None

    @property
    def only(self) -> str | None:
        """The one tool that the header can still be of, if there is one."""
        if self.low == self.high:
            return None
        names = self.trie.names
        # Sorted by text, so that those of one tool at two indices stand together.
        first = names[self.low]
        return first if all(names[i] == first for i in range(self.low, self.high)) else None

    def step(self, byte: int) -> HeaderNode | None:
        """Read one byte; None if no header goes on with it."""
        trie = self.trie
        if self.head is not None:
            rest = self.head.after(byte)
            if rest is not None:
                head = None if rest.ends else rest
                return trie.node(self.low, self.high, self.depth, head)
            if not self.head.nullable:
                return None
        if self.tail is not None:
            rest = self.tail.after(byte)
            return None if rest is None else trie.node(self.low, self.high, self.depth, None, rest)
        if self.low == self.high:
            return None
        prefix = trie.texts[self.low][: self.depth] + bytes([byte])
        low, high = trie.narrow(self.low, self.high, prefix)
        if low >= high:
            return None
        is_full = trie.tail is not None and len(trie.texts[low]) == len(prefix)
        return trie.node(low, high, len(prefix), None, trie.tail if is_full else None)

    def advance(self, token_id: int) -> HeaderNode | None:
        """Read one text id; None if no header goes on with its bytes."""
        vocabulary = self.trie.vocabulary
        data = vocabulary.token_bytes(token_id)
        if not data or token_id in vocabulary.control_ids or self.low == self.high:
            return None
        if self.head is not None or self.trie.tail is not None:
            node: HeaderNode | None = self
            for byte in data:
                node = None if node is None else node.step(byte)
            return node
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
        ids = np.array(sorted(self._whole), dtype=np.int64)
        words, starts = np.unique(ids // _WORD, return_index=True)
        if not len(ids):
            return words, np.zeros(0, dtype=np.int32)
        bits = np.left_shift(np.uint32(1), (ids % _WORD).astype(np.uint32), dtype=np.uint32)
        return words, np.bitwise_or.reduceat(bits, starts).view(np.int32)

    @property
    def beyond(self) -> tuple[int, ...]:
        """The ids of text that complete a header and have more bytes behind, right or wrong."""
        return self._walked.beyond

    @property
    def _whole(self) -> set[int]:
        """The ids that no header ends inside of."""
        if self.head is None and self.trie.tail is None:
            return self._legal()
        return {*self._walked.inside, *self._walked.done}

    @cached_property
    def _walked(self) -> Walked:
        return walk(self.trie.vocabulary, self, HeaderNode.step, HeaderNode._is_full)

    def _is_full(self) -> bool:
        return self.name is not None

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
