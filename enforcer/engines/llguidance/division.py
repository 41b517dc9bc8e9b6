"""Multiples of large numbers, by llguidance's own arithmetic.

Owns: writing them as a JSON Schema for llguidance. Must not know: which sets of numbers need it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from enforcer.numbers.division import divided

if TYPE_CHECKING:
    from enforcer.numbers.division import Multiples
    from enforcer.numbers.sets import NumberSet


def division(numbers: NumberSet) -> str:
    """Write multiples as a rule that takes plain decimals.

    Raises:
        UnsupportedSchema: neither the divisor nor the bounds are such that this is exact.

    """
    # llguidance knows no negative multiples, so those are a sign and their opposite.
    signs = {False: "", True: '"-" '}
    return " | ".join(f"{signs[x.negative]}%json {_as_schema(x)}" for x in divided(numbers))


def _as_schema(numbers: Multiples) -> str:
    return json.dumps(
        {
            "type": "integer" if numbers.whole else "number",
            "exclusiveMinimum" if numbers.low_open else "minimum": numbers.low,
            "exclusiveMaximum" if numbers.high_open else "maximum": numbers.high,
            "multipleOf": numbers.multiple,
            "x-guidance": {"whitespace_flexible": False},
        }
    )
