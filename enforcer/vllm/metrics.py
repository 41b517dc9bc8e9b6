"""What operators see: metrics on vLLM's own `/metrics`, and log lines.

Owns: which numbers there are, the folder that the server's processes keep them in, the
collector that shows their sum, and the form of the log lines. Must not know: how numbers
are kept, requests, matchers.

vLLM's engine core is another process, of which `/metrics` shows nothing by itself. So
every process writes into a file of its own (`stats`), and whichever API server is asked
sums them all. No label has a value that a client can choose.
"""

from __future__ import annotations

import atexit
import json
import logging
import multiprocessing
import os
import shutil
import tempfile
import threading
from contextlib import contextmanager
from enum import Enum
from functools import wraps
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from enforcer.errors import SchemaError
from enforcer.request.tools import ToolChoice
from enforcer.turn import dialects
from enforcer.vllm import stats
from enforcer.vllm.stats import Counter, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from enforcer.cache import Cache
    from enforcer.errors import Problem, RequestError

logger = logging.getLogger("vllm.enforcer")

# Not a setting: how the first process tells those that it spawns where the files are.
FOLDER_VARIABLE = "ENFORCER_METRICS_FOLDER"
_LONGEST_PATH = 300  # of a log line
_TABLE = 2  # of a counter with so many labels, only what is not zero is shown

_MICRO, _MILLI = 1_000, 1_000_000
_LONG = tuple(n * _MILLI for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000))
_SHORT = tuple(n * _MICRO for n in (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 20_000))

