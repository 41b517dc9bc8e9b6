"""How streams are timed, and what the tables make of it; no server."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest

pytest.importorskip("torch")

from bench import throughput
from bench.throughput import Sent
from tests.fake_server import serving


def _event(*ids: int) -> bytes:
    return b"data: " + json.dumps({"choices": [{"token_ids": ids}]}).encode() + b"\n\n"


END = b"data: [DONE]\n\n"


def test_when_ids_came_is_when_their_event_was_whole() -> None:
    first, second = _event(1), _event(2, 3)
    came = [(1.0, _event()), (2.0, first + second[:9]), (3.5, second[9:]), (4.0, END)]
    assert throughput.read(came) == [(2.0, 1), (3.5, 2)]


@pytest.mark.parametrize(
    "parts", [[_event(1)], [b'data: {"error": {"message": "no"}}\n\n', END], []]
)
def test_a_stream_that_failed_is_none(parts: list[bytes]) -> None:
    assert throughput.read([(0.0, part) for part in parts]) is None


def test_percentiles() -> None:
    assert throughput.percentiles(range(1, 101)) == (50.5, 100)
    assert throughput.percentiles([3.0]) == (3.0, 3.0)
    assert all(map(math.isnan, throughput.percentiles([])))


def test_the_table_of_gaps_has_both_ways_and_their_ratios() -> None:
    found = {
        "auto, 1 in flight": {
            "vLLM": [Sent(3, 1.0, 0, (10.0, 20.0))],
            "Enforcer": [Sent(3, 1.0, 0, (15.0, 40.0))],
        }
    }
    head, _, row = throughput.gaps(found).splitlines()
    assert head.endswith("| vLLM | Enforcer | Enforcer / vLLM |")
    assert row == "| auto, 1 in flight | 15.0, 20.0 | 27.5, 40.0 | 1.83, 2.00 |"


def test_streams_are_asked_for_with_their_ids_and_counted() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if body["n"] == 3:
            return 400, {"error": "no"}
        return 200, [{"choices": [{"token_ids": [n]}]} for n in range(5)]

    with serving(answer) as server:
        sent = asyncio.run(
            throughput.send(server.url, [{"n": n} for n in range(4)], 2, streamed=True)
        )
        assert (sent.ids, sent.failed, len(sent.gaps)) == (15, 1, 12)
        assert all(gap >= 0 for gap in sent.gaps)
        assert all(body["stream"] and body["return_token_ids"] for body in server.bodies)
