"""The middleware around vLLM's routes, where large requests take turns on the event loop."""

import asyncio
import time
from contextlib import suppress
from typing import Any
from unittest.mock import AsyncMock

import pytest

from enforcer.vllm.server import bodies, pacing
from tests.support import asgi

LARGE = 10**6


@pytest.mark.parametrize("sizes", [[LARGE], [LARGE // 3] * 3, [10], [0], []])
def test_a_body_comes_whole_whatever_its_size(sizes: list[int], monkeypatch: Any) -> None:
    monkeypatch.setattr(pacing, "turn", turn := AsyncMock())
    coming: list[Any] = [
        {"type": "http.request", "body": b"x" * size, "more_body": at + 1 < len(sizes)}
        for at, size in enumerate(sizes)
    ]
    coming.append({"type": "http.disconnect"})
    seen: list[Any] = []

    async def app(_scope: object, receive: Any, _send: object) -> None:
        seen.extend([await receive() for _ in coming])

    asgi.run(bodies.RequestMiddleware(app), coming)
    assert seen == coming
    assert [call.args for call in turn.mock_calls] == ([(sum(sizes),)] if sizes else [])


def test_what_is_no_request_passes_as_it_is() -> None:
    seen = []

    async def app(scope: Any, receive: object, _send: object) -> None:
        seen.append((scope["type"], receive))

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    asyncio.run(bodies.RequestMiddleware(app)({"type": "lifespan"}, receive, None))
    assert seen == [("lifespan", receive)]


@pytest.mark.parametrize("own", [(b"a", b"b"), (b"Retry-After", b"30")])
@pytest.mark.parametrize("status", [200, 400, 503])
def test_who_finds_no_room_is_told_when_to_come_again(status: int, own: Any) -> None:
    async def route(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [own]})
        await send({"type": "http.response.body", "body": b""})

    sent = asgi.run(bodies.RequestMiddleware(route))
    more = [(b"retry-after", b"1")] if status == 503 and own[0] == b"a" else []
    assert [message.get("headers") for message in sent] == [[own, *more], None]


WORK = 0.02  # seconds
_STEPS = ("begins", "ends")


async def _reads(order: list[str], name: str, size: int = LARGE) -> None:
    await pacing.turn(size)
    order.append(f"{name} begins")
    time.sleep(WORK)  # noqa: ASYNC251 - as reading does, it holds the loop up
    order.append(f"{name} ends")


@pytest.fixture
def _by_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have others rest for rounds of the loop, however slow the machine is."""
    monkeypatch.setattr(pacing, "_STEP", 1.0)


@pytest.mark.usefixtures("_by_rounds")
def test_a_token_reaches_its_client_between_two_large_ones() -> None:
    async def reads() -> list[str]:
        order: list[str] = []

        async def token(name: str) -> None:
            for _ in range(6):  # from the engine's socket to the client's
                await asyncio.sleep(0)
            order.append(name)

        async def read(at: int) -> None:
            await _reads(order, str(at))
            tokens.append(asyncio.create_task(token(f"token after {at}")))

        tokens: list[asyncio.Task[None]] = []
        await asyncio.gather(*(read(at) for at in range(4)))
        await asyncio.gather(*tokens)
        return order

    steps = [(f"{at} begins", f"{at} ends", f"token after {at}") for at in range(4)]
    assert asyncio.run(reads()) == [step for each in steps for step in each]


@pytest.mark.slow
def test_what_others_do_meanwhile_makes_no_turn_longer() -> None:
    async def reads() -> list[str]:
        order: list[str] = []
        loop = asyncio.get_running_loop()

        def burst() -> None:
            time.sleep(0.4)  # many streams' tokens, say
            loop.call_later(0.2, order.append, "later")

        async def read(at: int) -> None:
            if at == 0:
                loop.call_soon(burst)
            await pacing.turn(LARGE)
            order.append(str(at))

        await asyncio.gather(read(0), read(1))
        await asyncio.sleep(0.3)
        return order

    assert asyncio.run(reads()) == ["0", "1", "later"]


def test_a_busy_loop_keeps_no_turn_waiting_for_longer_than_its_size_says() -> None:
    async def reads() -> int:
        rounds = 0
        loop = asyncio.get_running_loop()

        def busy() -> None:
            nonlocal rounds
            rounds += 1
            time.sleep(0.004)  # in each of its rounds
            loop.call_soon(busy)

        busy()
        for _ in range(10):
            await pacing.turn(LARGE)
        return rounds

    # A megabyte is some twelve milliseconds; the end of a rest and a turn are a round each.
    assert asyncio.run(reads()) <= 10 * (3 + 2)


@pytest.mark.usefixtures("_by_rounds")
def test_what_is_read_in_milliseconds_is_read_at_once() -> None:
    async def reads() -> list[str]:
        order: list[str] = []

        async def read(at: int) -> None:
            await pacing.turn(pacing._AT_ONCE // 10)
            order.append(str(at))

        async def token() -> None:
            for _ in range(6):
                await asyncio.sleep(0)
            order.append("token")

        asyncio.get_running_loop().call_soon(order.append, "others")
        tasks = [asyncio.create_task(read(at)) for at in range(25)]
        await asyncio.sleep(0)
        await asyncio.gather(*tasks, token())
        return order

    order = asyncio.run(reads())
    assert order[:11] == ["others", *map(str, range(10))]
    assert order.index("token") == 11
    assert order[12:] == [str(at) for at in range(10, 25)]


def test_nothing_comes_between_the_turn_and_the_work() -> None:
    async def reads() -> bool:
        seen: list[str] = []
        await pacing.turn(LARGE)
        asyncio.get_running_loop().call_soon(seen.append, "another")
        await pacing.turn(0)
        return not seen

    assert asyncio.run(reads())


def test_small_ones_wait_for_nobody() -> None:
    async def reads() -> list[str]:
        order: list[str] = []
        large = [asyncio.create_task(_reads(order, f"large {at}")) for at in range(2)]
        await asyncio.sleep(0)  # the first has had its turn, the second waits for its own
        await _reads(order, "small", 10)
        await asyncio.gather(*large)
        return order

    names = ("large 0", "small", "large 1")
    assert asyncio.run(reads()) == [f"{name} {what}" for name in names for what in _STEPS]


def test_one_that_is_given_up_keeps_nobody_waiting() -> None:
    async def reads() -> list[str]:
        order: list[str] = []
        tasks = [asyncio.create_task(_reads(order, str(at))) for at in range(3)]
        await asyncio.sleep(0)  # the first has its turn, the others wait for theirs
        tasks[1].cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.gather(*tasks), 10)
        await asyncio.wait_for(_reads(order, "later"), 10)
        return order

    order = asyncio.run(reads())
    assert "1 begins" not in order
    assert order[-1] == "later ends"
