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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = frozenset({"null", "true", "false"})
_LONGEST = 4_000  # digits that Python reads as a number
_SURE = 15  # digits of a decimal that no double of another one shares
_AHEAD = 64
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


def may_become(text: str, value: Json) -> bool:
    """Tell whether a number or a word that has been begun may be a value when it is complete.

    True as well where that is hard to say: it only saves asking what else may come of it.
    """
    if isinstance(value, Word):
        return value.text.startswith(text)
    if not isinstance(value, Number) or text[:1] in "tfn" or isinstance(value.value, str):
        return isinstance(value, Number) and text[:1] not in "tfn"
    number = value.value
    if text.startswith("-") and number > 0:
        return False
    if not text.startswith("-") and number < 0:
        return False
    digits = text.lstrip("-").lower().partition("e")[0].replace(".", "").lstrip("0")[:_SURE]
    known = _digits(number)
    if not digits or len(known) > _SURE:
        return True
    if abs(number) < _LEAST:
        return number != 0 or text.lstrip("-").startswith("0")  # which a double may round away
    # A decimal just below is read as the same double: 0.2999… as 0.3.
    below = str(int(known) - 1).zfill(len(known)).lstrip("0")
    return (known + "0" * _AHEAD).startswith(digits) or (below + "9" * _AHEAD).startswith(digits)


def _digits(number: float) -> str:
    """Give the significant digits, without zeros around them."""
    text = str(abs(number)) if isinstance(number, int) else repr(abs(number))
    return text.partition("e")[0].replace(".", "").strip("0")
