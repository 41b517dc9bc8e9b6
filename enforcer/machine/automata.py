"""Deterministic automata over characters, for tuples of regular languages.

States are explored by derivatives (Brzozowski, 1964; Owens et al., 2009); a state is a tuple of
residual languages, so one run tells which of the languages a text is in. Transitions into states
from which no word is reached are left out. Owns: exploration and its bounds. Must not know:
grammars, vocabularies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from enforcer.machine.tree import ASCII_GROUPS, BEYOND_ASCII
from enforcer.regex import ANY, NOTHING, both
from enforcer.regex.charset import ALL, partition
from enforcer.regex.derivative import _first_sets, derivative
from enforcer.regex.syntax import Chars, Intersection, Repeat

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.regex import Regex
    from enforcer.regex.charset import CharSet

MOST_STATES = 20_000
WIDE = 20  # printable ASCII characters that a state takes, from which on it has a wide row
_LONG = 20  # of a pattern's greatest length, from which on it is counted beside the pattern
_FAR = 1 << 28
_ASCII = 128
_LAST = 0x10FFFF

# What the kernel sees as bytes of its own: a quote ends a string, a backslash begins an escape.
_ESCAPED = '"\\'


class TooManyStates(Exception):  # noqa: N818 - no error: a bound
    """An automaton has more states than a table may."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """An automaton as flat arrays; state 0 is the first.

    Attributes:
        states: how many there are.
        classes: how many classes of characters.
        transitions: int32, shape `(states * classes,)`; -1 for none.
        ascii: int32, shape `(128,)`: the class of each character; -1 for none.
        range_low, range_class: the first character of each range, ascending, and its class.
        accepts: int64, for each state the languages that end there, as bits.
        leads: int64, for each state the languages of which some word is still reached.
        distance: int32, for each state the characters to the nearest end.
        loops: int64, for each state the groups of bytes that leave it as it is.
        is_wide: for each state whether it takes much of the vocabulary.
        is_free: for each state whether anything may follow in it.
        minimum, maximum: the length of the whole text; -1 for no greatest.
        is_pattern: whether it has a greatest length beside a pattern.

    """

    states: int
    classes: int
    transitions: npt.NDArray[np.int32]
    ascii: npt.NDArray[np.int32]
    range_low: npt.NDArray[np.int32]
    range_class: npt.NDArray[np.int32]
    accepts: npt.NDArray[np.int64]
    leads: npt.NDArray[np.int64]
    distance: npt.NDArray[np.int32]
    loops: npt.NDArray[np.int64]
    is_wide: npt.NDArray[np.bool_]
    is_free: npt.NDArray[np.bool_]
    minimum: int
    maximum: int
    is_pattern: bool


@lru_cache(maxsize=512)
def automaton_of(languages: tuple[Regex, ...]) -> Automaton:
    """Build the automaton of some languages.

    Raises:
        TooManyStates: it is too large.

    """
    minimum, maximum, languages, is_pattern = _length_apart(languages)
    states, rows = ([languages], [[(ALL, 0)]]) if languages == (ANY,) else _explored(languages)
    count = len(states)
    accepts = [sum(1 << k for k, each in enumerate(s) if each.nullable) for s in states]
    leads, distance = _live(accepts, rows)
    sets = list(dict.fromkeys(c for row in rows for c, _ in row))
    classes = [c for c in (partition(sets) if sets else ()) if any(c.first in s for s in sets)]
    width = max(len(classes), 1)
    where = {s: [i for i, c in enumerate(classes) if c.first in s] for s in sets}
    transitions = np.full((count, width), -1, np.int32)
    for at, row in enumerate(rows):
        for s, to in row:
            if leads[to]:
                transitions[at, where[s]] = to
    ascii_, range_low, range_class = _ranges(classes)
    own = np.arange(count)
    printable = ascii_[32:127]
    printable = printable[printable >= 0]
    is_wide = (transitions[:, printable] >= 0).sum(1) >= WIDE
    covers = sum(len(c) for c in classes) == len(ALL)
    stays = (transitions == own[:, None]).all(1) & (np.array(accepts) != 0)
    return Automaton(
        states=count,
        classes=width,
        transitions=transitions.reshape(-1),
        ascii=ascii_,
        range_low=range_low,
        range_class=range_class,
        accepts=np.array(accepts, np.int64),
        leads=np.array(leads, np.int64),
        distance=np.array(distance, np.int32),
        loops=_loops(transitions, ascii_, classes),
        is_wide=is_wide,
        is_free=stays if covers else np.zeros(count, np.bool_),
        minimum=minimum,
        maximum=maximum,
        is_pattern=is_pattern,
    )


def _length_apart(
    languages: tuple[Regex, ...],
) -> tuple[int, int, tuple[Regex, ...], bool]:
    """Take the bounds on the length out of a language, to count characters beside it."""
    if len(languages) != 1:
        return 0, -1, languages, False
    (one,) = languages
    if isinstance(one, Repeat) and isinstance(one.part, Chars):
        if one.minimum or one.maximum is not None:
            most = -1 if one.maximum is None else one.maximum
            return one.minimum, most, (Repeat(one.part, 0, None),), False
    elif isinstance(one, Intersection):
        caps = [part for part in one.parts if _cap(part) is not None]
        most = min((_cap(part) or 0 for part in caps), default=0)
        if most > _LONG:
            rest = both(*(part for part in one.parts if part not in caps))
            return 0, most, (rest,), True
    return 0, -1, languages, False


def _cap(part: Regex) -> int | None:
    """Return the greatest length if that is all that an operand asks for."""
    is_cap = isinstance(part, Repeat) and part.part == Chars(ALL) and not part.minimum
    return part.maximum if is_cap and isinstance(part, Repeat) else None


def _explored(
    languages: tuple[Regex, ...],
) -> tuple[list[tuple[Regex, ...]], list[list[tuple[CharSet, int]]]]:
    number, states = {languages: 0}, [languages]
    rows: list[list[tuple[CharSet, int]]] = []
    for state in states:
        row = []
        sets: dict[CharSet, None] = {}
        for each in state:
            sets |= _first_sets(each)
        for c in partition(sets):
            to = tuple(derivative(each, c.first) for each in state)
            if all(each == NOTHING for each in to):
                continue
            if to not in number:
                if len(states) > MOST_STATES:
                    raise TooManyStates
                number[to] = len(states)
                states.append(to)
            row.append((c, number[to]))
        rows.append(row)
    return states, rows


def _live(accepts: list[int], rows: list[list[tuple[CharSet, int]]]) -> tuple[list[int], list[int]]:
    """Return for each state the languages of which a word is reached, and the nearest end."""
    before: list[list[int]] = [[] for _ in accepts]
    for at, row in enumerate(rows):
        for _, to in row:
            before[to].append(at)
    leads = list(accepts)
    queue = [at for at, each in enumerate(accepts) if each]
    while queue:
        state = queue.pop()
        for each in before[state]:
            if leads[state] & ~leads[each]:
                leads[each] |= leads[state]
                queue.append(each)
    distance = [0 if each else _FAR for each in accepts]
    queue = [at for at, each in enumerate(accepts) if each]
    for state in queue:
        for each in before[state]:
            if distance[each] == _FAR:
                distance[each] = distance[state] + 1
                queue.append(each)
    return leads, distance


def _ranges(
    classes: list[CharSet],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    ascii_ = np.full(_ASCII, -1, np.int32)
    spans = sorted((low, high, i) for i, c in enumerate(classes) for low, high in c.ranges)
    lows: list[int] = []
    found: list[int] = []
    end = 0
    for low, high, i in spans:
        if low > end:
            lows.append(end)
            found.append(-1)
        lows.append(low)
        found.append(i)
        end = high + 1
        if low < _ASCII:
            ascii_[low : min(high + 1, _ASCII)] = i
    if end <= _LAST:
        lows.append(end)
        found.append(-1)
    return ascii_, np.array(lows, np.int32), np.array(found, np.int32)


def _loops(
    transitions: npt.NDArray[np.int32], ascii_: npt.NDArray[np.int32], classes: list[CharSet]
) -> npt.NDArray[np.int64]:
    own = np.arange(len(transitions))[:, None]
    loops = np.zeros(len(transitions), np.int64)

    def add(group: int, members: list[int] | npt.NDArray[np.int32]) -> None:
        stays = (transitions[:, members] == own).all(1)
        np.bitwise_or(loops, np.where(stays, group, 0), out=loops)

    for group, characters in enumerate(ASCII_GROUPS):
        if characters in _ESCAPED:
            continue
        members = ascii_[[ord(c) for c in characters]]
        if (members >= 0).all():
            add(1 << group, members)
    beyond = [(low, high, i) for i, c in enumerate(classes) for low, high in c.ranges]
    beyond = [(max(low, _ASCII), high, i) for low, high, i in beyond if high >= _ASCII]
    if sum(high - low + 1 for low, high, _ in beyond) == len(ALL) - _ASCII:
        add(BEYOND_ASCII, sorted({i for _, _, i in beyond}))
    return loops
