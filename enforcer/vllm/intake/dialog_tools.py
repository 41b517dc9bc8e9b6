"""Tools that messages declare (`messages[].tools`), as Kimi's API lets system messages.

They become tools of the request. Its own, and those of messages, are rendered without `strict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from openai.types.responses import FunctionTool
from pydantic import ValidationError
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

from enforcer.errors import InvalidTools
from enforcer.request import carrier
from enforcer.vllm.server.side_table import notes

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROLES = ("system", "developer")


class DialogTool(NamedTuple):
    """A tool that a message declares.

    Attributes:
        tool: in Chat Completions' form, whatever the route.
        at: its path in the client's body.

    """

    tool: ChatCompletionToolsParam
    at: str


def materialised(message: Any) -> Any:
    """Copy a message; pydantic reads some lists into iterators that run once."""
    if hasattr(message, "model_dump"):
        message = message.model_dump(exclude_none=True)
    if not isinstance(message, Mapping):
        return message
    listed = {
        key: list(value)
        for key in ("tool_calls", "tools")
        if isinstance(value := message.get(key), Iterable)
        and not isinstance(value, str | bytes | Mapping)
    }
    if isinstance(message, dict):
        message.update(listed)  # for the next reader of the request's own message
    return {**message, **listed}


def _declares(message: Any) -> bool:
    is_entitled = isinstance(message, Mapping) and message.get("role") in _ROLES
    return is_entitled and message.get("tools") is not None


def without_strict(tools: Any) -> Any:
    """Return a list of tools without `strict`; None stays None.

    Every tool is enforced, so that the field would only cost tokens of the prompt (vllm#52741).
    """
    if not any("strict" in tool["function"] for tool in tools or ()):
        return tools
    return [
        {**tool, "function": {k: v for k, v in tool["function"].items() if k != "strict"}}
        for tool in tools
    ]


def without_strict_within(dialog: Sequence[Any]) -> list[Any]:
    """Copy a dialog without the `strict` of the tools that its messages declare."""
    return [
        {**message, "tools": without_strict(message["tools"])} if _declares(message) else message
        for message in dialog
    ]


def declared(request: Any, dialog: Sequence[Any]) -> tuple[DialogTool, ...]:
    """Return the tools that a dialog's messages declare; those of other roles declare none.

    Args:
        request: whose dialog it is.
        dialog: its messages, `materialised`.

    Raises:
        InvalidTools: a declaration is no list of tools; the path is that in the client's body.

    """
    found = []
    for message, place in _placed(request, dialog):
        if not isinstance(message["tools"], list):
            raise InvalidTools(f"{place}.tools", "it must be a list of tools")
        for n, tool in enumerate(message["tools"]):
            at = f"{place}.tools[{n}]"
            found.append(DialogTool(_parsed(tool, at), at))
    return tuple(found)


def _placed(request: Any, dialog: Sequence[Any]) -> list[tuple[Any, str]]:
    """Return the messages that declare tools, and the place of each in the body."""
    declaring = [(message, f"$.messages[{at}]") for at, message in enumerate(dialog)]
    declaring = [pair for pair in declaring if _declares(pair[0])]
    if not isinstance(request, ResponsesRequest):
        return declaring
    # vLLM makes other messages of them; those that it remembers of earlier ones come first.
    sent = request.input if isinstance(request.input, list) else ()
    own = [f"$.input[{at}]" for at, item in enumerate(sent) if _declares(item)]
    earlier = ["$.previous_response_id"] * (len(declaring) - len(own))
    return [(message, place) for (message, _), place in zip(declaring, earlier + own, strict=False)]


def _parsed(tool: object, at: str) -> ChatCompletionToolsParam:
    try:
        return ChatCompletionToolsParam.model_validate(tool)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        steps = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in first["loc"]]
        raise InvalidTools(
            at + "".join(steps),
            'not a tool as Chat Completions has it, which is {"type": "function", "function": …} '
            "with the function's `name`, `parameters` and `description`",
        ) from error


def adopt(request: Any) -> None:
    """Add tools that messages declare (`Notes.within`) to the request's own, in place, behind them.

    vLLM takes a request without `tools` for one that makes no calls. A request for which this was
    called is prepared, even if no message declares any.
    """
    notes(request).is_prepared = True
    if not (within := notes(request).within):
        return
    flat = isinstance(request, ResponsesRequest)
    # On /v1/responses vLLM writes "none" by itself where there are no tools, over `auto` too.
    if not request.tools and (
        request.tool_choice == "none" if flat else "tool_choice" not in request.model_fields_set
    ):
        request.tool_choice = "auto"
    added = [_flat(one.tool) if flat else one.tool for one in within]
    request.tools = [*(request.tools or ()), *added]


def prepared(request: Any) -> Any:
    """Return a request as it was prepared, here or on another server, without changing it.

    Raises:
        InvalidTools: as `declared` does.

    """
    messages = carrier.declared(request, "messages")
    if notes(request).is_prepared or not messages:
        return request
    copy = request.model_copy()
    notes(copy).within = declared(copy, [materialised(message) for message in messages])
    adopt(copy)
    return copy


def _flat(tool: ChatCompletionToolsParam) -> FunctionTool:
    """Return a tool as the Responses API has it."""
    own = tool.function.model_dump(include={"name", "description", "parameters", "strict"})
    return FunctionTool(type="function", **{"strict": None, "parameters": None, **own})
