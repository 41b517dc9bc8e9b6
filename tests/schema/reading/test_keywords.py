"""Values of keywords, read exactly or named as malformed."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import SchemaLimit
from enforcer.regex import fullmatch
from enforcer.schema.limits import Limits
from enforcer.schema.reading.keywords import Keywords
from tests.schema_reading import parser_of
from tests.support.cases import each_case
from tests.support.schema_cases import schema_test


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
    matching, failing = keywords({}).languages("pattern", r"^\w")
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


def excluded(schema: dict[str, Any], *types: str) -> list[Any]:
    found = keywords(schema)
    found.check_excluded(frozenset(types))
    return [*found.reader.invalid]


@each_case
def test_what_is_right_says_nothing(of: str, keyword: str, values: list[Any]) -> None:
    for value in values:
        assert not excluded({keyword: value}, *({"null"} - {of})), value


@each_case
def test_a_wrong_keyword_excludes_its_type_by_name(of: Any, keyword: Any, values: Any) -> None:
    for value in values:
        (found,) = excluded({keyword: value, "title": 3}, "null")
        assert found.keyword == keyword
        assert found.reason.startswith("must")
        assert not excluded({keyword: value}, of)


def test_integers_are_numbers() -> None:
    assert not excluded({"minimum": "3"}, "integer")


test_schemas = schema_test(__file__)
