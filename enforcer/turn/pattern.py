"""The patterns of markers and headers as languages over symbols.

Owns: which symbols may follow in a pattern. A symbol is a byte or a control token: all that a
reader can tell apart of a token is its bytes, or that it is one which no bytes spell. The notation
is that of `enforcer.layouts.pattern`. Must not know: states, tools, masks.
"""

from __future__ import annotations

from itertools import groupby, takewhile
from typing import TYPE_CHECKING

from enforcer.layouts.pattern import ID, Choice, Field, Piece, Space, read
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, either, literal, repeat
from enforcer.regex.derivative import derivative, first_classes
from enforcer.regex.syntax import Concat, Literal
from enforcer.spelling import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from enforcer.regex import Regex

NAME, INDEX, MADE, BLANK = Field("name"), Field("index"), Field("id"), Space.OPTIONAL
FIELDS = ("name", "index", "id")
DIGITS = 9  # no dialog has a number of calls that is longer

_FIRST_ID = 0x10000  # code points of control tokens, which no byte has
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
    """Give the text that a pattern without fields stands for, without white space."""
    return "".join(piece for piece in pieces_of(text) if isinstance(piece, str))


def _text(symbols: Iterable[Piece]) -> str:
    return bytes(symbol for symbol in symbols if isinstance(symbol, int)).decode()


class Language:
    """What may be read from a place in a pattern on; compared by identity.

    The places of one pattern are found when they are first come to, and kept.

    Attributes:
        nullable: whether the pattern may end here.
        ends: whether it has ended, so that nothing may follow.

    """

    __slots__ = ("_known", "_moves", "_regex", "ends", "nullable")

    def __init__(self, regex: Regex, known: dict[Regex, Language] | None = None) -> None:
        self._regex = regex
        self._known = {} if known is None else known
        self._known[regex] = self
        self._moves: dict[int, Language | None] = {}
        self.nullable = regex.nullable
        self.ends = regex == EPSILON

    def after(self, symbol: int) -> Language | None:
        """Give the place behind a symbol; None if it cannot stand here."""
        try:
            return self._moves[symbol]
        except KeyError:
            found = self._behind(symbol)
            # Whoever looks for tokens tries every byte, and most of them are alike.
            alike = next(each for each in first_classes(self._regex) if _char(symbol) in each)
            for low, high in alike.ranges:
                for other in range(low, min(high + 1, ID)):
                    self._moves.setdefault(other, found)
            return self._moves.setdefault(symbol, found)

    def _behind(self, symbol: int) -> Language | None:
        rest = derivative(self._regex, _char(symbol))
        if rest == NOTHING:
            return None
        return self._known.get(rest) or Language(rest, self._known)

    def beginning(self) -> bytes:
        """Give the bytes that every member begins with, up to a control token or a choice."""
        whole = self._regex
        first = whole.parts[0] if isinstance(whole, Concat) else whole
        text = first.text if isinstance(first, Literal) else ""
        return bytes(ord(char) for char in takewhile(lambda char: ord(char) < ID, text))


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
    return Language(literal(_char(one)))


def _of(piece: Piece, behind: Sequence[Piece]) -> Regex:
    if isinstance(piece, int):
        return literal(_char(piece))
    if piece is BLANK or piece == MADE or isinstance(piece, Choice):
        return _fixed(piece)
    if piece == INDEX:
        return repeat(chars(CharSet.span("09")), 1, DIGITS)
    follows = behind[0] if behind else None
    ends = {follows} if isinstance(follows, int) and follows < ID else _NO_NAME
    return repeat(chars(CharSet.of((b, b) for b in range(ID) if b not in ends)), 1, None)


def _char(one: int) -> str:
    return chr(one if one < ID else _FIRST_ID + one - ID)


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
