"""Requests of which only the prompt is wanted, where one server reads prompts and another replies.

Owns: which those are, that a server which hands no prompts on has none, and that no turn of theirs
has to end. Must not know: what else is asked of others and not of them.

A proxy in front of the two sends each request to the first with `max_tokens` 1, and often with
`min_tokens` 1: vLLM hands the keys and values of a prompt on only where its reply did not end by
itself. That one id is thrown away. What a reply may be is asked of the same request when the second
server gets it, as its client has sent it.

Anybody can write what such a proxy does. A server without a connector that hands prompts on would
give the id of such a request to its client, and so takes it for one like others.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from vllm.sampling_params import SamplingParams

from enforcer.vllm.server import reply_lengths

# Whether the engines that this process has met hand prompts on. Offline there may be several.
_met: set[bool] = set()


def meet(vllm_config: Any) -> None:
    """Learn whether the server of this process hands prompts on, before it has a request."""
    connector = getattr(vllm_config, "kv_transfer_config", None)
    _met.add(connector is not None and bool(connector.is_kv_producer))


def is_prefill(*bearers: Any) -> bool:
    """Tell whether nobody reads the reply to a request.

    A process that has met no engine may render for one that hands prompts on, and that looks again.

    Args:
        bearers: the request as its route takes it, what has its sampling options, or both.

    """
    if _met == {False} or not any(map(_is_handed_on, bearers)):
        return False
    return min((_most(one) for one in bearers if one is not None), default=inf) == 1


def _most(bearer: Any) -> float:
    if isinstance(bearer, SamplingParams):
        return inf if bearer.max_tokens is None else bearer.max_tokens
    return reply_lengths.said(bearer)


def _is_handed_on(bearer: Any) -> bool:
    own = getattr(bearer, "kv_transfer_params", None)
    if own is None:  # an engine gets it in here
        own = (getattr(bearer, "extra_args", None) or {}).get("kv_transfer_params")
    return isinstance(own, Mapping) and bool(own.get("do_remote_decode"))


def budget(model_config: Any, prompt: int, params: Any) -> int | None:
    """Return how many ids a turn has to end within; None where nobody reads it.

    Args:
        model_config: vLLM's.
        prompt: how many ids the prompt has.
        params: the sampling parameters.

    """
    if is_prefill(params):
        return None
    return reply_lengths.left(model_config, prompt, params.max_tokens)
