"""Paths into the body that the client sent, for errors in the chat request made from it.

A spec and its errors have the form of Chat Completions, whereas the bodies of /v1/responses and
/v1/messages declare tools, tool choice and response format elsewhere. An error's path takes four
steps:

1. `enforcer.request.tools` or a schema raises the error, with a path into its own part;
2. `checks` puts the tool's path before a schema's;
3. `requests.write_spec` makes the function `client_path` of each request and sets it in the
   `ContextVar` of `observe/request_context`;
4. `rejections` applies it when it writes the 400.

This module also copies a spec from the bodies of other routes into their chat request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.utils import get_function_tools

from enforcer.request import carrier
from enforcer.vllm.server.side_table import notes

if TYPE_CHECKING:
    from enforcer.vllm.intake.dialogs import DialogTool

_FORMAT = "$.response_format"
_CHOICE = "$.tool_choice"
_PROMPT = "$.prompt_token_ids"
_MOST = "$.max_tokens"


def to_chat_completion_request(
    original: Any, self: Any, sent: Any, *args: Any, **kwargs: Any
) -> Any:
    """Wrap the function of /v1/messages, or Cohere's route, that makes a chat request from a body.

    Copies the body's spec, and notes a body of the Messages API, whose paths differ.
    """
    made = original(self, sent, *args, **kwargs)
    carry_spec(sent, made)
    if isinstance(sent, AnthropicMessagesRequest):
        notes(made).body = sent
    return made


def keep_unknown(body: Any) -> None:
    """Let a Pydantic class of bodies keep unknown fields, as the classes of other routes do.

    The bodies of /v1/messages and Cohere's route have no `structured_outputs`: a spec in them would
    be dropped, and the client would take an unenforced reply for an enforced one.
    """
    body.model_config = body.model_config | {"extra": "allow"}
    body.model_rebuild(force=True)


def carry_spec(sent: Any, made: Any) -> None:
    """Copy the spec in the body of another route to the chat request that is made from it.

    vLLM's own constraints are not copied: it does not read them on these routes.
    """
    unknown = sent.model_extra or {}
    own, extra = unknown.get("structured_outputs"), unknown.get("vllm_xargs")
    tag = own.get("structural_tag") if isinstance(own, Mapping) else None
    if carrier.from_structural_tag(tag) is not None:
        made.structured_outputs = StructuredOutputsParams(structural_tag=tag)
    if carrier.from_extra(extra) is not None:
        made.vllm_xargs = extra  # the logits processor's, which is rejected


def own_tools(request: Any, within: Sequence[DialogTool]) -> list[Any]:
    """Return a request's own tools.

    Once the request is prepared, its messages' tools are the last of its tools; leave them out.
    """
    tools = list(carrier.declared(request, "tools") or ())  # structured decisions have none
    return tools[: len(tools) - len(within)] if notes(request).is_prepared else tools


def plain(value: Any) -> Any:
    """Return `value.model_dump()` of a Pydantic model, any other value unchanged."""
    return value.model_dump() if hasattr(value, "model_dump") else value


def drop_think_budget(request: Any) -> None:
    """Leave out the reasoning budget that /v1/messages sets, in place.

    There `thinking.budget_tokens` is a target, which agents send with every request. vLLM would
    end the reasoning by it after our mask, even inside a call, so that it is rejected elsewhere.
    """
    if notes(request).body is not None:
        request.thinking_token_budget = None


def client_path(request: Any, within: Sequence[DialogTool], choice: Any) -> Callable[[str], str]:
    """Return the function from a path in a spec to the path in the client's body.

    Args:
        request: a chat or a Responses request, before the spec takes the place of its format.
        within: tools that its messages declare.
        choice: the tool choice as the request carries it.

    """
    most, dialog, schema, own = _MOST, "$.messages", "", None
    if isinstance(request, ResponsesRequest):
        most, dialog, schema = "$.max_output_tokens", "$.input", "parameters"
        if request.text is not None and request.text.format is not None:
            own = "$.text.format.schema"
    elif notes(request).body:
        schema = "input_schema"
        own = request.response_format and "$.output_config.format.schema"
    else:
        if request.max_completion_tokens is not None:
            most = "$.max_completion_tokens"
        if getattr(request.response_format, "type", "text") != "text":
            own = f"{_FORMAT}.json_schema.schema"

    @cache  # computed only for a request with an error
    def moved() -> list[tuple[str, str]]:
        pairs = [*_moved_tools(request, within, schema), *(_moved_choice(choice) if schema else ())]
        pairs += [(f"{_FORMAT}.json_schema.schema", own or "$.structured_outputs.json")]
        pairs += [] if own else [(_FORMAT, "$.structured_outputs")]
        return [*pairs, (_MOST, most)]

    def _path(path: str) -> str:
        if path.startswith(_PROMPT):
            return dialog
        for old, new in moved():
            rest = path.removeprefix(old)
            if rest != path and rest[:1] in ("", ".", "[", " "):
                return new + rest
        return path

    return _path


def _moved_tools(
    request: Any, within: Sequence[DialogTool], schema: str
) -> Iterator[tuple[str, str]]:
    """Yield the paths of tools in a spec and in the client's body, the innermost first.

    Args:
        request: whose tools they are.
        within: the tools that its messages declare, in the form of Chat Completions.
        schema: the field with the parameters of all other tools if they are flat; else empty.

    """
    places = _tool_places(request, within)
    for at, place in enumerate(places):
        here = f"$.tools[{at}]"
        if schema and at < len(places) - len(within):
            yield f"{here}.function.parameters", f"{place}.{schema}"
            yield f"{here}.function", place
        yield here, place


def _tool_places(request: Any, within: Sequence[DialogTool]) -> list[str]:
    """Return where each tool that the model is shown is declared in the client's body.

    The model is not shown tools of the Responses API that are no functions, such as `web_search`,
    and cannot call them; it is shown each function of a namespace.
    """
    own = own_tools(request, within)
    places = [f"$.tools[{at}]" for at in range(len(own))]
    if isinstance(request, ResponsesRequest):
        places = [each for pair in zip(own, places, strict=True) for each in _flat_places(*pair)]
    elif sent := notes(request).body:
        at_name = {tool.name: f"$.tools[{at}]" for at, tool in enumerate(sent.tools or ())}
        # A tool that is not in the list is declared by a message.
        places = [at_name.get(tool.function.name, "$.messages") for tool in own]
    return [*places, *(one.at for one in within)]


def _flat_places(tool: Any, at: str) -> list[str]:
    """Return the places of the functions that vLLM shows for a tool of the Responses API."""
    if tool.type == "namespace":
        inner = enumerate(tool.tools)
        return [f"{at}.tools[{n}]" for n, one in inner if one.type == "function"]
    return [at] * len(get_function_tools([tool]))


def _moved_choice(choice: Any) -> Iterator[tuple[str, str]]:
    if isinstance(choice, Mapping) and choice.get("type") == "allowed_tools":
        for new, (at, _) in enumerate(allowed(choice)):
            yield f"{_CHOICE}.allowed_tools.tools[{new}].function", f"{_CHOICE}.tools[{at}]"
        yield f"{_CHOICE}.allowed_tools", _CHOICE
    yield f"{_CHOICE}.function", _CHOICE


def allowed(choice: Mapping[str, Any]) -> list[tuple[int, Any]]:
    """List the tools of a Responses request's `allowed_tools` that can be shown at all."""
    return [
        (at, tool)
        for at, tool in enumerate(choice.get("tools") or ())
        if not isinstance(tool, Mapping) or tool.get("type") in ("function", "custom")
    ]
