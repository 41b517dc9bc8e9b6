"""A process that sends a load: what sending costs must not count as a gap of a neighbour's stream.

Owns: that process, and what becomes of its requests. Must not know: what is in them, the streams.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from typing import TYPE_CHECKING, Self

import httpx

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from types import TracebackType

_PATIENCE = 60.0  # seconds
_HEADERS = {"content-type": "application/json"}


class Sender:
    """Sends requests at once when told to, and says what became of them.

    Args:
        url: the server's, without `/v1`.
        requests: route and body of each.
        patience: seconds after which the client goes away; None waits a minute, which is told.

    """

    def __init__(self, url: str, requests: list[tuple[str, bytes]], patience: float | None) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, self._there = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(self._there, url, requests, patience), daemon=True
        )

    def __enter__(self) -> Self:
        self._process.start()
        self._there.close()  # so that the pipe ends with that process, whatever ends it
        self._here.recv()  # ready
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.join()

    async def send(self) -> Counter[str]:
        """Send them; gives how many came to each HTTP status, or to what else."""
        self._here.send(None)
        outcomes: Counter[str] = await asyncio.to_thread(self._here.recv)
        return outcomes


def _serve(
    there: Connection, url: str, requests: list[tuple[str, bytes]], patience: float | None
) -> None:
    there.send(None)
    there.recv()
    there.send(asyncio.run(_send_all(url, requests, patience)))


async def _send_all(
    url: str, requests: list[tuple[str, bytes]], patience: float | None
) -> Counter[str]:
    # A kept connection may be closed by the server just as the next request is written.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=None, limits=limits) as client:  # noqa: S113 - each wait has its own bound
        said = (_send(client, route, body, patience) for route, body in requests)
        return Counter(await asyncio.gather(*said))


async def _send(client: httpx.AsyncClient, route: str, body: bytes, patience: float | None) -> str:
    try:
        async with asyncio.timeout(_PATIENCE if patience is None else patience):
            answer = await client.post(route, content=body, headers=_HEADERS)
    except TimeoutError:
        return "no answer" if patience is None else "abandoned"
    except httpx.TransportError as error:
        return type(error).__name__
    return str(answer.status_code)
