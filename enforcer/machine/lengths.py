"""Least and greatest lengths of texts, as bounds beside the states of an automaton.

A language with a length is split into one without it, and bounds on the number of characters. A
prefix is viable if some completion from its state has a length within the bounds. So each state has
the length of its shortest completion; if texts have a least length as well, the lengths of all its
completions: a few, and from some length on every one.

Owns: the split, and the lengths of completions. Must not know: how states are found, vocabularies,
what the languages are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from enforcer.regex import ANY, Regex, both, either, length
from enforcer.regex.constructors import EPSILON, concat, repeat
from enforcer.regex.syntax import Chars, Concat, Intersection, Repeat, Union

if TYPE_CHECKING:
    import numpy.typing as npt

_LONG = 20  # characters: a greater length beside a pattern becomes a bound
FAR_COUNT = (1 << 31) - 1  # characters or elements: no text has so many
MOST_RESTS = 62  # lengths of completions, a bit each; one bit more stands for all greater ones


class Bounded(NamedTuple):
    """A language of texts within bounds of length, each between a prefix and a suffix.

    Attributes:
        text: the texts, of any length.
        minimum: the least number of characters of a text.
        maximum: the greatest; None for none.
        before: the prefixes.
        behind: the suffixes.

    """

    text: Regex
    minimum: int = 0
    maximum: int | None = None
    before: Regex = EPSILON
    behind: Regex = EPSILON

    @property
    def is_counted(self) -> bool:
        """Whether a text has a least or greatest length."""
        return self.minimum > 0 or self.maximum is not None

    @property
    def whole(self) -> Regex:
        """The language of prefix, text and suffix, without bounds of length."""
        return concat(self.before, self.text, self.behind)

    @property
    def around(self) -> int | None:
        """Number of characters around a text; None if prefixes or suffixes differ in length."""
        around = self.before, self.behind
        is_even = all(each.longest == each.shortest for each in around)
        return sum(each.shortest for each in around) if is_even else None

    def with_states(self) -> Bounded:
        """Return an equal language whose lengths are counted by states, not bounds."""
        return Bounded(both(self.text, length(self.minimum, self.maximum)), 0, None, *self[3:])

    def in_states(self, *, is_alone: bool) -> Bounded:
        """Return an equal language whose least length is counted by states.

        Args:
            is_alone: whether no other language has lengths; if not, the greatest length is counted
                by states too.

        """
        if not is_alone:
            return self.with_states()
        return self._replace(text=both(self.text, length(self.minimum, None)), minimum=0)


Language: TypeAlias = Regex | Bounded


class Bound(NamedTuple):
    """The lengths of one language of an automaton.

    Attributes:
        minimum: the least length of a whole text, prefix and suffix included.
        maximum: the greatest one; -1 for none.
        rests: int64, for each state the length of its shortest completion; with a `minimum`, the
            lengths of its completions below `MOST_RESTS` as bits, and one bit for all others. None
            for no bounds.
        farthest: the greatest length in `rests`; with a `minimum`, the length from which on all
            completions exist in a state or none.
        ends: whether some state lacks completions of every greater length.

    """

    minimum: int = 0
    maximum: int = -1
    rests: npt.NDArray[np.int64] | None = None
    farthest: int = 0
    ends: bool = False

    def is_within(self, state: int, count: int) -> bool:
        """Return whether `count` characters that lead to a state have a completion in bounds."""
        if self.rests is None:
            return True
        rest = int(self.rests[state])
        left = MOST_RESTS + self.minimum if self.maximum < 0 else self.maximum - count
        if not self.minimum:
            return self.maximum < 0 or rest <= left
        if left >= MOST_RESTS and rest >> MOST_RESTS & 1:
            return True
        least, left = max(self.minimum - count, 0), min(left, MOST_RESTS - 1)
        return least <= left and rest >> least & ((1 << (left - least + 1)) - 1) != 0

    @property
    def steady(self) -> int:
        """The greatest length up to which the bounds decide in no state."""
        return FAR_COUNT if self.maximum < 0 else min(self.maximum, FAR_COUNT) - self.farthest

    def ends_before(self) -> npt.NDArray[np.int64] | int:
        """Return for each state the greatest length up to which it has completions."""
        if self.rests is None or self.maximum < 0:
            return FAR_COUNT
        most = min(self.maximum, FAR_COUNT)
        if not self.minimum:
            return most - self.rests
        # All lengths from some one on; else the least.
        near = np.zeros(len(self.rests), np.int64)
        is_endless = self.rests >> MOST_RESTS & 1 == 1
        for count in range(MOST_RESTS):
            is_rest = self.rests >> count & 1 == 1
            is_first = ~is_rest & ((self.rests & ((1 << count) - 1)) == 0)
            near[np.where(is_endless, ~is_rest, is_first)] = count + 1
        return most - near

    def holds(self, count: int) -> bool:
        """Return whether a number of characters is within the bounds."""
        return self.minimum <= count and (self.maximum < 0 or count <= self.maximum)


def apart(language: Regex, *, is_alone: bool = True) -> Bounded:
    """Return a language split into texts and bounds, if it can be split and states are saved.

    Args:
        language: any.
        is_alone: whether no other language is followed beside it; if so, even short lengths of
            characters that are only counted become bounds.

    """
    if isinstance(language, Repeat) and isinstance(language.part, Chars):
        least, most = language.minimum, language.maximum
        is_long = is_alone or max(least, most or 0) > _LONG
        if is_long:
            return Bounded(repeat(language.part, 0, None), least, most)
        return Bounded(language)
    least, rest = _least(language)
    most, without = _greatest(rest)
    return Bounded(without, least, most) if most > _LONG else Bounded(rest, least)


def alternatives(language: Regex) -> tuple[Language, ...]:
    """Return a language split by the lengths of its alternatives, unless they share bounds."""
    if not isinstance(language, Union):
        return (language,)
    found: dict[tuple[int, int | None], list[Regex]] = {}
    for part in map(apart, language.parts):
        found.setdefault(part[1:3], []).append(part.text)
    is_common = apart(language).is_counted and not any(least for least, _ in found)
    if is_common or len(found) < 2:  # noqa: PLR2004
        return (language,)
    return tuple(
        Bounded(either(*texts), least, most) if least or most is not None else either(*texts)
        for (least, most), texts in found.items()
    )


def _least(language: Regex) -> tuple[int, Regex]:
    """Return the least length that can be split off a language, 0 for none, and the rest."""
    if isinstance(language, Intersection):
        for part in language.parts:
            if isinstance(part, Repeat) and part.part == ANY.part and part.minimum > _LONG:
                others = (each for each in language.parts if each is not part)
                return part.minimum, both(*others, length(0, part.maximum))
    return 0, language


def _greatest(language: Regex) -> tuple[int, Regex]:
    """Return the greatest length that can be split off a language, -1 for none, and the rest.

    The language is the rest's texts up to that length.
    """
    if isinstance(language, Repeat):
        if isinstance(language.part, Chars) and language.maximum is not None:
            return language.maximum, repeat(language.part, language.minimum, None)
        if (language.minimum, language.maximum) == (0, 1):
            most, rest = _greatest(language.part)
            return most, repeat(rest, 0, 1)
    if isinstance(language, Concat):
        return _greatest_of_row(language)
    if isinstance(language, Union):
        return _greatest_in_common(language)
    if isinstance(language, Intersection):
        apart = [_greatest(part) for part in language.parts]
        most = min((own for own, _ in apart if own >= 0), default=-1)
        return most, both(*(rest for _, rest in apart))
    return -1, language


def _greatest_of_row(language: Concat) -> tuple[int, Regex]:
    """Return the same for a concatenation in which all parts but one have a fixed length."""
    uneven = [at for at, part in enumerate(language.parts) if part.shortest != part.longest]
    if len(uneven) != 1:
        return -1, language
    (at,) = uneven
    most, rest = _greatest(language.parts[at])
    if most < 0:
        return -1, language
    before, behind = language.parts[:at], language.parts[at + 1 :]
    around = sum(part.shortest for part in (*before, *behind))
    return around + most, concat(*before, rest, *behind)


def _greatest_in_common(language: Union) -> tuple[int, Regex]:
    """Return the same for alternatives of which none is longer than the greatest length.

    Host names (253 characters) or addresses of either version, which have no more than 45, would
    take 20,000 states with the length among them.
    """
    found = [_greatest(part) for part in language.parts]
    most = max(own for own, _ in found)
    rest: list[Regex] = []
    for part, (own, without) in zip(language.parts, found, strict=True):
        if own != most and (part.longest is None or part.longest > most):
            return -1, language
        rest.append(without if own == most else part)
    return most, either(*rest)


def all_rests(
    transitions: npt.NDArray[np.int32], accepts: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], int] | None:
    """Return the lengths of each state's completions.

    Args:
        transitions: int32, shape `(states, classes)`; -1 for none.
        accepts: bool, shape `(states,)`.

    Returns:
        int64 bits as in `Bound.rests`, and the length from which on a state has completions of all
        lengths or none; None if that length exceeds `MOST_RESTS`.

    """
    found = np.zeros(len(accepts), np.int64)
    now = accepts
    for count in range(MOST_RESTS + 1):
        behind = np.append(now, [False])[transitions]
        before: npt.NDArray[np.bool_] = np.logical_or.reduce(behind, axis=1)
        if np.array_equal(before, now):
            # The states that lead to some text of one length do so for each greater one.
            bits = (1 << MOST_RESTS + 1) - (1 << count)
            return found | np.where(now, bits, 0), count
        if count < MOST_RESTS:
            found |= now.astype(np.int64) << count
        now = before
    return None
