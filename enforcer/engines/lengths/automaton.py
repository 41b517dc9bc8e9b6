"""A language of strings as a table, with how far each place is from an end.

Owns: building the table, as JSON that another process reads; one step and many. Must not know: what
is counted, texts, ids.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.regex.charset import partition
from enforcer.regex.minimal_automaton import TooManyStates, explored, shortest_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.regex import Regex
    from enforcer.regex.charset import CharSet

    Integers = npt.NDArray[np.int32]
    Masked = tuple[npt.NDArray[np.int64], Integers | None]

_MOST_RANGES = 4_000
_FAR = 1 << 30  # from an end, where there is none
_KEPT = 1_500_000  # bytes
_ENTRY = 400


def built(language: Regex, limit: int) -> list[Any]:
    """Build the table of a language, as JSON's values for `Automaton`.

    Args:
        language: one that has a member.
        limit: of states, and of the sizes of their expressions, counted in thousands.

    Raises:
        TooManyStates: there are more.

    """
    states, rows = explored(language, limit)
    classes = partition(members for row in rows for members, _ in row)
    ranges = sorted((low, number) for number, each in enumerate(classes) for low, _ in each.ranges)
    if len(ranges) > _MOST_RANGES:
        raise TooManyStates(limit)
    ends = shortest_ends([state.nullable for state in states], rows)
    moves = [
        [next((to for m, to in row if each.first in m and ends[to] is not None), -1)
         for each in classes]
        for row in rows
    ]  # fmt: skip
    return [[low for low, _ in ranges], [column for _, column in ranges], moves, ends]


def joined(parts: Sequence[tuple[Sequence[Any], int]], limit: int) -> list[Any]:
    """Build the table of several languages together, whose members may have more characters.

    It is the product of their automata (Rabin, Scott 1959). An end is as far away as the nearest
    of a language, less what its members may have more, plus the most that any may.

    Args:
        parts: the tables, and how many characters more each language's members may have.
        limit: of states.

    Raises:
        TooManyStates: there are more.

    """
    most = max(more for _, more in parts)
    lows = sorted({low for (starts, *_), _ in parts for low in starts})
    classes: dict[tuple[int, ...], int] = {}
    columns = []
    for low in lows:
        found = tuple(of[bisect_right(starts, low) - 1] for (starts, of, *_), _ in parts)
        columns.append(classes.setdefault(found, len(classes)))
    order: list[tuple[int, ...]] = [(0,) * len(parts)]
    numbers = {order[0]: 0}
    moves, ends = [], []
    for states in order:  # grows while it is gone through
        row = []
        for kinds in classes:
            to = tuple(
                table[2][state][kind] if state >= 0 else -1
                for (table, _), state, kind in zip(parts, states, kinds, strict=True)
            )
            if max(to) < 0:
                row.append(-1)
                continue
            if to not in numbers:
                if len(order) >= limit:
                    raise TooManyStates(limit)
                numbers[to] = len(order)
                order.append(to)
            row.append(numbers[to])
        moves.append(row)
        least = (
            table[3][state] - more
            for (table, more), state in zip(parts, states, strict=True)
            if state >= 0
        )
        ends.append(min(least) + most)
    return [lows, columns, moves, ends]


class Automaton:
    """A language of strings; states are numbers, the first of them 0.

    Args:
        rows: what `built` has given.

    Attributes:
        furthest: by state, the most characters that may be missing to the nearest end after any
            beginning from there on.
        weight: bytes that it holds, roughly.
        kept: which ids are masked, by a state and how many characters may still come: some that
            are, and a mask of those that are not, if there is one.

    """

    def __init__(self, rows: list[Any]) -> None:
        self._starts, self._columns, self._moves, ends = rows
        self._least = [_FAR if end is None else end for end in ends]
        self._ascii = [self._column(code) for code in range(128)]
        # For many at once, with one state more that nothing leads out of.
        dead = len(self._moves)
        self._start_array = np.array(self._starts, np.int32)
        self._column_array = np.array(self._columns, np.int32)
        self._width = len(self._moves[0])
        table = np.array([*self._moves, [-1] * self._width], np.int32)
        self._table = np.where(table < 0, dead, table).astype(np.int32)
        self._flat = self._table.ravel()
        # One value, for threads share this: codes and columns that belong together.
        self._looked_up = (self._start_array, self._column_array)
        self._least_array = np.array([*self._least, _FAR], np.int32)
        self._dead = dead
        self.furthest: list[int] = self._furthest()
        self._within: dict[tuple[int, CharSet], int] = {}
        self.kept: dict[tuple[int, int], Masked] = {}
        self._kept_bytes = 0
        self.weight = 100 * len(self._starts) + 40 * self._table.size + _KEPT

    def _column(self, code: int) -> int:
        column: int = self._columns[bisect_right(self._starts, code) - 1]
        return column

    def step(self, state: int, char: str) -> int:
        """Give the state after a character; -1 if no member goes on so."""
        code = ord(char)
        column = self._ascii[code] if code < len(self._ascii) else self._column(code)
        after: int = self._moves[state][column]
        return after

    def least(self, state: int) -> int:
        """Say how many characters are missing to the nearest end."""
        return self._least[state]

    def least_behind(self, state: int, members: CharSet) -> int:
        """Say how many are missing after one more character of a set, at the least."""
        if state >= self._dead:
            return _FAR
        key = (state, members)
        if key not in self._within:
            found = _FAR
            for low, high in members.ranges:
                first = bisect_right(self._starts, low) - 1
                for at in range(first, bisect_right(self._starts, high)):
                    after = self._moves[state][self._columns[at]]
                    found = found if after < 0 else min(found, self._least[after])
            self._within[key] = found
        return self._within[key]

    def columns_of(self, codes: Integers) -> Integers:
        """Give what `run` wants to know of some code points; asked for the same ones each time."""
        asked, found = self._looked_up
        if asked is not codes:
            at = self._start_array.searchsorted(codes, side="right") - 1
            found = self._column_array[at]
            self._looked_up = (codes, found)
        return found

    def run(self, state: int | Integers, columns: Integers, texts: Integers) -> Integers:
        """Follow many texts of equal length.

        Args:
            state: where all of them begin, or each.
            columns: what `columns_of` gave of all characters that there are.
            texts: numbers of these characters, shape `(characters, texts)`.

        Returns:
            The states, shape `(texts,)`; a number that is none where no member goes on so.

        """
        found = np.full(texts.shape[1], state, np.int32)
        for characters in texts:
            found = self._flat[found * self._width + columns[characters]]
        return found

    def after(self, state: int, codes: Integers) -> Integers:
        """Give the states after each of many characters, as `run` does."""
        columns = self._column_array[self._start_array.searchsorted(codes, side="right") - 1]
        found: Integers = self._table[state][columns]
        return found

    def least_within(self, state: int, low: Integers, high: Integers) -> Integers:
        """Say what `least_behind` says, of many ranges of code points, none of them surrogates."""
        least = self._least_array[self._table[state][self._column_array]]
        first = self._start_array.searchsorted(low, side="right") - 1
        behind = self._start_array.searchsorted(high, side="right")
        if not len(first):
            return first.astype(np.int32)
        ends = np.stack([first, behind], axis=1).ravel()
        found: Integers = np.minimum.reduceat(np.append(least, _FAR), ends)[::2]
        return found

    def keep(
        self, state: int, left: int, ids: npt.NDArray[np.int64], row: Integers | None
    ) -> Masked:
        """Keep which ids are masked in a state with so many characters left; gives it."""
        self._kept_bytes += _ENTRY + ids.nbytes + (0 if row is None else row.nbytes)
        if self._kept_bytes > _KEPT:
            self.kept.clear()
            self._kept_bytes = 0
        found = self.kept[state, left] = (ids, row)
        return found

    def least_of(self, states: Integers) -> Integers:
        """Say of states that `run` gave what `least` says of one; very many if it is none."""
        return self._least_array[states]

    def _furthest(self) -> list[int]:
        found = self._least_array.copy()
        found[self._dead] = 0
        grown = True
        while grown:
            after = np.maximum(found, found[self._table].max(axis=1, initial=0))
            grown = bool((after != found).any())
            found = after
        return [int(each) for each in found[: self._dead]]
