from typing import Any

import pytest

from enforcer.errors import (
    SchemaError,
)
from enforcer.schema import Limits, Root, compile_schema
from tests.schema_judge import accepts, compiled
from tests.support.cases import each_case
from tests.support.nested import nested
from tests.support.schema_cases import schema_test

test_schemas = schema_test(__file__)


@each_case
def test_no_comma_promises_a_property_that_cannot_be(names: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"b": {"type": "string"}}, **names}
    matcher = compiled(schema).matcher()
    assert all(map(matcher.accept, b'{"b":"x"'))
    assert not matcher.accept(ord(","))
    assert matcher.accept(ord("}"))
    assert matcher.is_accepting()


def test_many_optional_properties_keep_the_required_ones_exact() -> None:
    properties = {f"n{i}": {"type": "integer"} for i in range(300)}
    schema = {"properties": properties, "required": ["n299"], "additionalProperties": False}
    grammar = compiled(schema)
    assert accepts(grammar, '{"n7": 1, "n299": 2, "n250": 3}')
    assert not accepts(grammar, '{"n7": 1, "n250": 3}')
    assert not accepts(grammar, '{"n299": 1, "n300": 3}')


def test_an_absent_schema_means_any_object() -> None:
    grammar = compiled(None, root=Root.OBJECT)
    assert accepts(grammar, '{"x": [1]}')
    assert not accepts(grammar, "[1]")


def cyclic() -> dict[str, Any]:
    schema: dict[str, Any] = {}
    schema["not"] = schema
    return schema


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        nested(10_000, lambda inner: {"items": inner}, {}),
        cyclic(),
        {"minimum": 10**5000},
        {"enum": ["x"] * 30_000},
        {"allOf": [{"anyOf": [{"required": [f"{i}{j}"]} for j in range(6)]} for i in range(12)]},
        {"oneOf": [{"properties": {f"n{i}": {"type": "null"}}} for i in range(60)]},
        {"pattern": "(" * 5000},
        {"properties": {f"p{i}": {} for i in range(9_000)}},
    ],
    ids=["deep", "cyclic", "digits", "enum", "product", "one-of", "pattern", "properties"],
)
def test_monsters_are_refused_or_compiled_but_never_crash(schema: dict[str, Any]) -> None:
    try:
        compile_schema(schema)
    except SchemaError as error:
        assert error.problems  # noqa: PT017 - either outcome is right


def kinds(count: int) -> list[dict[str, Any]]:
    return [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{i}"}, f"x{i}": {"type": "integer"}},
            "required": ["kind", f"x{i}"],
            "additionalProperties": False,
        }
        for i in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("branches", [kinds(500), [{"const": f"v{i}"} for i in range(2_000)]])
def test_alternatives_that_one_look_tells_apart_may_be_many(branches: list[dict[str, Any]]) -> None:
    # The steps bound the work: comparing all pairs would be over their limit.
    compile_schema({"oneOf": branches}, limits=Limits(steps=100_000))


@pytest.mark.slow
def test_many_branches_that_require_a_name_each() -> None:
    branches = [
        {"type": "object", "properties": {name: {"$ref": "#"}}, "required": [name]}
        for name in (f"op{i}" for i in range(20))
    ]
    grammar = compiled({"oneOf": [{"type": "null"}, *branches]})
    assert accepts(grammar, '{"op1": {"op2": null}}')
    assert accepts(grammar, '{"op1": null, "op2": 5}')  # 5 fits no branch, so op2's does not hold
    assert not accepts(grammar, '{"op1": null, "op2": null}')
    assert not accepts(grammar, '{"op1": {"op2": 5}}')
