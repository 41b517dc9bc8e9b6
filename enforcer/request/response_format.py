"""The format that a request demands of its text.

Reads `response_format` (and vLLM's `structured_outputs`, which says more) into one frozen value.
How a format is enforced, nobody asks here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import msgspec

from enforcer.errors import InvalidTools, brief
from enforcer.request.json_text import NULL, UNREADABLE, dump, misfit

_PATH = "$.response_format"
SCHEMA = f"{_PATH}.json_schema.schema"


class FormatKind(Enum):
    """What sort of source a format has."""

    JSON_SCHEMA = "json_schema"
    REGEX = "regex"
    CHOICE = "choice"
    GRAMMAR = "grammar"


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """A format, hashable, so that its grammar can be cached.

    Attributes:
        kind: what `source` is.
        source: a JSON Schema as JSON text; a regular expression that the whole text
            matches; the choices as a JSON list; a grammar in Lark's or GBNF's notation.

    """

    kind: FormatKind
    source: str

    @property
    def path(self) -> str:
        """Where a schema stands in a request; errors of other sources have paths of their own."""
        return SCHEMA if self.kind is FormatKind.JSON_SCHEMA else "$"


class _Schema(msgspec.Struct):
    schema: msgspec.Raw = NULL


class _Format(msgspec.Struct):
    type: Any = None
    json_schema: _Schema | None = None
    regex: Any = None
    choice: msgspec.Raw = NULL
    grammar: Any = None


_DECODER = msgspec.json.Decoder(_Format | None)
_CHOICES = msgspec.json.Decoder(Annotated[list[str], msgspec.Meta(min_length=1)])


def encoded(value: object) -> bytes:
    """Write a format as JSON, as `read` reads it.

    Raises:
        InvalidTools: it is not JSON; leads at the deepest to the schema.

    """
    return dump(value, _PATH, 2)


def parse(value: object) -> ResponseFormat | None:
    """Read a format; None for free text.

    Known are `{"type": "text"}`, `json_object`, `json_schema` as OpenAI's API has them, and
    `{"type": "regex", "regex"}`, `{"type": "choice", "choice"}`, `{"type": "grammar",
    "grammar"}` after vLLM's `structured_outputs`.

    Raises:
        InvalidTools: another form.

    """
    return read(encoded(value))


def read(text: bytes) -> ResponseFormat | None:
    """Read a format as JSON text; returns and raises as `parse` does."""
    try:
        found = _DECODER.decode(text)
    except UNREADABLE as error:
        raise misfit(error, _PATH) from error
    if found is None or found.type == "text":
        return None
    if found.type == "json_object":
        return ResponseFormat(FormatKind.JSON_SCHEMA, '{"type":"object"}')
    if found.type == "json_schema":
        source = bytes(NULL if found.json_schema is None else found.json_schema.schema).decode()
        if not source.startswith(("{", "t", "f")):
            raise InvalidTools(SCHEMA, "it must be a JSON Schema")
        return ResponseFormat(FormatKind.JSON_SCHEMA, source)
    if found.type in ("regex", "grammar"):
        source = getattr(found, found.type)
        if not isinstance(source, str) or not source:
            raise InvalidTools(f"{_PATH}.{found.type}", "it must be a string that is not empty")
        return ResponseFormat(FormatKind(found.type), source)
    if found.type == "choice":
        try:
            _CHOICES.decode(found.choice)
        except UNREADABLE as error:
            reason = "it must be a list of strings, not empty"
            raise InvalidTools(f"{_PATH}.choice", reason) from error
        return ResponseFormat(FormatKind.CHOICE, bytes(found.choice).decode())
    known = "text, json_object, json_schema, regex, choice, grammar"
    raise InvalidTools(f"{_PATH}.type", f"{brief(found.type)} is not one of {known}")


def rewritten(wanted: ResponseFormat) -> bytes:
    """Write the format of a JSON Schema as JSON, as `read` reads it."""
    schema = _Schema(msgspec.Raw(wanted.source.encode()))
    return msgspec.json.encode({"type": FormatKind.JSON_SCHEMA.value, "json_schema": schema})
