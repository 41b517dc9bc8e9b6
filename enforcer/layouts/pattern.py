"""Literal parts of a format: bytes, control ids, optional white space, and fields.

Owns: reading a pattern, which is a string. In it the name of a control token is that token's id,
where the tokenizer has it; `{_}` is white space that may be there, as `spelling.WHITE_SPACE` has
it; `{name}` is a field that the format may have; `{one|two}` is one of these words; `{{` and `}}`
are braces. All else is text. Must not know: what the fields hold, vocabularies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

# A symbol is a byte, or a control id beyond all bytes.
ID = 256

_PART = re.compile(r"\{\{|\}\}|\{([a-z_|]+)\}|[{}]")


class Space(Enum):
    """White space that may be there or not."""

    OPTIONAL = "{_}"


@dataclass(frozen=True, slots=True)
class Field:
    """A place where something else stands."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A place where one of some words stands; writers take the first."""

    words: tuple[str, ...]


Piece = int | Space | Field | Choice


def read(
    pattern: str, control: Callable[[str], int | None], fields: Collection[str] = ()
) -> tuple[Piece, ...]:
    """Read a pattern.

    Args:
        pattern: the string.
        control: gives the id of a control token; None if the tokenizer has none of that name.
        fields: the fields that it may have, each at most once.

    Raises:
        ValueError: a brace stands alone, or a field is unknown or stands there twice.

    """
    pieces: list[Piece] = []
    text, end, seen = "", 0, set()
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
            continue
        if "|" in name:
            pieces.append(Choice(tuple(name.split("|"))))
            continue
        if name not in fields or name in seen:
            raise ValueError(f"{pattern!r}: {{{name}}} is no field that may stand here")
        seen.add(name)
        pieces.append(Field(name))
    return (*pieces, *symbols(text + pattern[end:], control))


def symbols(text: str, control: Callable[[str], int | None]) -> Iterator[int]:
    """Yield the symbols of a text without fields; the longest name at a place is a control id."""
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
    """Give the control ids among the pieces."""
    return frozenset(piece - ID for piece in pieces if isinstance(piece, int) and piece >= ID)
