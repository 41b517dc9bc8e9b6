"""Length limits of replies, and prefill-only requests, whose replies are not read.

Where one server reads prompts and another replies, a proxy sends each request to the first with
`max_tokens` 1, and often with `min_tokens` 1: vLLM hands the keys and values of a prompt on only
where its reply did not end by itself. The reply's one token id is thrown away, so that it need not
be legal; the second server gets the request as its client has sent it. A client can send the same
fields as a proxy: only a server with a connector that hands prompts on has prefill-only requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from vllm.sampling_params import SamplingParams

from enforcer.request import carrier
from enforcer.vllm.server.side_table import SideTable, notes

_SAID = ("max_completion_tokens", "max_tokens", "max_output_tokens")
# Of a model's configuration: its sampling defaults, for which vLLM reads a file each time.
_defaults: SideTable[dict[str, Any]] = SideTable()
# Whether the engines that this process has met hand prompts on. Offline there may be several.
_met: set[bool] = set()


def meet(vllm_config: Any) -> None:
    """Learn whether the server of this process hands prompts on, before it has a request."""
    connector = getattr(vllm_config, "kv_transfer_config", None)
    _met.add(connector is not None and bool(connector.is_kv_producer))


def is_prefill(*bearers: Any) -> bool:
    """Return whether only the prompt of a request is wanted.

    A process that has met no engine may render for one that hands prompts on, and that looks again.

    Args:
        bearers: the request as its route takes it, its sampling parameters, or both.

    """
    if _met == {False} or not any(map(_is_handed_on, bearers)):
        return False
    return min((said(one) for one in bearers if one is not None), default=inf) == 1


def _is_handed_on(bearer: Any) -> bool:
    own = carrier.declared(bearer, "kv_transfer_params")
    if own is None:  # an engine gets it in here
        own = (carrier.declared(bearer, "extra_args") or {}).get("kv_transfer_params")
    return isinstance(own, Mapping) and bool(own.get("do_remote_decode"))


def said(bearer: Any) -> float:
    """Return how many token ids a request, or its sampling parameters, allow a reply."""
    if isinstance(bearer, SamplingParams):
        return inf if bearer.max_tokens is None else bearer.max_tokens
    own = vars(bearer)  # not by attribute: vLLM warns of a deprecated field at each look
    return next((own[name] for name in _SAID if own.get(name) is not None), inf)


def allowed(request: Any, model_config: Any, prompt: int) -> int:
    """Return how many token ids a reply may have here, as vLLM's routes will compute it.

    Args:
        request: the request, as its route takes it.
        model_config: vLLM's.
        prompt: how many token ids its prompt has.

    """
    # Of the API server alone; the engine and its workers have no use for it.
    from vllm.entrypoints.serve.utils.api_utils import get_max_tokens

    params = carrier.declared(request, "sampling_params")
    if params is not None and request.is_sampling_param_provided("max_tokens"):
        # A body of token ids: the server's bounds for others do not hold for it.
        return _left(model_config, prompt, params)
    if prompt > model_config.max_model_len:
        return 0  # vLLM refuses it
    defaults = _defaults.get(model_config)
    if defaults is None:
        _defaults.put(model_config, defaults := model_config.get_diff_sampling_param())
    bound = (
        defaults.get("max_tokens")
        if model_config.generation_config not in ("auto", "vllm")
        else model_config.override_generation_config.get("max_new_tokens")
    )
    most = said(request)
    own = None if most == inf else int(most)
    return int(get_max_tokens(model_config.max_model_len, own, prompt, defaults, bound))


def budget(model_config: Any, prompt: int, params: Any) -> int | None:
    """Return how many token ids a turn has to end within, as the engine counts; None for a prefill.

    Args:
        model_config: vLLM's.
        prompt: how many token ids the prompt has.
        params: the sampling parameters.

    """
    return None if is_prefill(params) else _left(model_config, prompt, params)


def _left(model_config: Any, prompt: int, params: Any) -> int:
    return int(min(said(params), model_config.max_model_len - prompt))


def most(request: Any) -> float:
    """Return how many token ids it may have at most, as far as that is known here."""
    known = notes(request).most_ids
    return said(request) if known is None else known
