"""A heartbeat in a server's event loop, which tells how long it stood still.

Owns: the middleware for vLLM's command line. Must not know: what kept the loop busy.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PATH = "/standstills"
_BEAT = 0.001  # seconds


class Heartbeat:
    """An ASGI application around vLLM's that answers with the longest standstill since last asked.

    For vLLM's `--middleware`.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app
        self._longest = 0.0
        self._beat: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or a lifespan."""
        self._beat = self._beat or asyncio.create_task(self._watch())
        if scope.get("path") != PATH:
            await self._app(scope, receive, send)
            return
        body, self._longest = json.dumps(self._longest).encode(), 0.0
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def _watch(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(_BEAT)
            now = time.monotonic()
            self._longest, last = max(self._longest, now - last - _BEAT), now
