"""Structural tags as tuples, which a `match` statement compares whole.

A format becomes its kind and the values of its fields, in the order of `_FIELDS`; a constant
becomes its text. One that has other fields becomes the empty tuple, which matches nothing: a tag
that differs anywhere has another meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from enforcer.request.spec import Spec

_T = TypeVar("_T")

PATH = "$.structured_outputs.structural_tag"
# By xgrammar 0.2.8, which both tested versions of vLLM install.
_FIELDS = {
    "regex": ("pattern",),
    "grammar": ("grammar",),
    "json_schema": ("json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"),
    "any_text": ("excludes", "max_tokens", "max_chars"),
    "sequence": ("elements",),
    "or": ("elements",),
    "optional": ("content",),
    "tag": ("begin", "content", "end"),
    "tags_with_separator": ("tags", "separator", "at_least_one", "stop_after_first"),
    "triggered_tags": ("triggers", "tags", "at_least_one", "stop_after_first", "excludes"),
}
_NESTED = {"content", "elements", "tags"}


class UnlikeError(Exception):
    """The tag has another shape."""


class NativeTurn(NamedTuple):
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


def read(tag: Any) -> Any:
    """Return the format of a structural tag as tuples.

    Raises:
        UnlikeError: it is none.

    """
    match tag:
        case {"type": "structural_tag", "format": node, **rest} if not rest:
            return _as_tuples(node)
    raise UnlikeError


def _as_tuples(node: Any) -> Any:
    """Return a node as nested tuples; the empty tuple if it has other fields."""
    match node:
        case list():
            return [_as_tuples(each) for each in node]
        case {"type": "const_string", "value": str(text), **rest} if not rest:
            return text
        case {"type": str(kind), **given} if kind in _FIELDS and given.keys() == {*_FIELDS[kind]}:
            parts = ((given[name], name in _NESTED) for name in _FIELDS[kind])
            return kind, *(_as_tuples(part) if nested else part for part, nested in parts)
    return ()


def schema(node: Any) -> Any:
    """Return the schema of a JSON text without restrictions of xgrammar's.

    Raises:
        UnlikeError: it is another format.

    """
    match node:
        case ("json_schema", found, "json", False, None, []):
            return found
    raise UnlikeError


def calls(node: Any, tool: Callable[[Any], _T]) -> tuple[list[_T], bool]:
    """Read the tags of calls.

    Args:
        node: the format of one call or more.
        tool: reads the tag of a call.

    Returns:
        Each call that may be made, and whether there is one at most.

    Raises:
        UnlikeError: it is another format.

    """
    match node:
        case ("tags_with_separator", [_, *_] as several, "", True, bool(only_one)):
            return [tool(each) for each in several], only_one
    return [tool(node)], True


def text_format(node: Any) -> dict[str, Any]:
    """Read a format of text as `enforcer.request.response_format.parse` takes it.

    Raises:
        UnlikeError: it is another format.

    """
    match node:
        case ("regex" | "grammar" as kind, source):
            return {"type": kind, kind: source}
        case ("or", [*parts]) if all(isinstance(part, str) for part in parts):
            return {"type": "choice", "choice": parts}
    return {"type": "json_schema", "json_schema": {"schema": schema(node)}}
