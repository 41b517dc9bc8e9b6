"""What is refused before generation begins, as HTTP 400.

Owns: checking, in the API server and on vLLM's worker threads, a request that
carries a spec, whatever route it came by: the spec itself, and the sampling options
that could leave no id legal. Must not know: parsers, the engine process.
"""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from enforcer import spec as specs
from enforcer.errors import RequestError
from enforcer.vllm import metrics, runtime, settings
from enforcer.vllm.requests import option_refusal, refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from enforcer.spec import Spec

# The backend of vLLM's that reads a structural tag; whichever the server has for others.
_READS_OUR_TAG = SimpleNamespace(backend="xgrammar")


def validate_structured_outputs(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `SamplingParams._validate_structured_outputs`, which every route passes."""

    def _validate_structured_outputs(
        self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any
    ) -> None:
        wanted = self.structured_outputs
        text = specs.from_structural_tag(wanted.structural_tag) if wanted else None
        if text is not None:
            metrics.enforced(_checked(self, text).toolset.choice)
            structured_outputs_config = _READS_OUR_TAG
        original(self, model_config, structured_outputs_config, tokenizer)

    return _validate_structured_outputs


def rendered(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap what renders a request's prompt, to check the request right after.

    vLLM validates a streamed request only once it has begun to answer with HTTP 200. The
    check runs on a worker thread; a large schema must not hold up the event loop.
    """

    async def _rendered(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        result = await original(self, request, *args, **kwargs)
        own = getattr(request, "structured_outputs", None)
        text = specs.from_structural_tag(own.structural_tag) if own else None
        if text is not None:
            await asyncio.to_thread(_checked, request, text)
        return result

    return _rendered


def _checked(params: Any, text: str) -> Spec:
    """Check a spec and the sampling options beside it; what has passed is remembered."""
    try:
        runtime.check(text)
    except RequestError as error:
        raise refusal(error) from error
    spec = runtime.read(text)
    _refuse_override(spec)
    refuse_sampling(params, spec)
    return spec


def beam_search_params(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a request's `to_beam_search_params`, which drops `structured_outputs`."""

    def to_beam_search_params(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = self.structured_outputs
        if own is not None and specs.from_structural_tag(own.structural_tag) is not None:
            raise option_refusal(
                "use_beam_search", "beam search cannot be enforced: leave out `use_beam_search`"
            )
        return original(self, *args, **kwargs)

    return to_beam_search_params


def _refuse_override(spec: Spec) -> None:
    wanted = spec.on_unsupported
    if wanted is not None and wanted.value not in {"refuse", *settings.current().allowed()}:
        raise option_refusal(
            "on_unsupported",
            "this server does not let a request relax schemas: leave out `on_unsupported`",
        )


def refuse_sampling(params: Any, spec: Spec) -> None:
    """Refuse options that take ids away after our mask: none might be left.

    Raises:
        VLLMValidationError: the request has such an option.

    """
    if getattr(params, "thinking_token_budget", None) is not None:
        raise option_refusal(
            "thinking_token_budget",
            "`thinking_token_budget` makes vLLM write the end of the think after our mask, even "
            "into a call that began inside the think: leave it out",
        )
    for name in ("allowed_token_ids", "bad_words"):
        if getattr(params, name, None):
            raise option_refusal(
                name, f"`{name}` could forbid what an enforced reply must have: leave it out"
            )
    if any(
        not math.isfinite(bias) for bias in (getattr(params, "logit_bias", None) or {}).values()
    ):
        raise option_refusal(
            "logit_bias",
            "an infinite `logit_bias` could forbid what an enforced reply must have: use a "
            "finite one",
        )
    if getattr(params, "min_tokens", 0) and (
        spec.toolset.allowed or spec.response_format is not None
    ):
        raise option_refusal(
            "min_tokens",
            "`min_tokens` forbids the end of the turn, which is all that may follow calls or a "
            "complete formatted text: leave it out, or send no tools",
        )
