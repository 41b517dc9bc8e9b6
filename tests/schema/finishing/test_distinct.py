"""Where arrays of distinct elements are, told from the names and indices that lead there."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.regex import both, inverse, literal, parse
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.schema.finishing.distinct import (
    NOWHERE,
    Mixed,
    Track,
    forgotten,
    is_endless,
    is_remembered,
    is_text,
    reached,
    tracks,
)
from enforcer.schema.nodes import NEVER, ArrayShape, Formula, Value

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
        if isinstance(step, int):
            at = track.prefix[step] if step < len(track.prefix) else track.rest
        else:
            at = dict(track.names).get(step, track.others)
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
def test_strings_alone_are_a_text(value: Any, fits: bool) -> None:
    assert is_text(value) == fits


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


@pytest.mark.parametrize(
    ("pattern", "endless"),
    [("^a*$", True), ("^[ab]{0,9}$", False), ("^a|b.*$", True), ("^x$", False), ("^(ab)+$", True)],
)
def test_a_language_is_endless_if_some_text_in_it_can_go_round(pattern: str, endless: bool) -> None:
    language = parse(pattern)
    assert is_endless(language) == endless
    without = both(language, inverse(literal("ab")))
    assert is_endless(without) == endless
    assert not is_endless(both(language, parse("^.{0,4}$")))
    assert not is_endless(both(parse("^a*$"), inverse(parse("^aaa"))))  # of no known length


def test_what_elements_reach_is_listed_once_also_where_it_goes_round() -> None:
    node = {"properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}
    schema = {"$defs": {"node": {"type": "object", **node, "additionalProperties": False}}}
    grammar = compile_schema({**schema, "$ref": "#/$defs/node"})
    assert reached(grammar.definitions, grammar.root)[0] == grammar.root
    assert len(set(reached(grammar.definitions, grammar.root)) - {NEVER}) == 2


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ({"contains": {"const": 1}}, "hold arrays with `contains`"),
        ({"patternProperties": {"^x{1,9}$": {}}, "additionalProperties": False}, "names"),
        ({"type": "object", "maxProperties": 2}, "`maxProperties`"),
        ({"anyOf": [{"properties": {"k": {"const": i}, f"p{i}": {"type": "string"}},
                     "required": ["k"], "type": "object"} for i in range(30)]}, "side by side"),
        ({"type": "integer", "multipleOf": 997, "minimum": 0, "maximum": 10**6}, "cannot be told"),
        ({"properties": {f"p{i}": {"type": "number", "minimum": i + 0.1} for i in range(30)}},
         "more kinds of numbers"),
    ],
)  # fmt: skip
def test_elements_whose_ends_cannot_be_listed_are_refused(items: Any, reason: str) -> None:
    with pytest.raises(UnsupportedSchema, match=reason) as caught:
        compile_schema({"type": "array", "items": items, "uniqueItems": True})
    assert caught.value.path == "$.uniqueItems"
