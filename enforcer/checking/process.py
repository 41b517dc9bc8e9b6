"""Worker processes, from the side of whoever asks.

Owns: starting what forks them, messages to and from them, pausing and ending them. Must not
know: what the messages say, which checks there are, who waits.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING

from enforcer.checking.work import LENGTH, NUMBER, READY, Order
from enforcer.errors import ConfigurationError, EnforcerError

if TYPE_CHECKING:
    from enforcer.vocabulary import Vocabulary

_START_SECONDS = 60  # a busy machine; an idle one needs a third of a second
_CHUNK = 1 << 16
_LEAST_URGENT = 10
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

    Args:
        engine: its name.
        vocabulary: what is checked for.
        dialect: of most requests, so that each worker need not get ready for it; empty where
            that is not known.
        in_time: whether turns may be asked to end within their budget; likewise.

    Raises:
        ConfigurationError: its process has ended by itself before it was ready.
        NoProcess: it was ended, or could not be started.

    """

    def __init__(
        self, engine: str, vocabulary: Vocabulary, dialect: str = "", *, in_time: bool = False
    ) -> None:
        self._vocabulary = vocabulary.to_json()
        self._lock = threading.Lock()
        self._answers: SimpleQueue[subprocess.Popen[bytes] | BaseException] = SimpleQueue()
        try:
            self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise NoProcess(f"no checking process can be started: {error}") from error
        # What this process finds, the worker must find: the path, not the current folder.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        command = [sys.executable, "-P", "-m", "enforcer.checking.worker"]
        keeper = threading.Thread(
            target=self._keep,
            args=([*command, engine, str(os.getpid()), dialect, "1" * in_time], theirs, path),
            name="enforcer-forker",
            daemon=True,
        )
        with theirs:
            try:
                keeper.start()
            except RuntimeError as error:  # there may be no more threads
                self._answers.put(error)
            started = self._answers.get()
        if isinstance(started, BaseException):
            self._orders.close()
            raise NoProcess(f"no checking process can be started: {started}")
        self._process = started
        self._orders.settimeout(_START_SECONDS)
        try:
            ready = self._orders.recv(len(READY))
        except OSError as error:
            self.end()
            raise NoProcess(f"the checking process did not start: {error}") from error
        if ready != READY:
            self._orders.close()
            status = self._process.wait()
            ended = f"the checking process ended with status {status} before it was ready"
            if status < 0:
                raise NoProcess(ended, status)
            raise ConfigurationError(f"{ended}; what it has written to the log says why")

    def _keep(self, command: list[str], theirs: socket.socket, path: str) -> None:
        """Start the process, and live as long: it ends with the thread that has started it."""
        try:
            with _nowhere() as file:
                file.write(self._vocabulary)
                file.seek(0)
                process = subprocess.Popen(  # noqa: S603 - this interpreter, our module
                    [*command, str(file.fileno())],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,  # errors go to where this process's go
                    pass_fds=[file.fileno()],
                    env={**os.environ, **_SINGLE_THREADED, "PYTHONPATH": path},
                )
            self._vocabulary = b""
        except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
            self._answers.put(error)
            return
        self._answers.put(process)
        process.wait()

    def start(self) -> Process:
        """Fork a worker.

        Raises:
            NoProcess: the process that forks them has ended.
            OSError: this process may open no more handles, or there may be no more processes.

        """
        ours, theirs = socket.socketpair()
        with theirs:
            pid = self._ask(Order.FORK, handles=[theirs.fileno()])
        if pid < 0:
            ours.close()
            raise OSError(-pid, os.strerror(-pid))
        return Process(self, pid, ours)

    def reap(self, pid: int) -> int:
        """End a worker, whatever it does; gives its exit status, or minus the signal's."""
        return self._ask(Order.END, pid)

    def _ask(self, order: Order, number: int = 0, handles: list[int] | None = None) -> int:
        message = order.value + number.to_bytes(8, NUMBER)
        with self._lock:
            try:
                socket.send_fds(self._orders, [message], handles or [])
                answer = self._orders.recv(64)
            except OSError:
                answer = b""
        if not answer:
            ended = "the process that starts checking processes has ended"
            raise NoProcess(ended, -signal.SIGKILL)
        return int.from_bytes(answer, NUMBER, signed=True)

    def end(self) -> None:
        """End it, and all its workers with it."""
        self._process.kill()
        self._process.wait()
        self._orders.close()


def _nowhere() -> IO[bytes]:
    """Open a file that has no name, in memory where that goes: a container's disk may be full."""
    in_memory = getattr(os, "memfd_create", None)
    if in_memory is None:
        return tempfile.TemporaryFile()
    return os.fdopen(in_memory("enforcer-vocabulary"), "w+b")


class Process:
    """One worker; for one thread at a time."""

    def __init__(self, forker: Forker, pid: int, pipe: socket.socket) -> None:
        self._forker = forker
        self._pipe = pipe
        self._yields = False
        self._status: int | None = None
        self.pid = pid
        self._memory_at_first = self._memory()

    def send(self, data: bytes) -> None:
        """Send a message.

        Raises:
            Ended: the process has ended.

        """
        try:
            self._pipe.sendall(len(data).to_bytes(LENGTH, NUMBER) + data)
        except ConnectionError:
            raise Ended(self.end()) from None

    def receive(self, seconds: float) -> bytes | None:
        """Wait for a message; None if none has begun to come in that time.

        Raises:
            Ended: the process has ended instead.

        """
        if not self._is_readable(seconds):
            return None
        length = int.from_bytes(self._exactly(LENGTH), NUMBER)
        return self._exactly(length)

    def is_gone(self) -> bool:
        """Look whether it has ended while nothing was asked of it: it has nothing else to say."""
        return self.ended or self._is_readable(0)

    def _is_readable(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                chunk = self._pipe.recv(min(_CHUNK, count - len(data)))
            except ConnectionError:
                chunk = b""
            if not chunk:
                raise Ended(self.end())
            data += chunk
        return bytes(data)

    def yield_to_others(self) -> None:
        """Have the kernel prefer every other process from now on; this cannot be undone."""
        self._yields = True
        with suppress(ProcessLookupError):  # it has just ended, which whoever reads next learns
            os.setpriority(os.PRIO_PROCESS, self.pid, _LEAST_URGENT)

    def pause(self) -> None:
        """Stop it where it is."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):  # whoever reads next learns that it has ended
            os.kill(self.pid, number)

    def kept(self) -> int:
        """Give the bytes of memory that it has beyond those that it was forked with."""
        return self._memory() - self._memory_at_first

    def _memory(self) -> int:
        return int(self._proc("statm")[1]) * os.sysconf("SC_PAGE_SIZE")

    def seconds(self) -> float:
        """Give the processor time that it has used."""
        user, system = self._proc("stat")[13:15]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _proc(self, name: str) -> list[str]:
        """Read one of the kernel's lines on it; zeros where there are none."""
        try:
            return Path(f"/proc/{self.pid}/{name}").read_text(encoding="utf-8").split()
        except OSError:
            return ["0"] * 52

    @property
    def is_fit(self) -> bool:
        """Whether it may serve another check."""
        return not self.ended and not self._yields

    @property
    def ended(self) -> bool:
        """Whether it was found to have ended, or was ended here."""
        return self._status is not None

    def end(self) -> int:
        """End it, whatever it does; gives its exit status, or minus the signal's."""
        if self._status is not None:
            return self._status
        self._pipe.close()
        try:
            self._status = self._forker.reap(self.pid)
        except NoProcess:
            self._status = -signal.SIGKILL  # with what had forked it
        return self._status
