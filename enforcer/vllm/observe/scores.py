"""A model's own scores beside a mask: `logprobs` of logits as they were before it.

vLLM masks logits in place before it takes `logprobs`, also those of `raw_logprobs`, which are
meant to be the model's own. With `ENFORCER_LOGPROBS=raw` the worker copies a step's logits first,
if some request in it wants them (Model Runner V2: if some is masked), and hands the copy to
whatever scores the same memory in that step. Nothing is replaced without that setting.

On the first runner, drafts are verified over other tensors than the one that was masked; there,
and where another `--logprobs-mode` is chosen, a server with the setting does not start.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any
from weakref import ref

from enforcer.errors import ConfigurationError
from enforcer.vllm.config import settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

_MODE = "raw_logprobs"
_BEFORE = "_enforcer_before"  # set on logits: a copy, for as long as these live

# The logits that were masked last. A worker has one thread that samples.
_masked: ref[torch.Tensor] | None = None


def check(vllm_config: Any) -> None:
    """Refuse a server whose `logprobs` would not be the model's own though they are asked to be.

    Raises:
        ConfigurationError: it says what to change.

    """
    if settings.current().logprobs != "raw":
        return
    mode = vllm_config.model_config.logprobs_mode
    if mode != _MODE:
        raise ConfigurationError(f"ENFORCER_LOGPROBS=raw needs --logprobs-mode {_MODE}, not {mode}")
    if vllm_config.speculative_config is not None and not vllm_config.use_v2_model_runner:
        raise ConfigurationError(
            "ENFORCER_LOGPROBS=raw does not work with speculative decoding on vLLM's V1 model "
            "runner: set VLLM_USE_V2_MODEL_RUNNER=1, or leave out one of the two"
        )


def masking(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap either runner's `apply_grammar_bitmask`."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def apply_grammar_bitmask(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        if given.get("grammar_req_ids") or getattr(given["input_batch"], "num_logprobs", None):
            _keep(given["logits"])
        original(*args, **kwargs)

    return apply_grammar_bitmask


def scoring(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that scores the logits which are its first argument."""

    @functools.wraps(original)
    def score(logits: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return original(_as_they_were(logits), *args, **kwargs)

    return score


def _keep(logits: torch.Tensor) -> None:
    global _masked  # noqa: PLW0603 - as vLLM's own calls hand nothing on
    setattr(logits, _BEFORE, logits.clone())
    _masked = ref(logits)


def _as_they_were(logits: torch.Tensor) -> torch.Tensor:
    """Return logits before they were masked, of all rows or of some; others as they are."""
    masked = _masked() if _masked else None
    if masked is None or _memory(masked) != _memory(logits):
        return logits
    first = (logits.storage_offset() - masked.storage_offset()) // masked.stride(0)
    before: torch.Tensor = getattr(masked, _BEFORE)
    return before[first : first + len(logits)]


def _memory(logits: torch.Tensor) -> tuple[int, int]:
    return logits.untyped_storage().data_ptr(), logits.shape[-1]
