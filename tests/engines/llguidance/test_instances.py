from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import assume, given

from enforcer.engines.llguidance import instances
from enforcer.engines.llguidance.engine import LLGuidanceEngine
from enforcer.engines.llguidance.instances import Instances
from enforcer.engines.llguidance.probes import probes
from enforcer.errors import EnforcerError, SchemaLimit
from enforcer.schema import Root, compile_schema
from tests.schema_strategies import schemas
from tests.walks import examples

if TYPE_CHECKING:
    from enforcer.vocabulary import Vocabulary


def texts(schema: Any) -> list[str]:
    grammar = compile_schema(schema)
    return list(Instances(grammar).texts(grammar.root))


def of_names(schema: Any) -> list[str]:
    grammar = compile_schema(schema)
    return list(Instances(grammar).texts_of_names(grammar.root))


def of_kind(kind: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"kind": {"const": kind}, **properties},
        "required": ["kind", *properties],
        "additionalProperties": False,
    }


def test_each_alternative_has_a_text_that_fits() -> None:
    choices = [
        of_kind("point", at={"type": "array", "items": {"type": "number"}, "minItems": 2}),
        of_kind("name", of={"type": "string", "pattern": "^[A-Z]{3}$"}),
        of_kind("flags", all={"type": "array", "items": {"type": "boolean"}}),
        of_kind("group", of={"type": "array", "items": {"enum": [1, 2]}}),
    ]
    schema = {"oneOf": choices}
    found = [json.loads(text) for text in texts(schema)]
    assert {each["kind"] for each in found} == {"point", "name", "flags", "group"}
    for each in found:
        jsonschema.validate(each, schema)


def test_arrays_have_an_element_of_each_alternative() -> None:
    shapes = [of_kind(kind, a={"type": "integer"}) for kind in "abcd"]
    listed = {"type": "array", "items": {"anyOf": shapes}}
    schema = {"anyOf": [of_kind(kind, all=listed) for kind in "xyz"]}
    for text in texts(schema):
        assert [each["kind"] for each in json.loads(text)["all"]] == list("abcd")


def test_an_object_of_many_names_has_a_text_of_some() -> None:
    names = {f"property_{i}": {"type": "integer", "minimum": i} for i in range(100)}
    (text,) = of_names({"type": "object", "properties": names, "required": ["property_99"]})
    found = json.loads(text)
    assert 10 < len(found) < 50
    assert found["property_99"] >= 99
    assert of_names({"type": "object", "properties": dict([*names.items()][:60])}) == []


def test_values_with_few_alternatives_have_none() -> None:
    assert not texts({"anyOf": [of_kind("a"), of_kind("b"), {"type": "string"}]})
    assert not texts({})
    assert not texts({"type": "array"})


def test_what_goes_on_for_ever_ends_soon() -> None:
    branch = {
        "type": "object",
        "properties": {name: {"$ref": "#"} for name in "abcdefgh"},
    }
    schema = {"anyOf": [{**branch, "required": list(some)} for some in combinations("abcd", 2)]}
    schema["anyOf"].append({"type": "null"})
    found = texts(schema)
    assert found
    assert all(len(text) < 20 * instances._VALUES for text in found)


@examples(200)
@given(schemas())
def test_whatever_the_schema_they_are_json(schema: Any) -> None:
    try:
        grammar = compile_schema(schema)
    except EnforcerError:
        assume(False)
    for number in grammar.definitions:
        for text in Instances(grammar).texts(number):
            json.loads(text)


def geojson(last: str) -> dict[str, Any]:
    """GeoJSON as the registry of schemas has it, with or without its slip in the last branch."""
    number = {"type": "number"}
    position = {"type": "array", "minItems": 2, "items": number}
    line = {"type": "array", "minItems": 2, "items": position}
    ring = {"type": "array", "minItems": 4, "items": position}
    polygon = {"type": "array", "items": ring}
    box = {"type": "array", "minItems": 4, "items": number}

    def branch(name: str, keyword: str = "enum", **properties: Any) -> dict[str, Any]:
        kind = {"type": "string", keyword: [name]}
        return {
            "type": "object",
            "required": ["type", *properties],
            "properties": {"type": kind, **properties, "bbox": box},
        }

    simple = [
        branch("Point", coordinates=position),
        branch("LineString", coordinates=line),
        branch("Polygon", coordinates=polygon),
        branch("MultiPoint", coordinates={"type": "array", "items": position}),
        branch("MultiLineString", coordinates={"type": "array", "items": line}),
        branch("MultiPolygon", coordinates={"type": "array", "items": polygon}),
    ]
    several = {"type": "array", "items": {"oneOf": simple}}
    geometries = [*simple, branch("GeometryCollection", last, geometries=several)]
    feature = branch(
        "Feature",
        properties={"oneOf": [{"type": "null"}, {"type": "object"}]},
        geometry={"oneOf": [{"type": "null"}, *geometries]},
    )
    features = branch("FeatureCollection", features={"type": "array", "items": feature})
    return {"oneOf": [*geometries, feature, features]}


@pytest.mark.slow
def test_alternatives_that_are_too_many_within_a_text_are_refused_when_checked(
    kimi_vocabulary: Vocabulary,
) -> None:
    """With a slip in one branch each object may also be of that: masks took 80 ms, texts ended."""
    kimi = LLGuidanceEngine(kimi_vocabulary)
    kimi.check(compile_schema(geojson("enum"), root=Root.OBJECT))
    with pytest.raises(SchemaLimit, match="Too many items"):
        kimi.check(compile_schema(geojson("emum"), root=Root.OBJECT))


@pytest.mark.parametrize("thorough", [True, False])
def test_the_texts_are_tried_when_a_grammar_is_checked(thorough: bool) -> None:
    grammar = compile_schema(geojson("enum"), root=Root.OBJECT)
    found = [text for path, _, text in probes(grammar, thorough=thorough) if path == "$"]
    begins = '{"type": "FeatureCollection", "features": ['
    assert any(text.startswith(begins) for text in found) == thorough
