"""Turns that a prompt has long begun: read once, and not before others' turns are started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from enforcer.request import spec_text
from enforcer.turn.matcher import Matcher
from enforcer.vllm import tryout
from enforcer.vllm.engine import backend
from enforcer.vllm.engine.arrivals import Source
from enforcer.vllm.server import runtime
from tests import vocabularies
from tests.vocabularies import legal, write

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

V = vocabularies.small()
OPENED = "<|im_assistant|>assistant<|im_middle|>"
LONG = OPENED + "so it is " * 500
ARGUMENTS = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>"
)


@pytest.fixture
def host() -> Iterator[Any]:
    tokenizer = object()
    runtime.know(tokenizer, V)
    runtime.kept.cache_clear()
    manager = tryout.manager(tokenizer, V.size)
    yield backend._host(manager)
    backend.detach(manager)
    manager.executor.shutdown(wait=False)
    runtime.forget(tokenizer)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give how many ids prompts have that are read from here on."""
    counts: list[int] = []
    begun = Matcher._begun

    def _begun(self: Matcher, prompt_ids: Any) -> Any:
        counts.append(len(prompt_ids))
        return begun(self, prompt_ids)

    monkeypatch.setattr(Matcher, "_begun", _begun)
    return counts


def steps(host: Any, prompt: str, *names: str) -> Generator[None, None, Any]:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in names or ("get",)
    ]
    asked = tryout.request("r", write(V, prompt), tryout.structured(tools))
    text = spec_text.write(tools, "auto", True, 0)
    made: Generator[None, None, Any] = host._steps(Source(text, is_ours=True), asked)
    return made


def started(made: Generator[None, None, Any]) -> tuple[Any, int]:
    """Take all steps; gives the turn, and how many there were before the last."""
    count = 0
    while True:
        try:
            next(made)
        except StopIteration as end:
            return end.value.matcher, count
        count += 1


def test_what_is_long_is_left_to_the_lane_of_what_is(host: Any, read: list[int]) -> None:
    assert started(steps(host, "x" * 3000 + OPENED + "so"))[1] == 0
    read.clear()
    for prompt in (LONG, "so it is " * 500):
        next(made := steps(host, prompt))
        assert read == []  # nothing has been done on the lane that all requests come by
        made.close()


@pytest.mark.slow
def test_requests_with_the_same_prompt_read_it_once(host: Any, read: list[int]) -> None:
    turns = [started(steps(host, LONG))[0] for _ in range(16)]
    assert read == [len(write(V, LONG))]
    assert all(turn.position is turns[0].position for turn in turns)
    short = started(steps(host, OPENED + "so"))[0]
    ids = write(V, ARGUMENTS + "{}")
    for turn in (turns[0], turns[5]):
        assert legal(turn) == legal(short)
        assert all(turn.accept(token_id) for token_id in ids)
        assert turn.accepted == len(ids)
    assert turns[1].accepted == 0


def test_other_requests_and_prompts_are_read_for_themselves(host: Any, read: list[int]) -> None:
    given = [(LONG, "get"), (LONG, "put"), (LONG + "x", "get"), (LONG + "<|tool_calls", "get")]
    for prompt, tool in given:
        started(steps(host, prompt, tool))
    assert len(read) == len(given)
    for prompt, tool in given:
        started(steps(host, prompt, tool))
    assert len(read) == len(given)


def test_a_text_that_an_engine_follows_is_a_turns_own(host: Any) -> None:
    begun = OPENED + ARGUMENTS + '{"a":"' + "so it is " * 500
    one, other = (started(steps(host, begun))[0] for _ in range(2))
    assert one.position.grammar is not other.position.grammar
    assert one.accept(write(V, '"')[0])
    assert legal(one) != legal(other)


def test_names_that_a_kept_prompt_stands_in_are_weighed(host: Any) -> None:
    begun = LONG + "<|tool_calls_section_begin|><|tool_call_begin|>functions."
    before = runtime.kept().weight
    names = [f"get_{at}_{'x' * 100}" for at in range(500)]
    started(steps(host, begun, *names))
    assert runtime.kept().weight - before > 2 * sum(map(len, names))
