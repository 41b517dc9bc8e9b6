"""Questions to the engine of a text of arguments, in the text's own spelling.

A question is a name or a value that may be written next. In JSON its spelling is known. In other
layouts the whole member is written: an end of it answers the question if the engine lets it follow
and the member is then read back as the one that was meant. Must not know: schemas, turns.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from enforcer.layouts import BoundLayout, Decoder, Trim, Types
from enforcer.layouts.declared import ONLY_STRING, STRING, types_of_properties
from enforcer.layouts.pattern import Field
from enforcer.layouts.scanning import PYTHON_TEXT
from enforcer.layouts.tagged_text import begins_stop, characters, expression, trimmed
from enforcer.layouts.texts import keys
from enforcer.regex import ANY, Regex
from enforcer.tools.explain.cursor import Cursor, JsonDue, locate
from enforcer.tools.explain.words import Option, listing, quoted, shown, spelled

if TYPE_CHECKING:
    Can = Callable[[Sequence[int]], bool]

_KEY, _TYPE, _VALUE = "key", "type", "value"
_TYPES = (b"string", b"number", b"boolean", b"null", b"object", b"array")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_BLANK = b" \t\r\n"
_BLANKS = frozenset(_BLANK)
_COMPARED = 12  # symbols


class JsonQuestions:
    """Questions about JSON, which other layouts have inside objects and arrays."""

    names: Regex = ANY
    another = begun = ""
    end = "`}`"
    path: tuple[str | int, ...] = ()

    def __init__(self, symbols: Sequence[int], can: Can) -> None:
        self._symbols = symbols
        line_feed = b"\n" if symbols[-1:] == (ord("\r"),) else b""  # has to follow the other
        self._can: Can = lambda data: can((*line_feed, *data))

    def cursors(self) -> Iterator[Cursor]:
        """Return the place that the text stands at."""
        yield locate(bytes(self._symbols))

    def own(self) -> Iterator[Option]:
        """Return nothing: JSON has no more than its members."""
        yield from ()

    def can_be(self, cursor: Cursor, text: str) -> bool:
        """Return whether a JSON text may be the name or the value that is due or begun."""
        if cursor.string is None:
            data = text.encode()
            rest = data[len(cursor.begun) :]
            return data.startswith(cursor.begun) and self._can(_comma(cursor) + rest)
        typed, part = cursor.string
        tail = json.loads(text)[len(typed) :]
        escaped = (rf"\u{unit}" for unit in tail.encode("utf-16-be").hex(" ", 2).split())
        ways = (quoted(tail), json.dumps(tail).replace("/", r"\/"), f'"{"".join(escaped)}"')
        rests = {way.encode()[1:] for way in (ways if part else ways[:1])}
        return any(
            rest.lower().startswith(part.lower()) and self._can(rest[len(part) :]) for rest in rests
        )

    def can_begin(self, cursor: Cursor, first: bytes) -> bool:
        """Return whether a value that begins so may begin."""
        return self._can(_comma(cursor) + first)

    def can_close(self, cursor: Cursor) -> bool:
        """Return whether the innermost container may be closed."""
        return self._can(b"]" if isinstance(cursor.inside[-1].members, list) else b"}")


def _comma(cursor: Cursor) -> bytes:
    return b"," if cursor.due is JsonDue.MORE else b""


@dataclass(eq=False)
class _Questions(ABC):
    """Questions about one place in keyed arguments.

    Attributes:
        layout: of the arguments.
        schema: the tool's, in which types of values are declared.
        symbols: the text so far.
        can: returns whether the engine lets symbols follow.
        name_of: spells a control token.
        key: name of the member that is being written.
        path: leads to the value that is due or has been begun, if one is.
        begun: the whole characters of a name or a value that has been begun.

    """

    layout: BoundLayout
    schema: Any
    symbols: Sequence[int]
    can: Can
    name_of: Callable[[int], bytes]
    key: str = ""
    path: tuple[str | int, ...] = ()
    begun: str = ""

    def __post_init__(self) -> None:
        self.names = keys(self.layout)
        self._member = self.symbols  # those of the member that is being written
        self._behind = b""  # shows a reader that a value has ended

    @abstractmethod
    def _named(self, cursor: Cursor, name: str) -> Iterable[Sequence[int]]:
        """Write a member up to its value, in all ways."""

    @abstractmethod
    def _valued(self, text: str, value: object) -> Iterable[Sequence[int]]:
        """Write the member with a value in all ways, with some that are read as another."""

    @property
    def subject(self) -> str:
        """The value of the member in words."""
        return f"the value of {quoted(self.key)}"

    def can_be(self, cursor: Cursor, text: str) -> bool:
        """Return whether a JSON text may be the name or the value that is due or begun."""
        value = json.loads(text)
        whole = json.dumps({self.key: value})
        if cursor.due is JsonDue.VALUE:
            members = self._valued(text, value)
            return self._end(members, lambda read: self._whole(read) == whole) is not None

        def is_named(read: Sequence[int]) -> bool:
            # Behind the name stands perhaps the quote of a string.
            return self._decode(read).rstrip('"').endswith(f"{text}: ")

        return self._end(self._named(cursor, value), is_named) is not None

    def _decode(self, symbols: Sequence[int]) -> str:
        return Decoder(self.layout, self.schema).feed(symbols)

    def _whole(self, symbols: Sequence[int]) -> str:
        """Decode a member whose value is complete; empty where it is not."""
        try:
            return json.dumps(json.loads(self._decode((*symbols, *self._behind)) + "}"))
        except ValueError:
            return ""

    def _end(
        self, members: Iterable[Sequence[int]], reads: Callable[[Sequence[int]], object]
    ) -> Sequence[int] | None:
        """Return the shortest legal rest of a member after which `reads` accepts the text."""
        written = _solid(self._member)
        for member in members:
            for at in reversed(range(len(member) + 1)):
                before, end = _solid(member[:at]), member[at:]
                both = zip(reversed(before), reversed(written), strict=False)
                is_next = all(own == other for own, other in both)
                if is_next and self.can(end) and reads((*self._member, *end)):
                    return end
        return None


def _solid(symbols: Sequence[int]) -> list[int]:
    """Return the last symbols without white space, which may be missing or not."""
    return [symbol for symbol in symbols[-_COMPARED:] if symbol not in _BLANKS]


class PairQuestions(_Questions):
    """Questions about pairs of a key and a raw value, each behind a tag."""

    def __post_init__(self) -> None:
        super().__post_init__()
        layout, begin = self.layout.layout, 0
        text, stop = characters(self.symbols), characters(self.layout.stop)
        while whole := expression(self.layout.head).match(text, begin):
            end = text.find(stop, whole.end())
            if end < 0:
                break
            begin = end + len(stop)
        begun = expression(self.layout.head, begun=True).match(text, begin)
        found = {} if begun is None else begun.groupdict()
        self._fields: dict[str, str] = {name: x for name, x in found.items() if x is not None}
        self._field = "".join([*self._fields][-1:])  # that is being written
        if whole is not None:
            self._field = _VALUE
            self._fields[_VALUE] = text[whole.end() :]  # with the beginning of its stop
        elif begun is not None and self._field and begun.end(self._field) < len(text):
            self._field = ""
        self._member = self.symbols[begin:]
        self.key = layout.key.read(self._text(_KEY).decode("utf-8", "replace"))
        self.path = (self.key,) if self._fields and self._field != _KEY else ()
        matched = begins_stop(self._fields.get(_VALUE, ""), stop)
        held = self._fields.get(self._field, "")[: -matched or None].encode("latin-1")
        trim = layout.trim if self._field == _VALUE else Trim.NONE
        self.begun = trimmed(held.decode("utf-8", "ignore"), trim)
        self._is_typed = layout.types is Types.WRITTEN
        self._heads = [self._text(_KEY)]
        self._types = types_of_properties(self.schema).get(self.key, ONLY_STRING)
        if self._is_typed:
            self._heads.append(self._text(_TYPE))
            self._types = frozenset({self._heads[-1].decode("utf-8", "replace")})
        self._close = [x for x in self.layout.close if isinstance(x, int)]
        self.another = f"the key of an argument, behind {self._show(self._written())}"
        self.end = self._show(self._close) if self._close else ""

    def _text(self, field: str) -> bytes:
        return self._fields.get(field, "").encode("latin-1", "ignore")

    def _show(self, symbols: Iterable[int]) -> str:
        return shown(spelled(symbols, self.name_of))

    def _written(self, *fields: bytes) -> list[int]:
        """Write a pair up to the first field that is not given, without optional white space."""
        left, found = list(fields), list[int]()
        for piece in self.layout.pair:
            if isinstance(piece, Field):
                if not left:
                    break
                found += left.pop(0)
            elif isinstance(piece, int):
                found.append(piece)
        return found

    def _named(self, cursor: Cursor, name: str) -> Iterable[Sequence[int]]:  # noqa: ARG002
        key = self.layout.layout.key.write(name).encode()
        kinds = [[kind] for kind in _TYPES] if self._is_typed else [[]]
        return [self._written(key, *kind) for kind in kinds]

    def _valued(self, text: str, value: object) -> Iterable[Sequence[int]]:
        raws = [text]
        if isinstance(value, str):
            lines = ("", "\n") if self.layout.layout.trim is Trim.NEWLINE else ("",)
            raws = [first + value + last for first, last in product(lines, lines)]
        return [self._written(*self._heads, raw.encode()) for raw in raws]

    def can_begin(self, cursor: Cursor, first: bytes) -> bool:  # noqa: ARG002 - the heads are known
        """Return whether a value that begins so in JSON may begin."""
        if first == b'"':
            return STRING in self._types
        begun = [*self._written(*self._heads), *first]
        may = self._types != ONLY_STRING
        return may and self._end([begun], lambda _: True) is not None

    def can_close(self, cursor: Cursor) -> bool:  # noqa: ARG002 - it is the outermost object
        """Return whether the arguments may end."""
        ends = (self._close[at:] for at in range(len(self._close)))
        return not self._fields and any(map(self.can, ends))

    def cursors(self) -> Iterator[Cursor]:
        """Return the places that the text may stand at as JSON."""
        out = self._decode(self.symbols)
        begun = f"{out}," if out else "{"
        if not self._fields:
            yield locate((out or "{").encode() + b" ")  # no number goes on
        elif self._field == _KEY:
            if "&" not in self.begun.rpartition(";")[2]:
                yield locate((begun + quoted(self.key)[:-1]).encode())
        elif self._field == _VALUE:
            yield from self._values(out)
        elif not self._field and len(self._fields) == len(self._heads):
            yield locate(f"{begun}{quoted(self.key)}:".encode())

    def _values(self, out: str) -> Iterator[Cursor]:
        """Return the readings of the part of a value that has been written."""
        held = self._fields[_VALUE]
        is_json = STRING not in self._types or self._types & {"object", "array"}
        opens = is_json and self.begun.lstrip()[:1] in {"{", "["}
        if max(held, default="") > "\xff":
            return  # it has ended
        if self._types == ONLY_STRING or not self.begun:
            yield locate(out.encode())
            return
        if STRING in self._types and not opens:
            yield locate((out + quoted(self.begun)[:-1]).encode())
        with suppress(ValueError):
            # What may be the beginning of the stop is no part of a number.
            data = held.encode("latin-1")
            found = locate(out.encode() + data)
            if len(found.inside) > 1 if opens else found.begun == data.strip():
                yield found

    def own(self) -> Iterator[Option]:
        """Return what may follow of the layout itself."""
        if self._field == _KEY:
            key = self._heads[0]
            behind = self._written(key)[len(self._written()) + len(key) :]
            if self.can(behind):
                yield Option(f"the end of the key {quoted(self.key)}: {self._show(behind)}")
        elif self._field == _VALUE:
            end = self._end([self.layout.stop], self._whole)
            if end is not None:
                yield Option(f"the end of {self.subject}: {self._show(end)}")
        elif (self._fields and len(self._fields) < len(self._heads)) or self._field == _TYPE:
            legal = [
                kind.decode()
                for kind in _TYPES
                if self._end([self._written(self._heads[0], kind)], self._decode) is not None
            ]
            if legal:
                yield Option(f"the type of {self.subject}: {listing(legal)}", tuple(legal))


class PythonQuestions(_Questions):
    """Questions about Python's keyword arguments."""

    end = "`)`"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._behind = b")"
        scan = PYTHON_TEXT
        for at, symbol in enumerate(self.symbols, 1):
            if symbol == ord(",") and scan.depth == 1 and scan.quote is None:
                self._member = self.symbols[at:]
            scan = scan.after(symbol) or scan
        name, self._equals, value = bytes(self._member).lstrip(_BLANK).partition(b"=")
        self._held = value.lstrip(_BLANK) if self._equals else name
        self.begun = self._held.decode("utf-8", "ignore")
        self.key = name.decode("utf-8", "ignore").strip()
        self.path = (self.key,) if self._equals else ()
        self.another = ("`,` and " if self._equals else "") + "the name of an argument"

    def _named(self, cursor: Cursor, name: str) -> Iterable[Sequence[int]]:
        return [_comma(cursor) + f"{name}=".encode()]

    def _valued(self, text: str, value: object) -> Iterable[Sequence[int]]:
        ways = [text, *(word for word, same in _WORDS.items() if same == text)]
        if isinstance(value, str):
            single = text[1:-1].replace(r"\"", '"').replace("'", r"\'")
            ways = [text, f"'{single}'"]  # Python has JSON's escapes
        return [f"{self.key}={way}".encode() for way in ways]

    def can_begin(self, cursor: Cursor, first: bytes) -> bool:  # noqa: ARG002 - it is the key's
        """Return whether a value that begins so in JSON may begin."""
        return self.can(first) or (first == b'"' and self.can(b"'"))

    def can_close(self, cursor: Cursor) -> bool:  # noqa: ARG002 - it is the outermost object
        """Return whether the arguments may end."""
        return self.can(b")")

    def cursors(self) -> Iterator[Cursor]:
        """Return the place that the text stands at as JSON."""
        out, text = self._decode(self.symbols), self._held
        if not self._equals:
            out += "{" if len(self._member) == len(self.symbols) else ","
            text = quoted(self.begun)[:-1].encode() if text else b""
        elif text[:1] in {b'"', b"'"}:
            text = b""  # it is decoded as it comes
        elif text:
            words = [same for word, same in _WORDS.items() if word.encode().startswith(text)]
            text = words[0][: len(text)].encode() if words else text
        with suppress(ValueError):
            yield locate(out.encode() + text)

    def own(self) -> Iterator[Option]:
        """Return what may follow of the layout itself."""
        if not self._equals and self.key and self.can(b"="):
            yield Option(f"`=`, behind the name {quoted(self.key)}")


Questions = JsonQuestions | PairQuestions | PythonQuestions
