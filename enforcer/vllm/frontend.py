"""What is refused before generation begins, as HTTP 400.

Owns: checking, in the API server and wherever vLLM takes requests in, one that carries a spec,
whatever route it came by: the spec itself, what the server settles for it, the sampling options
that could leave no id legal, and what the prompt has begun. Must not know: parsers, the engine
process, how schemas are checked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vllm.exceptions import GracefulHTTPError

from enforcer.errors import Busy, IllegalPrefix, RequestError, UnknownLength
from enforcer.request import spec as specs
from enforcer.turn import dialects
from enforcer.turn.requested import look_at_prompt, refuse_names
from enforcer.vllm import bans, checks, metrics, required, runtime, settings
from enforcer.vllm.metrics import Relaxed
from enforcer.vllm.names import reads_extra
from enforcer.vllm.requests import option_refusal, placed, refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from enforcer.request.spec import Spec
    from enforcer.vllm.checks import Inexact

_LARGE = 200_000  # characters of a spec, read in some milliseconds
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
            settled, spec = admit(text, tokenizer)
            refuse_sampling(self, spec)
            with answered():
                inexact = checks.check(spec)
            _put(wanted, text, isolated(settled, inexact))
            metrics.enforced(spec.toolset.choice)
            _count(inexact, Relaxed.RELAXED)
            structured_outputs_config = _READS_OUR_TAG
        original(self, model_config, structured_outputs_config, tokenizer)

    return _validate_structured_outputs


def rendered(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap what renders a request's prompt, to check the request right after.

    vLLM validates a streamed request only once it has begun to answer with HTTP 200.
    """

    async def _rendered(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_unread_spec(getattr(request, "vllm_xargs", None), self.model_config)
        result = await original(self, request, *args, **kwargs)
        own = getattr(request, "structured_outputs", None)
        text = specs.from_structural_tag(own.structural_tag) if own else None
        if text is not None:
            await _let_others(text)
            settled, spec = admit(text, self.renderer.tokenizer)
            refuse_sampling(request, spec)
            await _let_others(text)
            with answered():
                inexact = await checks.check_async(spec)
            settled = isolated(settled, inexact)
            _put(own, text, settled)
            # A chat's dialog and its one prompt, or the prompts of a completion.
            prompts = result[1] if isinstance(result, tuple) else result
            for prompt in prompts:
                await _refuse_beginning(self, request, spec, settled, _ids(prompt))
        return result

    return _rendered


async def _let_others(text: str) -> None:
    """Let the event loop go its rounds before a large request is read on.

    vLLM and we need some ten milliseconds each for a body of a megabyte.
    """
    if len(text) > _LARGE:
        await asyncio.sleep(0)


async def _refuse_beginning(
    renderer: Any, request: Any, spec: Spec, text: str, prompt_ids: Sequence[int] | None
) -> None:
    """Refuse a turn that the engine could not start, as far as a prompt's ids are known."""
    if prompt_ids is None:
        return
    begun = refuse_prefix(renderer.renderer.tokenizer, spec, prompt_ids)
    budget = None
    if spec.resolve(settings.current().options()).finish_within_budget:
        budget = _budget(request, renderer.model_config.max_model_len - len(prompt_ids))
    # Without room for a single id it is vLLM that refuses.
    if begun or (budget is not None and budget > 0):
        with answered():
            await checks.begin_async(text, prompt_ids, begun, budget)


def _budget(request: Any, room: int) -> int:
    """Say how many ids a request may generate; the model's defaults may know of less."""
    names = ("max_completion_tokens", "max_tokens", "max_output_tokens")  # the first one counts
    wanted = (getattr(request, name, None) for name in names)
    most: int | None = next((most for most in wanted if most is not None), None)
    return room if most is None else min(most, room)


def add_request(original: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Wrap `AsyncLLM.add_request`, where routes without rendering come in on the event loop.

    What is checked here need not be waited for when vLLM validates the same parameters.
    """

    async def _add_request(
        self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        for text in _texts(params):
            _, spec = admit(text, getattr(self, "tokenizer", None))
            await _let_others(text)
            with answered():
                _log(await checks.check_async(spec))
        return await original(self, request_id, prompt, params, *args, **kwargs)

    return _add_request


def process_inputs(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `InputProcessor.process_inputs`, through which every request of Python's goes.

    Only here are parameters and the prompt's ids together, whatever the route.
    """

    def _process_inputs(
        self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        refuse_unread_spec(getattr(params, "extra_args", None), self.model_config)
        banned = _needs_a_ban_alone(params, self.vllm_config, self.tokenizer)
        if banned is not None:
            params = bans.without_spec(params)
        made = original(self, request_id, prompt, params, *args, **kwargs)
        if required.lacks(made, self.vllm_config):
            raise option_refusal("tools", required.REASON)
        if banned is not None:
            refuse_prefix(self.tokenizer, banned, made.prompt_token_ids)
            bans.ban(made.sampling_params, runtime.table_for(self.tokenizer))
            metrics.enforced(banned.toolset.choice)
        for text in _texts(made.sampling_params):
            if made.resumable:
                raise option_refusal(
                    "structured_outputs",
                    "a session of streamed input changes its prompt while it is generated for, "
                    "and cannot be enforced: send whole requests",
                )
            refuse_prefix(self.tokenizer, runtime.read(text), made.prompt_token_ids)
        return made

    return _process_inputs


def _needs_a_ban_alone(params: Any, vllm_config: Any, tokenizer: Any) -> Spec | None:
    """Give the spec of a request that may call nothing, where banning ids is the cheaper way."""
    own = getattr(params, "structured_outputs", None)
    text = specs.from_structural_tag(own.structural_tag) if own else None
    if text is None:
        return None
    _, spec = admit(text, tokenizer)
    if not bans.is_cheaper(spec, vllm_config) or not bans.suffices(runtime.table_for(tokenizer)):
        return None
    refuse_sampling(params, spec)
    return spec


@contextmanager
def answered() -> Iterator[None]:
    """Turn what a check raises into vLLM's answers: 400, or 503 where there was no room for it."""
    try:
        yield
    except RequestError as error:
        raise refusal(error) from error
    except Busy as error:
        metrics.checked(metrics.Checked.BUSY)
        raise GracefulHTTPError(str(error), HTTPStatus.SERVICE_UNAVAILABLE) from error


def admit(text: str, tokenizer: Any = None) -> tuple[str, Spec]:
    """Read a spec that somebody has sent, and settle what the server decides for it.

    What its schemas refer to of the operator's documents is in them from here on.

    Args:
        text: the spec.
        tokenizer: the model's; None where it is not at hand, as `runtime.dialect_for` has it.

    Returns:
        The spec with the server's decisions in it, as text and read.

    Raises:
        VLLMValidationError: it is malformed, or wishes what this server does not grant.

    """
    try:
        spec = runtime.read(text)
    except RequestError as error:
        raise refusal(error) from error
    dialect = runtime.dialect_for(tokenizer)
    try:
        refuse_names(dialect, spec.toolset)
    except RequestError as error:
        raise refusal(error) from error
    mine = _settled(spec, dialect.name)
    if spec.settled is None:
        with answered():
            bundled = specs.bundled(spec, runtime.bundle, mine.options.limits.size)
        if bundled is not spec:
            text = specs.put(text, bundled)
        return specs.settle(text, mine), replace(bundled, settled=mine)
    if spec.settled != mine:
        raise option_refusal(
            "settled", "the spec claims settings that are not this server's: leave out `settled`"
        )
    return text, spec


def _settled(spec: Spec, dialect: str) -> specs.Settled:
    chosen = settings.current()
    own, allowed = chosen.options(), chosen.allowed()
    wanted = spec.on_unsupported
    if wanted is not None and wanted.value not in {"refuse", own.on_unsupported.value, *allowed}:
        raise option_refusal(
            "on_unsupported",
            "this server does not let a request relax schemas: leave out `on_unsupported`",
        )
    finish = spec.finish_within_budget
    if finish is not None and finish != own.finish_within_budget and "finish" not in allowed:
        raise option_refusal(
            "finish_within_budget",
            "this server does not let a request choose `finish_within_budget`: leave it out",
        )
    closed = spec.closed_objects
    if closed is not None and closed != own.conventions.closed_objects and "closed" not in allowed:
        raise option_refusal(
            "closed_objects",
            "this server does not let a request choose `closed_objects`: leave it out",
        )
    options = replace(spec, settled=None).resolve(own)
    if options.finish_within_budget and not dialects.load(dialect).is_simple:
        with answered():
            raise UnknownLength("$.finish_within_budget", dialect)
    return specs.Settled(dialect, chosen.engine, options)


def _put(own: Any, text: str, settled: str) -> None:
    """Let the request carry what the server has settled; vLLM copies it from there."""
    if settled != text:
        own.structural_tag = specs.structural_tag(settled)


def isolated(text: str, inexact: Iterable[Inexact]) -> str:
    """Give a spec in which a tool that cannot be held to its schema takes any object.

    vLLM hands a request from check to check. A tool that has been isolated has no schema any
    more at the next one; one that is relaxed is counted where the request is let in.
    """
    _log(inexact)
    names = {one.tool for one in inexact if one.how is Relaxed.ISOLATED and one.tool is not None}
    _count(inexact, Relaxed.ISOLATED)
    return specs.isolate(text, names) if names else text


def _count(inexact: Iterable[Inexact], how: Relaxed) -> None:
    for one in inexact:
        if one.how is how:
            metrics.relaxed(how, one.problem)


def _log(inexact: Iterable[Inexact]) -> None:
    """Log what is not exact, once for each schema that is new to this process."""
    for one in inexact:
        if one.is_new:
            metrics.log_relaxed(one.how, placed(one.problem))


def _texts(params: Any) -> list[str]:
    """Find the specs that sampling parameters carry, on either way."""
    own = getattr(params, "structured_outputs", None)
    text = specs.from_structural_tag(own.structural_tag) if own else None
    other = specs.from_extra(getattr(params, "extra_args", None))
    return [found for found in (text, other) if found is not None]


def _ids(prompt: Any) -> Sequence[int] | None:
    return prompt.get("prompt_token_ids") if isinstance(prompt, Mapping) else None


def refuse_prefix(tokenizer: Any, spec: Spec, prompt_ids: Sequence[int] | None) -> int:
    """Refuse a prompt that has begun a turn which the request's tools do not allow.

    Returns:
        As `look_at_prompt` does.

    Raises:
        VLLMValidationError: it has.

    """
    if prompt_ids is None:
        return 0
    settled = spec.settled
    table = runtime.table_for(tokenizer, None if settled is None else settled.dialect)
    try:
        return look_at_prompt(table, spec, settings.current().options(), prompt_ids)
    except IllegalPrefix as error:
        raise refusal(error) from error


def refuse_unread_spec(extra: Any, model_config: Any) -> None:
    """Refuse a spec in `vllm_xargs` on a server without the logits processor that reads it.

    Raises:
        VLLMValidationError: it would be ignored.

    """
    if specs.from_extra(extra) is None:
        return
    if not reads_extra(getattr(model_config, "logits_processors", None)):
        raise option_refusal(
            "vllm_xargs",
            f"a spec in `vllm_xargs.{specs.KEY}` is for servers with the logits processor, and "
            "would be ignored here: leave out `via` where the client builds it with "
            "`enforcer.extra_body`",
        )


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


def refuse_sampling(params: Any, spec: Spec) -> None:
    """Refuse options that take ids away after our mask: none might be left.

    Raises:
        VLLMValidationError: the request has such an option.

    """
    calls_nothing = not spec.toolset.allowed and spec.response_format is None
    if getattr(params, "thinking_token_budget", None) is not None:
        raise option_refusal(
            "thinking_token_budget",
            "`thinking_token_budget` makes vLLM write the end of the think after our mask, even "
            "into a call that began inside the think: leave it out",
        )
    for name in ("allowed_token_ids", "bad_words"):
        harmless = name == "bad_words" and calls_nothing
        if getattr(params, name, None) and not harmless:
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
    if getattr(params, "min_tokens", 0) and not calls_nothing:
        raise option_refusal(
            "min_tokens",
            "`min_tokens` forbids the end of the turn, which is all that may follow calls or a "
            "complete formatted text: leave it out, or send no tools",
        )
