"""The structural tags that vLLM's front ends build for Kimi K2's format."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.spec import Spec
from enforcer.vllm.native import tags
from enforcer.vllm.native.tags import PATH, NativeTurn, UnlikeError

if TYPE_CHECKING:
    from enforcer.turn.dialect import Dialect

# The roles of a dialect whose calls look like Kimi K2's.
CALL = ("section_begin", "call_begin", "arguments_begin", "call_end", "section_end")
THINK = ("think_begin", "think_end")


def markers(dialect: Dialect) -> tuple[str, ...]:
    """Return the markers of calls, if they look like Kimi K2's; else none."""
    if any(role not in dialect.markers for role in (*CALL, *THINK)):
        return ()
    return tuple(name for role in CALL for name in dialect.markers[role])


def turn(data: Any, dialect: Dialect) -> NativeTurn:
    """Read a whole tag.

    Raises:
        UnlikeError: it has another shape.
        InvalidTools: a name or schema in it is not what a chat request carries.

    """
    m = SimpleNamespace()  # its attributes are values in a `match` statement
    m.begin, m.call, m.arguments, m.call_end, m.end, m.think, m.think_end = (
        dialect.markers[role][0] for role in (*CALL, *THINK)
    )
    m.never = [m.think, m.think_end, m.call]
    m.index, m.text = ("regex", r"\d+"), ("any_text", [], None, None)
    thinks = ("tag", "", m.text, m.think_end), ("optional", ("tag", m.think, m.text, m.think_end))

    def tool(node: Any) -> tuple[str, Any]:
        match node:
            case ("tag", str(header), ("sequence", [m.index, m.arguments, schema]), m.call_end):
                # Only the index is missing from the header.
                parts = dialect.header_parts(header.removeprefix(m.call) + "0")
                if parts is not None and header.startswith(m.call):
                    return parts[0], tags.schema(schema)
        raise UnlikeError

    found, think_apart, wanted = tags.read(data), False, None
    match found:
        case ("sequence", [think, rest]) if think in thinks:
            found, think_apart = rest, True
    match found:  # text and calls; calls, or a text that has a format; calls alone
        case ("triggered_tags", [m.begin], [("tag", m.begin, calls, m.end)], False, most, m.never):
            choice = "auto"
            if not calls or calls[-1] is not most:
                raise UnlikeError
        case ("or", [("sequence", [m.begin, calls, m.end]), node]):
            choice, wanted = "auto", tags.text_format(node)
        case ("sequence", [m.begin, calls, m.end]):
            choice = "required"
        case _:
            raise UnlikeError
    called, only_one = tags.calls(calls, tool)
    declared = [_declared(name, schema) for name, schema in called]
    toolset = tools_.parse(declared, choice, not only_one)
    free = tuple(name for name, schema in called if schema is True)
    return NativeTurn(Spec(toolset, 0, formats.parse(wanted)), think_apart, free)


def _declared(name: str, schema: Any) -> dict[str, Any]:
    if "." in name:
        raise InvalidTools(
            PATH,
            f"vLLM's Rust front end reports calls to {name!r} as calls to "
            f"{name.rpartition('.')[2]!r}: rename the tool, or serve with the parser "
            "kimi_k2_enforced",
        )
    return {"function": {"name": name, "parameters": None if schema is True else schema}}
