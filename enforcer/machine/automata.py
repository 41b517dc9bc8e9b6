"""Deterministic automata over characters, as flat arrays, for tuples of regular languages.

One run tells of each language of the tuple whether the text is in it, and whether it still leads
there; a *class* is a set of characters that no state tells apart. Transitions into dead ends are
left out. A bound on the length is a register beside the automaton: a state with a distance to its
nearest end tells whether a text of at most so many characters is reached.

Owns: the arrays, lengths, and which automata are shared by all grammars. Must not know: how states
are found, vocabularies, what the languages are for.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from enforcer.machine.alphabet import TooLargeError
from enforcer.machine.exploring import explore
from enforcer.machine.minimizing import FAR, minimal, trimmed
from enforcer.machine.tree import ASCII_GROUPS, BEYOND_ASCII, U_2000, groups_beyond_ascii
from enforcer.regex import ANY, both, either, length
from enforcer.regex.syntax import Chars, Intersection, Repeat, Union

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.machine.exploring import Explored
    from enforcer.regex import Regex
    from enforcer.regex.charset import CharSet

    _Codes = Sequence[tuple[int, Sequence[int]]]

WIDE = 20  # printable ASCII characters that a state takes, from which on it has a wide row
LAST_CHARACTER = 0x10FFFF
_ASCII = 128
_STEPS = 32  # characters; few tokens have more
_SETS = 4  # of groups
_MANY = 1 << 20  # words, of which more are not counted
_EVERY = -1
_DIGITS = 1 << ASCII_GROUPS.index("0123456789")
_LARGE = 50_000  # transitions; of more, it takes longer to find safe groups than it saves
_LONG = 20  # of a pattern's greatest length, from which on it is a register

# The codes of each group of ASCII characters, and its bit. In a JSON string a quote and a backslash
# are no characters, so no state takes them.
_RAW_GROUPS = [(1 << number, [*map(ord, group)]) for number, group in enumerate(ASCII_GROUPS)]
_GROUPS = [(bit, codes) for bit, codes in _RAW_GROUPS if codes not in ([ord('"')], [ord("\\")])]

_MANY_STATES = 1_000  # states, from which on finding the equal ones takes less than they do
_MOST_WIDE = 5_000  # states: of more, those that count characters have no rows of their own
_KEPT = 1_024  # automata that all grammars of a process share
_HEAVY = 32 << 10  # bytes, from which on few are kept
_KEPT_HEAVY = 16
_HEAVIEST = 2 << 20  # bytes of one that is kept


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """An automaton as flat arrays, read-only; state 0 is the first.

    Attributes:
        states: how many there are.
        classes: how many classes of characters.
        transitions: int32, shape `(states * classes,)`; -1 for none.
        ascii: int32, shape `(128,)`: the class of each character; -1 for none.
        range_low: int32, ascending: the first character of each range; the first range begins at 0.
        range_class: int32: the class of each range; -1 for none.
        accepts: int64, for each state the languages that end there, as bits.
        leads: int64, for each state the languages of which some word is still reached.
        distance: int32, for each state the characters to the nearest end, `FAR` if there is none.
        safe: int64, for each state groups of bytes.
        safe_steps: int32, for each state how many characters of these groups, whatever they are,
            lose no language.
        opens: int64, for each state the groups of bytes of which some leads on.
        is_wide: for each state whether it takes much of the vocabulary.
        is_free: for each state whether anything may follow in it.
        minimum: the least length of the whole text.
        maximum: the greatest length; -1 for none.
        farthest: where a pattern has a greatest length, the greatest distance; -1 elsewhere.
        work: operands of derivatives that building it takes.

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
    safe: npt.NDArray[np.int64]
    safe_steps: npt.NDArray[np.int32]
    opens: npt.NDArray[np.int64]
    is_wide: npt.NDArray[np.bool_]
    is_free: npt.NDArray[np.bool_]
    minimum: int = 0
    maximum: int = -1
    farthest: int = -1
    work: int = 0

    @property
    def never_runs_out(self) -> bool:
        """Whether every state has infinitely many words of each language that it leads to."""
        steps = self.transitions.reshape(self.states, self.classes)
        behind = np.where(steps >= 0, self.leads[steps], 0)
        rest = self.leads & ~np.bitwise_or.reduce(behind, axis=1)
        return self.maximum < 0 and not rest.any()

    def count_words(self, language: int) -> int:
        """Return how many words a language has, or fewer: long ones are left out, as are many."""
        sizes = np.zeros(self.classes)
        highs = np.append(self.range_low[1:], LAST_CHARACTER + 1)
        known = self.range_class >= 0
        np.add.at(sizes, self.range_class[known], (highs - self.range_low)[known])
        steps = self.transitions.reshape(self.states, self.classes)
        ends = self.accepts >> language & 1 == 1
        reached = np.zeros(self.states)
        reached[0] = 1
        found = 0
        for length_ in range(min(_STEPS if self.maximum < 0 else self.maximum, _STEPS) + 1):
            found += int(reached[ends].sum()) if length_ >= self.minimum else 0
            if found >= _MANY:
                return _MANY
            ways = (reached[:, None] * sizes)[steps >= 0]
            reached = np.bincount(steps[steps >= 0], ways, self.states).clip(max=_MANY)
        return found

    def has_word(self, language: int) -> bool:
        """Return whether some text is in a language, by its place in the tuple."""
        is_near = self.maximum < 0 or self.distance[0] <= self.maximum
        return bool(is_near and self.leads[0] >> language & 1)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return 4 * (len(self.transitions) + _ASCII + 2 * len(self.range_low)) + 44 * self.states


