"""Deterministic automata as languages: each state is a language with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex.automata.minimizing import minimal
from enforcer.regex.charset import ALL, union
from enforcer.regex.constructors import ANY, NOTHING
from enforcer.regex.syntax import Named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.regex.automata.exploring import Explored
    from enforcer.regex.charset import CharSet
    from enforcer.regex.syntax import Regex

    Moves = Sequence[tuple[CharSet, int]]


class _Table:
    """The states of an automaton, compared by value."""

    def __init__(self, rows: Iterable[tuple[bool, Moves]]) -> None:
        self.rows = tuple((accepts, tuple(moves)) for accepts, moves in rows)
        self.sets = tuple({members for _, moves in self.rows for members, _ in moves})
        self._hash = hash(self.rows)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Table) and self.rows == other.rows)


@dataclass(frozen=True, slots=True)
class _State:
    table: _Table
    number: int

    @property
    def nullable(self) -> bool:
        return self.table.rows[self.number][0]

    @property
    def sets(self) -> tuple[CharSet, ...]:
        return self.table.sets

    def moves(self) -> tuple[tuple[CharSet, Regex], ...]:
        _, moves = self.table.rows[self.number]
        return tuple((members, _language(self.table, to)) for members, to in moves)


def _language(table: _Table, state: int) -> Regex:
    is_every = table.rows[state] == (True, ((ALL, state),))
    return ANY if is_every else Named(_State(table, state))


def language_of_rows(rows: Iterable[tuple[bool, Moves]], first: int = 0) -> Regex:
    """Return the language of a state.

    Args:
        rows: for each state whether a text may end there, and disjoint sets of characters with the
            states that they lead to.
        first: the state.

    """
    return _language(_Table(rows), first)


def language_of(explored: Explored) -> Regex:
    """Return the language of the first state of an automaton, as the minimal one."""
    least, leads, _ = minimal(explored)
    return language_of_rows(rows_of(least)) if leads[0] else NOTHING


def rows_of(explored: Explored) -> list[tuple[bool, Moves]]:
    """Return for each state whether a text may end there, and its transitions, grouped."""
    rows: list[tuple[bool, Moves]] = []
    for accepts, row in zip(explored.accepts, explored.rows.tolist(), strict=True):
        atoms: dict[int, list[CharSet]] = {}
        for atom, to in zip(explored.atoms, row, strict=True):
            if to >= 0:
                atoms.setdefault(to, []).append(atom)
        rows.append((bool(accepts), [(union(within), to) for to, within in atoms.items()]))
    return rows
