"""The process that workers are forked from; `enforcer.checking.process` starts it.

Owns: forking a worker on request (milliseconds, where starting a process takes a third of a
second), and in the worker its own bounds: processor time for each check, memory, life no longer
than its parents'. Must not know: who asks, and what is done about a worker that has ended.

Standard input is a connection. The number 0 on it brings another one, from which the new worker
reads checks and to which it writes verdicts, and is answered with the worker's id; this id has the
worker killed, and is answered with its exit status. When a check has used up its time the kernel
ends the worker, wherever it is.
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
from typing import TYPE_CHECKING

from enforcer import engines
from enforcer.checking.beginning import Beginning, Starter
from enforcer.checking.work import Check, perform, survived, warm
from enforcer.errors import EnforcerError
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from enforcer.checking.beginning import Asked
    from enforcer.checking.verdict import Verdict
    from enforcer.engines import ArgumentEngine

_MEMORY = 1 << 30  # bytes beyond what an idle worker has
_BACKGROUND = 19  # by how much workers for tasks are less urgent than the server
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
# What a terminal or a service manager sends to all processes of a server: its parent handles them,
# and has checks to be answered until it has ended.
_THE_PARENTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Fork workers until whoever asks has gone."""
    _end_with(int(sys.argv[1]))
    for each in _THE_PARENTS:
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    orders = Connection(sys.stdin.fileno())
    engine_name, written, dialect, in_time, modules = orders.recv()
    for module in modules:
        import_module(module)
    if modules:
        os.nice(_BACKGROUND)
    vocabulary = Vocabulary.from_json(written)
    engine = engines.load(engine_name, vocabulary)
    starter = Starter(engine)
    # What is built when it is first needed (a second, for an order of Kimi's vocabulary) is built
    # here, or each worker would build it anew, and each one's first check would count as slow.
    layout = None
    if dialect:
        layout = dialects.load(dialect).layout(vocabulary.controls, vocabulary.writable)
        with suppress(EnforcerError):  # what the engine cannot do, each check is told
            starter.enforcer(dialect).warm(in_time=in_time)
    warm(engine, layout)
    gc.freeze()  # what is here stays shared with the workers
    orders.send("ready")
    with suppress(EOFError, ConnectionError):  # they have gone
        while True:
            if pid := orders.recv():
                os.kill(pid, signal.SIGKILL)
                orders.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            else:
                orders.send(_fork(orders, recv_handle(orders), engine, starter))


def _fork(orders: Connection, handle: int, engine: ArgumentEngine, starter: Starter) -> int:
    """Return the id of a new worker, or less than zero: minus the number of the system's error."""
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:  # no more processes, or no memory; those that are there go on
        pid = -(error.errno or errno.EAGAIN)
    if pid:
        os.close(handle)
        return pid
    status = 1
    try:
        _end_with(parent)
        orders.close()
        with suppress(EOFError, ConnectionError):
            _serve(Connection(handle), engine, starter)
        status = 0
    finally:
        os._exit(status)


def _serve(pipe: Connection, engine: ArgumentEngine, starter: Starter) -> None:
    addressed, at_first = _memory()
    _bound_memory(addressed + _MEMORY)
    urgency = os.nice(0)

    def answer(asked: Asked) -> Verdict:
        if isinstance(asked, Beginning):
            return starter.try_out(asked)
        return perform(asked, engine) if isinstance(asked, Check) else asked.perform(starter)

    while True:
        (seconds, niceness), asked = pipe.recv()
        os.setpriority(os.PRIO_PROCESS, 0, urgency + niceness)
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        verdict = survived(partial(answer, asked))
        signal.setitimer(signal.ITIMER_PROF, 0)
        verdict = replace(verdict, seconds=time.process_time() - begun)
        pipe.send((verdict, _memory()[1] - at_first))


def _end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, also in the middle of a check."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _memory() -> list[int]:
    """Return the bytes of this process's address space, and of those in memory; 0 if unknown."""
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
