"""Deterministic automaton of a format around the texts of its calls; see `enforcer.kernel.turn`.

Owns: its places, each made when a turn first comes there, and where special tokens lead. Must not
know: which names a request has, schemas, masks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer import kernel
from enforcer.machine.byte_groups import GROUP_NUMBERS
from enforcer.turn.dialect import FREE_TEXT, Segment
from enforcer.turn.lexer import BLANK_BYTES
from enforcer.turn.lexer import Place as MarkerPlace
from enforcer.turn.pattern import ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.turn.lexer import Opening
    from enforcer.turn.pattern import Language
    from enforcer.turn.table import Table

_PLACES = 64  # for which there is room at first
_NOWHERE, _UNKNOWN = -1, -2  # as in `enforcer.kernel.turn`
_BETWEEN, _NAMES, _TEXT, _CONTENT = range(4)
_BYTES = 256


class Place(NamedTuple):
    """A place of a turn outside of texts.

    Attributes:
        state: of the dialect.
        opening: the guards that are open.
        markers: what of markers has been begun; None in a header's own text, or where a text
            begins.
        rest: in a header, what may follow before the names or behind them; None within them.
        is_behind: whether a header's names lie behind.

    """

    state: str
    opening: Opening
    markers: MarkerPlace | None = None
    rest: Language | None = None
    is_behind: bool = False


class Around:
    """The places of a table, by number.

    Attributes:
        native: the automaton of the kernel.
        places: by number.

    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lexer = table.lexer
        self._states = table.dialect.states
        self._numbers: dict[Place, int] = {}
        self.places: list[Place] = []
        self.native = kernel.Around(self._make)
        self.special = lru_cache(None)(self._find_special)
        self._grow(_PLACES)

    def _grow(self, count: int) -> None:
        old = len(self.places)
        to = np.full((count, _BYTES), _UNKNOWN, np.int32)
        kinds, falls = np.zeros(count, np.uint8), np.full(count, -1, np.int32)
        behind, loops = np.full(count, -1, np.int32), np.zeros(count, np.int64)
        if old:
            to[:old], kinds[:old], falls[:old] = self._to[:old], self._kinds[:old], self._falls[:old]
            behind[:old], loops[:old] = self._behind[:old], self._loops[:old]
        self._to, self._kinds, self._falls, self._behind, self._loops = (
            to,
            kinds,
            falls,
            behind,
            loops,
        )
        self.native.set_arrays(to.reshape(-1), kinds, falls, behind, loops)

    def number(self, place: Place) -> int:
        """Return the number of a place."""
        found = self._numbers.get(place)
        if found is None:
            found = len(self.places)
            if found == len(self._kinds):
                self._grow(2 * found)
            self._numbers[place] = found
            self.places.append(place)
            self._describe(found, place)
        return found

    def enter(self, state: str, opening: Opening) -> int:
        """Return the place at the beginning of a state."""
        segment = self._states[state].segment
        if segment is Segment.ARGUMENTS:
            return self.number(Place(state, opening))
        if segment is Segment.HEADER:
            return self.number(Place(state, opening, rest=self._table.form.head))
        return self.number(Place(state, opening, MarkerPlace(state)))

    def _segment(self, place: Place) -> Segment:
        return self._states[place.state].segment

    def _describe(self, number: int, place: Place) -> None:
        """Write what a place is, without its row."""
        form, then = self._table.form, self._states[place.state].then
        if place.markers is not None:
            free = self._segment(place) is Segment.CONTENT
            self._kinds[number] = _CONTENT if free else _BETWEEN
        elif self._segment(place) is Segment.ARGUMENTS:
            self._kinds[number] = _TEXT
        elif place.rest is None:
            self._kinds[number] = _NAMES
            if form.tail is not None:
                rest = Place(place.state, place.opening, rest=form.tail, is_behind=True)
                self._behind[number] = self.number(rest)
            elif then is not None and form.ends:
                self._behind[number] = self.enter(then, place.opening)
            elif then is not None:
                self._falls[number] = self.enter(then, place.opening)
        elif not place.is_behind and place.rest.nullable:
            self._falls[number] = self.number(Place(place.state, place.opening))

    def _make(self, number: int) -> None:
        """Write the row of a place."""
        place = self.places[number]
        if place.rest is not None:
            found = [self._in_header(place, place.rest, byte) for byte in range(_BYTES)]
        elif place.markers is None:
            found = self._by_markers(place, MarkerPlace(place.state))
        else:
            found = self._by_markers(place, place.markers)
        self._to[number] = found
        loops = {int(GROUP_NUMBERS[b]) for b in range(_BYTES)}
        loops -= {int(GROUP_NUMBERS[b]) for b in range(_BYTES) if found[b] != number}
        bits = sum(1 << group for group in loops)
        self._loops[number] = bits - (1 << 64) if bits >> 63 else bits

    def _in_header(self, place: Place, rest: Language, byte: int) -> int:
        after = rest.after(byte)
        if after is None:
            return _NOWHERE
        if not after.ends:
            return self.number(place._replace(rest=after))
        if not place.is_behind:
            return self.number(place._replace(rest=None))
        then = self._states[place.state].then
        return _NOWHERE if then is None else self.enter(then, place.opening)

    def _by_markers(self, place: Place, at: MarkerPlace) -> list[int]:
        """Return where each byte leads that is none of a header."""
        begun = {byte for byte in range(_BYTES) if self._lexer.may_begin(at, byte)}
        found: list[int] = []
        usual: dict[bool, int] = {}
        for byte in range(_BYTES):
            is_blank = byte in BLANK_BYTES
            if byte in begun:
                found.append(self._by_marker(place, at, byte))
                continue
            if is_blank not in usual:
                usual[is_blank] = self._by_marker(place, at, byte)
            found.append(usual[is_blank])
        return found

    def _by_marker(self, place: Place, at: MarkerPlace, symbol: int) -> int:
        opening = self._table.opening(place.state, place.opening)
        step = self._lexer.by_markers(at, symbol, opening)
        if step is None:
            return _NOWHERE
        if step.marker:
            return self.enter(step.place.state, place.opening)
        # How much of a marker has been read, only its reader asks.
        begun = dict.fromkeys(replace(each, length=0) for each in step.place.begun)
        markers = MarkerPlace(step.place.state, tuple(begun))
        return self.number(Place(step.place.state, place.opening, markers))

    def _find_special(self, number: int) -> Mapping[int, int]:
        """Return where the special tokens of markers lead from a place; a header has to be whole.

        From a text's end they lead where no more has been completed than before.
        """
        place = self.places[number]
        if place.rest is not None:
            return {}
        at = MarkerPlace(place.state) if place.markers is None else place.markers
        found = {i: self._by_marker(place, at, ID + i) for i in sorted(self._table.known)}
        return {token: to for token, to in found.items() if to != _NOWHERE}

    def is_free(self, number: int) -> bool:
        """Return whether a place is in text that is free."""
        return self._segment(self.places[number]) in FREE_TEXT
