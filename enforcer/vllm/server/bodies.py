"""Middleware around vLLM's routes (https://asgi.readthedocs.io), for its `--middleware`.

vLLM's `--middleware` is outside everything else, its check of the API key included. So a body is
read when vLLM asks for it, and nothing is worked out for a client that vLLM turns away before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from enforcer.vllm.observe import request_context
from enforcer.vllm.server import pacing

_COME_AGAIN = (b"retry-after", b"1")  # seconds


class RequestMiddleware:
    """Begins each request's context, paces large bodies, and adds `Retry-After` to each 503.

    It reads the header `X-Request-Id`, as vLLM does only once a prompt is rendered.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or a lifespan."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_context.read_header(scope)
        size = 0

        async def read() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if message["type"] == "http.request" and not message.get("more_body"):
                await pacing.turn(size)
            return message

        async def answer(message: Any) -> None:
            if message.get("status") == HTTPStatus.SERVICE_UNAVAILABLE:
                headers = [*message.get("headers", ())]
                if _COME_AGAIN[0] not in {name.lower() for name, _ in headers}:
                    message = {**message, "headers": [*headers, _COME_AGAIN]}
            await send(message)

        await self._app(scope, read, answer)
