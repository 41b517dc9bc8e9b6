"""Questions to the engine of a text of arguments, in the text's own spelling.

A question is a name or a value that may be written next. In JSON its spelling is known. In other
layouts the whole member is written: an end of it answers the question if the engine lets it follow
and the member is then read back as the one that was meant. Must not know: schemas, turns.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from enforcer.explain.cursor import Due, locate
from enforcer.explain.words import Option, listing, quoted, shown, spelled
from enforcer.layouts import ID, Decoder, LayoutKind, Trim, Types
from enforcer.layouts.declared import ONLY_STRING, STRING, types_of_properties
from enforcer.layouts.pattern import Field
from enforcer.layouts.scanning import PYTHON_TEXT
from enforcer.layouts.tagged_text import begins_stop, characters, expression, trimmed
from enforcer.layouts.texts import keys
from enforcer.regex import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from enforcer.explain.cursor import Cursor
    from enforcer.layouts import BoundLayout
    from enforcer.regex import Regex

    Can = Callable[[Sequence[int]], bool]

_KEY, _TYPE, _VALUE = "key", "type", "value"
_TYPES = (STRING, "number", "boolean", "null", "object", "array")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_BLANK = b" \t\r\n"
_BLANKS = frozenset(_BLANK)
_COMPARED = 12  # symbols


class JsonQuestions:
    """Questions about JSON, which other layouts have inside objects and arrays."""

    names: Regex = ANY
    another = ""
    end = "`}`"

    def __init__(self, can: Can) -> None:
        self._can = can

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
    return b"," if cursor.due is Due.MORE else b""


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A layout and the tool's schema that its texts are read by.

    Attributes:
        layout: bound to the vocabulary.
        schema: in which types of values are declared.
        name_of: spells a control token.

    """

    layout: BoundLayout
    schema: Any
    name_of: Callable[[int], bytes]

    def show(self, symbols: Iterable[int]) -> str:
        """Write symbols as text, special tokens by their names."""
        return shown(spelled(symbols, self.name_of))

    def questions(self, symbols: Sequence[int], can: Can) -> PairQuestions | PythonQuestions:
        """Return the questions about a place."""
        is_python = self.layout.layout.kind is LayoutKind.PYTHON
        return (PythonQuestions if is_python else PairQuestions)(self, symbols, can)


class _Questions:
    """Questions about one place in keyed arguments.

    Attributes:
        key: name of the member that is being written.
        path: leads to the value that is due or has been begun, if one is.
        begun: the whole characters of a name or a value that has been begun.

    """

    key = ""
    path: tuple[str, ...] = ()
    begun = ""

    def __init__(self, given: LaidOut, symbols: Sequence[int], can: Can) -> None:
        self._given = given
        self._symbols = symbols
        self._member = symbols  # those of the member that is being written
        self._can = can
        self.names = keys(given.layout)

    @property
    def subject(self) -> str:
        """The value of the member in words."""
        return f"the value of {quoted(self.key)}"

    def _decode(self, symbols: Sequence[int]) -> str:
        return Decoder(self._given.layout, self._given.schema).feed(symbols)

    def _some(self, member: Sequence[int], reads: Callable[[Sequence[int]], bool]) -> bool:
        """Return whether an end of a member may follow and makes what is read of it right."""
        written = _solid(self._member)
        for at in range(len(member) + 1):
            before = _solid(member[:at])
            common = min(len(before), len(written))
            if before[len(before) - common :] == written[len(written) - common :]:
                end = member[at:]
                if self._can(end) and reads((*self._member, *end)):
                    return True
        return False

    def _is_value(self, text: str, value: object) -> bool:
        """Return whether the member was decoded as the one of a value."""
        try:
            return json.dumps(json.loads(text + "}")) == json.dumps({self.key: value})
        except ValueError:
            return False


def _solid(symbols: Sequence[int]) -> list[int]:
    """Return the last symbols without white space, which may be missing or not."""
    return [symbol for symbol in symbols[-_COMPARED:] if symbol not in _BLANKS]


class _Pair:
    """The pair of a text that has been begun.

    Attributes:
        begin: how many symbols stand before it.
        fields: the symbols of each of its fields, of a value with those of its stop.
        field: the one that is being written; empty between them.
        matched: how many of the last symbols may begin the stop of a value.
        ends: whether the text may end here.

    """

    def __init__(self, layout: BoundLayout, symbols: Sequence[int]) -> None:
        text, stop = characters(symbols), characters(layout.stop)
        head, self.begin = expression(layout.head), 0
        while found := head.match(text, self.begin):
            end = text.find(stop, found.end())
            if end < 0:
                break
            self.begin = end + len(stop)
        self.fields: dict[str, Sequence[int]] = {}
        self.field, self.matched = "", 0
        begun = expression(layout.head, begun=True).match(text, self.begin)
        spans = {} if begun is None else {name: begun.span(name) for name in begun.groupdict()}
        for name, (start, end) in spans.items():
            if start >= 0:
                self.fields[name] = symbols[start:end]
                self.field = name if end == len(text) else ""
        if found:
            self.fields[_VALUE], self.field = symbols[found.end() :], _VALUE
            self.matched = begins_stop(text[found.end() :], stop)
        self.ends = bool(expression(layout.close).fullmatch(text, self.begin))

    def text(self, name: str) -> bytes:
        """Return the bytes of a field."""
        return bytes(x for x in self.fields.get(name, ()) if x < ID)


