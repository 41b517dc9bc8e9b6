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
from enforcer.schema.finishing.ways import NOWHERE, TooManyWays, leading, ways

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ValueId

_WAYS = 2_000
_LEAST = 64  # characters of a greatest length: counts below come again soon enough
_STATES = 400
# Characters from an end: which of all ids lead to one in time is looked at where so many are left.
_FURTHEST = 8


class LongString(NamedTuple):
    """A language of strings in two parts.

    Attributes:
        language: it without its greatest length.
        most: that, in characters.

    """

    language: Regex
    most: int


def divided(strings: Regex) -> LongString | None:
    """Take a language apart; None if it has no greatest length beside something to follow."""
    if isinstance(strings, Repeat):
        if strings.part == Chars(ALL) or not _is_long(strings):
            return None  # the engine knows at once what any characters may be
        return LongString(repeat(strings.part, strings.minimum, None), strings.maximum or 0)
    if not isinstance(strings, Intersection):
        return None
    counted = next((p for p in strings.parts if isinstance(p, Repeat) and _is_long(p)), None)
    if counted is None:
        return None
    others = (part for part in strings.parts if part is not counted)
    without = both(*others, repeat(counted.part, counted.minimum, None))
    return None if without == ANY else LongString(without, counted.maximum or 0)


def _is_long(part: Repeat) -> bool:
    return (
        isinstance(part.part, Chars)
        and part.maximum is not None
        and part.maximum >= max(_LEAST, part.minimum)
    )


@cached
def _table(language: Regex) -> tuple[Any, ...] | None:
    try:
        rows = built(language, _STATES)
    except TooManyStates:
        return None
    return tuple(rows) if max(Automaton(rows).furthest) <= _FURTHEST else None


def divide(grammar: ArgumentGrammar) -> tuple[ArgumentGrammar, list[Any]]:
    """Give a grammar whose strings may be longer, and what is to be counted as JSON's values.

    These are empty if nothing is: else the ways, what is counted on which of them, and tables.
    """
    long: dict[ValueId, LongString] = {}
    for number, value in grammar.definitions.items():
        found = None if value.strings is None else divided(value.strings)
        if found is not None:
            long[number] = found
    if not long:
        return grammar, []
    try:
        found_ways = ways(grammar.definitions, grammar.root, _WAYS)
    except TooManyWays:
        return grammar, []
    for way in found_ways:
        if len({value.strings for value in way.values} - {None}) > 1:
            for number in way.ids:
                long.pop(number, None)
    tables = {each.language: _table(each.language) for each in long.values()}
    long = {number: each for number, each in long.items() if tables[each.language] is not None}
    if not long:
        return grammar, []
    definitions = {
        number: value._replace(strings=long[number].language) if number in long else value
        for number, value in grammar.definitions.items()
    }
    languages = list(dict.fromkeys(each.language for each in long.values()))
    counted = [
        next(([languages.index(long[x].language), long[x].most] for x in way.ids if x in long), [])
        for way in found_ways
    ]
    relevant = leading(found_ways, (at for at, what in enumerate(counted) if what))

    def number_of(way: int) -> int:
        return way if way in relevant else NOWHERE

    listed = [
        [
            [number_of(to) for to in way.prefix],
            number_of(way.rest),
            {name: number_of(to) for name, to in way.names},
            number_of(way.others),
            counted[at],
        ]
        if at in relevant
        else []
        for at, way in enumerate(found_ways)
    ]
    return replace(grammar, definitions=definitions), [listed, [tables[x] for x in languages]]
