"""vLLM's logits-processor interface, for servers without the plugin.

Owns: following the persistent batch and masking its rows. Switched on for one
request by `enforcer.extra_body(..., via=Route.LOGITS_PROCESSOR)`. Must not know:
tool parsers, the structured-output machinery.

Named on the command line only: vLLM repairs stale output ids, and refuses
speculative decoding, for processors named there, and silently drops the ones that
it finds through an entry point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from vllm.exceptions import VLLMValidationError
from vllm.tokenizers import cached_tokenizer_from_config
from vllm.v1.sample.logits_processor.builtin import process_dict_updates
from vllm.v1.sample.logits_processor.interface import LogitsProcessor

from enforcer.errors import ConfigurationError, EnforcerError, RequestError
from enforcer.spec import KEY
from enforcer.vllm import runtime

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.sampling_params import SamplingParams
    from vllm.v1.sample.logits_processor.interface import BatchUpdate

    from enforcer.matcher import Matcher

_WORD = 32


@dataclass(slots=True)
class _Request:
    """One row of the batch. `output_ids` is vLLM's own list, which it appends to."""

    matcher: Matcher
    output_ids: list[int]
    read: int = 0

    def catch_up(self) -> None:
        """Advance over the ids that have become final since the last step."""
        for token_id in self.output_ids[self.read :]:
            if not self.matcher.accept(token_id):
                self.matcher.fail(EnforcerError(f"id {token_id} came though it was masked"))
                self.matcher.accept(token_id)
            self.read += 1


class EnforcerLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """Masks the rows of requests that carry a spec in `vllm_xargs`."""

    @classmethod
    def validate_params(cls, sampling_params: SamplingParams) -> None:
        """Refuse a request, in the API server, whose spec cannot be enforced."""
        spec = (sampling_params.extra_args or {}).get(KEY)
        if spec is None:
            return
        try:
            runtime.check(spec)
        except RequestError as error:
            raise VLLMValidationError(f"{type(error).__name__}: {error}") from error

    def __init__(
        self,
        vllm_config: VllmConfig,
        device: torch.device,
        is_pin_memory: bool,  # noqa: ARG002, FBT001 - vLLM's signature
    ) -> None:
        if vllm_config.speculative_config is not None:
            raise ConfigurationError(
                "a logits processor cannot follow speculative decoding in vLLM's V1 runner: "
                "use the plugin (--tool-call-parser kimi_k2_enforced)"
            )
        self._tokenizer: Any = cached_tokenizer_from_config(vllm_config.model_config)
        vocabulary = runtime.enforcer_for(self._tokenizer).vocabulary
        size = vllm_config.model_config.get_vocab_size()
        if size < vocabulary.size:
            raise ConfigurationError(f"the model has {size} ids, its tokenizer {vocabulary.size}")
        self._device = device
        self._requests: dict[int, _Request] = {}

    def is_argmax_invariant(self) -> bool:
        """Greedy requests need the mask as well."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow requests into, within and out of the batch.

        A preempted request comes back with a new list that has all of its output: its
        matcher is built anew and catches up.
        """
        process_dict_updates(self._requests, batch_update, self._start)

    def _start(
        self, params: SamplingParams, prompt_ids: list[int] | None, output_ids: list[int]
    ) -> _Request | None:
        spec = (params.extra_args or {}).get(KEY)
        if spec is None:
            return None
        return _Request(runtime.start(self._tokenizer, spec, prompt_ids), output_ids)

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Mask in place.

        Output ids are final only here: under async scheduling they are placeholders until
        just before sampling.

        Args:
            logits: float32, shape `(batch, ids of the model)`.

        """
        if not self._requests:
            return logits
        rows = list(self._requests)
        bitmask = np.zeros((len(rows), -(-logits.shape[1] // _WORD)), dtype=np.int32)
        for at, row in enumerate(rows):
            self._requests[row].catch_up()
            self._requests[row].matcher.fill(bitmask, at)
        legal = np.unpackbits(bitmask.view(np.uint8), axis=1, bitorder="little")
        illegal = torch.from_numpy(legal[:, : logits.shape[1]] == 0).to(self._device)
        index = torch.tensor(rows, device=self._device)
        logits[index] = logits[index].masked_fill(illegal, -torch.inf)
        return logits
