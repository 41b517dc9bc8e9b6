"""The layout of arguments as a frozen value, read from the table `[arguments]` of a dialect file.

```toml
[arguments]
layout = "json"              # the default: one JSON object
white_space = "usual"        # or "no line breaks", or "none"

[arguments]
layout = "pairs"             # keys and values
pair = '<|open|>argument key="{key}" type="{type}"<|sep|>{value}<|close|>argument<|sep|>'
close = '<|close|>call<|sep|>'   # ends the text; if it is {_} alone, the following marker does
key = "xml"                  # &amp; and &quot; in keys; "none": as they are
trim = "none"                # "newline": a line break at either end is none of the value
types = "written"            # in {type}; "declared": by the schema alone
never = ["<|close|>call<|sep|>"] # other texts that no value may hold: parsers take them for markers

[arguments]
layout = "python"            # Python's keyword arguments, up to the bracket behind them
```

In `pair` and `close` names of special tokens stand for their ids; see `pattern`. Strings are raw,
all other values JSON. A key ends at the first symbol of what follows it in `pair`. A value ends at
the first occurrence of the whole delimiter that follows it, which therefore has neither fields nor
optional white space. In `never`, `{_}` is any white space of ASCII. Must not know: schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise, takewhile
from typing import Any, TypeVar

from enforcer.errors import brief
from enforcer.layouts.pattern import ID, Field, Piece, Space, ids_of, read
from enforcer.layouts.scanning import JSON_TEXT, PYTHON_TEXT, Scan, pairs_text
from enforcer.regex.charset import ALL, CharSet

_E = TypeVar("_E", bound=Enum)
_FIELDS = ("key", "type", "value")


class LayoutKind(Enum):
    """The kind of a layout: one JSON object, pairs of key and value, or Python's keywords."""

    JSON = "json"
    PAIRS = "pairs"
    PYTHON = "python"


class WhiteSpace(Enum):
    """The white space allowed between two tokens of JSON, in ascending order."""

    NONE = "none"
    NO_LINE_BREAKS = "no line breaks"
    USUAL = "usual"


class Escape(Enum):
    """The escaping of keys."""

    NONE = "none"
    XML = "xml"

    def write(self, text: str) -> str:
        """Return a key, escaped."""
        xml = self is Escape.XML
        return text.replace("&", "&amp;").replace('"', "&quot;") if xml else text

    def read(self, text: str) -> str:
        """Return an escaped key, unescaped."""
        xml = self is Escape.XML
        return text.replace("&quot;", '"').replace("&amp;", "&") if xml else text


class Trim(Enum):
    """The text at either end of a value that is not part of it."""

    NONE = "none"
    NEWLINE = "newline"


class Types(Enum):
    """The source of a value's type: written in the text, or declared by the schema."""

    WRITTEN = "written"
    DECLARED = "declared"


@dataclass(frozen=True, slots=True)
class Layout:
    """The table `[arguments]` of a dialect file; see the module."""

    kind: LayoutKind = LayoutKind.JSON
    white_space: WhiteSpace = WhiteSpace.USUAL
    pair: str = ""
    close: str = ""
    key: Escape = Escape.NONE
    trim: Trim = Trim.NONE
    types: Types = Types.DECLARED
    never: tuple[str, ...] = ()

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Layout:
        """Return the layout of a parsed table `[arguments]`.

        Raises:
            ValueError: an unknown key or value, or inconsistent patterns.
            TypeError: a value that is no string, or no list of strings.
            KeyError: a key is missing.

        """
        left = dict(table)
        never = tuple(_text("never", each) for each in left.pop("never", ()))
        left = {name: _text(name, value) for name, value in left.items()}
        kind = _one_of(LayoutKind, left, "layout", LayoutKind.JSON)
        if kind is LayoutKind.JSON:
            found = cls(white_space=_one_of(WhiteSpace, left, "white_space", WhiteSpace.USUAL))
        elif kind is LayoutKind.PYTHON:
            found = cls(kind)
        else:
            found = cls(
                kind,
                pair=left.pop("pair"),
                close=left.pop("close"),
                key=_one_of(Escape, left, "key", Escape.NONE),
                trim=_one_of(Trim, left, "trim", Trim.NONE),
                types=_one_of(Types, left, "types", Types.DECLARED),
                never=never,
            )
        if left:
            raise ValueError(f"unknown keys in arguments: {', '.join(left)}")
        found.bind(lambda _: None)
        return found

    def bind(self, control: Callable[[str], int | None], writable: CharSet = ALL) -> BoundLayout:
        """Return the layout bound to a tokenizer.

        Args:
            control: returns the id of a special token by name; None if the tokenizer has none, so
                that the name is ordinary text.
            writable: the characters that the tokenizer can write.

        Raises:
            ValueError: the patterns are inconsistent.

        """
        bound = BoundLayout(
            self, read(self.pair, control, _FIELDS), read(self.close, control), writable
        )
        if self.kind is LayoutKind.PAIRS:
            _check(bound)
        return bound


