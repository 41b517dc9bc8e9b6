"""The line in which checks wait: whose turn it is, and which are looked at or slow.

Owns: the order, and the room for slow checks; the rules are in `pool`. Must not know: threads,
processes, what is checked. Whoever asks for anything here holds the pool's lock.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Hashable

    from enforcer.checking.verdict import Verdict

_OVERTAKEN = 8  # of so many looks one is a second, that no stream of new checks keeps it waiting
_QUEUED = 64 << 20  # bytes of checks that may wait
_LATE = 32  # slow checks that may wait to be begun anew: two seconds each, within the patience
BUSY = "the server is busy checking the schemas of other requests; send this one again"


@dataclass(slots=True, eq=False)
class Job:
    """A check, and how far it has come.

    Attributes:
        key, data: what distinguishes it, and how a worker is asked.
        waiting: how many wait for it.
        begun: whether some thread has taken it.
        glanced: whether its first look has made way.
        is_slow: whether a look has found it so.
        lost: whether its worker was ended by somebody else, once.
        slow_pid: of its worker, while it is slow.
        stopped: whether its worker was ended here, as nobody waits.
        future: where the verdict goes.

    """

    key: Hashable
    data: bytes
    waiting: int = 0
    begun: bool = False
    glanced: bool = False
    is_slow: bool = False
    lost: bool = False
    slow_pid: int = 0
    stopped: bool = False
    future: Future[Verdict] = field(default_factory=Future)


class MadeWay(Exception):  # noqa: N818 - named for what happened
    """A check was stopped for others', and is to be begun anew."""


class Line:
    """Checks that wait or have begun.

    Args:
        looks: how many are looked at at a time.
        slow: how many may be slow at a time.
        most: how many may wait.

    Attributes:
        jobs: all that wait or have begun, by what distinguishes them.
        first: those that wait for their first look.
        again: those whose first look has made way.
        late: slow ones that have found no room.
        looking: those that are looked at.
        slow: those that are slow, and have a worker.

    """

    def __init__(self, looks: int, slow: int, most: int) -> None:
        self._most_looks = looks
        self._most_slow = slow
        self._most = most
        self._looks = 0
        self.jobs: dict[Hashable, Job] = {}
        self.first: deque[Job] = deque()
        self.again: deque[Job] = deque()
        self.late: deque[Job] = deque()
        self.looking: set[Job] = set()
        self.slow: set[Job] = set()

    def add(self, key: Hashable, data: bytes) -> Job:
        """Let another check wait.

        Raises:
            Busy: there is no room.

        """
        waiting = (*self.first, *self.again, *self.late)
        held = sum(len(one.data) for one in waiting)
        if len(waiting) >= self._most or held + len(data) > _QUEUED:
            raise Busy(BUSY)
        job = self.jobs[key] = Job(key, data)
        self.first.append(job)
        return job

    def _queue_of(self, job: Job) -> deque[Job]:
        if job.is_slow:
            return self.late
        return self.again if job.glanced else self.first

    def leave(self, job: Job) -> None:
        """Wait no more with a check that nobody wants; it may have begun."""
        if not job.begun:
            self._queue_of(job).remove(job)
        self.forget(job)

    def forget(self, job: Job) -> None:
        """Let whoever asks the same from now on not share it."""
        if self.jobs.get(job.key) is job:
            del self.jobs[job.key]

    @property
    def is_empty(self) -> bool:
        """Whether none waits."""
        return not (self.first or self.again or self.late)

    @property
    def may_begin(self) -> bool:
        """Whether one of those that wait may be begun."""
        return self._may_look or (bool(self.late) and self.has_room)

    @property
    def _may_look(self) -> bool:
        return len(self.looking) < self._most_looks and bool(self.first or self.again)

    @property
    def has_room(self) -> bool:
        """Whether another slow one may go on."""
        return len(self.slow) < self._most_slow

    def begin(self) -> Job:
        """Take the next of those that may be begun."""
        if self._may_look:
            self._looks += 1
            is_second = not self.first or (self.again and self._looks % _OVERTAKEN == 0)
            job = (self.again if is_second else self.first).popleft()
            self.looking.add(job)
        else:
            job = self.late.popleft()
            self.slow.add(job)
        job.begun = True
        return job

    def make_room(self, job: Job) -> None:
        """Count a check that a look has found to be slow.

        Raises:
            MadeWay: there is no room for it now.
            Busy: nor will there be soon.

        """
        job.is_slow = True
        if self.has_room:
            self.slow.add(job)
        elif len(self.late) < _LATE:
            raise MadeWay
        else:
            raise Busy(BUSY)

    def put_back(self, job: Job) -> None:
        """Let one wait to be begun anew, unless nobody does."""
        self.end(job)
        if job.waiting:
            job.begun = False
            self._queue_of(job).append(job)
        else:
            self.forget(job)

    def end(self, job: Job) -> None:
        """Leave its place to the next, whatever came of it."""
        self.looking.discard(job)
        self.slow.discard(job)
