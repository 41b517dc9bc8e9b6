"""Paths into the body that the client sent, for errors in what vLLM or we made of it.

Owns: the tools that vLLM shows the model for a request, in Chat Completions' form, and the
way from a path in that form to the path in the client's body. Must not know: what is wrong
there, how a spec is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

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
_LONGEST = 100  # characters of a prefix that is moved; that of the ten thousandth tool has 35


@dataclass(frozen=True, slots=True)
class Places:
    """Where parts of the body are that the client sent.

    Attributes:
        moved: prefixes of paths, and what stands for each; the longest that fits counts.
        dialog: what the prompt was made of; None where the client sent the prompt itself.

    """

    moved: Mapping[str, str] = field(default_factory=dict)
    dialog: str | None = None

    def of(self, path: str) -> str:
        """Give the path in the client's body."""
        if self.dialog is not None and path.startswith(_PROMPT):
            return self.dialog
        # Not one prefix after the other: there are some for each tool, as there may be paths.
        for end in range(min(len(path), _LONGEST), 0, -1):
            if end == len(path) or path[end] in ".[ ":
                new = self.moved.get(path[:end])
                if new is not None:
                    return new + path[end:]
        return path


@dataclass(frozen=True, slots=True)
class Shown:
    """A tool that the model is shown.

    Attributes:
        tool: in Chat Completions' form.
        at: where it is declared.
        of_message: whether a message declares it, in that form whatever the route.

    """

    tool: Any
    at: str
    of_message: bool = False


def to_chat_completion_request(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `AnthropicServingMessages.to_chat_completion_request`, to know what it was made of."""

    def _to_chat_completion_request(cls: Any, sent: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(cls, sent, *args, **kwargs)
        carry_spec(sent, made)
        notes(made).messages_body = sent
        return made

    return _to_chat_completion_request


def from_cohere(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `CohereServingChatV2.to_chat_completion_request`, to hand on a spec, and know of it."""

    def _to_chat_completion_request(self: Any, sent: Any) -> Any:
        made = original(self, sent)
        carry_spec(sent, made)
        notes(made).is_of_cohere = True
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
        made.vllm_xargs = extra  # the logits processor's, which is refused


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
    sent = notes(request).messages_body
    if sent is None:
        listed = [Shown(plain(tool), f"$.tools[{at}]") for at, tool in enumerate(own)]
    else:
        at_name = {tool.name: f"$.tools[{at}]" for at, tool in enumerate(sent.tools or ())}
        # What is not in the list, a message has added.
        listed = [Shown(plain(tool), at_name.get(tool.function.name, "$.messages")) for tool in own]
    return [*listed, *within]


def plain(value: Any) -> Any:
    """Give what vLLM has read of a body as JSON's values."""
    return value.model_dump() if hasattr(value, "model_dump") else value


def drop_think_budget(request: Any) -> None:
    """Leave out the budget that /v1/messages sets for a think, in place.

    There `thinking.budget_tokens` is a target, which agents send with every request. What vLLM
    makes of it ends a think after our mask, even inside a call, and so is refused elsewhere.
    """
    if notes(request).messages_body is not None:
        request.thinking_token_budget = None


def _flat(tool: Any, at: str) -> Iterator[Shown]:
    """Give what a tool of the Responses API is shown as, as vLLM's template has it."""
    inner = getattr(tool, "tools", None) if getattr(tool, "type", "") == "namespace" else None
    if inner is None:
        places = [at]
    else:
        places = [f"{at}.tools[{n}]" for n, one in enumerate(inner) if one.type == "function"]
    # A tool that is not shown gives no function.
    for function, place in zip(get_function_tools([tool]), places, strict=False):
        fields = {key: value for key, value in function.model_dump().items() if key != "type"}
        yield Shown({"type": "function", "function": fields}, place)


def places(request: Any, tools: Sequence[Shown], choice: Any) -> Places:
    """Say where the client wrote what a spec says.

    Args:
        request: a chat or a Responses request.
        tools: what the model is shown.
        choice: the tool choice as the request carries it.

    """
    sent = notes(request).messages_body
    if isinstance(request, ResponsesRequest):
        moved = [pair for at, one in enumerate(tools) for pair in _moved(at, one, "parameters")]
        moved += _moved_choice(choice)
        has_format = request.text is not None and request.text.format is not None
        own = "$.text.format.schema" if has_format else None
    elif sent is not None:
        moved = [pair for at, one in enumerate(tools) for pair in _moved(at, one, "input_schema")]
        moved.append((f"{_CHOICE}.function", _CHOICE))
        own = "$.output_config.format.schema" if request.response_format is not None else None
    else:
        moved = [(f"$.tools[{at}]", one.at) for at, one in enumerate(tools)]
        has_format = getattr(request.response_format, "type", "text") != "text"
        own = f"{_FORMAT}.json_schema" if has_format else None
        if own is not None and not notes(request).is_of_cohere:
            own += ".schema"
    moved.append((f"{_FORMAT}.json_schema.schema", own or "$.structured_outputs.json"))
    if own is None:
        moved.append((_FORMAT, "$.structured_outputs"))
    moved.append((_MOST, _most(request)))
    dialog = "$.input" if isinstance(request, ResponsesRequest) else "$.messages"
    return Places(dict(moved), dialog)


def _most(request: Any) -> str:
    """Say which field has the most ids that a reply may have."""
    if isinstance(request, ResponsesRequest):
        return "$.max_output_tokens"
    counts = getattr(request, "max_completion_tokens", None) is not None
    own = notes(request).messages_body is not None or notes(request).is_of_cohere
    return "$.max_completion_tokens" if counts and not own else _MOST


def _moved(at: int, one: Shown, parameters: str) -> Iterator[tuple[str, str]]:
    old = f"$.tools[{at}]"
    if not one.of_message:
        yield f"{old}.function.parameters", f"{one.at}.{parameters}"
        yield f"{old}.function", one.at
    yield old, one.at


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
