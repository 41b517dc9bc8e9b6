r"""Two syntaxes of patterns, as tables of their differences.

`ECMA` is ECMA-262's in Unicode mode, in which JSON Schema is written, with what schemas in the wild
take from Annex B and from Python. Where these two read one construct differently, both readings are
kept (`Readings`); where a construct exists in one only, that one is meant. Chosen among conflicting
ones:

- `\A`, `\Z`, `(?P<n>...)`, `(?#...)`, a leading `(?ims)`, `x{,n}`: as in Python;
- `[]` (nothing) and `[^]` (everything), `\cX`, `\u{...}`, surrogate pairs: as in ECMA-262.

`RUST` is the syntax of Rust's `regex` crate, for clients' expressions. `\d`, `\w` and `\s` are
those of Unicode, `.` is all but a line feed, classes nest and have set operations, and flags may
stand anywhere. Lookarounds, word boundaries, `(?m)`, `(?R)` and `(?-u)` are refused.
Source: https://docs.rs/regex/latest/regex/#syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex.charset import (
    ANY_BUT_LINE_END,
    CharSet,
    Readings,
    digit,
    space,
    unicode_class,
    union,
    word,
)
from enforcer.regex.tree import END, FINISH, START, Node, boundary, no_boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, eq=False)
class Flavor:
    r"""A syntax of patterns; compared by identity.

    Attributes:
        edges: assertions by their tokens.
        dot: the characters of a `.` without the flag `s`.
        classes: sets by the letters of their escapes; a capital is the complement.
        controls: characters by the letters of their escapes.
        digits: numbers of hexadecimal digits by the letters of their escapes.
        braced: letters of escapes whose digits may stand in braces.
        flags: letters of the flags of a group.
        name: the name of a group.
        counts: a quantifier in braces.
        fold: adds the characters that differ from a set's in case alone.
        operations: set operations of classes, by their tokens.
        posix: sets by their names inside `[:...:]`.
        is_strict: whether what has no meaning is refused; where it is not, as in Annex B, it stands
            for itself.

    """

    edges: Mapping[str, Callable[[], Node]]
    dot: Readings
    classes: Mapping[str, Callable[[], Readings]]
    controls: Mapping[str, str]
    digits: Mapping[str, int]
    braced: str
    flags: str
    name: re.Pattern[str]
    counts: re.Pattern[str]
    fold: Callable[[Readings], Readings]
    operations: Mapping[str, Callable[[Readings, Readings], Readings]] = field(default_factory=dict)
    posix: Mapping[str, Readings] = field(default_factory=dict)
    is_strict: bool = False


@lru_cache(maxsize=16)
def class_escape(flavor: Flavor, letter: str) -> Readings:
    """Return the set of an escape such as `w`, or of its complement, `W`."""
    found = flavor.classes[letter.lower()]()
    return ~found if letter.isupper() else found


_SAME_FOR_PYTHON = [
    CharSet.span(*same)
    for same in ("iI\u0130\u0131", "\u0390\u1fd3", "\u03b0\u1fe3", "\ufb05\ufb06")
]


@lru_cache(maxsize=512)  # a set may have as many partners as there are letters
def _fold_by_either(readings: Readings) -> Readings:
    """Add what differs in case alone: to one reading for all engines, to the other for any.

    Engines fold differently, by one step or by Unicode's simple folding (U+212A is a `k`); Python
    has a few pairs more.
    """
    wide = readings.python.ignoring_case() | readings.python.folded()
    wide |= union(same for same in _SAME_FOR_PYTHON if wide & same)
    return Readings(readings.ecma.ignoring_case(), wide)


@lru_cache(maxsize=512)
def _fold_simply(readings: Readings) -> Readings:
    """Add all characters of the same simple case folding."""
    return Readings.same(readings.ecma.folded())


def _unicode(members: str) -> Callable[[], Readings]:
    return lambda: Readings.same(unicode_class(members))


ECMA = Flavor(
    edges={
        "^": lambda: START,
        "$": lambda: END,
        r"\b": boundary,
        r"\B": no_boundary,
        r"\A": lambda: START,
        r"\Z": lambda: FINISH,
    },
    dot=ANY_BUT_LINE_END,
    classes={"d": digit, "w": word, "s": space},
    controls={"b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    digits={"x": 2, "u": 4},
    braced="u",
    flags="imsu",
    name=re.compile("[^>]+"),
    counts=re.compile(r"\{(?!,?\})([0-9]*)(?:(,)([0-9]*))?\}"),
    fold=_fold_by_either,
)

_POSIX = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "ascii": ("\0\x7f",),
    "blank": ("\t", " "),
    "cntrl": ("\0\x1f", "\x7f"),
    "digit": ("09",),
    "graph": ("!~",),
    "lower": ("az",),
    "print": (" ~",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("\t\r", " "),
    "upper": ("AZ",),
    "word": ("09", "AZ", "az", "_"),
    "xdigit": ("09", "AF", "af"),
}

RUST = Flavor(
    edges=dict.fromkeys(("^", r"\A"), lambda: START) | dict.fromkeys(("$", r"\z"), lambda: FINISH),
    dot=~Readings.same(CharSet.span("\n")),
    classes={
        "d": _unicode(r"\p{Nd}"),
        "w": _unicode(r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"),
        "s": _unicode(r"\p{White_Space}"),
    },
    controls={"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"},
    digits={"x": 2, "u": 4, "U": 8},
    braced="xuU",
    flags="isUux",
    name=re.compile(r"[\w.\[\]]+"),
    counts=re.compile(r"\{\s*([0-9]+)\s*(?:(,)\s*([0-9]*)\s*)?\}"),
    fold=_fold_simply,
    operations={
        "&&": lambda one, other: one & other,
        "--": lambda one, other: one & ~other,
        "~~": lambda one, other: (one & ~other) | (other & ~one),
    },
    posix={name: Readings.same(CharSet.span(*spans)) for name, spans in _POSIX.items()},
    is_strict=True,
)
