"""What waits to be judged has bounds, and what finds no room is counted."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from enforcer.checking.task import TaskVerdict
from enforcer.errors import Busy, SchemaLimit
from enforcer.judging.judge import Fault, Finding, ReplyVerdict
from enforcer.judging.shadowed import ShadowVerdict
from enforcer.vllm.observe import metric_defs, recording, stats
from enforcer.vllm.server import runtime
from enforcer.vllm.shadow import middleware
from enforcer.vllm.shadow import queue as queues
from enforcer.vllm.shadow.middleware import ShadowMiddleware
from enforcer.vllm.shadow.queue import Queue
from tests.support import asgi

ROUTE = "/v1/chat/completions"
BODY = json.dumps({"messages": []}).encode()
FINE = ShadowVerdict(choices=(ReplyVerdict("stop", complete=True, has_calls=False),))


class Pool:
    """In the place of the worker processes: gives a verdict once it may."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.verdict: TaskVerdict | Exception = FINE
        self.may = asyncio.Event()
        self.queue = Queue()

    async def check_async(self, asked: Any) -> TaskVerdict:
        self.seen.append(asked)
        await self.may.wait()
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict

    def judges(self, *exchanges: Any) -> None:
        """Run exchanges one after the other, and judge each."""

        async def run() -> None:
            self.may.set()
            for each in exchanges:
                await each
                await settled()
            assert self.queue._held == 0

        asyncio.run(run())


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    found: Counter[Any] = Counter()

    class Recorder(stats.Recorder):
        def add(self, counter: Any, key: Any = (), count: int = 1) -> None:
            found[counter.name.removeprefix("enforcer_shadow_"), *key] += count

        def add_named(self, family: Any, name: str, key: Any = ()) -> None:
            found[family.name.removeprefix("enforcer_shadow_"), name, *key] += 1

    recorder = Recorder(metric_defs.LAYOUT, None)
    monkeypatch.setattr(recording, "recorder", lambda: recorder)
    return found


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch, counted: Counter[Any], use: Any) -> Pool:
    made = Pool()
    assert not counted
    monkeypatch.setattr(runtime, "pool", lambda: made)
    use(shadow="on")
    monkeypatch.setattr(middleware, "queue", lambda: made.queue)
    return made


def app(reply: bytes = b"{}", status: int = 200, parts: int = 1) -> Any:
    async def _app(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": status, "headers": []})
        for at in range(parts):
            await send({"type": "http.response.body", "body": reply, "more_body": at + 1 < parts})

    return _app


async def exchange(
    served: Any, body: bytes = BODY, path: str = ROUTE, method: str = "POST"
) -> list[Any]:
    halves = asgi.pieces(body, 2)
    return await asgi.exchange(ShadowMiddleware(served), halves, path=path, method=method)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_the_bytes_of_both_are_judged_and_passed_on(pool: Pool, counted: Counter[Any]) -> None:
    async def run() -> None:
        sent = await exchange(app(b"ab", parts=3), path=f"/root{ROUTE}")
        assert [each.get("body") for each in sent] == [None, b"ab", b"ab", b"ab"]

    pool.judges(run())
    (seen,) = pool.seen
    assert (seen.body, seen.reply) == (BODY, b"ababab")
    assert seen.size == len(BODY) + 6
    assert counted == {("replies", "complete"): 1}


@pytest.mark.parametrize(
    ("path", "method"), [("/v1/completions", "POST"), (ROUTE, "GET"), (f"{ROUTE}/batch", "POST")]
)
def test_other_routes_are_exempt(pool: Pool, counted: Counter[Any], path: str, method: str) -> None:
    asyncio.run(exchange(app(), path=path, method=method))
    assert not pool.seen
    assert not counted


@pytest.mark.parametrize(
    ("status", "outcome"), [(400, "refused"), (422, "refused"), (401, "failed"), (503, "failed")]
)
def test_what_vllm_does_not_answer_is_counted_alone(
    pool: Pool, counted: Counter[Any], status: int, outcome: str
) -> None:
    asyncio.run(exchange(app(status=status)))
    assert not pool.seen
    assert counted == {("replies", outcome): 1}
    assert pool.queue._held == 0


def test_a_client_that_goes_away_is_counted(pool: Pool, counted: Counter[Any]) -> None:
    async def leaves(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: ", "more_body": True})
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(exchange(leaves))
    assert not pool.seen
    assert counted == {("replies", "cancelled"): 1}
    assert pool.queue._held == 0


def test_a_client_that_closes_after_a_stream_is_served(pool: Pool, counted: Counter[Any]) -> None:
    async def run() -> None:
        with pytest.raises(OSError, match="closed"):
            await exchange(closes)

    async def closes(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        end = {"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": True}
        await send(end)
        raise OSError("closed")

    pool.judges(run())
    assert counted == {("replies", "complete"): 1}


def test_a_full_queue_drops_and_counts(pool: Pool, counted: Counter[Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(queues, "_WAITING", 3)

    async def run() -> None:
        for _ in range(10):
            await exchange(app())
            await asyncio.sleep(0)
        assert len(pool.seen) == 1  # one at a time
        assert counted == {("dropped",): 6}
        pool.may.set()
        await settled()
        assert counted == {("dropped",): 6, ("replies", "complete"): 4}
        assert pool.queue._held == 0
        await exchange(app())
        await settled()
        assert counted["replies", "complete"] == 5

    asyncio.run(run())


@pytest.mark.parametrize(("held", "largest"), [(100, 10**6), (10**6, 100)])
def test_bytes_have_a_bound(
    pool: Pool, counted: Counter[Any], monkeypatch: Any, held: int, largest: int
) -> None:
    monkeypatch.setattr(queues, "_HELD", held)
    monkeypatch.setattr(queues, "_LARGEST", largest)
    pool.judges(exchange(app(b"x" * 60, parts=2)))
    assert counted == {("dropped",): 1}
    pool.judges(exchange(app(b"x" * 60)))
    assert counted["replies", "complete"] == 1


def test_changes_are_counted_once_a_reply_and_tool(pool: Pool, counted: Counter[Any]) -> None:
    of_schema = [Finding(Fault.SCHEMA, "", tool) for tool in "aab"]
    findings = (*of_schema, Finding(Fault.CHOICE, ""))
    wrong = ReplyVerdict("stop", complete=True, has_calls=False, empty=True, findings=findings)
    error = SchemaLimit.of("$.tools[0]", "", "too large")
    pool.verdict = ShadowVerdict(error, choices=(wrong,), tool="c")
    pool.judges(exchange(app()))
    changes = [("would_change", kind) for kind in ("schema", "choice", "empty", "rejected")]
    tools = [("tools", "a", "schema"), ("tools", "b", "schema"), ("tools", "c", "rejected")]
    assert counted == dict.fromkeys([("replies", "complete"), *changes, *tools], 1)


@pytest.mark.parametrize(
    "verdict",
    [
        *(TaskVerdict(SchemaLimit.of("$", "", "slow")), ShadowVerdict()),
        *(Busy("full"), ValueError("bug")),
    ],
)
def test_what_is_not_judged_is_counted_and_the_next_one_is(
    pool: Pool, counted: Counter[Any], verdict: TaskVerdict | Exception
) -> None:
    pool.verdict = verdict
    pool.judges(exchange(app()))
    pool.verdict = FINE
    pool.judges(exchange(app()))
    assert counted == {("replies", "unjudged"): 1, ("replies", "complete"): 1}
