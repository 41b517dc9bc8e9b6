"""Main program of the fork server, from which worker processes are forked.

Forking takes milliseconds, starting a process a third of a second. A worker bounds itself:
processor time for each task, memory, and a life no longer than its parents'.

Protocol: standard input is a connection. The number 0 on it is followed by another connection, from
which the new worker reads tasks and to which it writes verdicts; the answer is the worker's process
id. A process id kills that worker; the answer is its exit status. When a task has used up its time
the kernel ends the worker, wherever it is.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path

from enforcer import engines
from enforcer.checking.task import WorkerState, survived
from enforcer.checking.work import warm
from enforcer.errors import EnforcerError
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary

_MEMORY = 1 << 30  # bytes beyond what an idle worker has
_BACKGROUND = 19  # niceness of workers above that of the server
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
# What a terminal or a service manager sends to all processes of a server: its parent handles them,
# and has checks to be answered until it has ended.
_THE_PARENTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Fork workers until the server closes the connection."""
    _end_with(int(sys.argv[1]))
    for each in _THE_PARENTS:
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    orders = Connection(sys.stdin.fileno())
    engine_name, written, dialect, modules = orders.recv()
    for module in modules:
        import_module(module)
    if modules:
        os.nice(_BACKGROUND)
    vocabulary = Vocabulary.from_json(written)
    worker = WorkerState(engines.load(engine_name, vocabulary))
    # What is built when it is first needed (a second, for an order of Kimi's vocabulary) is built
    # here, or each worker would build it anew, and each one's first check would count as slow.
    layout = None
    if dialect:
        layout = dialects.load(dialect).layout(vocabulary.controls, vocabulary.writable)
        with suppress(EnforcerError):  # what the engine cannot do, each check is told
            worker.enforcer(dialect).warm()
    warm(worker.engine, layout)
    gc.freeze()  # what is here stays shared with the workers
    orders.send("ready")
    with suppress(EOFError, ConnectionError):  # they have gone
        while True:
            if pid := orders.recv():
                os.kill(pid, signal.SIGKILL)
                orders.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            else:
                orders.send(_fork(orders, recv_handle(orders), worker))


def _fork(orders: Connection, handle: int, worker: WorkerState) -> int:
    """Fork a worker; return its process id, or minus the system's error number."""
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:  # no more processes or memory; other workers go on
        pid = -(error.errno or errno.EAGAIN)
    if pid:
        os.close(handle)
        return pid
    status = 1
    try:
        _end_with(parent)
        orders.close()
        with suppress(EOFError, ConnectionError):
            _serve(Connection(handle), worker)
        status = 0
    finally:
        os._exit(status)


def _serve(pipe: Connection, worker: WorkerState) -> None:
    addressed, at_first = _memory()
    _bound_memory(addressed + _MEMORY)
    urgency = os.nice(0)
    while True:
        (seconds, niceness), task = pipe.recv()
        os.setpriority(os.PRIO_PROCESS, 0, urgency + niceness)
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        verdict = survived(partial(task.perform, worker))
        signal.setitimer(signal.ITIMER_PROF, 0)
        verdict = replace(verdict, seconds=time.process_time() - begun)
        pipe.send((verdict, _memory()[1] - at_first))


def _end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, also in the middle of a task."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _memory() -> list[int]:
    """Return the bytes of this process's address space and its resident bytes; 0 if unknown."""
    if sys.platform != "linux":
        return [0, 0]
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[:2]
    return [int(each) * resource.getpagesize() for each in pages]


def _bound_memory(most: int) -> None:
    if sys.platform != "linux":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    main()
