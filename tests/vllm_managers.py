"""vLLM's `StructuredOutputManager` without an engine around it, and requests for it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from vllm import SamplingParams
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

import enforcer


def manager(tokenizer, size, *, sequences=16, drafts=0):
    """Build vLLM's own manager; only what it reads of the configuration is there."""
    config = SimpleNamespace(
        parallel_config=SimpleNamespace(distributed_executor_backend="mp"),
        scheduler_config=SimpleNamespace(max_num_seqs=sequences),
        model_config=SimpleNamespace(
            skip_tokenizer_init=True,
            is_diffusion=False,
            max_model_len=4096,
            get_vocab_size=lambda: size,
        ),
        structured_outputs_config=SimpleNamespace(
            reasoning_parser_plugin="", reasoning_parser="", enable_in_reasoning=False
        ),
        num_speculative_tokens=drafts,
        speculative_config=None,
    )
    built = StructuredOutputManager(config)
    built.tokenizer = tokenizer
    built.executor = ThreadPoolExecutor(2)
    return built


def request(name, prompt_ids, structured=None, **more):
    """Build a request as the engine has it; `structured` are `structured_outputs`."""
    wanted = None
    if structured is not None:
        backend = structured.pop("_backend", "xgrammar")
        wanted = StructuredOutputsParams(**structured)
        wanted._backend = backend
    params = SamplingParams(max_tokens=64, structured_outputs=wanted)
    return Request(
        request_id=name,
        prompt_token_ids=list(prompt_ids),
        sampling_params=params,
        pooling_params=None,
        **more,
    )


def enforced(name, prompt_ids, tools, choice="auto", **more):
    """Build a request that carries a spec."""
    body = enforcer.extra_body(tools, choice)["structured_outputs"]
    return request(name, prompt_ids, json.loads(json.dumps(body)), **more)
