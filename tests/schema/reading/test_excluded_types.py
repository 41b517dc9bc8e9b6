"""What is wrong about keywords for a type that is excluded."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import InvalidSchema
from enforcer.schema.reading.excluded_types import malformed
from tests.schema_judge import accepts, compiled

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


@pytest.mark.parametrize(("of", "keyword", "value"), rows(RIGHT))
def test_what_is_right_says_nothing(of: str, keyword: str, value: Any) -> None:
    assert not list(malformed({keyword: value}, frozenset({"null"}) - {of}))


@pytest.mark.parametrize(("of", "keyword", "value"), rows(WRONG))
def test_what_is_wrong_is_named_once_its_type_is_excluded(
    of: str, keyword: str, value: Any
) -> None:
    ((found, reason),) = malformed({keyword: value, "title": 3}, frozenset({"null"}))
    assert found == keyword
    assert reason.startswith("must")
    assert not list(malformed({keyword: value}, frozenset({of})))


def test_integers_are_numbers() -> None:
    assert not list(malformed({"minimum": "3"}, frozenset({"integer"})))


def test_a_schema_with_one_is_none() -> None:
    with pytest.raises(InvalidSchema) as caught:
        compiled({"type": "string", "minimum": "3"})
    assert caught.value.path == "$.minimum"
    assert accepts(compiled({"type": "string", "minimum": 3}), '"a"')
