"""Regular languages with intersections and complements, made plain.

Owns: the deterministic automaton of a language, by derivatives, and the equivalent
expression without those operators; both within a budget. Must not know: JSON, schemas,
engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex import NOTHING, Regex, RegexBudget, either, is_empty
from enforcer.regex.constructors import EPSILON, chars, concat, repeat
from enforcer.regex.derivative import successors
from enforcer.regex.elimination import TooLargeError, solve
from enforcer.regex.syntax import Concat, Repeat, Union

if TYPE_CHECKING:
    from enforcer.regex.charset import CharSet


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
    numbers: dict[Regex, int] = {regex: 0}
    alive: dict[Regex, bool] = {}
    queue = [regex]
    found: list[dict[int, CharSet]] = []
    for state in queue:
        moves: dict[int, CharSet] = {}
        for members, after in successors(state):
            if after not in alive:
                alive[after] = not is_empty(after, budget=budget)
            if not alive[after]:
                continue
            if after not in numbers:
                numbers[after] = len(queue)
                queue.append(after)
                if len(queue) > budget:
                    raise RegexBudget(budget)
            target = numbers[after]
            moves[target] = moves[target] | members if target in moves else members
        found.append(moves)
    return tuple(
        State(state.nullable, tuple((members, to) for to, members in moves.items()))
        for state, moves in zip(queue, found, strict=True)
    )


def plain(regex: Regex, budget: int) -> Regex:
    """Write a language without intersections and complements.

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
