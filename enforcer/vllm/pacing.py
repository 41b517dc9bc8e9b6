"""Large requests take turns on the API server's event loop, so that streams go on between them.

Owns: which bodies are large, and for how long others have the loop after each. Must not know: what
is in a body, what reading it is for.

vLLM reads a body in one step of the loop: JSON, validation, parameters, some 7 ms for a megabyte;
ours are further steps of such lengths. Several at once would come one right after the other, and
no stream's next token is sent before the last of them.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_LARGE = 16_000  # bytes, or characters; a fifth of a millisecond or more
_STEP = 12e-9  # seconds that a step takes, for each
_ROUNDS = 16  # of the loop; a token waits for half of them, where it waits for nothing else
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class TurnsMiddleware:
    """Lets large bodies through to vLLM one at a time.

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
    """Wait until nothing large has just been worked on; what the caller does next is.

    That is all up to the next time it waits for anything. Then others have the loop before the
    next turn, of the same request too: as many rounds as a token takes from the engine to its
    client, or about as long as one step with so large a body, whichever is over first. What has
    nothing to do keeps no turn waiting, and what has much to do keeps none longer than its size
    says. Turns come in the order in which they are asked for.

    Args:
        size: bytes or characters that are about to be read; small ones do not wait.

    """
    if size < _LARGE:
        return
    loop = asyncio.get_running_loop()
    lock = _turns.setdefault(loop, asyncio.Lock())
    await lock.acquire()
    rounds, until = _ROUNDS, 0.0

    def rest() -> None:
        nonlocal rounds, until
        now = time.monotonic()  # uvloop tells its own in whole rounds
        until = until or now + size * _STEP
        rounds -= 1
        if rounds and now < until:
            loop.call_soon(rest)
        else:
            lock.release()

    loop.call_soon(rest)
