import gzip
import json
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from enforcer import Enforcer, UnsupportedSchema, engines
from enforcer.engines import ENGINES, MACHINE, ArgumentEngine
from enforcer.regex.formats import FORMATS as KNOWN
from enforcer.schema import Root, compile_schema
from enforcer.schema.reading import plain
from enforcer.schema.reading.plain import _DEPTH, is_plain, is_quick
from tests import vocabularies
from tests.shared_data import shared
from tests.support.cases import each_case
from tests.support.nested import nested
from tests.support.tools import tool


def _is_plain(schema: dict[str, Any]) -> bool:
    return is_plain(json.dumps(schema))


@pytest.fixture(scope="module")
def engine() -> ArgumentEngine:
    return engines.load("machine", vocabularies.small())


def _compiles(engine: ArgumentEngine, schema: dict[str, Any]) -> None:
    engine.compile(compile_schema(schema, root=Root.OBJECT)).matcher()


@pytest.mark.parametrize(("length", "is_plain"), [(199, True), (200, True), (201, False)])
def test_a_long_text_among_values_is_not_plain(length: int, is_plain: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["b", "x" * length]}}}
    assert _is_plain(schema) is is_plain


FORMATS = [*sorted(KNOWN), "regex", "of-ours"]
WORDS = st.text(max_size=8) | st.sampled_from(
    ["type", "city", "größe", "", "\ud800", "a\nb", "$ref"]
)
KEYS = st.sampled_from(
    [
        *("type", "enum", "items", "properties", "required", "additionalProperties", "const"),
        *("title", "default", "not", "$ref", "minimum", "format", "anyOf", "maxItems"),
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "any"])
BOUNDS = st.integers(-3, 5) | st.sampled_from([0.5, True, None, 10**12, 10**30, 64, 10_000])
LEAVES = (
    st.fixed_dictionaries(
        {"type": KINDS | st.lists(KINDS, max_size=2)},
        optional={"enum": st.lists(SCALARS, max_size=4), "title": WORDS},
    )
    | st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "number", ["null", "number"]])},
        optional=dict.fromkeys(("minimum", "maximum", "minLength", "maxLength"), BOUNDS),
    )
    | st.fixed_dictionaries({"type": st.just("string"), "format": st.sampled_from(FORMATS)})
    | st.fixed_dictionaries({"$ref": st.sampled_from(["#/$defs/a", "#/$defs/b", "#", 3])})
    | st.fixed_dictionaries({"enum": st.lists(SCALARS, max_size=3)})
    | st.fixed_dictionaries({"const": SCALARS})
    | st.sampled_from([{}, True])
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
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
        | st.fixed_dictionaries(
            {"type": st.just("array")},
            optional={"items": inner, "minItems": BOUNDS, "maxItems": BOUNDS},
        )
        | st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)})
        | st.dictionaries(KEYS, SCALARS | st.lists(WORDS, max_size=3) | inner, max_size=3)
    )


def _declare(schema: dict[str, Any]) -> dict[str, Any]:
    """Make most required names declared ones."""
    if len(schema.get("properties", ())) % 2:
        schema["required"] = list(schema["properties"])
    return schema


def _documents(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(WORDS, schemas, min_size=1, max_size=3),
        },
        optional={
            "$defs": st.fixed_dictionaries({"a": schemas, "b": schemas}) | SCALARS,
            "$schema": st.sampled_from([*plain._DIALECTS, "", 3, []]),
        },
    )


