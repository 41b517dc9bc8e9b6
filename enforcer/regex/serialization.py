"""Languages as JSON, for another process.

Owns: writing one and reading it back as an equal value. Languages with names (see `syntax`) cannot
be written. Must not know: what they are for.
"""

from __future__ import annotations

from typing import Any

from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import both, chars, concat, either, inverse, literal, repeat
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Regex,
    Repeat,
    Union,
)

_JOINED = {"concat": concat, "union": either, "intersection": both}


def to_json(regex: Regex) -> Any:
    """Write a language.

    Raises:
        TypeError: a part of it is a name.

    """
    if isinstance(regex, Literal):
        return regex.text
    if isinstance(regex, Chars):
        return ["chars", *regex.chars.ranges]
    if isinstance(regex, Repeat):
        return ["repeat", to_json(regex.part), regex.minimum, regex.maximum]
    if isinstance(regex, Complement):
        return ["complement", to_json(regex.part)]
    if isinstance(regex, Concat):
        return ["concat", *map(to_json, regex.parts)]
    if isinstance(regex, Union):
        return ["union", *map(to_json, regex.parts)]
    if isinstance(regex, Intersection):
        return ["intersection", *map(to_json, regex.parts)]
    raise TypeError(f"cannot be written: {type(regex).__name__}")


def from_json(written: Any) -> Regex:
    """Read what `to_json` has written."""
    if isinstance(written, str):
        return literal(written)
    kind, *parts = written
    if kind == "chars":
        return chars(CharSet.of((low, high) for low, high in parts))
    if kind == "repeat":
        return repeat(from_json(parts[0]), parts[1], parts[2])
    if kind == "complement":
        return inverse(from_json(parts[0]))
    return _JOINED[kind](*map(from_json, parts))
