"""Refusals as vLLM answers them."""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.serve.exception_handling.error_response import create_error_response
from vllm.exceptions import VLLMValidationError

from enforcer.errors import InvalidTools
from enforcer.vllm.intake import rejections
from enforcer.vllm.observe import metric_defs, recording

if TYPE_CHECKING:
    from enforcer.vllm.observe.stats import Count


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the list of what is counted, instead of counting it."""
    found = []

    class Recorder:
        def add(self, name: Count, labels: tuple[str, str], _: int) -> None:
            found.append((name, labels))

    monkeypatch.setattr(recording, "recorder", Recorder)
    return found


def test_functions_are_not_read_by_vllm() -> None:
    """Which `enforcer check` says of them."""
    old = [{"name": "f", "parameters": {}}]
    sent = {"messages": [{"role": "user", "content": "hi"}], "functions": old}
    assert ChatCompletionRequest.model_validate(sent).tools is None


def test_a_refused_option_is_counted_logged_and_named(
    counted: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        error = rejections.option_rejection("min_tokens", "leave it out")
    assert isinstance(error, VLLMValidationError)
    assert error.parameter == "min_tokens"
    assert "leave it out" in str(error)
    assert counted == [(metric_defs.REFUSED, (metric_defs.OPTION, "min_tokens"))]
    assert '"$.min_tokens"' in caplog.text


def test_a_refused_request_is_counted_and_says_which_error(counted: list[Any]) -> None:
    error = rejections.rejection(InvalidTools("$.tools", "no list"))
    assert isinstance(error, VLLMValidationError)
    assert str(error) == "InvalidTools: no list (at `$.tools`)"
    assert counted == [(metric_defs.REFUSED, ("InvalidTools", ""))]
    assert create_error_response(error).error.param == "tools"
    assert rejections.rejection(InvalidTools("$", "no object")).parameter is None
    again = copy.copy(error)  # by its `args`, as between a server's processes
    assert (str(again), again.parameter) == (str(error), "tools")
