"""Regular languages with intersections, complements and names, made plain.

Owns: the deterministic automaton of a language, by derivatives, and the equivalent
expression without those operators; both within a budget. Must not know: JSON, schemas,
engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, either, repeat
from enforcer.regex.derivative import RegexBudget, closure, is_empty, successors
from enforcer.regex.elimination import TooLargeError, solve
from enforcer.regex.syntax import Concat, Repeat, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.regex.charset import CharSet
    from enforcer.regex.syntax import Regex


@dataclass(frozen=True, slots=True)
class State:
    """One state; state 0 is the initial one.

    Attributes:
        accepting: whether the text may end here.
        moves: disjoint sets of characters and the states that they lead to.

    """

    accepting: bool
    moves: tuple[tuple[CharSet, int], ...]


def automaton(regex: Regex, budget: int) -> tuple[State, ...]:
    """Build the automaton of a language; every state leads on to acceptance.

    Raises:
        RegexBudget: more states than the budget.

    """
    alive: dict[Regex, bool] = {}

    def live_moves(state: Regex) -> Iterator[tuple[CharSet, Regex]]:
        for members, after in successors(state):
            if after not in alive:
                alive[after] = not is_empty(after, budget=budget)
            if alive[after]:
                yield members, after

    def admit(_: Regex, before: int) -> None:
        if before >= budget:
            raise RegexBudget(budget)

    states, rows = closure(regex, live_moves, admit)
    return tuple(
        State(state.nullable, _merged(row)) for state, row in zip(states, rows, strict=True)
    )


def _merged(moves: list[tuple[CharSet, int]]) -> tuple[tuple[CharSet, int], ...]:
    """Join the moves that lead to one state."""
    found: dict[int, CharSet] = {}
    for members, to in moves:
        found[to] = found[to] | members if to in found else members
    return tuple((members, to) for to, members in found.items())


def plain(regex: Regex, budget: int) -> Regex:
    """Write a language without intersections, complements and names.

    Args:
        regex: any language.
        budget: greatest number of states, and greatest size of the result.

    Raises:
        RegexBudget: over the budget.

    """
    if not regex.boolean:
        return regex
    if isinstance(regex, Concat):
        return concat(*(plain(part, budget) for part in regex.parts))
    if isinstance(regex, Union):
        return either(*(plain(part, budget) for part in regex.parts))
    if isinstance(regex, Repeat):
        return repeat(plain(regex.part, budget), regex.minimum, regex.maximum)
    states = automaton(regex, budget)
    equations: list[dict[int, Regex]] = [
        {to: chars(members) for members, to in state.moves} for state in states
    ]
    ends: list[Regex] = [EPSILON if state.accepting else NOTHING for state in states]
    try:
        return solve(equations, ends, budget)
    except TooLargeError as error:
        raise RegexBudget(budget) from error
