from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from enforcer.engines import load
from enforcer.errors import (
    InvalidSchema,
    SchemaError,
    SchemaLimit,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from enforcer.schema import Limits, OnUnsupported, Root, compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def accepts(vocabulary: Vocabulary) -> Callable[..., bool]:
    engine = load("machine", vocabulary)

    def run(schema: Any, text: str, **options: Any) -> bool:
        matcher = engine.compile(compile_schema(schema, **options)).matcher()
        return all(map(matcher.accept, vocabulary.encode(text))) and matcher.is_accepting()

    return run


CITY = {"properties": {"city": {"type": "string"}}, "required": ["city"], "type": "object"}
APART = {
    "prefixItems": [{"type": "string"}, {"enum": ["a", "b", 1]}, {"enum": ["a", "b"]}],
    "items": False,
    "uniqueItems": True,
}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (CITY, '{"\\u0063ity": "x"}', True),
        (CITY, '{"\\u0063ity": 1}', False),
        (CITY, '{"city": "x", "\\u0063ity": "y"}', False),
        (CITY, '{"city": "x", "city": "y"}', False),
        (CITY, '{\n\t"city": "x"\n}', True),
        (CITY, '{  "city": "x"}', False),
        ({"enum": [100, -2.5]}, "1e2", True),
        ({"enum": [100, -2.5]}, "100.0", True),
        ({"enum": [100, -2.5]}, "-2.50", True),
        ({"enum": [0]}, "-0", True),
        ({"type": "integer"}, "1.5e1", True),
        ({"type": "integer"}, "1.5e0", False),
        ({"type": "integer", "$schema": "http://json-schema.org/draft-04/schema#"}, "1.0", False),
        ({"exclusiveMaximum": 1}, "0.99999999999999999999", False),
        ({"exclusiveMinimum": 0}, "1e-400", False),
        ({"multipleOf": 0.01}, "4.35", True),
        (APART, '["a", "b"]', True),
        (APART, '["a", "a"]', False),
        (APART, '["a", 1, "b"]', True),
        (APART, '["b", 1, "b"]', False),
        (APART, "[]", True),
        ({"maxProperties": 0}, "{}", True),
        ({"maxProperties": 0}, '{"a": 1}', False),
        ({"required": ["a"], "maxProperties": 1}, '{"a": 1}', True),
        ({"required": ["a"], "maxProperties": 1}, '{"a": 1, "b": 1}', False),
        ({"multipleOf": 0.01}, "4.355", False),
        ({"const": {"a": [1, {"b": None}]}}, '{"a": [1.0, {"b": null}]}', True),
        ({"minProperties": 1}, "{}", False),
        ({"minProperties": 2, "required": ["a"]}, '{"a": 1, "a": 2}', False),
        ({"minProperties": 2, "required": ["a"]}, '{"a": 1, "q": 2}', True),
        ({"maxProperties": 1}, '{"q": 1, "r": 2}', False),
        ({"uniqueItems": True, "items": {"enum": ["a", "b"]}}, '["a", "\\u0061"]', False),
        ({"not": {"required": ["a"]}}, '{"\\u0061": 1}', False),
        ({"items": [{"type": "null"}], "additionalItems": False}, "[null, null]", False),
    ],
)
def test_spellings_and_values(
    accepts: Callable[..., bool], schema: dict[str, Any], text: str, expected: bool
) -> None:
    assert accepts(schema, text) is expected


@pytest.mark.parametrize(
    "names",
    [
        {"propertyNames": {"enum": ["b"]}},
        {"propertyNames": {"pattern": "^[ab]$"}, "not": {"required": ["a"]}},
        {"patternProperties": {"^b$": {}}, "additionalProperties": False},
    ],
)
def test_no_comma_promises_a_property_that_cannot_be(
    vocabulary: Vocabulary, names: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"b": {"type": "string"}}, **names}
    matcher = load("machine", vocabulary).compile(compile_schema(schema)).matcher()
    assert all(map(matcher.accept, b'{"b":"x"'))
    assert not matcher.accept(ord(","))
    assert matcher.accept(ord("}"))
    assert matcher.is_accepting()


def test_many_optional_properties_keep_the_required_ones_exact(
    accepts: Callable[..., bool],
) -> None:
    properties = {f"n{i}": {"type": "integer"} for i in range(300)}
    schema = {"properties": properties, "required": ["n299"], "additionalProperties": False}
    assert accepts(schema, '{"n7": 1, "n299": 2, "n250": 3}')
    assert not accepts(schema, '{"n7": 1, "n250": 3}')
    assert not accepts(schema, '{"n299": 1, "n300": 3}')


