"""Draws schemas and instances from a small world, so that they often meet.

Owns: the strategies. Must not know: the compiler.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "ab", "é")
_PATTERNS = ("^a", "b$", "^[ab]+$", "é|b")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([0.5, -1.5, 2.0, 2.5, 1e20, 3.33, 0.01]),
    st.sampled_from(["", "a", "b", "ab", "é", 'q"\\', "😀", "abc"]),
)
instances = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from((*NAMES, "z")), inner, max_size=4),
    ),
    max_leaves=8,
)


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    names = st.sampled_from(NAMES)
    optional = {
        "properties": st.dictionaries(names, inner, max_size=3),
        "required": st.lists(names, max_size=2, unique=True),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(_PATTERNS), inner, max_size=2),
        "propertyNames": st.sampled_from(
            [{"maxLength": 1}, {"pattern": "^a"}, {"enum": ["a", "b"]}]
        ),
        "maxProperties": st.integers(0, 3),
        "minProperties": st.integers(0, 2),
        "dependentRequired": st.dictionaries(names, st.lists(names, max_size=1), max_size=1),
        "dependentSchemas": st.dictionaries(names, inner, max_size=1),
        "unevaluatedProperties": inner,
    }
    return draw(_some(optional))


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    optional = {
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 3),
        "contains": inner,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "unevaluatedItems": inner,
    }
    return draw(_some(optional))


_numbers = {
    "minimum": st.sampled_from([-2, 0, 0.5, 2]),
    "maximum": st.sampled_from([1, 2.5, 10]),
    "exclusiveMinimum": st.sampled_from([-1, 0, 1.5]),
    "exclusiveMaximum": st.sampled_from([0, 2, 7.5]),
    "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
}
_strings = {
    "minLength": st.integers(0, 2),
    "maxLength": st.integers(0, 3),
    "pattern": st.sampled_from((*_PATTERNS, "^.$")),
}
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def _some(optional: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    chosen = st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True)
    return chosen.flatmap(lambda keys: st.fixed_dictionaries({k: optional[k] for k in keys}))


def _combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        _objects(inner),
        _objects(inner).map(lambda schema: {"type": "object", **schema}),
        _arrays(inner),
        _arrays(inner).map(lambda schema: {"type": "array", **schema}),
        branches.map(lambda x: {"anyOf": x}),
        branches.map(lambda x: {"oneOf": x}),
        branches.map(lambda x: {"allOf": x}),
        inner.map(lambda x: {"not": x}),
        st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
        st.tuples(_objects(inner), branches).map(lambda x: {**x[0], "anyOf": x[1]}),
        st.tuples(_objects(inner), branches).map(lambda x: {**x[0], "oneOf": x[1]}),
        st.just({"$ref": "#"}).map(lambda ref: {"properties": {"a": ref}, "items": ref}),
    )


schemas = st.recursive(
    st.one_of(
        st.booleans(),
        st.just({}),
        st.sampled_from(_TYPES).map(lambda x: {"type": x}),
        st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True).map(
            lambda x: {"type": x}
        ),
        st.lists(scalars, min_size=1, max_size=3).map(lambda x: {"enum": x}),
        instances.map(lambda x: {"const": x}),
        _some(_numbers),
        _some(_strings),
    ),
    _combined,
    max_leaves=6,
)
