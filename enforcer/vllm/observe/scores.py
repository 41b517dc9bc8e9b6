"""A model's own scores beside a mask: what it wanted and the mask forbade, in a reply's `logprobs`.

Owns: keeping a step's logits as they were before vLLM masked them, and scoring those. Must not
know: masks, what they are made from, requests.

vLLM masks logits in place before it takes `logprobs`, also those of `raw_logprobs`, which are
meant to be the model's own. With `ENFORCER_LOGPROBS=raw` a copy is made first, in the worker, of
a step's logits if some request in it wants them (Model Runner V2: if some is masked), and given
to whoever scores the same memory in that step. Nothing is replaced without that setting.

On the first runner, drafts are verified over other tensors than the one that was masked; there,
and where another `--logprobs-mode` is chosen, a server with the setting does not start.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any
from weakref import ref

from enforcer.errors import ConfigurationError, UnsupportedHost
from enforcer.vllm import fit
from enforcer.vllm.config import settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

_MODE = "raw_logprobs"

# The logits that were masked last, and a copy from before, for as long as these live. A worker has
# one thread that samples.
_kept: tuple[ref[torch.Tensor], torch.Tensor] | None = None


def install(wrap: Callable[[Any, str, Callable[..., Any]], None]) -> None:
    """Replace what masks and what scores, in both runners.

    Args:
        wrap: replaces a name of an owner by what is made of the original, once.

    Raises:
        ConfigurationError: this vLLM has other names or signatures there.

    """
    try:
        fit.check_signatures(fit.SCORES)
    except UnsupportedHost as error:
        raise ConfigurationError(
            f"ENFORCER_LOGPROBS=raw does not work with this vLLM: {error}"
        ) from error
    from vllm.v1.sample.sampler import Sampler
    from vllm.v1.worker import gpu_model_runner
    from vllm.v1.worker.gpu.sample import sampler
    from vllm.v1.worker.gpu.spec_decode import rejection_sampler
    from vllm.v1.worker.gpu.structured_outputs import StructuredOutputsWorker

    wrap(gpu_model_runner, "apply_grammar_bitmask", masking)
    wrap(Sampler, "compute_logprobs", scoring)
    wrap(StructuredOutputsWorker, "apply_grammar_bitmask", masking_v2)
    wrap(sampler, "compute_topk_scores", scoring)
    wrap(rejection_sampler, "compute_topk_scores", scoring)


def check(vllm_config: Any) -> None:
    """Refuse a server whose `logprobs` would not be the model's own though they are asked to be.

    Raises:
        ConfigurationError: it says what to change.

    """
    if not settings.current().scores_raw():
        return
    mode = vllm_config.model_config.logprobs_mode
    if mode != _MODE:
        raise ConfigurationError(
            f"ENFORCER_LOGPROBS=raw needs --logprobs-mode {_MODE}, and this server has {mode}"
        )
    if vllm_config.speculative_config is not None and not vllm_config.use_v2_model_runner:
        raise ConfigurationError(
            "ENFORCER_LOGPROBS=raw does not work with speculative decoding on vLLM's "
            "V1 model runner: set VLLM_USE_V2_MODEL_RUNNER=1, or leave out one of the "
            "two"
        )


def masking(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `apply_grammar_bitmask` of the first runner."""

    @functools.wraps(original)
    def apply_grammar_bitmask(
        scheduler_output: Any, grammar_output: Any, input_batch: Any, logits: torch.Tensor
    ) -> None:
        if input_batch.num_logprobs:
            _keep(logits)
        original(scheduler_output, grammar_output, input_batch, logits)

    return apply_grammar_bitmask


def masking_v2(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `StructuredOutputsWorker.apply_grammar_bitmask`."""

    @functools.wraps(original)
    def apply_grammar_bitmask(
        self: Any,
        logits: torch.Tensor,
        input_batch: Any,
        grammar_req_ids: list[str],
        grammar_bitmask: Any,
    ) -> None:
        if grammar_req_ids:
            _keep(logits)
        original(self, logits, input_batch, grammar_req_ids, grammar_bitmask)

    return apply_grammar_bitmask


def scoring(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that scores the logits which are its first argument."""

    @functools.wraps(original)
    def score(logits: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return original(_as_they_were(logits), *args, **kwargs)

    return score


def _keep(logits: torch.Tensor) -> None:
    global _kept  # noqa: PLW0603 - as vLLM's own calls hand nothing on

    def forget(_: object) -> None:
        global _kept  # noqa: PLW0603
        _kept = None

    _kept = ref(logits, forget), logits.clone()


def _as_they_were(logits: torch.Tensor) -> torch.Tensor:
    """Give logits before they were masked, of all rows or of some; others as they are."""
    masked, before = (None, None) if _kept is None else (_kept[0](), _kept[1])
    if masked is None or before is None or _memory(masked) != _memory(logits):
        return logits
    first = (logits.storage_offset() - masked.storage_offset()) // masked.stride(0)
    return before[first : first + len(logits)]


def _memory(logits: torch.Tensor) -> tuple[int, int]:
    return logits.untyped_storage().data_ptr(), logits.shape[-1]
