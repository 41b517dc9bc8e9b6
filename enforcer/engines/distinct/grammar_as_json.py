"""The values that elements are made of, as JSON that another process reads.

Owns: writing and reading values of a finished grammar, and the automata of what they have without
quotes. Must not know: what is asked of them (`shapes`), texts, ids, engines.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from enforcer.numbers.sets import NumberSet
from enforcer.regex import minimal_automaton
from enforcer.regex.serialization import from_json, to_json
from enforcer.schema.finishing.distinct import bare_states
from enforcer.schema.grammar import (
    NEVER,
    ArrayShape,
    ElementChoice,
    ObjectShape,
    Value,
    ValueId,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from enforcer.regex import Regex


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


def _written(value: Value) -> list[Any]:
    return [
        value.null,
        sorted(value.booleans),
        [
            [
                _text(x.low),
                x.low_open,
                _text(x.high),
                x.high_open,
                _text(x.multiple),
                sorted(map(str, x.not_multiples)),
                x.plain,
            ]
            for x in value.numbers
        ],
        None if value.strings is None else to_json(value.strings),
        [
            [
                x.prefix,
                x.rest,
                x.minimum,
                x.maximum,
                x.unique,
                [[[choice.value, choice.distinct] for choice in slot] for slot in x.choices],
            ]
            for x in value.arrays
        ],
        [
            [
                x.names,
                [[to_json(names), child] for names, child in x.classes if child != NEVER],
                sorted(x.required),
                sorted(map(sorted, x.some)),
                x.minimum,
                x.maximum,
            ]
            for x in value.objects
        ],
    ]


def _read(found: list[Any]) -> Value:
    null, booleans, numbers, strings, arrays, objects = found
    return Value(
        null=null,
        booleans=frozenset(booleans),
        numbers=tuple(
            NumberSet(
                _fraction(low),
                low_open,
                _fraction(high),
                high_open,
                _fraction(multiple),
                frozenset(map(Fraction, not_multiples)),
                plain,
            )
            for low, low_open, high, high_open, multiple, not_multiples, plain in numbers
        ),
        strings=None if strings is None else from_json(strings),
        arrays=tuple(
            ArrayShape(
                prefix=tuple(prefix),
                rest=rest,
                minimum=minimum,
                maximum=maximum,
                unique=unique,
                choices=tuple(
                    tuple(ElementChoice(value, distinct=bit) for value, bit in slot)
                    for slot in choices
                ),
            )
            for prefix, rest, minimum, maximum, unique, choices in arrays
        ),
        objects=tuple(
            ObjectShape(
                names=tuple((name, child) for name, child in names),
                classes=tuple((from_json(regex), child) for regex, child in classes),
                required=frozenset(required),
                some=frozenset(map(frozenset, some)),
                minimum=minimum,
                maximum=maximum,
            )
            for names, classes, required, some, minimum, maximum in objects
        ),
    )


def _text(number: Fraction | None) -> str | None:
    return None if number is None else str(number)


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
