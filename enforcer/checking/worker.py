"""The process that workers are forked from; `enforcer.checking.process` starts it.

Owns: forking a worker on request (milliseconds, where starting a process takes a third of a
second), and in the worker its own bounds: processor time for each check, memory, life no longer
than its parents'. Must not know: who asks, and what is done about a worker that has ended.

Standard input is a socket. A message "fork" on it brings another socket, from which the new
worker reads checks and to which it writes verdicts; "end" has a worker killed, and is answered
with its exit status. When a check has used up its time the kernel ends the worker, wherever it
is.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import resource
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from enforcer import engines
from enforcer.checking import beginning, message
from enforcer.checking.beginning import Beginning, Starter
from enforcer.checking.work import (
    LENGTH,
    NUMBER,
    READY,
    SECONDS,
    Check,
    Order,
    perform,
    survived,
    warm,
)
from enforcer.errors import EnforcerError
from enforcer.regex.charset import CharSet
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from enforcer.checking.verdict import Verdict
    from enforcer.engines import ArgumentEngine

_MEMORY = 1 << 30  # bytes beyond what an idle worker has
_LESS_URGENT = 3  # than the server, on a machine that has too few processors for both
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
# What a terminal or a service manager sends to all processes of a server: its parent handles them,
# and has checks to be answered until it has ended.
_THE_PARENTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Fork workers until whoever asks has gone."""
    engine_name, parent, dialect, in_time, handle = sys.argv[1:]
    _end_with(int(parent))
    for each in _THE_PARENTS:
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    orders = socket.socket(fileno=sys.stdin.fileno())
    with open(int(handle), "rb") as file:  # noqa: PTH123 - a handle, not a path
        vocabulary = Vocabulary.from_json(file.read())
    engine = engines.load(engine_name, vocabulary)
    starter = Starter(vocabulary, engine)
    # What is built when it is first needed (a second, for an order of Kimi's vocabulary) is built
    # here, or each worker would build it anew, and each one's first check would count as slow.
    if dialect:
        characters = CharSet.of(vocabulary.writable)
        warm(engine, dialects.load(dialect).layout(vocabulary.controls, characters))
        with suppress(EnforcerError):  # what the engine cannot do, each check is told
            starter.warm(dialect, in_time=bool(in_time))
    else:
        warm(engine, None)
    gc.freeze()  # what is here stays shared with the workers
    orders.send(READY)
    while True:
        data, handles, _, _ = socket.recv_fds(orders, 64, 1)
        if not data:
            return
        order, number = Order(data[:1]), int.from_bytes(data[1:], NUMBER)
        if order is Order.FORK:
            answer = _fork(orders, handles[0], engine, starter)
        else:
            os.kill(number, signal.SIGKILL)
            answer = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        orders.send(answer.to_bytes(8, NUMBER, signed=True))


def _fork(orders: socket.socket, handle: int, engine: ArgumentEngine, starter: Starter) -> int:
    """Give the id of a new worker, or less than zero: minus the number of the system's error."""
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
        with socket.socket(fileno=handle) as own:
            _serve(own.makefile("rb"), own.makefile("wb"), engine, starter)
        status = 0
    finally:
        os._exit(status)


def _serve(asked: BinaryIO, answers: BinaryIO, engine: ArgumentEngine, starter: Starter) -> None:
    _bound_memory()
    os.nice(_LESS_URGENT)
    own = starter.vocabulary.controls, CharSet.of(starter.vocabulary.writable)

    def answer(data: bytes) -> Verdict:
        head, text = message.read(data)
        if head["asks"] == beginning.NAME:
            return starter.try_out(Beginning.from_message(head, text))
        return perform(Check.from_message(head, text), engine, *own)

    while (data := _read(asked)) is not None:
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        verdict = survived(partial(answer, data))
        signal.setitimer(signal.ITIMER_PROF, 0)
        reply = replace(verdict, seconds=time.process_time() - begun).to_json()
        answers.write(len(reply).to_bytes(LENGTH, NUMBER) + reply)
        answers.flush()


def _end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, also in the middle of a check."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _bound_memory() -> None:
    if sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _read(pipe: BinaryIO) -> bytes | None:
    head = pipe.read(LENGTH)
    if len(head) < LENGTH:
        return None
    return pipe.read(int.from_bytes(head, NUMBER))


if __name__ == "__main__":
    main()
