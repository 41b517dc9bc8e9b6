"""Tokens that go across the borders of a dialect's segments.

Owns: finding them in the vocabulary, for places that no request changes. What is behind a border
may be a request's own (its names, its schemas): such tokens are only named here, and tried by
whoever knows. Must not know: requests, engines, masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.turn.dialect import Segment
from enforcer.turn.lexer import OPEN, Place
from enforcer.turn.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.layouts import Scan
    from enforcer.turn.lexer import Lexer, Opening, Step
    from enforcer.vocabulary import Vocabulary

_KEPT = 4096
# Over all, the first byte of what may stand between two tokens of JSON is tried as well.


@dataclass(frozen=True, slots=True)
class Around:
    """Ids of text at a place outside headers and arguments.

    Attributes:
        legal: those that go on with, or complete, a marker; nothing behind it.
        illegal: those that spell a marker which is closed, or one and then what cannot follow.
        crossing: those that complete a marker and have bytes behind it that may follow.

    """

    legal: tuple[int, ...]
    illegal: tuple[int, ...]
    crossing: tuple[int, ...]


class Borders:
    """The tokens of a vocabulary that end a segment of a dialect's and go on."""

    def __init__(self, lexer: Lexer, vocabulary: Vocabulary) -> None:
        self._lexer = lexer
        self._vocabulary = vocabulary
        self.leaving = lru_cache(_KEPT)(self._leaving)
        self._leavers = lru_cache(None)(self._find_leavers)
        self._holding = lru_cache(None)(self._find_holding)

    def around(self, place: Place, opening: Opening, *, free: bool) -> Around:
        """Sort the ids of text at a place.

        Args:
            place: outside headers and arguments, or where nothing of them is read any more.
            opening: what is open.
            free: whether text that spells no marker is legal, so that only others are sorted.

        """
        def step(at: Step | Place, byte: int) -> Step | Place | None:
            found = self._lexer.by_markers(at.place if isinstance(at, Step) else at, byte, opening)
            if found is None:
                # A closed marker, if text is free.
                return None
            return found if found.marker else found.place

        if free:
            return self._in_text(place, opening)
        found = walk(
            self._vocabulary, place, step, lambda at: not isinstance(at, Place)
        )
        return self._sorted((*found.inside, *found.done), found.beyond, place, opening)

    def _in_text(self, place: Place, opening: Opening) -> Around:
        """Sort the ids that complete a marker in free text, whether it is open or not."""
        markers: set[int] = set()
        if place.begun:
            def go_on(at: Place, byte: int) -> Place | None:
                found = self._lexer.by_markers(at, byte, OPEN)
                if found is None or found.marker:
                    return None if found is None else Place("")
                # Only what has been begun before this token is followed here.
                kept = tuple(b for b in found.place.begun if b.length > at_most(at))
                return Place(found.place.state, kept) if kept else None

            def at_most(at: Place) -> int:
                return min((each.length for each in at.begun), default=0)

            found = walk(self._vocabulary, place, go_on, lambda at: not at.state)
            markers.update(found.done, found.beyond)
        for text in self._lexer.spelled(place.state):
            markers.update(self._holding(text))
        legal, illegal, crossing = [], [], []
        for token in sorted(markers):
            at, crossed = place, False
            data = self._vocabulary.token_bytes(token)
            for count, byte in enumerate(data, 1):
                step = self._lexer.by_markers(at, byte, opening)
                if step is None:
                    illegal.append(token)
                    break
                at = step.place
                if step.marker:
                    crossed = True
                    rest = data[count:]
                    if not rest:
                        legal.append(token)
                    elif self.viable(at, rest):
                        crossing.append(token)
                    else:
                        illegal.append(token)
                    break
            if not crossed:
                continue  # no marker after all: text
        return Around(tuple(legal), tuple(illegal), tuple(crossing))

    def _sorted(
        self, legal: tuple[int, ...], beyond: tuple[int, ...], place: Place, opening: Opening
    ) -> Around:
        crossing = []
        for token in beyond:
            at = place
            data = self._vocabulary.token_bytes(token)
            for count, byte in enumerate(data, 1):
                step = self._lexer.by_markers(at, byte, opening)
                if step is None:
                    break
                at = step.place
                if step.marker:
                    if self.viable(at, data[count:]):
                        crossing.append(token)
                    break
        return Around(legal, (), tuple(crossing))

    def viable(self, place: Place, data: bytes) -> bool:
        """Tell whether bytes may follow a place in some request."""
        for byte in data:
            fallen = self._lexer.falls(place, byte)
            step = self._lexer.step(place if fallen is None else fallen, byte, OPEN)
            if step is None:
                return False
            place = step.place
        return True

    def _leaving(self, state: str, scan: Scan) -> tuple[tuple[int, int], ...]:
        """Give the ids that end a text of arguments at a place in it, and have more behind.

        Returns:
            Of each, the id, and how many of its bytes belong to the text.

        """
        found = []
        for token, cuts in self._leavers(state):
            at: Scan | None = scan
            for count, byte in enumerate(self._vocabulary.token_bytes(token), 1):
                at = at.step(byte)
                if at is None:
                    break
                if at.complete:
                    if count in cuts:
                        found.append((token, count))
                    break
        return tuple(found)

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
        """Give the places behind a byte that ends arguments after which the rest may follow."""
        for at, byte in enumerate(data[:-1], 1):
            if byte == last and self.viable(self._lexer.enter(then), data[at:]):
                yield at

    def _find_holding(self, text: bytes) -> frozenset[int]:
        return frozenset(token for data, token in self._tokens() if text in data)

    def _tokens(self) -> Iterator[tuple[bytes, int]]:
        keys, ids = self._vocabulary.sorted_text
        return zip(keys, ids, strict=True)


__all__ = ["Around", "Borders", "Segment"]
