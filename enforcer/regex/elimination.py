"""Deterministic automata written as regular expressions.

Owns: merging states that no text tells apart, and eliminating states one by one.
Must not know: where the automata come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex.build import EPSILON, NOTHING, chars, concat, either, repeat

if TYPE_CHECKING:
    from enforcer.regex.charset import CharSet
    from enforcer.regex.syntax import Regex

_STATES = 80
_SIZE = 50_000


class TooLargeError(Exception):
    """The expression would be over its limit."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton; state 0 is the first.

    Attributes:
        edges: for each state, the next states and the characters that lead to each.
        accepting: for each state, whether a text may end there.

    """

    edges: tuple[dict[int, CharSet], ...]
    accepting: tuple[bool, ...]


def to_regex(automaton: Automaton) -> Regex:
    """Write the language of an automaton as an expression.

    Raises:
        TooLargeError: too many states are left after merging, or it grows too large.

    """
    merged = _without_dead(_minimal(automaton))
    count = len(merged.edges)
    if count > _STATES:
        raise TooLargeError
    first, last = count, count + 1
    paths: dict[tuple[int, int], Regex] = {(first, 0): EPSILON}
    for source, row in enumerate(merged.edges):
        for target, members in row.items():
            paths[source, target] = chars(members)
        if merged.accepting[source]:
            paths[source, last] = EPSILON
    left = set(range(count))
    while left:
        state = min(left, key=lambda s: (_cost(paths, s), s))
        left.remove(state)
        _eliminate(paths, state)
    return paths.get((first, last), NOTHING)


def _cost(paths: dict[tuple[int, int], Regex], state: int) -> int:
    """Estimate how much the expression grows if this state goes."""
    into = [p.size for (s, t), p in paths.items() if t == state != s]
    out = [p.size for (s, t), p in paths.items() if s == state != t]
    loop = paths.get((state, state), EPSILON).size
    return len(out) * sum(into) + len(into) * sum(out) + len(into) * len(out) * loop


def _eliminate(paths: dict[tuple[int, int], Regex], state: int) -> None:
    into = {s: p for (s, t), p in paths.items() if t == state != s}
    out = {t: p for (s, t), p in paths.items() if s == state != t}
    loop = repeat(paths.get((state, state), NOTHING), 0, None)
    for pair in [pair for pair in paths if state in pair]:
        del paths[pair]
    for source, before in into.items():
        for target, after in out.items():
            through = concat(before, loop, after)
            found = either(paths.get((source, target), NOTHING), through)
            if found.size > _SIZE:
                raise TooLargeError
            paths[source, target] = found


def _minimal(automaton: Automaton) -> Automaton:
    """Merge the states that accept the same texts."""
    block = [int(accepts) for accepts in automaton.accepting]
    count = len(set(block))
    while True:
        signatures: dict[object, int] = {}
        refined = []
        for state, row in enumerate(automaton.edges):
            signature = (block[state], frozenset(_by_block(row, block).items()))
            refined.append(signatures.setdefault(signature, len(signatures)))
        block = refined
        if len(signatures) == count:
            break
        count = len(signatures)
    edges: list[dict[int, CharSet]] = [{} for _ in range(count)]
    accepting = [False] * count
    for state, row in enumerate(automaton.edges):
        edges[block[state]] = _by_block(row, block)
        accepting[block[state]] = automaton.accepting[state]
    return Automaton(tuple(edges), tuple(accepting))


def _by_block(row: dict[int, CharSet], block: list[int]) -> dict[int, CharSet]:
    out: dict[int, CharSet] = {}
    for target, members in row.items():
        into = block[target]
        out[into] = out[into] | members if into in out else members
    return out


def _without_dead(automaton: Automaton) -> Automaton:
    """Drop the edges to states from which no text is accepted."""
    live = {state for state, accepts in enumerate(automaton.accepting) if accepts}
    growing = True
    while growing:
        found = {s for s, row in enumerate(automaton.edges) if not live.isdisjoint(row)}
        growing = not found <= live
        live |= found
    edges = [
        {t: members for t, members in row.items() if t in live} if s in live else {}
        for s, row in enumerate(automaton.edges)
    ]
    return Automaton(tuple(edges), automaton.accepting)
