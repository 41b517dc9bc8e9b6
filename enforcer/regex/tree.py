"""The tree of a pattern, before it means a language.

Owns: the kinds of tree node, and the error that names what is wrong with a
pattern. Must not know: how a pattern is written, what a tree means.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from enforcer.errors import EnforcerError
from enforcer.regex.charset import ALL, Readings

_SHOWN = 200


class RegexError(EnforcerError):
    """A pattern is malformed, or is not a regular language, or is beyond a limit.

    Attributes:
        pattern: the whole pattern.
        position: index of the offending character.
        reason: what is wrong, and what to write instead where that is known.

    """

    def __init__(self, pattern: str, position: int, reason: str) -> None:
        super().__init__(pattern, position, reason)
        self.pattern = pattern
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= _SHOWN else self.pattern[:_SHOWN] + "…"
        return f"{self.reason} (at character {self.position} of the pattern {shown!r})"


class Edge(Enum):
    """Assertions about a position that look at no more than its neighbours."""

    START = auto()  # `^`, `\A`
    END = auto()  # `$`: Python also allows a line feed after it
    FINISH = auto()  # `\Z`
    LINE_START = auto()  # `^` after `(?m)`
    LINE_END = auto()  # `$` after `(?m)`
    WORD = auto()  # `\b`
    NOT_WORD = auto()  # `\B`


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    readings: Readings


@dataclass(frozen=True, slots=True)
class Sequence:
    """All items, one after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of the items."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """The item, `minimum` to `maximum` times."""

    item: Node
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """The item must (not) match from here on, or up to here, without being consumed."""

    item: Node
    ahead: bool
    negative: bool
    position: int


Node = One | Sequence | Alternation | Counted | Look | Edge

EVERY = One(Readings.same(ALL))
