"""Sampling options that conflict with a mask (rejected), or take its place (bans of markers).

Rejected are options that forbid token ids after our mask, so that none might be left, and stop ids
that could cut a call. Stop strings are looked for in the text before the calls alone
(`replies/reply.py`). Model Runner V2 has bounds beyond which its worker ends, and with it the
engine and all its requests; vLLM checks some of these bounds too late.

A request that may call nothing needs no mask where the markers of calls can be banned, by vLLM's
bad words of one token id each. A logit becomes minus infinity, with draft tokens too, and in Model
Runner V2 without a copy from the device. A grammar costs a row of the whole vocabulary a step, and
makes asynchronous scheduling wait for the last step's token ids. On the first runner bad words wait
for these token ids as well, row by row: there the grammar stays (decision 0011). It also stays
where text may begin a call without a special token, or with one that text needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from vllm import envs

from enforcer.request import carrier
from enforcer.vllm.config import settings
from enforcer.vllm.intake.rejections import option_rejection
from enforcer.vllm.native import marker_roles
from enforcer.vllm.server import reply_lengths, runtime

if TYPE_CHECKING:
    from enforcer.request.spec import Spec
    from enforcer.turn.table import Table

# Far from what is infinite in 32 bits, also once it is divided by a temperature. Most routes of
# vLLM's take 100 for whatever is more.
_MOST_BIAS = 1e30
# vLLM multiplies and divides what is masked, and what is not, by it: a logit with such a bias, so
# penalized and divided by the lowest temperature, is still far from what is infinite in 32 bits.
_MOST_PENALTY = 1e3
# Of Model Runner V2 in vLLM 0.32 and 0.33, in `v1/worker/gpu/sample/logit_bias.py`; their import
# takes Triton.
_MOST_ALLOWED, _MOST_BIASED, _MOST_STOPS = 1024, 1024, 128
# Options that are rejected whatever their value, and why: what they do comes after the mask.
_FORCING = {
    "thinking_token_budget": "`thinking_token_budget` makes vLLM force the end of the reasoning "
    "after the mask is applied, even inside a call that began in the reasoning: leave it out",
    "trace_decode_token_ids": "`trace_decode_token_ids` dictates the reply's token ids, whatever "
    "the mask forbids: leave it out",
}
# By the fields of sampling parameters; vLLM's Rust front end sends the ids of words alone.
_FORBIDDING = {
    "allowed_token_ids": "allowed_token_ids",
    "bad_words": "bad_words",
    "bad_words_token_ids": "bad_words",
}


def reject(params: Any, spec: Spec, tokenizer: Any, request: Any = None) -> None:
    """Reject options with which a spec could not be enforced.

    Args:
        params: a request, or sampling parameters.
        spec: what the request allows.
        tokenizer: the model's.
        request: as its route takes it, where that says more than `params`.

    Raises:
        VLLMValidationError: the request has such an option.

    """
    reject_forcing(params, spec, request)
    _reject_stop_ids(params, spec, tokenizer)


def reject_beam_search() -> NoReturn:
    """Reject a request for beam search, in which vLLM drops what masks it.

    Raises:
        VLLMValidationError: always.

    """
    raise option_rejection(
        "use_beam_search", "beam search cannot be enforced: leave out `use_beam_search`"
    )


def reject_forcing(params: Any, spec: Spec, request: Any = None) -> None:
    """Reject options that take token ids away after our mask, as `reject` does."""
    calls_nothing = _calls_nothing(spec)
    if carrier.declared(request, "use_beam_search"):
        reject_beam_search()
    for option, reason in _FORCING.items():
        if carrier.declared(params, option) is not None:
            raise option_rejection(option, reason)
    for sent, option in _FORBIDDING.items():
        if carrier.declared(params, sent) and not (option == "bad_words" and calls_nothing):
            raise option_rejection(
                option,
                f"`{option}` could forbid tokens that an enforced reply needs: leave it out",
            )
    biases = (carrier.declared(params, "logit_bias") or {}).values()
    if any(not abs(bias) <= _MOST_BIAS for bias in biases):  # NaN fails every comparison
        raise option_rejection(
            "logit_bias",
            "a `logit_bias` that is infinite, or becomes so in 32 bits, could forbid tokens that "
            f"an enforced reply needs: use one from -{_MOST_BIAS:g} to {_MOST_BIAS:g}",
        )
    penalty = carrier.declared(params, "repetition_penalty")
    if penalty is not None and not 1 / _MOST_PENALTY <= penalty <= _MOST_PENALTY:
        raise option_rejection(
            "repetition_penalty",
            "a `repetition_penalty` close to zero or very large turns logits into infinity or NaN "
            f"after the mask is applied: use one from {1 / _MOST_PENALTY:g} to {_MOST_PENALTY:g}",
        )
    least = carrier.declared(params, "min_tokens")
    if least and not calls_nothing and not reply_lengths.is_prefill(params, request):
        raise option_rejection(
            "min_tokens",
            "`min_tokens` forbids the end of the turn, which is all that may follow calls or a "
            "complete formatted text: leave it out, or send no tools",
        )


def _calls_nothing(spec: Spec) -> bool:
    return not spec.toolset.allowed and spec.response_format is None


def _reject_stop_ids(params: Any, spec: Spec, tokenizer: Any) -> None:
    """Reject stop ids that begin a call or can stand inside one, in a request that may call.

    The engine ends a reply at such an id, and vLLM would report `tool_calls` beside the half
    of a call; behind the marker that begins calls there would be none, even where one is demanded.
    Ids that end the turn, the section or the reasoning cut no call.
    """
    if not (spec.toolset.allowed and params.stop_token_ids):
        return
    table = runtime.table_for(tokenizer, spec.settled.dialect if spec.settled else None)
    # Harmless are ids that neither begin calls nor stand in them before their end.
    cuts = marker_roles.tokens(table, marker_roles.into_calls(table)).union(table.layout.ids)
    harmless = table.vocabulary.control_ids - cuts
    # vLLM judges ids that are none of the model's.
    own = range(table.vocabulary.size)
    inside = [token for token in params.stop_token_ids if token in own and token not in harmless]
    if inside:
        raise option_rejection(
            "stop_token_ids",
            f"`stop_token_ids` has {', '.join(map(str, inside[:5]))}, which can begin a tool "
            "call or stand inside one, where the reply would end with half a call: use `stop`, "
            "which ends text only, or an id that ends the turn",
        )


def reject_stops(params: Any, spec: Spec) -> None:
    """Reject stops where nothing keeps them from cutting a call: behind the logits processor.

    Args:
        params: vLLM's, or a body as attributes; `stop_sequences` is the Messages API's `stop`.
        spec: the request's.

    Raises:
        VLLMValidationError: the request may call, and has stops.

    """
    if not spec.toolset.allowed:
        return
    for name in ("stop", "stop_sequences", "stop_token_ids"):
        if getattr(params, name, None):
            raise option_rejection(
                name,
                f"`{name}` could end the reply inside a tool call, which a server with the logits "
                "processor alone cannot prevent: leave it out (vLLM ends a turn at the model's own "
                "end ids without it), or use a server with the plugin",
            )


def reject_over_worker_limits(params: Any, vllm_config: Any) -> None:
    """Reject sampling parameters that the worker of Model Runner V2 has no room for.

    Args:
        params: as the engine gets them, the model's own stop ids among them; None for a request
            that generates nothing.
        vllm_config: the server's.

    Raises:
        VLLMValidationError: there are more of something than the worker takes.

    """
    if params is None:
        return
    # Stop ids that nothing forbids take no room.
    stops = params.all_stop_token_ids if params.min_tokens > 0 else ()
    counts = [
        ("allowed_token_ids", len(params.allowed_token_ids or ()), _MOST_ALLOWED),
        ("logit_bias", len(params.logit_bias or ()), _MOST_BIASED),
        ("stop_token_ids", len(stops), _MOST_STOPS),
    ]
    if words := params.bad_words_token_ids:
        counts.append(("bad_words", len(words), envs.VLLM_MAX_NUM_BAD_WORDS))
        counts.append(("bad_words", sum(map(len, words)), envs.VLLM_MAX_BAD_WORDS_TOTAL_TOKENS))
    for option, count, most in counts:
        if count > most and vllm_config.use_v2_model_runner:  # which takes vLLM a while to tell
            raise option_rejection(
                option,
                f"`{option}` has {count} entries with those that the server adds, of which "
                f"this server takes {most}: leave some out",
            )


def needs_bans_alone(spec: Spec, vllm_config: Any, tokenizer: Any) -> bool:
    """Return whether bans enforce a spec on this server, and are cheaper than a mask.

    An engine that rejects requests without a spec gets the spec.
    """
    is_cheaper = _calls_nothing(spec) and vllm_config.use_v2_model_runner
    if not is_cheaper or settings.current().require:
        return False
    return can_ban_calls(runtime.table_for(tokenizer))


def can_ban_calls(table: Table) -> bool:
    """Return whether each call of a format begins with a token that can be banned."""
    banned = banned_ids(table)
    return all(
        banned & marker_roles.tokens(table, (pattern,))
        for pattern in marker_roles.beginnings(table)
        if table.is_there(pattern)
    )


def ban_calls(params: Any, tokenizer: Any) -> None:
    """Ban the markers of calls in a request's parameters, in place, beside its own bad words.

    `reject_over_worker_limits` rejects more of them than the worker holds.
    """
    banned = ([token] for token in sorted(banned_ids(runtime.table_for(tokenizer))))
    words = [*(params.bad_words_token_ids or ()), *banned]
    params._bad_words_token_ids = words  # noqa: SLF001 - vLLM's own setter takes strings alone


def banned_ids(table: Table) -> frozenset[int]:
    """Return the token ids that begin calls or stand in them, and in nothing else."""
    return marker_roles.tokens(table, marker_roles.of_calls(table)) - marker_roles.tokens(
        table, marker_roles.of_text(table)
    )
