import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.tools import cli
from tests.shared_data import shared
from tests.support.cases import schemas
from tests.tools.cli.answers import Check, Command, Run
from tests.tools.cli.declared import EXACT, UNIQUE, chat

IMPOSSIBLE = {"type": "object", "properties": {"a": False}, "required": ["a"]}


FORMS = schemas("tools/cli/cases/check.toml", "forms")


@pytest.mark.parametrize("value", FORMS.values(), ids=FORMS)
def test_every_form_is_read_and_its_paths_lead_to_the_schemas(check: Check, value: Any) -> None:
    status, found = check(value)
    assert status == 0
    assert len(found["checked"]) == (len(value) if isinstance(value, list) else 1)
    for one in found["checked"]:
        assert one["status"] == "exact"
        at = value
        for step in one["path"].replace("[", ".[").split(".")[1:]:
            at = at[int(step[1:-1])] if step.startswith("[") else at.get(step, {})
        assert at in (EXACT, True, {}, {"type": "string"})


def test_dynamic_tools_are_checked(check: Check) -> None:
    message = {"role": "system", "tools": [chat("g", UNIQUE)]}
    status, found = check({"tools": [chat("f")], "messages": [message]})
    assert status == 1
    assert [one["status"] for one in found["checked"]] == ["exact", "refused"]
    assert found["checked"][1]["path"].startswith("$.messages[0].tools[0]")


def test_a_property_named_tools_is_no_list_of_tools(check: Check) -> None:
    status, found = check({"type": "object", "properties": {"tools": {"type": "array"}}})
    assert (status, found["checked"][0]["name"]) == (0, None)


def test_arguments_are_objects_and_values_need_not_be(check: Check) -> None:
    assert check({"type": "string"})[0] == 0
    status, found = check(chat("f", {"type": "string"}))
    assert (status, found["checked"][0]["error"]) == (1, "UnsatisfiableSchema")


def test_a_refusal_names_path_keyword_and_remedy(check: Check) -> None:
    status, found = check([chat("f"), chat("g", UNIQUE)])
    assert status == 1
    assert found["counts"] == {"exact": 1, "relaxed": 0, "refused": 1}
    [problem] = found["checked"][1]["problems"]
    assert problem["path"].startswith("$[1].function.parameters.properties.tags")
    assert problem["keyword"] == "uniqueItems"
    assert problem["reason"]
    assert found["checked"][1]["relaxable"]


def test_relaxing_enforces_a_superset_and_says_what_is_left(check: Check) -> None:
    status, found = check(chat("g", UNIQUE), options=["--relax"])
    assert status == 0
    [one] = found["checked"]
    assert (one["status"], one["problems"][0]["keyword"]) == ("relaxed", "uniqueItems")
    assert one["rules"] > 0


def test_what_nothing_fits_cannot_be_relaxed(check: Check) -> None:
    for options in ([], ["--relax"]):
        status, found = check(chat("g", IMPOSSIBLE), options=options)
        assert status == 1
        [one] = found["checked"]
        assert (one["error"], one["relaxable"]) == ("UnsatisfiableSchema", False)


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([chat("f"), chat("f")], "$[1].function.name"),
        ([chat("a b")], "$[0].function.name"),
        ([chat(None)], "$[0].function.name"),
        ([chat("f", True)], "$[0].function.parameters"),
        ([chat("f", [1])], "$[0].function.parameters"),
    ],
)
def test_server_refusals_are_refused(check: Check, tools: list[dict[str, Any]], path: str) -> None:
    status, found = check(tools)
    assert status == 1
    assert found["checked"][-1]["error"] == "InvalidTools"
    assert found["checked"][-1]["problems"][0]["path"] == path


def test_the_row_of_a_schema_that_is_none_says_so(run: Run) -> None:
    schemas = ({"type": "strng"}, {"type": "array", "not": {"uniqueItems": True}}, EXACT)
    for schema, status in zip(schemas, ("invalid", "refused", "exact"), strict=True):
        first, *_, last = run(chat("f", schema))[1]
        assert first.startswith(status)
        assert last.startswith(f"1 checked: 1 {status}")


def test_a_schema_that_is_none_is_refused(check: Check) -> None:
    status, found = check(chat("f", {"type": "text"}))
    assert (status, found["checked"][0]["error"]) == (1, "InvalidSchema")


@pytest.mark.parametrize(
    "value", [7, "x", None, {"tools": [7]}, {"tools": [{"type": "retrieval"}]}, {"city": "Oslo"}]
)
def test_what_declares_nothing_is_told(check: Check, value: Any) -> None:
    status, found = check(value)
    assert status == 2
    assert found["checked"] == []
    assert len(found["unreadable"]) == 1


def test_a_file_that_cannot_be_read_spoils_no_other(check: Check) -> None:
    status, found = check(EXACT, options=["absent.json"])
    assert (status, len(found["checked"]), len(found["unreadable"])) == (2, 1, 1)


def test_a_line_that_declares_nothing_spoils_no_other(check: Check) -> None:
    status, found = check(EXACT, {"city": "Oslo"}, EXACT)
    assert (status, len(found["checked"]), len(found["unreadable"])) == (2, 2, 1)


