"""The format of a text, as one frozen value: a request's response format, or a call's arguments.

A response format is read from `response_format`, with the additional types of vLLM's
`structured_outputs`. Must not know: how a format is enforced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any

import msgspec

from enforcer.errors import InvalidTools, brief
from enforcer.request.json_text import NULL, UNREADABLE, dump, misfit
from enforcer.schema.limits import Root

_PATH = "$.response_format"
SCHEMA = f"{_PATH}.json_schema.schema"


class FormatKind(Enum):
    """The kinds of response formats, by the kind of their source."""

    JSON_SCHEMA = "json_schema"
    REGEX = "regex"
    CHOICE = "choice"
    GRAMMAR = "grammar"


@dataclass(frozen=True)
class ResponseFormat:
    """The format of a text.

    Attributes:
        kind: the kind of `source`.
        source: a JSON Schema as JSON text; a regular expression that the whole text
            matches; the choices as a JSON list; a grammar in Lark's or GBNF's notation.
        root: `Root.OBJECT` for the arguments of a call, `Root.ANY` for a response.
        path: the path of a schema in the request; `$` for other kinds.

    """

    kind: FormatKind
    source: str
    root: Root = Root.ANY
    path: str = field(default="$", compare=False)

    @cached_property
    def digest(self) -> bytes:
        """A digest of all but the path, for keys of caches: a source may be large."""
        text = f"{self.kind.value} {self.root.value} {self.source}"
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


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
    """Return a response format as JSON text, for `read`.

    Raises:
        InvalidTools: it is not JSON; the path leads at most to the schema.

    """
    return dump(value, _PATH, 2)


def parse(value: object) -> ResponseFormat | None:
    """Return the response format of a request; None for free text.

    Supported are `{"type": "text"}`, `json_object`, `json_schema` as OpenAI's API has them, and
    `{"type": "regex", "regex"}`, `{"type": "choice", "choice"}`, `{"type": "grammar",
    "grammar"}` after vLLM's `structured_outputs`.

    Raises:
        InvalidTools: any other form.

    """
    return read(encoded(value))


def read(text: bytes) -> ResponseFormat | None:
    """Return the response format in a JSON text; raise as `parse` does."""
    try:
        found = _DECODER.decode(text)
    except UNREADABLE as error:
        raise misfit(error, _PATH) from error
    if found is None or found.type == "text":
        return None
    if found.type == "json_object":
        return ResponseFormat(FormatKind.JSON_SCHEMA, '{"type":"object"}', path=SCHEMA)
    if found.type == "json_schema":
        source = bytes(NULL if found.json_schema is None else found.json_schema.schema).decode()
        if not source.startswith(("{", "t", "f")):
            raise InvalidTools(SCHEMA, "it must be a JSON Schema")
        return ResponseFormat(FormatKind.JSON_SCHEMA, source, path=SCHEMA)
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
    """Return the response format of a JSON Schema as JSON text, for `read`."""
    schema = _Schema(msgspec.Raw(wanted.source.encode()))
    return msgspec.json.encode({"type": FormatKind.JSON_SCHEMA.value, "json_schema": schema})
