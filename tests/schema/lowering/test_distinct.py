"""Which arrays are left to a memory."""

from typing import Any

import pytest

from enforcer.regex import parse
from enforcer.schema.grammar import Value
from enforcer.schema.lowering.distinct import is_text


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (Value(strings=parse("^a*$")), True),
        (Value(null=True, strings=parse("^a*$")), False),
        (Value(booleans=frozenset({True}), strings=parse("^a*$")), False),
        (Value(null=True), False),
    ],
)
def test_strings_alone_are_a_text(value: Any, fits: bool) -> None:
    assert is_text(value) == fits