class PairQuestions(_Questions):
    """Questions about pairs of a key and a raw value, each behind a tag."""

    def __init__(self, given: LaidOut, symbols: Sequence[int], can: Can) -> None:
        super().__init__(given, symbols, can)
        self._layout = given.layout
        self._pair = pair = _Pair(self._layout, symbols)
        self._member = symbols[pair.begin :]
        self.key = self._layout.layout.key.read(pair.text(_KEY).decode("utf-8", "replace"))
        self._heads = [pair.text(_KEY)]
        self._types = types_of_properties(given.schema).get(self.key, ONLY_STRING)
        if self._layout.layout.types is Types.WRITTEN:
            self._heads.append(pair.text(_TYPE))
            self._types = frozenset({self._heads[-1].decode("utf-8", "replace")})
        self.path = (self.key,) if pair.fields and pair.field != _KEY else ()
        held = bytes(pair.fields.get(pair.field, ())[: -pair.matched or None])
        trim = self._layout.layout.trim if pair.field == _VALUE else Trim.NONE
        self.begun = trimmed(held.decode("utf-8", "ignore"), trim)
        self._close = [x for x in self._layout.close if isinstance(x, int)]
        self.another = f"the key of an argument, behind {given.show(self._written())}"
        self.end = given.show(self._close) if self._close else ""

    def _written(self, *fields: bytes) -> list[int]:
        """Write a pair up to the first field that is not given, without optional white space."""
        left, found = list(fields), list[int]()
        for piece in self._layout.pair:
            if isinstance(piece, Field):
                if not left:
                    break
                found += left.pop(0)
            elif isinstance(piece, int):
                found.append(piece)
        return found

    def cursors(self) -> Iterator[Cursor]:
        """Return the places that the text may stand at as JSON."""
        now, out = self._pair, self._decode(self._symbols)
        begun = f"{out}," if out else "{"
        if not now.fields:
            yield locate((out or "{").encode() + b" ")  # no number goes on
        elif now.field == _KEY:
            if "&" not in self.begun.rpartition(";")[2]:
                yield locate((begun + quoted(self.key)[:-1]).encode())
        elif now.field == _VALUE:
            yield from self._values(out)
        elif not now.field and len(now.fields) == len(self._heads):
            yield locate(f"{begun}{quoted(self.key)}:".encode())

    def _values(self, out: str) -> Iterator[Cursor]:
        """Return the readings of the part of a value that has been written."""
        held = self._pair.fields[_VALUE]
        is_json = STRING not in self._types or self._types & {"object", "array"}
        opens = is_json and self.begun.lstrip()[:1] in {"{", "["}
        if any(x >= ID for x in held):
            return  # it has ended
        if self._types == ONLY_STRING or not self.begun:
            yield locate(out.encode())
            return
        if STRING in self._types and not opens:
            yield locate((out + quoted(self.begun)[:-1]).encode())
        with suppress(ValueError):
            # What may be the beginning of the stop is no part of a number.
            found = locate(out.encode() + bytes(held))
            if found.due is Due.VALUE or len(found.inside) > 1:
                yield found

    def can_be(self, cursor: Cursor, text: str) -> bool:
        """Return whether a JSON text may be the name or the value that is due or begun."""
        value = json.loads(text)
        if cursor.due is not Due.VALUE:
            key = self._layout.layout.key.write(value).encode()
            return self._some(self._written(key), lambda read: self._reads(read, _KEY, key))
        raws = [text]
        if isinstance(value, str):
            lines = ("", "\n") if self._layout.layout.trim is Trim.NEWLINE else ("",)
            raws = [first + value + last for first, last in product(lines, lines)]
        return any(
            self._some(
                self._written(*self._heads, raw.encode()),
                lambda read: self._is_value(self._decode(read), value),
            )
            for raw in raws
        )

    def _can_be_of(self, kind: bytes) -> bool:
        member = self._written(self._heads[0], kind)
        return self._some(member, lambda read: self._reads(read, _TYPE, kind))

    def _reads(self, symbols: Sequence[int], name: str, text: bytes) -> bool:
        """Return whether a field of the pair has been completed with a text."""
        found = _Pair(self._layout, symbols)
        return found.text(name) == text and found.field != name

    def can_begin(self, cursor: Cursor, first: bytes) -> bool:  # noqa: ARG002 - the heads are known
        """Return whether a value that begins so in JSON may begin."""
        if first == b'"':
            return STRING in self._types
        begun = [*self._written(*self._heads), *first]
        return self._types != ONLY_STRING and self._some(begun, lambda _: True)

    def can_close(self, cursor: Cursor) -> bool:  # noqa: ARG002 - it is the outermost object
        """Return whether the arguments may end."""
        return self._some(self._close, lambda read: _Pair(self._layout, read).ends)

    def own(self) -> Iterator[Option]:
        """Say what may follow of the layout itself."""
        now = self._pair
        if now.field == _KEY:
            behind = self._written(self._heads[0])[len(self._written()) + len(self._heads[0]) :]
            if self._can(behind):
                what = f"the end of the key {quoted(self.key)}"
                yield Option(f"{what}: {self._given.show(behind)}")
        elif now.field == _VALUE:
            stop = self._layout.stop
            for at in reversed(range(len(stop))):
                after = _Pair(self._layout, (*self._member, *stop[at:]))
                if self._can(stop[at:]) and not after.fields:
                    yield Option(f"the end of {self.subject}: {self._given.show(stop[at:])}")
                    break
        elif (now.fields and len(now.fields) < len(self._heads)) or now.field == _TYPE:
            legal = [name for name in _TYPES if self._can_be_of(name.encode())]
            if legal:
                yield Option(f"the type of {self.subject}: {listing(legal)}", tuple(legal))


