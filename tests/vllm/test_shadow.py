"""Shadow mode of a real server: replies are vLLM's own, and its counts are those of the judge."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest

import enforcer
from bench.demo import workload
from bench.demo.servers import FREE, MODEL_NAME, Server
from enforcer.judging.judge import Fault, judge
from enforcer.judging.replies import ChatReply
from enforcer.judging.rules import rules_of
from enforcer.tools.verify import client
from enforcer.turn import dialects
from enforcer.vllm.observe.metric_defs import Change, Judged
from tests.checking_cases import slow
from tests.vllm_servers import TINY, post, refused, sampled, serving

pytestmark = pytest.mark.vllm

SHADOW = replace(FREE, name="shadow", plugins="enforcer", environment=(("ENFORCER_SHADOW", "on"),))
BODIES = workload.bodies(96)
KINDS = [Change(name) for name in ("undeclared", "schema", "id", "choice", "finish", "leak")]
GET = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}


def answers(server: Server, bodies: Sequence[Mapping[str, Any]]) -> list[ChatReply]:
    endpoint = client.Endpoint.at(f"{server.url}/v1", concurrency=16, timeout=600)
    return asyncio.run(client.send_all(endpoint, bodies))


@pytest.fixture(scope="module")
def free_replies(tmp_path_factory: pytest.TempPathFactory) -> list[ChatReply]:
    """Replies of vLLM without the plugin, to `BODIES`; its server has ended."""
    with serving(TINY, FREE, tmp_path_factory.mktemp("log") / "free.log") as server:
        return answers(server, BODIES)


@pytest.fixture(scope="module")
def server(
    free_replies: list[ChatReply], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    assert free_replies  # and so no other server runs
    log = tmp_path_factory.mktemp("log") / "shadow.log"
    with serving(TINY, SHADOW, log) as running:
        yield running
        # As it ends, vLLM may say that its engine has gone.
        assert "Traceback" not in log.read_text()


class Counts:
    """The counts of shadow mode since the last look."""

    def __init__(self, server: Server) -> None:
        self._url = server.url
        self._before = self._now()

    def _now(self) -> Counter[str]:
        text = httpx.get(f"{self._url}/metrics/", timeout=60).text

        def read(name: str, **labels: str) -> int:
            return int(sampled(text, f"enforcer_shadow_{name}_total", **labels))

        found = Counter({each.value: read("replies", outcome=each.value) for each in Judged})
        for kind in Change:
            found[f"would {kind.value}"] = read("would_change", kind=kind.value)
            found[f"tools {kind.value}"] = read("tools", kind=kind.value)
        found["dropped"] = read("dropped")
        return found

    def after(self, replies: int) -> Counter[str]:
        """Wait until so many replies are counted; return what has grown."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            grown = self._now() - self._before
            if sum(grown[each.value] for each in Judged) + grown["dropped"] >= replies:
                break
            time.sleep(0.3)
        time.sleep(0.5)  # what a request would be refused for is counted last
        grown = self._now() - self._before
        self._before = self._now()
        return grown


@pytest.fixture
def counts(server: Server) -> Counts:
    return Counts(server)


def test_replies_are_vllm_s_own_and_the_counts_are_the_judge_s(
    server: Server, free_replies: list[ChatReply], counts: Counts
) -> None:
    found = answers(server, BODIES)
    assert found == free_replies  # texts, calls, finish reasons and token ids
    known = rules_of(dialects.load("kimi_k2"))
    verdicts = [judge(*pair, known) for pair in zip(BODIES, found, strict=True)]
    told = counts.after(len(BODIES))
    assert told["dropped"] == 0
    assert told["complete"] == sum(each.complete for each in verdicts)
    assert told["cut_off"] == sum(not each.complete for each in verdicts)
    wanted = {kind: sum(Fault[kind.name] in each.faults for each in verdicts) for kind in KINDS}
    assert {kind: told[f"would {kind.value}"] for kind in KINDS} == wanted
    assert told["would empty"] == sum(each.empty for each in verdicts)
    assert wanted[Change.UNDECLARED] > 3
    assert wanted[Change.SCHEMA] > 3
    by_tool = {(n, f.fault, f.tool) for n, each in enumerate(verdicts) for f in each.findings}
    for kind in KINDS:
        named = [one for one in by_tool if one[1].name == kind.name and one[2]]
        assert told[f"tools {kind.value}"] == len(named)


HI = {"messages": [{"role": "user", "content": "Hi"}]}


def ask(server: Server, **fields: Any) -> httpx.Response:
    return post(server, {**HI, "temperature": None, "max_tokens": 8, **fields})


@pytest.mark.parametrize("stream", [False, True])
def test_each_choice_counts(server: Server, counts: Counts, *, stream: bool) -> None:
    assert ask(server, n=3, temperature=1.0, stream=stream).status_code == 200
    told = counts.after(3)
    assert told["complete"] + told["cut_off"] == 3


def test_a_stream_that_its_client_leaves_is_cancelled(server: Server, counts: Counts) -> None:
    body = {"model": MODEL_NAME, **HI, "stream": True, "max_tokens": 3000, "ignore_eos": True}
    url = f"{server.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=body, timeout=300) as answer:
        next(answer.iter_lines())
    assert counts.after(1) == {"cancelled": 1}


def test_a_request_that_would_be_refused_counts_by_its_tool(server: Server, counts: Counts) -> None:
    odd = {"name": "odd", "parameters": {"type": "object", "properties": {"a": {"pattern": "("}}}}
    tools = [GET, {"type": "function", "function": odd}]
    assert ask(server, tools=tools).status_code == 200
    told = counts.after(1)
    assert told["would rejected"] == told["tools rejected"] == 1
    text = httpx.get(f"{server.url}/metrics/", timeout=60).text
    named = {"tool": "odd", "kind": "rejected"}
    assert sampled(text, "enforcer_shadow_tools_total", **named) == 1
    assert ask(server, tools=[GET]).status_code == 200
    assert counts.after(1)["would rejected"] == 0


def test_a_schema_that_takes_too_long_costs_no_reply(server: Server, counts: Counts) -> None:
    long = {"name": "long", "parameters": json.loads(slow().wanted.source)}
    begun = time.monotonic()
    tools = [GET, {"type": "function", "function": long}]
    assert ask(server, tools=tools).status_code == 200
    for _ in range(3):
        assert ask(server, tools=[GET]).status_code == 200
    assert time.monotonic() - begun < 60
    told = counts.after(4)
    assert sum(told[each.value] for each in Judged) == 4
    assert told["would rejected"] == 1


def test_what_vllm_refuses_is_no_change(server: Server, counts: Counts) -> None:
    assert ask(server, max_tokens=-1).status_code == 400
    assert counts.after(1) == {"refused": 1}


@pytest.mark.parametrize("route", ["chat/completions", "completions"])
def test_a_spec_is_refused_by_name(server: Server, route: str) -> None:
    prompt = {"prompt": "Hi"} if route == "completions" else HI
    said = refused(server, {**prompt, **enforcer.extra_body([GET])}, f"/v1/{route}")
    assert "ENFORCER_SHADOW=on" in said


def test_the_server_says_that_it_enforces_nothing(server: Server) -> None:
    text = httpx.get(f"{server.url}/metrics/", timeout=60).text
    assert sampled(text, "enforcer_api_servers", enforces="nothing") == 1
    assert sampled(text, "enforcer_requests_total") == 0
    assert "enforcer: nothing is enforced (ENFORCER_SHADOW=on)" in server.log.read_text()
