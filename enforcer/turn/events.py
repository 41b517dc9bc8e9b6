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
        id: the header as the model wrote it, such as `functions.get_weather:0`; empty in formats
            without ids.
        name: the tool's name.
        index: the number in the header; 0 in formats without one.
        arguments: JSON text, as the model wrote it if the format has JSON.

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
        reasoning: text between think markers.
        content: all other text.
        calls: the completed calls. A call that was cut off is missing.
        ended: whether the end of the turn was read.
        stray: position of the first illegal token id, at which reading stopped; None if all are
            legal. Padding behind the end is illegal.

    """

    reasoning: str
    content: str
    calls: tuple[Call, ...]
    ended: bool
    stray: int | None


class Happening(Enum):
    """Kind of an event.

    Attributes:
        REASONING: a piece of text between think markers.
        CONTENT: a piece of other text.
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
        what: kind of the event.
        text: the piece of text; for `CALL` the call's id, for `CALL_END` all its arguments.
        name: the tool's name for `CALL`; else empty.

    """

    what: Happening
    text: str
    name: str = ""
