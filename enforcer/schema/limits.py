"""Settings of the schema compiler: limits, choices and conventions, checked as they are built."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TypeVar

from enforcer.errors import ConfigurationError, brief

_Choice = TypeVar("_Choice", bound=Enum)
_MOST = 10**12


def require_whole(name: str, value: object, least: int) -> None:
    """Raise ConfigurationError if a setting's value is no integer from `least` to 10**12."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST:
        raise ConfigurationError(
            f"{name} is {brief(value)}, but must be a whole number from {least} to {_MOST}"
        )


def require_truth(name: str, value: object) -> None:
    """Raise ConfigurationError if a setting's value is no `bool` (any word would be true)."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} is {brief(value)}, but must be True or False")


def choose(name: str, kind: type[_Choice], given: object) -> _Choice:
    """Return a member of an enum, given itself or its value.

    Args:
        name: the setting's name, for the error.
        kind: the enum.
        given: a member or its value.

    Raises:
        ConfigurationError: `given` is neither.

    """
    if isinstance(given, kind):
        return given
    for each in kind:
        if isinstance(given, str) and given == each.value:
            return each
    words = ", ".join(repr(each.value) for each in kind)
    raise ConfigurationError(f"{name} is {brief(given)}; it can be one of {words}")


class OnUnsupported(Enum):
    """The treatment of schemas that cannot be enforced exactly.

    Attributes:
        REFUSE: refuse the request.
        RELAX: enforce the nearest superset; refuse where there is none within the limits.
        ISOLATE: as `RELAX`; a tool that it would refuse takes any object instead, and other tools
            are not affected.

    """

    REFUSE = "refuse"
    RELAX = "relax"
    ISOLATE = "isolate"


class Root(Enum):
    """The type of the whole value, besides the schema's own: any, or an object."""

    ANY = "any"
    OBJECT = "object"


class Formats(Enum):
    """The drafts in which the keyword `format` constrains values.

    Attributes:
        ENFORCE: all drafts, as authors mean it.
        STANDARD: all but 2019-09 and 2020-12 named by `$schema`, as these drafts say.

    """

    ENFORCE = "enforce"
    STANDARD = "standard"


class Integers(Enum):
    """The texts that numbers of `type: integer` may have.

    Attributes:
        VALUE: any text of a whole number: `9`, `9.0`, `1.5e6`.
        DIGITS: digits alone, for clients whose parsers decide by the text.

    """

    VALUE = "value"
    DIGITS = "digits"


@dataclass(frozen=True, slots=True)
class Conventions:
    """Readings of keywords where authors and the standard differ.

    Attributes:
        formats: the drafts in which `format` constrains values. A `Formats` or its value.
        closed_objects: whether an object that declares `properties` has no undeclared ones,
            unless the schema mentions them.
        integers: the texts of numbers of `type: integer`. An `Integers` or its value.

    Raises:
        ConfigurationError: a value of another type.

    """

    formats: Formats = Formats.ENFORCE
    closed_objects: bool = False
    integers: Integers = Integers.VALUE

    def __post_init__(self) -> None:
        require_truth("closed_objects", self.closed_objects)
        # A frozen dataclass leaves this as the only way to fill a field.
        object.__setattr__(self, "formats", choose("formats", Formats, self.formats))
        object.__setattr__(self, "integers", choose("integers", Integers, self.integers))


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds above which a schema, or all of a request, is refused with `SchemaLimit`.

    Attributes:
        depth: nesting of objects and arrays inside the schema.
        nodes: JSON values in the schema.
        size: characters of all strings and names in the schema.
        properties: names declared by one object.
        enum: values of one `enum`.
        branches: alternatives that one value may have, after `oneOf`, `not` and the
            like have been worked out.
        definitions: distinct values after references have been expanded.
        regex_size: size of one string language (characters and operators).
        regex_growth: work for a pattern with counts inside counts: the sizes of its derivatives,
            summed along 64 characters.
        regex_states: states explored to find out whether a string language is empty.
        steps: shapes combined over the whole compilation; bounds its time.
        name_bits: names that a pattern may have to be expanded into declared names.
        tools: tools of one request.
        request: characters of all schemas of one request together, as JSON text.

    Raises:
        ConfigurationError: a value is no integer from 1 on.

    """

    depth: int = 128
    nodes: int = 200_000
    size: int = 2_000_000
    properties: int = 3_000
    enum: int = 5_000
    branches: int = 2_000
    definitions: int = 20_000
    regex_size: int = 200_000
    regex_growth: int = 20_000
    regex_states: int = 2_000
    steps: int = 300_000
    name_bits: int = 60
    tools: int = 2_000
    request: int = 4_000_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            require_whole(limit.name, getattr(self, limit.name), least=1)


USUAL = Limits()


def named(limit: str) -> str:
    """Return the words of an error that name the field of `Limits` to raise."""
    return f"(limit `{limit}`)"
