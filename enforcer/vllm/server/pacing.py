"""Large requests take turns on the API server's event loop, so that streams go on between them.

Owns: which bodies are large, how much is read at once, and for how long others have the loop then.
Must not know: what is in a body, what reading it is for.

vLLM reads a body in one step of the loop: JSON, validation, parameters, some 7 ms for a megabyte;
ours are further steps of such lengths. Several at once would come one right after the other, and
no stream's next token is sent before the last of them.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_LARGE = 16_000  # bytes, or characters; a fifth of a millisecond or more
_AT_ONCE = 400_000  # of them, in several steps; a larger one comes alone
_STEP = 12e-9  # seconds that a step takes, for each
_ROUNDS = 16  # of the loop; a token waits for half of them, where it waits for nothing else


class TurnsMiddleware:
    """Lets large bodies through to vLLM a few at a time.

    An ASGI application around another (https://asgi.readthedocs.io), for vLLM's `--middleware`.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or a lifespan."""
        await self._app(scope, paced(receive) if scope["type"] == "http" else receive, send)


def paced(receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """Wrap an ASGI application's `receive`: the end of a large body comes when it is its turn."""
    size = 0

    async def _receive() -> Any:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if message["type"] == "http.request" and not message.get("more_body"):
            await turn(size)
        return message

    return _receive


async def turn(size: int) -> None:
    """Wait until less than `_AT_ONCE` has just been worked on; what the caller does next is.

    That is all up to the next time it waits for anything. After so much, of the same request
    too, others have the loop: for as many rounds as a token takes from the engine to its client,
    or about as long as what was read took, whichever is over first. What has nothing to do keeps
    no turn waiting, and what has much to do none for longer than their size says. Turns come in
    the order in which they are asked for.

    Args:
        size: bytes or characters that are about to be read; small ones do not wait.

    """
    if size < _LARGE:
        return
    loop = asyncio.get_running_loop()
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns[loop] = _Turns()
    await turns.take(size)


class _Turns:
    """Who may read on one event loop."""

    def __init__(self) -> None:
        self._read = 0  # since others had the loop
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._rounds = 0
        self._until = 0.0

    async def take(self, size: int) -> None:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        if not self._waiting and self._has_room(size):
            if not self._read:
                loop.call_soon(self._rest)
            self._begin(size)
            return
        own = loop.create_future()
        self._waiting.append((size, own))
        await own

    def _has_room(self, size: int) -> bool:
        return not self._read or self._read + size <= _AT_ONCE

    def _begin(self, size: int) -> None:
        self._read += size
        self._rounds, self._until = _ROUNDS, 0.0

    def _rest(self) -> None:
        """Go on with the rest, in each round of the loop until it is over."""
        now = time.monotonic()  # uvloop tells its own in whole rounds
        self._until = self._until or now + self._read * _STEP
        self._rounds -= 1
        if not self._rounds or now >= self._until:
            self._read = 0
            while self._waiting and self._has_room(self._waiting[0][0]):
                size, waits = self._waiting.popleft()
                if not waits.done():  # it may have been given up
                    waits.set_result(None)
                    self._begin(size)
        if self._read:
            asyncio.get_running_loop().call_soon(self._rest)


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()
