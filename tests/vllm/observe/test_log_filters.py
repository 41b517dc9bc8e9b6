from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from bench.demo.servers import MODEL_NAME
from enforcer.errors import InvalidTools
from enforcer.vllm.intake.requests import option_refusal, refusal
from enforcer.vllm.observe import log_filters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.demo.servers import Server


ROUTE = log_filters.LOGGER


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Give what is logged, where vLLM's own loggers may have been cut off from the root."""
    logger = logging.getLogger(ROUTE)
    logger.addHandler(caplog.handler)
    log_filters.install()
    log_filters.install()
    yield caplog
    logging.getLogger(ROUTE).removeFilter(log_filters._tells_more)
    logger.removeHandler(caplog.handler)


def _answers(error: Exception) -> None:
    """Log an error as the route does."""
    logging.getLogger(ROUTE).error("Error in create_messages: %s", error, exc_info=error)


def _logged(log: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in log.records if record.name == ROUTE]


@pytest.mark.parametrize(
    "error",
    [
        refusal(InvalidTools("$.tools", "no list")),
        option_refusal("min_tokens", "leave it out"),
        copy.copy(refusal(InvalidTools("$.tools", "no list"))),
    ],
)
def test_what_has_been_said_is_not_said_again(
    error: Exception, log: pytest.LogCaptureFixture
) -> None:
    _answers(error)
    assert not _logged(log)


def test_all_else_is_said(log: pytest.LogCaptureFixture) -> None:
    _answers(ValueError("of vLLM's own"))
    logging.getLogger(ROUTE).error("no exception")
    assert set(_logged(log)) == {"Error in create_messages: of vLLM's own", "no exception"}
    logging.getLogger(ROUTE).removeFilter(log_filters._tells_more)
    _answers(option_refusal("min_tokens", "leave it out"))
    assert "Error in create_messages: leave it out (parameter=min_tokens)" in _logged(log)


@pytest.mark.vllm
def test_a_refusal_on_the_route_is_one_line(tiny_server: Server) -> None:
    begin = len(tiny_server.log.read_text())
    body: dict[str, Any] = {
        "model": MODEL_NAME,
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "Hi."}],
        "tools": [{"name": "get", "input_schema": {"type": "nothing"}}],
    }
    answer = httpx.post(f"{tiny_server.url}/v1/messages", json=body, timeout=300)
    assert answer.status_code == 400
    assert "InvalidSchema" in answer.json()["error"]["message"]
    since = tiny_server.log.read_text()[begin:]  # logged before it is answered
    assert since.count('enforcer: refused error="InvalidSchema"') == 1
    assert "Traceback" not in since
