"""Trie of the call headers that may follow: here the name of a tool becomes legal.

It is walked byte by byte and token by token.

Owns: the trie over the headers' bytes and its masks, with the white space that a format lets
stand before and behind a name. Must not know: states, markers, schemas. The trie is implicit:
the headers are sorted, and a node is the range of them that share the bytes read so far, so
that building one costs a sort and nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from enforcer.regex.constructors import EPSILON
from enforcer.turn import bits
from enforcer.turn.bits import NO_IDS, ids_of
from enforcer.turn.pattern import Language
from enforcer.turn.walk import Span, alike, beginning, end_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from enforcer.engines.mask_rows import Ids
    from enforcer.turn.cuts import Cut
    from enforcer.vocabulary import Vocabulary

_KEPT = 4096  # ends of names with what stands behind
# Bytes that a trie holds: for a header beside its texts, for a node with what it leads to, for a
# header that ids complete. Measured.
_HEADER, _NODE, _PAST = 110, 700, 200
_TEXT = Language(EPSILON)  # what stands before a name has been left


@dataclass(frozen=True, slots=True)
class Past:
    """A tool's header that some ids complete, most of them with bytes behind it.

    Attributes:
        name: the tool.
        data: what those ids begin with: the last bytes of the part with the name in it.
        tail: language of what has to stand behind; None if nothing has.

    """

    name: str
    data: bytes
    tail: Language | None


class HeaderForm:
    """The form of a format's headers, and the parts that do not depend on names.

    Args:
        around: writes what stands on either side of a name at an index, as far as no white space
            does that may be missing.
        vocabulary: the tokens.
        head: language of what stands before that part; None where nothing does.
        tail: likewise of what stands behind it.
        ends: whether a header ends by itself, with what stands behind its name.

    """

    def __init__(
        self,
        around: Callable[[int], tuple[str, str]],
        vocabulary: Vocabulary,
        head: Language | None = None,
        tail: Language | None = None,
        *,
        ends: bool = False,
    ) -> None:
        self.around = around
        self.vocabulary = vocabulary
        self.head = head
        self.tail = tail
        self.ends = ends
        self.begun = lru_cache(_KEPT)(self._find_begun)
        self.ended = lru_cache(_KEPT)(self._find_ended)
        self.precedes = lru_cache(_KEPT)(self._find_precedes)

    def _find_begun(self, head: Language) -> HeadTokens:
        """Read what stands before names."""
        found = walk(self.vocabulary, head, _read_head, lambda at: at is _TEXT)
        keys, _ = self.vocabulary.sorted_text
        spans: dict[int, list[Span]] = {}
        for span in found.spans:
            spans.setdefault(keys[span.first][span.depth - 1], []).append(span)
        firsts: dict[int, list[int]] = {}
        for token in found.done:
            firsts.setdefault(self.vocabulary.token_bytes(token)[-1], []).append(token)
        return HeadTokens(ids_of(found.inside), firsts, spans)

    def _find_ended(self, tail: Language | None, data: bytes) -> Ended:
        """Read what stands behind names, in the ids that begin with the last bytes of one."""
        span = beginning(self.vocabulary, data)
        if tail is None:
            return Ended(NO_IDS, (span,))
        found = walk(self.vocabulary, tail, Language.after, _ends, span)
        return Ended(ids_of((*found.inside, *found.done)), found.spans)

    def _find_precedes(self, cut: Cut) -> bool:
        """Return whether the second parts of ids are all of what stands before names."""
        if self.head is None or cut.loose:
            return False
        return bool(np.isin(cut.tails, self.begun(self.head).inside).all())


@dataclass(frozen=True, slots=True, eq=False)
class HeadTokens:
    """Ids that begin with what stands before names, by the first byte that does not.

    Attributes:
        inside: those without such a byte.
        firsts: those that end with it.
        spans: those with more behind it.

    """

    inside: Ids
    firsts: Mapping[int, list[int]]
    spans: Mapping[int, list[Span]]


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """Ids that begin with the last bytes of a name's text, by what they do behind it.

    Attributes:
        whole: those with some of the header behind it and nothing else.
        spans: those with all of it and more behind, right or wrong.

    """

    whole: Ids
    spans: tuple[Span, ...]


def _read_head(at: Language, byte: int) -> Language | None:
    rest = at.after(byte)
    if rest is not None:
        return rest
    return _TEXT if at.nullable else None


def _ends(tail: Language) -> bool:
    return tail.ends


class HeaderTrie:
    """The headers of some tools at some indices; shared across requests and threads.

    Attributes:
        texts: the headers, in the order of their bytes.
        names: the tool of each.
        form: how they are written.
        weight: bytes that all of it holds, about; grows as nodes are asked for masks.

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
        self.root = self.node(0, len(self.texts), 0, form.head)

    def node(
        self,
        low: int,
        high: int,
        depth: int,
        head: Language | None = None,
        tail: Language | None = None,
    ) -> HeaderNode:
        """Return the one node of that range; nodes keep their masks."""
        key = (low, high, depth, head, tail)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = HeaderNode(self, low, high, depth, head, tail=tail)
            self.weight += _NODE
        return node


