"""What cannot be spelled or followed is refused by its place, or left out where that is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.machine.tables import tables_of
from enforcer.schema import OnUnsupported, compile_schema
from tests.schema_judge import accepts, compiled

FAR = 10**20 + 39  # no automaton has so many remainders


@pytest.mark.parametrize("option", OnUnsupported)
def test_a_divisor_that_cannot_be_written(option: OnUnsupported) -> None:
    schema = {"properties": {"n": {"type": "integer", "multipleOf": FAR}}, "type": "object"}
    if option is OnUnsupported.REFUSE:
        with pytest.raises(UnsupportedSchema) as caught:
            compiled(schema)
        (problem,) = caught.value.problems
        assert (problem.path, problem.keyword) == ("$.properties.n.multipleOf", "multipleOf")
        return
    (left_out,) = compile_schema(schema, on_unsupported=option).relaxed
    assert left_out.path == "$.properties.n.multipleOf"
    grammar = compiled(schema, on_unsupported=option)
    # That it is an integer still holds.
    assert accepts(grammar, '{"n": 7}')
    assert not accepts(grammar, '{"n": 7.5}')


def test_a_negated_divisor_that_cannot_be_written_leaves_the_others() -> None:
    far = {"type": "number", "not": {"anyOf": [{"multipleOf": FAR}, {"multipleOf": 1}]}}
    with pytest.raises(UnsupportedSchema) as caught:
        compiled(far)
    assert caught.value.path == "$.not.anyOf[0].multipleOf"
    assert accepts(compiled({"type": "number", "not": {"multipleOf": 1}}), "7.5")
    alone = {"type": "number", "not": {"multipleOf": FAR}}
    grammar = compiled(alone, on_unsupported=OnUnsupported.RELAX)
    assert accepts(grammar, "7.5")
    assert accepts(grammar, "7")
    assert not accepts(grammar, '"7"')


def test_shapes_that_settle_to_the_same_are_one() -> None:
    same = [{"required": ["a", "b"]}, {"required": ["b", "a"], "minProperties": 1}]
    grammar = compile_schema({"type": "object", "anyOf": same})
    assert len(grammar.definitions[grammar.root].objects) == 1


def test_complements_of_patterns_are_followed_as_automata() -> None:
    grammar = compiled({"type": "string", "not": {"pattern": "^(ab)*$"}, "maxLength": 5})
    assert accepts(grammar, '"aba"')
    assert not accepts(grammar, '"abab"')
    names = {"patternProperties": {"^(ab)*$": False}, "type": "object"}
    assert accepts(compiled(names), '{"aba": 1}')
    assert not accepts(compiled(names), '{"abab": 1}')


def test_a_complement_that_grows_with_a_count_is_refused_by_its_place() -> None:
    hard = {"pattern": "a.{60}b.{60}c.{60}d"}
    schema = {"type": "object", "properties": {"s": {"type": "string", "not": hard}}}
    with pytest.raises(UnsupportedSchema, match="states") as caught:
        tables_of(compile_schema(schema), None)
    assert caught.value.path == "$.properties.s"


@pytest.mark.parametrize(
    ("bounds", "keyword"),
    [
        ({"minimum": 1e305}, "minimum"),
        ({"exclusiveMinimum": 1e305}, "exclusiveMinimum"),
        ({"maximum": -1e305}, "maximum"),
        ({"exclusiveMinimum": 0, "maximum": 1e-305}, "maximum"),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 1 + 2**-52}, "exclusiveMinimum"),
        ({"not": {"type": "integer"}, "minimum": 1e15}, "minimum"),
    ],
)
def test_bounds_that_no_number_in_writing_is_within_are_refused(
    bounds: dict[str, Any], keyword: str
) -> None:
    number = {"type": "number", **bounds}
    for schema, path in (
        ({"type": "array", "items": number, "minItems": 1}, "$.items"),
        ({"properties": {"n": {"type": ["string", "number"], **bounds}}}, "$.properties.n"),
    ):
        with pytest.raises(UnsupportedSchema, match="can be written") as caught:
            compile_schema(schema)
        assert (caught.value.path, caught.value.keyword) == (path, keyword)
    (left_out,) = compile_schema(number, on_unsupported=OnUnsupported.RELAX).relaxed
    assert left_out.keyword == keyword
    assert accepts(compiled(number, on_unsupported=OnUnsupported.RELAX), "-7.5")


def test_of_alternatives_those_that_are_written_are_left() -> None:
    grammar = compiled({"oneOf": [{"minimum": 1e301}, {"maximum": 3}], "type": "number"})
    assert accepts(grammar, "3")
    assert not accepts(grammar, "4")
    assert not accepts(grammar, "8e300")