# Of what is too large, the message: building it up to the limit takes longest of all.
_kept: OrderedDict[tuple[tuple[Regex, ...], bool], Automaton | str] = OrderedDict()
_kept_heavy: OrderedDict[tuple[tuple[Regex, ...], bool], Automaton] = OrderedDict()


def automaton_of(languages: tuple[Regex, ...], *, is_raw: bool = False) -> Automaton:
    """Build the automaton of some languages, or return the one that was built before.

    Args:
        languages: to be followed.
        is_raw: whether they are of raw text, in which quotes and backslashes are characters.

    Raises:
        TooLargeError: it has too many states, or takes too much to build.

    """
    key = languages, is_raw
    found = _kept.get(key) or _kept_heavy.get(key)
    if found is None:
        try:
            found = _built(languages, _RAW_GROUPS if is_raw else _GROUPS)
        except TooLargeError as error:
            found = str(error)
        if isinstance(found, str) or found.nbytes <= _HEAVY:
            _kept[key] = found
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
        elif found.nbytes <= _HEAVIEST:
            _kept_heavy[key] = found
            while len(_kept_heavy) > _KEPT_HEAVY:
                _kept_heavy.popitem(last=False)
    if isinstance(found, str):
        raise TooLargeError(found)
    return found


def _built(languages: tuple[Regex, ...], groups: _Codes) -> Automaton:
    if len(languages) > 1:
        return _arrays(explore(languages), groups)
    (language,) = languages
    if isinstance(language, Repeat) and isinstance(language.part, Chars):
        most = -1 if language.maximum is None else language.maximum
        unbounded = Repeat(language.part, 0, None)
        return _arrays(explore((unbounded,)), groups, minimum=language.minimum, maximum=most)
    most, rest = _length_apart(language)
    if most > _LONG:
        return _arrays(explore((rest,)), groups, maximum=most, is_pattern=True)
    return _arrays(explore(languages), groups)


def _length_apart(language: Regex) -> tuple[int, Regex]:
    """Take the greatest length out of a language; -1 if it has none that stands by itself."""
    if isinstance(language, Union):
        return _common_length_apart(language)
    if not isinstance(language, Intersection):
        return -1, language
    most = -1
    rest: list[Regex] = []
    for part in language.parts:
        if isinstance(part, Repeat) and part.part == ANY.part and part.maximum is not None:
            most = part.maximum if most < 0 else min(most, part.maximum)
            rest.append(length(part.minimum, None))
        else:
            rest.append(part)
    return most, both(*rest)


