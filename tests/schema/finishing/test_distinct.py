"""Which arrays are left to a memory."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.regex import parse
from enforcer.schema.finishing.distinct import forgotten, is_text
from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId


def test_what_is_forgotten_may_repeat_and_nothing_else_changes() -> None:
    two, three = ValueId(2), ValueId(3)
    kept, other = ArrayShape((), two, unique=True), ArrayShape((), two, minimum=1, unique=True)
    strings = Value(strings=parse("^a*$"))
    both = Value(null=True, arrays=(kept, other))
    definitions = {two: strings, three: both}
    after = forgotten(definitions, [kept])
    assert after[two] is strings
    assert after[three].null
    assert [shape.unique for shape in after[three].arrays] == [False, True]


def test_of_two_objects_one_is_forgotten() -> None:
    two = ValueId(2)
    names = (("a", two), ("b", two))
    kept, other = (ObjectShape(names, (), minimum=least, distinct_names=True) for least in (2, 3))
    value = Value(objects=(kept, other))
    (after,) = forgotten({two: value}, [kept]).values()
    assert [shape.distinct_names for shape in after.objects] == [False, True]
    assert [shape.minimum for shape in after.objects] == [1, 3]


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
