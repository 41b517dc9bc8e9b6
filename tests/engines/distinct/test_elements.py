"""Arrays of distinct elements of any kind: numbers, objects, arrays, and all of them mixed."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_judge import V, accepts, compiled, is_valid, walk
from vocabularies import bits

from enforcer.engines.distinct.tracks import Ways


def distinct(items, **more):
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def closed(properties, *required, **more):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


TEXT = {"type": "string"}
AB = {"enum": ["a", "b"]}
LEAF = {"$ref": "#/$defs/leaf"}
ELEMENTS = {
    "integers": {"type": "integer"},
    "digits and more": {"type": "integer", "minimum": -1},
    "numbers": {"type": "number"},
    "ports": {"type": "integer", "minimum": 0, "maximum": 99},
    "few numbers": {"type": "number", "minimum": 0, "maximum": 0, "multipleOf": 1, "title": "x"},
    "number or word": {"anyOf": [{"type": "integer"}, {"enum": [None, True, "x"]}]},
    "anything": {},
    "text or null": {"type": ["string", "null"]},
    "open": {"type": "object", "properties": {"a": AB}, "required": ["a"]},
    "open text": {"type": "object", "additionalProperties": TEXT},
    "closed": closed({"a": AB, "b": {"type": "boolean"}}),
    "closed text": closed({"a": TEXT, "b": AB}, "a"),
    "text last": closed({"k": AB, "v": {"type": "string", "pattern": "^[xy]?$"}}, "k", "v"),
    "counted": closed({x: {"type": "boolean"} for x in "abc"}, minProperties=1, maxProperties=2),
    "one of two": {"anyOf": [closed({"a": AB}, "a"), closed({"a": {"type": "integer"}}, "a")]},
    "overlapping": {"anyOf": [closed({"a": AB, "b": AB}, "a"), closed({"a": AB, "c": AB}, "a")]},
    "some": closed({"a": AB, "b": AB}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
    "arrays": {"type": "array", "items": TEXT},
    "short arrays": {"type": "array", "items": AB, "maxItems": 3},
    "pairs": {"type": "array", "prefixItems": [AB, AB], "items": False, "minItems": 1},
    "nested": distinct({"type": "integer"}, maxItems=2),
    "nested few": distinct(closed({"a": {"type": "boolean"}}), maxItems=2),
    "tags": closed({"tags": distinct({"type": "string", "pattern": "^[ab]{0,1}$"}), "k": AB}, "k"),
    "mixed": {"anyOf": [TEXT, closed({"name": TEXT, "b": AB}, "name")]},
    "patterns": {"type": "object", "patternProperties": {"^x": AB}, "additionalProperties": False},
}
SCHEMAS = {name: distinct(items) for name, items in ELEMENTS.items()}
SCHEMAS["below"] = closed({"p": distinct(closed({"n": TEXT, "q": distinct({})})), "q": {}})
SCHEMAS["sized"] = distinct({"type": "integer", "minimum": 0, "maximum": 70}, minItems=3, maxItems=5)
SCHEMAS["recursive"] = {
    "$defs": {"leaf": closed({"v": AB, "below": distinct(LEAF)})},
    **distinct(LEAF),
}


def check_fits(schema, seed):
    text = walk(compiled(schema), Random(seed))
    if text is not None:
        assert is_valid(schema, json.loads(text)), text


def check_masks(schema, seed):
    random, matcher = Random(seed), compiled(schema).matcher()
    row, again = np.zeros(V.words, np.int32), np.zeros(V.words, np.int32)
    for _ in range(random.randint(1, 30)):
        matcher.fill(row)
        legal = bits(row)
        taken = set()
        for token_id in range(V.size):
            if matcher.accept(token_id):
                taken.add(token_id)
                matcher.rollback(1)
        assert taken == legal
        matcher.fill(again)
        assert bits(again) == legal
        if not legal:
            break
        # Short elements, so that some come near to being repeated.
        ends = [i for i in legal if set(V.token_bytes(i)) & set(b'"},')]
        assert matcher.accept(random.choice(ends if ends and random.random() < 0.6 else [*legal]))


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@given(seed=st.integers(0, 10**9))
def test_whatever_is_generated_fits_and_no_beginning_is_a_dead_end(schema, seed):
    check_fits(schema, seed)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@given(seed=st.integers(0, 10**9))
def test_the_mask_is_what_is_accepted_and_going_back_changes_nothing(schema, seed):
    check_masks(schema, seed)
