"""Patterns over structural tags: a tag is matched whole, and its parts are written in letters.

A pattern is the JSON of a tag's format with a `Hole` where values may differ. Every key has to be
known and every value expected: a tag that differs anywhere has another meaning.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from enforcer.request.spec import Spec

PATH = "$.structured_outputs.structural_tag"
# The values of keys that releases of xgrammar leave out.
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
_BETWEEN = {"sequence": " ", "or": "|"}


class UnlikeError(Exception):
    """The tag has another shape."""


class Stock(NamedTuple):
    """The meaning of a structural tag of vLLM's own.

    Attributes:
        spec: what it allows.
        think_apart: whether the Rust front end built it, which splits the think off as text; not so
            without a reasoning parser.
        left_free: names of the tools whose arguments it leaves free, though their schemas may not.

    """

    spec: Spec
    think_apart: bool
    left_free: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hole:
    """A value that is recorded.

    Attributes:
        name: its key among the recorded values, which are equal where it occurs twice; empty for a
            value that is not recorded.
        read: converts the value, or raises `UnlikeError`.

    """

    name: str
    read: Callable[[Any], Any] = lambda value: value


def among(*values: Any) -> Callable[[Any], Any]:
    """Return a `Hole.read` that takes these values alone."""

    def read(value: Any) -> Any:
        # As JSON, since 1 and true are equal in Python.
        if json.dumps(value) not in map(json.dumps, values):
            raise UnlikeError
        return value

    return read


def each(pattern: Any) -> Callable[[Any], list[Any]]:
    """Return a `Hole.read` that gives the values of each element of a list that is not empty."""

    def read(node: Any) -> list[Any]:
        if not isinstance(node, list) or not node:
            raise UnlikeError
        return [values(pattern, element) for element in node]

    return read


def values(pattern: Any, node: Any) -> dict[str, Any]:
    """Return the values of a pattern's holes; raises what `match` does."""
    found: dict[str, Any] = {}
    match(pattern, node, found)
    return found


def match(pattern: Any, node: Any, found: dict[str, Any]) -> None:
    """Record the values of a pattern's holes in `found`.

    Raises:
        UnlikeError: the node differs elsewhere.

    """
    if isinstance(pattern, Hole):
        value = pattern.read(node)
        if pattern.name:
            among(found.setdefault(pattern.name, value))(value)
    elif isinstance(pattern, dict):
        absent = ABSENT.get(pattern["type"], {})
        if not isinstance(node, dict) or pattern.keys() | absent.keys() != node.keys() | absent:
            raise UnlikeError
        pattern, node = {**absent, **pattern}, {**absent, **node}
        for key in pattern:
            match(pattern[key], node[key], found)
    elif isinstance(pattern, list):
        if not isinstance(node, list) or len(node) != len(pattern):
            raise UnlikeError
        for part, element in zip(pattern, node, strict=True):
            match(part, element, found)
    else:
        among(pattern)(node)


_SEVERAL = Hole("elements", each(Hole("node")))


def spelled(letters: Mapping[str, Any], node: Any, found: dict[str, Any]) -> str:
    """Write a format in letters, such as `(A B?)` for a sequence or `(A|B)` for a choice.

    Args:
        letters: the pattern of each letter.
        node: the format.
        found: where the values of the patterns' holes are recorded.

    Raises:
        UnlikeError: a part matches no pattern, or has other values than one of the same name.

    """
    for letter, pattern in letters.items():
        known = dict(found)
        with suppress(UnlikeError):
            match(pattern, node, known)
            found.update(known)
            return letter
    if isinstance(node, dict) and node.get("type") == "optional":
        content = values({"type": "optional", "content": Hole("content")}, node)["content"]
        return f"{spelled(letters, content, found)}?"
    parts = values({"type": Hole("type", among(*_BETWEEN)), "elements": _SEVERAL}, node)
    written = (spelled(letters, part["node"], found) for part in parts["elements"])
    return f"({_BETWEEN[parts['type']].join(written)})"


def read(
    letters: Mapping[str, Any], around: Mapping[str, bool], turns: Mapping[str, str], data: Any
) -> tuple[str, bool, dict[str, Any]]:
    """Read a whole tag.

    Args:
        letters: the pattern of each letter.
        around: what may stand around a turn, and whether a think in it stands apart.
        turns: the shapes of turns, and the `tool_choice` that each stands for.
        data: the tag.

    Returns:
        The `tool_choice`, whether the think stands apart, and the values of the patterns' holes.

    Raises:
        UnlikeError: it has another shape.

    """
    tag_format = values({"type": "structural_tag", "format": Hole("format")}, data)["format"]
    found: dict[str, Any] = {}
    shape = spelled(letters, tag_format, found)
    for outer, think_apart in around.items():
        for inner, choice in turns.items():
            if shape == outer.format(inner):
                return choice, think_apart, found
    raise UnlikeError


def tag(begin: Any, content: Any, end: Any) -> dict[str, Any]:
    """Return the pattern of a content between two constants."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def sequence(*elements: Any) -> dict[str, Any]:
    """Return the pattern of elements one after the other."""
    return {"type": "sequence", "elements": list(elements)}


def const(value: Any) -> dict[str, Any]:
    """Return the pattern of a constant."""
    return {"type": "const_string", "value": value}


def calls(pattern: Any) -> dict[str, Any]:
    """Return the pattern of one call or more; whether there is one at most is recorded."""
    return {
        "type": "tags_with_separator",
        "tags": Hole("tools", each(pattern)),
        "separator": "",
        "at_least_one": True,
        "stop_after_first": Hole("only_one", among(True, False)),
    }


def text_format(node: Any) -> dict[str, Any]:
    """Read a format of text as `enforcer.request.response_format.parse` takes it."""
    for kind, key in (("json_schema", "json_schema"), ("regex", "pattern"), ("grammar", "grammar")):
        with suppress(UnlikeError):
            source = values({"type": kind, key: Hole("source")}, node)["source"]
            return {"type": kind, kind: {"schema": source} if kind == "json_schema" else source}
    texts = Hole("texts", each(const(Hole("text"))))
    found = values({"type": "or", "elements": texts}, node)["texts"]
    return {"type": "choice", "choice": [one["text"] for one in found]}
