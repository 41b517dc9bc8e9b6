"""Regular languages of keys and raw values in texts of pairs.

They have only keys that the layout can write and values that are read back as themselves: by the
declared type (see `declared`), after trimming, and without the delimiter inside. Must not know:
schemas, any engine's notation.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from enforcer.layouts.declared import STRING
from enforcer.layouts.layout import BoundLayout, Escape, LayoutKind, Trim
from enforcer.regex import ANY, NOTHING, Regex, both, either, inverse, is_empty, literal
from enforcer.regex.charset import ALL, CharSet, digit, space
from enforcer.regex.constructors import EPSILON, chars, concat, repeat
from enforcer.regex.derivative import RegexBudget
from enforcer.regex.elimination import plain
from enforcer.regex.syntax import Chars, Complement, Intersection, Repeat, Union, cached
from enforcer.spelling import WHITE_SPACE, spelled, xml_chars

_EFFORT = 300  # states to find out that a language needs no exclusion
_SIZE = 100_000  # of a language without complements
_LINE = literal("\n")
_PERHAPS_LINE = repeat(_LINE, 0, 1)
_BEGINS, _ENDS = concat(_LINE, ANY), concat(ANY, _LINE)
_SOLID_LINE = ~CharSet.span("\n")
_BLANKS = repeat(chars(CharSet.span("\t\r", " ")), 0, None)
_JSON_SPACE = repeat(chars(CharSet.span(" ", "\t", "\n", "\r")), 0, None)
_WHOLE = concat(
    repeat(literal("-"), 0, 1),
    either(
        literal("0"), concat(chars(CharSet.span("19")), repeat(chars(CharSet.span("09")), 0, None))
    ),
)
OPTIONAL_SPACE = either(EPSILON, WHITE_SPACE)


@dataclass(frozen=True, slots=True)
class Readable:
    """The restrictions on texts of a value that is read by declared types.

    Attributes:
        types: the declared types; None if types are written, so that nothing is restricted.

    """

    types: frozenset[str] | None

    @property
    def as_json(self) -> bool:
        """Whether a text that no declared type takes is read as JSON."""
        return (
            self.types is None
            or STRING not in self.types
            or not self.types.isdisjoint({"object", "array"})
        )

    @property
    def null(self) -> Regex | None:
        """The texts of null; None if there are none."""
        if self.types is not None and "null" in self.types:
            return _any_case("null")
        return literal("null") if self.as_json else None

    def boolean(self, value: bool) -> Regex | None:  # noqa: FBT001 - the value that is meant
        """Return the texts of a boolean; None if there are none."""
        word = "true" if value else "false"
        if self.types is not None and "boolean" in self.types:
            return _any_case(word)
        return literal(word) if self.as_json else None

    def numbers(self, texts: Regex) -> Regex | None:
        """Return those of some JSON numbers that are read as numbers; None if there are none."""
        types = self.types
        if types is None or "number" in types:
            return texts
        if "boolean" in types and "integer" not in types:
            texts = both(texts, inverse(either(literal("0"), literal("1"))))
        if self.as_json:
            return texts
        return both(texts, _WHOLE) if "integer" in types else None

    def strings(self, texts: Regex) -> Regex:
        """Return those of some texts that are read as strings."""
        types = self.types
        if types is None:
            return texts
        others = [_any_case("null")] if "null" in types else []
        if "number" in types:
            others.append(_floats())
        elif "integer" in types:
            others.append(_integers())
        if "boolean" in types:
            words = either(*map(_any_case, ("true", "false", "0", "1")))
            others.append(concat(_space(), words, _space()))
        if self.as_json:
            others.append(_json_texts())
        return both(texts, *map(inverse, others))


def trimming(texts: Regex, trim: Trim) -> Regex:
    """Return all texts that trimming turns into some texts (an inverse image)."""
    if trim is Trim.NONE or texts == ANY:
        return texts
    if _are_solid(texts):
        return concat(_PERHAPS_LINE, texts, _PERHAPS_LINE)
    # The inverse image of a function commutes with all set operations.
    if isinstance(texts, Complement):
        return inverse(trimming(texts.part, trim))
    if isinstance(texts, Union):
        return either(*(trimming(part, trim) for part in texts.parts))
    if isinstance(texts, Intersection):
        return both(*(trimming(part, trim) for part in texts.parts))
    if isinstance(texts, Repeat) and isinstance(texts.part, Chars):
        return _trimming_counted(texts.part.chars, texts.minimum, texts.maximum)
    begun, ended = without(texts, _BEGINS), without(texts, _ENDS)
    neither = without(begun, _ENDS)
    return either(neither, concat(_LINE, ended), concat(begun, _LINE), concat(_LINE, texts, _LINE))


def _are_solid(texts: Regex) -> bool:
    """Return whether surely none of the texts begins or ends with a line break."""
    if isinstance(texts, Union):
        return all(map(_are_solid, texts.parts))
    if isinstance(texts, Intersection):
        return any(map(_are_solid, texts.parts))
    if isinstance(texts, Complement):
        return False
    return without(texts, _BEGINS) is texts and without(texts, _ENDS) is texts


def _trimming_counted(members: CharSet, least: int, most: int | None) -> Regex:
    """Return `trimming` of texts of `least` to `most` characters, without complements."""
    edge, none = chars(members & _SOLID_LINE), EPSILON if not least else NOTHING

    def some(used: int) -> Regex:
        left = None if most is None else most - used
        if left is not None and left < 0:
            return NOTHING
        return repeat(chars(members), max(least - used, 0), left)

    one = edge if least <= 1 and most != 0 else NOTHING
    neither = either(none, one, concat(edge, some(2), edge))
    ended, begun = either(none, concat(some(1), edge)), either(none, concat(edge, some(1)))
    return either(
        neither, concat(_LINE, ended), concat(begun, _LINE), concat(_LINE, some(0), _LINE)
    )


def trimmed_parts(trim: Trim) -> tuple[tuple[Regex, int], ...]:
    """Return a partition of all texts, each part with the number of characters trimmed."""
    if trim is Trim.NONE:
        return ((ANY, 0),)
    twice = concat(_LINE, ANY, _LINE)
    return (
        (both(inverse(_BEGINS), inverse(_ENDS)), 0),
        (both(either(_BEGINS, _ENDS), inverse(twice)), 1),
        (twice, 2),
    )


def holding(stops: Sequence[str]) -> Regex:
    """Return the texts that hold one of some stops, in which `{_}` is any white space."""
    return concat(ANY, either(*map(_stop, stops)), ANY) if stops else NOTHING


@lru_cache(maxsize=64)
def avoiding(stops: tuple[str, ...]) -> Regex:
    """Return the texts that hold none of some stops, without complements (faster to follow)."""
    return plain(inverse(holding(stops)), _SIZE)


@cached
def unstopped(texts: Regex, stops: tuple[str, ...]) -> Regex:
    """Return some texts without those that hold a stop."""
    if without(texts, holding(stops)) is texts:
        return texts
    return both(texts, avoiding(stops))


def _stop(text: str) -> Regex:
    first, *others = map(literal, text.split("{_}"))
    return concat(first, *(part for each in others for part in (_BLANKS, each)))


def without(texts: Regex, others: Regex) -> Regex:
    """Return a language without another; the same object if they are known to be disjoint."""
    try:
        if is_empty(both(texts, others), budget=_EFFORT):
            return texts
    except RegexBudget:
        pass  # it costs nothing but time to exclude what is not there
    return both(texts, inverse(others))


def made_of(members: CharSet, texts: Regex) -> Regex:
    """Return those of some texts that have only certain characters."""
    return texts if members == ALL else both(texts, repeat(chars(members), 0, None))


def keys(layout: BoundLayout) -> Regex:
    """Return the names of properties that a layout can write."""
    return made_of(layout.writable, _keys(layout))


def _keys(layout: BoundLayout) -> Regex:
    if layout.layout.kind is LayoutKind.PYTHON:
        return _identifiers()
    if layout.layout.key is Escape.XML:
        return ANY
    end = layout.text_behind("key")
    if layout.ends_by_id("key"):
        allowed, members = inverse(concat(ANY, literal(end), ANY)), ALL
    else:
        allowed, members = ANY, ALL & ~CharSet.span(end[0])
    # Parsers strip keys.
    solid = chars(members & ~space().wide)
    inside = concat(solid, repeat(chars(members), 0, None), solid)
    return both(either(solid, inside), allowed)


def written_key(names: Regex, layout: BoundLayout) -> Regex:
    """Return the texts of names in a tag, escaped."""
    return spelled(names, xml_chars) if layout.layout.key is Escape.XML else names


@lru_cache(maxsize=1)
def _identifiers() -> Regex:
    letters = chars(CharSet.span("AZ", "az"))
    rest = chars(CharSet.span("AZ", "az", "09", "_"))
    # Python reads others in a normal form, so that what is read is not what was written.
    words = either(*map(literal, keyword.kwlist))
    return both(concat(letters, repeat(rest, 0, None)), inverse(words))


def _any_case(word: str) -> Regex:
    return concat(*(chars(CharSet.span(*{each, each.upper()})) for each in word))


def _space() -> Regex:
    return repeat(chars(space().python), 0, None)


@lru_cache(maxsize=1)
def _digits() -> Regex:
    some = repeat(chars(digit().python), 1, None)
    return concat(some, repeat(concat(literal("_"), some), 0, None))


@lru_cache(maxsize=1)
def _integers() -> Regex:
    """Return the texts that `int` reads."""
    sign = repeat(chars(CharSet.span("+", "-")), 0, 1)
    return concat(_space(), sign, _digits(), _space())


@lru_cache(maxsize=1)
def _floats() -> Regex:
    """Return the texts of finite numbers that `float` reads."""
    sign = repeat(chars(CharSet.span("+", "-")), 0, 1)
    point, some = literal("."), _digits()
    number = either(
        concat(some, repeat(concat(point, repeat(some, 0, 1)), 0, 1)), concat(point, some)
    )
    exponent = concat(chars(CharSet.span("E", "e")), sign, some)
    return concat(_space(), sign, number, repeat(exponent, 0, 1), _space())


@lru_cache(maxsize=1)
def _json_texts() -> Regex:
    """Return a superset of JSON texts, by how strings, arrays and objects begin."""
    begun = concat(_JSON_SPACE, chars(CharSet.span("[", "{", '"')), ANY)
    words = either(*map(literal, ("null", "true", "false")), _numbers())
    return either(begun, concat(_JSON_SPACE, words, _JSON_SPACE))


def _numbers() -> Regex:
    some = repeat(chars(CharSet.span("09")), 1, None)
    sign = repeat(chars(CharSet.span("+", "-")), 0, 1)
    return concat(
        _WHOLE,
        repeat(concat(literal("."), some), 0, 1),
        repeat(concat(chars(CharSet.span("E", "e")), sign, some), 0, 1),
    )
