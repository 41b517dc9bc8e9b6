"""A model's own scores beside a mask: of tensors, and of live servers with either runner."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import ref

import httpx
import pytest
import torch
from vllm.v1.sample.sampler import Sampler

from bench.demo.servers import ENFORCED, MODEL_NAME
from bench.speculation import ways
from enforcer.cli import main as command
from enforcer.errors import ConfigurationError
from enforcer.explain import reply
from enforcer.vllm import fit, patches
from enforcer.vllm.config import settings
from enforcer.vllm.observe import scores
from tests.vllm_servers import TINY, reader, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.demo.servers import Server

RAW = {"ENFORCER_LOGPROBS": "raw"}
CITY = {"type": "string", "enum": ["Zyxburg", "Qqville"]}
TOOL = {
    "type": "function",
    "function": {
        "name": "find_city",
        "parameters": {"type": "object", "properties": {"city": CITY}, "required": ["city"]},
    },
}
ASKED: dict[str, Any] = {
    "model": MODEL_NAME,
    "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
    "tools": [TOOL],
    "tool_choice": "required",
    "max_tokens": 60,
    "temperature": 0,
    "logprobs": True,
    "top_logprobs": 5,
    "return_token_ids": True,
}


def mask(logits: torch.Tensor) -> None:
    logits[:, ::2] = -torch.inf


def v1(wants: bool, logits: torch.Tensor) -> None:
    batch = SimpleNamespace(num_logprobs={"a": 5} if wants else {})

    def original(scheduler_output: Any, grammar_output: Any, input_batch: Any, logits: Any) -> None:
        assert scheduler_output is grammar_output is None
        assert input_batch is batch
        mask(logits)

    scores.masking(original)(None, None, batch, logits)


def v2(wants: bool, logits: torch.Tensor) -> None:
    def original(
        self: Any, logits: Any, input_batch: Any, grammar_req_ids: Any, grammar_bitmask: Any
    ) -> None:
        assert self is input_batch is grammar_bitmask is None
        assert bool(grammar_req_ids) is wants
        mask(logits)

    scores.masking(original)(None, logits, None, ["a"] if wants else [], None)


@pytest.mark.parametrize("masked_by", [v1, v2])
def test_what_was_masked_is_scored_as_it_was(masked_by: Any) -> None:
    logits = torch.randn(3, 40)
    own = Sampler.compute_logprobs(logits.clone())
    score = scores.scoring(Sampler.compute_logprobs)
    masked_by(True, logits)
    assert torch.isneginf(logits[:, 0]).all()
    assert torch.isneginf(score(torch.full_like(logits, -torch.inf)).nan_to_num(-torch.inf)).all()
    assert torch.equal(score(logits), own)
    assert torch.equal(score(logits[1:3]), own[1:3])  # V2 verifies drafts in parts
    assert torch.isneginf(score(logits.clone())[:, 0]).all()


@pytest.mark.parametrize("masked_by", [v1, v2])
def test_the_copy_lives_no_longer_than_the_step(masked_by: Any) -> None:
    logits = torch.randn(3, 40)
    masked_by(True, logits)
    assert scores._masked is not None
    copied = ref(getattr(scores._masked(), scores._BEFORE))
    del logits
    assert scores._masked() is copied() is None


@pytest.mark.parametrize("masked_by", [v1, v2])
def test_nothing_is_copied_where_nobody_wants_it(masked_by: Any) -> None:
    logits = torch.randn(3, 40)
    masked_by(False, logits)
    assert not hasattr(logits, scores._BEFORE)
    assert torch.isneginf(scores.scoring(Sampler.compute_logprobs)(logits)[:, 0]).all()


def config(mode: str = "raw_logprobs", drafts: Any = None, *, second: bool = False) -> Any:
    return SimpleNamespace(
        model_config=SimpleNamespace(logprobs_mode=mode),
        speculative_config=drafts,
        use_v2_model_runner=second,
    )


@pytest.mark.parametrize(
    ("served", "wrong"),
    [
        (config(), None),
        (config(drafts="some", second=True), None),
        (config(drafts="some"), "VLLM_USE_V2_MODEL_RUNNER"),
        (config("processed_logprobs"), "--logprobs-mode raw_logprobs"),
    ],
)
def test_servers_that_could_not_keep_the_word_do_not_start(
    served: Any, wrong: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores.check(served)  # without the setting none of it matters
    monkeypatch.setattr(settings, "current", lambda: settings.read(RAW))
    if wrong is None:
        scores.check(served)
    else:
        with pytest.raises(ConfigurationError, match=wrong):
            scores.check(served)


def test_all_that_is_replaced_is_as_it_was_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    assert patches._for_scores(settings.read({})) == {}
    raw = settings.read(RAW)
    assert len(patches._for_scores(raw)) == 5
    other = patches.Patch("other", "observe.scores.scoring")
    monkeypatch.setitem(patches.SCORES, "vllm.v1.sample.sampler:Sampler.compute_logprobs", other)
    with pytest.raises(ConfigurationError, match="=raw does not fit this vLLM"):
        patches._for_scores(raw)


class Owner:
    @staticmethod
    def score(logits: torch.Tensor) -> torch.Tensor:
        return logits


def test_a_static_method_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "_replaced", [])
    monkeypatch.setattr(fit, "find", {"here:Owner": Owner}.get)
    patches._wrap("here:Owner.score", scores.scoring)
    patches._wrap("here:Owner.score", scores.scoring)
    assert len(patches._replaced) == 1
    one = torch.zeros(1)
    assert Owner().score(one) is one is Owner.score(one)


def answered(server: Server) -> dict[str, Any]:
    answer = httpx.post(f"{server.url}/v1/chat/completions", json=ASKED, timeout=300)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def rescored(server: Server, answer: dict[str, Any]) -> list[Any]:
    """Score a reply's ids once more as a prompt, where no mask is applied."""
    ids = answer["prompt_token_ids"] + answer["choices"][0]["token_ids"]
    body = {"model": MODEL_NAME, "prompt": ids, "max_tokens": 1, "prompt_logprobs": 5}
    again = httpx.post(f"{server.url}/v1/completions", json=body, timeout=300)
    assert again.status_code == 200, again.text
    vocabulary = reader(TINY).vocabulary
    found = reply.scored(reply.read_reply(answer, vocabulary, "reply"), again.json(), "scores")
    return [dict(each.top[:4]) for each in found.given]


