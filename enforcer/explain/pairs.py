"""What may come next in arguments that are pairs of a key and a value, each behind a tag.

Owns: how keys, types and values are spelled there, as far as the engine is asked about them, and
the words for what only pairs have. Must not know: turns, ids.
"""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

from enforcer.explain.arguments import Signs
from enforcer.explain.places import KEY, TYPE, VALUE
from enforcer.explain.views import View, as_string, begun
from enforcer.explain.words import Option, listing, quoted, shown
from enforcer.layouts import ID, Trim, Types
from enforcer.layouts.declared import ONLY_STRING, STRING, read_value
from enforcer.layouts.scanning import JSON_TEXT, NestedScan
from enforcer.partial import whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TYPES = (STRING, "number", "boolean", "null", "object", "array")
_MORE = "x_"  # as a name may go on that is any


class Pairs(View):
    """One place in such arguments."""

    @property
    def signs(self) -> Signs:
        """How the layout writes what JSON has commas, quotes and brackets for."""
        pair = shown(self._given.show(self._part(None, "key")))
        close = shown(self._given.show(self._close)) if self._close else ""
        return Signs(f"the key of an argument, behind {pair}", close)

    def as_json(self) -> Iterator[bytes]:
        """Give what the text so far may be in JSON."""
        now = self.spot
        before = self._decoded(now.begin).rstrip(" ")
        if not (now.key or now.field or now.behind):
            yield f"{before or '{'} ".encode()  # no number goes on
        elif now.field == KEY:
            between = "," if before else "{"
            name = self._read_key(now.text)
            if b"&" not in now.text.rpartition(b";")[2]:
                yield f"{before}{between}".encode() + begun(name)
        elif now.field == VALUE or self._is_typed():
            yield from self._values(self._within(before))

    def can(self, data: bytes) -> bool:
        """Tell whether what would follow in JSON may follow in the layout."""
        now = self.spot
        if now.field == KEY:
            return self._can_key(as_string(begun(self._read_key(now.text)) + data))
        if not (now.key or now.field or now.behind):
            if data == b"}":
                return bool(self._close) and self._can(self._close) is not None
            return self._can_key(as_string(data.lstrip(b",")))
        return self._can_value(data)

    def own(self) -> Iterator[Option]:
        """Say what may follow of the layout itself."""
        now = self.spot
        if now.field == TYPE or (now.behind == KEY and self._last_field() == TYPE):
            yield from self._typed()
        elif now.field == KEY or (now.behind == KEY and not now.field):
            yield from self._behind(KEY, f"the end of the key {quoted(self._read_key(now.text))}")
        if now.field == VALUE:
            yield from self._ends()

    # Patterns.

    def _part(self, after: str | None, before: str | None) -> tuple[int, ...]:
        """Write a part of a pair without white space that may be missing."""
        return tuple(x for x in self._layout.part(after, before) if isinstance(x, int))

    @property
    def _close(self) -> tuple[int, ...]:
        return tuple(x for x in self._layout.close if isinstance(x, int))

    @property
    def _stop(self) -> tuple[int, ...]:
        return self._layout.stop

    def _can(self, part: Sequence[int], behind: Sequence[int] = ()) -> tuple[int, ...] | None:
        """Give what of a part is still to be written if that and more may follow."""
        for at in range(len(part) + 1):
            rest = (*part[at:], *behind)
            if rest and self._engine(rest):
                return tuple(part[at:])
        return None

    def _is_typed(self) -> bool:
        """Whether nothing but a value is missing."""
        return self.spot.behind == self._last_field()

    def _last_field(self) -> str:
        return TYPE if self._layout.layout.types is Types.WRITTEN else KEY

    def _values(self, start: bytes) -> Iterator[bytes]:
        """Give readings of the part of a value that has been written."""
        now = self.spot
        if any(x >= ID for x in now.held):
            return  # it has ended
        text = self.untrimmed(now.value)
        if STRING in self._types and text:
            yield start + begun(whole(text))
        if not text:
            yield start
        elif self._types != ONLY_STRING:
            yield start + now.text  # what may be a stop is no number's

    # Asking the engine.

    def _can_key(self, name: str | None) -> bool:
        """Tell whether a key may be written; a part of one that is none may go on as some other."""
        typed = self._read_key(self.spot.text) if self.spot.field == KEY else ""
        if name is None:
            return False
        return self._is_key(name) or (name == typed and self._is_key(name + _MORE))

    def _is_key(self, name: str) -> bool:
        spelled, typed = self._layout.layout.key.write(name).encode(), self.spot.text
        behind = self._part("key", "type" if self._last_field() == TYPE else VALUE)
        if self.spot.field == KEY:
            return spelled.startswith(typed) and self._engine((*spelled[len(typed) :], *behind))
        return self._can(self._part(None, "key"), (*spelled, *behind)) is not None

    def _can_value(self, data: bytes) -> bool:
        now = self.spot
        literal = () if now.field == VALUE else self._part(self._last_field(), VALUE)
        text = self.untrimmed(now.value)
        if now.field == VALUE and text and self._begins_string(data, text):
            read = as_string(begun(whole(text)) + data)
            return read is not None and self._can_text(read.encode(), literal)
        if now.field == VALUE and text:
            return _is_open(now.text) and self._engine(tuple(data))
        if data[:1] == b'"':
            read = as_string(data)
            if STRING not in self._types:
                return False
            return data == b'"' or (read is not None and self._can_text(read.encode(), literal))
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

    def _can_text(self, text: bytes, literal: Sequence[int]) -> bool:
        """Tell whether a raw string may be written, in one of the ways that it may be."""
        held = self.spot.text if self.spot.field == VALUE else b""
        lines = (b"", b"\n") if self._layout.layout.trim is Trim.NEWLINE else (b"",)
        for first, last in product(lines, lines):
            spelled = first + text + last
            if not spelled.startswith(held):
                continue
            if self._declared_otherwise(text):
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

    # What only the layout has.

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


def _is_open(data: bytes) -> bool:
    """Tell whether a bracket of a JSON text is open."""
    scan: NestedScan | None = JSON_TEXT
    for byte in data:
        scan = None if scan is None else scan.step(byte)
    return scan is not None and scan.depth > 0
