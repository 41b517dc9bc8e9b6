"""Which draft has which keyword, and the notes that are taken while reading."""

from typing import Any

import pytest

from enforcer.errors import InvalidSchema, UnsupportedSchema
from enforcer.schema.limits import OnUnsupported
from enforcer.schema.reading.drafts import Draft
from enforcer.schema.reading.parse import SchemaParser
from tests.schema_reading import parser_of
from tests.support.cases import each_case


def reader(schema: dict[str, Any], option: OnUnsupported = OnUnsupported.REFUSE) -> SchemaParser:
    return parser_of(schema, option=option)


@each_case
def test_keywords_have_a_first_draft_and_some_a_last(keyword: str, first: str, last: str) -> None:
    drafts = {str(each): each for each in Draft}
    found = [each for each in Draft if reader({}).has({keyword: 1}, keyword, each)]
    assert found == [each for each in Draft if drafts[first] <= each <= drafts[last]]
    assert not reader({}).has({}, keyword, drafts[first])


@pytest.mark.parametrize("value", [{}, [], "a", 3])
def test_branches_are_a_list_that_is_not_empty(value: Any) -> None:
    found = reader({"anyOf": value})
    assert found.branches(found.document.root, "anyOf") == []
    (noted,) = found.invalid
    assert (noted.path, noted.reason) == ("$.anyOf", "must be a non-empty list of schemas")


def test_branches_have_places_of_their_own() -> None:
    found = reader({"anyOf": [{}, True]})
    places = found.branches(found.document.root, "anyOf")
    assert [place.path for place in places] == ["$.anyOf[0]", "$.anyOf[1]"]


@pytest.mark.parametrize("option", OnUnsupported)
def test_refusals_raise_unless_relaxed_and_malformed_schemas_always(option: OnUnsupported) -> None:
    found = reader({}, option)
    unknown = found.refuse(found.document.root, "not", "because")
    assert found.algebra.neg(unknown) == unknown
    if option is OnUnsupported.REFUSE:
        with pytest.raises(UnsupportedSchema, match="because") as caught:
            found.raise_problems()
        assert caught.value.path == "$.not"
    else:
        found.raise_problems()
    stand_in = found.malformed(found.document.root, "", "no schema")
    assert found.algebra.neg(stand_in) == stand_in
    with pytest.raises(InvalidSchema, match="no schema") as raised:
        found.raise_problems()
    assert raised.value.path == "$"
    paths = [each.path for each in raised.value.problems]
    assert paths == (["$", "$.not"] if option is OnUnsupported.REFUSE else ["$"])


@pytest.mark.parametrize(
    ("target", "kept"),
    [(3, "invalid"), ("#/nowhere", "invalid"), ("https://example.com/a", "unsupported")],
)
def test_a_reference_that_leads_nowhere_is_noted(target: int | str, kept: str) -> None:
    found = reader({"$ref": target})
    assert found.target(found.document.root, "$ref") is None
    noted = {"invalid": found.invalid, "unsupported": found.unsupported}
    assert [name for name, problems in noted.items() if problems] == [kept]
