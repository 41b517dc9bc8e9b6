"""The bounded queue of exchanges that wait to be judged, and the counts of what came of them.

One exchange at a time is with the worker processes. What finds no room, by number or by bytes, is
dropped and counted: a reply never waits, and a server's memory has a bound.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from functools import cache
from http import HTTPStatus
from itertools import count

from enforcer import engines
from enforcer.errors import EnforcerError, RequestError
from enforcer.judging.judge import Fault, ReplyVerdict
from enforcer.judging.shadowed import ShadowedExchange, ShadowVerdict, tool_at
from enforcer.request.spec import bundled
from enforcer.schema.limits import USUAL
from enforcer.vllm.config import settings
from enforcer.vllm.intake import checks
from enforcer.vllm.observe import metric_defs, metrics, recording
from enforcer.vllm.observe.metric_defs import Change, Judged
from enforcer.vllm.server import runtime

logger = logging.getLogger("vllm.enforcer")

_WAITING = 512  # exchanges that wait to be judged
_HELD = 64 << 20  # bytes of all exchanges, unanswered ones included
_LARGEST = 8 << 20  # bytes of one exchange
_DONE = b"data: [DONE]\n\n"
_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)  # as in the judge


class Recording:
    """One exchange while it is answered.

    Args:
        to: where it is put at its end.

    Attributes:
        asked, answered: the bytes of both so far.
        status: of the response; 0 before it begins.
        complete: the whole response has been sent.
        cancelled: the client went away before.

    """

    def __init__(self, to: Queue) -> None:
        self._queue = to
        self.asked, self.answered = bytearray(), bytearray()
        self._is_kept = True
        self.status = 0
        self.complete = self.cancelled = False

    def keep(self, part: bytes, into: bytearray) -> None:
        """Append a part to `asked` or `answered`, or drop both if there is no room."""
        is_small = self._size + len(part) <= _LARGEST
        if self._is_kept and is_small and self._queue.reserve(len(part)):
            into += part
        elif self._is_kept:
            self._drop()

    @property
    def _size(self) -> int:
        return len(self.asked) + len(self.answered)

    def _drop(self) -> None:
        self._queue.release(self._size)
        self._is_kept = False
        self.asked, self.answered = bytearray(), bytearray()

    def end(self) -> None:
        """Count it, or have it judged."""
        is_judged = False
        # A client may close the connection at the end of a stream.
        is_told = self.answered.endswith(_DONE)
        if (self.cancelled or not self.complete) and not is_told:
            metrics.count(metric_defs.SHADOWED, Judged.CANCELLED)
        elif self.status != HTTPStatus.OK:
            is_refused = self.status in _REFUSED
            metrics.count(metric_defs.SHADOWED, Judged.REFUSED if is_refused else Judged.FAILED)
        else:
            is_judged = self._is_kept and self._queue.put(bytes(self.asked), bytes(self.answered))
            if not is_judged:
                metrics.count(metric_defs.DROPPED)
        if not is_judged:
            self._drop()


class Queue:
    """Queue of exchanges to be judged in order; for one event loop."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[bytes, bytes]] = deque()
        self._held = 0
        self._numbers = count()
        self._work: asyncio.Task[None] | None = None

    def reserve(self, size: int) -> bool:
        """Reserve room for `size` bytes; return whether there was enough."""
        if self._held + size > _HELD:
            return False
        self._held += size
        return True

    def release(self, size: int) -> None:
        """Give room back."""
        self._held -= size

    def put(self, body: bytes, reply: bytes) -> bool:
        """Have an exchange judged, whose bytes have been reserved; return whether there was room.

        Call it on the event loop.
        """
        if len(self._waiting) >= _WAITING:
            return False
        self._waiting.append((body, reply))
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._judge_all())
        return True

    async def _judge_all(self) -> None:
        while self._waiting:
            body, reply = self._waiting.popleft()
            try:
                await self._judge(body, reply)
            except Exception as error:  # noqa: BLE001 - no exchange may end the others' judging
                metrics.count(metric_defs.SHADOWED, Judged.UNJUDGED)
                if not isinstance(error, EnforcerError):
                    logger.warning("enforcer: a reply was not judged: %s", type(error).__name__)
            finally:
                self.release(len(body) + len(reply))

    async def _judge(self, body: bytes, reply: bytes) -> None:
        chosen = settings.current()
        dialect = runtime.dialect_for().name
        is_ours = chosen.engine == engines.MACHINE and chosen.options.limits == USUAL
        exchange = ShadowedExchange(
            next(self._numbers),
            body,
            reply,
            dialect,
            chosen.documents,
            chosen.options,
            trusts_plain=is_ours and not runtime.laid_out(dialect),
        )
        verdict = await runtime.pool().check_async(exchange)
        # Another verdict: it took too long, or failed.
        if not isinstance(verdict, ShadowVerdict) or not verdict.choices:
            metrics.count(metric_defs.SHADOWED, Judged.UNJUDGED)
            return
        for choice in verdict.choices:
            _count(choice)
        tool = verdict.tool if verdict.error else await _refused(verdict)
        if tool is not None:
            _changed(Change.REJECTED, {tool})


async def _refused(verdict: ShadowVerdict) -> str | None:
    """Return the tool for whose schema a request would be refused; None if it would not be."""
    if verdict.spec is None:
        return None
    try:
        spec = bundled(verdict.spec, runtime.bundle, settings.current().options.limits.size)
        await asyncio.to_thread(checks.run, checks.schemas(spec))
    except RequestError as error:
        return tool_at(verdict.spec.toolset.tools, error.path)
    except EnforcerError:  # no room to check it now
        return None
    return None


def _count(verdict: ReplyVerdict) -> None:
    """Count one choice of a reply."""
    faults = verdict.faults
    if faults & {Fault.REFUSED, Fault.FAILED}:
        is_refused = Fault.REFUSED in faults
        metrics.count(metric_defs.SHADOWED, Judged.REFUSED if is_refused else Judged.FAILED)
        return
    metrics.count(metric_defs.SHADOWED, Judged.COMPLETE if verdict.complete else Judged.CUT_OFF)
    for fault in faults:
        tools = {each.tool for each in verdict.findings if each.fault is fault}
        _changed(Change[fault.name], tools)
    if verdict.empty:
        _changed(Change.EMPTY, ())


def _changed(change: Change, tools: set[str] | tuple[()]) -> None:
    """Count a reply by the kind of its change, and by the tools that it is about."""
    metrics.count(metric_defs.CHANGED, change)
    for tool in tools:
        if tool:
            recording.recorder().add_named(metric_defs.CHANGED_TOOLS, tool, (change.value,))


@cache
def queue() -> Queue:
    """Return the queue of this process."""
    return Queue()
