"""The text of arguments as JSON, piece by piece.

Owns: what each layout's text means as a JSON object. Nothing is held back but what may still
turn out otherwise: an unfinished character, the beginning of a stop, a value whose type shows at
its end. Must not know: whether the text fits its schema (only which types the schema declares).
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Protocol

from enforcer.layouts.declared import ONLY_STRING, types_of_properties
from enforcer.layouts.layout import LayoutKind
from enforcer.layouts.pattern import ID
from enforcer.layouts.python_text import PythonReader
from enforcer.layouts.tagged_text import TaggedReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from enforcer.layouts.layout import BoundLayout

_Utf8 = getincrementaldecoder("utf-8")


class _Reader(Protocol):
    def feed(self, symbols: Iterable[int]) -> str: ...

    def finish(self) -> str: ...


class Decoder:
    """Reads the text of one call's arguments; the pieces joined are JSON.

    Args:
        layout: how it is laid out.
        schema: the tool's parameters, where types are declared rather than written. None
            stands for a schema that declares none.

    """

    def __init__(self, layout: BoundLayout, schema: Mapping[str, Any] | None) -> None:
        self._reader = _reader(layout, schema)
        self._wrong: ValueError | None = None

    def feed(self, symbols: Iterable[int]) -> str:
        """Read on; gives what is certain now. Behind the first mistake it gives nothing."""
        if self._wrong is not None:
            return ""
        try:
            return self._reader.feed(symbols)
        except (ValueError, RecursionError) as error:
            self._wrong = _mistake(error)
            return ""

    def finish(self) -> str:
        """End the text; gives what is still held back.

        Raises:
            ValueError: the text is not well-formed, or not at its end.

        """
        if self._wrong is not None:
            raise self._wrong
        try:
            return self._reader.finish()
        except RecursionError as error:
            raise _mistake(error) from error


def _mistake(error: ValueError | RecursionError) -> ValueError:
    """Call by its name what no reader of Python's takes."""
    return error if isinstance(error, ValueError) else ValueError("nested too deeply to be read")


def _reader(layout: BoundLayout, schema: Mapping[str, Any] | None) -> _Reader:
    if layout.layout.kind is LayoutKind.JSON:
        return _JsonReader()
    if layout.layout.kind is LayoutKind.PYTHON:
        return PythonReader()
    types = types_of_properties(schema)
    return TaggedReader(layout, lambda key: types.get(key, ONLY_STRING))


class _JsonReader:
    """JSON as it is."""

    def __init__(self) -> None:
        self._utf8 = _Utf8()
        self._said: list[str] = []

    def feed(self, symbols: Iterable[int]) -> str:
        data = list(symbols)
        if any(symbol >= ID for symbol in data):
            raise ValueError("a control token stands within JSON")
        self._said.append(self._utf8.decode(bytes(data)))
        return self._said[-1]

    def finish(self) -> str:
        self._utf8.decode(b"", final=True)
        json.loads("".join(self._said))
        return ""
