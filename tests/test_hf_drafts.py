"""Draft tokens of the grammar in transformers' real `generate`, with the tiny model."""

from __future__ import annotations

from functools import cache, partial
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from tests.support.cases import parametrized

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from bench.demo.tiny_model import judge, measure, requests  # noqa: E402
from bench.demo.tiny_model.train import FOLDER  # noqa: E402
from enforcer import Enforcer  # noqa: E402
from enforcer.errors import ConfigurationError  # noqa: E402
from enforcer.hf import TransformersLogitsProcessor  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

pytestmark = pytest.mark.slow

GREETING = {"messages": [{"role": "user", "content": "Hi"}]}


class Tiny:
    """The tiny model, which counts its forward passes."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)
        self.enforcer = Enforcer.from_tokenizer(self.tokenizer)
        self.passes = 0
        self.model.register_forward_hook(self._count)

    def _count(self, *_: object) -> None:
        self.passes += 1

    def begin(
        self, body: dict[str, Any], rows: int = 1
    ) -> tuple[Tensor, TransformersLogitsProcessor]:
        """Return the prompt of a request and its processor."""
        prompt = self.tokenizer.encode(measure.prompt(self.tokenizer, body))
        requests = [measure.fields(body)] * rows
        return torch.tensor([prompt] * rows), TransformersLogitsProcessor(self.enforcer, requests)

    def turn(
        self, body: dict[str, Any], *, is_ours: bool = False, streamer: Any = None, **options: Any
    ) -> tuple[list[int], int]:
        """Return the ids of a turn, and how many forward passes it took."""
        prompt, processor = self.begin(body)
        if is_ours:
            options["custom_generate"] = partial(processor.assisted_decoding, streamer=streamer)
        self.passes = 0
        options = {"max_new_tokens": 120, "logits_processor": [processor]} | options
        made = self.model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
        return made[0, prompt.shape[1] :].tolist(), self.passes


@cache
def tiny() -> Tiny:
    return Tiny()


def bodies(turns: int, seed: int) -> Iterator[dict[str, Any]]:
    return (request.body for request in requests.generate(turns, seed=seed))


@parametrized("cases/hf_drafts.toml", "decodings")
def test_turns_are_the_same_token_by_token(
    turns: int, passes: float, drafting: dict[str, Any], options: dict[str, Any], *, is_ours: bool
) -> None:
    needed = [0, 0]
    for body in bodies(turns, seed=3):
        plain, without = tiny().turn(body, **options)
        drafted, with_drafts = tiny().turn(body, is_ours=is_ours, **options, **drafting)
        assert drafted == plain
        needed = [needed[0] + without, needed[1] + with_drafts]
    assert needed[1] < passes * needed[0]


def test_a_turn_stops_within_draft_tokens() -> None:
    stop = transformers.StopStringCriteria(tiny().tokenizer, ['": "'])
    for body in bodies(6, seed=5):
        streamer = Mock()
        plain, _ = tiny().turn(body, stopping_criteria=[stop])
        drafted, _ = tiny().turn(body, is_ours=True, stopping_criteria=[stop], streamer=streamer)
        prompt, *streamed = (call.args[0].flatten().tolist() for call in streamer.put.mock_calls)
        assert [*chain(*streamed)] == drafted == plain
        assert prompt == tiny().begin(body)[0][0].tolist()


def test_sampled_turns_are_legal() -> None:
    torch.manual_seed(1)
    for body in bodies(10, seed=4):
        ids, _ = tiny().turn(body, is_ours=True, do_sample=True, temperature=2.0, top_k=0)
        assert judge.failures(body, tiny().tokenizer.decode(ids)) <= {judge.Failure.UNFINISHED}


def test_masks_behind_rejected_draft_tokens_are_those_of_the_text_alone() -> None:
    random, scores = Random(1), torch.zeros(1, tiny().enforcer.vocabulary.size)
    for body in bodies(6, seed=6):
        turn = torch.tensor([tiny().turn(body)[0]])
        prompt, processor = tiny().begin(body)
        processor(prompt, scores)
        for _ in range(20):
            row = torch.cat((prompt, turn[:, : random.randint(0, turn.shape[1])]), dim=1)
            alone = tiny().begin(body)[1](row, scores)
            assert torch.equal(processor(row, scores), alone)
            draft = random.choice(alone[0].isfinite().nonzero().tolist())
            processor(torch.cat((row, torch.tensor([draft])), dim=1), scores)


@parametrized("cases/hf_drafts.toml", "wrong")
def test_errors_say_what_to_do(
    rows: int, options: dict[str, Any], words: str, *, is_passed: bool
) -> None:
    prompt, processor = tiny().begin(GREETING, rows)
    options["logits_processor"] = [processor] if is_passed else []
    options["attention_mask"] = torch.ones_like(prompt)
    with pytest.raises(ConfigurationError, match=words):
        tiny().model.generate(prompt, custom_generate=processor.assisted_decoding, **options)


def test_another_prompt_needs_another_processor() -> None:
    _, processor = tiny().begin(GREETING)
    scores = torch.zeros(1, tiny().enforcer.vocabulary.size)
    processor(torch.tensor([[97, 98]]), scores)
    with pytest.raises(ConfigurationError, match="another prompt: use a new"):
        processor(torch.tensor([[97, 99]]), scores)
