"""Parts of a language by the first or the last character of its members.

Owns: restricting an expression without wrapping it into an intersection, which
engines handle less cheaply. Must not know: patterns, JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex.constructors import ANY, NOTHING, both, chars, concat, either, repeat
from enforcer.regex.syntax import Chars, Concat, Intersection, Literal, Regex, Repeat, Union

if TYPE_CHECKING:
    from enforcer.regex.charset import CharSet


def starting(regex: Regex, members: CharSet) -> Regex:
    """Keep the members of a language whose first character is in the set."""
    return _slice(regex, members, at_end=False)


def ending(regex: Regex, members: CharSet) -> Regex:
    """Keep the members of a language whose last character is in the set."""
    return _slice(regex, members, at_end=True)


def _slice(regex: Regex, members: CharSet, *, at_end: bool) -> Regex:
    if isinstance(regex, Literal):
        outermost = regex.text[-1:] if at_end else regex.text[:1]
        return regex if outermost and outermost in members else NOTHING
    if isinstance(regex, Chars):
        return chars(regex.chars & members)
    if isinstance(regex, Union):
        return either(*(_slice(part, members, at_end=at_end) for part in regex.parts))
    if isinstance(regex, Intersection):
        return both(_slice(regex.parts[0], members, at_end=at_end), *regex.parts[1:])
    if isinstance(regex, Repeat):
        return _ordered(_slice(regex.part, members, at_end=at_end), _one_less(regex), at_end=at_end)
    if isinstance(regex, Concat):
        choices = []
        parts = regex.parts[::-1] if at_end else regex.parts
        for at, part in enumerate(parts):
            choices.append(
                _ordered(_slice(part, members, at_end=at_end), *parts[at + 1 :], at_end=at_end)
            )
            if not part.nullable:
                break
        return either(*choices)
    return both(_ordered(chars(members), ANY, at_end=at_end), regex)


def _ordered(*parts: Regex, at_end: bool) -> Regex:
    """Build the sequence of parts that are listed from the first, or from the last on."""
    return concat(*(parts[::-1] if at_end else parts))


def _one_less(regex: Repeat) -> Regex:
    """Build the repetitions beside the one that holds the first (or last) character."""
    maximum = None if regex.maximum is None else regex.maximum - 1
    return repeat(regex.part, max(regex.minimum - 1, 0), maximum)
