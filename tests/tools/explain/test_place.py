"""Values that are due at a place, and where in the schema they come from."""

from collections.abc import Sequence
from typing import Any

from enforcer.layouts import JSON
from enforcer.schema import trace_schema
from enforcer.tools.explain.place import BytewiseText, Outline, TextPlace
from tests.support.cases import parametrized


def sources(schema: Any, text: str) -> list[Sequence[str]]:
    """Return the paths of each value that is due behind a text."""
    at = BytewiseText(Outline(trace_schema(schema), JSON, ()))
    assert at.become([*text.encode()])
    return [sources.paths for _, sources in TextPlace(at).values]


ROW = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "tags": {"items": {"enum": ["x"]}, "type": "array"}},
    "patternProperties": {"^n_": {"const": 1}},
    "additionalProperties": False,
}
ROWS = {"type": "array", "prefixItems": [{"const": 0}], "items": ROW}


@parametrized("tools/explain/cases/place.toml", "places")
def test_a_place_is_followed_down_to_its_subschema(text: str, path: str) -> None:
    assert sources(ROWS, text) == [(path,)]


def kind(value: Any, least: int) -> dict[str, Any]:
    return {
        "properties": {"kind": value, "v": {"type": "integer", "minimum": least}},
        "required": ["kind"],
        "additionalProperties": False,
    }


@parametrized("tools/explain/cases/place.toml", "shapes")
def test_shapes_ruled_out_by_members_are_left_out(value: Any, other: Any, text: str) -> None:
    schema = {"type": "object", "anyOf": [kind(value, 1), kind(other, 2)]}
    assert len(sources(schema, '{"v":')) == 2
    assert sources(schema, f'{{"kind":{text},"v":') == [("$.anyOf[1].properties.v",)]