@pytest.mark.slow
@settings(max_examples=2000)
@given(_documents(st.recursive(LEAVES, _schemas, max_leaves=8)))
def test_what_is_plain_compiles(engine: ArgumentEngine, schema: dict[str, Any]) -> None:
    event("plain" if _is_plain(schema) else "not plain")
    if _is_plain(schema):
        _compiles(engine, schema)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_lone_surrogate_is_not_plain_but_a_pair_is(ascii_only: bool) -> None:
    for text, expected in (("\ud800", False), ("\udc00x", False), ("\U0001f600", True)):
        schema = {"type": "object", "properties": {"": {"type": "object", "description": text}}}
        assert is_plain(json.dumps(schema, ensure_ascii=ascii_only)) is expected


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_that_is_plain_compiles(engine: ArgumentEngine, name: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": name}}}
    if _is_plain(schema):
        _compiles(engine, schema)
    else:
        assert name == "regex"


def test_a_small_schema_of_many_turns_is_read_once(calls_of: Callable[..., list[Any]]) -> None:
    looked = calls_of(plain, "cost_of", lambda _: 1)
    short, large = '{"type": "object", "title": "once"}', " " * 3_000 + "{}"
    assert all(plain.is_plain(schema) for schema in (short, short, large, large))
    assert looked == [(short,), (large,), (large,)]


def test_what_pydantic_writes_is_plain() -> None:
    from pydantic import BaseModel, Field

    class Inner(BaseModel):
        kind: Literal["a", "b"]
        score: int | None = Field(default=None, ge=0, le=10)

    class Arguments(BaseModel):
        """Of a tool."""

        query: str = Field(min_length=1, max_length=200)
        inner: Inner | None = None
        tags: list[str] = Field(default_factory=list, max_length=5)
        labels: dict[str, Inner] = {}
        when: str = Field(json_schema_extra={"format": "date"})
        exact: Literal[True] = True

    assert _is_plain(Arguments.model_json_schema())


def test_the_largest_plain_schema_compiles(engine: ArgumentEngine) -> None:
    names = {
        f"{'n' * 90}{i}": {"type": "string", "enum": ["x" * 20 + str(j) for j in range(6)]}
        for i in range(48)
    }
    schema = {"type": "object", "properties": names, "required": list(names)}
    assert _is_plain(schema)
    _compiles(engine, schema)
    for leaf in (
        {"type": "string", "maxLength": 10_000},
        {"type": "array", "items": {"type": "string", "format": "idn-email"}, "maxItems": 64},
        {"type": "integer", "enum": [i * 10**9 for i in range(16)]},
    ):
        schema = {"type": "object", "properties": dict.fromkeys(names, leaf)}
        assert _is_plain(schema), leaf
        _compiles(engine, schema)
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(7):
        deep = {"type": "object", "properties": {"a": deep, "b": {"type": "array"}}}
    assert _is_plain(deep)
    _compiles(engine, deep)
    assert not _is_plain({"type": "object", "properties": {"a": deep}})


def _bounded(kind: str, count: int) -> dict[str, Any]:
    """Give an object of numbers whose bounds all differ, so that no automaton serves two."""
    numbers = {
        f"n{i}": {"type": kind, "minimum": -987654321987 + 7 * i, "maximum": 123456789123 - 3 * i}
        for i in range(count)
    }
    return {"type": "object", "properties": numbers}


def _listed(count: int) -> dict[str, Any]:
    """Give an object of listed integers of which no two are alike."""
    listed = {
        f"n{i}": {"enum": [37 * i + 10**9 * j - 5 * 10**11 for j in range(64)]}
        for i in range(count)
    }
    return {"type": "object", "properties": listed}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "more"),
    [
        (_bounded("integer", 29), _bounded("integer", 30)),
        (_bounded("number", 29), _bounded("number", 30)),
        (_listed(16), _listed(17)),
    ],
)
def test_a_plain_schema_of_what_takes_long_compiles(
    engine: ArgumentEngine, schema: dict[str, Any], more: dict[str, Any]
) -> None:
    """Such schemas were taken unseen, and failed in the middle of a turn."""
    assert _is_plain(schema)
    assert not _is_plain(more)
    assert not is_quick(json.dumps(schema))
    _compiles(engine, schema)


@pytest.mark.slow
def test_most_declared_tools_are_plain_and_those_compile(engine: ArgumentEngine) -> None:
    with gzip.open(shared("cases", "tools.jsonl.gz"), "rt", encoding="utf-8") as lines:
        tools = [json.loads(line)["function"].get("parameters", {}) for line in lines]
    those = [schema for schema in tools if _is_plain(schema)]
    assert len(those) > 0.95 * len(tools)
    for schema in those[::5]:
        _compiles(engine, schema)


@each_case
def test_what_needs_a_second_look_is_not_plain(schema: Any) -> None:
    assert not _is_plain(schema)


def test_what_is_large_or_deep_needs_one_too() -> None:
    wraps: list[Callable[[Any], dict[str, Any]]] = [
        lambda inner: {"type": "array", "items": inner},
        lambda inner: {"type": "object", "properties": {"a": inner}},
        lambda inner: {"type": "object", "additionalProperties": inner},
        lambda inner: {"anyOf": [inner, {"type": "null"}]},
    ]
    many = {f"n{i}": {"type": "null"} for i in range(60)}
    for properties in (many, *({"a": nested(_DEPTH, wrap, {"type": "string"})} for wrap in wraps)):
        assert not _is_plain({"type": "object", "properties": properties}), properties
    assert not _is_plain({"type": "object", "description": "x" * 30_000})


@pytest.mark.parametrize("name", ENGINES)
def test_only_engines_that_hold_every_plain_schema_skip_the_check(name: str) -> None:
    pytest.importorskip(name.replace("-", "_"))
    many = {f"n{i}": {"type": "boolean"} for i in range(40)}
    tools = [tool("a", {"type": "object", "properties": many})]
    e = Enforcer(vocabularies.small(), engine=name)
    if name == MACHINE:
        e.matcher(tools)
    else:
        with pytest.raises(UnsupportedSchema):
            e.matcher(tools)


@each_case
def test_an_annotation_is_plain_if_all_of_it_is_flat(value: Any, flat: bool) -> None:
    for keyword in ("default", "examples"):
        leaf = {"type": "string", keyword: value}
        assert _is_plain({"type": "object", "properties": {"a": leaf}}) is flat