def _common_length_apart(language: Union) -> tuple[int, Regex]:
    """Take out the greatest length of one alternative that no other one exceeds.

    Host names (253 characters) or addresses of either version, which have no more than 45, would
    take 20,000 states with the length among them.
    """
    apart = [_length_apart(part) for part in language.parts]
    most = max(own for own, _ in apart)
    rest: list[Regex] = []
    for part, (own, without) in zip(language.parts, apart, strict=True):
        if own != most and (part.longest is None or part.longest > most):
            return -1, language
        rest.append(without if own == most else part)
    return most, either(*rest)


def _arrays(
    found: Explored,
    codes: _Codes,
    *,
    minimum: int = 0,
    maximum: int = -1,
    is_pattern: bool = False,
) -> Automaton:
    """Turn states and rows into arrays: dead ends are left out, equal characters are one class."""
    is_large = len(found.accepts) > _MANY_STATES
    found, leads, distance = minimal(found) if is_large else trimmed(found)
    by_atom = found.rows
    columns: dict[bytes, int] = {b"\xff" * (4 * len(leads)): -1}
    classes = [columns.setdefault(c.tobytes(), len(columns) - 1) for c in by_atom.T]
    firsts = [classes.index(each) for each in range(len(columns) - 1)]
    transitions = by_atom[:, firsts] if firsts else np.full((len(leads), 1), -1, np.int32)
    ascii_, range_low, range_class = _ranges(found.atoms, classes)
    all_leads = np.array(leads, np.int64)
    groups = _Groups(ascii_, found.atoms, classes, codes)
    stays = transitions == np.arange(len(leads))[:, None]
    loops = groups.within(stays)
    accepts = np.array(found.accepts, np.int64)
    is_free = groups.are_all(stays) & (accepts != 0)
    printable = ascii_[32:127]
    printable = printable[printable >= 0]
    is_wide = np.count_nonzero(transitions[:, printable] >= 0, axis=1) >= WIDE
    # Raw text that may end is looked at where it does: what follows may be illegal.
    keeps = (transitions >= 0) & (all_leads[transitions] & all_leads[:, None] == all_leads[:, None])
    keeps &= ~((accepts != 0)[transitions] & (codes is _RAW_GROUPS))
    safe, safe_steps = _safe(transitions, keeps, groups, loops, is_wide & ~is_free)
    if len(leads) > _MOST_WIDE:
        is_wide &= loops != 0
    arrays = {
        "transitions": transitions.reshape(-1),
        "ascii": ascii_,
        "range_low": range_low,
        "range_class": range_class,
        "accepts": accepts,
        "leads": all_leads,
        "distance": np.array(distance, np.int32),
        "safe": safe,
        "safe_steps": safe_steps,
        "opens": _opens(transitions, ascii_, range_low, range_class, codes),
        "is_wide": is_wide,
        "is_free": is_free,
    }
    for array in arrays.values():
        array.setflags(write=False)
    return Automaton(
        states=len(leads),
        classes=transitions.shape[1],
        minimum=minimum,
        maximum=maximum,
        farthest=max(distance) if is_pattern else -1,
        work=found.work,
        **arrays,
    )


