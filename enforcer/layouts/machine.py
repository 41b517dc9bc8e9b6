"""The automaton that reads a text of pairs, keys and raw values, over symbols.

Owns: where in a pair a reader stands, for every symbol that may come; a value ends at the first
occurrence of its stop. Must not know: what keys and values mean.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.layouts.pattern import ID, Field, Space

if TYPE_CHECKING:
    from enforcer.layouts.pattern import Piece

Places = frozenset[int]
_SPACE, _TAB, _RETURN, _LINE = b" \t\r\n"
_VALUE = "value"


class Machine:
    """Places between symbols, and the moves from each; compared by identity.

    Attributes:
        start: where a text begins.
        final: the place where a text may end.
        ends_itself: whether nothing can follow there.
        behind: the place behind a value's stop.
        field: name of the field that a place is inside of.
        matched: how many symbols of the stop a place is behind.

    """

    def __init__(self, pair: tuple[Piece, ...], close: tuple[Piece, ...]) -> None:
        self._moves: list[dict[int, list[int]]] = []
        self._loops: list[int | None] = []  # the symbol that ends the loop; -1 for any id
        self._free: list[list[int]] = []  # places that a place is at the same time
        self.field: dict[int, str] = {}
        self.matched: dict[int, int] = {}
        between = self._place()
        self.behind = self._chain(between, pair)
        self._free[self.behind].append(between)
        self.final = self._chain(between, close)
        self.ends_itself = any(isinstance(piece, int) for piece in close)
        self.start = self._closure({between})
        self._steps: dict[tuple[Places, int], Places | None] = {}
        self._fields: dict[Places, str] = {}

    def step(self, places: Places, symbol: int) -> Places | None:
        """Go on by a symbol; None if it cannot stand there."""
        key = (places, symbol)
        if key not in self._steps:
            self._steps[key] = self._step(places, symbol)
        return self._steps[key]

    def field_at(self, places: Places) -> str:
        """Name the field that places are inside of; empty if they are in none."""
        found = self._fields.get(places)
        if found is None:
            found = next((self.field[each] for each in places if each in self.field), "")
            self._fields[places] = found
        return found

    def _step(self, places: Places, symbol: int) -> Places | None:
        found: set[int] = set()
        for place in places:
            found.update(self._moves[place].get(symbol, ()))
            ends = self._loops[place]
            if ends is not None and symbol < ID and symbol != ends:
                found.add(place)
        if self.behind in found:  # the first stop ends a value
            found = {self.behind}
        return self._closure(found) if found else None

    def _closure(self, places: set[int]) -> Places:
        todo, seen = list(places), set(places)
        while todo:
            for other in self._free[todo.pop()]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return frozenset(seen)

    def _place(self) -> int:
        self._moves.append({})
        self._loops.append(None)
        self._free.append([])
        return len(self._moves) - 1

    def _move(self, place: int, symbol: int, to: int) -> int:
        self._moves[place].setdefault(symbol, []).append(to)
        return to

    def _chain(self, place: int, pieces: tuple[Piece, ...]) -> int:
        """Add places for pieces behind a place; gives the last one."""
        for at, piece in enumerate(pieces):
            if isinstance(piece, Space):
                place = self._space(place)
            elif isinstance(piece, Field):
                place = self._field(place, piece.name, pieces[at + 1 :])
            elif isinstance(piece, int):
                stop = self.matched.get(place)
                place = self._move(place, piece, self._place())
                if stop is not None:
                    self.matched[place] = stop + 1
            else:
                raise TypeError("one of some words where one text should stand")
        return place

    def _field(self, place: int, name: str, behind: tuple[Piece, ...]) -> int:
        inside = self._place()
        self._free[place].append(inside)
        self.field[inside] = name
        ends = behind[0] if behind and isinstance(behind[0], int) else None
        self._loops[inside] = -1 if name == _VALUE or ends is None else ends
        if name == _VALUE:
            self.matched[inside] = 0
        return inside

    def _space(self, place: int) -> int:
        after, feed, indented = self._place(), self._place(), self._place()
        self._free[place].append(after)
        self._move(place, _SPACE, after)
        self._move(place, _LINE, indented)
        self._move(self._move(place, _RETURN, feed), _LINE, indented)
        for blank in (_SPACE, _TAB):
            self._move(indented, blank, indented)
        self._free[indented].append(after)
        return after


machine = lru_cache(maxsize=256)(Machine)  # one for each layout
