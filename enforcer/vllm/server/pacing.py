"""Turns of large requests on the API server's event loop, so that streams go on between them.

vLLM reads a body in one step of the loop: JSON, validation, parameters, some 7 ms for a megabyte;
ours are further steps of such lengths. Several at once would come one right after the other, and
no stream's next token is sent before the last of them.
"""

from __future__ import annotations

import asyncio
import time
from weakref import WeakKeyDictionary

_LARGE = 16_000  # bytes, or characters; a fifth of a millisecond or more
_AT_ONCE = 400_000  # bytes in several steps; a larger step comes alone
_STEP = 12e-9  # seconds of a step for each byte
_ROUNDS = 16  # rounds of the loop; a token that waits for nothing else needs half


async def turn(size: int) -> None:
    """Wait until less than `_AT_ONCE` has been worked on since others had the event loop.

    The turn is all that the caller does up to the next time it waits. After so much, of the same
    request too, others have the loop: for as many rounds as a token takes from the engine to its
    client, or about as long as the work took, whichever is over first. Turns come in the order in
    which they are asked for.

    Args:
        size: bytes or characters that are about to be read; small ones do not wait.

    """
    if size >= _LARGE:
        await _turns.setdefault(asyncio.get_running_loop(), _Turns()).take(size)


class _Turns:
    """The turns on one event loop."""

    def __init__(self) -> None:
        self._order = asyncio.Lock()
        self._read = 0  # since others had the loop

    async def take(self, size: int) -> None:
        """Wait for a turn."""
        async with self._order:
            if self._read and self._read + size > _AT_ONCE:
                await self._rest()
            self._read += size

    async def _rest(self) -> None:
        until = time.monotonic() + self._read * _STEP  # uvloop tells its own in whole rounds
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
            if time.monotonic() >= until:
                break
        self._read = 0


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()
