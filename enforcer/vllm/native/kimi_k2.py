"""The structural tags that vLLM's front ends build for Kimi K2's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.vllm.native import patterns
from enforcer.vllm.native.patterns import PATH, Hole, Stock, UnlikeError

if TYPE_CHECKING:
    from enforcer.turn.dialect import Dialect

# The roles of a dialect whose calls look like Kimi K2's.
CALL = ("section_begin", "call_begin", "arguments_begin", "call_end", "section_end")
THINK = ("think_begin", "think_end")
# K is the rest of a think, O one that may be left out.
_AROUND = {"{}": False, "(K {})": True, "(O? {})": True}
# A turn behind its think: B and E are the section's markers, L is a list of calls, C the call of a
# named function, X a text that has a format, A text and calls. Each with its `tool_choice`.
_TURNS = {"A": "auto", "((B L E)|X)": "auto", "(B L E)": "required", "(B C E)": "required"}


def markers(dialect: Dialect) -> tuple[str, ...]:
    """Return the markers of calls, if they look like Kimi K2's; else none."""
    if any(role not in dialect.markers for role in (*CALL, *THINK)):
        return ()
    return tuple(name for role in CALL for name in dialect.markers[role])


def _letters(dialect: Dialect) -> dict[str, Any]:
    begin, call, arguments, call_end, end, think, think_end = (
        dialect.markers[role][0] for role in (*CALL, *THINK)
    )

    def name(header: Any) -> str:
        # Only the index is missing from the header.
        own = header[len(call) :] if isinstance(header, str) and header.startswith(call) else None
        parts = None if own is None else dialect.header_parts(f"{own}0")
        if parts is None:
            raise UnlikeError
        return parts[0]

    schema = {"type": "json_schema", "json_schema": Hole("schema")}
    index = {"type": "regex", "pattern": r"\d+"}
    tool = patterns.tag(
        Hole("name", name), patterns.sequence(index, patterns.const(arguments), schema), call_end
    )
    text_and_calls = {
        "type": "triggered_tags",
        "triggers": [begin],
        "tags": [patterns.tag(begin, patterns.calls(tool), end)],
        "stop_after_first": Hole("only_one"),
        "excludes": [think, think_end, call],
    }
    return {
        "K": patterns.tag("", {"type": "any_text"}, think_end),
        "O": patterns.tag(think, {"type": "any_text"}, think_end),
        "A": text_and_calls,
        "B": patterns.const(begin),
        "E": patterns.const(end),
        "L": patterns.calls(tool),
        "C": tool,
        "X": Hole("text", patterns.text_format),
    }


def turn(data: Any, dialect: Dialect) -> Stock:
    """Read a whole tag.

    Raises:
        UnlikeError: it has another shape.
        InvalidTools: a name or schema in it is not what a chat request carries.

    """
    choice, think_apart, found = patterns.read(_letters(dialect), _AROUND, _TURNS, data)
    tools = [(tool["name"], tool["schema"]) for tool in found.get("tools", [found])]
    declared = [_tool(name, schema) for name, schema in tools]
    toolset = tools_.parse(declared, choice, not found.get("only_one", True))
    free = tuple(name for name, schema in tools if schema is True)
    return Stock(Spec(toolset, 0, formats.parse(found.get("text"))), think_apart, free)


def _tool(name: str, schema: Any) -> dict[str, Any]:
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
