"""The elements of an array as values that are equal exactly if JSON calls them equal.

`1`, `1.0` and `1e0` are one number, and the order of an object's properties is none of its value.
Strings are themselves, arrays are tuples; numbers, words and objects have types of their own, so
that `1` is not `true`. Numbers are read as Python reads them: exactly if they are spelled as
integers, as doubles otherwise.

Owns: these values, and which numbers a text that has been begun can still become. Must not know:
texts around them, shapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = frozenset({"null", "true", "false"})
_LONGEST = 4_000  # digits that Python reads as a number
_SURE = 15  # digits of a decimal that no double of another one shares
_DIGITS = 17  # that tell all doubles apart
_SLACK = 100
_LEAST = 1e-290  # above which doubles keep their digits


@dataclass(frozen=True, slots=True)
class Number:
    """A number; integers beyond what Python reads are kept as they are spelled."""

    value: float | str


@dataclass(frozen=True, slots=True)
class Word:
    """One of `null`, `true` and `false`."""

    text: str


class Object:
    """An object."""

    __slots__ = ("_hash", "members")

    def __init__(self, members: Mapping[str, Json]) -> None:
        self.members = members
        self._hash = hash(frozenset(members.items()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Object)
            and self._hash == other._hash
            and self.members == other.members
        )

    def __repr__(self) -> str:
        return f"Object({self.members!r})"


Json = str | Number | Word | tuple["Json", ...] | Object


def bare(text: str) -> Number | Word | None:
    """Read a number or a word; None if it is neither."""
    if text in _WORDS:
        return Word(text)
    if not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("-").isdigit():
        return Number(int(text) if len(text) <= _LONGEST else text)
    return Number(float(text))


def among(text: str, values: Iterable[Json]) -> list[Json]:
    """Leave those values that a number or a word may be when it is complete, having begun so.

    Others as well where that is hard to say: it only saves asking what else may come of it.
    """
    if text[:1] in "tfn":
        return [x for x in values if isinstance(x, Word) and x.text.startswith(text)]
    digits = text.lstrip("-").lower().partition("e")[0].replace(".", "").lstrip("0")[:_SURE]
    if not digits:
        return [x for x in values if isinstance(x, Number)]
    if not (digits.isascii() and digits.isdigit()):
        return []  # no number begins so
    # As the first digits of a number, which may also be the double next to it: 0.2999… is 0.3.
    unit = 10 ** (_DIGITS - len(digits))
    low, high = int(digits) * unit - _SLACK, (int(digits) + 1) * unit + _SLACK
    negative = text.startswith("-")
    small = "." in text or "e" in text.lower()  # so that a double may be rounded away
    found: list[Json] = []
    for each in values:
        if isinstance(each, Number):
            sign, first = _first_digits(each)
            if first is None:
                if sign or small:
                    found.append(each)
            elif sign == negative and (low <= first <= high or low <= 10 * first <= high):
                found.append(each)
    return found


@lru_cache(maxsize=65_536)
def _first_digits(number: Number) -> tuple[bool, int | None]:
    """Give whether a number is below zero, and its first digits; None where there are none.

    With None the first tells whether it may be anything.
    """
    value = number.value
    if isinstance(value, str) or (value and abs(value) < _LEAST):
        return True, None
    if not value:
        return False, None
    text = str(abs(value)) if isinstance(value, int) else repr(abs(value))
    digits = text.partition("e")[0].replace(".", "").lstrip("0")
    return value < 0, int(digits[:_DIGITS].ljust(_DIGITS, "0"))
