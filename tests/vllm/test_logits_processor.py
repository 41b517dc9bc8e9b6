"""The logits processor: V2's interface on a fake runner, V1's on a fake and on vLLM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.sample.logits_processor.interface import (
    BatchUpdate,
    MoveDirectionality,
)
from vllm.v1.sample.logits_processor.interface import LogitsProcessor as V1LogitsProcessor
from vllm.v1.worker.gpu.sample.logits_processor.interface import (
    LogitsContext,
    LogitsProcRequestState,
)
from vllm.v1.worker.gpu.sample.logits_processor.interface import (
    LogitsProcessor as V2LogitsProcessor,
)

import enforcer
from enforcer.errors import ConfigurationError, EngineFailure
from enforcer.request import spec as specs
from enforcer.vllm import logits_processor, names, rows, runtime, stock
from enforcer.vllm import settings as settings_
from enforcer.vllm.logits_processor import EnforcerLogitsProcessor
from enforcer.vllm.readable import ReadableMatcher
from tests import vocabularies
from tests.walks import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from enforcer.turn.matcher import Matcher


pytestmark = pytest.mark.slow

VOCABULARY = vocabularies.small()
ENFORCER = enforcer.Enforcer(VOCABULARY)
MODEL_SIZE = VOCABULARY.size + 40  # as models pad their embeddings
SLOTS, LONGEST = 4, 96
OPENING = "<|im_assistant|>assistant<|im_middle|>"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"a": {"enum": values}},
                "required": ["a"],
                "additionalProperties": False,
            },
        },
    }
    for name, values in (("get", [1, 2]), ("get_weather", ["é", True]))
]


@pytest.fixture(autouse=True, scope="module")
def _small_vocabulary() -> Iterator[None]:
    """Put the small vocabulary in the place of a model's tokenizer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logits_processor, "cached_tokenizer_from_config", lambda _: "tokenizer")
        patch.setattr(runtime, "enforcer_for", lambda *_: ENFORCER)
        patch.setattr(runtime, "table_for", lambda *_: ENFORCER.table)
        yield


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


def test_one_class_for_both_interfaces() -> None:
    assert issubclass(EnforcerLogitsProcessor, V1LogitsProcessor)
    assert issubclass(EnforcerLogitsProcessor, V2LogitsProcessor)


def readable(tools: list[dict[str, Any]] | None, choice: Any, prompt: list[int]) -> ReadableMatcher:
    """Give the matcher of a turn that vLLM's own parser reads."""
    reader = stock.text_reader(ENFORCER.table)
    assert reader is not None
    return ReadableMatcher(ENFORCER.matcher(tools, choice, prompt_ids=prompt), reader)


def feed(matcher: ReadableMatcher, ids: list[int]) -> None:
    for token_id in ids:
        assert matcher.accept(token_id)


