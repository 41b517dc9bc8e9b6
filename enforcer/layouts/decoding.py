"""The text of arguments that is no JSON as JSON, piece by piece.

Owns: what such a layout's text means as a JSON object. Nothing is held back but what may still
turn out otherwise: an unfinished character, the beginning of a stop, a value whose type shows at
its end. Must not know: whether the text fits its schema (only which types the schema declares).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.layouts.declared import types_of_properties
from enforcer.layouts.layout import LayoutKind
from enforcer.layouts.python_text import PythonReader
from enforcer.layouts.tagged_text import TaggedReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from enforcer.layouts.layout import BoundLayout


class Decoder:
    """Reads the text of one call's arguments; the pieces joined are JSON.

    Args:
        layout: how it is laid out; not JSON.
        schema: the tool's parameters, where types are declared rather than written. None
            stands for a schema that declares none.

    """

    def __init__(self, layout: BoundLayout, schema: Mapping[str, Any] | None) -> None:
        self._reader: PythonReader | TaggedReader
        if layout.layout.kind is LayoutKind.PYTHON:
            self._reader = PythonReader()
        else:
            self._reader = TaggedReader(layout, types_of_properties(schema))
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
