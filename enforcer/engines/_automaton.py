"""Regular languages with intersections and complements, made plain.

Owns: the deterministic automaton of a language, by derivatives, and the equivalent
expression without those operators, by elimination of states; both within a budget. Must
not know: JSON, schemas, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex import NOTHING, Regex, RegexBudget, either, is_empty, literal
from enforcer.regex.build import chars, concat, repeat
from enforcer.regex.derivative import successors
from enforcer.regex.syntax import Concat, Repeat, Union

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    return _eliminate(automaton(regex, budget), budget)


def _eliminate(states: tuple[State, ...], budget: int) -> Regex:
    equations = [{to: chars(members) for members, to in state.moves} for state in states]
    ends = [literal("") if state.accepting else NOTHING for state in states]
    # Each state is the union of its end and of its moves before other states. The state
    # whose substitution copies least goes first.
    users: dict[int, set[int]] = {i: set() for i in range(len(states))}
    for i, equation in enumerate(equations):
        for to in equation:
            users[to].add(i)
    left = set(range(1, len(states)))
    cost = {i: _copied(equations, ends, users[i], i) for i in left}
    while left:
        gone = min(left, key=lambda i: (cost[i], -i))
        left.discard(gone)
        _solve(equations, ends, gone)
        touched = (users[gone] | set(equations[gone])) - {gone}
        for user in users[gone] - {gone}:
            _substitute(equations, ends, user, gone)
            for to in equations[gone]:
                users[to].add(user)
            if _size(equations[user], ends[user]) > budget:
                raise RegexBudget(budget)
        for to in equations[gone]:
            users[to].discard(gone)
        for i in touched & left:
            cost[i] = _copied(equations, ends, users[i], i)
    _solve(equations, ends, 0)
    return ends[0]


def _copied(equations: list[dict[int, Regex]], ends: list[Regex], users: set[int], at: int) -> int:
    """Estimate by how much the equations grow when a state is substituted."""
    into = [equations[user][at].size for user in users - {at}]
    out = [part.size for to, part in equations[at].items() if to != at]
    if ends[at] != NOTHING:
        out.append(ends[at].size)
    loop = equations[at][at].size if at in equations[at] else 0
    return (
        sum(into) * (len(out) - 1) + sum(out) * (len(into) - 1) + loop * (len(into) * len(out) - 1)
    )


def _solve(equations: list[dict[int, Regex]], ends: list[Regex], at: int) -> None:
    """Remove a state's moves to itself: `X = aX | b` is `a*b`."""
    loop = equations[at].pop(at, None)
    if loop is None:
        return
    around = repeat(loop, 0, None)
    equations[at] = {to: concat(around, before) for to, before in equations[at].items()}
    ends[at] = concat(around, ends[at])


def _substitute(equations: list[dict[int, Regex]], ends: list[Regex], user: int, gone: int) -> None:
    before = equations[user].pop(gone)
    for to, rest in equations[gone].items():
        step = concat(before, rest)
        known = equations[user].get(to)
        equations[user][to] = step if known is None else either(known, step)
    ends[user] = either(ends[user], concat(before, ends[gone]))


def _size(equation: Mapping[int, Regex], end: Regex) -> int:
    return end.size + sum(part.size for part in equation.values())