def test_a_folder_is_all_its_files(tmp_path: Path, command: Command) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.json").write_text(json.dumps(chat("f")))
    (tmp_path / "in" / "deep" / "b.jsonl").write_text(json.dumps(UNIQUE) + "\n[]")
    (tmp_path / "in" / "notes.txt").write_text("{")
    status, out, _ = command("check", "--json", str(tmp_path / "in"))
    assert status == 1
    assert [one["status"] for one in json.loads(out)["checked"]] == ["exact", "refused"]
    (tmp_path / "empty").mkdir()
    status, _, err = command("check", str(tmp_path / "empty"))
    assert status == 2
    assert "has no .json, .jsonl or .ndjson file" in err


def test_recorded_requests_tell_each_tool_once(check: Check) -> None:
    bodies = [{"messages": [], "tools": [chat("f"), chat("g", UNIQUE)]}] * 3
    bodies.append({"messages": [], "tools": [chat("f", {"type": "object"})]})
    status, found = check(bodies[0], {"request": bodies[1]}, {"body": bodies[2]}, bodies[3])
    assert status == 1
    assert [one["name"] for one in found["checked"]] == ["f", "g", "f"]
    assert found["repeated"] == 4


def test_a_repetition_within_one_request_is_still_one(check: Check) -> None:
    twice = {"messages": [], "tools": [chat("f"), chat("f")]}
    status, found = check({"tools": [chat("f")]}, twice)
    assert status == 1
    assert found["checked"][-1]["problems"][0]["reason"] == "the name is declared twice"


def test_tools_of_the_responses_api(check: Check) -> None:
    function = {"type": "function", "name": "read", "parameters": UNIQUE}
    tools = [
        {"type": "web_search"},
        {"type": "custom", "name": "patch"},
        {"type": "namespace", "name": "files", "tools": [function]},
    ]
    status, found = check({"input": "hi", "tools": tools})
    [one] = found["checked"]
    assert (status, one["name"]) == (1, "files__read")
    assert one["path"] == "$.tools[2].tools[0].parameters"


def test_lines_are_told_apart(check: Check) -> None:
    status, found = check(EXACT, UNIQUE)
    assert status == 1
    assert [one["where"].rpartition(":")[2] for one in found["checked"]] == ["1", "2"]


@pytest.mark.parametrize("engine", ["xgrammar", "outlines-core"])
def test_other_engines_check_as_well(check: Check, engine: str) -> None:
    pytest.importorskip(engine.replace("-", "_"))
    pytest.importorskip(f"enforcer.engines.{engine.replace('-', '_')}")
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    assert check(schema, options=["--engine", engine])[0] == 0


def test_text_for_people(tmp_path: Path, command: Command) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([chat("good"), chat("odd", UNIQUE)]))
    status, out, _ = command("check", "--no-closed-objects", str(tmp_path / "tools.json"))
    assert status == 1
    first, note, second, why, another, hint, explained, summary = out.splitlines()
    assert note.strip() == "note: open objects (at `$[0].function.parameters`)"
    assert another.strip() == "note: open objects (at `$[1].function.parameters`)"
    assert explained.startswith("open objects: other properties than the declared are allowed")
    assert (first.split()[0], first.split()[-2]) == ("exact", "good")
    assert (second.split()[0], second.split()[-2]) == ("refused", "odd")
    assert first.index("good") == second.index("odd")
    assert "uniqueItems" in why
    assert "--relax" in hint
    assert summary == "2 checked: 1 exact, 1 refused; 2 with notes"


def test_every_valid_schema_of_the_vendor_is_exact(command: Command) -> None:
    files = [str(file) for file in shared("cases", "walle").rglob("valid.jsonl")]
    status, out, _ = command("check", "--json", *files)
    assert status == 0
    assert json.loads(out)["counts"]["exact"] > 0


WORDS = st.sampled_from(
    ["tools", "result", "function", "name", "type", "parameters", "input_schema", "inputSchema",
     "messages", "object", "properties", "f", "$ref", "#", "uniqueItems", "model", "input",
     "prompt", "text", "format", "response_format", "json_schema", "schema", "json", "choice",
     "structured_outputs", "regex", "grammar", "structural_tag"]
)  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@given(ANYTHING, st.booleans())
def test_any_file_has_an_answer(
    tmp_path_factory: pytest.TempPathFactory, value: Any, relax: bool
) -> None:
    file = tmp_path_factory.getbasetemp() / "drawn.json"
    file.write_text(json.dumps(value))
    assert cli.main(["check", str(file), *(["--relax"] if relax else [])]) in (0, 1, 2)


def test_wrong_usage_has_a_status_of_its_own() -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["check"])
    assert ended.value.code == 2


