"""What may come next in arguments that are a Python call's.

Owns: how names and values are spelled there, as far as the engine is asked about them, and the
words for what only Python has. Must not know: turns, ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.explain.arguments import Signs
from enforcer.explain.places import KEY
from enforcer.explain.views import View, as_string, begun
from enforcer.explain.words import Option, quoted
from enforcer.layouts import ID, Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = {"True": "true", "False": "false", "None": "null"}
_MORE = "x_"  # as a name may go on that is any
_BLANK = b" \t\r\n"


class PythonArguments(View):
    """One place in such arguments."""

    @property
    def signs(self) -> Signs:
        """How the layout writes what JSON has commas, quotes and brackets for."""
        first = "" if self.spot.field == KEY else "`,` and "
        return Signs(f"{first}the name of an argument", "`)`")

    def as_json(self) -> Iterator[bytes]:
        """Give what the text so far may be in JSON."""
        now = self.spot
        before = self._decoded(now.begin).rstrip(" ")
        if now.field == KEY:
            name = now.text.lstrip(_BLANK).decode("utf-8", "replace")
            yield (f"{before}," if now.comma else "{").encode() + (begun(name) if name else b"")
        elif not (now.key or now.field or now.behind):
            yield f"{before or '{'} ".encode()  # no number goes on
        else:
            yield from self._values(self._within(before))

    def can(self, data: bytes) -> bool:
        """Tell whether what would follow in JSON may follow in the layout."""
        now = self.spot
        if now.field == KEY:
            if data == b"}":
                return not now.text.strip() and self._engine(b")")
            typed = now.text.lstrip(_BLANK)
            so_far = typed.decode("utf-8", "replace")
            name = as_string(begun(so_far) + data if typed else data)
            if name is None:
                return False
            ways = (name, name + _MORE) if name == so_far else (name,)
            return any(self._engine(way.encode()[len(typed) :] + b"=") for way in ways)
        text = now.text.lstrip(_BLANK)
        if data == b"}":
            return not now.is_open and self._engine(b")")
        if data[:1] == b"," and not now.is_open:
            name = as_string(data[1:])
            return name is not None and self._engine(f",{name or _MORE}=".encode())
        quote = text[:1]
        if quote in {b'"', b"'"} and now.is_open:
            (json_text,) = self._values(b"")
            whole = as_string(json_text + data)
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
            whole = as_string(data)
            return whole is not None and any(self._engine(_python(whole, q)) for q in "\"'")
        words = [word for word, same in _WORDS.items() if same.encode() == data]
        return any(self._engine(word) for word in (data, *(word.encode() for word in words)))

    def own(self) -> Iterator[Option]:
        """Say what may follow of the layout itself."""
        now = self.spot
        typed = now.text.strip()
        if now.field == KEY and typed and self._engine(b"="):
            yield Option(f"`=`, behind the name {quoted(typed.decode('utf-8', 'replace'))}")

    def _values(self, start: bytes) -> Iterator[bytes]:
        """Give readings of the part of a value that has been written."""
        now = self.spot
        if any(x >= ID for x in now.held):
            return  # it has ended
        text = now.text.lstrip(_BLANK)
        if text[:1] in {b'"', b"'"}:
            decoded = Decoder(self._layout, None).feed(b"%s=%s" % (now.key, text))
            yield start + decoded.partition(":")[2].strip().encode()
            return
        words = [w for w in _WORDS if text and w.encode().startswith(text)]
        yield start + (_WORDS[words[0]][: len(text)].encode() if words else text)


def _python(text: str, quote: str) -> bytes:
    body = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    for char, escape in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        body = body.replace(char, escape)
    return f"{quote}{body}{quote}".encode()
