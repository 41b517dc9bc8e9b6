"""Asking for a turn and for its scores."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.tools.cli.explain import scored_turn
from enforcer.tools.verify.client import Endpoint
from tests import fake_server
from tests.support.cases import parametrized

REPLY = {"prompt_token_ids": [1, 2], "choices": [{"token_ids": [3, 4], "message": {}}]}
SCORES: dict[Any, Any] = {"choices": [{"prompt_logprobs": [None, {}, {}, {}]}]}
MESSAGES = [{"role": "user", "content": "Hi"}]
REQUEST = {"messages": MESSAGES, "stream": True, "logprobs": True, "n": 2}


def ask(
    answer: Callable[..., Any], request: dict[str, Any] = REQUEST, **more: Any
) -> tuple[tuple[dict[str, Any], dict[str, Any]], list[dict[str, Any]]]:
    with fake_server.serving(answer, **more) as server:
        found = asyncio.run(scored_turn(Endpoint.at(server.url), request, 3, lambda _: None))
    return found, server.bodies


def answers(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return (200, SCORES if "prompt" in body else REPLY)


def test_the_turn_is_scored_as_a_prompt() -> None:
    found, bodies = ask(answers)
    assert found == (REPLY, SCORES)
    first, second = bodies
    assert first == {"messages": MESSAGES, "model": "toy", "return_token_ids": True}
    assert second == {"model": "toy", "prompt": [1, 2, 3, 4], "max_tokens": 1, "prompt_logprobs": 3}


def test_the_request_may_name_its_model() -> None:
    _, bodies = ask(answers, {**REQUEST, "model": "mine"}, listing=(404, {}))
    assert [body["model"] for body in bodies] == ["mine", "mine"]


@parametrized("tools/cli/cases/scored_turn.toml", "servers")
def test_server_gaps_are_told(status: int | None, body: Any, listing: list[str], said: str) -> None:
    def answer(asked: dict[str, Any]) -> tuple[int, Any]:
        return answers(asked) if status is None else (status, body)

    with pytest.raises(ConfigurationError, match=said):
        ask(answer, listing=(200, {"data": [{"id": each} for each in listing]}))


def test_where_no_server_is_that_is_told() -> None:
    endpoint = Endpoint.at("http://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="no server answers"):
        asyncio.run(scored_turn(endpoint, {**REQUEST, "model": "toy"}, 1, print))