def test_what_may_not_be_meant_is_noted_with_its_path(check: Check, run: Run) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}
    status, found = check([chat("f", schema)], options=["--no-closed-objects"])
    assert status == 0
    (one,) = found["checked"]
    at = "$[0].function.parameters"
    assert [note["path"] for note in one["notes"]] == [at, f"{at}.properties.a.nullable"]
    assert [note["keyword"] for note in one["notes"]] == ["additionalProperties", "nullable"]
    _, found = check([chat("f", schema)])
    assert [note["keyword"] for note in found["checked"][0]["notes"]] == ["nullable"]
    status, out, _ = run(chat("f", schema))
    assert status == 0
    assert any("note: `nullable` is no keyword" in line for line in out)


MISTAKEN = {"type": "object", "properties": {"a": {"type": "string", "required": True}}}


@pytest.mark.parametrize(("schema", "status"), [(EXACT, 0), (MISTAKEN, 1)])
def test_notes_fail_where_they_are_to(check: Check, schema: Any, status: int) -> None:
    assert check(chat("f", schema))[0] == 0
    assert check(chat("f", schema), options=["--fail-on-notes"])[0] == status


def test_a_mistake_is_told_once(check: Check) -> None:
    schema = {"type": "object", "properties": {"tags": {"type": "array", "enum": ["a"]}}}
    (one,) = check(chat("f", schema))[1]["checked"]
    at = "$.function.parameters.properties.tags.enum"
    assert [note["path"] for note in one["notes"]] == [at]
    (one,) = check(chat("f", schema | {"required": ["tags"]}))[1]["checked"]
    assert ([problem["path"] for problem in one["problems"]], one["notes"]) == ([at], [])


def test_what_a_format_cannot_write_is_refused(check: Check) -> None:
    tools = [chat("from"), chat("a.b"), chat("fine")]
    for dialect in ("pythonic", "pythonic_enforced", "llama4_pythonic"):
        status, found = check(tools, options=["--dialect", dialect])
        assert status == 1
        assert [one["status"] for one in found["checked"]] == ["refused", "refused", "exact"]
        assert "identifier" in found["checked"][0]["problems"][0]["reason"]
    for dialect in ("kimi_k2", "kimi_k3", "hermes", "glm45", "granite-20b-fc"):
        assert check(tools, options=["--dialect", dialect])[0] == 0


URI = "https://schemas.example.com/city"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "city.json").write_text(json.dumps({"$id": URI, "enum": ["Rome"]}))
    (folder / "bad.json").write_text(json.dumps({"$id": f"{URI}/bad", "pattern": r"(a)\1"}))
    return folder


def test_documents_are_read(check: Check, documents: Path) -> None:
    tool = chat("f", {"type": "object", "properties": {"a": {"$ref": URI}}})
    assert check(tool)[0] == 1
    status, found = check(tool, options=["--documents", str(documents)])
    assert status == 0
    assert found["counts"]["exact"] == 1


def test_documents_are_read_by_where_they_are_served(check: Check, documents: Path) -> None:
    served = {"items": {"$ref": "https://a.example.com/s/city.json"}}
    assert check(served, options=["--documents", f"https://a.example.com/s={documents}"])[0] == 0


def test_a_problem_in_a_document_is_told_with_the_document(check: Check, documents: Path) -> None:
    tool = chat("f", {"properties": {"a": {"$ref": f"{URI}/bad"}}})
    status, found = check(tool, options=["--documents", str(documents)])
    assert status == 1
    [problem] = found["checked"][0]["problems"]
    assert problem["path"] == f"$.function.parameters.properties.a -> {URI}/bad.pattern"


def test_a_broken_document_is_an_error_that_names_it(run: Run, documents: Path) -> None:
    (documents / "city.json").write_text("{")
    status, _, err = run("{}", options=("--documents", str(documents)))
    assert status == 2
    assert any(f"{documents}/city.json is not JSON" in line for line in err)


@pytest.mark.parametrize("text", ["[]", '{"tools": []}', '[[], {"tools": []}]'])
def test_nothing_to_check_is_no_success(text: str, run: Run) -> None:
    status, out, [err] = run(text)
    assert (status, out) == (2, ["0 checked"])
    assert "nothing to check" in err
    assert run(text, options=("--json",))[0] == 2


def test_a_file_with_nothing_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("[]")
    (tmp_path / "some.json").write_text('{"type": "object"}')
    assert cli.main(["check", str(tmp_path)]) == 0


def test_an_optional_property_that_nothing_fits_is_noted(check: Check) -> None:
    empty = {"type": "integer", "minimum": 5, "maximum": 3}
    meant = {"no": False, "never": {"not": {}}, "city": {"type": "string"}}
    schema = {"type": "object", "properties": {"x": empty, **meant}, "additionalProperties": False}
    status, found = check(chat("f", schema))
    assert status == 0
    [note] = found["checked"][0]["notes"]
    assert note["path"] == "$.function.parameters.properties.x"
    assert "never be given" in note["reason"]


@pytest.mark.parametrize("options", [[], ["--relax"]])
def test_likely_mistakes_are_noted_of_refusals_too(check: Check, options: list[str]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "float"}, "m": {"minlength": 3}}}
    status, report = check(chat("f", schema), options=options)
    assert status == 1
    (one,) = report["checked"]
    assert [note["keyword"] for note in one["notes"]] == ["minlength"]
