"""Acceptance equals validity, by `jsonschema`, whatever the schema and the spelling.

`HYPOTHESIS_PROFILE=thorough` multiplies the examples; for a long run set
`ENFORCER_EXAMPLES`.
"""

from __future__ import annotations

import json
import os
import random
from functools import cache

import numpy as np
import pytest
from drawn_schemas import instances, schemas
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from enforcer.engines import load
from enforcer.errors import EnforcerError, SchemaError
from enforcer.schema import OnUnsupported, Root, compile_schema

EXAMPLES = int(os.environ.get("ENFORCER_EXAMPLES", "2000"))
many = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
some = settings(many, max_examples=max(EXAMPLES // 10, 10))


@pytest.fixture(scope="module")
def engine(vocabulary):
    return load("llguidance", vocabulary)


def compiled(engine, schema, **options):
    try:
        return engine.compile(compile_schema(schema, **options))
    except SchemaError:
        return None


@cache
def escaped(character):
    return "".join(f"\\u{unit:04X}" for unit in np.frombuffer(character.encode("utf-16-le"), "<u2"))


def spellings(value, chance):
    def shuffled(each):
        if isinstance(each, dict):
            names = list(each)
            chance.shuffle(names)
            return {name: shuffled(each[name]) for name in names}
        return [shuffled(x) for x in each] if isinstance(each, list) else each

    yield json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    yield json.dumps(shuffled(value))
    yield json.dumps(shuffled(value), indent=chance.choice([2, 4, "\t"]), ensure_ascii=False)
    plain = json.dumps(shuffled(value), ensure_ascii=False)
    yield (
        plain.replace("a", escaped("a")) if "true" not in plain and "false" not in plain else plain
    )


def accepts(grammar, vocabulary, text):
    matcher = grammar.matcher()
    return all(map(matcher.accept, vocabulary.encode(text))) and matcher.is_accepting()


@many
@given(schema=schemas, value=instances, seed=st.integers(0, 2**16))
def test_accepts_exactly_what_is_valid(engine, vocabulary, schema, value, seed):
    grammar = compiled(engine, schema)
    assume(grammar is not None)
    valid = Draft202012Validator(schema).is_valid(value)
    for text in spellings(value, random.Random(seed)):
        if "null" in text and escaped("a") in text:
            continue
        assert accepts(grammar, vocabulary, text) == valid, text


@some
@given(schema=schemas, seed=st.integers(0, 2**16))
def test_what_is_sampled_from_the_masks_is_valid(engine, vocabulary, schema, seed):
    grammar = compiled(engine, schema)
    assume(grammar is not None)
    chance, matcher = random.Random(seed), grammar.matcher()
    row, text = np.zeros(vocabulary.words, np.int32), b""
    for _ in range(60):
        matcher.fill(row)
        bits = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        assert bits.size or matcher.is_accepting(), f"dead end after {text!r}"
        if matcher.is_accepting() and (not bits.size or chance.random() < 0.5):
            break
        chosen = int(chance.choice(bits))
        assert matcher.accept(chosen)
        text += vocabulary.token_bytes(chosen)
    else:
        return
    value = json.loads(text)
    assert Draft202012Validator(schema).is_valid(value), text


@some
@given(schema=schemas, value=instances)
def test_relaxing_accepts_all_that_is_valid(engine, vocabulary, schema, value):
    grammar = compiled(engine, schema, on_unsupported=OnUnsupported.RELAX)
    assume(grammar is not None)
    if Draft202012Validator(schema).is_valid(value):
        assert accepts(grammar, vocabulary, json.dumps(value))


@some
@given(schema=schemas, value=instances)
def test_an_object_at_the_root_is_an_object(engine, vocabulary, schema, value):
    grammar = compiled(engine, schema, root=Root.OBJECT)
    assume(grammar is not None)
    if not isinstance(value, dict):
        assert not accepts(grammar, vocabulary, json.dumps(value))


anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.just("\ud800"),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from(
                    [
                        "type",
                        "properties",
                        "items",
                        "$ref",
                        "enum",
                        "not",
                        "oneOf",
                        "pattern",
                        "$id",
                        "required",
                        "minimum",
                        "multipleOf",
                        "if",
                        "dependentSchemas",
                        "format",
                        "patternProperties",
                        "$dynamicRef",
                        "unevaluatedProperties",
                        "contains",
                        "maxItems",
                        "$schema",
                        "const",
                        "allOf",
                        "prefixItems",
                        "propertyNames",
                    ]
                ),
                st.text(max_size=3),
                st.integers(),
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=10,
)


@many
@given(schema=anything)
def test_garbage_raises_only_our_errors(engine, schema):
    try:
        engine.check(compile_schema(schema))
    except EnforcerError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
