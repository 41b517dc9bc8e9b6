r"""The tree of a pattern, before it means a language.

Owns: the kinds of tree node, `^`, `$`, `\b` and the like as lookarounds, and the error that names
what is wrong with a pattern. Must not know: how a pattern is written, what a tree means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from enforcer.errors import EnforcerError
from enforcer.regex.charset import ALL, LINE_ENDS, CharSet, Readings, word

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
    position: int = 0


@dataclass(frozen=True, slots=True)
class Disputed:
    """An assertion that ECMA-262 and Python read differently: that of both, and that of either."""

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
