"""A layout as a frozen value: the table `[arguments]` of a dialect file.

```toml
[arguments]
layout = "json"              # the default: one JSON object
white_space = "usual"        # or "no line breaks", or "none"

[arguments]
layout = "pairs"             # keys and values
pair = '<|open|>argument key="{key}" type="{type}"<|sep|>{value}<|close|>argument<|sep|>'
close = '<|close|>call<|sep|>'   # ends the text; if it is no more than {_}, what follows does
key = "xml"                  # &amp; and &quot; in keys; "none": as they are
trim = "none"                # "newline": a line break at either end is none of the value
types = "written"            # in {type}; "declared": by the schema alone
never = ["<|close|>call<|sep|>"] # what else no value may hold: others take it for a marker

[arguments]
layout = "python"            # Python's keyword arguments, up to the bracket behind them
```

In `pair` and `close` names of control tokens stand for their ids; see `pattern`. Strings are
written as they are, all other values as JSON. A key ends at the first symbol of what follows it, a
value at the first occurrence of all that follows it in `pair`, which therefore has neither fields
nor white space that may be missing. In `never` `{_}` is any white space of ASCII's.

Owns: that table, its checks, and binding it to a tokenizer's ids. Must not know: schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from enforcer.errors import brief
from enforcer.layouts.pattern import ID, Field, Piece, Space, ids_of, read
from enforcer.layouts.scanning import JSON_TEXT, PYTHON_TEXT, Scan, pairs_text
from enforcer.regex.charset import ALL, CharSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_E = TypeVar("_E", bound=Enum)
_FIELDS = ("key", "type", "value")


class LayoutKind(Enum):
    """What the text of the arguments is."""

    JSON = "json"
    PAIRS = "pairs"
    PYTHON = "python"


class WhiteSpace(Enum):
    """What may stand between two tokens of JSON, in ascending order."""

    NONE = "none"
    NO_LINE_BREAKS = "no line breaks"
    USUAL = "usual"


class Escape(Enum):
    """How keys are written."""

    NONE = "none"
    XML = "xml"

    def write(self, text: str) -> str:
        """Write a key."""
        xml = self is Escape.XML
        return text.replace("&", "&amp;").replace('"', "&quot;") if xml else text

    def read(self, text: str) -> str:
        """Read what is written of one."""
        xml = self is Escape.XML
        return text.replace("&quot;", '"').replace("&amp;", "&") if xml else text


class Trim(Enum):
    """What at either end of a value is not part of it."""

    NONE = "none"
    NEWLINE = "newline"


class Types(Enum):
    """Where the type of a value is found."""

    WRITTEN = "written"
    DECLARED = "declared"


@dataclass(frozen=True, slots=True)
class Layout:
    """What a dialect file says about the text of arguments; see the module."""

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
        """Read the table `[arguments]`.

        Raises:
            ValueError: an unknown key or value, or patterns that do not go together.
            TypeError: a value that is no text, or no list of texts.
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
        """Look up the control tokens in it.

        Args:
            control: gives the id of a control token; None if the tokenizer has none of that
                name, whose text is then ordinary.
            writable: the characters that the tokenizer can write.

        Raises:
            ValueError: the patterns do not go together.

        """
        bound = BoundLayout(
            self, read(self.pair, control, _FIELDS), read(self.close, control), writable
        )
        if self.kind is LayoutKind.PAIRS:
            _check(bound)
        return bound


