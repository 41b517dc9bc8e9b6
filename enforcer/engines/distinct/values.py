"""The elements of an array as values that are equal exactly if JSON calls them equal.

`1`, `1.0` and `1e0` are one number, and the order of an object's properties is none of its value.
Strings are themselves, arrays are tuples; numbers, words and objects have types of their own, so
that `1` is not `true`. Numbers are read as Python reads them: exactly if they are spelled as
integers, as doubles otherwise.

Owns: these values. Must not know: texts around them, shapes.
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


class Number:
    """A number; integers beyond what Python reads are kept as they are spelled."""

    __slots__ = ("_hash", "first", "value")

    def __init__(self, value: float | str) -> None:
        self.value = value
        self._hash = hash(value)
        self.first: tuple[bool, int | None] | None = None  # for `rivals`, when it is asked for

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.value == other.value

    def __repr__(self) -> str:
        return f"Number({self.value!r})"


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
