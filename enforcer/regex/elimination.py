"""Automata written as regular expressions.

Owns: merging states of deterministic ones that no text tells apart (Moore 1956), and eliminating
states one by one (Brzozowski, McCluskey 1963; Arden's rule).
Must not know: where the automata come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex.charset import union
from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, either, repeat

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from enforcer.regex.charset import CharSet
    from enforcer.regex.syntax import Regex

_STATES = 80
_SIZE = 50_000


class TooLargeError(Exception):
    """The expression would be over its limit."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A complete deterministic automaton; state 0 is the first.

    Attributes:
        letters: a partition of all characters.
        edges: for each state, the next state for each of the letters.
        accepting: for each state, whether a text may end there.

    """

    letters: tuple[CharSet, ...]
    edges: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]


def to_regex(automaton: Automaton) -> Regex:
    """Write the language of an automaton as an expression.

    Raises:
        TooLargeError: too many states are left after merging, or it grows too large.

    """
    merged = _minimal(automaton)
    live = _live(merged)
    if len(live) > _STATES:
        raise TooLargeError
    numbers = {state: at for at, state in enumerate(sorted(live | {0}))}
    equations: list[dict[int, Regex]] = []
    for source in numbers:
        into: dict[int, list[CharSet]] = {}
        for letter, target in zip(merged.letters, merged.edges[source], strict=True):
            if target in live:
                into.setdefault(numbers[target], []).append(letter)
        equations.append({to: chars(union(letters)) for to, letters in into.items()})
    ends: list[Regex] = [EPSILON if merged.accepting[source] else NOTHING for source in numbers]
    return solve(equations, ends, _SIZE)


def solve(equations: list[dict[int, Regex]], ends: list[Regex], budget: int) -> Regex:
    """Write the language of the first of some states, each the union of moves and an end.

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
                raise TooLargeError
        for to in equations[gone]:
            users[to].discard(gone)
        for i in touched & left:
            cost[i] = _copied(equations, ends, users[i], i)
    _leave_loop(equations, ends, 0)
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


def _leave_loop(equations: list[dict[int, Regex]], ends: list[Regex], at: int) -> None:
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


def _minimal(automaton: Automaton) -> Automaton:
    """Merge the states that accept the same texts."""
    edges = automaton.edges
    block = told_apart(automaton.accepting, lambda at, now: tuple(now[to] for to in edges[at]))
    count = len(set(block))
    one_of = {number: state for state, number in enumerate(block)}
    return Automaton(
        automaton.letters,
        tuple(tuple(block[t] for t in automaton.edges[one_of[b]]) for b in range(count)),
        tuple(automaton.accepting[one_of[b]] for b in range(count)),
    )


def told_apart(
    accepting: Sequence[bool], ahead: Callable[[int, Sequence[int]], Hashable]
) -> list[int]:
    """Give states numbers, the same to those that no text tells apart.

    Args:
        accepting: for each state, whether a text may end there.
        ahead: gives where a state leads, by the numbers that states have so far.

    """
    found = [int(each) for each in accepting]
    count = 0
    while True:
        numbers: dict[Hashable, int] = {}
        found = [
            numbers.setdefault((found[at], ahead(at, found)), len(numbers))
            for at in range(len(found))
        ]
        if len(numbers) == count:
            return found
        count = len(numbers)


def _live(automaton: Automaton) -> set[int]:
    """Find the states from which some text is accepted."""
    live = {state for state, accepts in enumerate(automaton.accepting) if accepts}
    while True:
        found = {s for s, row in enumerate(automaton.edges) if not live.isdisjoint(row)}
        if found <= live:
            return live
        live |= found
