"""The patterns of markers and headers as languages over symbols.

Owns: which symbols may follow in a pattern. A symbol is a byte or a control token: all that a
reader can tell apart of a token is its bytes, or that it is one which no bytes spell. The notation
is that of `enforcer.layouts.pattern`. Must not know: states, tools, masks.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from enforcer.layouts.pattern import (
    ID,
    Choice,
    Field,
    Language,
    Piece,
    Space,
    character,
    read,
)
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import chars, concat, either, literal, repeat
from enforcer.spelling import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from enforcer.regex import Regex

NAME, INDEX, MADE, BLANK = Field("name"), Field("index"), Field("id"), Space.OPTIONAL
FIELDS = ("name", "index", "id")
DIGITS = 9  # no dialog has a number of calls that is longer

_BLANKS = repeat(WHITE_SPACE, 0, 1)
# What ends a name that nothing stands behind.
_NO_NAME = frozenset((*range(0x21), *b"<[{("))
# An id of Mistral's: nine letters and digits.
_MADE = repeat(chars(CharSet.span("az", "AZ", "09")), 9, 9)

# Of letters beyond ASCII, any byte.
_IDENTIFIER = concat(
    chars(CharSet.span("az", "AZ", "\x80\xff")),
    repeat(chars(CharSet.span("az", "AZ", "09", "__", "\x80\xff")), 0, None),
)

Fixed = str | Field | Space | Choice


def pieces_of(text: str, fields: Sequence[str] = ()) -> tuple[Fixed, ...]:
    """Read a pattern of a dialect file, whose tokenizer is not known yet.

    Raises:
        ValueError: it is none, or ends in white space that may be missing, so that nothing
            would say where it ends.

    """
    pieces = read(text, lambda _: None, fields)
    if not pieces or pieces[-1] is BLANK:
        raise ValueError(f"{text!r}: it must end in something that shows where it ends")
    found: list[Fixed] = []
    for is_text, group in groupby(pieces, lambda piece: isinstance(piece, int)):
        members = tuple(group)
        found.extend(
            [_text(members)] if is_text else [p for p in members if not isinstance(p, int)]
        )
    return tuple(found)


def plain(text: str) -> str:
    """Return the text that a pattern without fields stands for, without white space."""
    return "".join(piece for piece in pieces_of(text) if isinstance(piece, str))


def _text(symbols: Iterable[Piece]) -> str:
    return bytes(symbol for symbol in symbols if isinstance(symbol, int)).decode()


def language(
    text: str, control: Callable[[str], int | None], *, identifiers: bool = False
) -> Language:
    """Build the language of a pattern over symbols, whatever its fields hold.

    Args:
        text: the pattern.
        control: gives the id of a control token; None if its name is ordinary text.
        identifiers: whether names are Python's, none of which begins with an underscore.

    """
    pieces = read(text, control, FIELDS)
    parts = (
        _IDENTIFIER if identifiers and piece == NAME else _of(piece, pieces[at + 1 :])
        for at, piece in enumerate(pieces)
    )
    return Language(concat(*parts))


def of_pieces(pieces: Sequence[Fixed]) -> Language | None:
    """Build the language of fixed texts and white space; None if there are none."""
    parts = [
        _fixed(piece)
        if isinstance(piece, Space | Choice | Field)
        else literal(piece.encode().decode("latin-1"))
        for piece in pieces
    ]
    return Language(concat(*parts)) if parts else None


def _fixed(piece: Piece) -> Regex:
    if isinstance(piece, Choice):
        return either(*map(literal, piece.words))
    return _MADE if piece == MADE else _BLANKS


def symbol(one: int) -> Language:
    """Build the language of one symbol."""
    return Language(literal(character(one)))


def _of(piece: Piece, behind: Sequence[Piece]) -> Regex:
    if isinstance(piece, int):
        return literal(character(piece))
    if piece is BLANK or piece == MADE or isinstance(piece, Choice):
        return _fixed(piece)
    if piece == INDEX:
        return repeat(chars(CharSet.span("09")), 1, DIGITS)
    follows = behind[0] if behind else None
    ends = {follows} if isinstance(follows, int) and follows < ID else _NO_NAME
    return repeat(chars(CharSet.of((b, b) for b in range(ID) if b not in ends)), 1, None)


__all__ = [
    "BLANK",
    "DIGITS",
    "FIELDS",
    "ID",
    "INDEX",
    "MADE",
    "NAME",
    "Choice",
    "Fixed",
    "Language",
    "language",
    "of_pieces",
    "pieces_of",
    "symbol",
]
