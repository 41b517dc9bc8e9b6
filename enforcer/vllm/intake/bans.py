"""Turns that may call nothing: a handful of ids is banned, and no mask is made.

Owns: which requests and formats need no more than that, and the ban. Must not know: routes,
masks.

vLLM's bad words of one id each are what it has for this: an id's logit becomes minus infinity,
with drafts too, and in Model Runner V2 without a copy from the device. A grammar costs a row of
the whole vocabulary a step, and makes asynchronous scheduling wait for the last step's ids. On
the first runner, bad words wait for those ids as well, one row after the other: there the
grammar stays. See decision 0011. So it does where text may begin a call that no token of its
own does, or one that text needs as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm import envs

from enforcer.request import carrier
from enforcer.vllm.config import settings
from enforcer.vllm.intake.requests import option_refusal
from enforcer.vllm.native import marker_roles

if TYPE_CHECKING:
    from enforcer.request.spec import Spec
    from enforcer.turn.table import Table


def is_cheaper(spec: Spec, vllm_config: Any) -> bool:
    """Tell whether a request may call nothing, and a ban is the cheaper way on this server.

    An engine that is to refuse what carries no spec gets the spec.
    """
    enforces_nothing = not spec.toolset.allowed and spec.response_format is None
    return (
        enforces_nothing
        and bool(vllm_config.use_v2_model_runner)
        and not settings.current().require
    )


def suffices(table: Table) -> bool:
    """Tell whether each call of a format begins with a token that can be banned."""
    banned = markers(table)
    return all(
        banned & marker_roles.tokens(table, (pattern,))
        for pattern in marker_roles.beginnings(table)
        if marker_roles.is_there(table, pattern)
    )


def without_spec(params: Any) -> Any:
    """Copy sampling parameters, without the spec that they carry."""
    copy = params.clone()
    carrier.take_out(copy)
    return copy


def ban(params: Any, table: Table) -> None:
    """Ban the markers of calls in a request's own parameters, beside what its client bans.

    Raises:
        VLLMValidationError: the client bans so much that the engine could not hold ours too.

    """
    theirs = params.bad_words_token_ids or []
    words = [*theirs, *([token] for token in sorted(markers(table)))]
    most, ids = envs.VLLM_MAX_NUM_BAD_WORDS, envs.VLLM_MAX_BAD_WORDS_TOTAL_TOKENS
    # vLLM looks at the first bound only, and its worker ends with the engine at either.
    if len(words) > most or sum(map(len, words)) > ids:
        raise option_refusal(
            "bad_words",
            "`bad_words` leaves no room for the markers that are banned beside it: at most "
            f"{most} words of together {ids} tokens, {len(words) - len(theirs)} of them ours",
        )
    params._bad_words_token_ids = words  # noqa: SLF001 - vLLM has a door for strings alone


def markers(table: Table) -> frozenset[int]:
    """Name the ids that begin calls or stand in them, and in nothing else."""
    return marker_roles.tokens(table, marker_roles.of_calls(table)) - marker_roles.tokens(
        table, marker_roles.of_text(table)
    )
