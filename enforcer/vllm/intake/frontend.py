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

from enforcer.request import carrier, spec_text
from enforcer.vllm.config import settings
from enforcer.vllm.intake import admission, bans, checks, required, stops, worker_limits
from enforcer.vllm.intake.answers import answered, option_refusal
from enforcer.vllm.observe import metric_defs, metrics, request_context
from enforcer.vllm.server import pacing, reply_lengths, runtime
from enforcer.vllm.server.side_table import SideTable, notes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from enforcer.request.carrier import Carried
    from enforcer.request.spec import Spec
    from enforcer.vllm.intake.admission import Intake
    from enforcer.vllm.intake.checks import Steps

# The backend of vLLM's that reads a structural tag; whichever the server has for others.
_READS_OUR_TAG = SimpleNamespace(backend="xgrammar")
# Models for which vLLM has taken a tag of ours: its look at one takes a quarter of a millisecond,
# and finds the same in each.
_validated: SideTable[bool] = SideTable()


def validate_structured_outputs(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `SamplingParams._validate_structured_outputs`, which every route passes."""

    def _validate_structured_outputs(
        self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any
    ) -> None:
        carried = carrier.find(self)
        if carried is not None:
            intake = admission.admit(carried, tokenizer, model_config)
            admission.refuse_sampling(self, intake.spec)
            with answered():
                inexact = checks.run(checks.schemas(intake.spec))
            admission.let_in(self, intake, inexact, is_first=not carried.digest)
            structured_outputs_config = _READS_OUR_TAG
            if _validated.get(model_config):
                self.structured_outputs._backend = _READS_OUR_TAG.backend  # noqa: SLF001
                return
        original(self, model_config, structured_outputs_config, tokenizer)
        if carried is not None and model_config is not None:
            _validated.put(model_config, True)

    return _validate_structured_outputs


def rendered(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap what renders a request's prompt, to check the request right after.

    vLLM validates a streamed request only once it has begun to answer with HTTP 200. A body of
    token ids comes here as well, with its options in a field of their own.
    """

    async def _rendered(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        completes = isinstance(request, CompletionRequest)
        is_named = "request_id" in request.model_fields_set
        own_id = carrier.declared(request, "request_id") if is_named else None
        request_context.begin(own_id, is_completion=completes)
        params = carrier.declared(request, "sampling_params") or request
        admission.refuse_unread(params, self.model_config)  # and what vLLM takes away, below
        came = carrier.find(params)
        result = await original(self, request, *args, **kwargs)
        # A chat's dialog and its one prompt, or the prompts of a completion.
        prompts = result[1] if isinstance(result, tuple) else result
        admission.refuse_unread(params, self.model_config)
        carried = carrier.find(params)
        if carried is not None:
            admission.refuse_replaced_spec(params, carried)
            tokenizer, is_first = self.renderer.tokenizer, came is None or not came.digest
            intake = await _let_in(self, tokenizer, params, carried, request, is_first=is_first)
            for prompt_ids in [ids for ids in map(_ids, prompts) if ids is not None]:
                most = reply_lengths.allowed(request, self.model_config, len(prompt_ids))
                notes(request).most_ids = most
                budget = None if reply_lengths.is_prefill(request, params) else most
                with answered():
                    await checks.run_async(_beginning(tokenizer, intake, prompt_ids, budget))
        missing = required.unmet(request, self.model_config, is_completion=completes)
        if missing is not None:
            raise option_refusal("tools", missing)
        return result

    return _rendered


async def _let_in(
    host: Any, tokenizer: Any, params: Any, carried: Carried, request: Any, *, is_first: bool
) -> Intake:
    """Let in a request before vLLM begins to answer it.

    Args:
        host: an object of vLLM's with the `model_config`.
        tokenizer: the model's; None where the host has none.
        params: what has its sampling options.
        carried: its spec.
        request: as its route takes it; None where that is not at hand.
        is_first: as `admission.let_in` takes it.

    Raises:
        VLLMValidationError: it cannot be enforced.
        GracefulHTTPError: there is no room to check it now.

    """
    if admission.read_before(carried) is None:
        await pacing.turn(len(str(carried.text)))
    intake = admission.admit(carried, tokenizer, getattr(host, "model_config", None))
    admission.refuse_sampling(params, intake.spec, request)
    stops.refuse_ids_beside(params, intake.spec, tokenizer)
    if not checks.has_passed(intake.spec):
        await pacing.turn(len(intake.text))
    with answered():
        inexact = await checks.run_async(checks.schemas(intake.spec))
    return admission.let_in(params, intake, inexact, is_first=is_first)


def _beginning(
    tokenizer: Any, intake: Intake, prompt_ids: Sequence[int], most: int | None
) -> Steps[None]:
    """Refuse a turn that the engine could not start; its schemas have been checked.

    Args:
        tokenizer: the model's.
        intake: what the request allows.
        prompt_ids: its prompt, which is looked at once for each HTTP request.
        most: how many ids its reply may have; None where nobody reads it.

    Raises:
        VLLMValidationError: the prompt has begun what is not allowed.

    """
    exchange = request_context.current().exchange
    if not _is_known(intake.digest, prompt_ids):
        begun = admission.refuse_prefix(tokenizer, intake.spec, prompt_ids)
        exchange.looked_at = (intake.digest, prompt_ids, len(prompt_ids)), begun
    _, begun = exchange.looked_at
    ends_in_time = intake.spec.resolve(settings.current().options).finish_within_budget
    budget = most if ends_in_time else None
    # Without room for a single id it is vLLM that refuses.
    if begun or (budget or 0) > 0:
        yield from checks.beginning(intake.text, prompt_ids, begun, budget)


def _is_known(digest: str, prompt_ids: Sequence[int]) -> bool:
    """Return whether this very prompt was looked at last, for the same spec."""
    # Without HTTP a program may go on with the same list, which is longer then.
    before, _ = request_context.current().exchange.looked_at
    return before == (digest, prompt_ids, len(prompt_ids))


def add_request(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap `AsyncLLM.add_request`, where routes without rendering come in on the event loop.

    What is checked here need not be waited for when vLLM validates the same parameters.
    """

    async def _add_request(
        self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        request_context.known_as(request_id)
        carried, prompt_ids = carrier.find(params), _ids(prompt)
        if carried and (prompt_ids is None or not _is_known(carried.digest, prompt_ids)):
            tokenizer, is_first = getattr(self, "tokenizer", None), not carried.digest
            intake = await _let_in(self, tokenizer, params, carried, None, is_first=is_first)
            if prompt_ids is not None:
                most = reply_lengths.budget(self.model_config, len(prompt_ids), params)
                with answered():
                    await checks.run_async(_beginning(tokenizer, intake, prompt_ids, most))
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
        admission.refuse_unread(params, self.model_config)
        banned = _needs_a_ban_alone(params, self.vllm_config, self.tokenizer)
        if banned is not None:
            params = carrier.without(params)
        made = original(self, request_id, prompt, params, *args, **kwargs)
        completes = request_context.current().exchange.is_completion
        missing = required.unmet(made, self.model_config, is_completion=completes)
        if missing is not None:
            raise option_refusal("tools", missing)
        tagged = admission.refuse_stock(made.sampling_params)
        if tagged is not None:  # as they came, without the model's own stop ids
            stops.refuse_ids_beside(params, tagged, self.tokenizer)
        if banned is not None:
            admission.refuse_prefix(self.tokenizer, banned, made.prompt_token_ids)
            bans.ban(made.sampling_params, runtime.table_for(self.tokenizer))
            metrics.count(metric_defs.REQUESTS, banned.toolset.choice)
        worker_limits.refuse(made.sampling_params, self.vllm_config)
        other = carrier.from_extra(carrier.extra_of(made.sampling_params))
        if other is not None:  # the logits processor's, which counts nothing
            alone = admission.Intake(spec_text.read(other), other, carrier.digest_of(other))
            _refuse_start(self, params, made, alone)
        carried = carrier.find(made.sampling_params)
        if not (banned is None and carried is None) and params.stop and not completes:
            # `clip` counts characters of vLLM's text; Responses bodies have no such option.
            made.sampling_params.spaces_between_special_tokens = False
        if carried is not None:
            intake = admission.admit(carried, self.tokenizer, self.model_config)
            _refuse_start(self, params, made, intake)
            metrics.count(metric_defs.REQUESTS, intake.spec.toolset.choice)
        return made

    return _process_inputs


def _refuse_start(processor: Any, params: Any, made: Any, intake: Intake) -> None:
    """Refuse a request to the engine whose turn could not start, or not be kept to its spec.

    Args:
        processor: vLLM's.
        params: as they came; vLLM has added the model's own stop ids to those of `made`.
        made: the request.
        intake: what it brings.

    """
    if made.resumable:
        raise option_refusal("structured_outputs", carrier.SESSION)
    prompt_ids = made.prompt_token_ids
    stops.refuse_ids_beside(params, intake.spec, processor.tokenizer)
    if prompt_ids is None:
        return  # embeddings, which nobody can look into
    most = reply_lengths.budget(processor.model_config, len(prompt_ids), made.sampling_params)
    with answered():  # known by now where the request came in on an event loop
        checks.run(_beginning(processor.tokenizer, intake, prompt_ids, most))


def _needs_a_ban_alone(params: Any, vllm_config: Any, tokenizer: Any) -> Spec | None:
    """Return the spec of a request that may call nothing, where banning ids is the cheaper way."""
    carried = carrier.find(params)
    if carried is None:
        return None
    spec = admission.admit(carried, tokenizer, vllm_config.model_config).spec
    if not bans.is_cheaper(spec, vllm_config) or not bans.suffices(runtime.table_for(tokenizer)):
        return None
    admission.refuse_sampling(params, spec)
    return spec


def _ids(prompt: Any) -> Sequence[int] | None:
    return prompt.get("prompt_token_ids") if isinstance(prompt, Mapping) else None
