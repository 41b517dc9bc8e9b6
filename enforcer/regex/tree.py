r"""The tree of a pattern, and the two readings in which it means a language.

The readings are ECMA-262's, in which JSON Schema is written, and that of Python's `re`, by which
much of the world checks schemas. They differ in `\d`, `\w`, `\s`, `.`, `$`, `\b`. `Reading.NARROW`
holds only strings that match under both, `Reading.WIDE` all that match under either; each turns
into the other below a negative lookaround.

Anchors and boundaries (`^`, `$`, `\b`) are lookarounds. Must not know: how a pattern is written,
the meaning of trees with lookarounds (`assertions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.errors import EnforcerError
from enforcer.regex.charset import ALL, LINE_ENDS, CharSet, Readings, word
from enforcer.regex.constructors import ANY, EPSILON, chars, concat, either, repeat

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

_SHOWN = 200


class RegexError(EnforcerError):
    """A pattern is malformed, or is not a regular language, or is beyond a limit.

    Attributes:
        pattern: the whole pattern.
        position: index of the offending character.
        reason: the mistake, and a replacement if one is known.

    """

    def __init__(self, pattern: str, position: int, reason: str) -> None:
        super().__init__(pattern, position, reason)
        self.pattern = pattern
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= _SHOWN else self.pattern[:_SHOWN] + "…"
        return f"{self.reason} (at character {self.position} of the pattern {shown!r})"


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    readings: Readings


@dataclass(frozen=True, slots=True)
class Sequence:
    """All items in sequence."""

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
    position: int = 0


@dataclass(frozen=True, slots=True)
class Disputed:
    """An assertion that ECMA-262 and Python read differently: where both hold, and where either."""

    narrow: Node
    wide: Node


Node = One | Sequence | Alternation | Counted | Look | Disputed

EVERY = One(Readings.same(ALL))


def ahead(*items: Node, negative: bool = False) -> Look:
    """Build a lookahead of a sequence."""
    return Look(Sequence(items), ahead=True, negative=negative)


def behind(*items: Node, negative: bool = False) -> Look:
    """Build a lookbehind of one of some items."""
    return Look(Alternation(items), ahead=False, negative=negative)


START = behind(EVERY, negative=True)
FINISH = ahead(EVERY, negative=True)
# Python finds `$` before a last line feed as well.
END = Disputed(FINISH, ahead(Counted(One(Readings.same(CharSet.span("\n"))), 0, 1), FINISH))
LINE_START = behind(START, One(LINE_ENDS))
LINE_END = Look(Alternation((FINISH, One(LINE_ENDS))), ahead=True, negative=False)


def _boundary(members: CharSet) -> Node:
    word = One(Readings.same(members))
    return Alternation(
        (
            Sequence((behind(word), ahead(word, negative=True))),
            Sequence((behind(word, negative=True), ahead(word))),
        )
    )


def _disputed(ecma: Node, python: Node) -> Disputed:
    return Disputed(Sequence((ecma, python)), Alternation((ecma, python)))


@lru_cache(maxsize=1)
def boundary() -> Node:
    r"""Build `\b`."""
    return _disputed(_boundary(word().ecma), _boundary(word().python))


@lru_cache(maxsize=1)
def no_boundary() -> Node:
    r"""Build `\B`, of which Python before 3.14 finds none in an empty string."""
    ecma, python = (
        ahead(_boundary(members), negative=True) for members in (word().ecma, word().python)
    )
    return _disputed(ecma, Sequence((python, ahead(START, FINISH, negative=True))))


class Reading(Enum):
    """The strings that match where ECMA-262 and Python's `re` disagree."""

    NARROW = "both agree that it matches"
    WIDE = "at least one says that it matches"

    @property
    def opposite(self) -> Reading:
        """The reading below a negation."""
        return Reading.WIDE if self is Reading.NARROW else Reading.NARROW

    def of(self, readings: Readings) -> CharSet:
        """Return the characters of a set in this reading."""
        return readings.narrow if self is Reading.NARROW else readings.wide

    def assertion(self, node: Disputed) -> Node:
        """Return an assertion in this reading."""
        return node.narrow if self is Reading.NARROW else node.wide


def plain_language(node: Node, reading: Reading) -> Regex | None:
    """Build the language that a tree without assertions matches; None if it holds one."""
    if isinstance(node, One):
        return chars(reading.of(node.readings))
    if isinstance(node, Counted):
        part = plain_language(node.item, reading)
        return None if part is None else repeat(part, node.minimum, node.maximum)
    if isinstance(node, Sequence | Alternation):
        parts = []
        for item in node.items:
            part = plain_language(item, reading)
            if part is None:
                return None
            parts.append(part)
        return concat(*parts) if isinstance(node, Sequence) else either(*parts)
    return None


def text_before(item: Node, reading: Reading) -> Regex | None:
    """Build the language of the texts that end in a match of a lookbehind's item.

    None if an assertion inside the lookbehind is not supported.
    """
    if (plain := plain_language(item, reading)) is not None:
        return concat(ANY, plain)
    if item == START:
        return EPSILON
    if isinstance(item, Alternation):
        found = [text_before(part, reading) for part in item.items]
        return None if None in found else either(*(part for part in found if part is not None))
    if isinstance(item, Sequence) and item.items[0] == START:
        return plain_language(Sequence(item.items[1:]), reading)
    return None
