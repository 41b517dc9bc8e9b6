"""Values of keywords, read exactly or named as malformed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import InvalidSchema, SchemaLimit
from enforcer.regex import fullmatch
from enforcer.schema.limits import Limits
from enforcer.schema.reading.keywords import Keywords
from tests.schema_judge import accepts, compiled
from tests.schema_reading import parser_of


def keywords(schema: dict[str, Any], limits: Limits | None = None) -> Keywords:
    parser = parser_of(schema, limits)
    return Keywords(parser, parser.document.root)


@given(st.integers(0, 10**6), st.booleans())
def test_a_count_is_a_whole_number_however_it_is_written(count: int, as_float: bool) -> None:
    value = float(count) if as_float else count
    assert keywords({"minLength": value}).count("minLength") == count


@pytest.mark.parametrize("value", [-1, 0.5, True, None, "3", [3], -2.0])
def test_what_is_no_count(value: Any) -> None:
    found = keywords({"minLength": value})
    assert found.count("minLength") is None
    assert [each.reason.split(";")[0] for each in found.reader.invalid] == [
        "must be a whole number, zero or more"
    ]
    assert len(found.extra) == 1


@given(st.integers() | st.floats(-1e15, 1e15, allow_nan=False))
def test_a_number_is_what_is_written(value: float) -> None:
    found = keywords({"minimum": value}).number("minimum")
    assert found == Fraction(repr(value)) or abs(value) > 2**53


@pytest.mark.parametrize("value", [True, None, "3", [3]])
def test_what_is_no_number(value: Any) -> None:
    found = keywords({"minimum": value})
    assert found.number("minimum") is None
    assert [each.reason.split(";")[0] for each in found.reader.invalid] == ["must be a number"]
    assert len(found.extra) == 1


def test_what_is_not_there() -> None:
    assert keywords({}).number("minimum") is None
    assert keywords({}).count("minLength") is None
    # A keyword that its draft does not know is not there either.
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "minContains": 2}
    assert keywords(old).count("minContains") is None


def test_languages_of_a_pattern_are_disjoint() -> None:
    found = keywords({})
    matching, failing = found.languages("pattern", r"^\w")
    assert [fullmatch(matching, x) for x in ("a", "é", "-")] == [True, False, False]
    assert [fullmatch(failing, x) for x in ("a", "é", "-")] == [False, False, True]


def test_a_pattern_that_cannot_be_read_is_noted() -> None:
    found = keywords({})
    assert found.languages("pattern", "(") is None
    assert [problem.path for problem in found.reader.unsupported] == ["$.pattern"]
    assert len(found.extra) == 1


def test_counts_inside_counts_are_bounded() -> None:
    pattern = "^([ab]{1,3}c?){1,3}$"
    assert keywords({}).languages("pattern", pattern) is not None
    with pytest.raises(SchemaLimit, match="too many ways") as caught:
        keywords({}, Limits(regex_growth=10)).languages("pattern", pattern)
    assert caught.value.path == "$.pattern"


RIGHT = {
    "string": {"minLength": [0, 3, 2.0], "maxLength": [1], "pattern": ["a", ""]},
    "number": {
        "minimum": [0, -1.5],
        "maximum": [3],
        "exclusiveMinimum": [True, 3],
        "exclusiveMaximum": [False, 0.5],
        "multipleOf": [1, 0.01],
    },
    "array": {"minItems": [0], "maxItems": [1.0], "uniqueItems": [True, False], "minContains": [0]},
    "object": {
        "minProperties": [0],
        "properties": [{}, {"a": {}}],
        "patternProperties": [{}],
        "required": [[], ["a"], True],
    },
}
WRONG = {
    "string": {"minLength": [-1, 0.5, True, "1", None], "pattern": [3, ["a"], None]},
    "number": {
        "minimum": [True, "3", None],
        "exclusiveMinimum": ["3", None],
        "multipleOf": [0, -1, True, "1"],
    },
    "array": {"minItems": [-1, "1"], "uniqueItems": [1, "true"], "maxContains": [0.5]},
    "object": {"properties": [[], "a"], "required": ["a", [1], {}], "maxProperties": [-1]},
}


def rows(table: dict[str, Any]) -> list[tuple[str, str, Any]]:
    return [
        (of, keyword, value)
        for of, keywords in table.items()
        for keyword, values in keywords.items()
        for value in values
    ]


def excluded(schema: dict[str, Any], *types: str) -> list[Any]:
    found = keywords(schema)
    found.check_excluded(frozenset(types))
    return [*found.reader.invalid]


@pytest.mark.parametrize(("of", "keyword", "value"), rows(RIGHT))
def test_what_is_right_says_nothing(of: str, keyword: str, value: Any) -> None:
    assert not excluded({keyword: value}, *({"null"} - {of}))


@pytest.mark.parametrize(("of", "keyword", "value"), rows(WRONG))
def test_what_is_wrong_is_named_once_its_type_is_excluded(
    of: str, keyword: str, value: Any
) -> None:
    (found,) = excluded({keyword: value, "title": 3}, "null")
    assert found.keyword == keyword
    assert found.reason.startswith("must")
    assert not excluded({keyword: value}, of)


def test_integers_are_numbers() -> None:
    assert not excluded({"minimum": "3"}, "integer")


def test_a_schema_with_a_wrong_value_of_another_type_is_none() -> None:
    with pytest.raises(InvalidSchema) as caught:
        compiled({"type": "string", "minimum": "3"})
    assert caught.value.path == "$.minimum"
    assert accepts(compiled({"type": "string", "minimum": 3}), '"a"')
