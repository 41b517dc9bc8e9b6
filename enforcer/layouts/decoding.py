"""Streaming decoder of arguments in other layouts to JSON.

It holds back only what later symbols can still change: an unfinished character, a partial
delimiter, a value whose type shows at its end. Of the schema it knows only the declared types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from enforcer.layouts.declared import types_of_properties
from enforcer.layouts.layout import BoundLayout, LayoutKind
from enforcer.layouts.python_text import PythonReader
from enforcer.layouts.tagged_text import TaggedReader


class Decoder:
    """Decodes the text of one call's arguments; the returned pieces, joined, are a JSON object.

    Args:
        layout: a layout other than JSON.
        schema: the tool's parameters, for layouts whose types are declared; None for no types.

    """

    def __init__(self, layout: BoundLayout, schema: Mapping[str, Any] | None) -> None:
        self._reader: PythonReader | TaggedReader
        if layout.layout.kind is LayoutKind.PYTHON:
            self._reader = PythonReader()
        else:
            self._reader = TaggedReader(layout, types_of_properties(schema))
        self._wrong: ValueError | None = None

    def feed(self, symbols: Iterable[int]) -> str:
        """Return the JSON that further symbols complete; after a malformed one, nothing."""
        if self._wrong is not None:
            return ""
        try:
            return self._reader.feed(symbols)
        except (ValueError, RecursionError) as error:
            self._wrong = _mistake(error)
            return ""

    def finish(self) -> str:
        """End the text; return the rest of the JSON.

        Raises:
            ValueError: the text is malformed or incomplete.

        """
        if self._wrong is not None:
            raise self._wrong
        try:
            return self._reader.finish()
        except RecursionError as error:
            raise _mistake(error) from error


def _mistake(error: ValueError | RecursionError) -> ValueError:
    """Return a ValueError for either error."""
    return error if isinstance(error, ValueError) else ValueError("nested too deeply to be read")
