"""Where arrays of distinct elements are, told from the names and indices that lead there."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.regex import parse
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.schema.finishing.distinct import (
    NOWHERE,
    Mixed,
    Track,
    can_be_remembered,
    forgotten,
    is_remembered,
    tracks,
)
from enforcer.schema.nodes import ArrayShape, Formula, Value

TAGS = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}


def found(schema: dict[str, Any]) -> tuple[Track, ...]:
    grammar = compile_schema(schema)
    return tracks(grammar.definitions, grammar.root)


def test_without_such_an_array_there_are_no_tracks() -> None:
    assert found({"items": {"type": "string"}}) == ()
    assert found({**TAGS, "maxItems": 1}) == ()


@pytest.mark.parametrize(
    ("schema", "ways"),
    [
        (TAGS, []),
        ({"properties": {"a": TAGS, "b": {"type": "string"}}}, ["a"]),
        ({"additionalProperties": {"properties": {"a": TAGS}}}, ["anything", "a"]),
        ({"prefixItems": [True, TAGS]}, [1]),
        ({"items": {"items": TAGS}}, [5, 0]),
        ({"properties": {"a": {"anyOf": [{"type": "null"}, TAGS]}}}, ["a"]),
    ],
)
def test_the_way_to_an_array_is_followed_and_no_other(
    schema: dict[str, Any], ways: list[int | str]
) -> None:
    known = found({"type": ["array", "object"], **schema} if schema is not TAGS else schema)
    at = 1
    for step in ways:
        track = known[at]
        assert track.distinct is None
        if isinstance(step, int):
            at = track.prefix[step] if step < len(track.prefix) else track.rest
        else:
            at = dict(track.names).get(step, track.others)
        assert at != NOWHERE
    assert known[at].distinct is not None
    assert known[NOWHERE] == Track()
    assert sum(track.distinct is not None for track in known) == 1


def test_a_way_that_leads_to_both_kinds_of_array_is_refused_at_its_place() -> None:
    plain = {"type": "array", "items": {"type": "string"}, "minItems": 3}
    schema = {"properties": {"a": {"anyOf": [{**TAGS, "maxItems": 2}, plain]}}}
    with pytest.raises(UnsupportedSchema, match="in all alternatives, or in none") as caught:
        compile_schema(schema)
    assert caught.value.keyword == "uniqueItems"
    relaxed = compile_schema(schema, on_unsupported=OnUnsupported.RELAX)
    assert [problem.keyword for problem in relaxed.relaxed] == ["uniqueItems"]
    assert tracks(relaxed.definitions, relaxed.root) == ()


def test_what_is_forgotten_may_repeat_and_nothing_else_changes() -> None:
    kept, other = ArrayShape(rest=Formula(2), unique=True), ArrayShape(minimum=1, unique=True)
    strings = Value(strings=parse("^a*$"))
    both = Value(null=True, arrays=(kept, other))
    definitions = {Formula(2): strings, Formula(3): both}
    after = forgotten(definitions, [kept])
    assert after[Formula(2)] is strings
    assert after[Formula(3)].null
    assert [shape.unique for shape in after[Formula(3)].arrays] == [False, True]


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (Value(strings=parse("^a*$")), True),
        (Value(null=True, strings=parse("^a*$")), False),
        (Value(booleans=frozenset({True}), strings=parse("^a*$")), False),
        (Value(null=True), False),
    ],
)
def test_only_strings_can_be_remembered(value: Value, fits: bool) -> None:
    assert can_be_remembered(value) == fits


def test_two_languages_at_one_place_are_mixed() -> None:
    one, two = Formula(2), Formula(3)
    shapes = [ArrayShape(rest=one, unique=True), ArrayShape(rest=two, unique=True)]
    assert all(map(is_remembered, shapes))
    definitions = {
        one: Value(strings=parse("^a*$")),
        two: Value(strings=parse("^b*$")),
        Formula(4): Value(arrays=tuple(shapes)),
    }
    with pytest.raises(Mixed) as caught:
        tracks(definitions, Formula(4))
    assert caught.value.shapes == tuple(shapes)
