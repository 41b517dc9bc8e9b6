"""vLLM's request objects, read as a chat request.

Owns: the difference between `ChatCompletionRequest` (which `/v1/messages` becomes, too) and
`ResponsesRequest`; the dialog before it is rendered: its call ids are put into the format's form,
its calls counted. Must not know: masks, replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.exceptions import VLLMValidationError
from vllm.tool_parsers.utils import get_function_tools

from enforcer.errors import RequestError, brief
from enforcer.request import carrier, history, spec_text
from enforcer.request.tools import encoded, is_same
from enforcer.schema import OnUnsupported
from enforcer.vllm.config import settings
from enforcer.vllm.intake import client_paths, dialogs, sampling_options, settling
from enforcer.vllm.intake.rejections import answered, not_allowed, option_rejection, rejection
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.server import runtime
from enforcer.vllm.server.side_table import notes

if TYPE_CHECKING:
    from enforcer.request.spec import Spec
    from enforcer.request.spec_text import Wire
    from enforcer.vllm.intake.dialogs import DialogTool
    from enforcer.vllm.intake.settling import AdmittedSpec


_SUPERSETS = ("isolate", "relax")
# A number without a finite value, in MessagePack. No text has these bytes in UTF-8; where other
# numbers do, more is looked at than need be.
_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")


async def preprocess_chat(
    original: Any,
    ours: Callable[[Any, Any], Any],
    self: Any,
    request: Any,
    messages: list[Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Wrap `OnlineRenderer.preprocess_chat`, through which every chat-like route goes.

    Args:
        original: what is wrapped.
        ours: gives our parser's class for the server's and a request; None where vLLM's own
            prepares it.

    """
    # `/tokenize` hands no parser on: it shows the prompt alone.
    parser = ours(kwargs.get("parser", getattr(self, "parser", None)), request)
    if parser is not None:
        if "parser" in kwargs:
            kwargs["parser"] = parser
        with answered():
            dialog = [dialogs.materialised(message) for message in messages]
            known = notes(request)
            known.within = dialogs.declared(request, dialog)
            known.json = _json(_said(request, known.within))
            known.calls = history.count_calls(_rendered(request, dialog))
            dialect = runtime.dialect_for(self.renderer.tokenizer)
            messages = dialogs.normalised_ids(dialog, dialect)
            messages = dialogs.for_renderer(self.renderer, messages)
        messages = dialogs.without_strict_within(messages)
        if "tool_dicts" in kwargs:
            kwargs["tool_dicts"] = dialogs.without_strict(kwargs["tool_dicts"])
    return await original(self, request, messages, *args, **kwargs)


def _rendered(request: Any, dialog: list[Any]) -> list[Any]:
    """Return the messages whose calls the prompt has.

    A final message that is continued ends with its content: calls behind it are cut.
    """
    if not (dialog and isinstance(dialog[-1], Mapping) and dialog[-1].get("tool_calls")):
        return dialog
    continued = request.build_chat_params(None, "auto").chat_template_kwargs
    return dialog[:-1] if continued.get("continue_final_message") else dialog


def take_in(request: Any, tokenizer: Any) -> AdmittedSpec | None:
    """Serialize and settle the spec of a request whose dialog has been rendered in this task.

    Do not put it into the request: `admission.enter` does. Remove a spec that the client attached.

    Returns:
        The spec as this server admits it; None if the client switched enforcement off, and may.

    Raises:
        VLLMValidationError: the request cannot be enforced.
        GracefulHTTPError: an engine of this server has no plugin.

    """
    try:
        wire = write_spec(request)
        if wire is None:
            return None
        intake = settling.settle(wire, tokenizer)
    except RequestError as error:
        said = _said(request, notes(request).within)
        request_context.change(tools=[tool["function"]["name"] for tool in said])
        raise rejection(error) from error
    notes(request).declared = intake.spec.toolset.tools
    return intake


