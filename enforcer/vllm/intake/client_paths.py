"""Paths into the body that the client sent, for errors in what vLLM or we made of it.

A spec and its errors have the form of Chat Completions. The bodies of /v1/responses, /v1/messages
and Cohere's route declare tools, the choice and the text's format elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.utils import get_function_tools

from enforcer.request import carrier
from enforcer.vllm.server.remembered import notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FORMAT = "$.response_format"
_CHOICE = "$.tool_choice"
_PROMPT = "$.prompt_token_ids"
_MOST = "$.max_tokens"
_TOOL = re.compile(r"\$\.tools\[(\d{1,9})\](?:\.function(\.parameters)?(?![^.\[ ]))?")


@dataclass(frozen=True, slots=True)
class Shown:
    """A tool that the model is shown.

    Attributes:
        tool: in Chat Completions' form; of one that no message declares, what a spec says of it.
        at: where it is declared.
        of_message: whether a message declares it, in that form whatever the route.

    """

    tool: Any
    at: str
    of_message: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """The client's own path of each part of a spec.

    Attributes:
        tools: the tools that the model is shown.
        schema: the key of a tool's schema; empty where the client's tools have the spec's form.
        dialog: the field that the prompt is made of.
        moved: prefixes of other paths, the longest first, with the prefix in the client's body.

    """

    tools: Sequence[Shown]
    schema: str
    dialog: str
    moved: tuple[tuple[str, str], ...]

    def of(self, path: str) -> str:
        """Return the path in the client's body."""
        if path.startswith(_PROMPT):
            return self.dialog
        found = _TOOL.match(path)
        if found and int(found[1]) < len(self.tools):
            one = self.tools[int(found[1])]
            if one.of_message or not self.schema:
                return one.at + path[path.index("]") + 1 :]
            return one.at + (f".{self.schema}" if found[2] else "") + path[found.end() :]
        for old, new in self.moved:
            if path.startswith(old) and path[len(old) :][:1] in ("", ".", "[", " "):
                return new + path[len(old) :]
        return path


def to_chat_completion_request(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function of /v1/messages, or Cohere's route, that makes a chat request of a body.

    It hands on a spec, and notes what the chat request was made of.
    """

    def _to_chat_completion_request(self: Any, sent: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, sent, *args, **kwargs)
        carry_spec(sent, made)
        notes(made).body = sent
        return made

    return _to_chat_completion_request


def keep_unknown(body: Any) -> None:
    """Let a model of bodies keep the fields that it does not know, as those of other routes do.

    Those of /v1/messages and Cohere's route have no `structured_outputs`: a spec there would be
    dropped, and the client would take what nothing enforces for enforced.
    """
    body.model_config = body.model_config | {"extra": "allow"}
    body.model_rebuild(force=True)


def carry_spec(sent: Any, made: Any) -> None:
    """Hand the spec of a body of another route on to the chat request that is made of it.

    Constraints of vLLM's own, which it does not read there, stay unread.
    """
    unknown = getattr(sent, "model_extra", None) or {}
    own, extra = unknown.get("structured_outputs"), unknown.get("vllm_xargs")
    tag = own.get("structural_tag") if isinstance(own, Mapping) else None
    if carrier.from_structural_tag(tag) is not None:
        made.structured_outputs = StructuredOutputsParams(structural_tag=tag)
    if carrier.from_extra(extra) is not None:
        made.vllm_xargs = extra  # the logits processor's, which is rejected


def shown(request: Any, within: Sequence[Shown] = ()) -> list[Shown]:
    """List the tools that vLLM shows the model for a request.

    Those of the Responses API that are no functions (`web_search` and its like) are not shown,
    so that they cannot be called; of a namespace, each function is.

    Args:
        request: a chat or a Responses request.
        within: tools that its messages declare, which are the last of `request.tools`.

    """
    tools = list(request.tools or ())
    own = tools[: len(tools) - len(within)]
    if isinstance(request, ResponsesRequest):
        flat = (_flat(tool, f"$.tools[{at}]") for at, tool in enumerate(own))
        return [*chain.from_iterable(flat), *within]
    places = [f"$.tools[{at}]" for at in range(len(own))]
    if sent := _messages_body(request):
        at_name = {tool.name: f"$.tools[{at}]" for at, tool in enumerate(sent.tools or ())}
        # A tool that is not in the list is declared by a message.
        places = [at_name.get(tool.function.name, "$.messages") for tool in own]
    return [*map(Shown, map(_said, own), places), *within]


def _said(tool: Any) -> dict[str, Any]:
    """Return what a spec says of a tool; dumping the whole of a hundred takes milliseconds."""
    function = {"name": tool.function.name, "parameters": tool.function.parameters}
    return {"type": tool.type, "function": function}


def plain(value: Any) -> Any:
    """Return a part of a body that vLLM has read as JSON's values."""
    return value.model_dump() if hasattr(value, "model_dump") else value


def _messages_body(request: Any) -> Any:
    """Return the body of /v1/messages that a chat request was made of; None if there is none."""
    body = notes(request).body
    return body if isinstance(body, AnthropicMessagesRequest) else None


def drop_think_budget(request: Any) -> None:
    """Leave out the reasoning budget that /v1/messages sets, in place.

    There `thinking.budget_tokens` is a target, which agents send with every request. vLLM would
    end the reasoning by it after our mask, even inside a call, so that it is rejected elsewhere.
    """
    if _messages_body(request) is not None:
        request.thinking_token_budget = None


def _flat(tool: Any, at: str) -> Iterator[Shown]:
    """Yield the functions that a tool of the Responses API is shown as by vLLM's template."""
    inner = getattr(tool, "tools", None) if getattr(tool, "type", "") == "namespace" else None
    places = [at]
    if inner is not None:
        places = [f"{at}.tools[{n}]" for n, one in enumerate(inner) if one.type == "function"]
    # A tool that is not shown has no function.
    for function, place in zip(get_function_tools([tool]), places, strict=False):
        fields = {"name": function.name, "parameters": function.parameters}
        yield Shown({"type": "function", "function": fields}, place)


def places(request: Any, tools: Sequence[Shown], choice: Any) -> Places:
    """Return the client's places of the parts of a spec.

    Args:
        request: a chat or a Responses request, before the spec takes the place of its format.
        tools: the tools that the model is shown.
        choice: the tool choice as the request carries it.

    """
    most, dialog, schema, own = _MOST, "$.messages", "", None
    if isinstance(request, ResponsesRequest):
        most, dialog, schema = "$.max_output_tokens", "$.input", "parameters"
        if request.text is not None and request.text.format is not None:
            own = "$.text.format.schema"
    elif _messages_body(request):
        schema = "input_schema"
        own = request.response_format and "$.output_config.format.schema"
    else:
        is_of_cohere = notes(request).body is not None
        if getattr(request, "max_completion_tokens", None) is not None and not is_of_cohere:
            most = "$.max_completion_tokens"
        if getattr(request.response_format, "type", "text") != "text":
            own = f"{_FORMAT}.json_schema" + ("" if is_of_cohere else ".schema")
    moved = list(_moved_choice(choice)) if schema else []
    moved.append((f"{_FORMAT}.json_schema.schema", own or "$.structured_outputs.json"))
    if own is None:
        moved.append((_FORMAT, "$.structured_outputs"))
    return Places(tools, schema, dialog, (*moved, (_MOST, most)))


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