def differences(server: Server) -> int:
    """Compare a reply's scores with those of its ids as a prompt; count what a mask forbade."""
    answer = answered(server)
    own = rescored(server, answer)
    found = reply.read_reply(answer, reader(TINY).vocabulary, "reply").given
    assert len(found) == len(own) > 10
    forbidden = 0
    for each, wanted in zip(found, own, strict=True):
        shown = dict(each.top)
        same = wanted.keys() & shown.keys()
        assert len(same) >= 3  # the last of five may change places with the sixth
        assert all(abs(shown[token] - wanted[token]) < 0.02 for token in same)
        forbidden += max(shown, key=lambda token: shown[token]) != each.token_id
    return forbidden


@pytest.fixture(scope="module")
def raw_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(TINY, ENFORCED, tmp_path_factory.mktemp("log") / "raw.log", **RAW) as server:
        yield server


@pytest.mark.vllm
def test_a_reply_shows_what_the_model_wanted(raw_server: Server) -> None:
    assert differences(raw_server) > 0  # else the tool was none that the model did not want


@pytest.mark.vllm
def test_explain_shows_it_from_the_reply_alone(
    raw_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, answer = tmp_path / "request.json", tmp_path / "reply.json"
    asked.write_text(json.dumps(ASKED))
    answer.write_text(json.dumps(answered(raw_server)))
    words = ["explain", "--tools", str(asked), "--reply", str(answer), "--model", str(TINY)]
    command(words)
    assert "taken away: " in capsys.readouterr().out


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.parametrize("name", ["V2, async", "V2, async, draft model"])
def test_so_it_does_on_the_second_runner_with_and_without_drafts(name: str, tmp_path: Path) -> None:
    (way,) = (way for way in ways.WAYS if way.name == name)
    with ways.serving(way, TINY, tmp_path, ENFORCER_LOGPROBS="raw") as server:
        assert differences(server) > 0
