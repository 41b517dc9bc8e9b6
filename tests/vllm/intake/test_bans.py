"""Turns that may call nothing: what the engine gets in the place of a grammar."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.tokenizers import get_tokenizer

from enforcer.request import carrier, spec_text
from enforcer.vllm.intake import frontend, sampling_options
from enforcer.vllm.server import runtime
from tests.vllm_servers import TINY

MARKERS = [
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
    *("<|tool_call_argument_begin|>", "<|tool_call_end|>"),
]
NONE = spec_text.write([], None, None, 0)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Give the tiny model's, as vLLM wraps it."""
    return get_tokenizer(TINY)


@pytest.fixture
def take_in(tokenizer: Any) -> Callable[..., SamplingParams]:
    """Take a request in as vLLM's input processor does, up to the parameters that go on."""

    def original(_self: Any, request_id: str, prompt: str, params: SamplingParams) -> Any:
        copy = params.clone()
        copy.update_from_tokenizer(tokenizer)
        ids = tokenizer.encode(prompt, add_special_tokens=False)
        made = {"request_id": request_id, "sampling_params": copy, "prompt_token_ids": ids}
        return SimpleNamespace(**made, resumable=False)

    def run(spec: str, *, v2: bool = True, prompt: str = "Hi", **more: Any) -> SamplingParams:
        tag = carrier.structural_tag(spec)
        own = StructuredOutputsParams(structural_tag=tag)
        params = SamplingParams(structured_outputs=own, **more)
        model = SimpleNamespace(logits_processors=None, max_model_len=640)
        config = SimpleNamespace(use_v2_model_runner=v2, model_config=model)
        processor = SimpleNamespace(vllm_config=config, model_config=model, tokenizer=tokenizer)
        made = frontend.process_inputs(original, processor, "r", prompt, params)
        assert params.structured_outputs.structural_tag == tag  # the caller's own stay
        return made.sampling_params

    return run


@pytest.mark.parametrize("spec", [NONE, spec_text.write([TOOL], "none", None, 3)])
def test_markers_are_banned_without_a_grammar(take_in: Any, tokenizer: Any, spec: str) -> None:
    params = take_in(spec)
    assert params.structured_outputs is None
    ids = sorted(tokenizer.convert_tokens_to_ids(MARKERS))
    assert params.bad_words_token_ids == [[token] for token in ids]


def test_what_the_client_bans_stays_banned(take_in: Any, tokenizer: Any) -> None:
    params = take_in(NONE, bad_words=["Paris"], logit_bias={5: 2.0})
    paris = tokenizer.encode("Paris", add_special_tokens=False)
    assert paris in params.bad_words_token_ids
    assert len(params.bad_words_token_ids) >= len(MARKERS) + 1
    assert params.logit_bias == {5: 2.0}


@pytest.mark.parametrize(
    "words", [[chr(c) for c in range(33, 127)] + [f"{n}" for n in range(10, 45)], ["a b c " * 350]]
)
def test_more_than_the_engine_can_hold_is_refused(take_in: Any, words: list[str]) -> None:
    with pytest.raises(VLLMValidationError, match="bad"):
        take_in(NONE, bad_words=words)


@pytest.mark.parametrize(
    "spec",
    [
        spec_text.write([TOOL], "auto", None, 0),
        spec_text.write([], None, None, 0, {"type": "json_object"}),
        spec_text.write([TOOL], "none", None, 0, {"type": "regex", "regex": "a"}),
    ],
)
def test_where_there_is_something_to_enforce_the_spec_stays(take_in: Any, spec: str) -> None:
    params = take_in(spec)
    assert carrier.find(params) == (spec, "")
    assert not params.bad_words_token_ids


def test_the_first_runner_and_engines_that_require_a_spec_get_it(take_in: Any, use: Any) -> None:
    assert take_in(NONE, v2=False).structured_outputs is not None
    use(require="on")
    assert take_in(NONE).structured_outputs is not None


def test_a_prompt_that_has_begun_calls_is_refused(take_in: Callable[..., SamplingParams]) -> None:
    prompt = "<|im_assistant|>a<|im_middle|><|tool_calls_section_begin|>"
    with pytest.raises(VLLMValidationError, match="IllegalPrefix"):
        take_in(NONE, prompt=prompt)


def test_no_think_is_banned(tokenizer: Any) -> None:
    thinks = tokenizer.convert_tokens_to_ids(["<think>", "</think>"])
    assert sampling_options.banned_ids(runtime.table_for(tokenizer)).isdisjoint(thinks)
