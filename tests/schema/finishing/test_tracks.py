"""Where arrays of distinct elements are, told from the names and indices that lead there."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.regex import parse
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.schema.finishing.distinct import Mixed, is_remembered
from enforcer.schema.finishing.tracks import Track, tracks
from enforcer.schema.finishing.ways import NOWHERE
from enforcer.schema.grammar import ArrayShape, Value, ValueId

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
        assert track.element is None
        at = track.leads.at(step) if isinstance(step, int) else track.leads.under(step)
        assert at != NOWHERE
    assert known[at].element is not None
    assert known[NOWHERE] == Track()
    assert sum(track.element is not None for track in known) == 1


def test_a_way_that_leads_to_both_kinds_of_array_is_refused_at_its_place() -> None:
    plain = {"type": "array", "items": {"type": "string"}, "minItems": 3}
    schema = {"properties": {"a": {"anyOf": [{**TAGS, "maxItems": 2}, plain]}}}
    with pytest.raises(UnsupportedSchema, match="in all alternatives, or in none") as caught:
        compile_schema(schema)
    assert caught.value.keyword == "uniqueItems"
    relaxed = compile_schema(schema, on_unsupported=OnUnsupported.RELAX)
    assert [problem.keyword for problem in relaxed.relaxed] == ["uniqueItems"]
    assert tracks(relaxed.definitions, relaxed.root) == ()


@pytest.mark.slow
def test_too_many_kinds_of_numbers_cost_no_array_of_strings_its_distinctness() -> None:
    bounds = {f"p{i}": {"type": "number", "minimum": i + 0.1} for i in range(30)}
    rows = {"type": "array", "items": {"properties": bounds}, "uniqueItems": True}
    schema = {"properties": {"tags": TAGS, "rows": rows}}
    with pytest.raises(UnsupportedSchema, match="more kinds of numbers") as caught:
        compile_schema(schema)
    assert [problem.path for problem in caught.value.problems] == ["$.properties.rows.uniqueItems"]
    relaxed = compile_schema(schema, on_unsupported=OnUnsupported.RELAX)
    assert [problem.path for problem in relaxed.relaxed] == ["$.properties.rows.uniqueItems"]
    assert tracks(relaxed.definitions, relaxed.root)


def test_two_languages_at_one_place_are_mixed() -> None:
    one, two, whole = (ValueId(n) for n in (2, 3, 4))
    shapes = [ArrayShape((), one, unique=True), ArrayShape((), two, unique=True)]
    assert all(map(is_remembered, shapes))
    definitions = {
        one: Value(strings=parse("^a*$")),
        two: Value(strings=parse("^b*$")),
        whole: Value(arrays=tuple(shapes)),
    }
    with pytest.raises(Mixed) as caught:
        tracks(definitions, whole)
    assert caught.value.shapes == tuple(shapes)
