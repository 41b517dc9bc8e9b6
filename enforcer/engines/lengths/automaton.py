"""A language of strings as a table, with how far each place is from an end.

Owns: building the table, as JSON that another process reads; one step and many. Must not know: what
is counted, texts, ids.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.regex.charset import partition
from enforcer.regex.derivative import closure, successors
from enforcer.regex.minimal_automaton import TooManyStates, shortest_ends

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.regex import Regex
    from enforcer.regex.charset import CharSet

    Integers = npt.NDArray[np.int32]

_SIZE_PER_STATE = 1_000
_MOST_RANGES = 4_000
_FAR = 1 << 30  # from an end, where there is none


def built(language: Regex, limit: int) -> list[Any]:
    """Build the table of a language, as JSON's values for `Automaton`.

    Args:
        language: one that has a member.
        limit: of states, and of the sizes of their expressions, counted in thousands.

    Raises:
        TooManyStates: there are more.

    """
    spent = 0

    def admit(state: Regex, _: int) -> None:
        nonlocal spent
        spent += 1 + state.size // _SIZE_PER_STATE
        if spent > limit:
            raise TooManyStates(limit)

    states, rows = closure(language, successors, admit)
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


class Automaton:
    """A language of strings; states are numbers, the first of them 0.

    Args:
        rows: what `built` has given.

    Attributes:
        furthest: by state, the most characters that may be missing to the nearest end after any
            beginning from there on.
        weight: bytes that it holds, roughly.

    """

    def __init__(self, rows: list[Any]) -> None:
        self._starts, self._columns, self._moves, ends = rows
        self._least = [_FAR if end is None else end for end in ends]
        self._ascii = [self._column(code) for code in range(128)]
        # For many at once, with one state more that nothing leads out of.
        dead = len(self._moves)
        self._start_array = np.array(self._starts, np.int32)
        self._column_array = np.array(self._columns, np.int32)
        table = np.array([*self._moves, [-1] * len(self._moves[0])], np.int32)
        self._table = np.where(table < 0, dead, table).astype(np.int32)
        self._least_array = np.array([*self._least, _FAR], np.int32)
        self._dead = dead
        self.furthest: list[int] = self._furthest()
        self._within: dict[tuple[int, CharSet], int] = {}
        self.weight = 100 * len(self._starts) + 40 * self._table.size

    def _column(self, code: int) -> int:
        column: int = self._columns[bisect_right(self._starts, code) - 1]
        return column

    def step(self, state: int, char: str) -> int:
        """Give the state after a character; -1 if no member goes on so."""
        code = ord(char)
        column = self._ascii[code] if code < len(self._ascii) else self._column(code)
        after: int = self._moves[state][column]
        return after

    def has(self, state: int) -> bool:
        """Tell whether a state that `run` gave is one, and not where no member goes on."""
        return state < self._dead

    def least(self, state: int) -> int:
        """Say how many characters are missing to the nearest end."""
        return self._least[state]

    def least_behind(self, state: int, members: CharSet) -> int:
        """Say how many are missing after one more character of a set, at the least."""
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

    def run(self, state: int, codes: Integers) -> Integers:
        """Follow many texts of equal length.

        Args:
            state: where all of them begin.
            codes: code points, shape `(texts, characters)`.

        Returns:
            The states, shape `(texts,)`; a number that is none where no member goes on so.

        """
        found = np.full(len(codes), state, np.int32)
        columns = self._column_array[self._start_array.searchsorted(codes, side="right") - 1]
        for column in columns.T:
            found = self._table[found, column]
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
