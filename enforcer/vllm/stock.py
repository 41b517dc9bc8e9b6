"""The structural tags that vLLM's own front ends build, read back as a spec.

Owns: the shapes that vLLM 0.32 and 0.33 send to the engine for a Kimi K2 model, and what
each means: its Python registry under `--tool-strict-level`, and its Rust front end, where no
plugin sees the request. Must not know: vLLM's code, how a spec is enforced.

A shape is matched whole: every key is one that is known, every value one that is expected.
A tag that calls by the dialect's markers in any other shape is refused. Left to vLLM it
would promise what it does not hold: there, the markers' ids pass for text inside a JSON
string, and a call to an undeclared tool can be written so.

What a tag does not tell: tools that may not be called, the dialog's messages, `strict`. A
tool whose arguments it leaves free (`json_schema` is true below level `parameter`, null from
the Rust front end where no `parameters` are declared) gets an object, as everywhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools, UnknownTag
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.turn import rendered
from enforcer.vllm.readable import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.dialect import Dialect
    from enforcer.turn.envelope import Table

_PATH = "$.structured_outputs.structural_tag"
# The roles of a dialect whose calls look like Kimi K2's.
_CALL = ("section_begin", "call_begin", "arguments_begin", "call_end", "section_end")
_THINK = ("think_begin", "think_end")
_READERS = 8  # two for each model that one process may serve

# What a format means without these keys; the shapes below name those that may differ.
_ABSENT: dict[str, dict[str, Any]] = {
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


class _UnlikeError(Exception):
    """The tag has another shape."""


class FrontEnd(Enum):
    """Who built a tag, as far as it shows in the tag and matters to its replies."""

    THINK_APART = "the Rust front end, which splits the think off as text"
    OTHER = "the Python one, or the Rust one without a reasoning parser"


@dataclass(frozen=True, slots=True)
class Stock:
    """What a structural tag of vLLM's own amounts to."""

    spec: Spec
    front_end: FrontEnd


def concerns(tag: object, dialect: Dialect) -> bool:
    """Tell whether a structural tag spells a marker of the dialect's calls.

    Cheap, and without effect on other models' tags: nothing of the dialect is needed to say no.
    """
    return isinstance(tag, str) and any(marker in tag for marker in _markers(dialect))


def recognise(tag: str, table: Table, prompt_ids: Sequence[int] | None) -> Stock:
    """Read a structural tag of vLLM's own.

    Its schemas are unchecked, since no front end of ours has seen them.

    Args:
        tag: `structured_outputs.structural_tag` that concerns the dialect and carries no spec.
        table: the dialect, bound to the served model's vocabulary.
        prompt_ids: the rendered prompt, for the dialog's counter; None stands for a dialog
            without calls.

    Raises:
        UnknownTag: it has another shape.
        InvalidTools: a name or schema in it is not what a chat request carries.

    """
    found = read(tag, table.dialect)
    first = rendered.count_calls(table, prompt_ids or ())
    return replace(found, spec=replace(found.spec, first_index=first))


def read(tag: str, dialect: Dialect) -> Stock:
    """Do the same but for the dialog's counter, which is 0; depends on nothing else."""
    try:
        return _Reader(dialect).turn(json.loads(tag))
    except (_UnlikeError, ValueError, RecursionError):
        raise UnknownTag(
            _PATH,
            "it spells the markers of tool calls, but not in a shape that vLLM's own front ends "
            "build, and so cannot be enforced: send the tools themselves, or what "
            "`enforcer.extra_body` builds of them",
        ) from None


@lru_cache(_READERS)
def reader(table: Table, front_end: FrontEnd) -> Reader:
    """Give what keeps a turn readable for the parser that a front end has."""
    dialect = table.dialect
    thinks = front_end is FrontEnd.THINK_APART
    roles = (*_CALL, *_THINK) if thinks else _CALL
    markers = [name for role in roles for name in dialect.markers[role]]
    return Reader(table, markers, closed_think=thinks)


def _markers(dialect: Dialect) -> tuple[str, ...]:
    if any(role not in dialect.markers for role in (*_CALL, *_THINK)):
        return ()
    return tuple(name for role in _CALL for name in dialect.markers[role])


def _take(node: Any, kind: str, *names: str) -> list[Any]:
    """Take a format of one kind apart; what is not asked for must be as if it were absent."""
    if not isinstance(node, dict) or node.get("type") != kind:
        raise _UnlikeError
    absent = _ABSENT.get(kind, {})
    found = {**absent, **node}
    if found.keys() != {"type", *names, *absent}:
        raise _UnlikeError
    for key, value in absent.items():
        if key not in names:
            _expect(found[key], value)
    return [found[name] for name in names]


def _expect(value: Any, expected: Any) -> None:
    # By their text, since 1 and true are equal in Python.
    if json.dumps(value) != json.dumps(expected):
        raise _UnlikeError


def _items(value: Any, count: int | None = None) -> list[Any]:
    if not isinstance(value, list) or not value or (count is not None and len(value) != count):
        raise _UnlikeError
    return value


