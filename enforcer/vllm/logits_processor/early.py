"""ASGI middleware that rejects requests early on a server with the logits processor alone.

vLLM asks a logits processor about a request only when it generates, which is after HTTP 200 where
the reply streams, and it drops a spec in another field for a constraint of its own. So this reads
the bodies that carry a spec (https://asgi.readthedocs.io), and compares each with its spec.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMError

from enforcer.errors import brief
from enforcer.request import carrier, spec_text
from enforcer.request.carrier import Carried
from enforcer.request.tools import ToolChoice, as_text, is_same
from enforcer.vllm.intake import admission, checks, sampling_options, settling
from enforcer.vllm.intake.rejections import answered, option_rejection
from enforcer.vllm.logits_processor import processor as logits_processor
from enforcer.vllm.observe import request_context
from enforcer.vllm.server import pacing, reply_lengths
from enforcer.vllm.server.bodies import RequestMiddleware

if TYPE_CHECKING:
    from enforcer.request.spec import Spec

_TOOLS = "$.tools"
# Of `structured_outputs`, beside options.
_CONSTRAINTS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
_DIALOGS = {"messages", "input"}  # fields of a body whose reply vLLM's parser reads
_TOKENS = "/inference/v1/generate"  # sampling parameters in a field of their own
_COHERE = "/cohere/v2/chat"
_DROPS = f"on {_COHERE} vLLM drops what `enforcer.extra_body` builds: use /v1/chat/completions"
_ENTRY = "vllm.entrypoints"
_CHAT = f"{_ENTRY}.openai.chat_completion.protocol:ChatCompletionRequest"
# All routes of vLLM that generate, by itself or with an option, with the class of their bodies. A
# batch hands its fields on to chat requests; a body of `/invocations` can be a completion as well.
_ROUTES = {
    "/v1/chat/completions": _CHAT,
    "/v1/chat/completions/batch": _CHAT,
    "/v1/completions": f"{_ENTRY}.openai.completion.protocol:CompletionRequest",
    "/v1/responses": f"{_ENTRY}.openai.responses.protocol:ResponsesRequest",
    "/invocations": _CHAT,
    "/v1/messages": f"{_ENTRY}.anthropic.protocol:AnthropicMessagesRequest",
    _TOKENS: "vllm.sampling_params:SamplingParams",
    _COHERE: f"{_ENTRY}.cohere.protocol:CohereChatV2Request",
}


class RefuseEarly(RequestMiddleware):
    """Answers requests that the logits processor would reject with HTTP 400, streamed or not."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        super().__init__(partial(_checked, app))


async def _checked(
    app: Callable[..., Awaitable[None]], scope: Any, receive: Any, send: Any
) -> None:
    """Serve a request; its error is raised where its route reads the body."""
    from fastapi import (
        HTTPException,
    )  # only the API server needs it; workers import this module too

    pending: Iterator[Any] | None = None

    async def reading() -> Any:
        nonlocal pending
        if pending is None:
            came = [await receive()]
            while came[-1].get("more_body"):
                came.append(await receive())
            try:
                await _check(b"".join(message.get("body", b"") for message in came), scope)
            except VLLMError as error:  # FastAPI hands on its own alone
                status = getattr(error, "http_status", HTTPStatus.BAD_REQUEST)
                raise HTTPException(status, str(error)) from error
            pending = iter(came)
        return next(pending, None) or await receive()

    is_concerned = scope.get("method") == "POST" and scope["path"].endswith(tuple(_ROUTES))
    await app(scope, reading if is_concerned else receive, send)


