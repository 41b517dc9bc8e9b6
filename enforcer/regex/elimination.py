"""Regular expressions of languages without intersections, complements and automata.

Some engines have notations without these operators. Such a language is written by its automaton,
whose states are eliminated one by one (Brzozowski, McCluskey 1963; Arden's rule), within a budget.
Must not know: JSON, schemas, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import minimal
from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, either, repeat
from enforcer.regex.derivative import RegexBudget
from enforcer.regex.syntax import Concat, Repeat, State, Union, transitions

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex


def plain(regex: Regex, budget: int) -> Regex:
    """Write a language without intersections, complements and states.

    Args:
        regex: any language.
        budget: greatest size of the result, and number of states of an automaton on the way.

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
    try:
        found, _, _ = minimal(explore((regex,), budget))
        equations: list[dict[int, Regex]] = [
            {to.number: chars(members) for members, to in transitions(State(found, at))}
            for at in range(len(found.accepts))
        ]
        ends: list[Regex] = [EPSILON if accepts else NOTHING for accepts in found.accepts]
        return _solve(equations, ends, budget)
    except TooLargeError as error:
        raise RegexBudget(budget) from error


def _solve(equations: list[dict[int, Regex]], ends: list[Regex], budget: int) -> Regex:
    """Write the language of the first of some states, each a union of transitions and an end.

    Args:
        equations: for each state the language that leads to each next state; used up.
        ends: for each state the language that leads to the end; used up.
        budget: greatest size of a state's equation on the way.

    Raises:
        TooLargeError: over the budget.

    """
    users: dict[int, set[int]] = {i: set() for i in range(len(equations))}
    for i, equation in enumerate(equations):
        for to in equation:
            users[to].add(i)
    left = set(range(1, len(equations)))
    # The state whose substitution copies least goes first.
    cost = {i: _copied(equations, ends, users[i], i) for i in left}
    while left:
        gone = min(left, key=lambda i: (cost[i], -i))
        left.discard(gone)
        _leave_loop(equations, ends, gone)
        touched = (users[gone] | set(equations[gone])) - {gone}
        for user in users[gone] - {gone}:
            _substitute(equations, ends, user, gone)
            for to in equations[gone]:
                users[to].add(user)
            if ends[user].size + sum(part.size for part in equations[user].values()) > budget:
                raise TooLargeError("an expression over its budget")
        for to in equations[gone]:
            users[to].discard(gone)
        for i in touched & left:
            cost[i] = _copied(equations, ends, users[i], i)
    _leave_loop(equations, ends, 0)
    return ends[0]


def _copied(equations: list[dict[int, Regex]], ends: list[Regex], users: set[int], at: int) -> int:
    """Estimate the growth of the equations when a state is substituted."""
    into = [equations[user][at].size for user in users - {at}]
    out = [part.size for to, part in equations[at].items() if to != at]
    if ends[at] != NOTHING:
        out.append(ends[at].size)
    loop = equations[at][at].size if at in equations[at] else 0
    return (
        sum(into) * (len(out) - 1) + sum(out) * (len(into) - 1) + loop * (len(into) * len(out) - 1)
    )


def _leave_loop(equations: list[dict[int, Regex]], ends: list[Regex], at: int) -> None:
    """Remove a state's transitions to itself: `X = aX | b` is `a*b`."""
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
