"""The middleware around vLLM's routes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from enforcer.vllm.server import bodies, pacing

LARGE = 10**6


@pytest.mark.parametrize("sizes", [[LARGE], [LARGE // 3] * 3, [10], [0], []])
def test_a_body_comes_whole_whatever_its_size(
    sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []

    async def turn(size: int) -> None:
        waited.append(size)

    monkeypatch.setattr(pacing, "turn", turn)
    coming = [
        {"type": "http.request", "body": b"x" * size, "more_body": at + 1 < len(sizes)}
        for at, size in enumerate(sizes)
    ]
    coming.append({"type": "http.disconnect"})
    seen: list[Any] = []

    async def app(_scope: object, receive: Any, _send: object) -> None:
        seen.extend([await receive() for _ in coming])

    pending = iter(coming)

    async def receive() -> Any:
        return next(pending)

    asyncio.run(bodies.RequestMiddleware(app)({"type": "http"}, receive, None))
    assert seen == coming
    assert waited == ([sum(sizes)] if sizes else [])


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
def test_who_finds_no_room_is_told_when_to_come_again(
    status: int, own: tuple[bytes, bytes]
) -> None:
    sent: list[Any] = []

    async def route(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [own]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(bodies.RequestMiddleware(route)({"type": "http"}, None, send))
    more = [(b"retry-after", b"1")] if status == 503 and own[0] == b"a" else []
    assert [message.get("headers") for message in sent] == [[own, *more], None]
