r"""Streaming decoder of Python's keyword arguments to JSON: `a="b", c=[1, None])`.

A string at the top level is decoded as it comes, other values at their end. Must not know: schemas.

Source: `handle_single_tool` and `get_parameter_value` in vLLM 0.32's `tool_parsers/utils.py`.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable
from enum import Enum
from typing import Any

from enforcer.layouts.pattern import ID
from enforcer.layouts.scanning import PYTHON_TEXT, NestedText

_Utf8 = getincrementaldecoder("utf-8")
# Complete characters of a string: an escape counts once it cannot be continued.
_CHARACTERS = re.compile(
    r"""(?:[^\\]|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^xuUN0-7\n]))*""", re.DOTALL
)
_WORDS = {"true": True, "false": False, "null": None}
_COMMA, _EQUALS = ord(","), ord("=")
_BLANK = frozenset(b" \t\n\r\x0b\x0c")


class _At(Enum):
    """The state of the decoder between two commas."""

    NAME = "name"
    VALUE = "value"
    STRING = "string"
    BEHIND = "behind"  # a string that is the whole value


class PythonReader:
    """Decodes one text, up to the bracket that ends it."""

    def __init__(self) -> None:
        self._scan: NestedText | None = PYTHON_TEXT
        self._at = _At.NAME
        self._held = bytearray()  # of a name or a value
        self._string = _String("")
        self._opening = "{"

    def feed(self, symbols: Iterable[int]) -> str:
        """Return the JSON that further symbols complete; raise ValueError if they are malformed."""
        return "".join([self._step(symbol) for symbol in symbols])

    def finish(self) -> str:
        """Return the rest of the JSON; raise ValueError if the text is incomplete."""
        if self._scan is None or not self._scan.ends:
            raise ValueError("the arguments are cut off")
        return "{}" if self._opening == "{" else "}"

    def _step(self, symbol: int) -> str:
        before = self._scan
        self._scan = before.after(symbol) if before is not None else None
        if before is None or self._scan is None or symbol >= ID:
            raise ValueError("a symbol that cannot stand there")
        if self._at is _At.STRING:
            return self._string.feed(symbol) if self._scan.quote is not None else self._close()
        is_top = before.depth == 1 and before.quote is None
        if self._scan.ends or (is_top and symbol == _COMMA):
            return self._end()
        if self._at is _At.NAME and symbol == _EQUALS:
            return self._begin()
        begins = self._at is _At.VALUE and is_top and not self._held
        if begins and symbol in _BLANK:
            return ""
        if begins and self._scan.quote is not None:
            self._at = _At.STRING
            self._string = _String(chr(symbol))
            return '"'
        self._held.append(symbol)
        return ""

    def _begin(self) -> str:
        name = self._held.decode().strip()
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"{name!r} is no name of an argument")
        self._held.clear()
        self._at = _At.VALUE
        opening, self._opening = self._opening, ", "
        return f"{opening}{json.dumps(name, ensure_ascii=False)}: "

    def _close(self) -> str:
        self._at = _At.BEHIND
        self._held.clear()
        return self._string.finish() + '"'

    def _end(self) -> str:
        text = self._held.decode().strip()
        was, self._at = self._at, _At.NAME
        self._held.clear()
        if was is _At.VALUE:
            return _json(_literal(text))
        if text:
            raise ValueError("an argument without a name, or two literals in one")
        return ""  # after a string or the last comma, or between the brackets


class _String:
    """Decodes a string literal to the inside of a JSON string."""

    def __init__(self, quote: str) -> None:
        self._quote = quote
        self._utf8 = _Utf8()
        self._left = ""

    def feed(self, byte: int) -> str:
        """Return the characters that a further byte completes."""
        self._left += self._utf8.decode(bytes([byte]))
        found = _CHARACTERS.match(self._left)
        end = found.end() if found else 0
        ready, self._left = self._left[:end], self._left[end:]
        return self._read(ready)

    def finish(self) -> str:
        """Return the rest; raise ValueError if a character is incomplete."""
        self._utf8.decode(b"", final=True)
        return self._read(self._left)

    def _read(self, body: str) -> str:
        if not body:
            return ""
        return _json(_literal(self._quote + body + self._quote))[1:-1]


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text.encode()  # raises ValueError for half a surrogate pair
    return text


def _literal(text: str) -> Any:
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no literal of Python's: {error}") from error


def _value(node: ast.expr) -> Any:
    """Return the value of a literal as vLLM reads it; raise ValueError if JSON has none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        if isinstance(node.value, float) and node.value - node.value != 0:
            raise ValueError("a number beyond all doubles")
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _value(node.operand)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(each) for each in node.elts]
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.Dict):
        keys = [_value(key) if key is not None else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(keys, map(_value, node.values), strict=True))
    raise ValueError("no literal that JSON has")
