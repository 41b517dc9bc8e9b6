"""How many ids a reply may have; vLLM's own computation is what it is compared with."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

from enforcer.vllm.server import reply_lengths


class Model:
    """As much of vLLM's configuration of a model as is read."""

    max_model_len = 100

    def __init__(self, source: str = "auto", own: int | None = None, **overridden: int) -> None:
        self.generation_config = source
        self.override_generation_config = overridden
        self._own = own
        self.read = 0

    def get_diff_sampling_param(self) -> dict[str, Any]:
        self.read += 1
        most = self.override_generation_config.get("max_new_tokens", self._own)
        return {} if most is None else {"max_tokens": most}


def chat(**most: int) -> ChatCompletionRequest:
    return ChatCompletionRequest(model="m", messages=[], **most)


@pytest.mark.parametrize(
    ("request_", "model", "most"),
    [
        (chat(), Model(), 90),
        (chat(max_tokens=30), Model(), 30),
        (chat(max_tokens=300), Model(), 90),
        (chat(max_tokens=30, max_completion_tokens=20), Model(), 20),
        (chat(max_tokens=30), Model(max_new_tokens=25), 25),  # of --override-generation-config
        (chat(max_tokens=20), Model(max_new_tokens=25), 20),
        (chat(), Model(own=25), 25),
        (chat(max_tokens=30), Model(own=25), 30),  # the model's own is a default
        (chat(max_tokens=30), Model("/a/folder", own=25), 25),  # an operator's is a bound
        (ResponsesRequest(input="Hi", max_output_tokens=30), Model(), 30),
        (ResponsesRequest(input="Hi", max_output_tokens=30), Model(max_new_tokens=25), 25),
    ],
)
def test_the_servers_bounds_count(request_: Any, model: Any, most: int) -> None:
    assert reply_lengths.allowed(request_, model, 10) == most


def test_a_prompt_without_room_has_none() -> None:
    assert reply_lengths.allowed(chat(), Model(), 100) == 0
    assert reply_lengths.allowed(chat(), Model(), 101) == 0


def test_the_models_defaults_are_read_once() -> None:
    model = Model()
    for _ in range(3):
        reply_lengths.allowed(chat(), model, 10)
    assert model.read == 1


def test_what_is_remembered_counts_for_its_request_alone() -> None:
    first, second = chat(max_tokens=30), chat(max_tokens=30)
    reply_lengths.remember(first, 25)
    assert (reply_lengths.most(first), reply_lengths.most(second)) == (25, 30)
