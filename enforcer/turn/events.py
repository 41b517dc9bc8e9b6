"""What a turn says, in pieces as they come and as a whole.

Owns: these values. Must not know: how they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Call:
    """A completed call.

    Attributes:
        id: its header as the model wrote it, for example `functions.get_weather:0`; empty in
            formats that write no ids.
        name: the tool's name.
        index: the counter in the header.
        arguments: JSON text, as the model wrote it where it writes JSON.

    """

    id: str
    name: str
    index: int
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn says.

    Attributes:
        reasoning: text inside `<think>`.
        content: text outside of it.
        calls: the completed calls. A call that was cut off is none.
        ended: the end of the turn was reached.
        stray: position of the first id that the format does not allow where it stands, such as
            padding after the end; reading stopped there. None if there is none.

    """

    reasoning: str
    content: str
    calls: tuple[Call, ...]
    ended: bool
    stray: int | None


class Happening(Enum):
    """What an event reports.

    Attributes:
        REASONING: a piece of text inside a think.
        CONTENT: a piece of text outside of it.
        CALL: the beginning of a call.
        ARGUMENTS: a piece of its arguments.
        CALL_END: its end.

    """

    REASONING = "reasoning"
    CONTENT = "content"
    CALL = "call"
    ARGUMENTS = "arguments"
    CALL_END = "call_end"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that reading an id has brought.

    Attributes:
        what: piece of reasoning, content or arguments; beginning or end of a call.
        text: the piece; for a beginning the call's id, if the format writes one; for an end its
            whole arguments.
        name: the tool's name for the beginning of a call.

    """

    what: Happening
    text: str
    name: str = ""