class _Reader:
    """The shapes, in one dialect's markers."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        first = {role: names[0] for role, names in dialect.markers.items()}
        self._begin, self._call, self._arguments, self._call_end, self._end = (
            first[role] for role in _CALL
        )
        self._think, self._think_end = (first[role] for role in _THINK)

    def turn(self, data: Any) -> Stock:
        """Read a whole tag."""
        (node,) = _take(data, "structural_tag", "format")
        try:
            think, rest = _items(_take(node, "sequence", "elements")[0], 2)
            self._read_think(think)
        except _UnlikeError:
            return Stock(self._body(node), FrontEnd.OTHER)
        return Stock(self._body(rest), FrontEnd.THINK_APART)

    def _read_think(self, node: Any) -> None:
        """Expect the rest of a think, or one that may be left out.

        Where the turn starts, the matcher reads from the prompt.
        """
        begin = ""
        if isinstance(node, dict) and node.get("type") == "optional":
            (node,) = _take(node, "optional", "content")
            begin = self._think
        opened, content, closed = _take(node, "tag", "begin", "content", "end")
        _expect([opened, closed], [begin, self._think_end])
        _take(content, "any_text")

    def _body(self, node: Any) -> Spec:
        """Read what follows the think."""
        kind = node.get("type") if isinstance(node, dict) else None
        if kind == "triggered_tags":
            return self._auto(node)
        if kind == "or":  # with a format for the text: calls that fit, or such a text
            calls, answer = _items(_take(node, "or", "elements")[0], 2)
            tools, only_one = self._list(self._section(calls))
            toolset = tools_.parse(tools, "auto", not only_one)
            return Spec(toolset, 0, formats.parse(self._answer(answer)))
        calls = self._section(node)
        if isinstance(calls, dict) and calls.get("type") == "tag":  # a named function
            return Spec(tools_.parse([self._tool(calls)], "required", False), 0)
        tools, only_one = self._list(calls)
        return Spec(tools_.parse(tools, "required", not only_one), 0)

    def _auto(self, node: Any) -> Spec:
        triggers, tags, once, excludes = _take(
            node, "triggered_tags", "triggers", "tags", "stop_after_first", "excludes"
        )
        _expect(triggers, [self._begin])
        _expect(excludes, [self._think, self._think_end, self._call])
        (section,) = _items(tags, 1)
        begin, calls, end = _take(section, "tag", "begin", "content", "end")
        _expect([begin, end], [self._begin, self._end])
        tools, only_one = self._list(calls)
        _expect(once, only_one)
        return Spec(tools_.parse(tools, "auto", not only_one), 0)

    def _section(self, node: Any) -> Any:
        """Give what a section holds whose markers stand around it as constants."""
        begin, calls, end = _items(_take(node, "sequence", "elements")[0], 3)
        for found, expected in ((begin, self._begin), (end, self._end)):
            _expect(_take(found, "const_string", "value"), [expected])
        return calls

    def _list(self, node: Any) -> tuple[list[dict[str, Any]], bool]:
        """Give the tools of a list of calls, and whether it ends after one."""
        tags, separator, at_least_one, only_one = _take(
            node, "tags_with_separator", "tags", "separator", "at_least_one", "stop_after_first"
        )
        _expect([separator, at_least_one], ["", True])
        if not isinstance(only_one, bool):
            raise _UnlikeError
        return [self._tool(tag) for tag in _items(tags)], only_one

    def _tool(self, node: Any) -> dict[str, Any]:
        begin, content, end = _take(node, "tag", "begin", "content", "end")
        _expect(end, self._call_end)
        index, middle, arguments = _items(_take(content, "sequence", "elements")[0], 3)
        _expect(_take(index, "regex", "pattern"), [r"\d+"])
        _expect(_take(middle, "const_string", "value"), [self._arguments])
        (schema,) = _take(arguments, "json_schema", "json_schema")
        name = self._name(begin)
        if "." in name:
            raise InvalidTools(
                _PATH,
                f"vLLM's Rust front end reports calls to {name!r} as calls to "
                f"{name.rpartition('.')[2]!r}: rename the tool, or serve with the parser "
                "kimi_k2_enforced",
            )
        function: dict[str, Any] = {"name": name}
        if schema is not True and schema is not None:
            function["parameters"] = schema
        return {"type": "function", "function": function}

    def _name(self, begin: Any) -> str:
        if not isinstance(begin, str) or not begin.startswith(self._call):
            raise _UnlikeError
        # Only the index is missing from the header.
        parts = self._dialect.header_parts(begin.removeprefix(self._call) + "0")
        if parts is None:
            raise _UnlikeError
        return parts[0]

    @staticmethod
    def _answer(node: Any) -> dict[str, Any]:
        """Read a format of text, as `response_format` and `structured_outputs` make it."""
        kind = node.get("type") if isinstance(node, dict) else None
        if kind == "json_schema":
            (schema,) = _take(node, "json_schema", "json_schema")
            return {"type": "json_schema", "json_schema": {"schema": schema}}
        if kind == "regex":
            return {"type": "regex", "regex": _take(node, "regex", "pattern")[0]}
        if kind == "grammar":
            return {"type": "grammar", "grammar": _take(node, "grammar", "grammar")[0]}
        (choices,) = _take(node, "or", "elements")
        texts = [_take(choice, "const_string", "value")[0] for choice in _items(choices)]
        return {"type": "choice", "choice": texts}