@pytest.mark.parametrize(
    ("schema", "error", "path"),
    [
        ({"type": "strin"}, InvalidSchema, "$.type"),
        (
            {"properties": {"a b": {"minLength": -1}}},
            InvalidSchema,
            '$.properties["a b"].minLength',
        ),
        ({"type": "string", "minItems": -1}, InvalidSchema, "$.minItems"),
        ({"type": ["null", "array"], "multipleOf": 0}, InvalidSchema, "$.multipleOf"),
        ({"items": {"multipleOf": 10007}}, UnsupportedSchema, "$.items.multipleOf"),
        (
            {"items": {"uniqueItems": True, "contains": {"const": 1}}},
            UnsupportedSchema,
            "$.items.uniqueItems",
        ),
        ({"$ref": "https://example.com/x"}, UnsupportedSchema, "$.$ref"),
        ({"$ref": "#/$defs/none"}, InvalidSchema, "$.$ref"),
        ({"$schema": "https://example.com/d"}, UnsupportedSchema, "$.$schema"),
        ({"pattern": "(a)\\1"}, UnsupportedSchema, "$.pattern"),
        (
            {"minProperties": 30, "propertyNames": {"maxLength": 5}},
            UnsupportedSchema,
            "$.minProperties",
        ),
        (False, UnsatisfiableSchema, "$"),
        (
            {"required": ["a"], "properties": {"a": False}, "type": "object"},
            UnsatisfiableSchema,
            "$.properties.a",
        ),
        ({"$ref": "#"}, UnsupportedSchema, "$"),
        (
            {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
            UnsatisfiableSchema,
            "$",
        ),
    ],
)
def test_refusals_name_the_path(
    schema: Any, error: type[InvalidSchema | UnsatisfiableSchema | UnsupportedSchema], path: str
) -> None:
    with pytest.raises(error) as caught:
        compile_schema(schema)
    assert caught.value.path == path


def test_every_offender_is_listed() -> None:
    schema = {
        "properties": {"a": {"pattern": "(x)\\1"}, "b": {"items": {"pattern": "(?<n>y)\\k<n>"}}}
    }
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema)
    assert [x.path for x in caught.value.problems] == [
        "$.properties.a.pattern",
        "$.properties.b.items.pattern",
    ]


def test_relaxing_leaves_a_divisor_out_and_nothing_else(accepts: Callable[..., bool]) -> None:
    schema = {"type": "integer", "minimum": 5, "multipleOf": 10007}
    relax: dict[str, Any] = {"on_unsupported": OnUnsupported.RELAX}
    assert [x.path for x in compile_schema(schema, **relax).relaxed] == ["$.multipleOf"]
    texts = ("7", "7.5", "3", "10007")
    assert [accepts(schema, text, **relax) for text in texts] == [True, False, False, True]


def test_relaxing_reports_what_it_leaves_out(accepts: Callable[..., bool]) -> None:
    schema = {
        "items": {"type": "number"},
        "uniqueItems": True,
        "contains": {"const": 1},
        "type": "array",
    }
    grammar = compile_schema(schema, on_unsupported=OnUnsupported.RELAX)
    assert [x.keyword for x in grammar.relaxed] == ["uniqueItems"]
    relax: dict[str, Any] = {"on_unsupported": OnUnsupported.RELAX}
    assert accepts(schema, "[1, 1]", **relax)
    assert not accepts(schema, '["a"]', **relax)


@pytest.mark.parametrize("schema", [None, {}, True])
def test_an_absent_schema_means_any_object(accepts: Callable[..., bool], schema: Any) -> None:
    assert accepts(schema, '{"x": [1]}', root=Root.OBJECT)
    assert not accepts(schema, "[1]", root=Root.OBJECT)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def cyclic() -> dict[str, Any]:
    schema: dict[str, Any] = {}
    schema["not"] = schema
    return schema


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        nested(10_000),
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


def test_limits_are_the_callers() -> None:
    with pytest.raises(SchemaLimit):
        compile_schema({"enum": [1, 2, 3]}, limits=Limits(enum=2))
    with pytest.raises(SchemaLimit):
        compile_schema({"items": {"items": {}}}, limits=Limits(depth=1))


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


@pytest.mark.parametrize("branches", [kinds(500), [{"const": f"v{i}"} for i in range(2_000)]])
def test_alternatives_that_one_look_tells_apart_may_be_many(branches: list[dict[str, Any]]) -> None:
    # The steps bound the work: comparing all pairs would be over their limit.
    compile_schema({"oneOf": branches}, limits=Limits(steps=100_000))


@pytest.mark.slow
def test_many_branches_that_require_a_name_each(accepts: Callable[[Any, str], bool]) -> None:
    branches = [
        {"type": "object", "properties": {name: {"$ref": "#"}}, "required": [name]}
        for name in (f"op{i}" for i in range(20))
    ]
    schema = {"oneOf": [{"type": "null"}, *branches]}
    assert accepts(schema, '{"op1": {"op2": null}}')
    assert accepts(schema, '{"op1": null, "op2": 5}')  # 5 fits no branch, so op2's does not hold
    assert not accepts(schema, '{"op1": null, "op2": null}')
    assert not accepts(schema, '{"op1": {"op2": 5}}')


def test_a_name_that_can_never_be_is_no_way_to_fulfil_a_clause(
    accepts: Callable[..., bool],
) -> None:
    endless = {"properties": {"next": {"$ref": "#/$defs/N"}}, "required": ["next"]}
    schema = {
        "$defs": {"N": {"type": "object", **endless}},
        "type": "object",
        "properties": {"a": {"type": "integer"}, "loop": {"$ref": "#/$defs/N"}},
        "anyOf": [{"required": ["a"]}, {"required": ["loop"]}],
    }
    assert accepts(schema, '{"a": 1}')
    assert not accepts(schema, "{}")
