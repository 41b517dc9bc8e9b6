"""Middleware around vLLM's chat route that keeps the bytes of a request and of its reply.

These are the bytes that a client sends and reads, so that the judge of `enforcer verify` judges the
same. Messages are passed on unchanged and unread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from enforcer.vllm.shadow.queue import Recording, queue

_ROUTE = "/v1/chat/completions"


class ShadowMiddleware:
    """Records each exchange on the chat route."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or a lifespan."""
        is_chat = scope["type"] == "http" and scope["path"].endswith(_ROUTE)
        if not is_chat or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        recording = Recording(queue())

        async def read() -> Any:
            message = await receive()
            if message["type"] == "http.request":
                recording.keep(message.get("body", b""), recording.asked)
            elif not recording.complete:
                recording.cancelled = True
            return message

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                recording.status = message["status"]
            elif message["type"] == "http.response.body":
                recording.keep(message.get("body", b""), recording.answered)
                recording.complete = not message.get("more_body")
            await send(message)

        try:
            await self._app(scope, read, answer)
        finally:
            recording.end()
