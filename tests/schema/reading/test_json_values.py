"""Any Python object in, a schema or an error of ours out."""

from typing import Any

import pytest

from enforcer.errors import InvalidSchema, SchemaError, SchemaLimit
from enforcer.schema import Limits, compile_schema
from enforcer.schema.reading.json_values import check_json
from tests.schema_judge import compiled
from tests.support.nested import nested
from tests.support.schema_cases import schema_test


def cyclic_list() -> dict[str, Any]:
    listed: list[Any] = []
    listed.append(listed)
    return {"allOf": listed}


@pytest.mark.parametrize(
    ("schema", "error", "path"),
    [
        ({"const": float("nan")}, InvalidSchema, "$.const"),
        ({"minimum": float("inf")}, InvalidSchema, "$.minimum"),
        ({"enum": [b"bytes"]}, InvalidSchema, "$.enum[0]"),
        ({"properties": {1: {}}}, InvalidSchema, "$.properties"),
        ({"const": "\ud800"}, InvalidSchema, "$.const"),
        ({"required": ["\udfff"]}, InvalidSchema, "$.required[0]"),
        ({"enum": [(1, 2)]}, InvalidSchema, "$.enum[0]"),
        ({"default": object()}, InvalidSchema, "$.default"),
        ({"enum": [{1, 2}]}, InvalidSchema, "$.enum[0]"),
        ({"maximum": 10**5000}, SchemaLimit, "$.maximum"),
    ],
)
def test_what_json_cannot_carry(schema: Any, error: Any, path: Any) -> None:
    with pytest.raises(error) as caught:
        compile_schema(schema)
    assert caught.value.path == path


def test_a_lone_surrogate_in_a_name() -> None:
    with pytest.raises(InvalidSchema, match="surrogate"):
        compile_schema({"properties": {"\ud83d": {}}})


@pytest.mark.parametrize("schema", ["text", 5, [], [{}], b"{}", object(), 1.5])
def test_what_is_neither_object_nor_boolean(schema: Any) -> None:
    with pytest.raises(InvalidSchema):
        compile_schema(schema)


@pytest.mark.parametrize("key", ["items", "not", "additionalProperties"])
def test_ten_thousand_levels(key: str) -> None:
    schema = nested(10_000, lambda inner: {key: inner}, {})
    with pytest.raises(SchemaLimit, match="deeper"):
        compile_schema(schema)
    with pytest.raises(SchemaLimit, match="deep"):
        compile_schema(schema, limits=Limits(depth=100_000))


def test_cycles_of_python_objects() -> None:
    circle: dict[str, Any] = {}
    circle["items"] = circle
    for schema in (circle, cyclic_list()):
        with pytest.raises(SchemaLimit):
            compile_schema(schema)


test_schemas = schema_test(__file__)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", ["^(([a-z]{1000}){1000}){1000}$", "(" * 5_000, "a" * 100_000, "(?=.*a)" * 200]
)
def test_costly_patterns_are_refused_or_compiled(pattern: str) -> None:
    try:
        compiled({"pattern": pattern})
    except SchemaError as error:
        assert error.problems  # noqa: PT017 - either outcome is right


@pytest.mark.slow
def test_at_least_moonshots_own_limits_fit() -> None:
    compile_schema({"properties": {f"p{i}": {"type": "string"} for i in range(3_000)}})
    compile_schema(nested(30, lambda inner: {"items": inner}, {}))
    compile_schema({"enum": [f"value {i}" for i in range(1_000)]})
    compile_schema({"anyOf": [{"properties": {f"k{i}": {"const": i}}} for i in range(500)]})
    compile_schema({"description": "x" * 120_000})


def test_identifiers_are_noticed() -> None:
    assert check_json({"items": {"$anchor": "x"}}, Limits())
    assert not check_json({"items": {}}, Limits())
