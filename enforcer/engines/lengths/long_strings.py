"""Which strings of a grammar are counted, and what is left of them for the engine.

Owns: that choice. A string is counted if the way to it, by names and indices, tells that it is this
one, and if its pattern alone is simple enough to be followed. Must not know: how it is followed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.engines.lengths.automaton import Automaton, built
from enforcer.regex import ANY, both
from enforcer.regex.caching import cached
from enforcer.regex.charset import ALL
from enforcer.regex.constructors import repeat
from enforcer.regex.minimal_automaton import TooManyStates
from enforcer.regex.syntax import Chars, Intersection, Repeat
from enforcer.schema.finishing.ways import TooManyWays, leading, ways

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.finishing.ways import Way
    from enforcer.schema.grammar import ValueId

WAYS = 2_000
_LEAST = 64  # characters of a greatest length: counts below come again soon enough
_STATES = 400
# Characters from an end: which of all ids lead to one in time is looked at where so many are left.
FURTHEST = 8


class LongString(NamedTuple):
    """A language of strings in two parts.

    Attributes:
        language: it without its greatest length.
        most: that, in characters.

    """

    language: Regex
    most: int


Long = dict["ValueId", LongString]


def divided(strings: Regex, *, plain: bool = False) -> LongString | None:
    """Take a language apart; None if it has no greatest length beside something to follow.

    Args:
        strings: the language.
        plain: whether a length alone is something to follow; an engine knows at once what any
            characters may be.

    """
    if isinstance(strings, Repeat):
        if (strings.part == Chars(ALL) and not plain) or not _is_long(strings):
            return None
        return LongString(repeat(strings.part, strings.minimum, None), strings.maximum or 0)
    if not isinstance(strings, Intersection):
        return None
    counted = next((p for p in strings.parts if isinstance(p, Repeat) and _is_long(p)), None)
    if counted is None:
        return None
    others = (part for part in strings.parts if part is not counted)
    without = both(*others, repeat(counted.part, counted.minimum, None))
    return None if without == ANY and not plain else LongString(without, counted.maximum or 0)


def _is_long(part: Repeat) -> bool:
    return (
        isinstance(part.part, Chars)
        and part.maximum is not None
        and part.maximum >= max(_LEAST, part.minimum)
    )


@cached
def table(language: Regex, furthest: int) -> tuple[Any, ...] | None:
    """Build the automaton of a language.

    Args:
        language: one that has a member.
        furthest: how far from an end a text may be.

    Returns:
        Its rows; None if it is too large, or some end further away.

    """
    try:
        rows = built(language, _STATES)
    except TooManyStates:
        return None
    return tuple(rows) if max(Automaton(rows).furthest) <= furthest else None


def long_values(grammar: ArgumentGrammar, *, plain: bool = False) -> Long:
    """Find the values whose strings have a greatest length; see `divided`."""
    long: Long = {}
    for number, value in grammar.definitions.items():
        found = None if value.strings is None else divided(value.strings, plain=plain)
        if found is not None:
            long[number] = found
    return long


def drop_mixed(long: Long, found: Sequence[Way]) -> None:
    """Leave out those that a path of names and indices does not tell from others."""
    for way in found:
        if len({value.strings for value in way.values} - {None}) > 1:
            drop(long, way)


def drop(long: Long, way: Way) -> None:
    """Leave out those of a way."""
    for number in way.ids:
        long.pop(number, None)


def divide(grammar: ArgumentGrammar) -> tuple[ArgumentGrammar, list[Any]]:
    """Give a grammar whose strings may be longer, and what is to be counted as JSON's values.

    These are empty if nothing is; else see `listed`.
    """
    long = long_values(grammar)
    if not long:
        return grammar, []
    try:
        found = ways(grammar.definitions, grammar.root, WAYS)
    except TooManyWays:
        return grammar, []
    drop_mixed(long, found)
    drop_untold(long, found)
    if not long:
        return grammar, []
    return without_lengths(grammar, long), listed(found, long, range(len(found)))


def drop_untold(long: Long, found: Iterable[Way]) -> None:
    """Leave out those on some ways that are too large to be followed as JSON."""
    for way in found:
        if any(x in long and table(long[x].language, FURTHEST) is None for x in way.ids):
            drop(long, way)


def without_lengths(grammar: ArgumentGrammar, long: Long) -> ArgumentGrammar:
    """Let the strings of a grammar be longer."""
    definitions = {
        number: value._replace(strings=long[number].language) if number in long else value
        for number, value in grammar.definitions.items()
    }
    return replace(grammar, definitions=definitions)


def listed(found: Sequence[Way], long: Long, where: Container[int]) -> list[Any]:
    """List ways, with what is counted on which of some of them, and the tables of that."""
    each = [
        next((long[x] for x in way.ids if x in long), None) if at in where else None
        for at, way in enumerate(found)
    ]
    languages = list(dict.fromkeys(x.language for x in each if x is not None))
    relevant = leading([*found], (at for at, what in enumerate(each) if what is not None))

    def counted(at: int) -> list[int]:
        what = each[at]
        return [] if what is None else [languages.index(what.language), what.most]

    ways_ = [
        [way.leads.among(relevant).to_json(), counted(at)] if at in relevant else []
        for at, way in enumerate(found)
    ]
    return [ways_, [table(x, FURTHEST) for x in languages]]