def _ranges(
    atoms: Sequence[CharSet], classes: Sequence[int]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the class of each ASCII character, and ranges of all characters."""
    spans = sorted(
        (low, high, c) for atom, c in zip(atoms, classes, strict=True) for low, high in atom.ranges
    )
    ascii_ = np.full(_ASCII, -1, np.int32)
    lows: list[int] = []
    found: list[int] = []
    end = 0

    def add(low: int, each: int) -> None:
        if not found or found[-1] != each:
            lows.append(low)
            found.append(each)

    for low, high, each in spans:
        if low > end:
            add(end, -1)
        add(low, each)
        end = high + 1
        if low < _ASCII:
            ascii_[low : min(end, _ASCII)] = each
    if end <= LAST_CHARACTER:
        add(end, -1)
    return ascii_, np.array(lows, np.int32), np.array(found, np.int32)


class _Groups:
    """The groups of bytes, by the classes of the characters in them; -1 for no class."""

    def __init__(
        self,
        ascii_: npt.NDArray[np.int32],
        atoms: Sequence[CharSet],
        classes: Sequence[int],
        codes: _Codes,
    ) -> None:
        of_ascii = ascii_.tolist()
        beyond: dict[int, set[int]] = {U_2000: set(), BEYOND_ASCII: set()}
        for atom, each in zip(atoms, classes, strict=True):
            for low, high in () if atom.is_marker else atom.ranges:
                some = groups_beyond_ascii(max(low, _ASCII), high) if high >= _ASCII else 0
                for group, within in beyond.items():
                    if group & some:
                        within.add(each)
        self._every = [*set(of_ascii).union(*beyond.values())]
        self.classes = [(group, [*{of_ascii[c] for c in each}]) for group, each in codes]
        self.classes += [(group, [*within]) for group, within in beyond.items()]

    def within(self, holds: npt.NDArray[np.bool_], groups: int = _EVERY) -> npt.NDArray[np.int64]:
        """Return for each state those of some groups of which it holds for every class."""
        found = np.zeros(len(holds), np.int64)
        if holds.any():
            for group, classes in self.classes:
                if group & groups and -1 not in classes:
                    found |= np.where(holds[:, classes].all(axis=1), group, 0)
        return found

    def are_all(self, holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return for each state whether it holds for every character."""
        if -1 in self._every:
            return np.zeros(len(holds), np.bool_)
        every: npt.NDArray[np.bool_] = np.logical_and.reduce(holds[:, self._every], axis=1)
        return every


def _safe(
    transitions: npt.NDArray[np.int32],
    keeps: npt.NDArray[np.bool_],
    groups: _Groups,
    loops: npt.NDArray[np.int64],
    is_wide: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return safe groups of each state, and how many characters; of one in a loop, the loop's.

    Args:
        transitions: of shape `(states, classes)`.
        keeps: the transitions that lose no language, and end nothing.
        groups: of bytes.
        loops: the groups that leave each state as it is.
        is_wide: the states of which all groups matter; of others only digits do, of numbers.

    """
    steps = np.where(loops != 0, FAR, 0).astype(np.int32)
    if transitions.size > _LARGE:
        return loops, steps
    safe = loops.copy()
    wanted = loops == 0
    open_ = groups.within(keeps, _EVERY if (wanted & is_wide).any() else _DIGITS)
    open_ = np.where(is_wide, open_, open_ & _DIGITS)
    wanted &= open_ != 0
    sets, counts = np.unique(open_[wanted], return_counts=True)
    for chosen in sets[np.argsort(-counts)][:_SETS].tolist():
        classes = [*{c for group, within in groups.classes if group & chosen for c in within}]
        is_open = keeps[:, classes].all(axis=1)
        after = transitions[:, classes]
        reached = np.where(loops & chosen == chosen, _STEPS, 0)
        for _ in range(_STEPS):
            further = np.minimum(np.where(is_open, 1 + reached[after].min(axis=1), 0), _STEPS)
            if np.array_equal(further, reached):
                break
            reached = further
        mine = wanted & (open_ == chosen)
        safe[mine], steps[mine] = chosen, reached[mine]
    return safe, steps


def _opens(
    transitions: npt.NDArray[np.int32],
    ascii_: npt.NDArray[np.int32],
    range_low: npt.NDArray[np.int32],
    range_class: npt.NDArray[np.int32],
    codes: _Codes,
) -> npt.NDArray[np.int64]:
    """Return for each state the groups of bytes of which some leads on."""
    groups = [0] * (transitions.shape[1] + 1)  # of each class; the last: characters of no class
    of_ascii = ascii_.tolist()
    for group, within in codes:
        for code in within:
            groups[of_ascii[code]] |= group
    last = int(np.searchsorted(range_low, _ASCII, side="right")) - 1
    lows = [max(low, _ASCII) for low in range_low[last:].tolist()]
    highs = [low - 1 for low in lows[1:]] + [LAST_CHARACTER]
    for low, high, each in zip(lows, highs, range_class[last:].tolist(), strict=True):
        groups[each] |= groups_beyond_ascii(low, high)
    found = np.where(transitions >= 0, np.array(groups[:-1], np.int64), 0)
    opens: npt.NDArray[np.int64] = np.bitwise_or.reduce(found, axis=1)
    return opens
