"""Deterministic automaton of a format around the texts of its calls; see `enforcer.kernel.turn`.

Owns: its places, each made when a turn first comes there, and where special tokens lead. Must not
know: which names a request has, schemas, masks.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from enforcer import kernel
from enforcer.machine.byte_groups import GROUP_NUMBERS
from enforcer.turn.dialect import Segment
from enforcer.turn.lexer import BLANK_BYTES, Place
from enforcer.turn.pattern import ID

_Whole = TypeVar("_Whole", bound=np.signedinteger | np.unsignedinteger)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    import numpy.typing as npt

    from enforcer.turn.bits import Sparse
    from enforcer.turn.header import HeaderForm
    from enforcer.turn.lexer import Lexer, Opening
    from enforcer.turn.pattern import Language

_PLACES = 64  # for which there is room at first
_NOWHERE, _UNKNOWN = -1, -2  # as in `enforcer.kernel.turn`
_BETWEEN, _NAMES, _TEXT, _CONTENT = range(4)
_BYTES = 256
_ALL = frozenset(range(_BYTES)) - BLANK_BYTES


class AroundPlace(NamedTuple):
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
    markers: Place | None = None
    rest: Language | None = None
    is_behind: bool = False


class Around:
    """The places of a format bound to a vocabulary, by number.

    Args:
        lexer: reads markers.
        form: of headers.
        closed: closes what leads to no call; see `Table.opening`.
        special: the token ids of special tokens in markers.

    Attributes:
        native: the automaton of the kernel.
        places: by number.
        rows: the mask rows that no request changes, by number.
        behind: int32, by the number of a place of names the one behind a whole name; -1 for none.

    """

    def __init__(
        self,
        lexer: Lexer,
        form: HeaderForm,
        closed: Callable[[str, Opening], Opening],
        special: Collection[int],
    ) -> None:
        self._lexer = lexer
        self._form = form
        self._closed = closed
        self._special = sorted(special)
        self._states = lexer.dialect.states
        self._numbers: dict[AroundPlace, int] = {}
        self.places: list[AroundPlace] = []
        self.rows: dict[int, Sparse] = {}
        self.native = kernel.Around(self._make)
        self.special = lru_cache(None)(self._find_special)
        self._only = lru_cache(None)(self._find_only)
        self._lock = RLock()  # of the arrays, which every thread may extend
        self._to = np.zeros((0, _BYTES), np.int32)
        self._kinds = np.zeros(0, np.uint8)
        self._falls = self.behind = np.zeros(0, np.int32)
        self._loops = np.zeros(0, np.int64)
        self._taken = np.zeros(0, np.int32)
        self._grow(_PLACES)

    def _grow(self, count: int) -> None:
        """Make room for places; the arrays of the kernel are these."""
        self._to = _longer(self._to, count)
        self._kinds, self._falls = _longer(self._kinds, count), _longer(self._falls, count)
        self.behind, self._loops = _longer(self.behind, count), _longer(self._loops, count)
        self._taken = _longer(self._taken, count)
        flat, kinds = self._to.reshape(-1), self._kinds
        self.native.set_arrays(flat, kinds, self._falls, self.behind, self._loops, self._taken)

    def number(self, place: AroundPlace) -> int:
        """Return the number of a place."""
        found = self._numbers.get(place)
        return self._add(place) if found is None else found

    def _add(self, place: AroundPlace) -> int:
        with self._lock:
            if place in self._numbers:  # another thread was quicker
                return self._numbers[place]
            found = len(self.places)
            if found == len(self._kinds):
                self._grow(2 * found)
            self.places.append(place)
            self._describe(found, place)
            self._numbers[place] = found
            return found

    def enter(self, state: str, opening: Opening) -> int:
        """Return the place at the beginning of a state."""
        segment = self._states[state].segment
        if segment is Segment.ARGUMENTS:
            return self.number(AroundPlace(state, opening))
        if segment is Segment.HEADER:
            return self.number(AroundPlace(state, opening, rest=self._form.head))
        return self.number(AroundPlace(state, opening, Place(state)))

    def _segment(self, place: AroundPlace) -> Segment:
        return self._states[place.state].segment

    def _describe(self, number: int, place: AroundPlace) -> None:
        """Write what a place is, without its row."""
        form, then = self._form, self._states[place.state].then
        if place.markers is not None:
            free = self._segment(place) is Segment.CONTENT
            self._kinds[number] = _CONTENT if free else _BETWEEN
        elif self._segment(place) is Segment.ARGUMENTS:
            self._kinds[number] = _TEXT
        elif place.rest is None:
            self._kinds[number] = _NAMES
            if form.tail is not None:
                rest = AroundPlace(place.state, place.opening, rest=form.tail, is_behind=True)
                self.behind[number] = self.number(rest)
            elif then is not None and form.ends:
                self.behind[number] = self.enter(then, place.opening)
            elif then is not None:
                self._falls[number] = self.enter(then, place.opening)
        elif not place.is_behind and place.rest.nullable:
            self._falls[number] = self.number(AroundPlace(place.state, place.opening))

    def _make(self, number: int) -> None:
        """Write the row of a place."""
        with self._lock:
            self._write_row(number, self.places[number])

    def _write_row(self, number: int, place: AroundPlace) -> None:
        if place.rest is not None:
            found = [self._in_header(place, place.rest, byte) for byte in range(_BYTES)]
        elif place.markers is None:
            found = self._by_markers(place, Place(place.state))
        else:
            found = self._by_markers(place, place.markers)
        loops = {int(GROUP_NUMBERS[b]) for b in range(_BYTES)}
        loops -= {int(GROUP_NUMBERS[b]) for b in range(_BYTES) if found[b] != number}
        bits = sum(1 << group for group in loops)
        self._loops[number] = bits - (1 << 64) if bits >> 63 else bits
        self._to[number] = found  # last: with it, other threads take the row for made

    def _in_header(self, place: AroundPlace, rest: Language, byte: int) -> int:
        after = rest.after(byte)
        if after is None:
            return _NOWHERE
        if not after.ends:
            return self.number(place._replace(rest=after))
        if not place.is_behind:
            return self.number(place._replace(rest=None))
        then = self._states[place.state].then
        return _NOWHERE if then is None else self.enter(then, place.opening)

    def _by_markers(self, place: AroundPlace, at: Place) -> list[int]:
        """Return where each byte leads that is none of a header."""
        begun = self._lexer.marker_bytes(at)
        usual = {
            is_blank: self._by_marker(place, at, byte)
            for is_blank, byte in ((True, _usual(BLANK_BYTES, begun)), (False, _usual(_ALL, begun)))
            if byte is not None
        }
        return [
            self._by_marker(place, at, byte) if byte in begun else usual[byte in BLANK_BYTES]
            for byte in range(_BYTES)
        ]

    def _by_marker(self, place: AroundPlace, at: Place, symbol: int) -> int:
        opening = self._closed(place.state, place.opening)
        step = self._lexer.by_markers(at, symbol, opening)
        if step is None:
            return _NOWHERE
        if step.marker:
            return self.enter(step.place.state, place.opening)
        # How much of a marker has been read, only the parser asks; explanations, whether any has.
        begun = dict.fromkeys(replace(each, length=1) for each in step.place.begun)
        markers = Place(step.place.state, tuple(begun))
        return self.number(AroundPlace(step.place.state, place.opening, markers))

    def _find_special(self, number: int) -> Mapping[int, int]:
        """Return where the special tokens of markers lead from a place; a header has to be whole.

        From a text's end they lead where no more has been completed than before.
        """
        place = self.places[number]
        if place.rest is not None:
            return {}
        at = Place(place.state) if place.markers is None else place.markers
        found = {i: self._by_marker(place, at, ID + i) for i in self._special}
        return {token: to for token, to in found.items() if to != _NOWHERE}

    def warm(self, openings: Iterable[Opening]) -> None:
        """Make the places that the first turns would wait for."""
        for state in self._states:
            for opening in openings:
                self._make(self.enter(state, opening))

    def begins_text(self, number: int) -> bool:
        """Return whether the arguments of a call begin at a place."""
        return bool(self._kinds[number] == _TEXT)

    def begins_names(self, number: int) -> bool:
        """Return whether the names of tools are read at a place."""
        return bool(self._kinds[number] == _NAMES)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Forget afterwards which bytes were read, as no model has written them."""
        known = self._taken.copy()
        try:
            yield
        finally:
            self._taken[: len(known)] = known

    def likely(self, number: int, *, is_guess: bool) -> tuple[int, int] | None:
        """Return the symbol that likely comes next at a place, and where it leads; None for none.

        It is the byte that was read there last; where none was, the only symbol that is no white
        space. It is less than 0 where a header goes on without one. Of free content nothing is
        likely, nor behind the turn's end.

        Args:
            number: of the place.
            is_guess: whether there may be others than white space and it.

        """
        byte, kind = int(self._taken[number]), self._kinds[number]
        if byte >= 0 and kind not in (_NAMES, _CONTENT) and (is_guess or byte in BLANK_BYTES):
            to = int(self._to[number, byte])
            if 0 <= to != number:
                return byte, to
        return self._only(number, is_guess=is_guess and kind != _CONTENT)

    def _find_only(self, number: int, *, is_guess: bool) -> tuple[int, int] | None:
        if self._to[number, 0] == _UNKNOWN:
            self._make(number)
        if self.places[number].state == self._lexer.dialect.final:
            return None
        legal = [(byte, int(to)) for byte, to in enumerate(self._to[number]) if to >= 0]
        found = [step for step in legal if step[0] not in BLANK_BYTES]
        found += [(ID + token, to) for token, to in self.special(number).items()]
        if len(found) > 1 and is_guess:  # no further call
            header = Segment.HEADER
            found = [step for step in found if self._segment(self.places[step[1]]) is not header]
        if not found and self._falls[number] >= 0:
            return -1, int(self._falls[number])
        found = found or legal
        return found[0] if len(found) == 1 else None


def _longer(table: npt.NDArray[_Whole], count: int) -> npt.NDArray[_Whole]:
    """Return a table with more rows, of -1 or in a row of bytes `_UNKNOWN`."""
    more = np.full((count, *table.shape[1:]), _UNKNOWN if table.ndim > 1 else -1, np.int64)
    found = more.astype(table.dtype)
    found[: len(table)] = table
    return found


def _usual(some: frozenset[int], others: Collection[int]) -> int | None:
    """Return one of some bytes that is none of others; None if there is none."""
    return next((byte for byte in sorted(some) if byte not in others), None)
