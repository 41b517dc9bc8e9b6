"""What may come next in arguments that are laid out otherwise than as JSON, in words.

Owns: reading such a text as the beginning of JSON, for which there are words (see `arguments`), and
asking the engine in the layout's spelling about what these name. Must not know: turns, ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from enforcer.explain.arguments import Signs, options
from enforcer.explain.cursor import written
from enforcer.explain.places import KEY, TYPE, VALUE, Spot, spot
from enforcer.explain.words import Option, listing, quoted, shown
from enforcer.layouts import ID, Decoder, Escape, Kind, Trim, Types
from enforcer.layouts.declared import ONLY_STRING, STRING, read_value
from enforcer.layouts.scanning import JSON_TEXT, NestedScan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from enforcer.budget.reading import Reading
    from enforcer.explain.arguments import Outline
    from enforcer.layouts import BoundLayout

_TYPES = (STRING, "number", "boolean", "null", "object", "array")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_MORE = "x_"  # as a name may go on that is any
_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A layout and what it takes from a tool's schema.

    Attributes:
        layout: bound to the vocabulary.
        types: the declared types of properties; others are strings.
        name_of: spells a control token.

    """

    layout: BoundLayout
    types: Mapping[str, frozenset[str]]
    name_of: Callable[[int], bytes]

    def show(self, symbols: Iterable[int]) -> str:
        """Write symbols as text, control tokens by their names."""
        data = (bytes([x]) if x < ID else self.name_of(x - ID) for x in symbols)
        return b"".join(data).decode("utf-8", "replace")


def laid_out_options(
    given: LaidOut,
    outline: Outline,
    symbols: Sequence[int],
    read: Callable[[bytes], Reading],
    can: Callable[[Sequence[int]], bool],
) -> tuple[str, str, tuple[Option, ...]]:
    """Say what may come next.

    Args:
        given: the layout.
        outline: of the schema.
        symbols: the text so far.
        read: reads a JSON text.
        can: tells whether the engine lets these symbols follow.

    Returns:
        Where in the arguments that is, what has been begun there, and what may come.

    """
    view = _View(given, outline, symbols, can)
    found: dict[str, Option] = {}
    for text in view.as_json():
        reading = read(text)
        if reading.threads:
            for option in options(outline, reading, text, view.can, view.signs):
                found.setdefault(option.what, option)
    for option in view.own():
        found.setdefault(option.what, option)
    if not found:
        found.update((option.what, option) for option in view.unknown())
    now = view.spot
    path = (view.key,) if now.key else ()
    begun = view.untrimmed(now.value)
    return written(path), begun.decode("utf-8", "replace"), tuple(found.values())