@dataclass(frozen=True, slots=True)
class BoundLayout:
    """A layout bound to a tokenizer's token ids; hashable, for keys of caches.

    Attributes:
        layout: the table of the dialect file.
        pair: symbols, white space and fields of a pair.
        close: symbols and white space that end the text.
        writable: the characters that the tokenizer can write, to which raw text is restricted.
        escaped: characters of ASCII that JSON strings may need an escape for: the last ones of
            markers that parsers look for in text.
        plain_spelling, second_space: see `Options`.

    """

    layout: Layout
    pair: tuple[Piece, ...] = ()
    close: tuple[Piece, ...] = ()
    writable: CharSet = ALL
    escaped: str = ""
    plain_spelling: bool = False
    second_space: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is JSON with the usual white space, which all engines support."""
        return self.layout.kind is LayoutKind.JSON and self.layout.white_space is WhiteSpace.USUAL

    @property
    def unescaped(self) -> str:
        """The characters of ASCII that have no escape in names and listed strings."""
        if not self.plain_spelling:
            return ""
        # Python has both quotes, of which one can stand in the other.
        quotes = "\"'" if self.layout.kind is LayoutKind.PYTHON else '"'
        ascii_ = map(chr, range(ord(" "), 128))
        return "".join(
            c for c in ascii_ if c in self.writable and c not in quotes + "\\" + self.escaped
        )

    @property
    def ids(self) -> frozenset[int]:
        """The ids of special tokens that the text may have."""
        return ids_of((*self.pair, *self.close))

    @property
    def last_byte(self) -> int | None:
        """The byte that ends every text; None if a special token or a following marker does."""
        if self.layout.kind is LayoutKind.JSON:
            return ord("}")
        if self.layout.kind is LayoutKind.PYTHON:
            return ord(")")
        last = self.close[-1] if self.close else None
        return last if isinstance(last, int) and last < ID else None

    def part(self, after: str | None, before: str | None) -> tuple[Piece, ...]:
        """Return the part of a pair between two fields; None for its beginning or end."""
        names = [each.name if isinstance(each, Field) else None for each in self.pair]
        start = 0 if after is None else names.index(after) + 1
        return self.pair[start : len(names) if before is None else names.index(before)]

    @property
    def avoided(self) -> tuple[str, ...]:
        """The texts that no raw value may hold: its delimiter, and those of `never`."""
        if self.layout.kind is not LayoutKind.PAIRS:
            return ()
        return (self.text_behind("value"), *self.layout.never)

    def text_behind(self, field: str) -> str:
        """Return the delimiter after a field as text, with the names of special tokens."""
        behind = read(self.layout.pair, lambda _: None, _FIELDS)
        start = behind.index(Field(field)) + 1
        text = takewhile(lambda piece: isinstance(piece, int), behind[start:])
        return bytes(piece for piece in text if isinstance(piece, int)).decode()

    def ends_by_id(self, field: str) -> bool:
        """Return whether the delimiter after a field begins with a special token."""
        piece = self.pair[self.pair.index(Field(field)) + 1]
        return isinstance(piece, int) and piece >= ID

    @property
    def stop(self) -> tuple[int, ...]:
        """The delimiter of a value, as symbols."""
        return tuple(piece for piece in self.part("value", None) if isinstance(piece, int))

    @property
    def head(self) -> tuple[Piece, ...]:
        """The part of a pair before a value, without final white space (a part of the value)."""
        head = self.part(None, "value")
        return head[:-1] if head[-1:] == (Space.OPTIONAL,) else head

    def scan(self) -> Scan:
        """Return the scan at the beginning of a text."""
        if self.layout.kind is LayoutKind.JSON:
            return JSON_TEXT
        if self.layout.kind is LayoutKind.PYTHON:
            return PYTHON_TEXT
        return pairs_text(self.pair, self.close)


JSON = BoundLayout(Layout())
COMPACT = BoundLayout(Layout(white_space=WhiteSpace.NONE))


def _check(bound: BoundLayout) -> None:
    layout = bound.layout
    typed = layout.types is Types.WRITTEN
    names = [piece.name for piece in bound.pair if isinstance(piece, Field)]
    wanted = [name for name in _FIELDS if typed or name != "type"]
    if names != wanted:
        fields = ", ".join(f"{{{name}}}" for name in wanted)
        raise ValueError(f"pair {layout.pair!r}: it needs {fields}, in this order")
    stop = bound.part("value", None)
    if not stop or not all(isinstance(piece, int) for piece in stop):
        raise ValueError(f"pair {layout.pair!r}: it needs text or an id at its end, no white space")
    for name, after in pairwise(wanted):
        behind = bound.part(name, after)
        if not behind or not isinstance(behind[0], int):
            raise ValueError(f"pair {layout.pair!r}: it needs text or an id behind {{{name}}}")
    if any(not each or each[0] != bound.avoided[0][0] for each in layout.never):
        raise ValueError(f"never: each has to begin with {bound.avoided[0][0]!r}, as the stop does")
    if not any(isinstance(piece, int) for piece in bound.part(None, "key")):
        raise ValueError(f"pair {layout.pair!r}: it needs text or an id before {{key}}")
    if layout.trim is Trim.NEWLINE and Space.OPTIONAL in bound.part(wanted[-2], "value"):
        raise ValueError("line breaks are trimmed from values or stand before them, not both")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"arguments.{name}: a text is needed")
    return value


def _one_of(kind: type[_E], table: dict[str, str], name: str, default: _E) -> _E:
    return one_of(kind, table.pop(name, default.value), f"arguments.{name}")


def one_of(kind: type[_E], word: object, where: str) -> _E:
    """Return the member of an enum with the value that a dialect file has.

    Args:
        kind: the enum.
        word: the value.
        where: its place in the file, for the error.

    Raises:
        ValueError: no member has the value.

    """
    try:
        return kind(word)
    except ValueError:
        legal = ", ".join(repr(each.value) for each in kind)
        raise ValueError(f"{where} is {brief(word)}, but must be one of {legal}") from None
