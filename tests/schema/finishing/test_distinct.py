"""Which arrays are left to a memory, and of what elements they cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.regex import parse
from enforcer.schema import compile_schema
from enforcer.schema.finishing.distinct import forgotten, is_text, reached
from enforcer.schema.grammar import NEVER, ArrayShape, ObjectShape, Value, ValueId


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


def test_what_elements_reach_is_listed_once_also_where_it_goes_round() -> None:
    node = {"properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}
    schema = {"$defs": {"node": {"type": "object", **node, "additionalProperties": False}}}
    grammar = compile_schema({**schema, "$ref": "#/$defs/node"})
    assert reached(grammar.definitions, grammar.root)[0] == grammar.root
    assert len(set(reached(grammar.definitions, grammar.root)) - {NEVER}) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ({"contains": {"const": 1}}, "hold arrays with `contains`"),
        ({"patternProperties": {"^x{1,9}$": {}}, "additionalProperties": False}, "names"),
        ({"type": "object", "maxProperties": 2}, "`maxProperties`"),
        ({"anyOf": [{"properties": {"k": {"const": i}, f"p{i}": {"type": "string"}},
                     "required": ["k"], "type": "object"} for i in range(30)]}, "side by side"),
        ({"type": "integer", "multipleOf": 997, "minimum": 0, "maximum": 10**6}, "cannot be told"),
        ({"properties": {f"p{i}": {"type": "number", "minimum": i + 0.1} for i in range(30)}},
         "more kinds of numbers"),
    ],
)  # fmt: skip
def test_elements_whose_ends_cannot_be_listed_are_refused(items: Any, reason: str) -> None:
    with pytest.raises(UnsupportedSchema, match=reason) as caught:
        compile_schema({"type": "array", "items": items, "uniqueItems": True})
    assert caught.value.path == "$.uniqueItems"
