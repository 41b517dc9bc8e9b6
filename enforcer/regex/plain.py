"""Regular languages without intersections, complements and names, for whoever cannot write these.

Owns: the deterministic automaton of a language, by derivatives, and the equivalent expression
without those operators; both within a budget. Must not know: JSON, schemas, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, either, repeat
from enforcer.regex.derivative import RegexBudget, closure, successors
from enforcer.regex.elimination import TooLargeError, solve
from enforcer.regex.minimal_automaton import shortest_ends
from enforcer.regex.syntax import Concat, Repeat, Union

if TYPE_CHECKING:
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
    """Build the automaton of a language; every state but the first leads on to acceptance.

    Raises:
        RegexBudget: more states than the budget, those that lead nowhere included.

    """

    def admit(_: Regex, before: int) -> None:
        if before >= budget:
            raise RegexBudget(budget)

    states, rows = closure(regex, successors, admit)
    ends = shortest_ends([state.nullable for state in states], rows)
    alive = {at for at, end in enumerate(ends) if end is not None}
    numbers = {at: number for number, at in enumerate(sorted(alive | {0}))}
    found = []
    for at in numbers:
        moves: dict[int, CharSet] = {}
        for members, to in rows[at]:
            if to in alive:
                number = numbers[to]
                moves[number] = moves[number] | members if number in moves else members
        merged = tuple((members, to) for to, members in moves.items())
        found.append(State(states[at].nullable, merged))
    return tuple(found)


def plain(regex: Regex, budget: int, *, states: int | None = None) -> Regex:
    """Write a language without intersections, complements and names.

    Args:
        regex: any language.
        budget: greatest size of the result.
        states: greatest number of states of an automaton on the way; as large if None.

    Raises:
        RegexBudget: over the budget.

    """
    if not regex.boolean:
        return regex
    if isinstance(regex, Concat):
        return concat(*(plain(part, budget, states=states) for part in regex.parts))
    if isinstance(regex, Union):
        return either(*(plain(part, budget, states=states) for part in regex.parts))
    if isinstance(regex, Repeat):
        return repeat(plain(regex.part, budget, states=states), regex.minimum, regex.maximum)
    found = automaton(regex, budget if states is None else states)
    equations: list[dict[int, Regex]] = [
        {to: chars(members) for members, to in state.moves} for state in found
    ]
    ends: list[Regex] = [EPSILON if state.accepting else NOTHING for state in found]
    try:
        return solve(equations, ends, budget)
    except TooLargeError as error:
        raise RegexBudget(budget) from error