async def _check(raw: bytes, scope: Any) -> None:
    """Reject a body with a spec that cannot be served.

    Raises:
        VLLMValidationError: it cannot be enforced, or allows more than the rest of its request.
        GracefulHTTPError: there is no room to check it.

    """
    config = getattr(getattr(scope.get("app"), "state", None), "vllm_config", None)
    if config is not None:  # the plugin learns of it when vLLM's application is made
        reply_lengths.meet(config)
    body: Any = None
    with suppress(ValueError, RecursionError):
        body = json.loads(raw) if carrier.may_be_in(raw) else None
    if not isinstance(body, dict):
        return
    request_context.begin(body.get("request_id"))
    more = {}
    if scope["path"].endswith(_TOKENS):  # its sampling parameters, named as other bodies have them
        more = {"kv_transfer_params": body.get("kv_transfer_params")}
        own = body.get("sampling_params")
        body = own | {"vllm_xargs": own.get("extra_args")} if isinstance(own, dict) else {}
    own, extra = body.get("structured_outputs"), body.get("vllm_xargs")
    tag = own.get("structural_tag") if isinstance(own, dict) else None
    if scope["path"].endswith(_COHERE) and (
        carrier.from_structural_tag(tag) is not None or carrier.from_extra(extra) is not None
    ):
        raise option_rejection("vllm_xargs", _DROPS)
    logits_processor.reject_other_route(tag)
    if not isinstance(extra, dict) or extra.get(carrier.KEY) is None:
        return
    text = logits_processor.spec_text(extra)
    await pacing.turn(len(text))
    spec = settling.admit(Carried(text), where=logits_processor.WHERE).spec
    await pacing.turn(len(text))
    body = _declared(body, scope["path"]) | more
    with answered():
        _reject_another(spec_text.read(text), body)
    with suppress(TypeError, AttributeError):  # a field of a type that vLLM rejects
        sent = SimpleNamespace(**body)
        sampling_options.reject_forcing(sent, spec, sent)
        sampling_options.reject_stops(sent, spec)
    await pacing.turn(len(text))
    with answered():
        settling.log_inexact(await checks.run_async(checks.schemas(spec)))


def _declared(body: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the fields of a body that the class of its route declares; vLLM ignores others."""
    of = resolve_name(next(name for route, name in _ROUTES.items() if path.endswith(route)))
    known = getattr(of, "model_fields", ()) or of.__struct_fields__
    return {name: value for name, value in body.items() if name in known}


def _reject_another(spec: Spec, body: dict[str, Any]) -> None:
    """Reject a spec that allows more than the rest of its request, or other text.

    vLLM's parser reports every call that it reads. A constraint of vLLM's own masks beside the
    spec: where no token is left, the engine fails.

    Raises:
        VLLMValidationError: it does.
        InvalidTools: a schema of the request's cannot be written.

    """
    constraint, wanted = body.get("structured_outputs"), body.get("response_format")
    if isinstance(constraint, dict) and any(
        constraint.get(kind) is not None for kind in _CONSTRAINTS
    ):
        admission.reject_constraint("structured_outputs")
    is_free = not isinstance(wanted, dict) or wanted.get("type") in (None, "text")
    if body.keys().isdisjoint(_DIALOGS):  # nobody reads the reply of a completion for calls
        if not is_free:
            admission.reject_constraint("response_format")
        return
    if not isinstance(body.get("tools"), list | None):
        return  # vLLM rejects it
    allowed, declared = spec.toolset.allowed, dict(_schemas(body.get("tools")))
    for message in _objects(body.get("messages")):
        declared |= _schemas(message.get("tools"))  # Kimi's API allows them in system messages
    choice, named = _choice(body.get("tool_choice"))
    for name in allowed:
        if name not in declared or choice == "none":
            raise _another(f"calls of {brief(name)}, which `tools` and `tool_choice` do not")
        schema = declared[name]
        own = spec.toolset.tools[name].schema
        if isinstance(schema, dict) and not is_same(as_text(schema, _TOOLS), own):
            raise _another(f"other arguments of {brief(name)} than `tools` declares")
    may_not = spec.toolset.choice is not ToolChoice.REQUIRED or (named and allowed != (named,))
    if choice == "required" and may_not:
        raise _another("what `tool_choice` does not")
    if spec.response_format is None and not is_free:
        raise _another("text that is not in the `response_format`")


def _another(what: str) -> VLLMError:
    return option_rejection(
        f"vllm_xargs.{carrier.KEY}",
        f"the spec allows {what}: give `enforcer.extra_body` what the request itself says",
    )


def _objects(found: Any) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _schemas(tools: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and schemas of the tools that a body declares, in the form of any route."""
    for tool in _objects(tools):
        own = tool["function"] if isinstance(tool.get("function"), dict) else tool
        if isinstance(own.get("name"), str):
            yield own["name"], own.get("parameters", own.get("input_schema"))
        yield from _schemas(tool.get("tools"))


def _choice(choice: Any) -> tuple[Any, Any]:
    """Return the mode of a body's `tool_choice` and the tool that it names, in any route's form."""
    if not isinstance(choice, dict):
        return choice, None
    kind = choice.get("type")
    within = choice.get(str(kind))  # the form of Chat Completions
    own = within if isinstance(within, dict) else choice
    if kind in ("function", "tool"):
        return "required", own.get("name")
    return {"allowed_tools": own.get("mode"), "any": "required"}.get(str(kind), kind), None
