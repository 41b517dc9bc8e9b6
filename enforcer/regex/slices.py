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
    if isinstance(regex, Literal):
        return regex if regex.text and regex.text[0] in members else NOTHING
    if isinstance(regex, Chars):
        return chars(regex.chars & members)
    if isinstance(regex, Union):
        return either(*(starting(p, members) for p in regex.parts))
    if isinstance(regex, Repeat):
        return concat(starting(regex.part, members), _one_less(regex))
    if isinstance(regex, Intersection):
        return both(starting(regex.parts[0], members), *regex.parts[1:])
    if isinstance(regex, Concat):
        choices = []
        for at, part in enumerate(regex.parts):
            choices.append(concat(starting(part, members), *regex.parts[at + 1 :]))
            if not part.nullable:
                break
        return either(*choices)
    return both(concat(chars(members), ANY), regex)


def ending(regex: Regex, members: CharSet) -> Regex:
    """Keep the members of a language whose last character is in the set."""
    if isinstance(regex, Literal):
        return regex if regex.text and regex.text[-1] in members else NOTHING
    if isinstance(regex, Chars):
        return chars(regex.chars & members)
    if isinstance(regex, Union):
        return either(*(ending(p, members) for p in regex.parts))
    if isinstance(regex, Repeat):
        return concat(_one_less(regex), ending(regex.part, members))
    if isinstance(regex, Intersection):
        return both(ending(regex.parts[0], members), *regex.parts[1:])
    if isinstance(regex, Concat):
        choices = []
        for at in range(len(regex.parts) - 1, -1, -1):
            choices.append(concat(*regex.parts[:at], ending(regex.parts[at], members)))
            if not regex.parts[at].nullable:
                break
        return either(*choices)
    return both(concat(ANY, chars(members)), regex)


def _one_less(regex: Repeat) -> Regex:
    """Build the repetitions beside the one that holds the first (or last) character."""
    maximum = None if regex.maximum is None else regex.maximum - 1
    return repeat(regex.part, max(regex.minimum - 1, 0), maximum)
