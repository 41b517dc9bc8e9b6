"""How many ids a reply may have; vLLM's own computation is what it is compared with."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from vllm.config import KVTransferConfig
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.sampling_params import SamplingParams

from enforcer.vllm.server import reply_lengths
from enforcer.vllm.server.side_table import notes
from tests.support import cases


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


def chat(**most: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest(model="m", messages=[], **most)


KINDS: Any = {
    None: chat,
    "completion": partial(CompletionRequest, prompt="Hi"),
    "responses": partial(ResponsesRequest, input="Hi"),
    "other": partial(SimpleNamespace, extra_args=None),
}
CASES = "vllm/server/cases/reply_lengths.toml"


@cases.parametrized(CASES, "bounds")
def test_the_servers_bounds_count(
    kind: str | None, fields: dict[str, int] | None, model: dict[str, Any] | None, most: int
) -> None:
    request = KINDS[kind](**fields or {})
    assert reply_lengths.allowed(request, Model(**model or {}), 10) == most


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
    notes(first).most_ids = 25
    assert (reply_lengths.most(first), reply_lengths.most(second)) == (25, 30)


FIRST = {"do_remote_decode": True}
SHORT = SimpleNamespace(max_model_len=100)


@pytest.fixture(autouse=True)
def _met(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has met no engine yet."""
    monkeypatch.setattr(reply_lengths, "_met", set())


@cases.parametrized(CASES, "prefills")
def test_one_id_is_asked_for_and_the_prompt_is_handed_on(
    kind: str | None, fields: dict[str, Any], kv: Any, expected: bool
) -> None:
    request = KINDS[kind](**fields, kv_transfer_params=kv)
    assert reply_lengths.is_prefill(request) is expected


def test_the_engine_sees_the_same() -> None:
    for request_ in (chat(max_tokens=1, kv_transfer_params=FIRST), chat(max_tokens=1)):
        params = request_.to_sampling_params(1, {})
        assert reply_lengths.is_prefill(params) is reply_lengths.is_prefill(request_)


def test_of_a_body_of_token_ids_two_places_say_it() -> None:
    body = SimpleNamespace(kv_transfer_params=FIRST)
    assert reply_lengths.is_prefill(SamplingParams(max_tokens=1), body)
    assert not reply_lengths.is_prefill(SamplingParams(max_tokens=2), body)


def test_its_turn_need_not_end() -> None:
    first = SamplingParams(max_tokens=1, extra_args={"kv_transfer_params": FIRST})
    assert reply_lengths.budget(SHORT, 90, first) is None
    assert reply_lengths.budget(SHORT, 90, SamplingParams(max_tokens=1)) == 1
    assert reply_lengths.budget(SHORT, 90, SamplingParams(max_tokens=50)) == 10


@cases.parametrized(CASES, "roles")
def test_only_prefill_servers_have_such_requests(roles: list[str], expected: bool) -> None:
    for role in roles:
        # Without a role it has no connector.
        connector = KVTransferConfig(kv_connector="X", kv_role=role) if role else None
        reply_lengths.meet(SimpleNamespace(kv_transfer_config=connector))
    first = SamplingParams(max_tokens=1, extra_args={"kv_transfer_params": FIRST})
    assert reply_lengths.is_prefill(chat(max_tokens=1, kv_transfer_params=FIRST)) is expected
    assert reply_lengths.budget(SHORT, 90, first) == (None if expected else 1)


def test_an_offloading_of_keys_that_names_no_connector_hands_nothing_on() -> None:
    reply_lengths.meet(SimpleNamespace(kv_transfer_config=KVTransferConfig()))
    assert not reply_lengths.is_prefill(chat(max_tokens=1, kv_transfer_params=FIRST))