OPTION = "Option"
_ERRORS = (
    *("InvalidTools", "IllegalPrefix", "BudgetTooSmall", "UnknownLength", "InvalidSchema"),
    *("UnsupportedSchema", "UnsatisfiableSchema", "SchemaLimit", OPTION, "other"),
)
# Fields of a request that can be refused for themselves.
OPTIONS = (
    *("allowed_token_ids", "bad_words", "closed_objects", "finish_within_budget", "logit_bias"),
    *("min_tokens", "on_unsupported", "settled", "stop_token_ids", "structured_outputs"),
    *("thinking_token_budget", "tools", "use_beam_search", "vllm_xargs"),
)
_KEYWORDS = (
    *("", "$anchor", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef", "$ref"),
    *("$schema", "additionalItems", "additionalProperties", "allOf", "anyOf", "const"),
    *("contains", "contentEncoding", "contentMediaType", "contentSchema", "definitions"),
    *("dependencies", "dependentRequired", "dependentSchemas", "else", "enum"),
    *("exclusiveMaximum", "exclusiveMinimum", "format", "id", "if", "items", "maxContains"),
    *("maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems"),
    *("minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern"),
    *("patternProperties", "prefixItems", "properties", "propertyNames", "required", "then"),
    *("type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "other"),
)


class Relaxed(Enum):
    """What is enforced in the place of a schema that cannot be."""

    RELAXED = "relaxed"  # the nearest superset
    ISOLATED = "isolated"  # that it is an object
    FREE = "free"  # the same, since a front end of vLLM's own has left the schema out


class Outcome(Enum):
    """What became of a call that the model began."""

    COMPLETED = "completed"
    CUT_OFF = "cut_off"
    DROPPED = "dropped"


class Failure(Enum):
    """Why a turn was ended by the enforcer."""

    START = "start"  # no matcher could be made; vLLM answers with an error
    GATE_CLOSED = "gate_closed"  # the matcher could not go on; vLLM answers with an error
    REJECTED = "rejected"  # an id came that was masked; vLLM answers with an error
    UNENFORCED = "unenforced"  # the engine took in nothing to enforce, against ENFORCER_REQUIRE


class Checked(Enum):
    """How it was found out whether a schema can be enforced."""

    PLAIN = "plain"  # it is so plain that it is sure to be
    KEPT = "kept"  # it had been checked before
    PASSED = "passed"  # by a worker
    REFUSED = "refused"  # likewise, or its request's schemas took too long together
    BUSY = "busy"  # not at all: too much was being checked; the request was refused with 503


class Part(Enum):
    """What a process of a server does."""

    FRONT = "front"  # an API server, what launches several, or a program that uses vLLM offline
    ENGINE = "engine"
    WORKER = "worker"


class Enforced(Enum):
    """Which requests by chat routes an API server enforces."""

    EVERY = "every_request"
    ASKED = "on_request"  # those that bring a spec, or a tag of vLLM's own


REQUESTS = Counter(
    "enforcer_requests",
    "Requests that passed the check and are enforced, by what was asked of calls.",
    (("tool_choice", tuple(choice.value for choice in ToolChoice)),),
)
REFUSED = Counter(
    "enforcer_requests_refused",
    "Requests refused with HTTP 400, by class of error and the first offending keyword, or the "
    "option that is refused.",
    (("error", _ERRORS), ("keyword", (*_KEYWORDS, *OPTIONS))),
)
OFF = Counter(
    "enforcer_requests_switched_off", "Chat requests that their clients had not enforced."
)
RELAXED = Counter(
    "enforcer_tools_relaxed",
    "Tools and formats of enforced requests whose schemas are not enforced exactly, by the first "
    "keyword that is not.",
    (("how", tuple(how.value for how in Relaxed)), ("keyword", _KEYWORDS)),
)
CALLS = Counter(
    "enforcer_calls",
    "Calls in replies that were parsed: completed, cut off, or dropped as undeclared.",
    (("outcome", tuple(outcome.value for outcome in Outcome)),),
)
CHECKS = Counter(
    "enforcer_schema_checks",
    "Schemas and formats of requests, by how it was found out whether they can be enforced.",
    (("how", tuple(how.value for how in Checked)),),
)
CHECK = Histogram(
    "enforcer_check_seconds",
    "Time until a worker had checked one schema, its wait included.",
    _LONG,
)
COMPILE = Histogram("enforcer_compile_seconds", "Time to compile one schema.", _LONG)
MASK = Histogram("enforcer_mask_seconds", "Time to fill one mask.", _SHORT)
CACHE = Gauge("enforcer_grammar_cache_entries", "Compiled grammars kept in the engine.")
CACHE_BYTES = Gauge("enforcer_grammar_cache_bytes", "What they weigh.")
HITS = Counter("enforcer_grammar_cache_hits", "Grammars found in the cache.")
MISSES = Counter("enforcer_grammar_cache_misses", "Grammars that had to be compiled.")
FAILED = Counter(
    "enforcer_turns_failed",
    "Turns that the enforcer had to end.",
    (("reason", tuple(failure.value for failure in Failure)),),
)
PROCESSES = Gauge(
    "enforcer_processes",
    "Running processes of this server that have the plugin, by the part they take.",
    (("part", tuple(part.value for part in Part)),),
)
DIALECT = Gauge(
    "enforcer_dialect",
    "API servers that say which format they serve, by its dialect.",
    (("dialect", tuple(dialects.available())),),
)
SERVERS = Gauge(
    "enforcer_api_servers",
    "API servers, by which requests they enforce: every one, or those that ask for it.",
    (("enforces", tuple(which.value for which in Enforced)),),
)
LAYOUT = stats.Layout(
    (
        *(
            REQUESTS,
            REFUSED,
            OFF,
            RELAXED,
            CALLS,
            CHECKS,
            CHECK,
            COMPILE,
            MASK,
            CACHE,
            CACHE_BYTES,
            HITS,
            MISSES,
        ),
        *(FAILED, PROCESSES, DIALECT, SERVERS),
    )
)


class _Process:
    """The recorder of this process, made when the first number comes."""

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._recorder: stats.Recorder | None = None
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Leave the parent's file to the parent."""
        self._making = threading.Lock()
        self._recorder = None

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Count and log nothing until the block ends, in this process."""
        recorder, level = self._recorder, logger.level
        self._recorder = stats.Recorder(LAYOUT, None)
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            self._recorder = recorder
            logger.setLevel(level)

    def recorder(self) -> stats.Recorder:
        """Give it; without a folder, or where none can be written, numbers stay unseen."""
        if self._recorder is not None:
            return self._recorder
        with self._making:
            if self._recorder is None:
                self._recorder = self._make()
                self._recorder.set(PROCESSES, 1, (_part().value,))
            return self._recorder

    def _make(self) -> stats.Recorder:
        named = folder()
        if named is not None:
            try:
                return stats.Recorder(LAYOUT, named)
            except OSError as error:
                logger.warning("enforcer: no metrics from process %d: %s", os.getpid(), error)
        return stats.Recorder(LAYOUT, None)


def _part() -> Part:
    """Tell by the name that vLLM starts a process under."""
    name = multiprocessing.current_process().name
    if "EngineCore" in name:
        return Part.ENGINE
    return Part.WORKER if "Worker" in name else Part.FRONT


_process = _Process()
recorder = _process.recorder
muted = _process.muted


def folder() -> Path | None:
    """Give the folder of this server's files; None where the plugin made none."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def install() -> None:
    """Make the folder, unless a parent process has, and show the numbers; idempotent.

    A process counts itself at once. One that is forked off later, and so never gets here,
    does when it has the first number.
    """
    from prometheus_client import REGISTRY

    present = folder()
    if present is None or not present.is_dir():
        made = tempfile.mkdtemp(prefix="enforcer-metrics-")
        os.environ[FOLDER_VARIABLE] = made
        atexit.register(_remove, made, os.getpid())
    recorder()
    show_in(REGISTRY)


def _remove(made: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child runs its parent's exit handlers
        shutil.rmtree(made, ignore_errors=True)


def show_in(registry: Any) -> None:
    """Register the collector with a Prometheus registry, once."""
    if not getattr(registry, _SHOWN, False):
        registry.register(Collector())
        setattr(registry, _SHOWN, True)


_SHOWN = "_shows_enforcer"


def collecting(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap the constructor of Prometheus' collector over several processes.

    Where there are several API servers, every look at `/metrics` makes a registry of its own
    with this collector, in vLLM and in the library that serves the route.
    """

    @wraps(original)
    def __init__(self: Any, registry: Any, path: str | None = None) -> None:  # noqa: N807 - its name
        original(self, registry, path)
        if registry:
            show_in(registry)

    return __init__


class Collector:
    """Sums the numbers of all processes whenever Prometheus asks."""

    def describe(self) -> list[Any]:
        """Keep the registry from collecting in order to learn the names."""
        return []

    def collect(self) -> Iterator[Any]:
        """Give the families in Prometheus' form."""
        named = folder()
        snapshots = iter(()) if named is None else stats.read(LAYOUT, named)
        total = stats.total(LAYOUT, snapshots)
        for family in LAYOUT.families:
            first = LAYOUT.at(family)
            yield _shown(family, total[first : first + family.slots()])


def _shown(family: stats.Family, values: list[int]) -> Any:
    """Give a family in Prometheus' form."""
    from prometheus_client import core

    if isinstance(family, Histogram):
        histogram = core.HistogramMetricFamily(family.name, family.what)
        histogram.add_metric([], _buckets(family, values), values[-1] / 1e9)
        return histogram
    form = core.GaugeMetricFamily if isinstance(family, Gauge) else core.CounterMetricFamily
    counter = form(family.name, family.what, labels=[label for label, _ in family.labels])
    for key, value in zip(family.keys(), values, strict=True):
        if value or len(key) < _TABLE:
            counter.add_metric(key, value)
    return counter


def _buckets(family: Histogram, values: list[int]) -> list[tuple[str, float]]:
    """Give Prometheus' buckets, each of which counts those below it as well."""
    names = [repr(bound / 1e9) for bound in family.bounds] + ["+Inf"]
    reached = 0
    buckets = []
    for name, count in zip(names, values, strict=False):
        reached += count
        buckets.append((name, float(reached)))
    return buckets


def enforced(choice: ToolChoice) -> None:
    """Count a request that passed the check."""
    recorder().add(REQUESTS, (choice.value,))


def switched_off() -> None:
    """Count a request that its client has switched enforcement off for."""
    recorder().add(OFF)


def relaxed(how: Relaxed, problem: Problem | None = None) -> None:
    """Count a tool or format that is not enforced exactly; None where it has no schema at all."""
    recorder().add(RELAXED, (how.value, "" if problem is None else _known(problem.keyword)))


def log_relaxed(how: Relaxed, problem: Problem) -> None:
    """Log one, once for each schema that is new to the server."""
    _log("schema not exact", enforced=how.value, path=problem.path, keyword=_known(problem.keyword))


def _known(keyword: str) -> str:
    return keyword if keyword in _KEYWORDS else "other"


def checked(how: Checked) -> None:
    """Count a schema or format that had to be checked."""
    recorder().add(CHECKS, (how.value,))


def timed(histogram: Histogram, begun: int) -> None:
    """Record what has passed since `begun`, of `time.perf_counter_ns`."""
    recorder().observer(histogram)(perf_counter_ns() - begun)


def compiled(nanoseconds: int) -> None:
    """Record what a compilation took."""
    recorder().observer(COMPILE)(nanoseconds)


def cached(cache: Cache) -> None:
    """Publish the state of what a process keeps."""
    numbers = recorder()
    numbers.set(CACHE, len(cache))
    numbers.set(CACHE_BYTES, cache.weight)
    numbers.set(HITS, cache.hits)
    numbers.set(MISSES, cache.misses)


def calls(outcome: Outcome, count: int) -> None:
    """Count calls of a reply."""
    if count:
        recorder().add(CALLS, (outcome.value,), count)


def refused(error: RequestError, *, request: str = "", tool: str = "") -> None:
    """Count and log a request that was refused for what its tools or schemas say.

    Args:
        error: why.
        request: its id; empty where it has none yet.
        tool: name of the tool at fault; empty where it is none's.

    """
    kind = type(error).__name__
    keyword = error.keyword if isinstance(error, SchemaError) else ""
    known = (
        kind if kind in _ERRORS else "other",
        _known(keyword),
    )
    recorder().add(REFUSED, known)
    _log("refused", error=known[0], path=error.path, keyword=known[1], request=request, tool=tool)


def refused_option(option: str, *, request: str = "") -> None:
    """Count and log a request that was refused for a sampling option or a switch."""
    known = option if option in OPTIONS else "other"
    recorder().add(REFUSED, (OPTION, known))
    _log("refused", error=OPTION, path=f"$.{option}", keyword=known, request=request)


def failed(failure: Failure, request_id: str, **more: str) -> None:
    """Count and log a turn that the enforcer had to end."""
    recorder().add(FAILED, (failure.value,))
    log_failed(failure, request=request_id, **more)


def log_failed(failure: Failure, **more: str) -> None:
    """Log one, where it is not counted: each worker of a group has the same logits processor."""
    _log("turn failed", reason=failure.value, **more)


def _log(what: str, **fields: str) -> None:
    """Write one line. Values are JSON strings: a path may hold what a client wrote."""
    said = " ".join(
        f"{key}={json.dumps(value[:_LONGEST_PATH])}" for key, value in fields.items() if value
    )
    logger.warning("enforcer: %s %s", what, said)
