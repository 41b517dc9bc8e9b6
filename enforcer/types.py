"""Types of a chat request's fields, for type checkers.

Dictionaries, and the types of OpenAI's client, fit them. At run time all fields are checked, since
clients send anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, Required, TypeAlias, TypedDict


class FunctionDefinition(TypedDict, total=False):
    """The function of a tool.

    Attributes:
        name: 1 to 128 letters, digits, `_`, `-`, `.` and `/`.
        description: a text for the model.
        parameters: the JSON Schema of the arguments.
        strict: ignored, since the Enforcer enforces every tool.

    """

    name: Required[str]
    description: str
    parameters: dict[str, object]
    strict: bool | None


class ToolDefinition(TypedDict, total=False):
    """A tool as a chat request declares it; `enforcer.tool` makes one.

    Attributes:
        type: always `function`.
        function: its name, description and parameters.

    """

    function: Required[FunctionDefinition]
    type: Required[Literal["function"]]


class _Dumpable(Protocol):
    """A message as OpenAI's client returns it."""

    def model_dump(self, *, exclude_none: bool) -> dict[str, Any]: ...


# A function, or a model of the arguments, stands for its declaration.
Tool: TypeAlias = Mapping[str, object] | Callable[..., Any]
Tools: TypeAlias = Sequence[Tool] | None
ToolChoice: TypeAlias = str | Mapping[str, object] | None
Messages: TypeAlias = Sequence[Mapping[str, object] | _Dumpable] | None
ResponseFormat: TypeAlias = Mapping[str, object] | None