class HeaderNode:
    """A place in a trie: headers `low` to `high` agree in their first `depth` bytes.

    Attributes:
        head: what may still stand before them; None once they have begun, or nothing does.
        tail: what may still stand behind the one that has been read; None before that.
        behind: by the state of arguments, the tools whose headers some ids complete which have
            bytes behind that may follow, with these ids; what `Borders.behind` has found.

    """

    __slots__ = ("__dict__", "behind", "depth", "head", "high", "low", "tail", "trie")

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
        self.behind: dict[str, tuple[tuple[str, Cut], ...]] = {}

    @cached_property
    def name(self) -> str | None:
        """The tool whose header has been read in full, if one has."""
        if self.tail is not None and not self.tail.ends:
            return None
        if self.low < self.high and len(self.trie.texts[self.low]) == self.depth:
            return self.trie.names[self.low]
        return None

    @property
    def ends(self) -> bool:
        """Whether the header has ended by itself."""
        return self.trie.form.ends and self.name is not None

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
        low, high = alike(trie.texts, prefix, self.low, self.high)
        if low >= high:
            return None
        is_full = trie.form.tail is not None and len(trie.texts[low]) == len(prefix)
        return trie.node(low, high, len(prefix), None, trie.form.tail if is_full else None)

    def advance(self, token_id: int) -> HeaderNode | None:
        """Read one text id; None if no header goes on with its bytes."""
        vocabulary = self.trie.form.vocabulary
        data = vocabulary.token_bytes(token_id)
        if not data or token_id in vocabulary.control_ids or self.low == self.high:
            return None
        if self.head is not None or self.trie.form.tail is not None:
            node: HeaderNode | None = self
            for byte in data:
                node = None if node is None else node.step(byte)
            return node
        prefix = self.trie.texts[self.low][: self.depth] + data
        low, high = alike(self.trie.texts, prefix, self.low, self.high)
        return self.trie.node(low, high, len(prefix)) if low < high else None

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Overwrite a mask row (int32, shape `(words,)`) with the ids that may come next."""
        bits.write(row, self.row)

    @property
    def row(self) -> bits.Sparse:
        """The ids that may come next, as a mask row."""
        return self._reached[0]

    @property
    def past(self) -> tuple[Past, ...]:
        """The headers that ids complete of which there may be some with bytes behind."""
        return self._reached[1]

    @cached_property
    def _reached(self) -> tuple[bits.Sparse, tuple[Past, ...]]:
        ids, past = self._read_on()
        found = bits.of_ids(ids)
        self.trie.weight += found.weight + _PAST * len(past)
        return found, past

    def _read_on(self) -> tuple[Ids, tuple[Past, ...]]:
        """Return the ids that no header ends inside of, and the headers that ids complete.

        Headers and vocabulary are both sorted by their bytes.
        """
        form = self.trie.form
        if self.tail is not None:
            past = Past(self.trie.names[self.low], b"", self.tail)
            return form.ended(self.tail, b"").whole, (past,)
        keys, ids = form.vocabulary.sorted_text
        texts, names = self.trie.texts, self.trie.names
        found: list[Past] = []
        legal, begun = self._beginnings()
        places: set[int] = set()
        for low, high, at, span in begun:
            head = keys[span.first][: span.depth]
            shared = _shared(texts[low], texts[high - 1])
            first, last = self._read(head + texts[low][at:shared], span.first, span.last, places)
            for each in range(low, high) if first < last else ():
                data = head + texts[each][at:]
                behind = self._begin(data, first, last, places)
                if behind < last and data and keys[behind].startswith(data):
                    found.append(Past(names[each], data, form.tail))
        parts = [ids_of(legal), ids_of(ids[place] for place in places)]
        if self.head is not None:
            parts.append(form.begun(self.head).inside)
        if form.tail is not None:
            parts += [form.ended(past.tail, past.data).whole for past in found]
        return np.concatenate(parts), tuple(found)

    def _read(self, data: bytes, first: int, last: int, places: set[int]) -> tuple[int, int]:
        """Read what all headers begin with; gives the tokens that do so, too."""
        if not data:
            return first, last
        self._begin(data, first, last, places)
        return alike(self.trie.form.vocabulary.sorted_text[0], data, first, last)

    def _begin(self, data: bytes, first: int, last: int, places: set[int]) -> int:
        """Add the tokens that some bytes begin with; gives where those of more bytes would be.

        Once for all bytes of one, and not one by one: thousands of headers are read in one step.
        """
        keys, _ = self.trie.form.vocabulary.sorted_text
        shorter = self.trie.form.vocabulary.shorter
        behind = bisect_right(keys, data, first, last)
        place = behind - 1
        while place >= first and not data.startswith(keys[place]):
            place = shorter[place]
        while place >= first and place not in places:
            places.add(place)
            place = shorter[place]
        return behind

    def _beginnings(self) -> tuple[list[int], list[tuple[int, int, int, Span]]]:
        """Return where reading begins, behind what may still stand before the headers.

        Returns:
            The ids with one byte of a header; and ranges of headers that agree in so many bytes,
            each with the ids that have read as much, and may go on.

        """
        form = self.trie.form
        if self.head is None:
            every = Span(0, len(form.vocabulary.sorted_text[0]), 0)
            return [], [(self.low, self.high, self.depth, every)] if self.low < self.high else []
        texts, low = self.trie.texts, self.low
        begun = form.begun(self.head)
        legal: list[int] = []
        todo: list[tuple[int, int, int, Span]] = []
        while low < self.high:
            first = texts[low][:1]
            until = end_of(texts, first, low, self.high)
            legal += begun.firsts.get(first[0], ())
            todo += [(low, until, 1, span) for span in begun.spans.get(first[0], ())]
            low = until
        return legal, todo


def _shared(one: bytes, other: bytes) -> int:
    """Count the first bytes that two texts have in common."""
    differ = (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differ, min(len(one), len(other)))
