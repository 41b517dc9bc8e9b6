"""Bounds on schemas and the choices a caller makes about them.

Owns: the settings of the compiler. Must not know: how any of them is applied.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a finished grammar may keep apart across the members of one value, as far as the engine
# with the most room can: a bit for each property, element or count. Whoever counts something of
# its own beside leaves a few for it.
BITS = 64


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

    """

    formats: Formats = Formats.ENFORCE
    closed_objects: bool = False
    integers: Integers = Integers.VALUE

    def to_json(self) -> dict[str, str | bool]:
        """Give them as JSON's values."""
        return {
            "formats": self.formats.value,
            "closed_objects": self.closed_objects,
            "integers": self.integers.value,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Conventions:
        """Read what `to_json` gives, trusting nothing in it; raises ValueError, or TypeError."""
        if set(value) != {convention.name for convention in fields(cls)}:
            raise ValueError("other names than those of the conventions")
        if not isinstance(value["closed_objects"], bool):
            raise TypeError("neither true nor false")
        integers = Integers(value["integers"])
        return cls(Formats(value["formats"]), value["closed_objects"], integers)


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
        name_bits: names of one object that are tracked for repetition and presence.
        tools: tools of one request, among which the engine tells apart in one step.
        request: characters of all schemas of one request together, as JSON text.

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


def named(limit: str) -> str:
    """Say in a message which field of `Limits` is exceeded, so that an operator can raise it."""
    return f"(limit `{limit}`)"
