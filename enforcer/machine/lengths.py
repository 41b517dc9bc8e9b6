"""Least and greatest lengths of texts, as bounds beside the states of an automaton.

A language with a length is one without it, and bounds on the characters of a text. A text leads on
if some length of what is left is within them. So each state has the least such length; where there
is a least length of texts as well, all of them: a few, and from some length on every one.

Owns: taking lengths out of languages, and the lengths of what is left. Must not know: how states
are found, vocabularies, what the languages are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from enforcer.regex import ANY, Regex, both, either, length
from enforcer.regex.constructors import EPSILON, concat, repeat
from enforcer.regex.syntax import Chars, Concat, Intersection, Repeat, Union

if TYPE_CHECKING:
    import numpy.typing as npt

_LONG = 20  # of a length beside a pattern, from which on it is a bound
FAR_COUNT = (1 << 31) - 1  # characters or elements: no text that is written has so many
MOST_RESTS = 62  # lengths of what is left; one bit more stands for all that are greater


class Bounded(NamedTuple):
    """A language of texts that have a length, with what stands around each.

    Attributes:
        text: the texts, whatever their length.
        minimum: the least number of characters of a text.
        maximum: the greatest; None for none.
        before: what stands before a text.
        behind: what stands behind it.

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
        """The language without lengths."""
        return concat(self.before, self.text, self.behind)

    @property
    def around(self) -> int | None:
        """How many characters stand around a text; None if that differs."""
        some = self.before.shortest + self.behind.shortest
        return (
            some
            if (self.before.longest, self.behind.longest)
            == (
                self.before.shortest,
                self.behind.shortest,
            )
            else None
        )

    def with_states(self) -> Bounded:
        """Return the same language, whose lengths are counted by states."""
        return Bounded(both(self.text, length(self.minimum, self.maximum)), 0, None, *self[3:])

    def in_states(self, *, is_alone: bool) -> Bounded:
        """Return the same language, whose least length is counted by states.

        Beside others, the greatest one as well.
        """
        if not is_alone:
            return self.with_states()
        return self._replace(text=both(self.text, length(self.minimum, None)), minimum=0)


Language: TypeAlias = Regex | Bounded


class Bound(NamedTuple):
    """The lengths of one language of an automaton.

    Attributes:
        minimum: the least length, of all that the automaton reads.
        maximum: the greatest one; -1 for none.
        rests: int64, for each state what is left: the least length; where there is a `minimum`, the
            lengths below `MOST_RESTS` as bits, and one for all others. None for no bounds.
        farthest: so much is left nowhere but where as much as one likes is.
        ends: whether in some state not everything long enough is left.

    """

    minimum: int = 0
    maximum: int = -1
    rests: npt.NDArray[np.int64] | None = None
    farthest: int = 0
    ends: bool = False

    def is_within(self, state: int, count: int) -> bool:
        """Return whether a state leads to a text of a length within them, as the kernel does."""
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
        """The greatest length that leads on in all states."""
        return FAR_COUNT if self.maximum < 0 else min(self.maximum, FAR_COUNT) - self.farthest

    def ends_before(self) -> npt.NDArray[np.int64] | int:
        """Return for each state the greatest length up to which it leads on."""
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
        """Return whether a text has a length within them."""
        return self.minimum <= count and (self.maximum < 0 or count <= self.maximum)


def apart(language: Regex, *, is_alone: bool = True) -> Bounded:
    """Take the lengths out of a language, if they stand by themselves, and are worth it.

    Args:
        language: any.
        is_alone: whether no other one is followed beside it: of characters that are only counted,
            any length is worth it then.

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
    """Split a language by the lengths of its alternatives, if it has none in common."""
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
    """Take a long least length out of a language; 0 if it has none that stands by itself."""
    if isinstance(language, Intersection):
        for part in language.parts:
            if isinstance(part, Repeat) and part.part == ANY.part and part.minimum > _LONG:
                others = (each for each in language.parts if each is not part)
                return part.minimum, both(*others, length(0, part.maximum))
    return 0, language


def _greatest(language: Regex) -> tuple[int, Regex]:
    """Take the greatest length out of a language; -1 if it has none that stands by itself.

    The language is what is left, with no text longer than that.
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
    """Do so where all parts but one have one length."""
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
    """Take out the greatest length of one alternative that no other one exceeds.

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
    """Return for each state the lengths of the texts that are left, as bits; see `Bound`.

    Returns:
        They, and the length from which on all are left, or none; None if that is too great.

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
