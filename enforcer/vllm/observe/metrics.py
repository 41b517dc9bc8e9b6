"""What operators see: metrics on vLLM's own `/metrics`, and log lines."""

from __future__ import annotations

import json
import logging
import time
from functools import cache
from typing import TYPE_CHECKING

from enforcer.errors import SchemaError
from enforcer.vllm.config.names import is_probe
from enforcer.vllm.observe import families, recording
from enforcer.vllm.observe.families import label

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.cache import Cache
    from enforcer.errors import EnforcerError, Problem, RequestError
    from enforcer.request.tools import ToolChoice
    from enforcer.vllm.observe.stats import Histogram

logger = logging.getLogger("vllm.enforcer")

_LONGEST_PATH = 300  # of a log line
SLOW_MASK = 5_000_000  # ns
_BETWEEN = 60.0  # seconds from one line on slow masks to the next


def enforced(choice: ToolChoice) -> None:
    """Count a request that passed the check."""
    recording.recorder().add(families.REQUESTS, (choice.value,))


def switched_off(*, request: str = "") -> None:
    """Count and log a request that its client has switched enforcement off for.

    It may be all that a client sends, which the operator allows: nothing to warn of.
    """
    recording.recorder().add(families.OFF)
    _log("switched off", logging.INFO, request=request)


def relaxed(how: families.Relaxed, problem: Problem | None = None) -> None:
    """Count a tool or format that is not exact, or not in time; None where it has no schema."""
    keyword = "" if problem is None else label(problem.keyword)
    recording.recorder().add(families.RELAXED, (how.value, keyword))


def log_relaxed(how: families.Relaxed, problem: Problem, *, error: str, **of: str) -> None:
    """Log one, once for each schema that is new to the server.

    Args:
        how: what is enforced in its place.
        problem: the first thing that is why.
        error: class of the error that it would be refused with.
        of: `request` that brought it first, and `tool`; a format has none.

    """
    fields = {
        "error": label(error, families.ERRORS),
        "path": problem.path,
        "keyword": label(problem.keyword),
    }
    if how is families.Relaxed.UNTIMED:
        _log("calls may be cut off", **fields, **of)
    else:
        _log("schema not exact", enforced=how.value, **fields, **of)


def log_more_relaxed(count: int, *, late: bool, request: str) -> None:
    """Log how many more schemas of a request are new and not exact, or not in time."""
    what = "calls to more tools may be cut off" if late else "more schemas not exact"
    _log(what, count=str(count), request=request)


def checked(how: families.Checked) -> None:
    """Count a schema or format that had to be checked."""
    recording.recorder().add(families.CHECKS, (how.value,))


def timed(histogram: Histogram, nanoseconds: int) -> None:
    """Record a duration."""
    recording.recorder().observer(histogram)(nanoseconds)


def cached(cache: Cache, live: int) -> None:
    """Publish the state of a process's cache, and the bytes of the texts that are being written."""
    numbers = recording.recorder()
    numbers.set(families.CACHE, len(cache))
    numbers.set(families.CACHE_BYTES, cache.weight)
    numbers.set(families.TEXT_BYTES, live)
    numbers.set(families.HITS, cache.hits)
    numbers.set(families.MISSES, cache.misses)


def calls(outcome: families.Outcome, count: int, *, request: str = "") -> None:
    """Count calls of a reply, of a request with this id; cut-off calls of the doctor's apart."""
    lost = outcome in (families.Outcome.CUT_OFF, families.Outcome.NOT_BEGUN)
    if count and lost and is_probe(request):
        recording.recorder().add(families.PROBES, ("cut_off",))
    elif count:
        recording.recorder().add(families.CALLS, (outcome.value,), count)


def log_dropped(*, tool: str = "", request: str = "") -> None:
    """Log a reply that had calls which were dropped, one line however many.

    Args:
        tool: the name that the first of them has; empty where none could be read.
        request: id of the request; empty where it is not known.

    """
    _log("call dropped", tool=tool, request=request)


def refused(error: RequestError, *, request: str = "", tool: str = "") -> None:
    """Count and log a request that was refused for what its tools or schemas say.

    Args:
        error: why.
        request: its id; empty where it has none yet.
        tool: name of the tool at fault; empty where it is none's.

    """
    keyword = label(error.keyword) if isinstance(error, SchemaError) else ""
    _refused(label(type(error).__name__, families.ERRORS), error.path, keyword, request, tool)


