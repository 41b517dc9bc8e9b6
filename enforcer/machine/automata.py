"""Deterministic automata over characters, as flat arrays, for tuples of regular languages.

One run tells of each language of the tuple whether the text is in it, and whether it still leads
there; a *class* is a set of characters that no state tells apart. Transitions into dead ends are
left out. Lengths are bounds beside the automaton (`lengths`).

Owns: the arrays, and which automata are shared by all grammars. Must not know: how states are
found, vocabularies, what the languages are for.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.machine.lengths import (
    FAR_COUNT,
    MOST_RESTS,
    Bound,
    Bounded,
    all_rests,
    apart,
)
from enforcer.machine.tree import (
    AS_WHITE_SPACE,
    ASCII_GROUPS,
    BEYOND_ASCII,
    CJK,
    U_2000,
    groups_beyond_ascii,
)
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import FAR, minimal, trimmed
from enforcer.regex.automata.minimizing import ends as nearest_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.machine.lengths import Language
    from enforcer.regex.charset import CharSet
    from enforcer.regex.syntax import Explored

    _Codes = Sequence[tuple[int, Sequence[int]]]

WIDE = 20  # printable ASCII characters that a state takes, from which on it has a wide row
LAST_CHARACTER = 0x10FFFF
FIRST_MARKER, LAST_MARKER = 0xD800, 0xDFFF
_ASCII = 128
_STEPS = 32  # characters; few tokens have more
_SETS = 4  # of groups
_MANY = 1 << 20  # words, of which more are not counted
_VAST = 10**5  # more words than any array has elements
_AHEAD = 8  # characters in which a state has that many
_MOST_ROUNDS = 300  # in which it is found which states go round
_EVERY = -1
_DIGITS = 1 << ASCII_GROUPS.index("0123456789")
_LARGE = 50_000  # transitions; of more, safe groups are looked for less far
_FEW_STEPS, _FEW_SETS = 8, 1
_MANY_LENGTHS = 4  # of one text, from which on they are counted by states where a row is not kept
_FEW_STATES = 15_000  # that count a least length for the same reason

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


@dataclass(frozen=True, eq=False)
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
        cjk_steps: int32, likewise of the group `CJK`.
        opens: int64, for each state the groups of bytes of which some leads on.
        is_wide: for each state whether it takes much of the vocabulary.
        is_free: for each state whether anything may follow in it.
        bounds: the lengths of each language; none where no language has any.
        minimum: the length from which on no least length decides whether a text leads on.
        steady: the length up to which no greatest length decides whether a text leads on.
        groups: the groups of bytes, by the classes of the characters in them.
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
    cjk_steps: npt.NDArray[np.int32]
    opens: npt.NDArray[np.int64]
    is_wide: npt.NDArray[np.bool_]
    is_free: npt.NDArray[np.bool_]
    groups: _Groups
    bounds: tuple[Bound, ...] = ()
    minimum: int = 0
    steady: int = FAR_COUNT
    work: int = 0

    @property
    def rests(self) -> npt.NDArray[np.int64]:
        """What is left in each state, of each language that has lengths; see `Bound`."""
        found = [each.rests for each in self.bounds if each.rests is not None]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    @property
    def free_to(self) -> npt.NDArray[np.int32]:
        """For each state the characters up to which no greatest length decides behind it.

        That is where all languages are followed. States in which some language is not lasting have
        it with all bits turned: it holds there from a length of `minimum` on alone.
        """
        most = np.zeros(self.states, np.int64) if self.bounds else np.full(self.states, FAR_COUNT)
        for language, bound in enumerate(self.bounds):
            leads = self.leads >> language & 1 == 1
            most = np.where(leads, np.maximum(most, bound.ends_before()), most)
        steps = self.transitions.reshape(self.states, self.classes)
        found = np.full(self.states, FAR_COUNT)
        for _ in range(_MOST_ROUNDS):
            behind = np.append(np.minimum(found, most), FAR_COUNT)[steps].min(axis=1)
            if np.array_equal(behind, found):
                break
            found = behind
        else:
            found = np.full(self.states, most.min())
        found = found.clip(min=0)
        return np.where(self.lasting == self.leads, found, ~found).astype(np.int32)

    @cached_property
    def lasting(self) -> npt.NDArray[np.int64]:
        """For each state the languages of which texts of every greater length are left, as bits.

        A language without a least length counts as one.
        """
        found = self.leads.copy()
        for language, bound in enumerate(self.bounds):
            if bound.ends and bound.rests is not None:
                found &= ~np.where(bound.rests >> MOST_RESTS & 1 == 0, 1 << language, 0)
        return found

    @property
    def never_runs_out(self) -> bool:
        """Whether every state has infinitely many words of each language that it leads to."""
        steps = self.transitions.reshape(self.states, self.classes)
        behind = np.where(steps >= 0, self.leads[steps], 0)
        rest = self.leads & ~np.bitwise_or.reduce(behind, axis=1)
        is_endless = all(each.maximum < 0 for each in self.bounds)
        return is_endless and not rest.any()

    @cached_property
    def many_words(self) -> npt.NDArray[np.int64]:
        """For each state the languages that have a great many words from there."""
        return self._varied[-1] | self._rounds()

    @property
    def varied(self) -> int:
        """In how many characters the languages have many beginnings that have many at all."""
        most = self._varied[-1]
        return 1 + next(at for at, each in enumerate(self._varied) if (each == most).all())

    @cached_property
    def _varied(self) -> list[npt.NDArray[np.int64]]:
        """For each state the languages with many beginnings of up to one, two, ... characters."""
        sizes = self._class_sizes()
        steps = self.transitions.reshape(self.states, self.classes)
        found = [np.zeros(self.states, np.int64) for _ in range(_AHEAD)]
        for language in range(int(np.bitwise_or.reduce(self.leads)).bit_length()):
            leads = self.leads >> language & 1 == 1
            ways = leads.astype(np.float64)
            for at in range(_AHEAD):
                ways = np.where(leads, np.where(steps >= 0, ways[steps], 0) @ sizes, 0)
                found[at] |= (ways >= _VAST).astype(np.int64) << language
        return [*accumulate(found, np.bitwise_or)]

    def _rounds(self) -> npt.NDArray[np.int64]:
        """Return for each state the languages without a greatest length that go round from it."""
        steps = self.transitions.reshape(self.states, self.classes)
        bounded = sum(1 << k for k, each in enumerate(self.bounds) if each.maximum >= 0)
        found = self.leads & ~bounded
        for _ in range(_MOST_ROUNDS):
            behind = np.bitwise_or.reduce(np.where(steps >= 0, found[steps], 0), axis=1)
            if not (found & ~behind).any():
                return found
            found = found & behind
        return np.zeros(self.states, np.int64)

    @cached_property
    def many_steps(self) -> npt.NDArray[np.int32]:
        """For each state how many characters, whatever they are, lead to none that is not vast.

        -1 where some language has few words, `FAR` where none comes to have.
        """
        are_few = self.leads & ~self.many_words != 0
        steps = self.transitions.reshape(self.states, self.classes)
        far = np.array(nearest_ends(are_few.tolist(), steps)[1], np.int32)
        return np.where(far < FAR, far - 1, FAR).astype(np.int32)

    @property
    def has_many_words(self) -> bool:
        """Whether some language has more words than any array has elements."""
        near = self.varied
        bounded = sum(1 << k for k, each in enumerate(self.bounds) if 0 <= each.maximum < near)
        return bool(int(self.many_words[0]) & ~bounded)

    def _class_sizes(self) -> npt.NDArray[np.float64]:
        """Return how many characters each class has."""
        sizes = np.zeros(self.classes)
        highs = np.append(self.range_low[1:], LAST_CHARACTER + 1)
        known = self.range_class >= 0
        np.add.at(sizes, self.range_class[known], (highs - self.range_low)[known])
        return sizes

    def count_words(self, language: int) -> int:
        """Return how many words a language has, or fewer: long ones are left out, as are many."""
        sizes = self._class_sizes()
        steps = self.transitions.reshape(self.states, self.classes)
        ends = self.accepts >> language & 1 == 1
        bound = self.bounds[language] if self.bounds else Bound()
        reached = np.zeros(self.states)
        reached[0] = 1
        found = 0
        for length in range(_STEPS + 1):
            found += int(reached[ends].sum()) if bound.holds(length) else 0
            if found >= _MANY:
                return _MANY
            ways = (reached[:, None] * sizes)[steps >= 0]
            reached = np.bincount(steps[steps >= 0], ways, self.states).clip(max=_MANY)
        return found

    def has_word(self, language: int) -> bool:
        """Return whether some text is in a language, by its place in the tuple."""
        is_near = not self.bounds or self.bounds[language].is_within(0, 0)
        return bool(is_near and self.leads[0] >> language & 1)

    def bound(self, language: int, part: Bounded, *, is_of_many: bool) -> Bound | None:
        """Return the lengths of a language.

        None if the lengths of what is left differ too much for the least length to be a bound; or
        if a few are left where much of the vocabulary may follow, which no row is kept of, and
        there are `_MANY_LENGTHS` beside, or counting by states takes few.
        """
        if not part.is_counted:
            return Bound()
        around = part.around or 0
        most = -1 if part.maximum is None else part.maximum + around
        steps = self.transitions.reshape(self.states, self.classes)
        ends = self.accepts >> language & 1 == 1
        leads = self.leads >> language & 1 == 1
        if not part.minimum:
            is_alone = not (self.leads & ~(1 << language)).any()
            nearest = self.distance if is_alone else nearest_ends(ends.tolist(), steps)[1]
            near = np.array(nearest, np.int64)
            return Bound(0, most, near, int(near[leads].max(initial=0)))
        found = all_rests(steps, ends)
        if found is None:
            return None
        rests, farthest = found
        few = leads & (rests >> MOST_RESTS & 1 == 0)
        if (few & self.is_wide).any() and (is_of_many or self.states * part.minimum <= _FEW_STATES):
            return None
        return Bound(part.minimum + around, most, rests, farthest, bool(few.any()))

    def with_bounds(self, bounds: Sequence[Bound]) -> Automaton:
        """Return the same automaton with lengths."""
        found = replace(
            self,
            bounds=tuple(bounds),
            minimum=max((each.minimum for each in bounds if each.ends), default=0),
            steady=min(each.steady for each in bounds),
        )
        if not found.minimum:
            return found
        steps = self.transitions.reshape(self.states, self.classes)
        is_wide = self.is_wide & ~self.is_free
        safe = _safe_arrays(steps, self.accepts, found.lasting, self.groups, is_wide)
        return replace(found, **safe)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        rests = sum(8 * self.states for each in self.bounds if each.rests is not None)
        arrays = 4 * (len(self.transitions) + _ASCII + 2 * len(self.range_low)) + 44 * self.states
        return rests + arrays


# Of what is too large, the message: building it up to the limit takes longest of all.
_kept: OrderedDict[tuple[tuple[Bounded, ...], bool], Automaton | str] = OrderedDict()
_kept_heavy: OrderedDict[tuple[tuple[Bounded, ...], bool], Automaton] = OrderedDict()


def automaton_of(languages: tuple[Language, ...], *, is_raw: bool = False) -> Automaton:
    """Build the automaton of some languages, or return the one that was built before.

    Args:
        languages: to be followed; of those that are not `Bounded`, lengths are taken apart.
        is_raw: whether they are of raw text, in which quotes and backslashes are characters.

    Raises:
        TooLargeError: it has too many states, or takes too much to build.

    """
    is_alone = len(languages) == 1
    parts = tuple(
        each if isinstance(each, Bounded) else apart(each, is_alone=is_alone) for each in languages
    )
    key = parts, is_raw
    found = _kept.get(key) or _kept_heavy.get(key)
    if found is None:
        try:
            found = _built(parts, is_raw=is_raw)
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


def _built(parts: tuple[Bounded, ...], *, is_raw: bool) -> Automaton:
    if not any(each.is_counted for each in parts):
        groups = _RAW_GROUPS if is_raw else _GROUPS
        return _arrays(explore(tuple(each.whole for each in parts)), groups)
    settled = [each if each.around is not None else each.with_states() for each in parts]
    found = automaton_of(tuple(Bounded(each.whole) for each in settled), is_raw=is_raw)
    counted = sum(each.is_counted for each in settled)
    is_of_many = counted > _MANY_LENGTHS
    bounds = [found.bound(n, each, is_of_many=is_of_many) for n, each in enumerate(settled)]
    if None in bounds:
        is_alone = counted == 1
        return automaton_of(
            tuple(
                each.in_states(is_alone=is_alone) if bound is None else each
                for each, bound in zip(settled, bounds, strict=True)
            ),
            is_raw=is_raw,
        )
    return found.with_bounds([each for each in bounds if each is not None])


def _arrays(found: Explored, codes: _Codes) -> Automaton:
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
    accepts = np.array(found.accepts, np.int64)
    is_free = groups.are_all(stays) & (accepts != 0)
    printable = ascii_[32:127]
    printable = printable[printable >= 0]
    is_wide = np.count_nonzero(transitions[:, printable] >= 0, axis=1) >= WIDE
    safe = _safe_arrays(transitions, accepts, all_leads, groups, is_wide & ~is_free)
    if len(leads) > _MOST_WIDE:
        is_wide &= groups.within(stays) != 0
    arrays = {
        "transitions": transitions.reshape(-1),
        "ascii": ascii_,
        "range_low": range_low,
        "range_class": range_class,
        "accepts": accepts,
        "leads": all_leads,
        "distance": np.array(distance, np.int32),
        **safe,
        "opens": _opens(transitions, ascii_, range_low, range_class, codes),
        "is_wide": is_wide,
        "is_free": is_free,
    }
    for array in arrays.values():
        array.setflags(write=False)
    return Automaton(
        states=len(leads),
        classes=transitions.shape[1],
        groups=groups,
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
        beyond: dict[int, set[int]] = {
            group: set() for group in (CJK, AS_WHITE_SPACE, U_2000, BEYOND_ASCII)
        }
        for atom, each in zip(atoms, classes, strict=True):
            for low, high in () if atom.is_marker else atom.ranges:
                some = groups_beyond_ascii(max(low, _ASCII), high) if high >= _ASCII else 0
                for group, within in beyond.items():
                    if group & some:
                        within.add(each)
        self.is_raw = codes is _RAW_GROUPS
        # The ASCII characters of each class.
        self.sizes = np.bincount(ascii_[ascii_ >= 0], minlength=max([0, *classes]) + 1)
        self._every = [*set(of_ascii).union(*beyond.values())]
        self.classes = [(group, [*{of_ascii[c] for c in each}]) for group, each in codes]
        self.classes += [(group, [*within]) for group, within in beyond.items()]
        # Most groups are of one class: those of each class, as bits, and the others.
        self._alone = np.zeros(len(self.sizes), np.int64)
        self._several: list[tuple[int, list[int]]] = []
        for group, found in self.classes:
            if len(found) != 1:
                self._several.append((group, found))
            elif found[0] >= 0:
                self._alone[found[0]] |= group

    def within(self, holds: npt.NDArray[np.bool_], groups: int = _EVERY) -> npt.NDArray[np.int64]:
        """Return for each state those of some groups of which it holds for every class."""
        if not holds.any():
            return np.zeros(len(holds), np.int64)
        alone = np.where(holds, self._alone & groups, 0)
        found: npt.NDArray[np.int64] = np.bitwise_or.reduce(alone, axis=1)
        for group, classes in self._several:
            if group & groups and -1 not in classes:
                found |= np.where(holds[:, classes].all(axis=1), group, 0)
        return found

    def are_all(self, holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return for each state whether it holds for every character."""
        if -1 in self._every:
            return np.zeros(len(holds), np.bool_)
        every: npt.NDArray[np.bool_] = np.logical_and.reduce(holds[:, self._every], axis=1)
        return every


