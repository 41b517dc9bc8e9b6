"""Turns that may call nothing: the markers of calls are banned, and no mask is made.

vLLM's bad words of one token id each do it: a logit becomes minus infinity, with draft tokens too,
and in Model Runner V2 without a copy from the device. A grammar costs a row of the whole vocabulary
a step, and makes asynchronous scheduling wait for the last step's token ids. On the first runner,
bad words wait for those as well, one row after the other: there the grammar stays (decision 0011).
So it does where text may begin a call without a token of its own, or with one that text needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.vllm.config import settings
from enforcer.vllm.native import marker_roles

if TYPE_CHECKING:
    from enforcer.request.spec import Spec
    from enforcer.turn.table import Table


def is_cheaper(spec: Spec, vllm_config: Any) -> bool:
    """Return whether a request may call nothing, and a ban is cheaper than a mask on this server.

    An engine that rejects requests without a spec gets the spec.
    """
    calls_nothing = not spec.toolset.allowed and spec.response_format is None
    return calls_nothing and vllm_config.use_v2_model_runner and not settings.current().require


def suffices(table: Table) -> bool:
    """Return whether each call of a format begins with a token that can be banned."""
    banned = markers(table)
    return all(
        banned & marker_roles.tokens(table, (pattern,))
        for pattern in marker_roles.beginnings(table)
        if table.is_there(pattern)
    )


def ban(params: Any, table: Table) -> None:
    """Ban the markers of calls in a request's parameters, in place, beside its own bad words.

    `worker_limits` rejects more of them than the worker holds.
    """
    words = [*(params.bad_words_token_ids or ()), *([token] for token in sorted(markers(table)))]
    params._bad_words_token_ids = words  # noqa: SLF001 - vLLM's own setter takes strings alone


def markers(table: Table) -> frozenset[int]:
    """Return the token ids that begin calls or stand in them, and in nothing else."""
    return marker_roles.tokens(table, marker_roles.of_calls(table)) - marker_roles.tokens(
        table, marker_roles.of_text(table)
    )
