"""Worker processes, from the side of whoever asks.

Owns: starting what forks them, messages to and from them, and ending them. Must not know: what
the messages say, which checks there are, who waits.
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

    from enforcer.checking.verdict import Verdict
    from enforcer.vocabulary import Vocabulary

_START_SECONDS = 60  # a busy machine; an idle one needs a third of a second
# One processor each is the point; and a process with threads cannot be forked.
_SINGLE_THREADED = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


class Ended(EnforcerError):  # noqa: N818 - named for what happened
    """A worker has ended; `status` is its exit status, or less than zero the signal's."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the checking process has ended with status {status}")
        self.status = status


class NoProcess(EnforcerError):  # noqa: N818 - named for what there is not
    """No worker can be had now: what forks them was ended, or the system has no room for one.

    Attributes:
        status: minus the number of the signal by which somebody else has ended what forks workers;
            0 where it was none, so that another try would fail as well.

    """

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class Forker:
    """Starts workers for one engine and vocabulary; safe to use from several threads.

    Its process ends with the thread that has made it.

    Args:
        engine: its name.
        vocabulary: what is checked for.
        dialect: of most requests, so that each worker need not get ready for it; empty where
            that is not known.
        in_time: whether turns may be asked to end within their budget; likewise.
        modules: names of those that a `Task` needs, imported once for all workers; with any, these
            get a processor only when the server leaves it.

    Raises:
        ConfigurationError: its process has ended by itself before it was ready.
        NoProcess: it was ended, or could not be started.

    """

    def __init__(
        self,
        engine: str,
        vocabulary: Vocabulary,
        dialect: str = "",
        *,
        in_time: bool = False,
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
            self._orders.send((engine, vocabulary.to_json(), dialect, in_time, modules))
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
            NoProcess: the process that forks them has ended.
            OSError: this process may open no more handles, or there may be no more processes.

        """
        ours, theirs = Pipe()
        with theirs:
            pid = self.ask(0, theirs)
        if pid < 0:
            ours.close()
            raise OSError(-pid, os.strerror(-pid))
        return Process(self, pid, ours)

    def ask(self, pid: int, pipe: Connection | None = None) -> int:
        """End a worker and return its exit status, or minus the signal's; fork one for 0."""
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
        """End it, and all its workers with it."""
        self._process.kill()
        self._process.wait()
        self._orders.close()


class Process:
    """One worker; for one thread at a time.

    Attributes:
        kept: the bytes of memory that it had behind its last answer, beyond those that it was
            forked with; None while it owes an answer.

    """

    def __init__(self, forker: Forker, pid: int, pipe: Connection) -> None:
        self._forker = forker
        self._pipe = pipe
        self._status: int | None = None
        self.pid = pid
        self.kept: int | None = 0

    def ask(self, level: tuple[float, int], asked: object, seconds: float) -> Verdict | None:
        """Have it do a check; None if it has no verdict in that time by the clock.

        Raises:
            Ended: the process has ended.

        """
        self.kept = None
        try:
            self.send((level, asked))
            if not self._pipe.poll(seconds):
                return None
            verdict: Verdict
            verdict, self.kept = self._pipe.recv()
        except (ConnectionError, EOFError):
            raise Ended(self.end()) from None
        return verdict

    def send(self, message: object) -> None:
        """Send it something."""
        self._pipe.send(message)

    def is_gone(self) -> bool:
        """Look whether it has ended while nothing was asked of it: it has nothing else to say."""
        return self._pipe.poll()

    def kill(self) -> None:
        """Have it end, in the middle of a check, as another thread waits for that."""
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """End it, whatever it does; gives its exit status, or minus the signal's."""
        if self._status is None:
            self._pipe.close()
            try:
                self._status = self._forker.ask(self.pid)
            except NoProcess:
                self._status = -signal.SIGKILL  # with what had forked it
        return self._status
