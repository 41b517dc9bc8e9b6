"""The structural tags that vLLM's front ends build for Kimi K2's format, read back.

Owns: their shapes, and what each means. Must not know: vLLM's code, how a spec is enforced.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.vllm.native.stock_shapes import ABSENT, PATH, UnlikeError, answer, expect, items, take

if TYPE_CHECKING:
    from enforcer.turn.dialect import Dialect

# The roles of a dialect whose calls look like Kimi K2's.
CALL = ("section_begin", "call_begin", "arguments_begin", "call_end", "section_end")
THINK = ("think_begin", "think_end")


def markers(dialect: Dialect) -> tuple[str, ...]:
    """Give the markers of calls, if they look like Kimi K2's; else none."""
    if any(role not in dialect.markers for role in (*CALL, *THINK)):
        return ()
    return tuple(name for role in CALL for name in dialect.markers[role])


# What stands for arguments of which nothing is asked, where a tool's schema should stand.
_FREE: dict[str, Any] = {"type": "json_schema", "json_schema": True}


def _formats(content: Any) -> list[Any]:
    """List the formats that follow one another in what a tag holds, without what is absent."""
    parts = content.get("elements") if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return []
    absent = ABSENT["json_schema"]
    return [
        {key: value for key, value in part.items() if key not in absent}
        for part in parts
        if isinstance(part, dict)
    ]


class Reader:
    """The shapes, in one dialect's markers."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        first = {role: names[0] for role, names in dialect.markers.items()}
        self._begin, self._call, self._arguments, self._call_end, self._end = (
            first[role] for role in CALL
        )
        self._think, self._think_end = (first[role] for role in THINK)

    def turn(self, data: Any) -> tuple[Spec, bool]:
        """Read a whole tag.

        Returns:
            What it means, and whether it has the think apart.

        Raises:
            UnlikeError: it has another shape.
            InvalidTools: a name or schema in it is not what a chat request carries.

        """
        (node,) = take(data, "structural_tag", "format")
        try:
            think, rest = items(take(node, "sequence", "elements")[0], 2)
            self._read_think(think)
        except UnlikeError:
            return self._body(node), False
        return self._body(rest), True

    def left_free(self, data: Any) -> list[str]:
        """Name the tools of which any arguments will do, in a tag of any shape."""
        found: dict[str, None] = {}
        queue = [data]
        for node in queue:
            if isinstance(node, list):
                queue.extend(node)
            elif isinstance(node, dict):
                queue.extend(part for key, part in node.items() if key != "json_schema")
                if node.get("type") == "tag" and _FREE in _formats(node.get("content")):
                    with suppress(UnlikeError):
                        found[self._name(node.get("begin"))] = None
        return list(found)

    def _read_think(self, node: Any) -> None:
        """Expect the rest of a think, or one that may be left out.

        Where the turn starts, the matcher reads from the prompt.
        """
        begin = ""
        if isinstance(node, dict) and node.get("type") == "optional":
            (node,) = take(node, "optional", "content")
            begin = self._think
        opened, content, closed = take(node, "tag", "begin", "content", "end")
        expect([opened, closed], [begin, self._think_end])
        take(content, "any_text")

    def _body(self, node: Any) -> Spec:
        """Read what follows the think."""
        kind = node.get("type") if isinstance(node, dict) else None
        if kind == "triggered_tags":
            return self._auto(node)
        if kind == "or":  # with a format for the text: calls that fit, or such a text
            calls, text = items(take(node, "or", "elements")[0], 2)
            tools, only_one = self._list(self._section(calls))
            toolset = tools_.parse(tools, "auto", not only_one)
            return Spec(toolset, 0, formats.parse(answer(text)))
        calls = self._section(node)
        if isinstance(calls, dict) and calls.get("type") == "tag":  # a named function
            return Spec(tools_.parse([self._tool(calls)], "required", False), 0)
        tools, only_one = self._list(calls)
        return Spec(tools_.parse(tools, "required", not only_one), 0)

    def _auto(self, node: Any) -> Spec:
        triggers, tags, once, excludes = take(
            node, "triggered_tags", "triggers", "tags", "stop_after_first", "excludes"
        )
        expect(triggers, [self._begin])
        expect(excludes, [self._think, self._think_end, self._call])
        (section,) = items(tags, 1)
        begin, calls, end = take(section, "tag", "begin", "content", "end")
        expect([begin, end], [self._begin, self._end])
        tools, only_one = self._list(calls)
        expect(once, only_one)
        return Spec(tools_.parse(tools, "auto", not only_one), 0)

    def _section(self, node: Any) -> Any:
        """Give what a section holds whose markers stand around it as constants."""
        begin, calls, end = items(take(node, "sequence", "elements")[0], 3)
        for found, expected in ((begin, self._begin), (end, self._end)):
            expect(take(found, "const_string", "value"), [expected])
        return calls

    def _list(self, node: Any) -> tuple[list[dict[str, Any]], bool]:
        """Give the tools of a list of calls, and whether it ends after one."""
        tags, separator, at_least_one, only_one = take(
            node, "tags_with_separator", "tags", "separator", "at_least_one", "stop_after_first"
        )
        expect([separator, at_least_one], ["", True])
        if not isinstance(only_one, bool):
            raise UnlikeError
        return [self._tool(tag) for tag in items(tags)], only_one

    def _tool(self, node: Any) -> dict[str, Any]:
        begin, content, end = take(node, "tag", "begin", "content", "end")
        expect(end, self._call_end)
        index, middle, arguments = items(take(content, "sequence", "elements")[0], 3)
        expect(take(index, "regex", "pattern"), [r"\d+"])
        expect(take(middle, "const_string", "value"), [self._arguments])
        (schema,) = take(arguments, "json_schema", "json_schema")
        name = self._name(begin)
        if "." in name:
            raise InvalidTools(
                PATH,
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
            raise UnlikeError
        # Only the index is missing from the header.
        parts = self._dialect.header_parts(begin.removeprefix(self._call) + "0")
        if parts is None:
            raise UnlikeError
        return parts[0]
