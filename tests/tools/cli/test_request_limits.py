"""What the schemas of one request come to together."""

import json
from pathlib import Path
from typing import Any

import pytest

from enforcer import Enforcer
from enforcer.documents import Document
from enforcer.errors import SchemaLimit
from enforcer.schema.limits import Limits
from enforcer.tools.cli import declarations
from enforcer.tools.cli.check_report import Oversized
from enforcer.tools.cli.verdicts import oversized
from tests.tools.cli.answers import Command
from tests.vocabularies import small

LIMITS = Limits(tools=3, request=200)


def tools(count: int, length: int = 1) -> list[dict[str, Any]]:
    schema = {"type": "object", "title": "x" * length}
    functions = ({"name": f"f{at}", "parameters": schema} for at in range(count))
    return [{"type": "function", "function": function} for function in functions]


def text_of(length: int) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": {"title": "y" * length}}}


def found(value: Any) -> list[Oversized]:
    return list(oversized(declarations.find(Document(value, "f")).declared, LIMITS))


def test_what_a_request_may_declare_is_not_too_much() -> None:
    assert not found({"messages": [], "tools": tools(3)})
    assert not found([{"messages": [], "tools": tools(3)}] * 2)
    assert not found(tools(3))


@pytest.mark.parametrize(
    ("around", "path"),
    [("{}", "$.tools"), ('{"request": {}}', "$.request.tools"), ("[{}]", "$[0].tools")],
)
def test_a_request_of_too_many_tools_is_refused(around: str, path: str) -> None:
    request = json.dumps({"messages": [], "tools": tools(4)})
    (one,) = found(json.loads(around.replace("{}", request)))
    assert one == Oversized(
        "f", path, "4 tools, over 3 (limit `tools`); declare fewer", refused=True
    )


def test_all_schemas_of_a_request_are_added_up_that_of_its_format_too() -> None:
    body = {"messages": [], "tools": tools(2, 20)}
    assert not found(body)
    (one,) = found(body | {"response_format": text_of(100)})
    assert one.path == "$.tools"
    assert "characters together, over 200" in one.reason
    (one,) = found({"messages": [], "response_format": text_of(200)})
    assert one.path == "$.response_format.json_schema.schema"


def test_a_list_may_be_declared_in_parts() -> None:
    (one,) = found(tools(4))
    assert (one.path, one.refused) == ("$", False)
    (one,) = found({"result": {"tools": [each["function"] for each in tools(4)]}})
    assert (one.path, one.refused) == ("$.result.tools", False)


def test_it_is_the_same_that_the_enforcer_refuses(tmp_path: Path, command: Command) -> None:
    many = tools(3, 1_400_000)
    with pytest.raises(SchemaLimit) as refused:
        Enforcer(small()).matcher(many)
    file = tmp_path / "many.jsonl"
    line = json.dumps({"messages": [], "tools": many})
    file.write_text(f"{line}\n{line}\n")
    status, out, _ = command("check", str(file))
    assert status == 1
    told, last = out.splitlines()[-2:]
    assert told == f"{file}:1 $.tools: refused, {refused.value.problems[0].reason}"
    said = "3 checked: 3 exact by themselves; a request that declares too much is refused"
    assert last.startswith(said)
    file.write_text(json.dumps(many))
    status, out, _ = command("check", "--json", str(file))
    assert status == 0
    (one,) = json.loads(out)["oversized"]
    assert (one["path"], one["refused"]) == ("$", False)
