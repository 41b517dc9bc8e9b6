"""Metrics and log lines for operators, on vLLM's own `/metrics` and in its log.

`count` adds to a counter. Durations go to a histogram through `recording.recorder().observer`,
which returns the function that takes each one, in ns. Gauges are set by `recorder().set`.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from enforcer.errors import EnforcerError, Problem, RequestError, SchemaError
from enforcer.vllm.observe import metric_defs, recording
from enforcer.vllm.observe.metric_defs import label

if TYPE_CHECKING:
    from enforcer.cache import Cache
    from enforcer.vllm.observe.stats import Family

logger = logging.getLogger("vllm.enforcer")

_LONGEST_PATH = 300  # characters of a path in a log line
SLOW_MASK = 5_000_000  # ns
_BETWEEN = 60.0  # seconds from one line on slow masks to the next


def count(counter: Family, *labels: Enum | str, number: int = 1) -> None:
    """Add to a counter, by its labels."""
    key = tuple(each.value if isinstance(each, Enum) else each for each in labels)
    recording.recorder().add(counter, key, number)


def switched_off(*, request: str = "") -> None:
    """Count a request whose client has switched enforcement off; log it at level INFO.

    The operator allows it, and a client may do so with every request.
    """
    count(metric_defs.OFF)
    log("switched off", logging.INFO, request=request)


def shortened(request_id: str, tool: str) -> None:
    """Count and log a turn with a call that its token budget may have shortened."""
    count(metric_defs.SHORTENED)
    log("call shortened by max_tokens", logging.INFO, request=request_id, tool=tool)


def relaxed(how: metric_defs.Relaxed, problem: Problem | None = None) -> None:
    """Count a tool or format that is not enforced exactly.

    Args:
        how: what is enforced in place of its schema.
        problem: the first reason; None if the schema is not known.

    """
    count(metric_defs.RELAXED, how, "" if problem is None else label(problem.keyword))


def log_relaxed(how: metric_defs.Relaxed, problem: Problem, *, error: str, **of: str) -> None:
    """Log a schema that is not enforced exactly, once for each that is new to the server.

    Args:
        how: what is enforced in its place.
        problem: the first reason.
        error: class of the error that would reject it.
        of: `request` that sent it first, and `tool`; a response format has no tool.

    """
    fields = {"error": label(error, metric_defs.ERRORS), "path": problem.path}
    log("schema not exact", enforced=how.value, **fields, keyword=label(problem.keyword), **of)


def cached(cache: Cache, live: int) -> None:
    """Publish the state of a process's cache, and the bytes of the texts that are being written."""
    numbers = recording.recorder()
    numbers.set(metric_defs.CACHE, len(cache))
    numbers.set(metric_defs.CACHE_BYTES, cache.weight)
    numbers.set(metric_defs.TEXT_BYTES, live)
    numbers.set(metric_defs.HITS, cache.hits)
    numbers.set(metric_defs.MISSES, cache.misses)


def refused(error: RequestError, *, request: str = "", tool: str = "") -> None:
    """Count and log a request that was refused for what its tools or schemas say.

    Args:
        error: why.
        request: its id; empty where it has none yet.
        tool: name of the tool at fault; empty where it is none's.

    """
    keyword = label(error.keyword) if isinstance(error, SchemaError) else ""
    _refused(label(type(error).__name__, metric_defs.ERRORS), error.path, keyword, request, tool)


def refused_option(option: str, *, request: str = "") -> None:
    """Count and log a request that was refused for a sampling option or a switch."""
    keyword = label(option.partition(".")[0], metric_defs.OPTIONS)
    _refused(metric_defs.OPTION, f"$.{option}", keyword, request)


def _refused(error: str, path: str, keyword: str, request: str, tool: str = "") -> None:
    count(metric_defs.REFUSED, error, keyword)
    log("refused", error=error, path=path, keyword=keyword, request=request, tool=tool)


class SlowMasks:
    """Logs one slow mask a minute of this process, and how many there were.

    Several threads may use it at once without a lock: a count that is one too low does no harm.
    """

    def __init__(self) -> None:
        self._next = time.monotonic()
        self._masks = 0  # since the last line

    def see(self, spent: int, tool: Callable[[], str], request: str) -> None:
        """Take a slow mask into account; log it if the last line is a minute old.

        Args:
            spent: ns that it took, of a processor or by the wall clock.
            tool: returns the name of the tool whose arguments it is in; empty for text.
            request: id of its request.

        """
        self._masks += 1
        now = time.monotonic()
        if now < self._next:
            return
        masks, self._masks, self._next = self._masks, 0, now + _BETWEEN
        took = f"{spent / 1e6:.1f} ms"
        log("slow masks", tool=tool(), took=took, masks=str(masks), request=request)


def log_nothing(error: EnforcerError, *, asked: bool) -> None:
    """Log that an engine can enforce nothing, and why; no text of a client is in it.

    Args:
        error: why.
        asked: whether its server is to enforce anything, or merely has the plugin.

    """
    level = logging.WARNING if asked else logging.INFO
    logger.log(level, "enforcer: this engine enforces nothing: %s", error)


def failed(failure: metric_defs.Failure, request_id: str, **more: str) -> None:
    """Count and log a turn that the enforcer had to end."""
    count(metric_defs.FAILED, failure)
    log_failed(failure, request=request_id, **more)


def log_failed(failure: metric_defs.Failure, **more: str) -> None:
    """Log a failed turn without counting it: each worker of a group sees the same failure."""
    log("turn failed", reason=failure.value, **more)


def log(what: str, level: int = logging.WARNING, /, **fields: str) -> None:
    """Log one line, without empty fields. Values are JSON strings, as a client may write them."""
    said = [f"{key}={json.dumps(value[:_LONGEST_PATH])}" for key, value in fields.items() if value]
    logger.log(level, "enforcer: %s", " ".join([what, *said]))
