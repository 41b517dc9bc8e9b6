"""Patterns that Python's `re` does not know, beside those that it does."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.judging.patterns import validator_of
from tests.support.cases import each_case

DRAFTS = [getattr(jsonschema, f"Draft{name}Validator") for name in ("4", "7", "201909", "202012")]
OPEN = {"type": "integer"}


@pytest.mark.parametrize("draft", DRAFTS)
@each_case
def test_what_python_does_not_know_is_judged(
    draft: Any, schema: dict[str, object], valid: list[object], invalid: list[object]
) -> None:
    validator = validator_of(draft)(schema)
    assert [value for value in valid if not validator.is_valid(value)] == []
    assert [value for value in invalid if validator.is_valid(value)] == []


NAMES = st.sampled_from(["a", "b", "aa", "1", ""])
SCHEMAS = st.sampled_from([True, False, OPEN, {"type": "string"}, {"const": 1}])


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, SCHEMAS, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b$", "."]), SCHEMAS),
            "additionalProperties": SCHEMAS,
            "pattern": st.sampled_from(["a", "^b"]),
        },
    ),
    st.one_of(NAMES, st.dictionaries(NAMES, st.sampled_from([1, 2, "x", None]), max_size=3)),
)
def test_the_others_are_judged_as_ever(schema: dict[str, object], value: object) -> None:
    base = jsonschema.Draft202012Validator
    mine, others = (kind(schema).iter_errors(value) for kind in (validator_of(base), base))
    assert {e.json_path for e in mine} >= {e.json_path for e in others if e.parent is None}
    assert validator_of(base)(schema).is_valid(value) == base(schema).is_valid(value)


def test_a_pattern_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(Exception, match=r"unterminated|missing"):
        validator_of(jsonschema.Draft7Validator)({"pattern": "("}).is_valid("x")
