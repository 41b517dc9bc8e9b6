"""Which strings of a grammar are counted where arguments are pairs, and by what.

A string that stands as it is may not hold what ends it. For an engine that follows derivatives this
is a second pattern beside a length, so here lengths alone are counted as well.

Owns: that choice, and the patterns of whole values with their stops. Must not know: how they are
followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.engines.lengths import long_strings
from enforcer.engines.lengths.automaton import joined
from enforcer.engines.pairs import can_follow
from enforcer.layouts import Trim, Types
from enforcer.layouts.declared import STRING, types_of_properties
from enforcer.layouts.pattern import ID
from enforcer.machine.spellable import Spellable
from enforcer.regex import ANY, both, either, inverse, is_surely_empty, literal
from enforcer.regex.caching import cached
from enforcer.regex.constructors import concat
from enforcer.regex.minimal_automaton import TooManyStates
from enforcer.schema.finishing.ways import ROOT, TooManyWays, ways

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.layouts import BoundLayout
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.finishing.ways import Way

_STATES = 2_000  # of the patterns together that tell line breaks around a value
_LINE = literal("\n")
_BEGUN, _ENDED = concat(_LINE, ANY), concat(ANY, _LINE)
# What line breaks a value has around it, and how many of its characters these are.
_AROUND = (
    (both(inverse(_BEGUN), inverse(_ENDED)), 0),
    (either(_LINE, both(_BEGUN, inverse(_ENDED))), 1),
    (both(inverse(_BEGUN), _ENDED), 1),
    (concat(_LINE, ANY, _LINE), 2),
)


def divide(grammar: ArgumentGrammar, layout: BoundLayout) -> tuple[ArgumentGrammar, list[Any]]:
    """Give a grammar whose strings may be longer, and what is to be counted as JSON's values.

    These are empty if nothing is: else what is counted within JSON, as `long_strings.listed` has
    it; the tables of strings that stand as they are; which of them, and how many characters, by
    the names of properties; and the same for all other properties. None is none.
    """
    long = long_strings.long_values(grammar, plain=True) if can_follow(layout) else {}
    if not long:
        return grammar, []
    try:
        found = ways(grammar.definitions, grammar.root, long_strings.WAYS)
    except TooManyWays:
        return grammar, []
    long_strings.drop_mixed(long, found)
    nested = _nested(found)
    long_strings.drop_untold(long, (found[at] for at in nested))
    places = _places(grammar, found[ROOT], layout)
    spellable = Spellable(long_strings.without_lengths(grammar, long), layout)
    raw = {}
    for name, at in places.items():
        most = next((long[x].most for x in found[at].ids if x in long), None)
        raw[name] = None if most is None else _table(spellable, name, found[at], most)
    for name, at in places.items():
        if raw[name] is None:
            long_strings.drop(long, found[at])
    if not long:
        return grammar, []
    tables: dict[int, Any] = {}
    counted: dict[str | None, list[int] | None] = {}
    for name, at in places.items():
        each = raw[name]
        is_counted = each is not None and any(number in long for number in found[at].ids)
        counted[name] = [_number(each[0], tables), each[1]] if each and is_counted else None
    others = counted.pop(None, None)
    inside = long_strings.listed(found, long, nested)
    return (
        long_strings.without_lengths(grammar, long),
        [*inside, [*tables.values()], counted, others],
    )


def _number(table: Any, tables: dict[int, Any]) -> int:
    """Give the number of a table among others, which it is put to; of one language it is one."""
    tables.setdefault(id(table), table)
    return [*tables].index(id(table))


def _nested(found: list[Way]) -> set[int]:
    """List the ways to what is written as JSON: all but those to properties alone."""
    root = found[ROOT].leads
    tops = {root.others, *root.names.values()}
    seen = dict.fromkeys(to for top in tops for to in found[top].leads.every)
    queue = [*seen]
    for at in queue:
        fresh = dict.fromkeys(to for to in found[at].leads.every if to not in seen)
        seen.update(fresh)
        queue.extend(fresh)
    return set(seen)


def _places(grammar: ArgumentGrammar, root: Way, layout: BoundLayout) -> dict[str | None, int]:
    """Give the way to each property by its name; None stands for those that have none."""
    found: dict[str | None, int] = dict(root.leads.names.items())
    if layout.layout.types is Types.DECLARED:
        # These are read by a type of their own, whatever else is said of them.
        for name in types_of_properties(grammar.schema):
            found.setdefault(name, root.leads.others)
    return {**found, None: root.leads.others}


def _table(
    spellable: Spellable, name: str | None, way: Way, most: int
) -> tuple[Sequence[Any], int] | None:
    """Give the pattern of the strings of a property as they stand, and how many characters it has.

    None if they cannot be followed.
    """
    layout = spellable.layout
    options = [each for number in sorted(way.ids) for each in spellable.options(name, number)]
    if spellable.typed:
        options = [each for each in options if each.type == STRING]
    elif any(each.hard or each.nested for each in options) or any(x.numbers for x in way.values):
        return None  # a long text may be something else
    texts = either(*(each.scalar for each in options if each.scalar is not None))
    stop = "" if layout.stop[0] >= ID else bytes(layout.stop).decode()
    found = _pattern(texts, stop, layout.layout.trim is Trim.NEWLINE)
    return None if found is None else (found[0], most + found[1])


@cached
def _pattern(texts: Regex, stop: str, trims: bool) -> tuple[Sequence[Any], int] | None:  # noqa: FBT001 - all are positional
    """Build the pattern of texts and their stop; and say how many characters more both may have."""
    parts = [
        (concat(both(texts, lines), literal(stop)), more)
        for lines, more in (_AROUND if trims else ((ANY, 0),))
    ]
    furthest = long_strings.FURTHEST + len(stop)
    found = [
        (long_strings.table(part, furthest), more)
        for part, more in parts
        if not is_surely_empty(part)
    ]
    tables = [(table, more) for table, more in found if table is not None]
    if len(tables) < len(found) or not tables:
        return None
    more = len(stop) + max(more for _, more in tables)
    if len(tables) == 1:
        return tables[0][0], more
    try:
        return tuple(joined(tables, _STATES)), more
    except TooManyStates:
        return None
