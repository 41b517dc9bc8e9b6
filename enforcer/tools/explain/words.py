"""Answers of `explain` as values, and the words for numbers, strings and types.

Must not know: turns, how a text is followed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from enforcer.layouts import ID
from enforcer.regex import ANY, Regex, RegexBudget, finite_members

if TYPE_CHECKING:
    from fractions import Fraction

    from enforcer.numbers.sets import NumberSet
    from enforcer.schema.grammar import Value

MOST_LISTED = 1_000  # values that are listed one by one; in words, the first of them
_SHOWN = 20
_LONGEST = 60  # characters of a text in words
_STRING_KEYWORDS = ("pattern", "format", "minLength", "maxLength")


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that may come next.

    Attributes:
        what: as `the value of "unit": one of "c", "f"`.
        values: all its texts, if they can be listed. JSON texts of values and of property names,
            names of tools, special tokens.
        paths: the subschemas that allow it.

    """

    what: str
    values: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.what + (f" (by {first_of(self.paths)})" if self.paths else "")


@dataclass(frozen=True, slots=True)
class Expected:
    """What may come next at one place of a turn.

    Attributes:
        state: state of the envelope.
        tool: tool of the call, behind its header.
        at: path in the arguments, as `$.places[0].unit`; None outside of JSON.
        begun: part of a string, number, name or header that has been written.
        options: the legal continuations.
        legal: number of legal token ids.

    """

    state: str
    tool: str | None
    at: str | None
    begun: str
    options: tuple[Option, ...]
    legal: int

    def __str__(self) -> str:
        return in_words(self.options)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a token id is legal or not.

    Attributes:
        token_id: the token id.
        token: its text.
        legal: whether it is legal.
        reason: why.
        expected: the legal continuations.

    """

    token_id: int
    token: str
    legal: bool
    reason: str
    expected: Expected

    def __str__(self) -> str:
        return self.reason


@dataclass(slots=True)
class DraftOption:
    """An option that several readings of a text may add to.

    Attributes:
        values: texts that it can be, and how each is shown.
        kinds: what else it can be, in words.
        paths: the subschemas that say so.

    """

    values: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, None] = field(default_factory=dict)
    paths: dict[str, None] = field(default_factory=dict)

    def option(self, subject: str) -> Option:
        """Return the option, for what is spoken of."""
        shown = tuple(self.values.values())
        if not self.kinds:
            what = f"{subject}: {listing(shown)}" if shown else subject
            return Option(what, tuple(self.values), tuple(self.paths))
        said = [*([listing(shown)] if shown else []), *self.kinds]
        return Option(f"{subject}: {' or '.join(said)}", (), tuple(self.paths))


def in_words(options: Sequence[Option]) -> str:
    """Join what may come next: the first of many."""
    return first_of(list(map(str, options)), "; or ") or "nothing"


def shown(data: bytes | str) -> str:
    """Show a piece of text in words: quoted, short, and with nothing that cannot be seen."""
    text = data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return "`" + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + "`"


def quoted(text: str) -> str:
    """Write a string as JSON, readable."""
    return json.dumps(text, ensure_ascii=False)


def spelled(symbols: Iterable[int], name_of: Callable[[int], bytes]) -> str:
    """Write symbols as text, special tokens by their names."""
    data = (bytes([each]) if each < ID else name_of(each - ID) for each in symbols)
    return b"".join(data).decode("utf-8", "replace")


def listing(values: Sequence[str]) -> str:
    """List values in words: the first of many."""
    if len(values) == 1:
        return values[0]
    return f"one of {first_of(values)}"


def first_of(values: Sequence[str], joint: str = ", ") -> str:
    """Join the first of many, and say how many others there are."""
    more = f"{joint}… and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return joint.join(values[:_SHOWN]) + more


def strings_of(regex: Regex) -> tuple[str, ...] | None:
    """List a language of strings; None if it cannot be listed."""
    try:
        return finite_members(regex, MOST_LISTED)
    except RegexBudget:
        return None


def constants(value: Value, typed: str = "") -> tuple[str, ...] | None:
    """List all that fits a value, as JSON texts; None if that cannot be listed.

    Args:
        value: the value.
        typed: the beginning of strings, which the value has the rest of.

    """
    if value.arrays or value.objects:
        return None
    strings = () if value.strings is None else strings_of(value.strings)
    singles = [number_of(each) for each in value.numbers]
    if strings is None or None in singles:
        return None
    return (
        *value.words,
        *(x for x in singles if x is not None),
        *(quoted(typed + x) for x in strings),
    )


def number_of(numbers: NumberSet) -> str | None:
    """Write the member of a set of one number; None for another set."""
    return _number(numbers.low) if numbers.low == numbers.high and numbers.low is not None else None


def kinds(value: Value, schemas: Iterable[Any]) -> list[str]:
    """Name what may fit a value that cannot be listed.

    Args:
        value: the value.
        schemas: subschemas that it comes from, to name what they demand of strings.

    """
    found = list(value.words)
    found += [number_of(each) or numbers_in_words(each) for each in value.numbers]
    if value.strings is not None:
        members = strings_of(value.strings)
        found.append(
            strings_in_words(value.strings, schemas)
            if members is None
            else listing([quoted(x) for x in members])
        )
    if value.arrays:
        found.append("an array")
    if value.objects:
        found.append("an object")
    return found


def strings_in_words(strings: Regex, schemas: Iterable[Any]) -> str:
    """Describe the strings of a language, in the words of the schemas that it comes from."""
    if strings == ANY:
        return "any string"
    said = {
        f"`{keyword}` {json.dumps(schema[keyword], ensure_ascii=False)}": None
        for schema in schemas
        if isinstance(schema, dict)
        for keyword in _STRING_KEYWORDS
        if keyword in schema
    }
    return "a string" + (f" ({', '.join(said)})" if said else "")


def numbers_in_words(numbers: NumberSet) -> str:
    """Describe the numbers of a set."""
    kind = "a number"
    if numbers.multiple == 1:
        kind = "an integer"
    elif numbers.multiple is not None:
        kind = f"a multiple of {_number(numbers.multiple)}"
    bounds = []
    if numbers.low is not None:
        bounds.append(f"{'above' if numbers.low_open else 'from'} {_number(numbers.low)}")
    if numbers.high is not None:
        word = "below" if numbers.high_open else "to" if bounds else "up to"
        bounds.append(f"{word} {_number(numbers.high)}")
    said = " and ".join(bounds) if numbers.high_open or numbers.low_open else " ".join(bounds)
    others = [
        "no integer" if each == 1 else f"no multiple of {_number(each)}"
        for each in sorted(numbers.not_multiples)
    ]
    return ", ".join(filter(None, (f"{kind} {said}".strip(), *others)))


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))