class _View:
    """One place in one text."""

    def __init__(
        self,
        given: LaidOut,
        outline: Outline,
        symbols: Sequence[int],
        can: Callable[[Sequence[int]], bool],
    ) -> None:
        self._given = given
        self._layout = given.layout
        self._outline = outline
        self._symbols = symbols
        self._engine = can
        self.spot: Spot = spot(given.layout, symbols)
        self._python = given.layout.layout.kind is Kind.PYTHON
        self.key = self._read_key(self.spot.key)
        self._types = (
            frozenset({self.spot.type})
            if given.layout.layout.types is Types.WRITTEN
            else given.types.get(self.key, ONLY_STRING)
        )
        self.signs = self._signs()

    # Patterns.

    def _part(self, after: str | None, before: str | None) -> tuple[int, ...]:
        """Write a part of a pair without white space that may be missing."""
        return tuple(x for x in self._layout.part(after, before) if isinstance(x, int))

    @property
    def _close(self) -> tuple[int, ...]:
        return tuple(x for x in self._layout.close if isinstance(x, int))

    @property
    def _stop(self) -> tuple[int, ...]:
        return () if self._python else self._layout.stop

    def _can(self, part: Sequence[int], behind: Sequence[int] = ()) -> tuple[int, ...] | None:
        """Give what of a part is still to be written if that and more may follow."""
        for at in range(len(part) + 1):
            rest = (*part[at:], *behind)
            if rest and self._engine(rest):
                return tuple(part[at:])
        return None

    def _signs(self) -> Signs:
        if self._python:
            first = "" if self.spot.field == KEY else "`,` and "
            return Signs(f"{first}the name of an argument", "`)`")
        pair = shown(self._given.show(self._part(None, "key")))
        close = shown(self._given.show(self._close)) if self._close else ""
        return Signs(f"the key of an argument, behind {pair}", close)

    def _read_key(self, data: bytes) -> str:
        text = data.decode("utf-8", "replace")
        if self._layout.layout.key is Escape.XML:
            return text.replace("&quot;", '"').replace("&amp;", "&")
        return text

    def _spelled_key(self, name: str) -> bytes:
        if self._layout.layout.key is Escape.XML:
            name = name.replace("&", "&amp;").replace('"', "&quot;")
        return name.encode()

    # The text as JSON.

    def as_json(self) -> Iterator[bytes]:
        """Give what the text so far may be in JSON."""
        now = self.spot
        before = self._decoded(now.begin).rstrip(" ")
        if self._python and now.field == KEY:
            name = now.text.lstrip(_BLANK).decode("utf-8", "replace")
            yield (f"{before}," if now.comma else "{").encode() + (_begun(name) if name else b"")
        elif not (now.key or now.field or now.behind):
            yield f"{before or '{'} ".encode()  # no number goes on
        elif now.field == KEY:
            between = "," if before else "{"
            name = self._read_key(now.text)
            if b"&" not in now.text.rpartition(b";")[2]:
                yield f"{before}{between}".encode() + _begun(name)
        elif self._python or now.field == VALUE or self._is_typed():
            yield from self._values(before + ("," if before else "{") + f"{quoted(self.key)}:")

    def _is_typed(self) -> bool:
        """Whether nothing but a value is missing."""
        return self.spot.behind == self._last_field()

    def _last_field(self) -> str:
        return TYPE if self._layout.layout.types is Types.WRITTEN else KEY

    def _decoded(self, end: int) -> str:
        schema = {"properties": {key: {"type": sorted(x)} for key, x in self._given.types.items()}}
        found = Decoder(self._layout, schema).feed(self._symbols[:end])
        return found.removesuffix(", ")

    def _values(self, before: str) -> Iterator[bytes]:
        """Give readings of the part of a value that has been written."""
        now = self.spot
        start = before.encode()
        if any(x >= ID for x in now.held):
            return  # it has ended
        if not self._python:
            text = self.untrimmed(now.value)
            if STRING in self._types and text:
                yield start + _begun(_whole(text))
            if not text:
                yield start
            elif self._types != ONLY_STRING:
                yield start + now.text  # what may be a stop is no number's
            return
        text = now.text.lstrip(_BLANK)
        if text[:1] in {b'"', b"'"}:
            decoded = Decoder(self._layout, None).feed(b"%s=%s" % (now.key, text))
            yield start + decoded.partition(":")[2].strip().encode()
            return
        words = [w for w in _WORDS if text and w.encode().startswith(text)]
        yield start + (_WORDS[words[0]][: len(text)].encode() if words else text)

    def untrimmed(self, text: bytes) -> bytes:
        """Give a value without what is not part of it."""
        trims = self._layout.layout.trim is Trim.NEWLINE
        return text.removeprefix(b"\n").removesuffix(b"\n") if trims else text

    # Asking the engine.

    def can(self, data: bytes) -> bool:
        """Tell whether what would follow in JSON may follow in the layout."""
        now = self.spot
        if self._python:
            return self._can_python(data)
        if now.field == KEY:
            return self._can_key(_string(_begun(self._read_key(now.text)) + data))
        if not (now.key or now.field or now.behind):
            if data == b"}":
                return bool(self._close) and self._can(self._close) is not None
            return self._can_key(_string(data.lstrip(b",")))
        return self._can_value(data)

    def _can_key(self, name: str | None) -> bool:
        """Tell whether a key may be written; a part of one that is none may go on as some other."""
        typed = self._read_key(self.spot.text) if self.spot.field == KEY else ""
        if name is None:
            return False
        return self._is_key(name) or (name == typed and self._is_key(name + _MORE))

    def _is_key(self, name: str) -> bool:
        spelled, typed = self._spelled_key(name), self.spot.text
        behind = self._part("key", "type" if self._last_field() == TYPE else VALUE)
        if self.spot.field == KEY:
            return spelled.startswith(typed) and self._engine((*spelled[len(typed) :], *behind))
        return self._can(self._part(None, "key"), (*spelled, *behind)) is not None

    def _can_value(self, data: bytes) -> bool:
        now = self.spot
        literal = () if now.field == VALUE else self._part(self._last_field(), VALUE)
        text = self.untrimmed(now.value)
        if now.field == VALUE and text and self._begins_string(data, text):
            whole = _string(_begun(_whole(text)) + data)
            return whole is not None and self._can_text(whole.encode(), literal)
        if now.field == VALUE and text:
            return _is_open(now.text) and self._engine(tuple(data))
        if data[:1] == b'"':
            whole = _string(data)
            if STRING not in self._types:
                return False
            return data == b'"' or (whole is not None and self._can_text(whole.encode(), literal))
        if self._types == ONLY_STRING:
            return False
        return self._is_read(data) and self._can(literal, data) is not None

    def _begins_string(self, data: bytes, text: bytes) -> bool:
        """Tell whether what has been begun is read as a string, when JSON goes on so."""
        if self._types == ONLY_STRING:
            return True
        return STRING in self._types and text.lstrip()[:1] not in {b"{", b"["} and b'"' in data

    def _is_read(self, data: bytes) -> bool:
        """Tell whether a JSON text, where it is a whole one, is read as what it is."""
        if self._layout.layout.types is Types.WRITTEN or data in {b"{", b"[", b"-"}:
            return True
        try:
            value = json.loads(data)
        except ValueError:
            return True
        found: Any = read_value(data.decode(), self._types)
        return bool(found == value) and isinstance(found, bool) == isinstance(value, bool)

    def _can_text(self, whole: bytes, literal: Sequence[int]) -> bool:
        """Tell whether a raw string may be written, in one of the ways that it may be."""
        held = self.spot.text if self.spot.field == VALUE else b""
        lines = (b"", b"\n") if self._layout.layout.trim is Trim.NEWLINE else (b"",)
        for first, last in product(lines, lines):
            spelled = first + whole + last
            if not spelled.startswith(held):
                continue
            if self._declared_otherwise(whole):
                return False
            if self._can(literal, (*spelled[len(held) :], *self._stop)) is not None:
                return True
        return False

    def _declared_otherwise(self, text: bytes) -> bool:
        """Tell whether a text is read as something else than a string."""
        if self._layout.layout.types is Types.WRITTEN:
            return False
        found: Any = read_value(text.decode(), self._types)
        return not isinstance(found, str)

    def _can_python(self, data: bytes) -> bool:
        now = self.spot
        if now.field == KEY:
            if data == b"}":
                return not now.text.strip() and self._engine(b")")
            typed = now.text.lstrip(_BLANK)
            begun = typed.decode("utf-8", "replace")
            name = _string(_begun(begun) + data if typed else data)
            if name is None:
                return False
            ways = (name, name + _MORE) if name == begun else (name,)
            return any(self._engine(way.encode()[len(typed) :] + b"=") for way in ways)
        text = now.text.lstrip(_BLANK)
        if data == b"}":
            return not now.is_open and self._engine(b")")
        if data[:1] == b"," and not now.is_open:
            name = _string(data[1:])
            return name is not None and self._engine(f",{name or _MORE}=".encode())
        quote = text[:1]
        if quote in {b'"', b"'"} and now.is_open:
            (json_text,) = self._values("")
            whole = _string(json_text + data)
            spelled = None if whole is None else _python(whole, quote.decode())
            return (
                spelled is not None
                and spelled.startswith(text)
                and self._engine(spelled[len(text) :])
            )
        if text:
            return self._engine(data)
        if data == b'"':
            return self._engine(b'"') or self._engine(b"'")
        if data[:1] == b'"':
            whole = _string(data)
            return whole is not None and any(self._engine(_python(whole, q)) for q in "\"'")
        words = [word for word, same in _WORDS.items() if same.encode() == data]
        return any(self._engine(word) for word in (data, *(word.encode() for word in words)))

    # What only the layout has.

    def own(self) -> Iterator[Option]:
        """Say what may follow of the layout itself."""
        now = self.spot
        if self._python:
            typed = now.text.strip()
            if now.field == KEY and typed and self._engine(b"="):
                yield Option(f"`=`, behind the name {quoted(typed.decode('utf-8', 'replace'))}")
            return
        if now.field == TYPE or (now.behind == KEY and self._last_field() == TYPE):
            yield from self._typed()
        elif now.field == KEY or (now.behind == KEY and not now.field):
            yield from self._behind(KEY, f"the end of the key {quoted(self._read_key(now.text))}")
        if now.field == VALUE:
            yield from self._ends()

    def unknown(self) -> Iterator[Option]:
        """Say what little is known of a value that nothing else is known of."""
        if self.spot.field == VALUE:
            # It cannot end, or that would be known, and no text is let through that cannot.
            yield Option(f"more of {self._subject}")

    @property
    def _subject(self) -> str:
        return f"the value of {quoted(self.key)}"

    def _typed(self) -> Iterator[Option]:
        now = self.spot
        behind = self._part(TYPE, VALUE)
        typed = now.text if now.field == TYPE else b""
        part = self._part(KEY, TYPE) if now.field != TYPE else ()
        legal = [
            name
            for name in _TYPES
            if name.encode().startswith(typed)
            and self._can(part, (*name.encode()[len(typed) :], *behind)) is not None
        ]
        if legal:
            yield Option(f"the type of {self._subject}: {listing(legal)}", tuple(legal))

    def _behind(self, field: str, what: str) -> Iterator[Option]:
        """Name what stands behind a key or a type, if it may come now."""
        part = self._part(field, VALUE)
        if self.spot.field == field and part and self._engine(part):
            yield Option(f"{what}: {shown(self._given.show(part))}")

    def _ends(self) -> Iterator[Option]:
        rest = self._stop[self.spot.matched :]
        if rest and self._engine(rest):
            yield Option(f"the end of {self._subject}: {shown(self._given.show(rest))}")
        elif self._stop and self._engine(self._stop):
            yield Option(f"the end of {self._subject}: {shown(self._given.show(self._stop))}")


def _begun(text: str) -> bytes:
    """Write the beginning of a JSON string; nothing for an empty one that has no quote yet."""
    return json.dumps(text, ensure_ascii=False)[:-1].encode()


def _string(data: bytes) -> str | None:
    """Read a JSON string; None if it is none."""
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def _is_open(data: bytes) -> bool:
    """Tell whether a bracket of a JSON text is open."""
    scan: NestedScan | None = JSON_TEXT
    for byte in data:
        scan = None if scan is None else scan.step(byte)
    return scan is not None and scan.depth > 0


def _whole(data: bytes) -> str:
    """Decode without a character that has been begun."""
    for end in range(len(data), max(len(data) - 4, -1), -1):
        try:
            return data[:end].decode()
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "ignore")


def _python(text: str, quote: str) -> bytes:
    body = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    for char, escape in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        body = body.replace(char, escape)
    return f"{quote}{body}{quote}".encode()
