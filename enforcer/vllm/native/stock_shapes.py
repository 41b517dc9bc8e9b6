"""How the structural tags of vLLM's own front ends are taken apart.

Owns: reading one format of a tag with every key known, and the formats of text. Must not know:
calls, whose shapes are `stock_k2`'s and `stock_k3`'s.
"""

from __future__ import annotations

import json
from typing import Any

PATH = "$.structured_outputs.structural_tag"
# What a format means without these keys; the shapes name those that may differ.
ABSENT: dict[str, dict[str, Any]] = {
    "json_schema": {
        "style": "json",
        "any_order": False,
        "max_whitespace_cnt": None,
        "excludes": [],
    },
    "any_text": {"excludes": [], "max_tokens": None, "max_chars": None},
    "tags_with_separator": {"at_least_one": False, "stop_after_first": False},
    "triggered_tags": {"at_least_one": False, "stop_after_first": False, "excludes": []},
}


class UnlikeError(Exception):
    """The tag has another shape."""


def take(node: Any, kind: str, *names: str) -> list[Any]:
    """Take a format of one kind apart; what is not asked for must be as if it were absent.

    Raises:
        UnlikeError: it is of another kind, or has other keys, or other values in them.

    """
    if not isinstance(node, dict) or node.get("type") != kind:
        raise UnlikeError
    absent = ABSENT.get(kind, {})
    found = {**absent, **node}
    if found.keys() != {"type", *names, *absent}:
        raise UnlikeError
    for key, value in absent.items():
        if key not in names:
            expect(found[key], value)
    return [found[name] for name in names]


def expect(value: Any, expected: Any) -> None:
    """Raise `UnlikeError` where a value is not what it should be."""
    # By their text, since 1 and true are equal in Python.
    if json.dumps(value) != json.dumps(expected):
        raise UnlikeError


def items(value: Any, count: int | None = None) -> list[Any]:
    """Give a list that is not empty, and of that many; raise `UnlikeError` else."""
    if not isinstance(value, list) or not value or (count is not None and len(value) != count):
        raise UnlikeError
    return value


def answer(node: Any) -> dict[str, Any]:
    """Read a format of text, as `response_format` and `structured_outputs` make it.

    Gives it as `enforcer.request.response_format.parse` takes it.
    """
    kind = node.get("type") if isinstance(node, dict) else None
    if kind == "json_schema":
        (schema,) = take(node, "json_schema", "json_schema")
        return {"type": "json_schema", "json_schema": {"schema": schema}}
    if kind == "regex":
        return {"type": "regex", "regex": take(node, "regex", "pattern")[0]}
    if kind == "grammar":
        return {"type": "grammar", "grammar": take(node, "grammar", "grammar")[0]}
    (choices,) = take(node, "or", "elements")
    texts = [take(choice, "const_string", "value")[0] for choice in items(choices)]
    return {"type": "choice", "choice": texts}