def _safe_arrays(
    transitions: npt.NDArray[np.int32],
    accepts: npt.NDArray[np.int64],
    lasting: npt.NDArray[np.int64],
    groups: _Groups,
    is_wide: npt.NDArray[np.bool_],
) -> dict[str, Any]:
    """Return the arrays `safe`, `safe_steps` and `cjk_steps` of an `Automaton`.

    Args:
        transitions: of shape `(states, classes)`.
        accepts: see `Automaton`.
        lasting: see `Automaton`. A transition that loses one of them is not safe.
        groups: of bytes.
        is_wide: see `_safe`.

    """
    loops = groups.within(transitions == np.arange(len(transitions))[:, None])
    keeps = (transitions >= 0) & (lasting[transitions] & lasting[:, None] == lasting[:, None])
    keeps &= (lasting != 0)[:, None]
    if groups.is_raw:  # raw text is looked at where it may end: what follows may be illegal
        keeps &= ~(accepts != 0)[transitions]
    safe, safe_steps = _safe(transitions, keeps, groups, np.where(lasting != 0, loops, 0), is_wide)
    cjk_steps = _cjk_steps(transitions, keeps, groups, safe, safe_steps)
    return {"safe": safe, "safe_steps": safe_steps, "cjk_steps": cjk_steps}


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
    safe = loops.copy()
    wanted = loops == 0
    # Behind a character that leads elsewhere than most do, other groups may be safe, or none.
    most = np.where(keeps, groups.sizes, -1).argmax(axis=1)[:, None]
    leads_with_most = transitions == np.take_along_axis(transitions, most, 1)
    most_sets = _SETS if transitions.size <= _LARGE else _FEW_SETS
    for kept in (keeps, keeps & leads_with_most):
        if not (wanted & (steps < _STEPS)).any():
            break
        open_ = groups.within(kept, _EVERY if (wanted & is_wide).any() else _DIGITS)
        open_ = np.where(is_wide, open_, open_ & _DIGITS)
        is_open = wanted & (open_ != 0)
        sets, counts = np.unique(open_[is_open], return_counts=True)
        for chosen in sets[np.argsort(-counts)][:most_sets].tolist():
            classes = [*{c for group, within in groups.classes if group & chosen for c in within}]
            begun = np.where(loops & chosen == chosen, _STEPS, 0)
            further = _steps(transitions, keeps, classes, begun)
            mine = is_open & (open_ == chosen) & (further > steps)
            safe[mine], steps[mine] = chosen, further[mine]
    return safe, steps


