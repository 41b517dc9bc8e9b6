"""Tools that messages declare (`messages[].tools`), as Kimi's API lets system messages.

Owns: which messages may, where such a tool stands in the client's body, making it one of the
request's own tools, and what of a tool no template is given. Must not know: schemas, how a spec is
written, masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from openai.types.responses import FunctionTool
from pydantic import ValidationError
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

from enforcer.errors import InvalidTools
from enforcer.vllm.intake.client_paths import Shown
from enforcer.vllm.server.remembered import notes

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROLES = ("system", "developer")
_NONE = "none"


def materialised(message: Any) -> Any:
    """Copy a message; pydantic reads some lists into iterators that run once."""
    if hasattr(message, "model_dump"):
        message = message.model_dump(exclude_none=True)
    if not isinstance(message, Mapping):
        return message
    keys = ("tool_calls", "tools") if _may_declare(message) else ("tool_calls",)
    listed = {
        key: list(value)
        for key in keys
        if isinstance(value := message.get(key), Iterable)
        and not isinstance(value, str | bytes | Mapping)
    }
    if isinstance(message, dict):
        message.update(listed)  # whoever reads the request's own message next
    return {**message, **listed}


def _may_declare(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") in _ROLES


def _declares(message: Any) -> bool:
    return _may_declare(message) and message.get("tools") is not None


def without_strict(tools: Any) -> Any:
    """Copy a list of tools without `strict`; None stays None.

    Every tool is enforced, so that the field would only cost tokens of the prompt (vllm#52741).
    """
    return tools and [
        {**tool, "function": {k: v for k, v in tool["function"].items() if k != "strict"}}
        for tool in tools
    ]


def without_strict_within(dialog: Sequence[Any]) -> list[Any]:
    """Copy a dialog without the `strict` of the tools that its messages declare."""
    return [
        {**message, "tools": without_strict(message["tools"])} if _declares(message) else message
        for message in dialog
    ]


def declared(request: Any, dialog: Sequence[Any]) -> tuple[Shown, ...]:
    """Gather the tools that a dialog's messages declare; those of other roles declare none.

    Args:
        request: whose dialog it is.
        dialog: its messages, `materialised`.

    Raises:
        InvalidTools: what one declares is no list of tools; leads there in the client's body.

    """
    found = []
    for message, place in _placed(request, dialog):
        tools = message["tools"]
        if not isinstance(tools, list):
            raise InvalidTools(f"{place}.tools", "it must be a list of tools")
        for n, tool in enumerate(tools):
            at = f"{place}.tools[{n}]"
            _parsed(tool, at)
            found.append(Shown(tool, at, of_message=True))
    return tuple(found)


def _placed(request: Any, dialog: Sequence[Any]) -> list[tuple[Any, str]]:
    """Give the messages that declare tools, and where each stands in the body."""
    declaring = [(at, message) for at, message in enumerate(dialog) if _declares(message)]
    if not isinstance(request, ResponsesRequest):
        return [(message, f"$.messages[{at}]") for at, message in declaring]
    # vLLM makes other messages of them; what it remembers of earlier ones comes first.
    sent = request.input if isinstance(request.input, list) else ()
    own = [f"$.input[{at}]" for at, item in enumerate(sent) if _declares(item)]
    earlier = ["$.previous_response_id"] * (len(declaring) - len(own))
    return [(message, place) for (_, message), place in zip(declaring, earlier + own, strict=False)]


def _parsed(tool: Any, at: str) -> ChatCompletionToolsParam:
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


def adopt(request: Any, within: Sequence[Shown]) -> None:
    """Add tools that messages declare to the request's own, in place, behind them.

    vLLM takes a request without `tools` for one that makes no calls. A request for which this was
    asked is prepared, even if no message declares any.
    """
    notes(request).is_prepared = True
    if not within:
        return
    added = [_parsed(one.tool, one.at) for one in within]
    if not request.tools and _leaves_choice(request):
        request.tool_choice = "auto"
    flat = isinstance(request, ResponsesRequest)
    request.tools = [*(request.tools or ()), *(map(_flat, added) if flat else added)]


def is_prepared(request: Any) -> bool:
    """Tell whether a request has been prepared here, for an engine to reply to.

    One that comes with a reply (`/derender`) has not: that is whatever somebody has sent.
    """
    return notes(request).is_prepared


def prepared(request: Any) -> Any:
    """Give a request as it was prepared, here or on another server, without changing it.

    Raises:
        InvalidTools: as `declared` does.

    """
    messages = getattr(request, "messages", None)
    if is_prepared(request) or not messages:
        return request
    copy = request.model_copy()
    adopt(copy, declared(copy, [materialised(message) for message in messages]))
    return copy


def _leaves_choice(request: Any) -> bool:
    """Tell whether a request without tools of its own leaves it to the model whether to call."""
    if isinstance(request, ResponsesRequest):
        # vLLM writes it there by itself, over `auto` too, and takes no demand without `tools`.
        return bool(request.tool_choice == _NONE)
    return "tool_choice" not in request.model_fields_set


def _flat(tool: ChatCompletionToolsParam) -> FunctionTool:
    """Give a tool as the Responses API has it."""
    function = tool.function
    return FunctionTool(
        type="function",
        name=function.name,
        description=function.description,
        parameters=function.parameters,
        strict=function.strict,
    )
