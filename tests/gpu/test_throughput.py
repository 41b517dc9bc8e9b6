"""How streams are timed, and what the tables make of it; no server."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from bench import throughput
from bench.demo.servers import free_port
from bench.gpu import serving as serving_
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


@pytest.mark.parametrize("streamed", [False, True])
def test_a_lost_connection_is_named(capsys: pytest.CaptureFixture[str], *, streamed: bool) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    sent = asyncio.run(throughput.send(url, [{"n": 1}, {"n": 2}], 2, streamed=streamed))
    assert (sent.ids, sent.failed) == (0, 2)
    assert capsys.readouterr().err.count(f"{url}: ConnectError") == 2


def test_known_requests_come_again_and_again_and_others_once() -> None:
    few = throughput.bodies("auto", 40, seed=1, known=6)
    assert len(few) == 40
    assert 3 <= len({json.dumps(body) for body in few}) <= 6
    own = throughput.bodies("auto", 40, seed=1)
    assert len({json.dumps(body) for body in own}) == len(own) > 30


@pytest.mark.slow
def test_a_large_model_has_the_shape_of_one_that_is_served_and_no_weights(tmp_path: Path) -> None:
    model = serving_.write_large(tmp_path)
    config = json.loads((model / "config.json").read_text())
    heads = {config["num_attention_heads"], config["num_key_value_heads"]}
    assert (config["hidden_size"], config["intermediate_size"], heads) == (4096, 12288, {32, 8})
    assert not list(model.glob("*.safetensors"))
