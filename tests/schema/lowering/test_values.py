"""What cannot be spelled or followed is refused by its place, or left out where that is wanted."""

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.machine.tables import tables_of
from enforcer.schema import compile_schema
from tests.support.schema_cases import schema_test

test_schemas = schema_test(__file__)


def test_shapes_that_settle_to_the_same_are_one() -> None:
    same = [{"required": ["a", "b"]}, {"required": ["b", "a"], "minProperties": 1}]
    grammar = compile_schema({"type": "object", "anyOf": same})
    assert len(grammar.definitions[grammar.root].objects) == 1


@pytest.mark.slow
def test_a_complement_that_grows_with_a_count_is_refused_by_its_place() -> None:
    hard = {"pattern": "a.{60}b.{60}c.{60}d"}
    schema = {"type": "object", "properties": {"s": {"type": "string", "not": hard}}}
    with pytest.raises(UnsupportedSchema, match="states") as caught:
        tables_of(compile_schema(schema), None)
    assert caught.value.path == "$.properties.s"
