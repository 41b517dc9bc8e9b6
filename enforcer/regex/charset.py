"""Sets of Unicode scalar values.

Surrogates are never members, since no valid JSON text contains one. The named sets of regular
expressions have two readings. Must not know: patterns, languages, rendering.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True)
class CharSet:
    """An immutable set of Unicode scalar values.

    Attributes:
        ranges: inclusive `(first, last)` pairs, ascending, neither touching nor overlapping.
            Build it with `of` or `span`; the constructor does not normalise.

    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> CharSet:
        """Build the union of inclusive ranges, in any order; surrogates are dropped."""
        return _merge(chain.from_iterable(map(_scalars, ranges)))

    @classmethod
    def span(cls, *spans: str) -> CharSet:
        """Build from one-character strings and two-character strings (first and last)."""
        return cls.of((ord(s[0]), ord(s[-1])) for s in spans)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.ranges)

    def __contains__(self, char: str) -> bool:
        code = ord(char)
        at = bisect_right(self.ranges, (code, LAST)) - 1
        return at >= 0 and code <= self.ranges[at][1]

    def __iter__(self) -> Iterator[str]:
        return (chr(code) for low, high in self.ranges for code in range(low, high + 1))

    def __or__(self, other: CharSet) -> CharSet:
        if self.ranges == other.ranges:
            return self
        return _merge(self.ranges + other.ranges)

    def __and__(self, other: CharSet) -> CharSet:
        if self.ranges == other.ranges:
            return self
        out: list[tuple[int, int]] = []
        ours, theirs = self.ranges, other.ranges
        i = j = 0
        while i < len(ours) and j < len(theirs):
            low = max(ours[i][0], theirs[j][0])
            high = min(ours[i][1], theirs[j][1])
            if low <= high:
                out.append((low, high))
            if ours[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return CharSet(tuple(out))

    def __invert__(self) -> CharSet:
        gaps: list[tuple[int, int]] = []
        start = 0
        for low, high in self.ranges:
            if start < low:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CharSet.of(gaps)

    def __sub__(self, other: CharSet) -> CharSet:
        return self & ~other

    @property
    def first(self) -> str:
        """The lowest member; the set must not be empty."""
        return chr(self.ranges[0][0])

    @property
    def is_marker(self) -> bool:
        """Whether its members are surrogates, which only `constructors.marker` makes."""
        return bool(self.ranges) and _SURROGATES[0] <= self.ranges[0][0] <= _SURROGATES[1]

    def folded(self) -> CharSet:
        """Add all characters whose simple case folding is that of a member."""
        partners = self if len(self) <= _CASED_AT_MOST else [c for c in _cased() if c in self]
        alike = _alike()
        same = (other for c in partners for other in alike.get(_fold(c), ()))
        return self | CharSet.of((ord(c), ord(c)) for c in same)

    def ignoring_case(self) -> CharSet:
        """Add the simple upper- and lower-case partners of every member."""
        partners = self if len(self) <= _CASED_AT_MOST else [c for c in _cased() if c in self]
        both = [v for c in partners for v in (c.lower(), c.upper()) if len(v) == 1]
        return self | CharSet.of((ord(c), ord(c)) for c in both)


def union(sets: Iterable[CharSet]) -> CharSet:
    """Build the union of any number of sets."""
    return _merge(span for members in sets for span in members.ranges)


def _merge(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """Return the set of inclusive ranges, in any order, which may overlap."""
    merged: list[tuple[int, int]] = []
    start, end = -2, -2
    for low, high in sorted(ranges):
        if low > end + 1:
            merged.append((low, high))
            start, end = low, high
        elif high > end:
            merged[-1] = (start, high)
            end = high
    return CharSet(tuple(merged))


def _scalars(span: tuple[int, int]) -> list[tuple[int, int]]:
    """Cut the surrogates out of an inclusive range."""
    low, high = span
    if high < _SURROGATES[0] or low > _SURROGATES[1]:
        return [span] if low <= high else []
    parts = ((low, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, high))
    return [(a, b) for a, b in parts if a <= b]


_CASED_AT_MOST = 512  # larger sets are met with the cased letters, not walked


@lru_cache(maxsize=1)
def _cased() -> tuple[str, ...]:
    return tuple(c for c in map(chr, range(_CASED_END)) if c.lower() != c or c.upper() != c)


def _fold(char: str) -> str:
    return next((each for each in (char.casefold(), char.lower()) if len(each) == 1), char)


@lru_cache(maxsize=1)
def _alike() -> dict[str, str]:
    """Return the characters of each simple case folding."""
    found: dict[str, str] = defaultdict(str)
    for char in _cased():
        found[_fold(char)] += char
    return {folded: chars + folded for folded, chars in found.items()}


EMPTY = CharSet(())
ALL = CharSet.of([(0, LAST)])


def partition(sets: Iterable[CharSet]) -> tuple[CharSet, ...]:
    """Split all characters so that each of the sets is a union of parts.

    The parts are the atoms of the Boolean algebra that the sets generate.
    """
    flips: defaultdict[int, list[int]] = defaultdict(list)
    for number, members in enumerate(dict.fromkeys(sets)):
        for low, high in members.ranges:
            flips[low].append(number)
            flips[high + 1].append(number)
    signature: frozenset[int] = frozenset()
    spans: defaultdict[frozenset[int], list[tuple[int, int]]] = defaultdict(list)
    start = 0
    for code in sorted(flips):
        if start < code:
            spans[signature].append((start, code - 1))
        signature ^= frozenset(flips[code])
        start = code
    if start <= LAST:
        spans[signature].append((start, LAST))
    parts = ((_merge if of else CharSet.of)(ranges) for of, ranges in spans.items())
    return tuple(found for found in parts if found)


@dataclass(frozen=True, slots=True)
class Readings:
    r"""A set of characters as ECMA-262 reads it and as Python's `re` reads it.

    Schemas are written for ECMA-262 and, in much of the world, checked with Python. The readings
    are kept apart until a whole class is known, so that `[\s\S]` stays "every character" although
    neither half agrees.
    """

    ecma: CharSet
    python: CharSet

    @classmethod
    def same(cls, chars: CharSet) -> Readings:
        """Build the set of equal readings."""
        return cls(chars, chars)

    def __or__(self, other: Readings) -> Readings:
        return Readings(self.ecma | other.ecma, self.python | other.python)

    def __and__(self, other: Readings) -> Readings:
        return Readings(self.ecma & other.ecma, self.python & other.python)

    def __invert__(self) -> Readings:
        return Readings(~self.ecma, ~self.python)

    @property
    def narrow(self) -> CharSet:
        """The characters that both readings match."""
        return self.ecma & self.python

    @property
    def wide(self) -> CharSet:
        """The characters that either reading matches."""
        return self.ecma | self.python


ASCII_DIGIT = CharSet.span("09")
ASCII_WORD = CharSet.span("09", "AZ", "_", "az")
LINE_ENDS = Readings(CharSet.span("\n", "\r", "\u2028\u2029"), CharSet.span("\n"))
_ECMA_SPACE = CharSet.span(
    "\t\r", " ", "\xa0", "\u1680", "\u2000\u200a", "\u2028\u2029", "\u202f", "\u205f",
    "\u3000", "\ufeff",
)  # fmt: skip

ANY_BUT_LINE_END = ~LINE_ENDS
_CASED_END = 0x20000  # planes 2 to 16 hold no letter that has a case
_LETTERS_END = 0x40000  # planes 4 to 16 hold no letter, digit or space in any version of Unicode


@lru_cache(maxsize=1)
def digit() -> Readings:
    r"""Build the set of `\d`."""
    return Readings(ASCII_DIGIT, _matching(re.compile(r"\d+"), _LETTERS_END))


@lru_cache(maxsize=1)
def word() -> Readings:
    r"""Build the set of `\w`."""
    return Readings(ASCII_WORD, _matching(re.compile(r"\w+"), _LETTERS_END))


@lru_cache(maxsize=1)
def space() -> Readings:
    r"""Build the set of `\s`."""
    return Readings(_ECMA_SPACE, _matching(re.compile(r"\s+"), _LETTERS_END))


def unicode_property(name: str) -> CharSet:
    r"""Build the set of `\p{name}`, where name is as between ECMA-262's braces.

    Raises:
        KeyError: no such property.

    """
    return unicode_class(rf"\p{{{name}}}")


@lru_cache(maxsize=128)
def unicode_class(members: str) -> CharSet:
    r"""Build the set of a class without its brackets, as `\p{L}\p{M}`.

    Raises:
        KeyError: no such class.

    """
    import regex  # type: ignore[import-untyped]  # the tables of scripts and categories; tiktoken depends on it as well

    try:
        found = regex.compile(f"[{members}]+", regex.V1)
    except regex.error as error:
        raise KeyError(members) from error
    return _matching(found)


def _matching(runs: re.Pattern[str], end: int = LAST + 1) -> CharSet:
    """Collect the characters below `end` of all runs that a pattern `[...]+` finds."""
    every = "".join(map(chr, chain(range(_SURROGATES[0]), range(_SURROGATES[1] + 1, end))))
    spans = (match.span() for match in runs.finditer(every))
    return CharSet.of((ord(every[a]), ord(every[b - 1])) for a, b in spans)
