"""The logits processor: what it refuses, and V1's interface on a fake batch."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.sample.logits_processor.interface import BatchUpdate, MoveDirectionality
from vllm.v1.sample.logits_processor.interface import LogitsProcessor as V1LogitsProcessor
from vllm.v1.worker.gpu.sample.logits_processor.interface import (
    LogitsProcessor as V2LogitsProcessor,
)

import enforcer
from enforcer.api import Enforcer
from enforcer.errors import ConfigurationError, EngineFailure
from enforcer.request import carrier, spec_text
from enforcer.turn.matcher import Matcher
from enforcer.vllm.config import names
from enforcer.vllm.config import settings as settings_
from enforcer.vllm.logits_processor.processor import EnforcerLogitsProcessor
from tests.vllm.processed import (
    ENFORCER,
    EVERYTHING,
    MODEL_SIZE,
    OPENING,
    PROMPTS,
    SLOTS,
    TOOLS,
    VOCABULARY,
    config,
    expected,
    ids,
    legal_rows,
    params,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_vocabulary")]


def test_one_class_for_both_interfaces() -> None:
    assert issubclass(EnforcerLogitsProcessor, V1LogitsProcessor)
    assert issubclass(EnforcerLogitsProcessor, V2LogitsProcessor)


END_ONLY = {*ENFORCER.table.turn_end_ids} & {*map(VOCABULARY.control, ("<|im_end|>", "[EOS]"))}


def v1() -> EnforcerLogitsProcessor:
    return EnforcerLogitsProcessor(config(), torch.device("cpu"), False)


def update(added: Any = (), removed: Any = (), moved: Any = (), size: int = SLOTS) -> BatchUpdate:
    return BatchUpdate(batch_size=size, removed=removed, added=added, moved=moved)


def with_rows(*added: Any) -> EnforcerLogitsProcessor:
    """Make a processor with rows of parameters, a prompt and ids that are written."""
    processor = v1()
    processor.update_state(update([(at, *row) for at, row in enumerate(added)]))
    return processor


def run(processor: EnforcerLogitsProcessor, count: int = SLOTS) -> list[set[int]]:
    return legal_rows(processor.apply(torch.zeros(count, MODEL_SIZE)))


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Leave out that a processor has started: whether vLLM's logger says it, others decide."""
    caplog.set_level("WARNING", logger="vllm.enforcer")


def test_a_marker_cannot_be_spelled_for_vllms_parser_to_find() -> None:
    """It reads the reply's text, in which a control token and its name look alike."""
    marker = "<|tool_calls_section_begin|>"
    spelled = [token for char in marker for token in ids(char)]
    opened = run(with_rows((params(TOOLS), PROMPTS[0], spelled[:-1])))[0]
    assert spelled[-1] not in opened
    assert {*ids("a"), *ids(marker)} <= opened


def test_v1_follows_rows_that_are_added_moved_and_removed() -> None:
    prompt = PROMPTS[0]
    outputs: list[list[int]] = [[], [], []]
    wanted = (params(TOOLS), SamplingParams(), params(TOOLS, "required"))
    processor = with_rows(*((own, prompt, ids) for own, ids in zip(wanted, outputs, strict=True)))
    outputs[0] += ids("a")
    outputs[2] += ids("<|tool_calls_section_begin|><|tool_call_begin|>")
    zero, two = expected(prompt, outputs[0]), expected(prompt, outputs[2], choice="required")
    assert run(processor) == [zero, EVERYTHING, two, EVERYTHING]
    processor.update_state(update(moved=[(0, 2, MoveDirectionality.SWAP)]))
    assert run(processor) == [two, EVERYTHING, zero, EVERYTHING]
    moved = [(2, 0, MoveDirectionality.UNIDIRECTIONAL)]
    processor.update_state(update(removed=[0], moved=moved, size=2))
    assert run(processor, 2) == [zero, EVERYTHING]
    processor.update_state(update([(0, SamplingParams(), prompt, [])], size=1))
    assert run(processor, 1) == [EVERYTHING]


def test_v1_reads_ids_when_they_are_final() -> None:
    output: list[int] = []
    processor = with_rows((params(TOOLS), PROMPTS[0], output))
    run(processor)
    output.append(-1)  # as async scheduling does
    processor.update_state(None)
    output[-1:] = ids("<|tool_calls_section_begin|>")
    assert run(processor)[0] == expected(PROMPTS[0], output)


def test_v1_catches_up_after_preemption_and_after_a_shortened_output() -> None:
    prompt = PROMPTS[0]
    output = ids("<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0")
    processor = with_rows((params(TOOLS), prompt, output))
    run(processor)
    again = list(output)
    processor.update_state(update(removed=[0], size=0))
    processor.update_state(update([(0, params(TOOLS), prompt, again)]))
    assert run(processor)[0] == expected(prompt, output)
    del again[1:]
    assert run(processor)[0] == expected(prompt, again)


def test_v1_refuses_speculative_decoding() -> None:
    speculative = SimpleNamespace(rejection_sample_method="standard")
    with pytest.raises(ConfigurationError, match="speculative"):
        EnforcerLogitsProcessor(config(speculative), torch.device("cpu"), False)


