"""Deterministic automata over characters, as flat arrays, for tuples of regular languages.

One run decides for each language of the tuple whether it has the text, and whether it has a longer
text that begins with it. A *class* is a set of characters that no state distinguishes. Transitions
into dead ends are left out. Lengths are bounds beside the automaton (`lengths`).

Owns: the arrays, and which automata all grammars of a process share. Must not know: how states are
found, vocabularies, what the languages are for.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.machine.byte_groups import ASCII, ByteGroups
from enforcer.machine.lengths import (
    FAR_COUNT,
    MOST_RESTS,
    Bound,
    Bounded,
    all_rests,
    apart,
)
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import FAR, minimal, trimmed
from enforcer.regex.automata.minimizing import ends as nearest_ends
from enforcer.regex.charset import LAST

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.machine.lengths import Language
    from enforcer.regex.charset import CharSet
    from enforcer.regex.syntax import Explored

_WIDE = 20  # printable ASCII characters; a state that takes so many has a wide row
_LONGEST_WORD = 32  # characters; longer words are not counted
_MANY = 1 << 20  # words; more are not counted
_VAST = 10**5  # more words than any array has elements
_AHEAD = 8  # characters within which a state reaches so many words
_MOST_ROUNDS = 300  # iterations towards a fixed point over states
_MANY_LENGTHS = 4  # languages with lengths; see `Automaton.bound`
_FEW_STATES = 15_000  # that may count a least length; see `Automaton.bound`

_MANY_STATES = 1_000  # states, from which on minimizing saves more time than it takes
_MOST_WIDE = 5_000  # states; in larger automata those that only count have no wide row
_KEPT = 1_024  # automata that all grammars of a process share
_HEAVY = 32 << 10  # bytes of an automaton, beyond which few are cached
_KEPT_HEAVY = 16  # cached automata beyond `_HEAVY`
_HEAVIEST = 2 << 20  # bytes; a larger automaton is not cached


@dataclass(frozen=True, eq=False)
class Automaton:
    """An automaton as flat arrays, read-only; texts begin in state 0.

    Attributes:
        transitions: int32, shape `(states, classes)`: the next states; -1 for none.
        ascii: int32, shape `(128,)`: the class of each character; -1 for none.
        range_low: int32, ascending: the first character of each range; the first range begins at 0.
        range_class: int32: the class of each range; -1 for none.
        accepts: int64, for each state, as bits, the languages of which a text ends there.
        leads: int64, for each state, as bits, the languages of which a text can still end.
        distance: int32, for each state the characters to the nearest end, `FAR` if there is none.
        safe: int64, for each state groups of bytes.
        safe_steps: int32, for each state how many characters of these groups, whatever they are,
            lose no language.
        cjk_steps: int32, as `safe_steps`, for the group `CJK` alone.
        opens: int64, for each state the groups of bytes with a character that has a transition.
        is_wide: bool, for each state whether much of the vocabulary is legal in it.
        is_free: bool, for each state whether anything may follow in it.
        groups: the groups of bytes of each class.
        bounds: the lengths of each language; empty if no language has any.
        minimum: the length from which on no least length decides whether a text leads on.
        steady: the length up to which no greatest length decides whether a text leads on.
        work: number of operands of derivatives that building it took.

    """

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
    groups: ByteGroups
    bounds: tuple[Bound, ...] = ()
    minimum: int = 0
    steady: int = FAR_COUNT
    work: int = 0

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.transitions)

    @property
    def classes(self) -> int:
        """Number of classes of characters."""
        return int(self.transitions.shape[1])

    @property
    def rests(self) -> npt.NDArray[np.int64]:
        """int64: `Bound.rests` of each language that has lengths, one behind the other."""
        found = [each.rests for each in self.bounds if each.rests is not None]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    @property
    def free_to(self) -> npt.NDArray[np.int32]:
        """For each state the length up to which no maximum length restricts what may follow.

        Stored as `~length` where some language is not lasting: there it holds for texts of at least
        `minimum` characters only.
        """
        most = np.zeros(self.states, np.int64) if self.bounds else np.full(self.states, FAR_COUNT)
        for language, bound in enumerate(self.bounds):
            leads = self.leads >> language & 1 == 1
            most = np.where(leads, np.maximum(most, bound.ends_before()), most)
        found = np.full(self.states, FAR_COUNT)
        for _ in range(_MOST_ROUNDS):
            behind = np.append(np.minimum(found, most), FAR_COUNT)[self.transitions].min(axis=1)
            if np.array_equal(behind, found):
                break
            found = behind
        else:
            found = np.full(self.states, most.min())
        found = found.clip(min=0)
        return np.where(self.lasting == self.leads, found, ~found).astype(np.int32)

    @cached_property
    def lasting(self) -> npt.NDArray[np.int64]:
        """For each state the languages, as bits, with completions of every larger length.

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
        is_endless = all(each.maximum < 0 for each in self.bounds)
        return is_endless and not (self.leads & ~self._of_next(self.leads)).any()

    def _of_next(self, bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return for each state the union of the bits of the states that follow it."""
        found: npt.NDArray[np.int64]
        found = np.bitwise_or.reduce(np.where(self.transitions >= 0, bits[self.transitions], 0), 1)
        return found

    @cached_property
    def many_words(self) -> npt.NDArray[np.int64]:
        """For each state the languages that have a great many words from there."""
        return self._varied[-1] | self._rounds()

    @property
    def varied(self) -> int:
        """Number of characters by which each language that has many beginnings has that many."""
        most = self._varied[-1]
        return 1 + next(at for at, each in enumerate(self._varied) if (each == most).all())

    @cached_property
    def _varied(self) -> list[npt.NDArray[np.int64]]:
        """For each state the languages with many beginnings of up to one, two, ... characters."""
        sizes = self._class_sizes()
        is_way = self.transitions >= 0
        found = [np.zeros(self.states, np.int64) for _ in range(_AHEAD)]
        for language in range(int(np.bitwise_or.reduce(self.leads)).bit_length()):
            leads = self.leads >> language & 1 == 1
            ways = leads.astype(np.float64)
            for at in range(_AHEAD):
                ways = np.where(leads, np.where(is_way, ways[self.transitions], 0) @ sizes, 0)
                found[at] |= (ways >= _VAST).astype(np.int64) << language
        return [*accumulate(found, np.bitwise_or)]

    def _rounds(self) -> npt.NDArray[np.int64]:
        """Return for each state the languages without a greatest length that reach a cycle."""
        bounded = sum(1 << k for k, each in enumerate(self.bounds) if each.maximum >= 0)
        found = self.leads & ~bounded
        for _ in range(_MOST_ROUNDS):
            behind = found & self._of_next(found)
            if np.array_equal(behind, found):
                return found
            found = behind
        return np.zeros(self.states, np.int64)

    @cached_property
    def many_steps(self) -> npt.NDArray[np.int32]:
        """For each state the characters that may follow until some language has few words.

        -1 where one has few already, `FAR` where none ever has.
        """
        are_few = self.leads & ~self.many_words != 0
        far = np.array(nearest_ends(are_few.tolist(), self.transitions)[1], np.int32)
        return np.where(far < FAR, far - 1, FAR).astype(np.int32)

    @property
    def has_many_words(self) -> bool:
        """Whether some language has more words than any array has elements."""
        near = self.varied
        bounded = sum(1 << k for k, each in enumerate(self.bounds) if 0 <= each.maximum < near)
        return bool(int(self.many_words[0]) & ~bounded)

    def _class_sizes(self) -> npt.NDArray[np.float64]:
        """Return the number of characters of each class."""
        sizes = np.zeros(self.classes)
        highs = np.append(self.range_low[1:], LAST + 1)
        known = self.range_class >= 0
        np.add.at(sizes, self.range_class[known], (highs - self.range_low)[known])
        return sizes

    def count_words(self, language: int) -> int:
        """Return a lower bound on the number of words of a language, by its place in the tuple.

        Words longer than `_LONGEST_WORD` are left out; the result is `_MANY` at most.
        """
        sizes = self._class_sizes()
        is_way = self.transitions >= 0
        to = self.transitions[is_way]
        ends = self.accepts >> language & 1 == 1
        bound = self.bounds[language] if self.bounds else Bound()
        reached = np.zeros(self.states)
        reached[0] = 1
        found = 0
        for length in range(_LONGEST_WORD + 1):
            found += int(reached[ends].sum()) if bound.holds(length) else 0
            if found >= _MANY:
                return _MANY
            ways = (reached[:, None] * sizes)[is_way]
            reached = np.bincount(to, ways, self.states).clip(max=_MANY)
        return found

    def has_word(self, language: int) -> bool:
        """Return whether a language has any word, by its place in the tuple."""
        is_near = not self.bounds or self.bounds[language].is_within(0, 0)
        return bool(is_near and self.leads[0] >> language & 1)

    def bound(self, language: int, part: Bounded, *, is_of_many: bool) -> Bound | None:
        """Return the length bounds of a language; None if states have to count its minimum.

        They have to if the lengths left in a state are too irregular. They also count it where that
        is cheaper than a wide state whose row cannot be cached: of more than `_MANY_LENGTHS`
        languages with lengths, or if counting takes at most `_FEW_STATES`.

        Args:
            language: its place in the tuple.
            part: the language with its lengths.
            is_of_many: whether more than `_MANY_LENGTHS` languages have lengths.

        """
        if not part.is_counted:
            return Bound()
        around = part.around or 0
        most = -1 if part.maximum is None else part.maximum + around
        ends = self.accepts >> language & 1 == 1
        leads = self.leads >> language & 1 == 1
        if not part.minimum:
            is_alone = not (self.leads & ~(1 << language)).any()
            near = self.distance.astype(np.int64)
            if not is_alone:
                near = np.array(nearest_ends(ends.tolist(), self.transitions)[1], np.int64)
            return Bound(0, most, near, int(near[leads].max(initial=0)))
        found = all_rests(self.transitions, ends)
        if found is None:
            return None
        rests, farthest = found
        few = leads & (rests >> MOST_RESTS & 1 == 0)
        if (few & self.is_wide).any() and (is_of_many or self.states * part.minimum <= _FEW_STATES):
            return None
        return Bound(part.minimum + around, most, rests, farthest, bool(few.any()))

    def with_bounds(self, bounds: Sequence[Bound]) -> Automaton:
        """Return a copy with the bounds of each language."""
        found = replace(
            self,
            bounds=tuple(bounds),
            minimum=max((each.minimum for each in bounds if each.ends), default=0),
            steady=min(each.steady for each in bounds),
        )
        if not found.minimum:
            return found
        is_wide = self.is_wide & ~self.is_free
        safe = self.groups.safe_arrays(self.transitions, self.accepts, found.lasting, is_wide)
        return replace(found, **safe)

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        rests = sum(8 * self.states for each in self.bounds if each.rests is not None)
        arrays = 4 * (self.transitions.size + ASCII + 2 * len(self.range_low)) + 44 * self.states
        return rests + arrays


# A message stands for an automaton that is too large: reaching the limit takes longest of all.
_kept: OrderedDict[tuple[tuple[Bounded, ...], bool], Automaton | str] = OrderedDict()
_kept_heavy: OrderedDict[tuple[tuple[Bounded, ...], bool], Automaton | str] = OrderedDict()


def automaton_of(languages: tuple[Language, ...], *, is_raw: bool = False) -> Automaton:
    """Return the automaton of some languages, which is built once and cached.

    Args:
        languages: to be followed together; lengths are taken out of those that are not `Bounded`.
        is_raw: whether texts are raw, so that quotes and backslashes are characters.

    Raises:
        TooLargeError: the automaton has too many states, or takes too much work to build.

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
        size = 0 if isinstance(found, str) else found.nbytes
        if size <= _HEAVIEST:
            kept, most = (_kept, _KEPT) if size <= _HEAVY else (_kept_heavy, _KEPT_HEAVY)
            kept[key] = found
            while len(kept) > most:
                kept.popitem(last=False)
    if isinstance(found, str):
        raise TooLargeError(found)
    return found


def _built(parts: tuple[Bounded, ...], *, is_raw: bool) -> Automaton:
    if not any(each.is_counted for each in parts):
        return _arrays(explore(tuple(each.whole for each in parts)), is_raw=is_raw)
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


def _arrays(found: Explored, *, is_raw: bool) -> Automaton:
    """Make arrays of states and rows, without dead ends; equal characters become one class."""
    is_large = len(found.accepts) > _MANY_STATES
    found, leads, distance = minimal(found) if is_large else trimmed(found)
    by_atom = found.rows
    columns: dict[bytes, int] = {b"\xff" * (4 * len(leads)): -1}
    classes = [columns.setdefault(c.tobytes(), len(columns) - 1) for c in by_atom.T]
    firsts = [classes.index(each) for each in range(len(columns) - 1)]
    transitions = np.full((len(leads), 1), -1, np.int32)
    if firsts:
        transitions = np.ascontiguousarray(by_atom[:, firsts])
    ascii_, range_low, range_class = _ranges(found.atoms, classes)
    all_leads = np.array(leads, np.int64)
    groups = ByteGroups(ascii_, found.atoms, classes, is_raw=is_raw)
    stays = transitions == np.arange(len(leads))[:, None]
    accepts = np.array(found.accepts, np.int64)
    is_free = groups.are_all(stays) & (accepts != 0)
    printable = ascii_[32:127]
    printable = printable[printable >= 0]
    is_wide = np.count_nonzero(transitions[:, printable] >= 0, axis=1) >= _WIDE
    safe = groups.safe_arrays(transitions, accepts, all_leads, is_wide & ~is_free)
    if len(leads) > _MOST_WIDE:
        is_wide &= groups.within(stays) != 0
    arrays: dict[str, Any] = {
        "transitions": transitions,
        "ascii": ascii_,
        "range_low": range_low,
        "range_class": range_class,
        "accepts": accepts,
        "leads": all_leads,
        "distance": np.array(distance, np.int32),
        **safe,
        "opens": groups.opens(transitions),
        "is_wide": is_wide,
        "is_free": is_free,
    }
    for array in arrays.values():
        array.setflags(write=False)
    return Automaton(groups=groups, work=found.work, **arrays)


def _ranges(
    atoms: Sequence[CharSet], classes: Sequence[int]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the class of each ASCII character, the first of each range, and each range's class."""
    spans = sorted(
        (low, high, c) for atom, c in zip(atoms, classes, strict=True) for low, high in atom.ranges
    )
    ascii_ = np.full(ASCII, -1, np.int32)
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
        if low < ASCII:
            ascii_[low : min(end, ASCII)] = each
    if end <= LAST:
        add(end, -1)
    return ascii_, np.array(lows, np.int32), np.array(found, np.int32)
