"""Deterministic automata written as regular expressions.

Owns: merging states that no text tells apart, and eliminating states one by one.
Must not know: where the automata come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex.build import EPSILON, NOTHING, chars, concat, either, repeat
from enforcer.regex.charset import union

if TYPE_CHECKING:
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
    first, last = -1, len(merged.edges)
    paths: dict[tuple[int, int], Regex] = {(first, 0): EPSILON}
    for source in live:
        for target in live.intersection(merged.edges[source]):
            letters = (
                letter for letter, into in zip(merged.letters, merged.edges[source], strict=True)
                if into == target
            )  # fmt: skip
            paths[source, target] = chars(union(letters))
        if merged.accepting[source]:
            paths[source, last] = EPSILON
    left = set(live)
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
    count = 0
    while True:
        signatures: dict[tuple[int, ...], int] = {}
        block = [
            signatures.setdefault((block[state], *(block[t] for t in row)), len(signatures))
            for state, row in enumerate(automaton.edges)
        ]
        if len(signatures) == count:
            break
        count = len(signatures)
    one_of = {number: state for state, number in enumerate(block)}
    return Automaton(
        automaton.letters,
        tuple(tuple(block[t] for t in automaton.edges[one_of[b]]) for b in range(count)),
        tuple(automaton.accepting[one_of[b]] for b in range(count)),
    )


def _live(automaton: Automaton) -> set[int]:
    """Find the states from which some text is accepted."""
    live = {state for state, accepts in enumerate(automaton.accepting) if accepts}
    while True:
        found = {s for s, row in enumerate(automaton.edges) if not live.isdisjoint(row)}
        if found <= live:
            return live
        live |= found
