"""Tools written in Python: functions and models as declarations, and arguments read into them.

Imports Pydantic and docstring_parser only when it needs them. Must not know: what a schema means,
what else a request carries.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from enforcer.errors import InvalidArguments, InvalidTools, Problem, brief
from enforcer.extras import needed_for
from enforcer.request.tools import read_name
from enforcer.schema.reading.document import step

if TYPE_CHECKING:
    from enforcer.types import ToolDefinition

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def tool(
    source: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> ToolDefinition:
    """Return the declaration of a function, or of a model of a tool's arguments, as a tool.

    The docstring describes it, and its parameters or fields, in Google's, NumPy's or Sphinx' style.
    A function takes no arguments but its parameters; a model may (Pydantic's `extra="forbid"`).
    Needs Pydantic and docstring-parser (the extra `tools`).

    Args:
        source: a function or method, or a class: a Pydantic model, dataclass or `TypedDict`.
        name: the tool's name; by default that of `source`.
        description: the tool's description; by default that of the docstring.

    Returns:
        The tool as a chat request declares it.

    Raises:
        InvalidTools: no schema can be made of it, a parameter is positional-only, or the name is
            no tool name.
        MissingPackage: Pydantic or docstring_parser is not installed.

    """
    if inspect.isfunction(source) and _is_unbound(source):
        raise InvalidTools(
            "$",
            f"`{source.__qualname__}` is a method without its object, which would be an argument "
            "of the tool: pass that of an object",
        )
    with _refusing(source):
        from docstring_parser import parse

        parameters: dict[str, Any] = _adapter(source).json_schema()
        # A recursive model is one of its own definitions.
        reference = parameters.get("$ref", "").rpartition("/")[2]
        model = parameters["$defs"][reference] if reference else parameters
        is_class = isinstance(source, type)
        doc = parse((model.pop("description", None) if is_class else inspect.getdoc(source)) or "")
    properties = model.get("properties", {})
    for each in doc.params:
        if each.arg_name in properties and each.description:
            properties[each.arg_name].setdefault("description", each.description)
    name = getattr(source, "__name__", None) if name is None else name
    made: ToolDefinition = {
        "type": "function",
        "function": {"name": read_name(name, "$.function.name"), "parameters": parameters},
    }
    text = (doc.description or "").strip() if description is None else description
    if text:
        made["function"]["description"] = text
    return made


def _is_unbound(function: FunctionType) -> bool:
    within = function.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters), None)
    return first == "self" and bool(within) and not within.endswith("<locals>")


def declared(tools: object) -> object:
    """Return a request's tools with functions and models replaced by their declarations.

    Raises:
        InvalidTools: a tool cannot be declared.
        MissingPackage: Pydantic or docstring_parser is not installed.

    """
    if not isinstance(tools, list | tuple):
        return tools
    found: list[object] = []
    for at, entry in enumerate(tools):
        is_source = callable(entry) and not isinstance(entry, Mapping)
        try:
            found.append(tool(entry) if is_source else entry)
        except InvalidTools as error:
            raise error.under(f"$.tools[{at}]") from error
    return found


def read_arguments(source: Callable[..., Any], arguments: str, name: str) -> Any:
    """Return arguments as an instance of a model, or as a dict by a function's parameters.

    Args:
        source: as `tool` takes it.
        arguments: JSON text.
        name: the tool's name, for errors.

    Raises:
        InvalidArguments: the arguments do not fit.
        InvalidTools: no tool can be made of `source`.
        MissingPackage: Pydantic is not installed.

    """
    with _refusing(source):
        from pydantic import ValidationError

        adapter = _adapter(source)
    try:
        return adapter.validate_json(arguments)
    except ValidationError as error:
        problems = [
            Problem(reduce(step, each["loc"], "$"), "", each["msg"]) for each in error.errors()
        ]
        raise InvalidArguments(name, tuple(problems)) from error


def _adapter(source: Callable[..., Any]) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(source if isinstance(source, type) else _parameters(source))


def _parameters(function: Callable[..., Any]) -> Any:
    """Return a `TypedDict` of a function's parameters."""
    from pydantic import Field
    from typing_extensions import TypedDict

    fields: dict[str, Any] = {}
    extra = "forbid"
    for each in inspect.signature(function, eval_str=True).parameters.values():
        kind: Any = Any if each.annotation is each.empty else each.annotation
        if each.kind is each.VAR_KEYWORD:
            extra = "allow"
        elif each.kind not in _NAMED:
            raise TypeError(f"calls name their arguments, and `{each}` is given by position")
        elif each.default is each.empty:
            fields[each.name] = kind
        else:
            shown = Field(json_schema_extra=_default(each.default))
            fields[each.name] = NotRequired[Annotated[kind, shown]]
    make: Any = TypedDict  # type checkers accept only written out classes
    made = make(getattr(function, "__name__", "arguments"), fields)
    made.__pydantic_config__ = {"extra": extra}
    return made


def _default(value: object) -> dict[str, Any]:
    """Return the keyword `default` of a schema; nothing if the value is not JSON."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return {"default": to_jsonable_python(value, inf_nan_mode="null")}
    except PydanticSerializationError:
        return {}


@contextmanager
def _refusing(source: object) -> Iterator[None]:
    """Raise InvalidTools in place of Pydantic's errors, MissingPackage where it is missing."""
    try:
        with needed_for("a function or model as a tool"):
            yield
    except (NameError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        what = getattr(source, "__qualname__", brief(source))
        raise InvalidTools("$", f"no tool can be made of {what}: {reason}") from error