def refused_option(option: str, *, request: str = "") -> None:
    """Count and log a request that was refused for a sampling option or a switch."""
    keyword = label(option.partition(".")[0], families.OPTIONS)
    _refused(families.OPTION, f"$.{option}", keyword, request)


def _refused(error: str, path: str, keyword: str, request: str, tool: str = "") -> None:
    """Count and log; a probe of `enforcer doctor` apart, which is nothing to warn of."""
    level = logging.WARNING
    if is_probe(request):
        level = logging.INFO
        recording.recorder().add(families.PROBES, ("refused",))
    else:
        recording.recorder().add(families.REFUSED, (error, keyword))
    _log("refused", level, error=error, path=path, keyword=keyword, request=request, tool=tool)


def log_busy(*, own: bool, request: str, lacks: str = "") -> None:
    """Log a request that is not served, as there is no room to check its schemas.

    Args:
        own: whether its own schemas took the time; else those of others.
        request: its id; empty where it has none yet.
        lacks: what the system has no more of, where no schemas took it.

    """
    whose = {"lacks": lacks} if lacks else {"schemas": "own" if own else "of others"}
    _log("busy", **whose, request=request)


def log_slow(seconds: float, *, path: str, request: str, tool: str) -> None:
    """Log a check that took long enough to hold others up, whatever came of it.

    Args:
        seconds: processor time.
        path: what it was, where that is no tool; else empty.
        request: id of the request that brought the schema first.
        tool: name of the tool.

    """
    _log("slow check", seconds=f"{seconds:.1f}", path=path, request=request, tool=tool)


class SlowMasks:
    """Logs one slow mask a minute of this process, and how many there were.

    Several threads may use it at once. It has no lock: a count that is one too low does no harm.
    """

    def __init__(self) -> None:
        self._next = time.monotonic()
        self._masks = 0  # since the last line

    def see(self, spent: int, tool: Callable[[], str], request: str) -> None:
        """Take a mask into account; log it if it is slow and the last line is a minute old.

        Args:
            spent: ns that it took, of a processor or by the wall clock.
            tool: returns the name of the tool whose arguments it is in; empty for text.
            request: id of its request.

        """
        if spent < SLOW_MASK:
            return
        self._masks += 1
        now = time.monotonic()
        if now < self._next:
            return
        masks, self._masks, self._next = self._masks, 0, now + _BETWEEN
        took = f"{spent / 1e6:.1f} ms"
        _log("slow masks", tool=tool(), took=took, masks=str(masks), request=request)


def log_nothing(error: EnforcerError, *, asked: bool) -> None:
    """Log that an engine can enforce nothing, and why. No request is there yet to forge it.

    Args:
        error: why.
        asked: whether its server is to enforce anything, or merely has the plugin.

    """
    level = logging.WARNING if asked else logging.INFO
    logger.log(level, "enforcer: this engine enforces nothing: %s", error)


@cache
def log_former(name: str, means: str) -> None:
    """Log that a setting or spec names an engine as an earlier release did; once in a process."""
    _log("former engine", engine=name, means=means)


def log_replaced(status: int) -> None:
    """Log a process that checked schemas and was ended from outside, by the kernel mostly.

    Args:
        status: its exit status; less than zero, minus the signal's number.

    """
    _log("checking process replaced", status=str(status))


def failed(failure: families.Failure, request_id: str, **more: str) -> None:
    """Count and log a turn that the enforcer had to end."""
    recording.recorder().add(families.FAILED, (failure.value,))
    log_failed(failure, request=request_id, **more)


def log_failed(failure: families.Failure, **more: str) -> None:
    """Log one, where it is not counted: each worker of a group has the same logits processor."""
    _log("turn failed", reason=failure.value, **more)


def _log(what: str, level: int = logging.WARNING, /, **fields: str) -> None:
    """Write one line. Values are JSON strings: a path may hold what a client wrote."""
    said = [f"{key}={json.dumps(value[:_LONGEST_PATH])}" for key, value in fields.items() if value]
    logger.log(level, "enforcer: %s", " ".join([what, *said]))
