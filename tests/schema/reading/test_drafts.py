"""Drafts by their names, and what each has."""

import jsonschema
import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.schema.reading.drafts import SINCE, Draft, draft_of, is_hidden, knows
from tests.support.cases import each_case

VALIDATORS = {
    Draft.DRAFT4: jsonschema.Draft4Validator,
    Draft.DRAFT6: jsonschema.Draft6Validator,
    Draft.DRAFT7: jsonschema.Draft7Validator,
    Draft.DRAFT2019: jsonschema.Draft201909Validator,
    Draft.DRAFT2020: jsonschema.Draft202012Validator,
}
# The validator reads these as a part of another one.
TOGETHER = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}


@each_case
def test_dialects_by_either_scheme(uri: str, draft: str) -> None:
    assert str(draft_of({"$schema": uri})) == draft
    assert draft_of({}) is Draft.DRAFT2020


def test_the_drafts_are_told_apart_and_in_order() -> None:
    listed = list(Draft)
    assert len(listed) == 5
    assert listed == sorted(listed)


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(UnsupportedSchema, match="not known"):
        draft_of({"$schema": "https://example.com/mine"})
    with pytest.raises(UnsupportedSchema, match=f"'{120 * 'a'}' is not known"):
        draft_of({"$schema": 200 * "a"})


@pytest.mark.parametrize("draft", Draft)
@pytest.mark.parametrize("keyword", sorted(SINCE.keys() - TOGETHER.keys()))
def test_which_draft_has_a_keyword_is_what_a_validator_says(draft: Draft, keyword: str) -> None:
    assert knows(draft, keyword) is (keyword in VALIDATORS[draft].VALIDATORS)


@pytest.mark.parametrize("keyword", TOGETHER)
def test_what_belongs_to_another_keyword_comes_no_earlier(keyword: str) -> None:
    assert SINCE[TOGETHER[keyword]] <= SINCE[keyword]


def test_what_came_with_no_draft_is_always_read() -> None:
    assert all(knows(draft, "dependencies") for draft in Draft)


@pytest.mark.parametrize("draft", Draft)
def test_drafts_hide_keywords_beside_a_reference_as_a_validator_does(draft: Draft) -> None:
    schema = {"$ref": "#/definitions/anything", "type": "string", "definitions": {"anything": {}}}
    assert is_hidden(schema, draft) is VALIDATORS[draft](schema).is_valid(1)
    assert not is_hidden({"type": "string"}, draft)


def test_drafts_are_written_as_the_standard_writes_them() -> None:
    assert [str(draft) for draft in Draft] == [
        *("draft-04", "draft-06", "draft-07", "2019-09", "2020-12")
    ]
