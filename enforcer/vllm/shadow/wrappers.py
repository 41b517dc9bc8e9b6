"""Wrappers around vLLM's functions in shadow mode; none changes a request that it lets in."""

from __future__ import annotations

from typing import Any

from enforcer.request import carrier
from enforcer.vllm.intake import startup
from enforcer.vllm.intake.rejections import option_rejection
from enforcer.vllm.server import runtime, served_model

_NO_SPEC = (
    "this server enforces nothing (ENFORCER_SHADOW=on), so that it refuses requests that bring a "
    "spec of `enforcer.extra_body`: leave the spec out"
)


def compose_parser(
    original: Any, cls: Any, tool_parser_name: str | None, *args: Any, **kwargs: Any
) -> Any:
    """Wrap `ParserManager._compose_parser`, before which no API server is healthy."""
    served_model.tell(tool_parser_name)
    served_model.refuse_in_shadow(tool_parser_name)
    tokenizer = kwargs.get("tokenizer")
    if tokenizer is not None:
        runtime.warm(tokenizer)
    startup.say(tool_parser_name, (runtime.dialect_for(tokenizer).name,))
    return original(cls, tool_parser_name, *args, **kwargs)


def reject_spec(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    """Wrap `SamplingParams._validate_structured_outputs`, which every route passes."""
    _reject(self)
    original(self, *args, **kwargs)


async def rendered(original: Any, self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    """Wrap what renders a request's prompt, before which no stream begins."""
    _reject(carrier.declared(request, "sampling_params") or request)
    return await original(self, request, *args, **kwargs)


def _reject(params: Any) -> None:
    """Reject a request, or sampling parameters, that bring a spec.

    Raises:
        VLLMValidationError: they do.

    """
    if carrier.find(params) is not None:
        raise option_rejection("structured_outputs", _NO_SPEC)
    if carrier.from_extra(carrier.extra_of(params)) is not None:
        raise option_rejection("vllm_xargs", _NO_SPEC)
