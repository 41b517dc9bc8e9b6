"""Trie of the headers that are legal in one turn: which tools may be called, and how.

Must not know: states, markers, schemas. The trie is implicit: the headers are sorted, and a node is
the range of them that share the bytes read so far, so that building one costs a sort and nothing
else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from enforcer import kernel
from enforcer.turn.sorted_ranges import alike

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.turn.pattern import Language
    from enforcer.vocabulary import Vocabulary

# Bytes that a trie holds: for a header beside its texts, for a node and what it leads to.
_HEADER, _NODE = 110, 700
_turn_ids = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class HeaderForm:
    """The form of a format's headers.

    Attributes:
        around: writes what stands on either side of a name at an index, as far as no white space
            does that may be missing.
        vocabulary: the tokens.
        head: language of what stands before that part; None where nothing does.
        tail: likewise of what stands behind it.
        ends: whether a header ends by itself, with what stands behind its name.

    """

    around: Callable[[int], tuple[str, str]]
    vocabulary: Vocabulary
    head: Language | None = None
    tail: Language | None = None
    ends: bool = False


class HeaderTrie:
    """The headers of some tools at some indices; shared across requests and threads.

    Attributes:
        texts: the part of each with the name in it, in the order of their bytes.
        names: the tool of each.
        form: how they are written.
        weight: bytes that all of it holds, about; grows with its nodes.

    """

    def __init__(self, form: HeaderForm, names: tuple[str, ...], indices: tuple[int, ...]) -> None:
        around = [form.around(index) for index in indices]
        named = {
            (before + name + behind).encode(): name for name in names for before, behind in around
        }
        self.texts = sorted(named)
        self.names = [named[text] for text in self.texts]
        self.form = form
        self.weight = sum(map(len, self.texts)) + sum(map(len, self.names)) + _HEADER * len(named)
        self._nodes: dict[tuple[object, ...], HeaderNode] = {}
        self._turn_ids: dict[int, int] = {}
        self.root = self.node(0, len(self.texts), 0, form.head)

    @cached_property
    def sizes(self) -> list[int]:
        """How many bytes each text has."""
        return [len(text) for text in self.texts]

    @cached_property
    def native(self) -> kernel.Names:
        """The texts as the kernel reads them."""
        ends = np.cumsum([0, *self.sizes]).astype(np.int32)
        return kernel.Names(np.frombuffer(b"".join(self.texts) or b"\0", np.uint8), ends)

    def turn_id(self, after: int) -> int:
        """Return the number of all turns with these headers and one place behind a text."""
        return self._turn_ids.setdefault(after, next(_turn_ids))

    def node(
        self,
        low: int,
        high: int,
        depth: int,
        rest: Language | None = None,
        *,
        is_behind: bool = False,
    ) -> HeaderNode:
        """Return the one node of that range; it is found again."""
        key = (low, high, depth, rest, is_behind)
        node = self._nodes.get(key)
        if node is None:
            node = HeaderNode(self, low, high, depth, rest, is_behind=is_behind)
            node = self._nodes.setdefault(key, node)
            self.weight += _NODE
        return node


class HeaderNode:
    """A place in a trie: headers `low` to `high` agree in their first `depth` bytes.

    Attributes:
        rest: what may still stand before them, or behind the one that has been read; None within.
        is_behind: which of both.

    """

    __slots__ = ("__dict__", "depth", "high", "is_behind", "low", "rest", "trie")

    def __init__(
        self,
        trie: HeaderTrie,
        low: int,
        high: int,
        depth: int,
        rest: Language | None,
        *,
        is_behind: bool,
    ) -> None:
        self.trie = trie
        self.low = low
        self.high = high
        self.depth = depth
        self.rest = rest
        self.is_behind = is_behind

    @cached_property
    def name(self) -> str | None:
        """The tool whose header has been read in full, if one has."""
        if self.rest is not None or self.low == self.high:
            return None
        is_whole = len(self.trie.texts[self.low]) == self.depth
        return self.trie.names[self.low] if is_whole else None

    @cached_property
    def only(self) -> str | None:
        """The one tool that the header can still be of, if there is one."""
        if self.low == self.high:
            return None
        names = self.trie.names
        # Sorted by text, so that those of one tool at two indices stand together.
        first = names[self.low]
        return first if all(names[i] == first for i in range(self.low, self.high)) else None

    def step(self, byte: int) -> HeaderNode | None:
        """Read one byte of a name's part; None if no header goes on with it."""
        return None if self.rest is not None else self._behind(bytes([byte]))

    def advance(self, token_id: int) -> HeaderNode | None:
        """Read one text id; None if no header goes on with its bytes."""
        vocabulary = self.trie.form.vocabulary
        data = vocabulary.token_bytes(token_id)
        if not data or token_id in vocabulary.control_ids or self.low == self.high:
            return None
        return self._behind(data)

    def _behind(self, data: bytes) -> HeaderNode | None:
        if self.low == self.high:
            return None
        prefix = self.trie.texts[self.low][: self.depth] + data
        low, high = alike(self.trie.texts, prefix, self.low, self.high)
        return self.trie.node(low, high, len(prefix)) if low < high else None
