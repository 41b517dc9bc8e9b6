"""What `enforcer check` prints and what it goes on past."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enforcer.tools import cli
from enforcer.tools.cli.verdicts import Judge
from tests.support.cases import parametrized
from tests.support.json_lines import write
from tests.tools.cli.answers import Command, Run

GOOD = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}
BAD = {"type": "object", "properties": {"a": {"pattern": r"(a)\1"}}}


def tool(name: str, schema: Any = GOOD) -> dict[str, Any]:
    return {"name": name, "inputSchema": schema}


def test_requests_without_tools_are_counted(run: Run) -> None:
    bare = {"model": "m", "messages": []}
    status, out, err = run(bare, {"tools": [tool("f")]}, {"model": "m", "input": "hi"})
    assert (status, err) == (0, [])
    assert out[-1] == "1 checked: 1 exact; 2 requests without tools"
    status, out, err = run(bare)
    assert (status, out) == (0, ["0 checked; 1 request without tools"])
    assert "no tool was found" in err[0]


def test_every_offender_is_told_and_of_many_the_first(run: Run) -> None:
    bad = {"type": "object", "required": 5, "properties": {"a": {"$id": 5, "pattern": r"(a)\1"}}}
    status, out, _ = run(tool("f", bad))
    assert status == 1
    assert [line.rsplit("(at ", 1)[1] for line in out if "(at " in line and "note" not in line] == [
        "`$.inputSchema.required`, keyword `required`)",
        "`$.inputSchema.properties.a.$id`, keyword `$id`)",
        "`$.inputSchema.properties.a.pattern`, keyword `pattern`)",
    ]
    _, out, _ = run(tool("f", {"properties": {f"p{i}": {"type": "strng"} for i in range(22)}}))
    assert sum("is no type" in line for line in out) == 20
    assert "         and 2 more problems; --json has them all" in out


def test_required_names_that_are_not_declared_are_noted(run: Run) -> None:
    status, out, _ = run(tool("f", {**OPEN, "required": ["a", "b"]}))
    assert status == 0
    (line,) = [line for line in out if "`required` names" in line]
    assert line.strip() == (
        "note: `required` names `b`, which `properties` does not declare, so that any value is "
        "allowed there; declare it, or correct the name (at `$.inputSchema.required`, keyword "
        "`required`)"
    )
    status, out, _ = run(tool("f", {**GOOD, "required": ["a", "b"]}))
    assert status == 1
    assert not any("`required` names" in line for line in out)


def test_functions_which_vllm_does_not_read_are_told(run: Run) -> None:
    old = {"model": "m", "messages": [], "functions": [{"name": "f", "parameters": BAD}]}
    status, out, _ = run(old, old | {"tools": [tool("g")]}, {"messages": [], "functions": []})
    assert status == 0
    *_, told, last = out
    assert "file.jsonl:1 $.functions: note: vLLM does not read `functions`" in told
    assert told.endswith(", and in 1 more request")
    assert last == (
        "1 checked: 1 exact; 2 requests without tools; 2 requests with `functions`, which are not "
        "read"
    )
    _, out, _ = run({"request": old}, options=("--json",))
    assert [one["path"] for one in json.loads("\n".join(out))["functions"]] == [
        "$.request.functions"
    ]


def test_a_format_is_refused_where_the_server_refuses_it(run: Run) -> None:
    form = {"type": "json_schema", "json_schema": {"schema": BAD}}
    body = {"model": "m", "messages": [], "response_format": form}
    status, out, _ = run(body, body)
    assert status == 1
    assert "`$.response_format.json_schema.schema.properties.a.pattern`" in out[1]
    assert out[-1].startswith("1 checked: 1 refused; 1 with notes; 1 more were the same again")
    assert run(body, options=("--relax",))[0] == 0


@parametrized("tools/cli/cases/check_report.toml", "outputs")
def test_structured_outputs_are_checked(run: Run, outputs: Any, path: str) -> None:
    status, out, _ = run({"model": "m", "messages": [], "structured_outputs": outputs})
    assert status == 1
    assert f"`{path}`" in out[1]


@pytest.mark.parametrize("outputs", [{"regex": "a+"}, {"choice": ["a"]}, {"json": GOOD}])
def test_structured_outputs_that_are_enforced(run: Run, outputs: Any) -> None:
    status, out, _ = run({"model": "m", "messages": [], "structured_outputs": outputs})
    assert (status, out[0].split()[0]) == (0, "exact")


def test_bad_records_spoil_no_other(run: Run) -> None:
    status, out, err = run(tool("f"), '{"cut off', {"tools": [tool("g"), {"name": "bad"}]}, 7)
    assert status == 2
    assert out[-1] == "2 checked: 2 exact; 3 could not be read"
    assert ["file.jsonl:2 is not JSON" in err[0], "`$.tools[1]`" in err[1]] == [True, True]
    assert "file.jsonl:4: `$` is neither a" in err[2]


def test_a_bad_first_line_spoils_no_other(run: Run) -> None:
    status, out, err = run('{"cut off', tool("f"), tool("g"))
    assert (status, len(err)) == (2, 1)
    assert out[-1].startswith("2 checked: 2 exact")


def test_many_bad_records_are_not_all_told(run: Run) -> None:
    status, out, err = run(tool("f"), *["{"] * 30)
    assert (status, len(err)) == (2, 21)
    assert err[-1] == "enforcer: and 10 more that cannot be read; --json has them all"
    assert out[-1] == "1 checked: 1 exact; 30 could not be read"
    found = json.loads("\n".join(run(tool("f"), *["{"] * 30, options=("--json",))[1]))
    assert len(found["unreadable"]) == 30


def test_open_objects_are_explained_once(run: Run) -> None:
    nested = {"type": "object", "properties": {"a": OPEN}}
    _, out, _ = run(tool("f", OPEN), tool("g", nested), options=("--no-closed-objects",))
    assert [line.strip() for line in out if "note:" in line] == [
        "note: open objects (at `$.inputSchema`)",
        "note: open objects (at `$.inputSchema`), and in 1 more place",
    ]
    [explained] = [line for line in out if "`additionalProperties`" in line]
    assert out.index(explained) == len(out) - 2
    assert not any("open objects" in line for line in run(tool("f"))[1])


def test_rows_are_shown_as_they_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Judge.check
    shown: list[str] = []

    def watched(judge: Judge, *more: Any) -> Iterator[Any]:
        shown.append(capsys.readouterr().out)
        return original(judge, *more)

    monkeypatch.setattr(Judge, "check", watched)
    cli.main(["check", str(write(tmp_path / "file.jsonl", tool("f"), tool("g")))])
    assert shown[0] == ""
    assert shown[1].split()[0] == "exact"


def test_columns_are_as_wide_in_every_row(run: Run) -> None:
    _, out, _ = run(tool("f"), tool("g", BAD))
    rows = [line for line in out if line.startswith(("exact", "refused"))]
    assert rows[0].index("  f  ") == rows[1].index("  g  ")


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_that_cannot_be_read_is_told_with_the_limit(run: Run, sign: str) -> None:
    status, out, [line] = run(f'{{"minimum": {sign}{"9" * 5_000}}}', tool("f"))
    assert (status, out[0].split()[0]) == (2, "exact")
    assert "file.jsonl:1 cannot be read: it has an integer of 5,000 digits" in line
    assert "sys." not in line


def test_such_an_integer_is_not_told_as_invalid_json(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{\n "minimum": ' + "9" * 5_000 + "\n}")
    status, _, told = command("check", str(file))
    assert status == 2
    assert f"{file} cannot be read: it has an integer of 5,000 digits, and at most 4,300" in told
    assert "not JSON" not in told
