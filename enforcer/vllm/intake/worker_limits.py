"""Bounds of Model Runner V2 on a request's options: beyond them, its worker ends with the engine.

Every request that exceeds one is rejected, since it would end all others. vLLM checks some bounds
only where it is too late.
"""

from __future__ import annotations

from typing import Any

from vllm import envs

from enforcer.vllm.intake.answers import option_refusal

# Of vLLM 0.32 and 0.33, in `v1/worker/gpu/sample/logit_bias.py`; their import takes Triton.
_ALLOWED, _BIASED, _STOPS = 1024, 1024, 128


def refuse(params: Any, vllm_config: Any) -> None:
    """Reject sampling parameters that the worker has no room for.

    Args:
        params: as the engine gets them, the model's own stop ids among them; None for a request
            that generates nothing.
        vllm_config: the server's.

    Raises:
        VLLMValidationError: there are more of something than the worker takes.

    """
    if params is None:
        return
    # Nobody holds stop ids that nothing forbids.
    stops = params.all_stop_token_ids if params.min_tokens > 0 else ()
    counts = [
        ("allowed_token_ids", len(params.allowed_token_ids or ()), _ALLOWED),
        ("logit_bias", len(params.logit_bias or ()), _BIASED),
        ("stop_token_ids", len(stops), _STOPS),
    ]
    if words := params.bad_words_token_ids:
        counts.append(("bad_words", len(words), envs.VLLM_MAX_NUM_BAD_WORDS))
        counts.append(("bad_words", sum(map(len, words)), envs.VLLM_MAX_BAD_WORDS_TOTAL_TOKENS))
    for option, count, most in counts:
        if count > most and vllm_config.use_v2_model_runner:  # which takes vLLM a while to tell
            raise option_refusal(
                option,
                f"`{option}` has {count} entries with those that the server adds, of which "
                f"this server takes {most}: leave some out",
            )