def _cjk_steps(
    transitions: npt.NDArray[np.int32],
    keeps: npt.NDArray[np.bool_],
    groups: _Groups,
    safe: npt.NDArray[np.int64],
    safe_steps: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    """Return how many characters of the group `CJK` are safe in each state; see `_safe`.

    Most tokens beyond ASCII have no other characters, and few patterns tell these apart: more of
    them are safe than of all the groups together that `safe` has.
    """
    begun = np.where(safe & CJK != 0, safe_steps, 0).astype(np.int32)
    is_open = groups.within(keeps, CJK) != 0
    if not (is_open & (begun < _STEPS)).any():
        return begun
    classes = next(within for group, within in groups.classes if group == CJK)
    return np.maximum(begun, _steps(transitions, keeps, classes, np.minimum(begun, _STEPS)))


def _steps(
    transitions: npt.NDArray[np.int32],
    keeps: npt.NDArray[np.bool_],
    classes: list[int],
    begun: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    """Return how many characters of some classes are kept from each state on, `_STEPS` at most.

    Args:
        transitions, keeps: see `_safe`.
        classes: the classes.
        begun: of how many that is known.

    """
    is_open = keeps[:, classes].all(axis=1)
    after = transitions[:, classes]
    for _ in range(_STEPS if transitions.size <= _LARGE else _FEW_STEPS):
        further = np.minimum(np.where(is_open, 1 + begun[after].min(axis=1), 0), _STEPS)
        if np.array_equal(further, begun):
            break
        begun = further
    return begun.astype(np.int32)


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
