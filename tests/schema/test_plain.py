from __future__ import annotations

import gzip
import json

import pytest
import vocabularies
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared

from enforcer import Enforcer, UnsupportedSchema, engines
from enforcer.engines import ENGINES
from enforcer.schema import Root, compile_schema
from enforcer.schema.plain import is_plain_object


def _is_plain(schema):
    return is_plain_object(schema, len(json.dumps(schema)))


@pytest.fixture(scope="module")
def engine():
    return engines.load("llguidance", vocabularies.small())


def _compiles(engine, schema):
    engine.compile(compile_schema(schema, root=Root.OBJECT)).matcher()


WORDS = st.text(max_size=8) | st.sampled_from(
    ["type", "city", "größe", "", "\ud800", "a\nb", "$ref"]
)
KEYS = st.sampled_from(
    [
        *("type", "enum", "items", "properties", "required", "additionalProperties", "const"),
        *("title", "default", "not", "$ref", "minimum", "format"),
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS


def _schemas(inner):
    names = st.dictionaries(WORDS, inner, max_size=4)
    return (
        st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": names,
                "required": st.lists(WORDS, max_size=3),
                "additionalProperties": st.booleans() | inner,
                "description": WORDS,
                "default": st.lists(SCALARS, max_size=2) | SCALARS,
            },
        ).map(_declare)
        | st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner})
        | st.dictionaries(KEYS, SCALARS | st.lists(WORDS, max_size=3) | inner, max_size=3)
    )


def _declare(schema):
    """Make most required names declared ones."""
    if len(schema.get("properties", ())) % 2:
        schema["required"] = list(schema["properties"])
    return schema


LEAVES = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean", "null", "any"])},
    optional={"enum": st.lists(WORDS, max_size=4), "title": WORDS},
)


@given(st.recursive(LEAVES, _schemas, max_leaves=12))
def test_what_is_plain_compiles(engine, schema):
    if _is_plain(schema):
        _compiles(engine, schema)


def test_the_largest_plain_schema_compiles(engine):
    names = {
        f"{'n' * 90}{i}": {"type": "string", "enum": ["x" * 20 + str(j) for j in range(6)]}
        for i in range(48)
    }
    schema = {"type": "object", "properties": names, "required": list(names)}
    assert _is_plain(schema)
    _compiles(engine, schema)
    deep = {"type": "object"}
    for _ in range(7):
        deep = {"type": "object", "properties": {"a": deep, "b": {"type": "array"}}}
    assert _is_plain(deep)
    _compiles(engine, deep)
    assert not _is_plain({"type": "object", "properties": {"a": deep}})


def test_most_declared_tools_are_plain_and_those_compile(engine):
    with gzip.open(shared("cases", "tools.jsonl.gz"), "rt", encoding="utf-8") as lines:
        tools = [json.loads(line)["function"].get("parameters", {}) for line in lines]
    plain = [schema for schema in tools if _is_plain(schema)]
    assert len(plain) > 0.8 * len(tools)
    for schema in plain[::5]:
        _compiles(engine, schema)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"type": "array"},
        {"type": ["object"]},
        {"type": "object", "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "integer", "enum": [1]}}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": []}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "["}}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"\ud800": {"type": "null"}}},
        {"type": "object", "default": {"deep": {}}},
        {"type": "object", "description": "x" * 30_000},
        {"type": "object", "properties": {f"n{i}": {"type": "null"} for i in range(60)}},
    ],
)
def test_what_needs_a_second_look_is_not_plain(schema):
    assert not _is_plain(schema)


@pytest.mark.parametrize("name", ENGINES)
def test_only_engines_that_hold_every_plain_schema_skip_the_check(name):
    pytest.importorskip(name.replace("-", "_"))
    many = {f"n{i}": {"type": "boolean"} for i in range(40)}
    tools = [
        {
            "type": "function",
            "function": {"name": "a", "parameters": {"type": "object", "properties": many}},
        }
    ]
    e = Enforcer(vocabularies.small(), engine=name)
    if e.engine.holds_plain:
        e.matcher(tools)
    else:
        with pytest.raises(UnsupportedSchema):
            e.matcher(tools)
