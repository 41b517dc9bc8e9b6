"""Bounds on schemas and the choices a caller makes about them.

Owns: the settings of the compiler, and refusing what is none. Must not know: how any of them is
applied.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TypeGuard, TypeVar

from enforcer.errors import ConfigurationError, brief

_Choice = TypeVar("_Choice", bound=Enum)
_MOST = 10**12


def is_whole(value: object, least: int) -> TypeGuard[int]:
    """Return whether something is a whole number that a setting may have."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST


def require_whole(name: str, value: object, least: int) -> None:
    """Refuse what is no whole number that the setting of this name may have.

    Raises:
        ConfigurationError: it is none.

    """
    if not is_whole(value, least):
        raise ConfigurationError(
            f"{name} is {brief(value)}, but must be a whole number from {least} to {_MOST}"
        )


def require_truth(name: str, value: object) -> None:
    """Refuse what is neither True nor False for the setting of this name: any word is true.

    Raises:
        ConfigurationError: it is neither.

    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} is {brief(value)}, but must be True or False")


def choose(name: str, kind: type[_Choice], given: object) -> _Choice:
    """Return the choice that is meant by itself, or by its word.

    Raises:
        ConfigurationError: it is none of those of the setting of this name.

    """
    if isinstance(given, kind):
        return given
    for each in kind:
        if isinstance(given, str) and given == each.value:
            return each
    words = ", ".join(repr(each.value) for each in kind)
    raise ConfigurationError(f"{name} is {brief(given)}; it can be one of {words}")


class OnUnsupported(Enum):
    """What to do with a schema that cannot be enforced exactly.

    Attributes:
        REFUSE: refuse the request.
        RELAX: enforce the nearest superset; what has none within the limits is refused.
        ISOLATE: as `RELAX`; a tool that it would refuse takes any object, and costs the others
            nothing.

    """

    REFUSE = "refuse"
    RELAX = "relax"
    ISOLATE = "isolate"


class Root(Enum):
    """What the whole value must be, besides fitting the schema."""

    ANY = "any"
    OBJECT = "object"


class Formats(Enum):
    """In which drafts the keyword `format` asserts anything.

    Attributes:
        ENFORCE: in every draft, since whoever writes it means it.
        STANDARD: not where `$schema` names 2019-09 or 2020-12, as those say.

    """

    ENFORCE = "enforce"
    STANDARD = "standard"


class Integers(Enum):
    """How numbers of `type: integer` are written.

    Attributes:
        VALUE: as any text of a whole number; of `9`, `9.0` and `1.5e6` each is one.
        DIGITS: in digits alone, which is what clients take for integers whose parsers go by the
            text.

    """

    VALUE = "value"
    DIGITS = "digits"


@dataclass(frozen=True, slots=True)
class Conventions:
    """Where authors mean other than what the standard says, and which of the two is read.

    Attributes:
        formats: in which drafts `format` asserts anything.
        closed_objects: whether objects that declare `properties` and say nothing of others
            have no others.
        integers: how numbers of `type: integer` are written.

    The words of `formats` and `integers` will do.

    Raises:
        ConfigurationError: one is none of its kind.

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
    """Bounds above which a schema, or a request with many, is refused with `SchemaLimit`.

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
        regex_growth: what a pattern with counts inside counts makes the engine follow:
            the sizes of all that may come next, summed along 64 characters.
        regex_states: states explored to find out whether a string language is empty.
        steps: shapes combined over the whole compilation; bounds its time.
        name_bits: names that a pattern may have for each to be taken as a declared one.
        tools: tools of one request, among which the engine tells apart in one step.
        request: characters of all schemas of one request together, as JSON text.

    Raises:
        ConfigurationError: one is no whole number from 1 on.

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
    """Return words for a message on the field of `Limits` that an operator can raise."""
    return f"(limit `{limit}`)"