def write_spec(request: Any) -> Wire | None:
    """Write what a request says; None where the client switched enforcement off, and may.

    Raises:
        InvalidTools: a part of the request is not JSON.
        VLLMValidationError: an option does not go with enforcement.

    """
    if carrier.declared(request, "use_beam_search"):
        sampling_options.reject_beam_search()
    switched = _switched(request)
    if "off" in switched:
        metrics.switched_off(request=request_context.told()["request"])
        return None
    brought = _brought(request)
    known = notes(request)
    choice = client_paths.plain(request.tool_choice)
    wanted = _response_format(request)
    client_path = client_paths.client_path(request, known.within, choice)
    request_context.change(client_path=client_path)
    if isinstance(request, ResponsesRequest):
        choice = _nested(choice)
    on_unsupported = next((OnUnsupported(word) for word in _SUPERSETS if word in switched), None)
    finish: bool | None = "finish" in switched or None
    closed = next((word == "closed" for word in ("open", "closed") if word in switched), None)
    if brought is not None:
        on_unsupported = on_unsupported or brought.on_unsupported
        finish = finish if finish is not None else brought.finish_within_budget
        closed = closed if closed is not None else brought.closed_objects
    tools = known.json or encoded(_said(request, known.within))
    wire = spec_text.wire(
        msgspec.Raw(tools),
        choice,
        request.parallel_tool_calls,
        known.calls,
        wanted,
        on_unsupported=on_unsupported,
        finish_within_budget=finish,
        closed_objects=closed,
    )
    if brought is not None:
        _reject_another(brought, wire.spec())
    return wire


def _said(request: Any, within: Sequence[DialogTool]) -> list[dict[str, Any]]:
    """Return name and parameters of each tool that the model is shown, as JSON values."""
    own = client_paths.own_tools(request, within)
    if isinstance(request, ResponsesRequest):
        own = get_function_tools(own)
    functions = map(_function, (*own, *(one.tool for one in within)))
    return [
        {"type": "function", "function": {"name": each.name, "parameters": each.parameters}}
        for each in functions
    ]


def _function(tool: Any) -> Any:
    """Return the function of a tool, which is the tool itself in the Responses API."""
    return carrier.declared(tool, "function") or tool


def _json(said: list[dict[str, Any]]) -> bytes | None:
    """Write tools in a tenth of the time that `encoded` takes; None if they are not JSON.

    vLLM read them from JSON. All that JSON does not have and Python's parser reads is NaN, infinity
    and half a surrogate pair. msgspec writes the former as null: where a text has none, it is JSON.
    """
    # MessagePack has no integers of more than 64 bits.
    with suppress(UnicodeEncodeError, RecursionError, OverflowError):
        text = msgspec.json.encode(said)
        if b"null" not in text or not _NOT_FINITE.search(msgspec.msgpack.encode(said)):
            return text
    return None


def _brought(request: Any) -> Spec | None:
    """Remove the spec that the client attached and return it; None if there is none."""
    carried = carrier.find(request)
    if carried is None:
        return None
    with answered():
        brought = spec_text.read(carried.checked())
    request.structured_outputs = None
    return brought


def _reject_another(brought: Spec, mine: Spec) -> None:
    """Reject a spec that allows something else than the request that brings it says."""
    for what in _differences(brought, mine):
        raise option_rejection(
            "structured_outputs",
            f"the spec of `enforcer.extra_body` has another {what} than the request: give it what "
            "the request itself says",
        )


def _differences(brought: Spec, mine: Spec) -> Iterator[str]:
    theirs, own = brought.toolset, mine.toolset
    for name in theirs.tools | own.tools:
        one, other = theirs.tools.get(name), own.tools.get(name)
        if one is None or other is None or not is_same(one.schema, other.schema):
            yield f"tool {brief(name)}"
    for field, said, meant in (
        ("tool_choice", (theirs.choice, {*theirs.allowed}), (own.choice, {*own.allowed})),
        ("parallel_tool_calls", theirs.parallel, own.parallel),
        ("response_format", brought.response_format, mine.response_format),
    ):
        if said != meant:
            yield f"`{field}`"


