"""The protocol of a worker's task, its verdict, and the state that tasks share in one worker.

A host sends a task to a worker as a pickle, and gets a `TaskVerdict` back. Whatever a task raises
becomes a verdict too (`survived`), so that no request can end a worker by an exception.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from enforcer.api import Enforcer
from enforcer.errors import Problem, RequestError, SchemaLimit, UnsupportedSchema, brief

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine

TOO_MUCH_MEMORY = (
    "checking this schema takes too much memory; give it fewer or shorter alternatives, "
    "patterns and values"
)


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """The answer to a task.

    Attributes:
        error: why the request is refused, with a schema's path from its root; None if it is not.
        relaxed: constraints that will not be enforced, in relax mode.
        seconds: processor time that the task took.
        written: the grammar as written for the engine, for a `SchemaCheck` with `writes`.

    """

    error: RequestError | None = None
    relaxed: tuple[Problem, ...] = ()
    seconds: float = 0.0
    written: bytes = b""

    @property
    def weight(self) -> int:
        """The approximate size in bytes."""
        problems = self.relaxed
        problems += self.error.problems if self.error is not None else ()
        return 200 + sum(300 + len(p.path) + len(p.reason) for p in problems)


class WorkerState:
    """The engine of a worker, and an `Enforcer` for each tool-call format, built on demand.

    Attributes:
        engine: compiles grammars.
        enforcer: returns the `Enforcer` of a format's name; built once.

    """

    def __init__(self, engine: ArgumentEngine) -> None:
        self.engine = engine
        self.enforcer = cache(lambda dialect: Enforcer(engine.vocabulary, dialect, engine))


class Task(Protocol):
    """Work for a worker, sent to it as a pickle."""

    def key(self) -> Hashable:
        """Return a small key; equal tasks share one verdict."""

    @property
    def size(self) -> int:
        """The approximate size in bytes."""

    def perform(self, worker: WorkerState) -> TaskVerdict:
        """Do the work in this process, without a bound on time or memory."""


def survived(do: Callable[[], TaskVerdict]) -> TaskVerdict:
    """Call a function; turn what it raises into a verdict that refuses the request.

    Raises:
        KeyboardInterrupt, SystemExit: as `do` does.

    """
    try:
        return do()
    except (KeyboardInterrupt, SystemExit):
        raise
    except MemoryError:
        return TaskVerdict(error=SchemaLimit.of("$", "", TOO_MUCH_MEMORY))
    except BaseException as error:  # noqa: BLE001 - a panic in an engine's Rust is no `Exception`
        # Into the server's log, since this is ours to mend; not the message: a client may have
        # written it.
        trace = traceback.format_tb(error.__traceback__)
        sys.stderr.writelines([*trace, type(error).__name__, "\n"])
        what = f"{type(error).__name__}: {brief(str(error))}"
        reason = (
            f"the compiler failed on this schema ({what}); please report it, and write it otherwise"
        )
        return TaskVerdict(error=UnsupportedSchema.of("$", "", reason))