def legal(matcher: ReadableMatcher) -> set[int]:
    bitmask = np.zeros((1, -(-VOCABULARY.size // 32)), dtype=np.int32)
    matcher.fill(bitmask)
    return set(np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")).tolist())


class Runner:
    """As much of vLLM's V2 model runner as its logits processors see, on the CPU."""

    def __init__(self, speculative: SimpleNamespace | None = None) -> None:
        def table(*shape: int) -> Tensor:
            return torch.full(shape, 7, dtype=torch.int32)  # what is not written is garbage

        def host() -> SimpleNamespace:
            return SimpleNamespace(np=np.zeros(SLOTS, dtype=np.int32))

        self.state = LogitsProcRequestState(
            device=torch.device("cpu"),
            max_num_reqs=SLOTS,
            vocab_size=MODEL_SIZE,
            all_token_ids=SimpleNamespace(gpu=table(SLOTS, LONGEST)),
            prompt_len=host(),
            prefill_len=host(),
            total_len=SimpleNamespace(gpu=table(SLOTS)),
        )
        self.processor = EnforcerLogitsProcessor(config(speculative), self.state)

    def add(
        self,
        slot: int,
        sampling: SamplingParams,
        prompt: list[int],
        output: list[int] | tuple[Any, ...] = (),
    ) -> bool:
        known = [*prompt, *output]
        self.state.prompt_len.np[slot] = len(prompt)
        self.state.prefill_len.np[slot] = len(known)
        self.commit(slot, 0, known)
        wanted = self.processor.add_request(slot, sampling)
        self.processor.apply_staged_writes()
        return wanted

    def commit(self, slot: int, at: int, new: list[int]) -> None:
        self.state.all_token_ids.gpu[slot, at : at + len(new)] = torch.tensor(new).int()

    def step(self, batch: list[tuple[int, int, list[int]]]) -> dict[int, Any]:
        """Run the processor over `(slot, length, drafts)`; gives the open ids by slot."""
        expanded, local, pos, inputs = [], [], [], []
        for slot, length, drafts in batch:
            last = int(self.state.all_token_ids.gpu[slot, length - 1])
            for at, token_id in enumerate([last, *drafts]):
                expanded.append(slot)
                local.append(at)
                pos.append(length - 1 + at)
                inputs.append(token_id)
        slots = [slot for slot, _, _ in batch]
        context = LogitsContext(
            expanded_idx_mapping=torch.tensor(expanded, dtype=torch.int32),
            idx_mapping=torch.tensor(slots, dtype=torch.int32),
            idx_mapping_np=np.array(slots, dtype=np.int32),
            expanded_local_pos=torch.tensor(local, dtype=torch.int32),
            input_ids=torch.tensor(inputs, dtype=torch.int32),
            pos=torch.tensor(pos),
            seq_lens_upper_bound_np=np.array([n + len(d) for _, n, d in batch], dtype=np.int32),
        )
        given_logits = torch.zeros(len(expanded), MODEL_SIZE)
        result = self.processor.apply(given_logits, context)
        opened: dict[Any, Any] = {slot: [] for slot in slots}
        for slot, row in zip(expanded, legal_rows(result), strict=True):
            opened[slot].append(row)
        return opened


class Request:
    """What the V2 test knows of a request: its ids, and a matcher of its own."""

    def __init__(
        self, kind: tuple[list[dict[str, Any]] | None, str | None], prompt: list[int]
    ) -> None:
        self.tools, self.choice = kind
        self.enforced = kind[0] is not None
        self.prompt = prompt
        self.output: list[int] = []

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.output)

    def sampling(self) -> SamplingParams:
        return params(self.tools, self.choice) if self.enforced else SamplingParams()

    def matcher(self, more: list[int] | tuple[Any, ...] = ()) -> ReadableMatcher:
        matcher = readable(self.tools, self.choice, self.prompt)
        feed(matcher, [*self.output, *more])
        return matcher


EVERYTHING = set(range(MODEL_SIZE))


@examples(100)
@given(data=st.data())
def test_v2_follows_slots_drafts_and_preemption(data: st.DataObject) -> None:
    runner = Runner(SimpleNamespace(rejection_sample_method="standard"))
    running: dict[int, Request] = {}
    free = list(range(SLOTS))
    waiting: list[Request] = []

    def admit(request: Request) -> None:
        slot = free.pop(data.draw(st.integers(0, len(free) - 1)))
        running[slot] = request
        wanted = runner.add(slot, request.sampling(), request.prompt, request.output)
        assert wanted is request.enforced

    def take() -> Request:
        slot = data.draw(st.sampled_from(sorted(running)))
        free.append(slot)
        return running.pop(slot)

    for _ in range(30):
        events = (
            ["step", "step", "step"] + ["new"] * bool(free) + ["resume"] * bool(free and waiting)
        )
        events += ["finish", "preempt", "partial"] * bool(running)
        event = data.draw(st.sampled_from(events))
        if event == "new":
            kind, prompt = data.draw(st.sampled_from(KINDS)), data.draw(st.sampled_from(PROMPTS))
            admit(Request(kind, prompt))
        elif event == "resume":
            admit(waiting.pop())
        elif event == "finish":
            take()
        elif event == "preempt":
            waiting.append(take())
        elif event == "partial":  # a piece of a prefill, whose sample vLLM throws away
            slot = data.draw(st.sampled_from(sorted(running)))
            length = data.draw(st.integers(1, int(runner.state.prefill_len.np[slot])))
            if length < int(runner.state.prefill_len.np[slot]):
                assert runner.step([(slot, length, [])]) == {slot: [EVERYTHING]}
        elif running:
            step(runner, running, data.draw)


def step(
    runner: Runner, running: dict[int, Request], draw: Callable[[st.SearchStrategy[Any]], Any]
) -> None:
    slots = draw(st.lists(st.sampled_from(sorted(running)), min_size=1, unique=True))
    batch = []
    for slot in slots:
        request = running[slot]
        drafts = draw_drafts(request, draw)[: LONGEST - request.length - 2]
        batch.append((slot, request.length, drafts))
    opened = runner.step(batch)
    for slot, length, drafts in batch:
        request = running[slot]
        if not request.enforced:
            assert opened[slot] == [EVERYTHING] * (len(drafts) + 1)
            continue
        valid = request.matcher().validate(drafts)
        for at in range(valid + 1):
            assert opened[slot][at] == legal(request.matcher(drafts[:at]))
        assert all(opened[slot])  # a row without a legal id would become NaN
        if request.length > LONGEST - 8:
            continue
        kept = draw(st.integers(0, valid))
        sampled = draw(st.sampled_from(sorted(opened[slot][kept])))
        new = [*drafts[:kept], sampled]
        runner.commit(slot, length, new)
        request.output += new


def draw_drafts(request: Request, draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[int]:
    """Draw up to three ids, legal for the most part."""
    drafts = []
    if not request.enforced:
        found: list[int] = draw(st.lists(st.integers(0, VOCABULARY.size - 1), max_size=3))
        return found
    matcher = request.matcher()
    for _ in range(draw(st.integers(0, 3))):
        choices = sorted(legal(matcher))
        token_id = draw(st.sampled_from(choices) | st.integers(-1, VOCABULARY.size - 1))
        drafts.append(token_id)
        matcher.accept(token_id)
    return drafts


def test_v2_begins_again_where_vllm_computes_again() -> None:
    runner, prompt = Runner(), PROMPTS[1]
    first, other = ids("<|tool_calls_section_begin|>"), ids("a")
    runner.add(0, params(TOOLS), prompt)
    runner.step([(0, len(prompt), [])])
    runner.commit(0, len(prompt), first)
    assert runner.step([(0, len(prompt) + 1, [])]) == {
        0: [{VOCABULARY.control("<|tool_call_begin|>")}]
    }
    assert runner.step([(0, len(prompt), [])])[0][0] == expected(prompt, [])
    runner.commit(0, len(prompt), other)
    assert runner.step([(0, len(prompt) + 1, [])])[0][0] == expected(prompt, other)


@pytest.mark.parametrize("method", ["synthetic", "fly"])
def test_v2_refuses_verification_that_goes_past_the_mask(method: str) -> None:
    with pytest.raises(ConfigurationError, match=method):
        Runner(SimpleNamespace(rejection_sample_method=method))


def v1() -> EnforcerLogitsProcessor:
    return EnforcerLogitsProcessor(config(), torch.device("cpu"), False)


def update(
    added: list[tuple[int, SamplingParams, list[int], list[int]]] | tuple[Any, ...] = (),
    removed: list[int] | tuple[Any, ...] = (),
    moved: list[tuple[int, int, MoveDirectionality]] | tuple[Any, ...] = (),
    size: int = SLOTS,
) -> BatchUpdate:
    return BatchUpdate(batch_size=size, removed=removed, added=added, moved=moved)


def run(processor: EnforcerLogitsProcessor, count: int = SLOTS) -> list[set[int]]:
    return legal_rows(processor.apply(torch.zeros(count, MODEL_SIZE)))


def expected(
    prompt: list[int], output: list[int], tools: list[dict[str, Any]] = TOOLS, choice: str = "auto"
) -> set[int]:
    matcher = readable(tools, choice, prompt)
    feed(matcher, output)
    return legal(matcher)


def test_a_marker_cannot_be_spelled_for_vllms_parser_to_find() -> None:
    """It reads the reply's text, in which a control token and its name look alike."""
    processor, prompt = v1(), PROMPTS[0]
    marker = "<|tool_calls_section_begin|>"
    spelled = [token for char in marker for token in ids(char)]
    output = spelled[:-1]
    processor.update_state(update([(0, params(TOOLS), prompt, output)]))
    opened = run(processor)[0]
    assert spelled[-1] not in opened
    assert {*ids("a"), *ids(marker)} <= opened


def test_v1_follows_rows_that_are_added_moved_and_removed() -> None:
    processor, prompt = v1(), PROMPTS[0]
    outputs: list[list[int]] = [[], [], []]
    processor.update_state(
        update(
            [
                (0, params(TOOLS), prompt, outputs[0]),
                (1, SamplingParams(), prompt, outputs[1]),
                (2, params(TOOLS, "required"), prompt, outputs[2]),
            ]
        )
    )
    outputs[0] += ids("a")
    outputs[2] += ids("<|tool_calls_section_begin|><|tool_call_begin|>")
    zero, two = expected(prompt, outputs[0]), expected(prompt, outputs[2], choice="required")
    assert run(processor) == [zero, EVERYTHING, two, EVERYTHING]
    processor.update_state(update(moved=[(0, 2, MoveDirectionality.SWAP)]))
    assert run(processor) == [two, EVERYTHING, zero, EVERYTHING]
    processor.update_state(
        update(removed=[0], moved=[(2, 0, MoveDirectionality.UNIDIRECTIONAL)], size=2)
    )
    assert run(processor, 2) == [zero, EVERYTHING]
    processor.update_state(update([(0, SamplingParams(), prompt, [])], size=1))
    assert run(processor, 1) == [EVERYTHING]


def test_v1_reads_ids_when_they_are_final() -> None:
    processor, prompt = v1(), PROMPTS[0]
    output: list[int] = []
    processor.update_state(update([(0, params(TOOLS), prompt, output)]))
    run(processor)
    output.append(-1)  # as async scheduling does
    processor.update_state(None)
    output[-1:] = ids("<|tool_calls_section_begin|>")
    assert run(processor)[0] == expected(prompt, output)


def test_v1_catches_up_after_preemption_and_after_a_shortened_output() -> None:
    processor, prompt = v1(), PROMPTS[0]
    output = ids("<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0")
    processor.update_state(update([(0, params(TOOLS), prompt, output)]))
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


def end_only() -> set[int]:
    return {VOCABULARY.control(name) for name in ("<|im_end|>", "[EOS]") if name in ENDS}


ENDS = {name for name, i in VOCABULARY.controls.items() if i in ENFORCER.table.turn_end_ids}


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


def test_a_prompt_that_cannot_go_on_closes_the_gate_for_its_request_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    processor = v1()
    begun = ids(OPENING + "<|tool_calls_section_begin|>")
    processor.update_state(
        update([(0, params(TOOLS, "none"), begun, []), (1, params(TOOLS), PROMPTS[0], [])])
    )
    assert run(processor)[:2] == [end_only(), expected(PROMPTS[0], [])]
    assert _warnings(caplog) == ['enforcer: turn failed reason="start" error="IllegalPrefix"']


def test_an_id_that_was_masked_closes_the_gate(caplog: pytest.LogCaptureFixture) -> None:
    processor = v1()
    output: list[int] = []
    processor.update_state(update([(0, params(TOOLS), PROMPTS[0], output)]))
    output.append(-1)  # a placeholder that nobody repaired
    assert run(processor)[0] == end_only()
    output.append(VOCABULARY.control("<|im_end|>"))
    assert run(processor)[0] == end_only()
    assert _warnings(caplog) == ['enforcer: turn failed reason="rejected" state="START"']


def test_a_gate_that_closes_is_told_once_and_others_go_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = v1()
    processor.update_state(
        update([(0, params(TOOLS), PROMPTS[0], []), (1, params(TOOLS), PROMPTS[0], [])])
    )
    assert run(processor)[0] == expected(PROMPTS[0], [])
    following = runtime.start
    broken: list[Matcher] = []

    def start(*args: Any) -> Matcher:
        broken.append(following(*args))
        return broken[-1]

    monkeypatch.setattr(runtime, "start", start)
    processor.update_state(update([(2, params(TOOLS), PROMPTS[0], [])]))
    broken[0].fail(EngineFailure("the engine has too many expressions"))
    assert run(processor)[:3] == [expected(PROMPTS[0], [])] * 2 + [end_only()]
    assert run(processor)[:3] == [expected(PROMPTS[0], [])] * 2 + [end_only()]
    assert _warnings(caplog) == [
        'enforcer: turn failed reason="gate_closed" state="START" error="EngineFailure"'
    ]


def test_a_model_with_fewer_ids_than_its_tokenizer_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
def test_a_request_that_cannot_be_enforced_is_refused_by_the_server(
    sampling: SamplingParams, says: str
) -> None:
    with pytest.raises(VLLMValidationError, match=says):
        EnforcerLogitsProcessor.validate_params(sampling)


def test_stops_of_a_request_that_calls_nothing_are_served() -> None:
    EnforcerLogitsProcessor.validate_params(params(TOOLS, "none", stop=["x"], stop_token_ids=[3]))


def test_the_engine_is_told_what_the_server_has_settled() -> None:
    extra = {"other": 1, **params(TOOLS).extra_args}
    sampling = SamplingParams(extra_args=extra)
    EnforcerLogitsProcessor.validate_params(sampling)
    assert sampling.extra_args["other"] == 1
    spec = specs.read(sampling.extra_args[specs.KEY])
    assert spec.settled.options == settings_.current().options()
    assert 'settled":null' in extra[specs.KEY]  # the caller's own is left as it was
    again = dict(sampling.extra_args)
    EnforcerLogitsProcessor.validate_params(sampling)
    assert sampling.extra_args == again


def test_a_forgotten_via_is_named_where_the_plugin_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = StructuredOutputsParams(**enforcer.extra_body(TOOLS)["structured_outputs"])
    sampling = SamplingParams(structured_outputs=own)
    method = "_validate_structured_outputs"
    bare = getattr(SamplingParams, method)
    monkeypatch.setattr(SamplingParams, method, getattr(bare, names.PATCHED, bare))
    with pytest.raises(VLLMValidationError, match=r"via=enforcer\.Route"):
        EnforcerLogitsProcessor.validate_params(sampling)

    def patched(*_: object) -> None:
        """Stand in for the plugin's."""

    setattr(patched, names.PATCHED, bare)
    monkeypatch.setattr(SamplingParams, method, patched)
    EnforcerLogitsProcessor.validate_params(sampling)
    stock = StructuredOutputsParams(structural_tag='{"type": "structural_tag"}')
    monkeypatch.setattr(SamplingParams, method, bare)
    EnforcerLogitsProcessor.validate_params(SamplingParams(structured_outputs=stock))


def test_a_request_without_a_spec_is_not_looked_at() -> None:
    EnforcerLogitsProcessor.validate_params(SamplingParams(min_tokens=3, max_tokens=9))


@given(data=st.data(), size=st.integers(1, 100))
def test_a_mask_leaves_what_its_bits_say(data: st.DataObject, size: int) -> None:
    picked = data.draw(st.lists(st.integers(0, 3), min_size=1, unique=True))
    words = -(-size // 32)
    bits = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(-(2**31), 2**31 - 1), min_size=words, max_size=words),
                min_size=len(picked),
                max_size=len(picked),
            )
        ),
        dtype=np.int32,
    )
    logits = torch.arange(4 * size, dtype=torch.float32).reshape(4, size)
    before = logits.clone()
    rows.mask(logits, picked, bits)
    for row in range(4):
        for i in range(size):
            open_ = row not in picked or bits[picked.index(row)][i // 32] >> (i % 32) & 1
            assert logits[row, i] == (before[row, i] if open_ else -torch.inf)
