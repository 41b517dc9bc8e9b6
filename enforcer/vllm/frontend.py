"""The doors by which vLLM takes requests in, and what is asked of one with a spec at each.

Owns: the wrappers around vLLM's functions in the API server (rendering, validating, adding), and
which check is made where, whatever route a request came by: before generation begins, as HTTP 400.
Must not know: what is refused, and why (that is `admission`), parsers, the engine process, how
schemas are checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vllm.entrypoints.openai.completion.protocol import CompletionRequest

from enforcer.request import carrier
from enforcer.vllm import (
    admission,
    bans,
    checks,
    metrics,
    pacing,
    request_context,
    required,
    runtime,
    settings,
    stops,
)
from enforcer.vllm.families import Relaxed
from enforcer.vllm.requests import most_ids, option_refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from enforcer.request.spec import Spec

# The backend of vLLM's that reads a structural tag; whichever the server has for others.
_READS_OUR_TAG = SimpleNamespace(backend="xgrammar")


def validate_structured_outputs(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `SamplingParams._validate_structured_outputs`, which every route passes."""

    def _validate_structured_outputs(
        self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any
    ) -> None:
        wanted = self.structured_outputs
        text = carrier.from_structural_tag(wanted.structural_tag) if wanted else None
        if text is not None:
            settled, spec = admission.admit(text, tokenizer)
            admission.refuse_sampling(self, spec)
            with admission.answered():
                inexact = checks.check(spec)
            _put(wanted, text, admission.isolated(settled, inexact))
            metrics.enforced(spec.toolset.choice)
            admission.count_inexact(inexact, Relaxed.RELAXED)
            admission.count_inexact(inexact, Relaxed.UNTIMED)
            structured_outputs_config = _READS_OUR_TAG
        original(self, model_config, structured_outputs_config, tokenizer)

    return _validate_structured_outputs


def rendered(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap what renders a request's prompt, to check the request right after.

    vLLM validates a streamed request only once it has begun to answer with HTTP 200.
    """

    async def _rendered(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        request_context.begin(request)
        request_context.completes(whether=isinstance(request, CompletionRequest))
        admission.refuse_unread_spec(getattr(request, "vllm_xargs", None), self.model_config)
        result = await original(self, request, *args, **kwargs)
        own = getattr(request, "structured_outputs", None)
        tag = own.structural_tag if own else None
        if isinstance(tag, str):
            await pacing.turn(len(tag))
        text = carrier.from_structural_tag(tag)
        if text is not None:
            settled, spec = admission.admit(text, self.renderer.tokenizer)
            admission.refuse_sampling(request, spec)
            await pacing.turn(len(text))
            with admission.answered():
                inexact = await checks.check_async(spec)
            settled = admission.isolated(settled, inexact)
            _put(own, text, settled)
            # A chat's dialog and its one prompt, or the prompts of a completion.
            prompts = result[1] if isinstance(result, tuple) else result
            for prompt in prompts:
                await _refuse_beginning(self, request, spec, settled, _ids(prompt))
        return result

    return _rendered


async def _refuse_beginning(
    renderer: Any, request: Any, spec: Spec, text: str, prompt_ids: Sequence[int] | None
) -> None:
    """Refuse a turn that the engine could not start, as far as a prompt's ids are known."""
    if prompt_ids is None:
        return
    begun = admission.refuse_prefix(renderer.renderer.tokenizer, spec, prompt_ids)
    budget = None
    if spec.resolve(settings.current().options()).finish_within_budget:
        room = renderer.model_config.max_model_len - len(prompt_ids)
        # The model's defaults may know of less.
        budget = int(min(most_ids(request), room))
    # Without room for a single id it is vLLM that refuses.
    if begun or (budget is not None and budget > 0):
        with admission.answered():
            await checks.begin_async(text, prompt_ids, begun, budget)


def add_request(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap `AsyncLLM.add_request`, where routes without rendering come in on the event loop.

    What is checked here need not be waited for when vLLM validates the same parameters.
    """

    async def _add_request(
        self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        request_context.known_as(request_id)
        for text in _texts(params):
            _, spec = admission.admit(text, getattr(self, "tokenizer", None))
            await pacing.turn(len(text))
            with admission.answered():
                admission.log_inexact(await checks.check_async(spec))
        return await original(self, request_id, prompt, params, *args, **kwargs)

    return _add_request


def process_inputs(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `InputProcessor.process_inputs`, through which every request of Python's goes.

    Only here are parameters and the prompt's ids together, whatever the route.
    """

    def _process_inputs(
        self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        request_context.known_as(request_id)
        admission.refuse_unread_spec(getattr(params, "extra_args", None), self.model_config)
        banned = _needs_a_ban_alone(params, self.vllm_config, self.tokenizer)
        if banned is not None:
            params = bans.without_spec(params)
        made = original(self, request_id, prompt, params, *args, **kwargs)
        completes = request_context.is_completion()
        missing = required.unmet(made, self.vllm_config, is_completion=completes)
        if missing is not None:
            raise option_refusal("tools", missing)
        admission.refuse_stock(made.sampling_params)
        if banned is not None:
            admission.refuse_prefix(self.tokenizer, banned, made.prompt_token_ids)
            bans.ban(made.sampling_params, runtime.table_for(self.tokenizer))
            metrics.enforced(banned.toolset.choice)
        for text in _texts(made.sampling_params):
            if made.resumable:
                raise option_refusal(
                    "structured_outputs",
                    "a session of streamed input changes its prompt while it is generated for, "
                    "and cannot be enforced: send whole requests",
                )
            spec = runtime.read(text)
            stops.refuse_ids_beside(params, spec, self.tokenizer)
            admission.refuse_prefix(self.tokenizer, spec, made.prompt_token_ids)
        return made

    return _process_inputs


def _needs_a_ban_alone(params: Any, vllm_config: Any, tokenizer: Any) -> Spec | None:
    """Give the spec of a request that may call nothing, where banning ids is the cheaper way."""
    own = getattr(params, "structured_outputs", None)
    text = carrier.from_structural_tag(own.structural_tag) if own else None
    if text is None:
        return None
    _, spec = admission.admit(text, tokenizer)
    if not bans.is_cheaper(spec, vllm_config) or not bans.suffices(runtime.table_for(tokenizer)):
        return None
    admission.refuse_sampling(params, spec)
    return spec


def _put(own: Any, text: str, settled: str) -> None:
    """Let the request carry what the server has settled; vLLM copies it from there."""
    if settled != text:
        own.structural_tag = carrier.structural_tag(settled)


def _texts(params: Any) -> list[str]:
    """Find the specs that sampling parameters carry, on either way."""
    own = getattr(params, "structured_outputs", None)
    text = carrier.from_structural_tag(own.structural_tag) if own else None
    other = carrier.from_extra(getattr(params, "extra_args", None))
    return [found for found in (text, other) if found is not None]


def _ids(prompt: Any) -> Sequence[int] | None:
    return prompt.get("prompt_token_ids") if isinstance(prompt, Mapping) else None


def beam_search_params(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a request's `to_beam_search_params`, which drops `structured_outputs`."""

    def to_beam_search_params(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = self.structured_outputs
        if own is not None and carrier.from_structural_tag(own.structural_tag) is not None:
            admission.refuse_beam_search()
        return original(self, *args, **kwargs)

    return to_beam_search_params
