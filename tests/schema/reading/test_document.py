"""References by identifiers, and the paths of what they lead to."""

from typing import Any

import pytest

from enforcer.errors import SchemaError
from enforcer.schema import compile_schema
from enforcer.schema.reading.document import shown, step
from tests.schema_judge import accepts, compiled
from tests.support.cases import each_case
from tests.support.schema_cases import schema_test


def test_paths_can_be_read() -> None:
    assert step("$", "plain_1") == "$.plain_1"
    assert step("$.a", 3) == "$.a[3]"
    assert step("$", 'q"uo\\te') == '$["q\\"uo\\\\te"]'
    assert step("$", "") == '$[""]'
    assert step("$", " " * 64) == f'$["{" " * 64}"]'
    assert step("$", " " * 65) == f'$["{" " * 64}…"]'


@each_case
def test_values_are_shown_as_json(value: Any, text: str) -> None:
    assert shown(value) == text


test_schemas = schema_test(__file__)


@each_case
def test_a_path_names_the_resource_that_a_problem_is_in(ref: str, path: str) -> None:
    wrong = {"pattern": "("}
    parts = {"a": wrong, "b": {"$anchor": "b", **wrong}, "back": {"$ref": "outer#/$defs/local"}}
    inner = {"$id": "inner", "multipleOf": "a", "$defs": {**parts, "to": {"$ref": "#/$defs/a"}}}
    outer = {"items": {"$ref": ref}, "$defs": {"inner": inner, "local": wrong}}
    with pytest.raises(SchemaError) as refusal:
        compile_schema({"$id": "https://example.com/outer", **outer})
    assert refusal.value.path == path


@each_case
def test_a_pointer_goes_by_names_and_by_indices(ref: str, fitting: str) -> None:
    parts = {
        "0": {"type": "integer"},
        "list": [{"type": "string"}, {"type": "null"}],
        "01": {"type": "boolean"},
        "a/b~c%": {"type": "array"},
    }
    grammar = compiled({"$ref": ref, "$defs": parts})
    for text in ("1", '"a"', "null", "true", "[]"):
        assert accepts(grammar, text) is (text == fitting)
