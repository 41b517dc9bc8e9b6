"""The logits processor: V2's interface on a fake runner."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from vllm import SamplingParams
from vllm.v1.worker.gpu.sample.logits_processor.interface import (
    LogitsContext,
    LogitsProcRequestState,
)

from enforcer.errors import ConfigurationError
from enforcer.vllm.logits_processor.processor import EnforcerLogitsProcessor
from enforcer.vllm.native.misreadings import ReadableMatcher
from tests.vllm.processed import (
    EVERYTHING,
    KINDS,
    LONGEST,
    MODEL_SIZE,
    PROMPTS,
    SLOTS,
    TOOLS,
    VOCABULARY,
    config,
    expected,
    ids,
    legal_rows,
    params,
    readable,
)
from tests.vocabularies import feed, legal
from tests.walks import examples

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_vocabulary")]


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

    def add(self, slot: int, sampling: Any, prompt: list[int], output: Any = ()) -> bool:
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
        events = ["step"] * 3 + ["new"] * bool(free) + ["resume"] * bool(free and waiting)
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
