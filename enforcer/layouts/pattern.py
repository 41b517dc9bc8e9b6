"""Patterns of a tool-call format, and languages over symbols (bytes and special tokens).

In a pattern, a string, the name of a special token is that token, if the tokenizer has it; `{_}` is
optional white space (`spelling.WHITE_SPACE`); `{name}` is a field that the format may have;
`{one|two}` is one of these words; `{{` and `}}` are braces. All else is text. Must not know: what
the fields hold, vocabularies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from enforcer.regex.constructors import EPSILON, NOTHING
from enforcer.regex.derivative import derivative, example, first_classes
from enforcer.regex.syntax import Concat, Literal

if TYPE_CHECKING:
    from enforcer.regex import Regex

# A symbol is a byte, or a special token's id plus `ID`.
ID = 256
_FIRST_ID = 0x10000  # the code point of special token 0 in languages
_PART = re.compile(r"\{\{|\}\}|\{([a-z_|]+)\}|[{}]")


class Space(Enum):
    """Optional white space."""

    OPTIONAL = "{_}"


@dataclass(frozen=True, slots=True)
class Field:
    """A named field of a pattern."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words; writers take the first."""

    words: tuple[str, ...]


Piece = int | Space | Field | Choice


def read(
    pattern: str, control: Callable[[str], int | None], fields: Collection[str] = ()
) -> tuple[Piece, ...]:
    """Return the pieces of a pattern.

    Args:
        pattern: the string.
        control: returns the id of a special token by name; None if the tokenizer has none.
        fields: the fields that it may have, each at most once.

    Raises:
        ValueError: a single brace, or a field that is unknown or occurs twice.

    """
    pieces: list[Piece] = []
    text, end = "", 0
    for found in _PART.finditer(pattern):
        text += pattern[end : found.start()]
        end = found.end()
        name = found[1]
        if found[0] in {"{{", "}}"}:
            text += found[0][0]
            continue
        if name is None:
            raise ValueError(f"{pattern!r}: write '{found[0] * 2}' for a brace")
        pieces += symbols(text, control)
        text = ""
        if name == "_":
            pieces.append(Space.OPTIONAL)
        elif "|" in name:
            pieces.append(Choice(tuple(name.split("|"))))
        elif name in fields and Field(name) not in pieces:
            pieces.append(Field(name))
        else:
            raise ValueError(f"{pattern!r}: {{{name}}} is no field that may stand here")
    return (*pieces, *symbols(text + pattern[end:], control))


def symbols(text: str, control: Callable[[str], int | None]) -> Iterator[int]:
    """Yield the symbols of a text without fields; the longest name of a special token counts."""
    at = 0
    while at < len(text):
        for end in range(len(text), at, -1):
            found = control(text[at:end])
            if found is not None:
                yield ID + found
                at = end
                break
        else:
            yield from text[at].encode()
            at += 1


def ids_of(pieces: Iterable[Piece]) -> frozenset[int]:
    """Return the ids of the special tokens among pieces."""
    return frozenset(piece - ID for piece in pieces if isinstance(piece, int) and piece >= ID)


def character(symbol: int) -> str:
    """Return the character of a symbol in languages; a byte is itself."""
    return chr(symbol if symbol < ID else _FIRST_ID + symbol - ID)


class Language:
    """A state of a lazily built automaton over symbols; compared by identity.

    The states of one pattern are cached.

    Attributes:
        nullable: whether the state accepts.
        ends: whether nothing may follow.

    """

    __slots__ = ("__dict__", "_known", "_moves", "_regex", "ends", "nullable")

    def __init__(self, regex: Regex, known: dict[Regex, Language] | None = None) -> None:
        self._regex = regex
        self._known = {} if known is None else known
        self._known[regex] = self
        self._moves: dict[int, Language | None] = {}
        self.nullable = regex.nullable
        self.ends = regex == EPSILON

    def after(self, symbol: int) -> Language | None:
        """Return the state after a symbol; None if the symbol is illegal."""
        try:
            return self._moves[symbol]
        except KeyError:
            found = self._behind(symbol)
            # Searches for tokens try every byte, and most bytes lead to the same state.
            alike = next(each for each in first_classes(self._regex) if character(symbol) in each)
            for low, high in alike.ranges:
                for other in range(low, min(high + 1, ID)):
                    self._moves.setdefault(other, found)
            return self._moves.setdefault(symbol, found)

    def _behind(self, symbol: int) -> Language | None:
        rest = derivative(self._regex, character(symbol))
        if rest == NOTHING:
            return None
        return self._known.get(rest) or Language(rest, self._known)

    @cached_property
    def firsts(self) -> frozenset[int]:
        """The bytes that may follow."""
        return frozenset(byte for byte in range(ID) if self.after(byte) is not None)

    def beginning(self) -> bytes:
        """Return the bytes that every member begins with, up to a special token or a choice."""
        whole = self._regex
        first = whole.parts[0] if isinstance(whole, Concat) else whole
        text = first.text if isinstance(first, Literal) else ""
        return bytes(ord(char) for char in takewhile(lambda char: ord(char) < ID, text))

    @cached_property
    def shortest(self) -> tuple[int, ...]:
        """The symbols of a shortest member, which has no optional white space."""
        codes = map(ord, example(self._regex) or "")
        return tuple(code if code < ID else code - _FIRST_ID + ID for code in codes)