def test_a_prompt_that_cannot_go_on_closes_the_gate_for_its_request_only(lines: Any) -> None:
    begun = ids(OPENING + "<|tool_calls_section_begin|>")
    processor = with_rows((params(TOOLS, "none"), begun, []), (params(TOOLS), PROMPTS[0], []))
    assert run(processor)[:2] == [END_ONLY, expected(PROMPTS[0], [])]
    assert lines() == ['enforcer: turn failed reason="start" error="IllegalPrefix"']


def test_an_id_that_was_masked_closes_the_gate(lines: Any) -> None:
    output: list[int] = []
    processor = with_rows((params(TOOLS), PROMPTS[0], output))
    output.append(-1)  # a placeholder that nobody repaired
    assert run(processor)[0] == END_ONLY
    output.append(VOCABULARY.control("<|im_end|>"))
    assert run(processor)[0] == END_ONLY
    assert lines() == ['enforcer: turn failed reason="rejected" state="START"']


def test_a_gate_that_closes_is_told_once_and_others_go_on(lines: Any, monkeypatch: Any) -> None:
    processor = with_rows(*[(params(TOOLS), PROMPTS[0], [])] * 2)
    assert run(processor)[0] == expected(PROMPTS[0], [])
    following = Enforcer.start
    broken: list[Matcher] = []

    def start(*args: Any, **more: Any) -> Matcher:
        broken.append(following(*args, **more))
        return broken[-1]

    monkeypatch.setattr(Enforcer, "start", start)
    processor.update_state(update([(2, params(TOOLS), PROMPTS[0], [])]))
    broken[0].fail(EngineFailure("the engine has too many expressions"))
    for _ in range(2):
        assert run(processor)[:3] == [expected(PROMPTS[0], [])] * 2 + [END_ONLY]
    failure = 'reason="gate_closed" state="START" error="EngineFailure"'
    assert lines() == [f"enforcer: turn failed {failure}"]


def test_a_model_with_fewer_ids_than_its_tokenizer_is_refused(monkeypatch: Any) -> None:
    small = config()
    monkeypatch.setattr(small.model_config, "get_vocab_size", lambda: VOCABULARY.size - 1)
    with pytest.raises(ConfigurationError, match="ids"):
        EnforcerLogitsProcessor(small, torch.device("cpu"), False)


BAD = {"type": "function", "function": {"name": "f", "parameters": {"type": "text"}}}


@pytest.mark.parametrize(
    ("sampling", "says"),
    [
        (SamplingParams(extra_args={"enforcer": "{}"}), "enforcer"),
        (SamplingParams(extra_args={"enforcer": 3}), "takes no words"),
        (SamplingParams(extra_args={"enforcer": "off"}), "takes no words"),
        (params([BAD]), "type"),
        (params(TOOLS, min_tokens=3, max_tokens=9), "min_tokens"),
        (params(TOOLS, allowed_token_ids=[1]), "allowed_token_ids"),
        (params(TOOLS, thinking_token_budget=5), "thinking_token_budget"),
        (params(TOOLS, stop=["x"]), "`stop`"),
        (params(TOOLS, stop_token_ids=[3]), "`stop_token_ids`"),
    ],
)
def test_the_server_refuses_unenforceable_requests(sampling: SamplingParams, says: str) -> None:
    with pytest.raises(VLLMValidationError, match=says):
        EnforcerLogitsProcessor.validate_params(sampling)


def test_stops_of_a_request_that_calls_nothing_are_served() -> None:
    EnforcerLogitsProcessor.validate_params(params(TOOLS, "none", stop=["x"], stop_token_ids=[3]))


def test_the_engine_is_told_what_the_server_has_settled() -> None:
    extra = {"other": 1, **params(TOOLS).extra_args}
    sampling = SamplingParams(extra_args=extra)
    EnforcerLogitsProcessor.validate_params(sampling)
    assert sampling.extra_args["other"] == 1
    spec = spec_text.read(sampling.extra_args[carrier.KEY])
    assert spec.settled.options == settings_.current().options
    assert 'settled":null' in extra[carrier.KEY]  # the caller's own is left as it was
    again = dict(sampling.extra_args)
    EnforcerLogitsProcessor.validate_params(sampling)
    assert sampling.extra_args == again


def test_a_forgotten_via_is_named_where_the_plugin_is_not_loaded(monkeypatch: Any) -> None:
    own = StructuredOutputsParams(**enforcer.extra_body(TOOLS)["structured_outputs"])
    sampling = SamplingParams(structured_outputs=own)
    method = "_validate_structured_outputs"
    bare = getattr(SamplingParams, method)
    monkeypatch.setattr(SamplingParams, method, getattr(bare, names.PATCHED, bare))
    with pytest.raises(VLLMValidationError, match=r"via=enforcer\.Route"):
        EnforcerLogitsProcessor.validate_params(sampling)
    monkeypatch.setattr(SamplingParams, method, Mock(**{names.PATCHED: bare}))
    EnforcerLogitsProcessor.validate_params(sampling)
    stock = StructuredOutputsParams(structural_tag='{"type": "structural_tag"}')
    monkeypatch.setattr(SamplingParams, method, bare)
    EnforcerLogitsProcessor.validate_params(SamplingParams(structured_outputs=stock))


def test_a_request_without_a_spec_is_not_looked_at() -> None:
    EnforcerLogitsProcessor.validate_params(SamplingParams(min_tokens=3, max_tokens=9))