def _switched(request: Any) -> frozenset[str]:
    """Read `{"vllm_xargs": {"enforcer": WORDS}}`, where the operator allows them.

    WORDS are some of `off`, `relax`, `isolate`, `finish`, `closed`, `open`, as a list or with
    commas between.
    """
    value = (request.vllm_xargs or {}).get(carrier.KEY, "")
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
        listed = [brief(value)]
    words = frozenset(filter(None, (word.strip() for word in listed)))
    allowed = settings.current().allow_client
    if refused := sorted(words - allowed):
        raise not_allowed("vllm_xargs", f"`vllm_xargs.{carrier.KEY}` to {brief(refused[0])}")
    return words


def _response_format(request: Any) -> dict[str, Any] | None:
    """Return the request's own constraint on its text in the form of a `response_format`."""
    own = request.extract_structured_outputs()
    if own is None:
        return None
    if own.structural_tag is not None:
        raise option_rejection(
            "structured_outputs",
            "this server enforces tool calls itself: `structural_tag` in `structured_outputs` "
            "cannot be combined with that; leave it out",
        )
    if own.json_object:
        return {"type": "json_object"}
    if own.json is not None:
        try:
            schema = json.loads(own.json) if isinstance(own.json, str) else own.json
        except (ValueError, RecursionError) as error:
            raise VLLMValidationError(f"structured_outputs.json is not JSON: {error}") from error
        return {"type": "json_schema", "json_schema": {"schema": schema}}
    for kind in ("regex", "choice", "grammar"):
        if (value := getattr(own, kind)) is not None:
            return {"type": kind, kind: value}
    return None


def _nested(choice: Any) -> Any:
    """Return a `tool_choice` of the Responses API, or a tool in it, in Chat Completions' form."""
    match choice:
        case {"type": "allowed_tools"}:
            listed = [_nested(tool) for _, tool in client_paths.allowed(choice)]
            mode = {"mode": choice.get("mode"), "tools": listed}
            return {"type": "allowed_tools", "allowed_tools": mode}
        case {"type": "function" | "custom"}:
            return {"type": "function", "function": {"name": choice.get("name")}}
    return choice


def callable_tools(request: Any) -> tuple[Collection[str], Callable[[str], Any]]:
    """Return the tools that a reply to a request may call, and what returns their parameters.

    Raises:
        VLLMValidationError: a message declares what is no tool, in a request that comes with its
            reply.

    """
    declared = notes(request).declared
    if declared is None:
        with answered():
            request = dialogs.prepared(request)
    if request.tool_choice == "none":
        return (), lambda _: None
    if declared is not None:
        return declared, lambda name: json.loads(declared[name].schema)
    listed = map(_function, get_function_tools(request.tools or ()))
    functions = {str(each.name): each.parameters for each in listed}
    return functions, functions.get


def own_up(request: Any) -> None:
    """Set `tool_choice` from `required` to `auto`, so that vLLM reports the true finish reason.

    Where a call is demanded, vLLM reports `tool_calls` for whatever ended by itself or by a
    stop string, whether there is a call in it or not; else it looks.
    """
    if not isinstance(request, ResponsesRequest) and request.tool_choice == "required":
        request.tool_choice = "auto"
        notes(request).demanded_call = True


def demands_call(request: Any) -> bool:
    """Return whether a request demands a call, also after `own_up`."""
    if notes(request).demanded_call:
        return True
    choice = client_paths.plain(request.tool_choice)
    if isinstance(choice, Mapping) and choice.get("type") == "allowed_tools":
        choice = choice.get("mode")
    return choice not in (None, "auto", "none")
