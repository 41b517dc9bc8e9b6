"""The format that a request demands of its text.

Owns: reading `response_format` (and vLLM's `structured_outputs`, which says more) into
one frozen value. Must not know: how a format is enforced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from enforcer.errors import InvalidTools, brief

_PATH = "$.response_format"


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


def parse(value: object) -> ResponseFormat | None:
    """Read a format; None for free text.

    Known are `{"type": "text"}`, `json_object`, `json_schema` as OpenAI's API has them, and
    `{"type": "regex", "regex"}`, `{"type": "choice", "choice"}`, `{"type": "grammar",
    "grammar"}` after vLLM's `structured_outputs`.

    Raises:
        InvalidTools: another form.

    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InvalidTools(_PATH, f"it must be an object, not {type(value).__name__}")
    kind = value.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return ResponseFormat(FormatKind.JSON_SCHEMA, '{"type": "object"}')
    if kind == "json_schema":
        wrapper = value.get("json_schema")
        schema: Any = wrapper.get("schema") if isinstance(wrapper, Mapping) else None
        if not isinstance(schema, Mapping | bool):
            raise InvalidTools(f"{_PATH}.json_schema.schema", "it must be a JSON Schema")
        return ResponseFormat(FormatKind.JSON_SCHEMA, _dump(schema, f"{_PATH}.json_schema.schema"))
    if kind in ("regex", "grammar"):
        source = value.get(kind)
        if not isinstance(source, str) or not source:
            raise InvalidTools(f"{_PATH}.{kind}", "it must be a string that is not empty")
        return ResponseFormat(FormatKind(kind), source)
    if kind == "choice":
        choices = value.get("choice")
        if not _is_strings(choices):
            raise InvalidTools(f"{_PATH}.choice", "it must be a list of strings, not empty")
        return ResponseFormat(FormatKind.CHOICE, _dump(choices, f"{_PATH}.choice"))
    known = "text, json_object, json_schema, regex, choice, grammar"
    raise InvalidTools(f"{_PATH}.type", f"{brief(kind)} is not one of {known}")


def _is_strings(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and len(value) > 0
        and all(isinstance(item, str) for item in value)
    )


def _dump(value: object, path: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTools(path, f"it is not JSON: {error}") from error
