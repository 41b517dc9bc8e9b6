"""The values that elements are made of, as JSON that another process reads.

Owns: writing and reading values of a finished grammar, and the automata of what they have without
quotes. Must not know: what is asked of them (`shapes`), texts, ids, engines.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from enforcer.numbers.sets import NumberSet
from enforcer.regex import Regex, minimal_automaton
from enforcer.regex.serialization import from_json, to_json
from enforcer.schema.finishing.distinct import bare_states
from enforcer.schema.grammar import ArrayShape, ElementChoice, ObjectShape, Value, ValueId

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What values of elements are made of, beside what JSON has, languages, numbers, sets and tuples;
# and what two of a kind are equal by.
_KINDS = (NumberSet, ArrayShape, ObjectShape, ElementChoice)
_FIELDS: dict[type, tuple[str, ...]] = {
    Value: Value._fields,
    **{kind: tuple(each.name for each in fields(kind) if each.compare) for kind in _KINDS},
}
_BY_NAME = {kind.__name__: kind for kind in _FIELDS}


def written(definitions: Mapping[ValueId, Value], numbers: Iterable[ValueId]) -> list[Any]:
    """Write some values, what of them elements need, and each of their automata once."""
    tables: list[Any] = []
    values = []
    for number in numbers:
        value = definitions[number]
        table = bare_states(value)
        if table not in tables:
            tables.append(table)
        values.append([number, tables.index(table), _written(value)])
    return [values, tables]


def read(found: list[Any]) -> tuple[dict[ValueId, Value], dict[ValueId, Regex]]:
    """Read what `written` has given: the values, and what is written of each without quotes."""
    values, tables = found
    bare = [minimal_automaton.read(table) for table in tables]
    return (
        {ValueId(number): _read(value) for number, _, value in values},
        {ValueId(number): bare[table] for number, table, _ in values},
    )


def _written(part: Any) -> Any:
    """Write a value, or what it is made of; lists begin with what they are, tuples with nothing."""
    if part is None or isinstance(part, str | int):
        return part
    names = _FIELDS.get(type(part))
    if names is not None:
        return [type(part).__name__, *(_written(getattr(part, name)) for name in names)]
    if isinstance(part, Regex):
        return ["regex", to_json(part)]
    if isinstance(part, Fraction):
        return ["number", str(part)]
    if isinstance(part, frozenset):
        return ["set", *sorted(map(_written, part), key=str)]
    return ["", *map(_written, part)]


def _read(found: Any) -> Any:
    if not isinstance(found, list):
        return found
    kind, *parts = found
    if kind == "regex":
        return from_json(parts[0])
    if kind == "number":
        return Fraction(parts[0])
    inner = map(_read, parts)
    if kind == "set":
        return frozenset(inner)
    return _BY_NAME[kind](*inner) if kind else tuple(inner)
