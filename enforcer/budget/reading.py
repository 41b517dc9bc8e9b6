"""A text that is being written, and the shortest way to complete it.

Owns: following a text that an engine takes through all readings that the grammar allows,
and the shortest end of each. Nothing here decides what is valid: a text that fits no
reading has no end that is known. A reading is immutable, so that going back costs nothing.
Must not know: engines, turns.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from enforcer.budget.frames import (
    Begin,
    Frame,
    InArray,
    InName,
    InObject,
    Phase,
    Text,
    Thread,
    endings,
    fresh_ends,
    name_of,
    rest_of,
    with_pair,
)
from enforcer.budget.least import least
from enforcer.budget.objects import Pair
from enforcer.budget.steps import STRING
from enforcer.regex import ANY, NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.budget.shortest import Shortest
    from enforcer.regex import Regex

_RETURN, _QUOTE = 0x0D, 0x22


class Reading:
    """All readings of a text so far."""

    __slots__ = ("_cost", "_return", "_shortest", "_threads")

    def __init__(
        self, shortest: Shortest, threads: tuple[Thread, ...], *, after_return: bool = False
    ) -> None:
        self._shortest = shortest
        self._threads = threads
        self._return = after_return
        self._cost: float | None = None  # found out when it is first asked for

    @classmethod
    def begin(cls, shortest: Shortest) -> Reading:
        """Start an empty text."""
        return cls(shortest, (Thread(Begin(shortest.grammar.root), None),))

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The readings that are left, each by itself; none after a text that fits nothing."""
        return self._threads

    @property
    def cost(self) -> float:
        """Count the ids that the shortest end takes; infinite if none is known."""
        if self._cost is None:
            self._cost = min(map(self._of, self._threads), default=inf) + self._return
        return self._cost

    @property
    def in_string(self) -> bool:
        """Whether every reading stands within a string."""
        return all(
            isinstance(thread.frame, InName)
            or (isinstance(thread.frame, Text) and thread.frame.partial.quoted)
            for thread in self._threads
        )

    def read(self, data: bytes) -> Reading:
        """Go on with some bytes."""
        if data.isalpha() and data.isascii() and self._is_free():
            return self
        threads: dict[Thread, None] = dict.fromkeys(self._threads)
        last, steps = self._return, self._shortest.steps
        for byte in data:
            following: dict[Thread, None] = {}
            for thread in threads:
                for after in steps.step(thread, byte):
                    following[after] = None
            last = byte == _RETURN and not any(
                isinstance(thread.frame, Text) for thread in following
            )
            threads = following
        return Reading(self._shortest, tuple(threads), after_return=last)

    def _is_free(self) -> bool:
        """Tell whether more text changes nothing: within a string of any text."""
        if len(self._threads) != 1:
            return False
        frame = self._threads[0].frame
        return isinstance(frame, Text) and frame.partial == STRING and _is_any(frame.regex)

    @property
    def growth(self) -> int:
        """Bound what one more beginning can commit the text to."""
        return self._shortest.growth

    def leeway(self) -> float:
        """Bound what an id that begins nothing can add to the cost."""
        # The reading that is shortest now may be one that does not go on. One more for a
        # carriage return, which a line feed has to follow.
        most = max((self._of(x) + self._leeway(x) for x in self._threads), default=inf)
        return most - self.cost + 1 if most < inf else inf

    def _leeway(self, thread: Thread) -> float:
        frame = thread.frame
        if isinstance(frame, Text):
            known = least(frame.regex) or ""
            return max(frame.furthest - len(known), 0)
        if isinstance(frame, InName) and not frame.partial.pending:
            return self._leeway_of_name(frame)
        if isinstance(frame, InObject):
            return self._shortest.growth if frame.phase is Phase.COLON else 0
        if isinstance(frame, InArray):
            return 0 if frame.phase is Phase.MEMBER else self._shortest.growth
        return 0 if frame is None else self._shortest.growth

    def _leeway_of_name(self, frame: InName) -> float:
        """Where any name will do, another is as near to its end as this one.

        It may be none that the object needs: all of these follow then.
        """
        before, growth = frame.before, self._shortest.growth
        for rest, (_, value) in zip(frame.rests, before.plan.classes, strict=True):
            if _is_any(rest):
                named = replace(before, phase=Phase.NAMED, pair=Pair(None, frame.text, value))
                return max(_ANOTHER_NAME + self._behind(named) - self._left(frame), 0)
        missing = before.plan.rest(before.seen, before.extras, before.hits, comma=True)
        return max(missing - self._left(frame), 0) + growth if missing < inf else growth

    def next(self) -> bytes | None:
        """Give the piece that the shortest end begins with; None if there is nothing to write."""
        if self._return:
            return b"\n"
        best = min(self._threads, key=self._of, default=None)
        while best is not None:
            piece = self._next(best)
            if piece:
                return piece
            best = best.outer
        return None

    # What is left to write.

    def _of(self, thread: Thread) -> float:
        if thread.cost is None:
            inner = 0 if thread.frame is None else self._left(thread.frame)
            thread.cost = inner + (0 if thread.outer is None else self._of(thread.outer))
        return thread.cost

    def _left(self, frame: Frame) -> float:
        plan = self._shortest
        if isinstance(frame, Begin):
            return plan.cost(frame.value)
        if isinstance(frame, Text):
            return min(
                (plan.pieces.count(x) for x in endings(frame.partial, frame.regex)), default=inf
            )
        if isinstance(frame, InName):
            return min((cost for cost, _ in self._names(frame)), default=inf)
        if isinstance(frame, InArray):
            return frame.plan.rest(
                frame.at, comma=frame.phase is Phase.MEMBER, more=frame.phase is Phase.COMMA
            )
        if frame.phase is Phase.NAMED:
            return 1 + self._behind(frame)
        if frame.phase is Phase.COLON:
            return self._behind(frame)
        return frame.plan.rest(
            frame.seen,
            frame.extras,
            frame.hits,
            comma=frame.phase is Phase.MEMBER,
            more=frame.phase is Phase.COMMA,
        )

    def _behind(self, frame: InObject) -> float:
        """Count the value of the property that has been named, and what follows it."""
        if frame.pair is None:
            return inf
        return self._shortest.cost(frame.pair.value) + self._left(with_pair(frame))

    def _next(self, thread: Thread) -> bytes:
        frame, plan = thread.frame, self._shortest
        if frame is None:
            return b""
        if isinstance(frame, Begin):
            return plan.first(frame.value)
        if isinstance(frame, Text):
            return min(endings(frame.partial, frame.regex), key=plan.pieces.count)
        if isinstance(frame, InName):
            return min(self._names(frame))[1]
        if isinstance(frame, InArray):
            return frame.plan.next(
                frame.at, comma=frame.phase is Phase.MEMBER, more=frame.phase is Phase.COMMA
            )
        if frame.phase is Phase.NAMED:
            return b":"
        if frame.pair is not None:
            return plan.first(frame.pair.value)
        return frame.plan.next(
            frame.seen,
            frame.extras,
            frame.hits,
            comma=frame.phase is Phase.MEMBER,
            more=frame.phase is Phase.COMMA,
        )

    def _names(self, frame: InName) -> Iterator[tuple[float, bytes]]:
        """Give the ways to complete a name: all that is left then, and the piece."""
        before = frame.before
        plan = before.plan
        for i in plan.candidates(frame.text, before.seen, before.extras, before.hits):
            name, value = plan.names[i]
            rest = rest_of(frame.partial, name[len(frame.text) :])
            if rest is not None:
                named = replace(before, phase=Phase.NAMED, pair=Pair(i, name, value))
                yield self._named(named, rest)
        for regex, (_, value) in zip(frame.rests, plan.classes, strict=True):
            if regex == NOTHING:
                continue
            for rest in fresh_ends(frame, regex):
                pair = Pair(None, name_of(frame, rest), value)
                yield self._undeclared(before, pair, rest)
        # What the object needs is the least of a mark, which need not be the least of a class.
        for regex, (_, hits) in zip(frame.marked, plan.marks, strict=True):
            if regex == NOTHING or not hits & ~before.hits:
                continue
            for rest in fresh_ends(frame, regex):
                yield self._undeclared(before, plan.undeclared(name_of(frame, rest)), rest)

    def _undeclared(self, before: InObject, pair: Pair, rest: bytes) -> tuple[float, bytes]:
        hits = before.plan.hits_of(pair.name)
        return self._named(replace(before, phase=Phase.NAMED, pair=pair, pair_hits=hits), rest)

    def _named(self, named: InObject, rest: bytes) -> tuple[float, bytes]:
        piece = rest + b":"
        return self._shortest.pieces.count(piece) + self._behind(named), piece


_ANOTHER_NAME = 4  # ids that end a name, of which no other may be declared


def _is_any(regex: Regex) -> bool:
    return regex == ANY
