"""What ends vLLM's V2 worker, over that worker's own state of a request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from vllm import SamplingParams, envs
from vllm.exceptions import VLLMValidationError
from vllm.v1.worker.gpu.sample import logit_bias

from enforcer.vllm.intake import sampling_options

V1, V2 = (SimpleNamespace(use_v2_model_runner=which) for which in (False, True))
MOST = {
    "allowed_token_ids": logit_bias.MAX_NUM_ALLOWED_TOKEN_IDS,
    "logit_bias": logit_bias.MAX_NUM_LOGIT_BIAS_TOKENS,
    "stop_token_ids": logit_bias.MAX_NUM_STOP_TOKEN_IDS,
    "bad_words": envs.VLLM_MAX_NUM_BAD_WORDS,
}


def parameters(option: str, count: int) -> SamplingParams:
    ids = list(range(count))
    if option == "bad_words":
        params = SamplingParams()
        params._bad_words_token_ids = [[each] for each in ids]
        return params
    given: dict[str, Any] = {option: dict.fromkeys(ids, 1.0) if option == "logit_bias" else ids}
    return SamplingParams(**given, min_tokens=1)


@pytest.mark.parametrize("option", MOST)
def test_as_much_as_the_worker_holds_is_taken_and_no_more(option: str) -> None:
    sampling_options.reject_over_worker_limits(parameters(option, MOST[option]), V2)
    more = parameters(option, MOST[option] + 1)
    with pytest.raises(VLLMValidationError, match=f"this server takes {MOST[option]}") as caught:
        sampling_options.reject_over_worker_limits(more, V2)
    assert caught.value.parameter == option
    sampling_options.reject_over_worker_limits(more, V1)


def test_words_are_counted_by_their_ids_as_well() -> None:
    params = SamplingParams()
    params._bad_words_token_ids = [[1] * 600, [2] * 600]
    with pytest.raises(VLLMValidationError, match="1200 entries"):
        sampling_options.reject_over_worker_limits(params, V2)


def test_stop_ids_that_nobody_forbids_are_not_held() -> None:
    sampling_options.reject_over_worker_limits(SamplingParams(stop_token_ids=list(range(500))), V2)


@pytest.mark.parametrize("option", ["allowed_token_ids", "logit_bias", "stop_token_ids"])
def test_the_worker_raises_beyond_it(option: str) -> None:
    # Its buffers are of a device's; only what it checks before it writes is of interest.
    state = logit_bias.LogitBiasState.__new__(logit_bias.LogitBiasState)
    state.prompt_len_np = np.zeros(1, dtype=np.int32)
    state.use_logit_bias = np.zeros(1, dtype=bool)
    for name in (
        *("num_allowed_token_ids", "allowed_token_ids", "num_logit_bias", "logit_bias_token_ids"),
        *("logit_bias", "min_lens", "num_stop_token_ids", "restore_when_all_masked"),
        "stop_token_ids",
    ):
        own = SimpleNamespace(np=np.zeros(1, dtype=np.int32), stage_write=lambda *_: None)
        setattr(state, name, own)
    assert state.add_request(0, parameters(option, MOST[option]))
    with pytest.raises(ValueError, match="Too many"):
        state.add_request(0, parameters(option, MOST[option] + 1))