@dataclass(frozen=True, slots=True)
class BoundLayout:
    """A layout for a tokenizer: its control tokens are ids; hashable, for keys of caches.

    Attributes:
        layout: what the dialect file says.
        pair: symbols, white space and fields of a pair.
        close: what ends the text.
        writable: the characters that the tokenizer can write. Only what stands without escapes
            is restricted to them.
        escaped: characters of ASCII that a string may need an escape for: the last ones of markers,
            which others look for in its text.
        plain_spelling, second_space: as `Options` have them.

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
        """Whether it is JSON with the usual white space, which engines write by themselves."""
        return self.layout.kind is LayoutKind.JSON and self.layout.white_space is WhiteSpace.USUAL

    @property
    def unescaped(self) -> str:
        """The characters of ASCII that no escape stands for in names and listed strings."""
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
        """Control ids that may stand inside the text."""
        return ids_of((*self.pair, *self.close))

    @property
    def last_byte(self) -> int | None:
        """The byte that ends every text; None if a control id or what follows does."""
        if self.layout.kind is LayoutKind.JSON:
            return ord("}")
        if self.layout.kind is LayoutKind.PYTHON:
            return ord(")")
        last = self.close[-1] if self.close else None
        return last if isinstance(last, int) and last < ID else None

    def part(self, after: str | None, before: str | None) -> tuple[Piece, ...]:
        """Return the part of a pair between two fields; None stands for its ends."""
        names = [each.name if isinstance(each, Field) else None for each in self.pair]
        start = 0 if after is None else names.index(after) + 1
        return self.pair[start : len(names) if before is None else names.index(before)]

    @property
    def avoided(self) -> tuple[str, ...]:
        """What no value may hold, spelled out: what ends it, and what others take for a marker."""
        if self.layout.kind is not LayoutKind.PAIRS:
            return ()
        return (self.text_behind("value"), *self.layout.never)

    def text_behind(self, field: str) -> str:
        """Return what ends a field as text, the names of control tokens spelled out."""
        behind = read(self.layout.pair, lambda _: None, _FIELDS)
        start = behind.index(Field(field)) + 1
        text = takewhile(lambda piece: isinstance(piece, int), behind[start:])
        return bytes(piece for piece in text if isinstance(piece, int)).decode()

    def ends_by_id(self, field: str) -> bool:
        """Return whether a field is ended by an id rather than by a character."""
        piece = self.pair[self.pair.index(Field(field)) + 1]
        return isinstance(piece, int) and piece >= ID

    @property
    def stop(self) -> tuple[int, ...]:
        """What ends a value: symbols."""
        return tuple(piece for piece in self.part("value", None) if isinstance(piece, int))

    @property
    def head(self) -> tuple[Piece, ...]:
        """What stands before a value, but for white space, which is read as the value's own."""
        head = self.part(None, "value")
        return head[:-1] if head[-1:] == (Space.OPTIONAL,) else head

    def scan(self) -> Scan:
        """Start to read a text."""
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
    for name, behind in _neighbours(bound, wanted[:-1]):
        if not behind or not isinstance(behind[0], int):
            raise ValueError(f"pair {layout.pair!r}: it needs text or an id behind {{{name}}}")
    if any(not each or each[0] != bound.avoided[0][0] for each in layout.never):
        raise ValueError(f"never: each has to begin with {bound.avoided[0][0]!r}, as the stop does")
    if not any(isinstance(piece, int) for piece in bound.part(None, "key")):
        raise ValueError(f"pair {layout.pair!r}: it needs text or an id before {{key}}")
    if layout.trim is Trim.NEWLINE and Space.OPTIONAL in bound.part(wanted[-2], "value"):
        raise ValueError("line breaks are trimmed from values or stand before them, not both")


def _neighbours(bound: BoundLayout, names: list[str]) -> Iterator[tuple[str, tuple[Piece, ...]]]:
    for name, after in zip(names, [*names[1:], "value"], strict=True):
        yield name, bound.part(name, after)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"arguments.{name}: a text is needed")
    return value


def _one_of(kind: type[_E], table: dict[str, str], name: str, default: _E) -> _E:
    return one_of(kind, table.pop(name, default.value), f"arguments.{name}")


def one_of(kind: type[_E], word: object, where: str) -> _E:
    """Read a word of a dialect file.

    Raises:
        ValueError: it is none of the kind's.

    """
    try:
        return kind(word)
    except ValueError:
        legal = ", ".join(repr(each.value) for each in kind)
        raise ValueError(f"{where} is {brief(word)}, but must be one of {legal}") from None
