"""One request to an ASGI application, without a server."""

import asyncio
from typing import Any


def pieces(body: bytes, count: int = 1) -> list[dict[str, Any]]:
    """Return the messages in which a body comes, and the end of its connection."""
    size = -(-len(body) // count) or 1
    parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    return [
        *({"type": "http.request", "body": x, "more_body": True} for x in parts[:-1]),
        {"type": "http.request", "body": parts[-1], "more_body": False},
        {"type": "http.disconnect"},
    ]


async def exchange(app: Any, messages: list[Any], **scope: Any) -> list[Any]:
    """Hand an application its messages, one at each `receive`; return what it sends."""
    coming, sent = iter(messages), []

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", **scope}, receive, send)
    return sent


def run(app: Any, messages: list[Any] | None = None, **scope: Any) -> list[Any]:
    """Do it in a loop of its own."""
    return asyncio.run(exchange(app, messages or [], **scope))
