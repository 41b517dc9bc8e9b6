"""Multiples of large numbers, by llguidance's own arithmetic.

Owns: which sets of numbers can be written at all, and writing those that have no terminal
of ours as a JSON Schema for llguidance. Must not know: other types, how values combine.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.schema.multiple_text import NotSpellableError
from enforcer.schema.number_text import spelling
from enforcer.schema.numbers import NumberSet, meet

REASON = (
    "this divisor can be enforced neither negated, nor within such bounds, nor with so many "
    "digits; list the values in an `enum`"
)
_GREATEST_DIVISOR = 1_000  # the lexer has a state for each remainder
_GREATEST_MULTIPLE = 10**15  # keeps the digits bounded, and doubles exact


def can_be_written(numbers: NumberSet) -> bool:
    """Tell whether a set of numbers has a terminal, or llguidance a rule for it."""
    try:
        spelling(numbers, shared=True)
    except NotSpellableError:
        try:
            divided(numbers)
        except UnsupportedSchema:
            return False
    return True


def divided(numbers: NumberSet) -> str:
    """Write multiples as a rule that takes plain decimals.

    Raises:
        UnsupportedSchema: neither the divisor nor the bounds are such that this is exact.

    """
    multiple = numbers.multiple
    if (
        multiple is None
        or numbers.not_multiples
        or max(multiple.numerator, multiple.denominator) > _GREATEST_DIVISOR
    ):
        _refuse()
    parts = []
    # llguidance knows no negative multiples, so those are a sign and their opposite.
    mirrored = replace(
        numbers,
        low=None if numbers.high is None else -numbers.high,
        low_open=numbers.high_open,
        high=None if numbers.low is None else -numbers.low,
        high_open=numbers.low_open,
    )
    for sign, half in (("", numbers), ('"-" ', mirrored)):
        positive = meet(half, NumberSet(low=Fraction(0), high=Fraction(_GREATEST_MULTIPLE)))
        if positive is not None:
            parts.append(f"{sign}%json {json.dumps(_as_schema(positive))}")
    return " | ".join(parts) if parts else _refuse()


def _as_schema(numbers: NumberSet) -> dict[str, Any]:
    whole = numbers.multiple is not None and numbers.multiple.denominator == 1
    schema = {
        "type": "integer" if whole else "number",
        "exclusiveMinimum" if numbers.low_open else "minimum": _json_number(numbers.low),
        "exclusiveMaximum" if numbers.high_open else "maximum": _json_number(numbers.high),
        "multipleOf": _json_number(numbers.multiple),
        "x-guidance": {"whitespace_flexible": False},
    }
    return schema if None not in schema.values() else _refuse()


def _refuse() -> NoReturn:
    raise UnsupportedSchema((Problem("$", "multipleOf", REASON),))


def _json_number(value: Fraction | None) -> float | None:
    """Return a number that JSON spells with this very value; None if there is none."""
    if value is None:
        return None
    if value.denominator == 1 and abs(value) < _GREATEST_MULTIPLE * 10:
        return int(value)
    double = float(value)
    return double if Fraction(repr(double)) == value and "e" not in repr(double) else None
