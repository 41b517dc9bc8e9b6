"""How many ids a reply may have: what the request says, and what vLLM leaves of it.

Owns: both numbers, the second as vLLM's routes compute it (the server's own bounds included), and
that it is remembered until the reply is read. Must not know: what is refused or cut off for it.
"""

from __future__ import annotations

from math import inf
from typing import Any

from enforcer.vllm.server.remembered import Remembered, notes

_SAID = ("max_completion_tokens", "max_tokens", "max_output_tokens")
# Of a model's configuration: its sampling defaults, for which vLLM reads a file each time.
_defaults: Remembered[dict[str, Any]] = Remembered()


def said(request: Any) -> float:
    """Return how many ids a reply to a request may have at most, as far as the request says."""
    own = vars(request)  # not by attribute: vLLM warns of a deprecated field at each look
    return next((own[name] for name in _SAID if own.get(name) is not None), inf)


def allowed(request: Any, model_config: Any, prompt: int) -> int:
    """Return how many ids it may have here, as vLLM will compute it.

    Args:
        request: the request, as its route takes it.
        model_config: vLLM's.
        prompt: how many ids its prompt has.

    """
    # Of the API server alone; the engine and its workers have no use for it.
    from vllm.entrypoints.serve.utils.api_utils import get_max_tokens

    params = getattr(request, "sampling_params", None)
    if params is not None and request.is_sampling_param_provided("max_tokens"):
        # A body of token ids: what the server allows others does not bound it.
        return left(model_config, prompt, params.max_tokens)
    if prompt > model_config.max_model_len:
        return 0  # vLLM refuses it
    most, defaults = said(request), _of(model_config)
    overridden = (
        defaults.get("max_tokens")
        if model_config.generation_config not in ("auto", "vllm")
        else model_config.override_generation_config.get("max_new_tokens")
    )
    own = None if most == inf else int(most)
    return int(get_max_tokens(model_config.max_model_len, own, prompt, defaults, overridden))


def left(model_config: Any, prompt: int, most: int | None) -> int:
    """Return how many ids it may have, as the engine counts them.

    Args:
        model_config: vLLM's.
        prompt: how many ids the prompt has.
        most: of the sampling parameters.

    """
    room = int(model_config.max_model_len) - prompt
    return room if most is None else min(most, room)


def _of(model_config: Any) -> dict[str, Any]:
    found = _defaults.get(model_config)
    if found is None:
        found = model_config.get_diff_sampling_param()
        _defaults.put(model_config, found)
    return found


def remember(request: Any, most: int) -> None:
    """Remember how many ids the reply to a request may have, for whoever reads it."""
    notes(request).most_ids = most


def most(request: Any) -> float:
    """Return how many ids it may have at most, as far as that is known here."""
    known = notes(request).most_ids
    return said(request) if known is None else known
