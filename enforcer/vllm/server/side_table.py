"""Side tables of vLLM's objects, which have neither an attribute for our notes nor a hash.

A value is dropped with its object, and never taken for another object's.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from enforcer.turn.parser import Parser

_T = TypeVar("_T")


class SideTable(Generic[_T]):
    """Values, each beside one object for as long as that lives; safe to use from several threads.

    The objects need not be hashable, and are told apart by identity, not by value.
    """

    def __init__(self) -> None:
        self._known: dict[int, _T] = {}

    def put(self, owner: object, value: _T) -> _T:
        """Set an object's value, and return it."""
        if id(owner) not in self._known:  # dropped before another object can have its id
            weakref.finalize(owner, self._known.pop, id(owner), None).atexit = False
        self._known[id(owner)] = value
        return value

    def get(self, owner: object) -> _T | None:
        """Return an object's value; None where there is none."""
        return self._known.get(id(owner))


@dataclass(slots=True)
class Notes:
    """Notes on one request object, from its rendering to the last of its replies.

    Attributes:
        body: the body of /v1/messages that it was made of.
        calls: how many calls its dialog has.
        within: the tools that messages of its dialog declare, as `dialogs.DialogTool`.
        json: its tools as JSON; None where they have not been written, or are not JSON.
        declared: the same as they were read, `enforcer.request.tools.Tools`; None before.
        is_prepared: whether it was prepared here, for an engine to reply to.
        most_ids: how many token ids a reply may have, as vLLM computes it; None if not yet known.
        demanded_call: whether its demand for a call was taken back, to report a reply without one.
        admission: of a constraint, the `Admission` of the request that has it.
        beginning: a prompt, and the parser that has read what this has begun of a reply.

    """

    body: Any = None
    calls: int = 0
    within: tuple[Any, ...] = ()
    json: Any = None
    declared: Any = None
    is_prepared: bool = False
    most_ids: int | None = None
    demanded_call: bool = False
    admission: Any = None
    beginning: tuple[Sequence[int] | None, Parser] | None = None


_notes: SideTable[Notes] = SideTable()


def notes(request: object) -> Notes:
    """Return the notes on a request object; they last as long as it does."""
    return _notes.get(request) or _notes.put(request, Notes())
