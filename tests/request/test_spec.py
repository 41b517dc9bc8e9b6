"""A spec as a value: bounds on it, documents in it, wishes and options."""

import json
from typing import Any

import pytest

from enforcer.errors import SchemaLimit
from enforcer.request import spec as specs
from enforcer.request import spec_text
from enforcer.request.options import Options
from enforcer.schema import Conventions, Formats, Limits
from enforcer.schema.bundling import Documents
from tests.spec_cases import TOOL, named
from tests.support.tools import tool


def test_a_wish_for_closed_objects_leaves_the_other_conventions_as_they_are() -> None:
    text = spec_text.write([TOOL], "auto", True, 0, closed_objects=True)
    own = Options(conventions=Conventions(Formats.STANDARD))
    assert spec_text.read(text).resolve(own).conventions == Conventions(Formats.STANDARD, True)
    other = spec_text.read(spec_text.write([TOOL], "auto", True, 0, closed_objects=False))
    assert other.resolve(spec_text.read(text).resolve(own)) == own


PARTS = {"https://example.com/a": {"type": "integer"}, "https://example.com/b": {"enum": ["x"]}}
WANTED = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"$ref": [*PARTS][1]}}}


def referring(*uris: str, response_format: dict[str, Any] | None = None) -> str:
    tools = [tool(f"f{at}", {"$ref": uri}) for at, uri in enumerate(uris)]
    return spec_text.write([*tools, TOOL, tool("bare")], "auto", None, 0, response_format)


def test_documents_are_put_into_all_schemas_of_a_spec_and_travel_with_it() -> None:
    bundle = Documents(PARTS).bundle
    text = referring(*PARTS, response_format=WANTED)
    spec = spec_text.read(text)
    bundled = specs.bundled(spec, bundle, 10_000)
    assert bundled.toolset.tools["get"] == spec.toolset.tools["get"]
    assert bundled.toolset.tools["bare"].schema == "{}"
    for name, uri in zip(("f0", "f1"), PARTS, strict=True):
        assert list(json.loads(bundled.toolset.tools[name].schema)["$defs"]) == [uri]
    assert "$defs" in json.loads(bundled.response_format.source)
    travelled = spec_text.decode(text).put(bundled).text()
    assert spec_text.read(travelled) == bundled
    assert specs.bundled(spec_text.read(travelled), bundle, 0) == bundled


def test_a_spec_that_refers_to_no_document_is_the_same_object() -> None:
    spec = spec_text.read(referring("#", "https://example.com/absent"))
    assert specs.bundled(spec, Documents(PARTS).bundle, 0) is spec


@pytest.mark.parametrize(
    ("uris", "wanted", "path"),
    [
        ([*PARTS, next(iter(PARTS))], None, "$.tools[2].function.parameters"),
        ([*PARTS], WANTED, "$.response_format.json_schema.schema"),
    ],
)
def test_documents_are_bounded(uris: list[str], wanted: dict[str, Any] | None, path: str) -> None:
    bundle = Documents(PARTS).bundle
    spec = spec_text.read(referring(*PARTS))
    added = sum(
        len(tool.schema) - len(spec.toolset.tools[name].schema)
        for name, tool in specs.bundled(spec, bundle, 10_000).toolset.tools.items()
    )
    assert specs.bundled(spec, bundle, added) is not spec
    with pytest.raises(SchemaLimit, match=rf"over {added} .*limit `size`") as caught:
        specs.bundled(spec_text.read(referring(*uris, response_format=wanted)), bundle, added)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("limits", "path", "reason"),
    [
        (Limits(tools=2), "$.tools", r"3 tools, over 2 \(limit `tools`\); declare fewer"),
        (Limits(request=5), "$.tools", r"6 characters together, over 5 \(limit `request`\)"),
        (Limits(tools=3, request=6), None, ""),
    ],
)
def test_the_tools_of_a_request_have_a_bound(limits: Limits, path: str | None, reason: str) -> None:
    spec = spec_text.read(spec_text.write([named(name) for name in "abc"], "auto", True, 0))
    if path is None:
        specs.refuse_large(spec, limits)
        return
    with pytest.raises(SchemaLimit, match=reason) as refused:
        specs.refuse_large(spec, limits)
    assert refused.value.path == path


def test_a_format_counts_as_the_tools_do() -> None:
    wanted = {"type": "json_schema", "json_schema": {"schema": {"const": "x" * 100}}}
    spec = spec_text.read(spec_text.write(None, None, True, 0, wanted))
    with pytest.raises(SchemaLimit, match="characters together") as refused:
        specs.refuse_large(spec, Limits(request=100))
    assert refused.value.path == "$.response_format"


def test_a_reply_is_read_by_its_ids_unless_a_server_says_otherwise() -> None:
    assert not specs.Settled("kimi", "machine", Options()).as_text
