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
from enforcer.vllm.config import settings
from enforcer.vllm.intake import admission, bans, checks, required, stops, worker_limits
from enforcer.vllm.intake.requests import option_refusal
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.server import pacing, reply_lengths, runtime

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
        text = carrier.from_params(self)
        if text is not None:
            admission.refuse_without_tokenizer(model_config)
            settled, spec = admission.admit(text, tokenizer)
            admission.refuse_sampling(self, spec)
            with admission.answered():
                inexact = checks.check(spec)
            if _put(wanted, text, admission.isolated(settled, inexact)):
                admission.count_inexact(inexact)
            structured_outputs_config = _READS_OUR_TAG
        original(self, model_config, structured_outputs_config, tokenizer)

    return _validate_structured_outputs


def rendered(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap what renders a request's prompt, to check the request right after.

    vLLM validates a streamed request only once it has begun to answer with HTTP 200. A body of
    token ids comes here as well, with its options in a field of their own.
    """

    async def _rendered(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        completes = isinstance(request, CompletionRequest)
        request_context.begin(request, is_completion=completes)
        params = getattr(request, "sampling_params", request)
        extra = getattr(params, "extra_args" if params is not request else "vllm_xargs", None)
        admission.refuse_unread_spec(extra, self.model_config)
        result = await original(self, request, *args, **kwargs)
        # A chat's dialog and its one prompt, or the prompts of a completion.
        prompts = result[1] if isinstance(result, tuple) else result
        await _check_rendered(self, request, params, [_ids(prompt) for prompt in prompts])
        missing = required.unmet_in(request, self.model_config, is_completion=completes)
        if missing is not None:
            raise option_refusal("tools", missing)
        return result

    return _rendered


async def _check_rendered(
    renderer: Any, request: Any, params: Any, prompts: Sequence[Sequence[int] | None]
) -> None:
    """Check the spec of a request whose prompts are known, if it has one.

    Args:
        renderer: vLLM's.
        request: the request, as its route takes it.
        params: what has its sampling options.
        prompts: the ids of each prompt, where they are known.

    Raises:
        VLLMValidationError: it cannot be enforced.
        GracefulHTTPError: there is no room to check it now.

    """
    own = getattr(params, "structured_outputs", None)
    tag = own.structural_tag if own else None
    if isinstance(tag, str):
        await pacing.turn(len(tag))
    text = carrier.from_structural_tag(tag)
    if text is None:
        return
    admission.refuse_replaced_spec(params, text)
    tokenizer = renderer.renderer.tokenizer
    admission.refuse_without_tokenizer(renderer.model_config)
    settled, spec = admission.admit(text, tokenizer)
    admission.refuse_sampling(params, spec, request)
    stops.refuse_ids_beside(params, spec, tokenizer)
    await pacing.turn(len(text))
    with admission.answered():
        inexact = await checks.check_async(spec)
    settled = admission.isolated(settled, inexact)
    is_first = _put(own, text, settled)
    for prompt_ids in prompts:
        if prompt_ids is not None:
            most = reply_lengths.allowed(request, renderer.model_config, len(prompt_ids))
            reply_lengths.remember(request, most)
            budget = None if reply_lengths.is_prefill(request, params) else most
            await _refuse_beginning(tokenizer, spec, settled, prompt_ids, budget)
    if is_first:
        admission.count_inexact(inexact)


async def _refuse_beginning(
    tokenizer: Any, spec: Spec, text: str, prompt_ids: Sequence[int], most: int | None
) -> None:
    """Refuse a turn that the engine could not start; its schemas have been checked."""
    asked = _beginning(tokenizer, spec, prompt_ids, most)
    if asked is not None:
        with admission.answered():
            await checks.begin_async(text, prompt_ids, *asked)


def _beginning(
    tokenizer: Any, spec: Spec, prompt_ids: Sequence[int], most: int | None
) -> tuple[int, int | None] | None:
    """Refuse a prompt that has begun what is not allowed; say what else of a turn to try out.

    Args:
        tokenizer: the model's.
        spec: what the request allows.
        prompt_ids: its prompt.
        most: how many ids its reply may have; None where nobody reads it.

    Returns:
        How many ids of the prompt stand in the turn, and how many it may still have, None where
        that does not matter. None where only an engine's failure could keep it from starting.

    Raises:
        VLLMValidationError: it has begun that.

    """
    begun = admission.refuse_prefix(tokenizer, spec, prompt_ids)
    ends_in_time = spec.resolve(settings.current().options).finish_within_budget
    budget = most if ends_in_time else None
    # Without room for a single id it is vLLM that refuses.
    return (begun, budget) if begun or (budget is not None and budget > 0) else None


def add_request(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap `AsyncLLM.add_request`, where routes without rendering come in on the event loop.

    What is checked here need not be waited for when vLLM validates the same parameters.
    """

    async def _add_request(
        self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        request_context.known_as(request_id)
        for text in _texts(params):
            tokenizer = getattr(self, "tokenizer", None)
            admission.refuse_without_tokenizer(getattr(self, "model_config", None))
            settled, spec = admission.admit(text, tokenizer)
            await pacing.turn(len(text))
            with admission.answered():
                inexact = await checks.check_async(spec)
            settled = admission.isolated(settled, inexact)
            prompt_ids = _ids(prompt)
            if prompt_ids is not None:
                most = reply_lengths.budget(self.model_config, len(prompt_ids), params)
                await _refuse_beginning(tokenizer, spec, settled, prompt_ids, most)
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
        missing = required.unmet(made.sampling_params, self.model_config, is_completion=completes)
        if missing is not None:
            raise option_refusal("tools", missing)
        tagged = admission.refuse_stock(made.sampling_params)
        if tagged is not None:  # as they came, without the model's own stop ids
            stops.refuse_ids_beside(params, tagged, self.tokenizer)
        if banned is not None:
            admission.refuse_prefix(self.tokenizer, banned, made.prompt_token_ids)
            bans.ban(made.sampling_params, runtime.table_for(self.tokenizer))
            metrics.enforced(banned.toolset.choice)
        worker_limits.refuse(made.sampling_params, self.vllm_config)
        for text in _texts(made.sampling_params):
            _refuse_start(self, params, made, text)
        counted = carrier.from_params(made.sampling_params)
        if counted is not None:  # the logits processor counts nothing
            metrics.enforced(runtime.read(counted).toolset.choice)
        return made

    return _process_inputs


def _refuse_start(processor: Any, params: Any, made: Any, text: str) -> None:
    """Refuse a request to the engine whose turn could not start, or not be kept to its spec.

    Args:
        processor: vLLM's.
        params: as they came; vLLM has added the model's own stop ids to those of `made`.
        made: the request.
        text: its spec.

    """
    if made.resumable:
        raise option_refusal(
            "structured_outputs",
            "streaming input sessions cannot be enforced, as the prompt changes during "
            "generation: send whole requests",
        )
    spec, prompt_ids = runtime.read(text), made.prompt_token_ids
    stops.refuse_ids_beside(params, spec, processor.tokenizer)
    if prompt_ids is None:
        return  # embeddings, which nobody can look into
    most = reply_lengths.budget(processor.model_config, len(prompt_ids), made.sampling_params)
    asked = _beginning(processor.tokenizer, spec, prompt_ids, most)
    if asked is not None:
        # Known by now where the request came in on an event loop.
        with admission.answered():
            checks.begin(text, prompt_ids, *asked)


def _needs_a_ban_alone(params: Any, vllm_config: Any, tokenizer: Any) -> Spec | None:
    """Give the spec of a request that may call nothing, where banning ids is the cheaper way."""
    text = carrier.from_params(params)
    if text is None:
        return None
    admission.refuse_without_tokenizer(vllm_config.model_config)
    _, spec = admission.admit(text, tokenizer)
    if not bans.is_cheaper(spec, vllm_config) or not bans.suffices(runtime.table_for(tokenizer)):
        return None
    admission.refuse_sampling(params, spec)
    return spec


def _put(own: Any, text: str, settled: str) -> bool:
    """Let the request carry what the server has settled; vLLM copies it from there.

    Returns:
        Whether this is where it was settled, which is at one door for each request.

    """
    if settled == text:
        return False
    own.structural_tag = carrier.structural_tag(settled)
    return True


def _texts(params: Any) -> list[str]:
    """Find the specs that sampling parameters carry, on either way."""
    other = carrier.from_extra(getattr(params, "extra_args", None))
    return [found for found in (carrier.from_params(params), other) if found is not None]


def _ids(prompt: Any) -> Sequence[int] | None:
    return prompt.get("prompt_token_ids") if isinstance(prompt, Mapping) else None
