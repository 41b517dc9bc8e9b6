"""Complete deterministic automata of regular languages, explored from their first state.

Transitions are labelled with *atoms* of the Boolean algebra that the languages' character sets
generate. The work is counted, never timed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from enforcer.regex.automata.alphabet import ADVICE, DEAD, Alphabet, TooLargeError
from enforcer.regex.automata.determinizing import lazy
from enforcer.regex.charset import CharSet
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Explored,
    Intersection,
    Literal,
    Regex,
    Repeat,
    State,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_STATES = 40_000
MOST_CELLS = 1 << 22  # states times classes of characters
_WORK_OF_STATE = 8
_DEEPEST = 120  # nested calls; bounds of 49 digits take 104


def explore(languages: tuple[Regex, ...], most: int = MOST_CELLS) -> Explored:
    """Build the automaton that follows several languages at once.

    Raises:
        TooLargeError: it has more than `most` states, or takes too much work.

    """
    if max(each.depth for each in languages) > _DEEPEST:
        raise TooLargeError(f"patterns nested more than {_DEEPEST} levels deep")
    alphabet = Alphabet(_sets(languages))
    automata = [lazy(each, alphabet) for each in languages]
    most = min(most, MOST_STATES, MOST_CELLS // len(alphabet.atoms))
    states = [tuple([each.start for each in automata])]
    numbers = {(DEAD,) * len(automata): -1, states[0]: 0}
    rows: list[list[int]] = []
    for state in states:
        row = []
        alphabet.pay(_WORK_OF_STATE + len(state) * len(alphabet.atoms))
        behind = [each.row(own) for each, own in zip(automata, state, strict=True)]
        for after in zip(*behind, strict=True):
            number = numbers.get(after)
            if number is None:
                number = numbers[after] = len(states)
                if number >= most:
                    raise TooLargeError(f"an automaton of more than {most:,} states{ADVICE}")
                states.append(after)
            row.append(number)
        rows.append(row)
    accepts = [
        sum(1 << k for k, own in enumerate(state) if automata[k].accepts[own]) for state in states
    ]
    return Explored(alphabet.atoms, accepts, np.array(rows, np.int32), alphabet.work)


def _sets(languages: Iterable[Regex]) -> list[CharSet]:
    """Collect the sets of characters that occur in languages."""
    sets: dict[CharSet, None] = {}
    texts: set[str] = set()
    seen: set[int] = set()
    pending = list(languages)
    while pending:
        part = pending.pop()
        if isinstance(part, Literal):
            texts.update(part.text)
        elif isinstance(part, Chars):
            sets[part.chars] = None
        elif isinstance(part, State):
            sets.update(dict.fromkeys(part.automaton.atoms))
        elif id(part) not in seen:
            seen.add(id(part))
            if isinstance(part, Repeat | Complement):
                pending.append(part.part)
            elif isinstance(part, Concat | Union | Intersection):
                pending.extend(part.parts)
    return [*sets, *(CharSet(((ord(char), ord(char)),)) for char in sorted(texts))]
