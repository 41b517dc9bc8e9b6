"""Stop strings and stop ids, against vLLM's own detokenizers over the tiny model's tokenizer."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer, SlowIncrementalDetokenizer

from enforcer.request import carrier, spec_text
from enforcer.vllm.intake import sampling_options
from enforcer.vllm.native import marker_roles
from enforcer.vllm.replies import reply
from enforcer.vllm.server import runtime
from tests.stock_tags import python_tag

NAME = {"name": "look"}
TOOL = {"type": "function", "function": {**NAME, "parameters": {"type": "object"}}}
TAG = carrier.structural_tag(spec_text.write([], None, None, 0))
OPENED = "<|im_assistant|>a<|im_middle|>"
CALL = (
    "Let me see.<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0"
    '<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>'
)


@pytest.fixture(params=[FastIncrementalDetokenizer, SlowIncrementalDetokenizer])
def detokenizer(request: pytest.FixtureRequest, tokenizer: Any) -> Callable[..., Any]:
    """Make a detokenizer as vLLM makes one, of either kind."""
    kind = request.param
    # As in vLLM's copies of a request with `n`, which share it.
    constraint = cache(lambda tag: StructuredOutputsParams(structural_tag=tag))

    def make(stop: list[str], *, tag: str | None = TAG, prompt: str = OPENED) -> Any:
        own = tag and constraint(tag)
        params = SamplingParams(stop=stop, skip_special_tokens=False, structured_outputs=own)
        ids = tokenizer.encode(prompt, add_special_tokens=False)
        sent = {"request_id": "r", "prompt_token_ids": ids, "prompt_embeds": None}
        plain = partial(reply.from_new_request, lambda _cls, tokens, wanted: kind(tokens, wanted))
        return plain(None, tokenizer, SimpleNamespace(**sent, sampling_params=params))

    return make


@pytest.fixture(scope="module")
def ids(tokenizer: Any) -> list[int]:
    """Give the ids of CALL."""
    return list(tokenizer.encode(CALL, add_special_tokens=False))


def _feed(made: Any, ids: list[int], at_once: int) -> tuple[str, str | None]:
    """Feed ids as steps of `at_once`; give the text that streams, and the string found."""
    text = ""
    for begin in range(0, len(ids), at_once):
        found = made.update(ids[begin : begin + at_once], False)
        text += made.get_next_output_text(found is not None, True)
        if found:
            return text, found
    return text + made.get_next_output_text(True, True), None


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("stop", ['"', "Paris", "}", "look", "<|tool_call", ":0"])
def test_calls_have_no_stops(detokenizer: Any, ids: list[int], stop: str, at_once: int) -> None:
    made = detokenizer([stop])
    text, found = _feed(made, ids, at_once)
    assert found is None
    assert text.replace(" ", "") == CALL.replace(" ", "")
    assert made.output_token_ids == ids


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 100])
def test_one_before_the_calls_is_found_and_what_follows_is_dropped(
    detokenizer: Any, tokenizer: Any, ids: list[int], at_once: int
) -> None:
    made = detokenizer(["see"])
    assert _feed(made, ids, at_once) == ("Let me ", "see")
    assert tokenizer.decode(made.output_token_ids).startswith("Let me see")
    assert len(made.output_token_ids) < len(ids) // 2


def test_a_turn_that_begins_in_a_call_has_no_stop_strings(detokenizer: Any, tokenizer: Any) -> None:
    begun, rest = CALL[: CALL.index("Paris")], CALL[CALL.index("Paris") :]
    made = detokenizer(["Paris"], prompt=OPENED + begun)
    assert _feed(made, tokenizer.encode(rest, add_special_tokens=False), 1)[1] is None


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": NAME}])
def test_nor_is_one_in_calls_of_vllm_tags(detokenizer: Any, ids: list[int], choice: object) -> None:
    tag = python_tag({"tools": [TOOL], "tool_choice": choice}, "parameter")
    assert _feed(detokenizer(["Paris"], tag=tag), ids, 1)[1] is None
    assert _feed(detokenizer(["see"], tag=tag), ids, 1)[1] == "see"


@pytest.mark.parametrize("tag", [None, '{"type": "structural_tag"}'])
def test_other_requests_are_as_ever(detokenizer: Any, ids: list[int], tag: str | None) -> None:
    assert _feed(detokenizer(["Paris"], tag=tag), ids, 1)[1] == "Paris"


READ = spec_text.read(spec_text.write([TOOL], "auto", True, 0))


def _stopping(tokenizer: Any, *names: str) -> SamplingParams:
    return SamplingParams(stop_token_ids=tokenizer.convert_tokens_to_ids(list(names)))


@pytest.mark.parametrize(
    "name", ["a", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_end|>"]
)
def test_a_stop_id_that_can_stand_inside_a_call_is_refused(tokenizer: Any, name: str) -> None:
    with pytest.raises(VLLMValidationError, match="half a call") as caught:
        sampling_options._reject_stop_ids(_stopping(tokenizer, "<|im_end|>", name), READ, tokenizer)
    assert caught.value.parameter == "stop_token_ids"


@pytest.mark.parametrize(("choice", "refuses"), [("auto", True), ("none", False)])
def test_so_it_is_beside_a_clients_spec(tokenizer: Any, choice: str, *, refuses: bool) -> None:
    spec = spec_text.read(spec_text.write([TOOL], choice, None, 0))
    inside, end = tokenizer.convert_tokens_to_ids(["city", "<|im_end|>"])
    taken = SamplingParams(stop_token_ids=[end]), SamplingParams()
    for params in taken:
        sampling_options._reject_stop_ids(params, spec, tokenizer)
    with pytest.raises(VLLMValidationError, match="half a call") if refuses else nullcontext():
        sampling_options._reject_stop_ids(SamplingParams(stop_token_ids=[inside]), spec, tokenizer)


@pytest.mark.parametrize("name", ["<|im_end|>", "<|tool_calls_section_end|>", "</think>"])
def test_stop_ids_that_cut_no_call_are_taken(tokenizer: Any, name: str) -> None:
    sampling_options._reject_stop_ids(_stopping(tokenizer, name), READ, tokenizer)


def test_what_is_no_id_of_the_models_can_stand_in_no_call(tokenizer: Any) -> None:
    """What becomes of it vLLM says."""
    size = runtime.table_for(tokenizer).vocabulary.size
    foreign = SimpleNamespace(stop_token_ids=[-1, size, 99_999_999])
    sampling_options._reject_stop_ids(foreign, READ, tokenizer)
    foreign.stop_token_ids = [-1, 5]
    with pytest.raises(VLLMValidationError, match="has 5, which"):
        sampling_options._reject_stop_ids(foreign, READ, tokenizer)


def test_many_stop_ids_are_looked_up_once(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Mock(side_effect=marker_roles.tokens)
    monkeypatch.setattr(marker_roles, "tokens", tokens)
    ends = sorted(runtime.table_for(tokenizer).turn_end_ids)
    params = SamplingParams(stop_token_ids=ends * 1000)
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    spec = spec_text.read(spec_text.write(tools, "auto", True, 0))
    sampling_options._reject_stop_ids(params, spec, tokenizer)
    assert tokens.call_count == 1


def test_what_a_prompt_has_begun_is_read_once_for_all_replies(
    detokenizer: Any, tokenizer: Any, ids: list[int], ids_read: list[int]
) -> None:
    begun = "so it is " * 100
    made = [detokenizer(["Paris"], prompt=OPENED + begun) for _ in range(8)]
    assert [_feed(one, ids, 3)[1] for one in made] == [None] * 8
    assert len(ids_read) < 2 * len(tokenizer.encode(begun)) + 8 * len(ids)
