"""The least member of a string language, and how far any prefix may be from one.

Owns: both, exactly or not at all. The least member is the first of the shortest, readable
characters before others; it depends on the language alone, so that what follows the first
character of it is the least of what may follow that character. Must not know: JSON, ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import EnforcerError
from enforcer.regex import NOTHING
from enforcer.regex.caching import cached
from enforcer.regex.charset import CharSet
from enforcer.regex.derivative import TooManyStates, closure, shortest_ends, successors
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Named,
    Repeat,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.regex import Regex

_MOST_STATES = 20_000
_LONGEST = 100_000
_MOST_EXPLORED = 2_000
_MOST_WORK = 10_000_000  # sizes of what may follow, summed; most languages take a tenth
_WIDEST = 6  # `\\u0000`
_SPANS = tuple(
    CharSet.span(span) for span in ("az", "09", "AZ", " !", "#[", "]~")
)  # all that JSON spells with one byte


class Unbounded(EnforcerError):  # noqa: N818 - named for what is wrong
    """How far a text is from its end cannot be told within the budget of work."""


def readable(members: CharSet) -> str:
    """Choose the character of a set that is spelled in the fewest bytes."""
    for span in _SPANS:
        if common := members & span:
            return common.first
    return members.first


def _rank(char: str) -> tuple[int, str]:
    for rank, span in enumerate(_SPANS):
        if char in span:
            return rank, char
    return len(_SPANS), char


def _order(text: str) -> tuple[int, list[tuple[int, str]]]:
    return len(text), [_rank(char) for char in text]


@cached
def least(regex: Regex) -> str | None:
    """Find the least member; None if there is none.

    Raises:
        Unbounded: too many states would have to be explored.

    """
    if regex == NOTHING:
        return None
    if isinstance(regex, Literal):
        return regex.text
    if isinstance(regex, Chars):
        return readable(regex.chars)
    if isinstance(regex, Repeat):
        part = least(regex.part) if regex.minimum else ""
        if part and len(part) * regex.minimum > _LONGEST:
            raise Unbounded(f"a text must have more than {_LONGEST} characters")
        return None if part is None else part * regex.minimum
    if isinstance(regex, Concat):
        parts = [least(part) for part in regex.parts]
        return None if None in parts else "".join(part for part in parts if part is not None)
    if isinstance(regex, Union):
        found = [text for text in map(least, regex.parts) if text is not None]
        return min(found, key=_order, default=None)
    return _searched(regex)


def _searched(regex: Regex) -> str | None:
    """Search by length; states in the order of their texts, so the first to arrive is least."""
    seen = {regex}
    level = [(regex, "")]
    spent = 0
    while level:
        for state, text in level:
            if state.nullable:
                return text
        following: list[tuple[Regex, str]] = []
        for state, text in level:
            spent += 1
            if spent > _MOST_STATES:
                raise Unbounded("a pattern needs too many states to tell its shortest text")
            ways = [(readable(members), after) for members, after in successors(state)]
            for char, after in sorted(ways, key=lambda way: _rank(way[0])):
                if after not in seen:
                    seen.add(after)
                    following.append((after, text + char))
        level = following
    return None


@cached
def furthest(regex: Regex) -> int:
    """Bound how many characters may be missing after any prefix of a member.

    Raises:
        Unbounded: too many states would have to be explored.

    """
    if isinstance(regex, Literal):
        return len(regex.text)
    if isinstance(regex, Chars):
        return 1
    if isinstance(regex, Union):
        return max(map(furthest, regex.parts))
    if isinstance(regex, Repeat):
        return furthest(regex.part) + max(regex.minimum - 1, 0) * _length(regex.part)
    if isinstance(regex, Concat):
        missing, found = 0, 0
        for part in reversed(regex.parts):
            found = max(found, furthest(part) + missing)
            missing += _length(part)
        return found
    if isinstance(regex, Complement) and regex.part.longest is not None:
        return regex.part.longest + 1
    if isinstance(regex, Intersection | Complement | Named):
        return _explored(regex)
    return 0


def _length(regex: Regex) -> int:
    return len(least(regex) or "")


def _explored(regex: Regex) -> int:
    """Measure the distances of all states from an end."""
    work = 0

    def moves(state: Regex) -> Iterator[tuple[CharSet, Regex]]:
        nonlocal work
        for members, after in successors(state):
            work += after.size
            if work > _MOST_WORK:
                raise Unbounded("a pattern or format takes too long to tell how far a text may go")
            yield members, after

    def admit(_: Regex, before: int) -> None:
        if before >= _MOST_EXPLORED:
            raise TooManyStates(_MOST_EXPLORED)

    try:
        states, rows = closure(regex, moves, admit)
    except TooManyStates:
        return _bounded(regex)
    ends = shortest_ends([state.nullable for state in states], rows)
    return max((end for end in ends if end is not None), default=0)


def _bounded(regex: Regex) -> int:
    if regex.longest is None:
        raise Unbounded("a pattern needs too many states to tell how far a text may go")
    return regex.longest


@cached
def widest(regex: Regex) -> int:
    """Bound how many bytes JSON needs for each character of least members."""
    if isinstance(regex, Literal):
        return max(map(_width, regex.text), default=1)
    if isinstance(regex, Chars):
        return _width(readable(regex.chars))
    if isinstance(regex, Repeat):
        return widest(regex.part)
    if isinstance(regex, Union | Concat):
        return max(map(widest, regex.parts))
    return _WIDEST


def _width(char: str) -> int:
    return 1 if any(char in span for span in _SPANS) else _WIDEST
