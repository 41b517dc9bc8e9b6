"""Grammar rules without parameters, for engines that have none.

Owns: the kinds of production rules, over languages of texts. Must not know: what is written in them
(`_rule_writer`), any engine or its notation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.spelling import RAW, Spelling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence as Sequence_

    from enforcer.regex import Regex

OTHER_ENGINE = "use the engine `machine`, which enforces it"


def no_text() -> UnsupportedSchema:
    """Say that a language has no text, as is known only where its states are; none is written."""
    return UnsupportedSchema.of("$", "", f"no text fits what is demanded here; {OTHER_ENGINE}")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a regular language.

    Attributes:
        regex: the language.
        spelling: how its members are written, with what that puts around them.

    """

    regex: Regex
    spelling: Spelling = RAW


@dataclass(frozen=True, slots=True)
class Name:
    """What another rule produces."""

    rule: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts in order."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Any one of the parts; at least one."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """The part, `minimum` to `maximum` (None: any number of) times."""

    part: Expression
    minimum: int
    maximum: int | None


Expression = Text | Name | Sequence | Alternatives | Repetition


@dataclass(frozen=True, slots=True)
class Rules:
    """A context-free grammar of one argument text.

    Attributes:
        start: the whole text.
        bodies: what each rule produces, in order of first use.

    """

    start: Expression
    bodies: Mapping[str, Expression]


def choice(parts: Sequence_[Expression]) -> Expression:
    """Build a choice, or its only part."""
    return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))
