"""Handles of the fork server and its worker processes, as the server's threads use them.

They start and end the processes and exchange messages with them; they know no task and no queue.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.reduction import send_handle
from typing import TYPE_CHECKING

from enforcer.errors import ConfigurationError, EnforcerError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from enforcer.checking.task import Task, TaskVerdict
    from enforcer.vocabulary import Vocabulary

_START_SECONDS = 60  # a busy machine; an idle one needs a third of a second
# One processor each is the point; and a process with threads cannot be forked.
_SINGLE_THREADED = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


class WorkerEnded(EnforcerError):  # noqa: N818 - named for what happened
    """A worker has ended; `status` is its exit status, or minus the signal's number."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the checking process has ended with status {status}")
        self.status = status


class NoProcess(EnforcerError):  # noqa: N818 - named for what there is not
    """No worker can be started: the fork server was ended, or the system has no room for one.

    Attributes:
        status: minus the number of the signal that ended the fork server; 0 if there was none, so
            that another try would fail as well.

    """

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class Forker:
    """The fork server of one engine and vocabulary; safe to use from several threads.

    Its process ends with the thread that has made it.

    Args:
        engine: the engine's name.
        vocabulary: the vocabulary that the workers check for.
        dialect: the tool-call format to warm before forking; empty if unknown.
        modules: names of modules that tasks need, imported once for all workers; with any, the
            workers run at the lowest priority.

    Raises:
        ConfigurationError: the process ended by itself before it was ready.
        NoProcess: a signal ended the process, or it could not be started.

    """

    def __init__(
        self,
        engine: str,
        vocabulary: Vocabulary,
        dialect: str = "",
        *,
        modules: tuple[str, ...] = (),
    ) -> None:
        self._lock = threading.Lock()
        # What this process finds, the worker must find: the path, not the current folder.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        try:
            self._orders, theirs = Pipe()
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our module
                    [sys.executable, "-P", "-m", "enforcer.checking.worker", str(os.getpid())],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,  # errors go to where this process's go
                    env={**os.environ, **_SINGLE_THREADED, "PYTHONPATH": path},
                )
        except OSError as error:
            raise NoProcess(f"no checking process can be started: {error}") from error
        try:
            self._orders.send((engine, vocabulary.to_json(), dialect, modules))
            if not self._orders.poll(_START_SECONDS):
                self.end()
                raise NoProcess("the checking process did not start")
            self._orders.recv()
        except (OSError, EOFError):
            self._orders.close()
            status = self._process.wait()
            ended = f"the checking process ended with status {status} before it was ready"
            if status < 0:
                raise NoProcess(ended, status) from None
            why = f"{ended}; what it has written to the log says why"
            raise ConfigurationError(why) from None

    def start(self) -> Process:
        """Fork a worker.

        Raises:
            NoProcess: the fork server has ended.
            OSError: the system allows no more handles or no more processes.

        """
        ours, theirs = Pipe()
        with theirs:
            pid = self.ask(0, theirs)
        if pid < 0:
            ours.close()
            raise OSError(-pid, os.strerror(-pid))
        return Process(self, pid, ours)

    def ask(self, pid: int, pipe: Connection | None = None) -> int:
        """Send an order to the fork server and return its answer.

        Args:
            pid: a worker's process id, to end it; 0 to fork one.
            pipe: for 0, the connection of the new worker.

        Returns:
            The exit status of the ended worker or minus the signal's number; for 0 the new
            worker's process id, or minus the system's error number.

        Raises:
            NoProcess: the fork server has ended.

        """
        with self._lock, suppress(OSError, EOFError):
            self._orders.send(pid)
            if pipe is not None:
                send_handle(self._orders, pipe.fileno(), self._process.pid)
            if self._orders.poll(_START_SECONDS):
                answer: int = self._orders.recv()
                return answer
        ended = "the process that starts checking processes has ended"
        raise NoProcess(ended, -signal.SIGKILL)

    def end(self) -> None:
        """End the fork server, and all its workers with it."""
        self._process.kill()
        self._process.wait()
        self._orders.close()


class Process:
    """One worker; for one thread at a time.

    Attributes:
        pid: its process id.
        kept: resident bytes that it has gained between its fork and its last answer; None during a
            task.

    """

    def __init__(self, forker: Forker, pid: int, pipe: Connection) -> None:
        self._forker = forker
        self._pipe = pipe
        self._status: int | None = None
        self.pid = pid
        self.kept: int | None = 0

    def ask(self, level: tuple[float, int], task: Task, seconds: float) -> TaskVerdict | None:
        """Perform a task in the worker.

        Args:
            level: seconds of processor time for the task, and the niceness to run it at.
            task: what to perform.
            seconds: how long to wait by the clock.

        Returns:
            The verdict; None if there is none in that time.

        Raises:
            WorkerEnded: the worker has ended.

        """
        self.kept = None
        try:
            self.send((level, task))
            if not self._pipe.poll(seconds):
                return None
            verdict: TaskVerdict
            verdict, self.kept = self._pipe.recv()
        except (ConnectionError, EOFError):
            raise WorkerEnded(self.end()) from None
        return verdict

    def send(self, message: object) -> None:
        """Send a message to the worker."""
        self._pipe.send(message)

    def is_gone(self) -> bool:
        """Return whether the worker has ended while idle (an idle worker sends nothing else)."""
        return self._pipe.poll()

    def kill(self) -> None:
        """Kill the worker in the middle of a task, for which another thread waits."""
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """End the worker; return its exit status, or minus the signal's number."""
        if self._status is None:
            self._pipe.close()
            try:
                self._status = self._forker.ask(self.pid)
            except NoProcess:
                self._status = -signal.SIGKILL  # the fork server ended, and the worker with it
        return self._status
