"""Requests to the logits processor, and what their rows must be, over the small vocabulary."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from vllm import SamplingParams

import enforcer
from enforcer.vllm.native import native_tags
from enforcer.vllm.native.misreadings import ReadableMatcher
from tests import vocabularies
from tests.engine_cases import closed
from tests.support.tools import tool

VOCABULARY = vocabularies.small()
ENFORCER = enforcer.Enforcer(VOCABULARY)
MODEL_SIZE = VOCABULARY.size + 40  # as models pad their embeddings
EVERYTHING = set(range(MODEL_SIZE))
SLOTS, LONGEST = 4, 96
OPENING = "<|im_assistant|>assistant<|im_middle|>"


TOOLS = [
    tool("get", closed({"a": {"enum": [1, 2]}}, "a")),
    tool("get_weather", closed({"a": {"enum": ["é", True]}}, "a")),
]


def config(speculative: SimpleNamespace | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        speculative_config=speculative,
        model_config=SimpleNamespace(get_vocab_size=lambda: MODEL_SIZE, max_model_len=4096),
    )


def params(tools: list[dict[str, Any]], choice: str = "auto", **more: Any) -> SamplingParams:
    body = enforcer.extra_body(tools, choice, via=enforcer.Route.LOGITS_PROCESSOR)
    return SamplingParams(extra_args=body["vllm_xargs"], **more)


def legal_rows(logits: Tensor) -> list[set[int]]:
    """Give the ids that each row leaves open."""
    return [set(torch.nonzero(row > -torch.inf).flatten().tolist()) for row in logits]


def ids(text: str) -> list[int]:
    return vocabularies.write(VOCABULARY, text)


PROMPTS = [
    ids("<|im_user|>user<|im_middle|>the tool<|im_end|>" + OPENING),
    ids(OPENING),
    ids(OPENING + "<think>"),
]
KINDS = [(TOOLS, "auto"), (TOOLS, "required"), (TOOLS[:1], "required"), (None, None)]


def readable(tools: list[dict[str, Any]] | None, choice: Any, prompt: list[int]) -> ReadableMatcher:
    """Give the matcher of a turn that vLLM's own parser reads."""
    reader = native_tags.reader(ENFORCER.table)
    assert reader is not None
    return ReadableMatcher(ENFORCER.matcher(tools, choice, prompt_ids=prompt), reader)


def expected(
    prompt: list[int], output: list[int], tools: list[dict[str, Any]] = TOOLS, choice: str = "auto"
) -> set[int]:
    matcher = readable(tools, choice, prompt)
    vocabularies.feed(matcher, output)
    return vocabularies.legal(matcher)
