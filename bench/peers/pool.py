"""Cases through an engine's process, which is started anew after a case that hangs or kills it.

Owns: the process, the time a case may take, the memory that it is seen to need. Must not know: the
verdicts on instances, tables.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from bench.peers.cases import lines
from bench.peers.judge import Verdict
from bench.processes import peak, processor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.peers.cases import Case

_START = 300.0  # seconds until an engine has read a vocabulary
_LOOK = 0.2  # seconds between two looks at what a process has used
_PATIENCE = 10  # times longer may a process sleep than compute


class MissingError(Exception):
    """An engine's package is not installed."""


@dataclass(slots=True)
class Measured:
    """What was measured of one engine.

    Attributes:
        ready: what its process said of itself: the `version` of its package.
        outcomes: one for each case, as `bench.peers.judge.Outcome` has it.
        peak: MiB that a process of it has held at most.

    """

    ready: dict[str, Any]
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    peak: float = 0.0


class _Ended(Exception):  # noqa: N818 - a value of the exchange
    """The process is gone."""


class _Process:
    """An engine's process, and its replies as they come."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._replies: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._replies.put(line)
        self._replies.put("")

    def ask(self, line: str | None, seconds: float) -> dict[str, Any]:
        """Send a line, if any, and wait for the reply.

        Args:
            line: what to send.
            seconds: of processor time that the process may use meanwhile.

        Raises:
            TimeoutError: it has used them, or ten times as many have passed.
            _Ended: the process ended instead.

        """
        used, begun = processor(self._process.pid), time.monotonic()
        stdin = self._process.stdin
        try:
            if line is not None and stdin is not None:
                stdin.write(line + "\n")
                stdin.flush()
        except BrokenPipeError:
            raise _Ended(str(self._process.wait())) from None
        while True:
            try:
                reply = self._replies.get(timeout=_LOOK)
                break
            except queue.Empty:
                is_late = processor(self._process.pid) - used > seconds
                if is_late or time.monotonic() - begun > _PATIENCE * seconds:
                    raise TimeoutError from None
        if not reply:
            raise _Ended(str(self._process.wait()))
        found: dict[str, Any] = json.loads(reply)
        return found

    def peak(self) -> float:
        """Give the most memory that it has held, in MiB."""
        return peak(self._process.pid)


def command(engine: str) -> list[str]:
    """Give the command of an engine's process."""
    return [sys.executable, "-m", "bench.peers.worker", engine]


def measure(command: list[str], cases: Iterable[Case], seconds: float) -> Measured:
    """Send cases to an engine's process, one after the other.

    Args:
        command: starts the process.
        cases: in order.
        seconds: that one case may take.

    Raises:
        MissingError: its package is not installed.

    """
    listed = list(cases)
    waiting = list(zip(listed, lines(listed), strict=True))[::-1]
    found: Measured | None = None
    while waiting or found is None:
        with _Process(command) as process:
            ready = process.ask(None, _START)
            if "missing" in ready:
                raise MissingError(ready["missing"])
            found = found or Measured(ready)
            while waiting:
                case, line = waiting.pop()
                try:
                    outcome = process.ask(line, seconds)
                except TimeoutError:
                    outcome = _none(case, Verdict.TIME_OUT, f"more than {seconds:g} s")
                except _Ended as error:
                    outcome = _none(case, Verdict.CRASH, f"the process ended with {error}")
                found.peak = max(found.peak, process.peak())
                found.outcomes.append(outcome)
                if "first_mask" not in outcome:
                    break  # a new process for what is left
    return found


def _none(case: Case, verdict: Verdict, detail: str) -> dict[str, Any]:
    """Give the outcome of a case that has none."""
    return {"case": case.id, "verdict": verdict.value, "detail": detail}
