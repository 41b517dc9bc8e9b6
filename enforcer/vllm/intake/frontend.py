"""Wrappers around vLLM's request entry points in the API server, with the checks that each runs.

A request with a spec is checked before generation begins, by whatever route it comes, and rejected
with HTTP 400. Its `Admission` goes from one wrapper to the next, so that each check runs once: on
the body, before a stream begins, and on the sampling parameters that vLLM makes from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vllm.entrypoints.openai.completion.protocol import CompletionRequest

from enforcer.request import carrier, spec_text
from enforcer.vllm.intake import admission, checks, required, sampling_options, settling
from enforcer.vllm.intake.admission import Admission
from enforcer.vllm.intake.rejections import answered, option_rejection
from enforcer.vllm.intake.settling import AdmittedSpec
from enforcer.vllm.observe import metric_defs, metrics, request_context
from enforcer.vllm.server import pacing, reply_lengths
from enforcer.vllm.server.side_table import SideTable, notes

if TYPE_CHECKING:
    from enforcer.request.carrier import Carried

# The backend of vLLM's that reads a structural tag; whichever the server has for others.
_READS_OUR_TAG = SimpleNamespace(backend="xgrammar")
# Models for which vLLM has taken a tag of ours: its look at one takes a quarter of a millisecond,
# and finds the same in each.
_validated: SideTable[bool] = SideTable()


def validate_structured_outputs(
    original: Any, self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any
) -> None:
    """Wrap `SamplingParams._validate_structured_outputs`, which every route passes."""
    carried = carrier.find(self)
    if carried is not None:
        entered = admission.admit(self, carried, tokenizer, model_config)
        sampling_options.reject(self, entered.spec, tokenizer)
        with answered():
            checks.run(entered.check_schemas(self))
        structured_outputs_config = _READS_OUR_TAG
        if _validated.get(model_config):
            self.structured_outputs._backend = _READS_OUR_TAG.backend  # noqa: SLF001
            return
    original(self, model_config, structured_outputs_config, tokenizer)
    if carried is not None and model_config is not None:
        _validated.put(model_config, True)


async def rendered(original: Any, self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    """Wrap a function that renders a request's prompt, to check the request right after.

    vLLM validates a streamed request only once it has begun to answer with HTTP 200. A body of
    token ids comes here as well, with its options in a field of their own.
    """
    completes = isinstance(request, CompletionRequest)
    is_named = "request_id" in request.model_fields_set
    own_id = carrier.declared(request, "request_id") if is_named else None
    request_context.begin(own_id, is_completion=completes)
    params = carrier.declared(request, "sampling_params") or request
    admission.reject_unread(params, self.model_config)  # and what vLLM takes away, below
    result = await original(self, request, *args, **kwargs)
    # A chat's dialog and its one prompt, or the prompts of a completion.
    prompts = result[1] if isinstance(result, tuple) else result
    admission.reject_unread(params, self.model_config)
    carried = carrier.find(params)
    if carried is not None:
        admission.reject_replaced_spec(params, carried)
        tokenizer = self.renderer.tokenizer
        entered = await _entered(self, tokenizer, params, carried, request)
        for prompt_ids in [ids for ids in map(_ids, prompts) if ids is not None]:
            most = reply_lengths.allowed(request, self.model_config, len(prompt_ids))
            notes(request).most_ids = most
            budget = None if reply_lengths.is_prefill(request, params) else most
            with answered():
                await checks.run_async(entered.check_prompt(tokenizer, prompt_ids, budget))
    required.reject_unmet(request, self.model_config, is_completion=completes)
    return result


async def _entered(
    host: Any, tokenizer: Any, params: Any, carried: Carried, request: Any = None
) -> Admission:
    """Admit a request and check all but its prompt, before vLLM begins to answer it.

    Args:
        host: an object of vLLM's with the `model_config`.
        tokenizer: the model's; None where the host has none.
        params: what has its sampling options.
        carried: its spec.
        request: as its route takes it; None where that is not at hand.

    Raises:
        VLLMValidationError: it cannot be enforced.
        GracefulHTTPError: there is no room to check it now.

    """
    if settling.read_before(carried) is None:
        await pacing.turn(len(str(carried.text)))
    entered = admission.admit(params, carried, tokenizer, getattr(host, "model_config", None))
    sampling_options.reject(params, entered.spec, tokenizer, request)
    if not checks.has_passed(entered.spec):
        await pacing.turn(len(entered.admitted.text))
    with answered():
        await checks.run_async(entered.check_schemas(params))
    return entered


async def add_request(
    original: Any, self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
) -> Any:
    """Wrap `AsyncLLM.add_request`, where routes without rendering come in on the event loop.

    What is checked here need not be waited for when vLLM validates the same parameters.
    """
    request_context.known_as(request_id)
    carried, prompt_ids = carrier.find(params), _ids(prompt)
    if carried is not None and not admission.has_checked(params, carried, prompt_ids):
        tokenizer = getattr(self, "tokenizer", None)
        entered = await _entered(self, tokenizer, params, carried)
        if prompt_ids is not None:
            budget = reply_lengths.budget(self.model_config, len(prompt_ids), params)
            with answered():
                await checks.run_async(entered.check_prompt(tokenizer, prompt_ids, budget))
    return await original(self, request_id, prompt, params, *args, **kwargs)


def process_inputs(
    original: Any, self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
) -> Any:
    """Wrap `InputProcessor.process_inputs`, through which every request of Python's goes.

    Only here are parameters and the prompt's ids together, whatever the route.
    """
    request_context.known_as(request_id)
    admission.reject_unread(params, self.model_config)
    carried, entered, needs_bans = carrier.find(params), None, False
    if carried is not None:
        entered = admission.admit(params, carried, self.tokenizer, self.model_config)
        needs_bans = sampling_options.needs_bans_alone(
            entered.spec, self.vllm_config, self.tokenizer
        )
        if needs_bans:
            sampling_options.reject(params, entered.spec, self.tokenizer)
            params = carrier.without(params)
    made = original(self, request_id, prompt, params, *args, **kwargs)
    completes = request_context.current().exchange.is_completion
    required.reject_unmet(made, self.model_config, is_completion=completes)
    admission.reject_native_tag(params, self.tokenizer)
    if entered is not None and needs_bans:
        admission.reject_prefix(self.tokenizer, entered.spec, made.prompt_token_ids)
        sampling_options.ban_calls(made.sampling_params, self.tokenizer)
    sampling_options.reject_over_worker_limits(made.sampling_params, self.vllm_config)
    other = carrier.from_extra(carrier.extra_of(made.sampling_params))
    if other is not None:  # the logits processor's, which counts nothing
        alone = AdmittedSpec(spec_text.read(other), other, carrier.digest_of(other))
        _reject_start(self, made, Admission(alone.carried, alone))
    if entered is None:
        return made
    if params.stop and not completes:
        # `clip` counts characters of vLLM's text; Responses bodies have no such option.
        made.sampling_params.spaces_between_special_tokens = False
    if not needs_bans:
        _reject_start(self, made, entered)
    metrics.count(metric_defs.REQUESTS, entered.spec.toolset.choice)
    return made


def _reject_start(processor: Any, made: Any, entered: Admission) -> None:
    """Reject a request to the engine whose turn could not start.

    Args:
        processor: vLLM's.
        made: the request.
        entered: its admission.

    """
    if made.resumable:
        raise option_rejection("structured_outputs", carrier.SESSION)
    prompt_ids = made.prompt_token_ids
    if prompt_ids is None:
        return  # embeddings, which have no token ids to check
    budget = reply_lengths.budget(processor.model_config, len(prompt_ids), made.sampling_params)
    with answered():  # known by now where the request came in on an event loop
        checks.run(entered.check_prompt(processor.tokenizer, prompt_ids, budget))


def _ids(prompt: Any) -> Sequence[int] | None:
    return prompt.get("prompt_token_ids") if isinstance(prompt, Mapping) else None
