"""Tokens that span the borders of a dialect's segments.

Owns: finding them in the vocabulary, for places that no request changes. What is behind a border
may be a request's own (its names, its schemas): such tokens are only named here, and tried by
whoever knows. Must not know: requests, engines, masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.layouts.scanning import NestedText
from enforcer.turn.bits import ids_of
from enforcer.turn.cuts import NONE, Cut
from enforcer.turn.lexer import OPEN, Place
from enforcer.turn.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from enforcer.layouts import Scan
    from enforcer.turn.header import HeaderForm, HeaderNode
    from enforcer.turn.lexer import Lexer, Opening
    from enforcer.turn.pattern import Language
    from enforcer.vocabulary import Vocabulary

_KEPT = 4096
_DONE = Place("")


@dataclass(frozen=True, slots=True)
class Around:
    """Ids of text at a place outside headers and arguments.

    Attributes:
        legal: those that go on with, or complete, a marker; nothing behind it.
        illegal: those that spell a marker which is closed, or one and then what cannot follow.
        crossing: those that complete a marker and have bytes behind it that may follow, by the
            state that the marker leads to.

    """

    legal: tuple[int, ...]
    illegal: tuple[int, ...]
    crossing: Mapping[str, Cut]


class Borders:
    """The tokens of a vocabulary that end a segment of a dialect's and go on."""

    def __init__(self, lexer: Lexer, vocabulary: Vocabulary) -> None:
        self._lexer = lexer
        self._vocabulary = vocabulary
        self._kept = lru_cache(_KEPT)(self._leaving)
        self._leavers = lru_cache(None)(self._find_leavers)
        self._holding = lru_cache(None)(self._find_holding)
        self._go_on = lru_cache(_KEPT)(self._find_next)
        self._followed = lru_cache(_KEPT)(self._find_followed)
        # Most are of the table, and so is what is found: the same object for the same two.
        self.among = lru_cache(_KEPT)(Cut.among)

    def around(self, place: Place, opening: Opening, *, free: bool) -> Around:
        """Sort the ids of text at a place.

        Args:
            place: outside headers and arguments, or where nothing of them is read any more.
            opening: what is open.
            free: whether text that spells no marker is legal, so that only others are sorted.

        """
        if free:
            return self._in_text(place, opening)

        def step(at: Place, byte: int) -> Place | None:
            found = self._lexer.by_markers(at, byte, opening)
            return None if found is None else (_DONE if found.marker else found.place)

        found = walk(self._vocabulary, place, step, lambda at: at is _DONE)
        crossing: dict[str, list[tuple[int, int]]] = {}
        for token in found.beyond(self._vocabulary):
            self._sort(place, token, opening, crossing)
        return Around((*found.inside, *found.done), (), self._cuts_of(crossing))

    def _in_text(self, place: Place, opening: Opening) -> Around:
        """Sort the ids that complete a marker in free text, whether it is open or not."""
        crossing: dict[str, list[tuple[int, int]]] = {}
        sorts: dict[bool | None, list[int]] = {True: [], False: [], None: []}
        for token in sorted(self._marking(place)):
            sorts[self._sort(place, token, opening, crossing)].append(token)
        return Around(tuple(sorts[True]), tuple(sorts[False]), self._cuts_of(crossing))

    def _cuts_of(self, crossing: Mapping[str, list[tuple[int, int]]]) -> Mapping[str, Cut]:
        return {state: self.cut(ids) for state, ids in crossing.items()}

    def _marking(self, place: Place) -> set[int]:
        """Return the ids that may complete a marker in free text; others among them do no harm."""
        found = {
            token for text in self._lexer.spelled(place.state) for token in self._holding(text)
        }

        def go_on(at: Place, byte: int) -> Place | None:
            step = self._lexer.by_markers(at, byte, OPEN)
            if step is None or step.marker:
                return None if step is None else _DONE
            # Only what has been begun before this token is followed.
            least = min(each.length for each in at.begun)
            kept = tuple(each for each in step.place.begun if each.length > least)
            return Place(step.place.state, kept) if kept else None

        if place.begun:
            walked = walk(self._vocabulary, place, go_on, lambda at: at is _DONE)
            found.update(walked.done, walked.beyond(self._vocabulary))
        return found

    def _sort(
        self,
        place: Place,
        token: int,
        opening: Opening,
        crossing: dict[str, list[tuple[int, int]]],
    ) -> bool | None:
        """Return whether a token is legal by itself; None if what is behind a border decides.

        Those that cross a border are noted; those that complete no marker are legal.
        """
        data = self._vocabulary.token_bytes(token)
        for count, byte in enumerate(data, 1):
            step = self._lexer.by_markers(place, byte, opening)
            if step is None:
                return False
            place = step.place
            if step.marker and count < len(data):
                if not self.viable(place, data[count:]):
                    return False
                crossing.setdefault(place.state, []).append((token, count))
                return None
            if step.marker:
                return True
        return True

    def viable(self, place: Place, data: bytes) -> bool:
        """Return whether bytes may follow a place in some request."""
        at: Place | None = place
        for byte in data:
            at = None if at is None else self._go_on(at, byte)
        return at is not None

    def _find_next(self, place: Place, byte: int) -> Place | None:
        """Read a byte as some request could."""
        step = self._lexer.step(place, byte, OPEN)
        return None if step is None else step.place

    def behind(self, node: HeaderNode, then: str) -> tuple[tuple[str, Cut], ...]:
        """Return the ids that complete a tool's header and have bytes behind that may follow.

        Args:
            node: what of the header has been read.
            then: the state of the arguments.

        """
        found = node.behind.get(then)
        if found is None:
            form = node.trie.form
            cuts = ((x.name, self._followed(then, form, x.tail, x.data)) for x in node.past)
            found = node.behind[then] = tuple(each for each in cuts if each[1])
        return found

    def _find_followed(
        self, then: str, form: HeaderForm, tail: Language | None, data: bytes
    ) -> Cut:
        """Return the ids that begin with the last bytes of a name's text and may go on so.

        Args:
            then: the state of the arguments.
            form: of the headers.
            tail: what stands behind the name's text.
            data: the bytes.

        """
        found: list[tuple[int, int]] = []
        for span in form.ended(tail, data).spans:
            start = self._lexer.enter(then)
            walked = walk(self._vocabulary, start, self._go_on, lambda _: False, span)
            found += [(token, span.depth) for token in walked.inside]
        return self.cut(found)

    def cut(self, ids: Iterable[tuple[int, int]]) -> Cut:
        """Cut ids, each behind so many of its bytes."""
        whole: list[tuple[int, int, int, int]] = []
        loose: list[tuple[int, int, int, int]] = []
        for token, count in ids:
            data = self._vocabulary.token_bytes(token)
            head, tail = (self._vocabulary.pieces(part)[0] for part in (data[:count], data[count:]))
            found = self._vocabulary.token_bytes(head) + self._vocabulary.token_bytes(tail)
            (whole if found == data else loose).append((token, head, tail, count))
        if not (whole or loose):
            return NONE
        tokens, heads, tails, counts = zip(*whole, *loose, strict=True)
        return Cut(ids_of(tokens), ids_of(heads), ids_of(tails), counts[len(whole) :])

    def leaving(self, state: str, scan: Scan) -> Cut:
        """Return the ids that end a text of arguments at a place in it, and have more behind."""
        # A text may nest deep; no token closes as much.
        is_deep = isinstance(scan, NestedText) and scan.depth >= self._vocabulary.longest
        return NONE if is_deep else self._kept(state, scan)

    def _leaving(self, state: str, scan: Scan) -> Cut:
        found: list[tuple[int, int]] = []
        for token, cuts in self._leavers(state):
            at = scan
            for count, byte in enumerate(self._vocabulary.token_bytes(token), 1):
                after = at.after(byte)
                if after is None:
                    break
                at = after
                if at.ends:
                    if count in cuts:
                        found.append((token, count))
                    break
        return self.cut(found)

    def _find_leavers(self, state: str) -> tuple[tuple[int, frozenset[int]], ...]:
        then = self._lexer.dialect.states[state].then
        last = self._lexer.layout.last_byte
        if then is None or last is None:
            return ()
        return tuple(
            (token, cuts)
            for data, token in self._tokens()
            if last in data[:-1] and (cuts := frozenset(self._cuts(data, last, then)))
        )

    def _cuts(self, data: bytes, last: int, then: str) -> Iterator[int]:
        """Yield the places behind a byte that ends arguments after which the rest may follow."""
        for at, byte in enumerate(data[:-1], 1):
            if byte == last and self.viable(self._lexer.enter(then), data[at:]):
                yield at

    def _find_holding(self, text: bytes) -> frozenset[int]:
        return frozenset(token for data, token in self._tokens() if text in data)

    def _tokens(self) -> Iterator[tuple[bytes, int]]:
        keys, ids = self._vocabulary.sorted_text
        return zip(keys, ids, strict=True)
