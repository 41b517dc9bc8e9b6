"""Turns that a prompt has long begun: not read before others' turns are started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from enforcer.turn.matcher import Matcher
from enforcer.vllm.engine import backend, engine_admission
from enforcer.vllm.server import runtime
from tests import vllm_managers, vocabularies
from tests.vocabularies import write

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

V = vocabularies.small()
OPENED = "<|im_assistant|>assistant<|im_middle|>"
LONG = OPENED + "so it is " * 500


@pytest.fixture
def host() -> Iterator[Any]:
    tokenizer = object()
    vllm_managers.know(tokenizer, V)
    runtime.kept.cache_clear()
    manager = vllm_managers.manager(tokenizer, V.size)
    yield backend._host(manager)
    manager.executor.shutdown(wait=False)
    runtime.forget(tokenizer)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many token ids the prompts have that are read from here on."""
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
    asked = vllm_managers.enforced("r", write(V, prompt), tools)
    source = engine_admission.source_of(asked)
    assert source is not None
    made: Generator[None, None, Any] = host._steps(source, asked)
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
        assert read == []  # nothing has been done on the thread that all requests come by
        made.close()
