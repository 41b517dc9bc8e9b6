"""A request's messages before they are rendered: the tools that they declare, and their call ids.

Kimi's API lets system messages declare tools (`messages[].tools`). They become tools of the
request. All its tools are rendered without `strict`. For Kimi K3, vLLM drops the `tools` of system
messages, and the tokenizer's encoder drops the `tools` of developer messages. So a message with
tools has the role `developer` for vLLM and `system` for the encoder, also if the client sent it as
`developer`.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import string
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from openai.types.responses import FunctionTool
from pydantic import ValidationError
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.renderers.kimi_k3 import KimiK3Renderer

from enforcer.errors import InvalidTools
from enforcer.request import carrier, history
from enforcer.turn.dialect import Dialect, Ids
from enforcer.vllm.server.side_table import notes

if TYPE_CHECKING:
    from enforcer.request.history import PastCall

# Call ids of mistral-common's form, which its templates demand.
_CHARACTERS = string.ascii_letters + string.digits
_LENGTH = 9
_ALPHANUMERIC = re.compile(rf"[a-zA-Z0-9]{{{_LENGTH}}}")
_KEPT, _RENDERED = "developer", "system"  # roles of declarations, in vLLM and in K3's encoder
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
        message.update(listed)  # the request's own message is read again
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
    """Return the tools that a dialog's messages declare; messages of other roles declare none.

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
    # vLLM makes messages from these items; messages of earlier responses come first.
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


def new_call_id(ids: Ids) -> str:
    """Return a new id for a call in whose format calls have no ids."""
    if ids is Ids.RANDOM9:
        return "".join(random.choices(_CHARACTERS, k=_LENGTH))  # noqa: S311 - no secret
    return f"chatcmpl-tool-{uuid.uuid4().hex}"


def normalised_ids(dialog: list[Any], dialect: Dialect) -> list[Any]:
    """Return a dialog's messages with call ids that the format's template can render.

    Raises:
        InvalidTools: `dialog` is not a list of message objects.

    """
    id_of = _RULES.get(dialect.ids)
    return dialog if id_of is None else history.normalise(dialog, partial(id_of, dialect))


def _written(dialect: Dialect, call: PastCall) -> str | None:
    # A call without a name has no id in the format's form; it keeps its own.
    return None if call.name is None else dialect.header_text(call.name, call.index)


def _of_message(_: Dialect, call: PastCall) -> str | None:
    """Return an id by which a renderer can pair results; it does not reach the prompt."""
    return None if call.name is None else f"{call.name}:{call.position}"


def _alphanumeric(_: Dialect, call: PastCall) -> str:
    if isinstance(call.id, str) and _ALPHANUMERIC.fullmatch(call.id):
        return call.id
    # The same id at each turn of a dialog, so that the prefix cache fits its prompt.
    known = json.dumps([str(call.id), call.name, call.index]).encode()
    digest = hashlib.sha256(known).digest()[:_LENGTH]
    return "".join(_CHARACTERS[byte % len(_CHARACTERS)] for byte in digest)


# `Ids.RANDOM` has no rule: templates of these formats take any id.
_RULES = {Ids.WRITTEN: _written, Ids.MESSAGE: _of_message, Ids.RANDOM9: _alphanumeric}


def for_renderer(renderer: Any, messages: list[Any]) -> list[Any]:
    """Return messages in which vLLM keeps the declarations, for a renderer that can show them."""
    if not isinstance(renderer, KimiK3Renderer):
        return messages
    return [_moved(message, _RENDERED, _KEPT) for message in messages]


class DeclaringRenderer(KimiK3Renderer):  # type: ignore[misc]
    """vLLM's renderer, replaced by one that shows declarations moved by `for_renderer`."""

    def _apply_chat_template(self, conversation: list[Any], params: Any) -> Any:
        moved = [_moved(each, _KEPT, _RENDERED) for each in conversation]
        return super()._apply_chat_template(moved, params)


def _moved(message: Any, role: str, to: str) -> Any:
    declares = isinstance(message, Mapping) and message.get("tools")
    return {**message, "role": to} if declares and message.get("role") == role else message
