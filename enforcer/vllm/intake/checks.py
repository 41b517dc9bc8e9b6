"""Checks of a request's schemas: cached, decided by a quick look, or run by a worker process.

Nothing is compiled in this process. Cached verdicts and plain schemas do not wait for the slow
check of another request. An error's path is that in the request.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from enforcer import engines
from enforcer.checking.task import TaskVerdict
from enforcer.checking.work import LOOK, SECONDS, Beginning, SchemaCheck
from enforcer.errors import Busy, Problem, SchemaLimit, UnsupportedSchema
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import OnUnsupported
from enforcer.schema.limits import USUAL
from enforcer.schema.reading.plain import is_plain
from enforcer.vllm.config import settings
from enforcer.vllm.observe import metric_defs, metrics, recording, request_context
from enforcer.vllm.observe.metric_defs import CheckOutcome, Relaxed
from enforcer.vllm.server import runtime
from enforcer.vllm.server.side_table import SideTable

if TYPE_CHECKING:
    from enforcer.request.spec import Settled, Spec

_T = TypeVar("_T")
# Yields what a worker has to find out, and is sent the verdict; raises the first refusal.
Steps: TypeAlias = "Generator[SchemaCheck | Beginning, TaskVerdict, _T]"

_OPENING = 64  # ids that the opening of a turn may have
_OVER_TIME = (
    f"checking the schemas of this request takes over {SECONDS:g} seconds of processor time "
    "together; those that have passed are remembered, so that sending it again helps"
)


# Of tools that are read once for many requests: with which decisions and format all has passed.
_passed: SideTable[set[tuple[Settled, ResponseFormat | None]]] = SideTable()


@dataclass(frozen=True, slots=True)
class Inexact:
    """A tool, or the format, that will not be enforced exactly, or not be finished in time.

    Attributes:
        tool: name of the tool; None for the format.
        how: what is enforced in its place.
        problem: the first thing that is why; its path is the request's.
        error: class of the error that it would be refused with.
        is_new: whether the schema had not been checked before.

    """

    tool: str | None
    how: Relaxed
    problem: Problem
    error: str
    is_new: bool


def has_passed(spec: Spec) -> bool:
    """Return whether every schema of a settled spec is known to be enforceable as it is."""
    return (spec.settled, spec.response_format) in (_passed.get(spec.toolset.tools) or ())


def run(steps: Steps[_T]) -> _T:
    """Run `schemas` or `beginning`, and block while a worker checks."""
    try:
        asked = next(steps)
        while True:
            asked = steps.send(runtime.pool().check(asked))
    except StopIteration as end:
        found: _T = end.value
        return found


async def run_async(steps: Steps[_T]) -> _T:
    """Run the steps without blocking the event loop."""
    try:
        asked = next(steps)
        while True:
            asked = steps.send(await runtime.pool().check_async(asked))
    except StopIteration as end:
        found: _T = end.value
        return found


def beginning(text: str, prompt_ids: Sequence[int], begun: int, budget: int | None) -> Steps[None]:
    """Refuse a turn that cannot be started; yield the task if its verdict is not known.

    Args:
        text: the spec, with what the server has settled, its schemas checked.
        prompt_ids: ids of the rendered prompt.
        begun: how many ids at the end of the prompt belong to the assistant's turn.
        budget: how many ids the turn may have; None if unknown.

    Raises:
        IllegalPrefix: the prompt has begun what the request does not allow.
        BudgetTooSmall: what is demanded does not fit into the budget.
        SchemaError: how short a text can be is not known.
        Busy: too much is being checked for others.

    """
    # The turn's opening is short.
    skipped = max(0, len(prompt_ids) - begun - _OPENING)
    asked = Beginning(text, skipped, tuple(prompt_ids[skipped:]), budget)
    verdict = _kept(asked) or (yield asked)
    _keep(asked, verdict)
    if verdict.error is not None:
        raise verdict.error


def schemas(spec: Spec) -> Steps[list[Inexact]]:
    """Check all schemas of a spec; yield each that is in no cache, for a worker to check.

    Returns:
        What will not be enforced exactly, or not finished in time, since that was asked for.

    Raises:
        SchemaError: a schema or format cannot be enforced, or not finished in time, or takes too
            long to check.
        Busy: too much is being checked for others, or all schemas take too long together, and
            tools are not isolated.

    """
    found: list[Inexact] = []
    if has_passed(spec):
        return found
    spent = 0.0
    on_unsupported = spec.resolve(settings.current().options).on_unsupported
    isolates = on_unsupported is OnUnsupported.ISOLATE
    for tool, asked in _checks(spec):
        path = asked.wanted.path
        verdict = _known(asked)
        is_new = verdict is None
        if verdict is None and spent > SECONDS:
            if not isolates or tool is None:
                raise Busy(_OVER_TIME, own=True)
            verdict = TaskVerdict(SchemaLimit((Problem("$", "", _OVER_TIME),)))  # this time
        elif verdict is None:
            begun = perf_counter_ns()
            verdict = yield asked
            recording.recorder().observer(metric_defs.CHECK)(perf_counter_ns() - begun)
            spent += verdict.seconds
            # Of several requests that wait for one check, the first to go on logs it.
            is_new = _kept(asked) is None
            if is_new:
                _tell(asked, verdict)
            else:
                metrics.count(metric_defs.CHECKS, CheckOutcome.KEPT)
        if verdict.error is None:
            # Nothing else has a superset to enforce.
            how, problems, error = Relaxed.RELAXED, verdict.relaxed, UnsupportedSchema.__name__
        elif isolates and tool is not None:
            how, problems = Relaxed.ISOLATED, verdict.error.problems
            error = type(verdict.error).__name__
        else:
            raise verdict.error.under(path)
        if problems:
            found.append(Inexact(tool, how, problems[0].under(path), error, is_new))
    if spec.settled is not None and not found:
        passed = _passed.get(spec.toolset.tools) or set()
        _passed.put(spec.toolset.tools, passed | {(spec.settled, spec.response_format)})
    return found


def _tell(asked: SchemaCheck, verdict: TaskVerdict) -> None:
    """Cache a verdict and count it; log a slow check."""
    _keep(asked, verdict)
    if verdict.seconds >= LOOK:
        of = request_context.told(asked.wanted.path)
        place = "" if of["tool"] else asked.wanted.path
        metrics.log("slow check", seconds=f"{verdict.seconds:.1f}", path=place, **of)
    metrics.count(
        metric_defs.CHECKS, CheckOutcome.PASSED if verdict.error is None else CheckOutcome.REFUSED
    )


def _checks(spec: Spec) -> Iterator[tuple[str | None, SchemaCheck]]:
    """List a spec's schemas with tools, also of tools that the choice leaves out."""
    options = spec.resolve(settings.current().options)
    laid_out = runtime.laid_out(
        runtime.dialect_for().name if spec.settled is None else spec.settled.dialect
    )
    for tool in spec.toolset.tools.values():
        yield tool.name, SchemaCheck(tool.arguments, options, dialect=laid_out)
    if spec.response_format is not None:
        yield None, SchemaCheck(spec.response_format, options)


def _known(asked: SchemaCheck) -> TaskVerdict | None:
    found = _kept(asked)
    if found is not None:
        metrics.count(metric_defs.CHECKS, CheckOutcome.KEPT)
    elif _is_plain(asked):
        found = TaskVerdict()
        _keep(asked, found)
        metrics.count(metric_defs.CHECKS, CheckOutcome.PLAIN)
    return found


def _is_plain(asked: SchemaCheck) -> bool:
    """Return whether a schema needs no check: plain, JSON, usual limits, the machine."""
    is_usual = asked.wanted.kind is FormatKind.JSON_SCHEMA and asked.options.limits == USUAL
    is_ours = is_usual and not asked.dialect and settings.current().engine == engines.MACHINE
    return is_ours and is_plain(asked.wanted.source)


def _kept(asked: SchemaCheck | Beginning) -> TaskVerdict | None:
    found: TaskVerdict | None = runtime.kept().peek(("verdict", asked.key()))
    return found


def _keep(asked: SchemaCheck | Beginning, verdict: TaskVerdict) -> None:
    key = ("verdict", asked.key())
    runtime.kept().get(key, lambda: verdict, lambda kept: kept.weight)
