"""Objects of distinct names: what they count, what is legal in them, and what is refused."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import engines
from enforcer.engines.distinct.string_follower import START, StringFollower
from enforcer.engines.distinct.uniqueness import read, written
from enforcer.errors import UnsupportedSchema
from enforcer.regex import ANY
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.schema.finishing.tracks import Track, tracks
from tests.schema_judge import accepts, agree_along_a_walk, agrees, compiled, is_valid, walk
from tests.vocabularies import bits, cut
from tests.walks import examples

# Names in every spelling, with what may stand around them, in pieces of any length.
_TEXTS = (
    '{"a": 1, "a": 2, "ab": "x"}',
    '{"a":{"b":1,"a":2},"b":{"a":1}}',
    '[{"x1":true},{"x1":"a","x2":null}]',
    '{"\\u0061":1,"é":["a","b"],"n0":1,"n1":1}',
)
V = cut(_TEXTS)
ENGINE = engines.load("machine", V)

MANY = [f"n{i}" for i in range(70)]
SCHEMAS: list[dict[str, Any]] = [
    {"minProperties": 2},
    {"minProperties": 3, "maxProperties": 4, "properties": {"a": {"type": "integer"}}},
    {"not": {"additionalProperties": {"type": "string"}}},
    {"properties": {"a": {}}, "not": {"additionalProperties": {"type": "string"}}},
    {"patternProperties": {"^x": {"type": "boolean"}}, "minProperties": 3, "required": ["a"]},
    {"additionalProperties": {"minProperties": 2, "type": "object"}, "minProperties": 2},
    {"additionalProperties": {"type": "array", "items": {}, "uniqueItems": True}}
    | {"minProperties": 2},
    {"additionalProperties": {"items": {"type": "string"}, "type": "array", "uniqueItems": True}}
    | {"minProperties": 2},
    {"oneOf": [{"additionalProperties": {"type": "string"}}, {"minProperties": 3}]},
    {"required": MANY, "additionalProperties": {"type": "integer"}},
    {"properties": {name: {"enum": [1]} for name in MANY}, "required": MANY[:66]}
    | {"additionalProperties": False},
]


def _is_kept(schema: dict[str, Any]) -> bool:
    grammar = compile_schema(schema)
    return any(x.unrepeated is not None for x in tracks(grammar.definitions, grammar.root))


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@given(seed=st.integers(0, 10**9))
def test_whatever_is_generated_fits_and_no_beginning_is_a_dead_end(
    schema: dict[str, Any], seed: int
) -> None:
    schema = {"type": "object", **schema}
    assert _is_kept(schema)
    text = walk(compiled(schema), Random(seed))
    if text is not None:
        assert is_valid(schema, json.loads(text)), text


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@examples(20)
@given(seed=st.integers(0, 10**9))
def test_the_mask_is_what_is_accepted_and_going_back_changes_nothing(
    schema: dict[str, Any], seed: int
) -> None:
    matcher = ENGINE.compile(compile_schema({"type": "object", **schema})).matcher()
    agree_along_a_walk(matcher, V, Random(seed), lambda data: len(data) > 1 and b'"' in data)


_NAMES = st.sampled_from(["a", "b", "ab", "x", "x1", "é", ""])
_VALUES = st.sampled_from([1, "s", True, None, [], {}])
_COUNTED: list[dict[str, Any]] = [
    {"minProperties": 2},
    {"minProperties": 3},
    {"minProperties": 4},
    {"not": {"additionalProperties": {"type": "string"}}},
    {"not": {"patternProperties": {"^x": {"type": "integer"}}}},
    {"not": {"properties": {"a": {}}, "additionalProperties": {"type": "boolean"}}},
]
_SCHEMA = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(
            _NAMES, st.sampled_from([{}, {"type": "integer"}, False]), max_size=3
        ),
        "patternProperties": st.dictionaries(
            st.sampled_from(["^x", "a", "^[ab]+$", "^x[0-9]$"]),
            st.sampled_from([{}, {"type": "string"}, {"type": ["integer", "string"]}]),
            max_size=2,
        ),
        "additionalProperties": st.sampled_from([{"type": ["integer", "string"]}, {}, False]),
        "required": st.lists(_NAMES, max_size=2, unique=True),
        "maxProperties": st.integers(4, 5),
    },
)


@given(
    schema=st.builds(dict.__or__, _SCHEMA, st.sampled_from(_COUNTED)),
    instances=st.lists(st.dictionaries(_NAMES, _VALUES), min_size=6),
)
def test_what_is_accepted_is_what_is_valid(
    schema: dict[str, Any], instances: list[dict[str, Any]]
) -> None:
    agrees(schema, instances)


@given(seed=st.integers(0, 10**9))
def test_a_name_is_the_same_however_it_is_spelled(seed: int) -> None:
    grammar = compiled({"type": "object", "minProperties": 2})
    for text, fits in [
        ('{"a": 1, "b": 2}', True),
        ('{"a": 1, "\\u0062": 2}', True),
        ('{"a": 1, "\\u0061": 2}', False),
        ('{"a": 1, "b": 2, "a": 3}', False),
        ('{"é": 1, "\\u00e9": 2, "b": 3}', False),
        # The same name may stand in another object, as a value, or within one.
        ('{"a": {"a": 1, "b": {"a": 1}}, "b": "a"}', True),
        ('{"a": {"a": 1, "a": 2}, "b": "a"}', False),
        ('{"a": [{"b": 1}, "b"], "b": 1}', True),
        ('{"a": [{"b": 1}], "a": 1}', False),
    ]:
        assert accepts(grammar, text, Random(seed)) == fits, text


@pytest.mark.slow
@pytest.mark.parametrize("others", [False, {"enum": [1]}])
@given(random=st.randoms(use_true_random=False))
def test_more_required_names_than_bits(others: Any, random: Random) -> None:
    properties = {name: {"enum": [1]} for name in [*MANY, "extra"]}
    grammar = compiled(
        {"type": "object", "properties": properties, "required": MANY}
        | {"additionalProperties": others}
    )
    order = [*MANY, "extra"] if random.random() < 0.5 else list(MANY)
    if others and random.random() < 0.5:
        order.append("other")
    random.shuffle(order)
    assert accepts(grammar, json.dumps(dict.fromkeys(order, 1)), random)
    missing = random.choice(MANY)
    less = [name for name in order if name != missing]
    assert not accepts(grammar, json.dumps(dict.fromkeys(less, 1)), random)
    twice = json.dumps(dict.fromkeys(less, 1))[:-1] + f', "{less[0]}": 1}}'
    assert not accepts(grammar, twice, random)


def test_when_every_name_is_written_no_comma_follows() -> None:
    schema = {"type": "object", "properties": {name: {"enum": [1]} for name in MANY}}
    grammar = compiled(schema | {"required": MANY, "additionalProperties": False})
    text = json.dumps(dict.fromkeys(MANY, 1)).encode()
    matcher = grammar.matcher()
    assert all(map(matcher.accept, text[:-1]))
    assert not matcher.accept(ord(","))
    row = np.zeros(12, np.int32)
    matcher.fill(row)
    assert ord(",") not in bits(row)
    assert matcher.accept(ord("}"))
    assert matcher.is_accepting()
    # "n6" and "n60" to "n69" begin alike: of those that are left, some may still come.
    left = {name: 1 for name in MANY if name != "n6"}
    matcher = grammar.matcher()
    assert all(map(matcher.accept, json.dumps(left).encode()[:-1] + b',"n6'))
    assert not matcher.accept(ord("0"))
    assert matcher.accept(ord('"'))


@pytest.mark.parametrize(
    ("schema", "path", "keyword"),
    [
        # Its names can run out, and whether they may depends on another part.
        (
            {
                "anyOf": [
                    {"properties": {"k": {"const": 1}}, "minProperties": 3},
                    {"patternProperties": {"^[a-z]{1,3}$": {}}, "additionalProperties": False}
                    | {"properties": {"k": {"const": 2}}, "required": ["k"]},
                ]
            },
            "$.anyOf[0].minProperties",
            "minProperties",
        ),
        (
            {"anyOf": [{"required": MANY}, {"required": ["other"], "maxProperties": 3}]},
            "$.anyOf[0].required",
            "required",
        ),
        # Objects that become one have more names together than bits, so that some could repeat.
        (
            {
                "anyOf": [
                    {"properties": {"k": {"const": 1}}, "minProperties": 3}
                    | {"additionalProperties": {"type": "string"}, "required": ["k"]},
                    *(
                        {
                            "properties": {name: {"enum": [1]} for name in [*MANY[:30], *own]},
                            "additionalProperties": False,
                        }
                        for own in ([f"a{i}" for i in range(25)], [f"b{i}" for i in range(25)])
                    ),
                ]
            },
            "$.anyOf[0].minProperties",
            "minProperties",
        ),
        ({"minProperties": 40}, "$.minProperties", "minProperties"),
        (
            {"propertyNames": {"maxLength": 2}, "minProperties": 3},
            "$.minProperties",
            "minProperties",
        ),
        (
            {"propertyNames": {"maxLength": 2}, "not": {"additionalProperties": {"const": 1}}},
            "$.not",
            "not",
        ),
    ],
)
def test_what_could_come_to_a_dead_end_is_refused(
    schema: dict[str, Any], path: str, keyword: str
) -> None:
    schema = {"type": "object", **schema}
    with pytest.raises(UnsupportedSchema) as caught:
        compiled(schema)
    assert (caught.value.path, caught.value.keyword) == (path, keyword)
    relaxed = compile_schema(schema, on_unsupported=OnUnsupported.RELAX)
    assert keyword in [problem.keyword for problem in relaxed.relaxed]
    assert tracks(relaxed.definitions, relaxed.root) == ()
    assert ENGINE.compile(relaxed).matcher().accept(ord("{"))


def test_ways_come_back_as_they_were() -> None:
    grammar = compile_schema({"type": "object", **SCHEMAS[-1]})
    ways = read(json.loads(json.dumps(written(grammar))))
    assert ways.tracks == tracks(grammar.definitions, grammar.root)
    assert ways.has_names
    assert ways.languages == {}


def test_a_place_is_followed_through_strings_that_look_like_names() -> None:
    follower = StringFollower((Track(), Track(unrepeated=ANY)), {})
    place = follower.read(START, b'{"a":"b","b":["c"],"')
    assert place is not None
    assert place.remembers
    assert follower.read(place, b'c":') is not None
    assert follower.read(place, b'b":') is None
