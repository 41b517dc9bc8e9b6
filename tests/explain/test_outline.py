from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.budget.frames import InArray, InObject
from enforcer.budget.pieces import Pieces
from enforcer.budget.reading import Reading
from enforcer.budget.shortest import Shortest
from enforcer.explain.cursor import locate
from enforcer.explain.outline import Outline, containers
from enforcer.schema import trace_schema
from tests.vocabularies import small

if TYPE_CHECKING:
    from collections.abc import Sequence


def levels(schema: Any, text: str) -> tuple[list[type], list[Sequence[str]]]:
    """Give the containers that a text of one reading stands in, and the paths at each step."""
    grammar, provenance = trace_schema(schema)
    outline = Outline("the text", Shortest(grammar, Pieces(small())), provenance)
    data = text.encode()
    (thread,) = Reading.begin(outline.plan).read(data).threads
    inside = containers(thread)
    found = outline.levels(locate(data).path, inside)
    return [type(each) for each in inside], [sources.paths for _, sources in found]


ROW = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "tags": {"items": {"enum": ["x"]}, "type": "array"}},
    "patternProperties": {"^n_": {"const": 1}},
    "additionalProperties": False,
}
ROWS = {"type": "array", "prefixItems": [{"const": 0}], "items": ROW}


@pytest.mark.parametrize(
    ("text", "inside", "last"),
    [
        ("[", [InArray], "$.prefixItems[0]"),
        ("[0,", [InArray], "$.items"),
        ('[0,{"id":', [InArray, InObject], "$.items.properties.id"),
        ('[0,{"n_a":', [InArray, InObject], '$.items.patternProperties["^n_"]'),
        ('[0,{"tags":["x",', [InArray, InObject, InArray], "$.items.properties.tags.items"),
    ],
)
def test_a_place_is_followed_down_to_its_subschema(
    text: str, inside: list[type], last: str
) -> None:
    found, paths = levels(ROWS, text)
    assert found == inside
    assert paths[0] == ("$",)
    assert list(paths[-1]) == [last], json.dumps(paths)