class PythonQuestions(_Questions):
    """Questions about Python's keyword arguments."""

    end = "`)`"

    def __init__(self, given: LaidOut, symbols: Sequence[int], can: Can) -> None:
        super().__init__(given, symbols, can)
        scan = PYTHON_TEXT
        for at, symbol in enumerate(symbols, 1):
            if symbol == ord(",") and scan.depth == 1 and scan.quote is None:
                self._member = symbols[at:]
            scan = scan.after(symbol) or scan
        name, self._equals, value = bytes(self._member).lstrip(_BLANK).partition(b"=")
        self._held = value.lstrip(_BLANK) if self._equals else name
        self.begun = self._held.decode("utf-8", "ignore")
        self.key = name.decode("utf-8", "ignore").strip()
        self.path = (self.key,) if self._equals else ()
        self.another = ("`,` and " if self._equals else "") + "the name of an argument"

    def cursors(self) -> Iterator[Cursor]:
        """Return the place that the text stands at as JSON."""
        out, text = self._decode(self._symbols), self._held
        if not self._equals:
            out += "{" if len(self._member) == len(self._symbols) else ","
            text = quoted(self.begun)[:-1].encode() if text else b""
        elif text[:1] in {b'"', b"'"}:
            text = b""  # it is decoded as it comes
        elif text:
            words = [same for word, same in _WORDS.items() if word.encode().startswith(text)]
            text = words[0][: len(text)].encode() if words else text
        with suppress(ValueError):
            yield locate(out.encode() + text)

    def can_be(self, cursor: Cursor, text: str) -> bool:
        """Return whether a JSON text may be the name or the value that is due or begun."""
        value = json.loads(text)
        if cursor.due is not Due.VALUE:
            name = _comma(cursor) + f"{value}=".encode()
            return self._some(name, lambda read: self._decode(read).endswith(f"{text}: "))
        ways = [text, *(word for word, same in _WORDS.items() if same == text)]
        if isinstance(value, str):
            ways = [_literal(value, quote) for quote in "\"'"]
        return any(
            self._some(
                f"{self.key}={way}".encode(),
                lambda read: self._is_value(self._decode((*read, *b")")), value),
            )
            for way in ways
        )

    def can_begin(self, cursor: Cursor, first: bytes) -> bool:  # noqa: ARG002 - it is the key's
        """Return whether a value that begins so in JSON may begin."""
        firsts = (b'"', b"'") if first == b'"' else (first,)
        return any(map(self._can, firsts))

    def can_close(self, cursor: Cursor) -> bool:  # noqa: ARG002 - it is the outermost object
        """Return whether the arguments may end."""
        return self._can(b")")

    def own(self) -> Iterator[Option]:
        """Say what may follow of the layout itself."""
        if not self._equals and self.key and self._can(b"="):
            yield Option(f"`=`, behind the name {quoted(self.key)}")


def _literal(text: str, quote: str) -> str:
    """Write a string of Python's."""
    body = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    for char, escape in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        body = body.replace(char, escape)
    return f"{quote}{body}{quote}"


Questions = JsonQuestions | PairQuestions | PythonQuestions
