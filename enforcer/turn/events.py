"""Parsed pieces of a turn, as a stream of events and as a whole.

Owns: these values. Must not know: how they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, overload

from enforcer.client import python_tools

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


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

    @overload
    def parse(self, into: type[T]) -> T: ...  # type: ignore[overload-overlap]

    @overload
    def parse(self, into: Callable[..., Any]) -> dict[str, Any]: ...

    def parse(self, into: Any) -> Any:
        """Return the arguments as values of Python's types; needs Pydantic.

        Args:
            into: a Pydantic model, dataclass or `TypedDict`; or a function, as `enforcer.tool`
                takes them.

        Returns:
            An instance of the class; for a function, its arguments by name: `into(**arguments)`.

        Raises:
            InvalidArguments: the arguments do not fit, as those of a model without a mask.
            InvalidTools: no arguments can be read into it.
            ConfigurationError: Pydantic is not installed.

        """
        return python_tools.read_arguments(into, self.arguments, self.name)


@dataclass(frozen=True, slots=True)
class Turn:
    """The content of a turn.

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
    """Kind of an event.

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
    """A piece of a turn that reading an id has completed.

    Attributes:
        what: piece of reasoning, content or arguments; beginning or end of a call.
        text: the piece; for a beginning the call's id, if the format writes one; for an end its
            whole arguments.
        name: the tool's name for the beginning of a call.

    """

    what: Happening
    text: str
    name: str = ""
