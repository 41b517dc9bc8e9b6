"""Which requests want their prompt read alone, by what vLLM's routes and engine have of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.config import KVTransferConfig
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.sampling_params import SamplingParams

from enforcer.vllm.server import prefills

FIRST, SECOND = {"do_remote_decode": True}, {"do_remote_prefill": True, "do_remote_decode": False}
MODEL = SimpleNamespace(max_model_len=100)


@pytest.fixture(autouse=True)
def _met(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has met no engine yet."""
    monkeypatch.setattr(prefills, "_met", set())


def config(role: str | None) -> Any:
    """What a process has of its engine; without a role it has no connector."""
    connector = None if role is None else KVTransferConfig(kv_connector="X", kv_role=role)
    return SimpleNamespace(kv_transfer_config=connector)


def chat(**more: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest(model="m", messages=[], **more)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (chat(max_tokens=1, kv_transfer_params=FIRST), True),
        (chat(max_completion_tokens=1, max_tokens=9, kv_transfer_params=FIRST), True),
        (chat(max_completion_tokens=9, max_tokens=1, kv_transfer_params=FIRST), False),
        (chat(max_tokens=1, kv_transfer_params=SECOND), False),
        (chat(max_tokens=1), False),
        (chat(kv_transfer_params=FIRST), False),  # that many may be read
        (CompletionRequest(prompt="Hi", max_tokens=1, kv_transfer_params=FIRST), True),
        (ResponsesRequest(input="Hi", max_output_tokens=1, kv_transfer_params=FIRST), True),
        (SimpleNamespace(max_tokens=1, kv_transfer_params="x", extra_args=None), False),
    ],
)
def test_one_id_is_asked_for_and_the_prompt_is_handed_on(request_: Any, expected: bool) -> None:
    assert prefills.is_prefill(request_) is expected


def test_the_engine_sees_the_same() -> None:
    for request_ in (chat(max_tokens=1, kv_transfer_params=FIRST), chat(max_tokens=1)):
        params = request_.to_sampling_params(1, {})
        assert prefills.is_prefill(params) is prefills.is_prefill(request_)


def test_of_a_body_of_token_ids_two_places_say_it() -> None:
    body = SimpleNamespace(kv_transfer_params=FIRST)
    assert prefills.is_prefill(SamplingParams(max_tokens=1), body)
    assert not prefills.is_prefill(SamplingParams(max_tokens=2), body)


def test_its_turn_need_not_end() -> None:
    first = SamplingParams(max_tokens=1, extra_args={"kv_transfer_params": FIRST})
    assert prefills.budget(MODEL, 90, first) is None
    assert prefills.budget(MODEL, 90, SamplingParams(max_tokens=1)) == 1
    assert prefills.budget(MODEL, 90, SamplingParams(max_tokens=50)) == 10


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([], True),  # it renders for a server that looks again
        (["kv_producer"], True),
        (["kv_both"], True),
        (["kv_consumer"], False),
        ([None], False),
        ([None, None], False),
        ([None, "kv_both"], True),  # offline there may be several
    ],
)
def test_only_a_server_that_hands_prompts_on_has_such_requests(
    roles: list[str | None], expected: bool
) -> None:
    for role in roles:
        prefills.meet(config(role))
    first = SamplingParams(max_tokens=1, extra_args={"kv_transfer_params": FIRST})
    assert prefills.is_prefill(chat(max_tokens=1, kv_transfer_params=FIRST)) is expected
    assert prefills.budget(MODEL, 90, first) == (None if expected else 1)


def test_an_offloading_of_keys_that_names_no_connector_hands_nothing_on() -> None:
    prefills.meet(SimpleNamespace(kv_transfer_config=KVTransferConfig()))
    assert not prefills.is_prefill(chat(max_tokens=1, kv_transfer_params=FIRST))
