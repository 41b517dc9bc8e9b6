"""What `enforcer check` says of time: a server's check, and calls that may have to end in it."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.checking.work import LOOK, SECONDS, TOO_SLOW
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.tools import cli
from tests.tools.cli.declared import EXACT, UNIQUE, chat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the checks to come take these seconds of processor time, whatever they take."""

    def put(*seconds: float) -> None:
        ends = accumulate(seconds)
        times = iter([0.0, *(end for end in ends for _ in ("its end", "the next one's begin"))])
        monkeypatch.setattr("enforcer.tools.cli.verdicts.process_time", lambda: next(times))

    return put


@pytest.mark.parametrize("schema", [EXACT, UNIQUE])
def test_what_a_server_has_no_time_for_is_refused_in_its_words(
    check: Callable[..., tuple[int, dict[str, Any]]], takes: Callable[..., None], schema: Any
) -> None:
    takes(SECONDS + 0.5)
    status, found = check(chat("f", schema))
    assert status == 1
    [one] = found["checked"]
    assert (one["status"], one["error"], one["rules"]) == ("refused", "SchemaLimit", 0)
    assert (one["relaxable"], one["milliseconds"]) == (False, 2500)
    [problem] = one["problems"]
    assert problem["path"] == "$.function.parameters"
    assert problem["reason"] == f"{TOO_SLOW}; here it took 2.5 s"


def test_a_format_of_text_has_no_more_time(
    check: Callable[..., tuple[int, dict[str, Any]]], takes: Callable[..., None]
) -> None:
    body = {"messages": [], "structured_outputs": {"regex": "a+"}}
    takes(SECONDS + 1)
    assert check(body)[1]["checked"][0]["error"] == "SchemaLimit"
    takes(SECONDS)
    status, found = check(body)
    assert (status, len(found["checked"][0]["notes"])) == (0, 1)


def test_what_is_slow_on_a_server_is_noted_with_its_time(
    check: Callable[..., tuple[int, dict[str, Any]]], takes: Callable[..., None]
) -> None:
    takes(LOOK, LOOK + 0.5, LOOK + 0.5)
    status, found = check([chat("f"), chat("g"), chat("h", UNIQUE)])
    assert status == 1
    quick, slow, refused = found["checked"]
    assert not quick["notes"]
    [note] = slow["notes"]
    assert (slow["status"], note["path"]) == ("exact", "$[1].function.parameters")
    assert "counts as slow on a server" in note["reason"]
    assert "here it took 0.8 s of processor time" in note["reason"]
    assert refused["error"] == "UnsupportedSchema"
    assert not refused["notes"]


def test_what_would_not_end_is_ended(
    check: Callable[..., tuple[int, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: Any, **__: Any) -> None:
        while True:
            pass

    monkeypatch.setattr("enforcer.tools.cli.verdicts.compile_schema", endless)
    monkeypatch.setattr("enforcer.tools.cli.verdicts.SECONDS", 0.01)
    status, found = check([chat("f"), chat("g")])
    assert status == 1
    for one in found["checked"]:
        assert one["error"] == "SchemaLimit"
        assert one["problems"][0]["reason"].startswith(f"{TOO_SLOW}; here it was stopped after 0.")


def test_a_superset_that_would_not_be_found_is_none(
    check: Callable[..., tuple[int, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(schema: Any, *, on_unsupported: OnUnsupported, **more: Any) -> Any:
        while on_unsupported is OnUnsupported.RELAX:
            pass
        return compile_schema(schema, on_unsupported=on_unsupported, **more)

    assert check(chat("f", UNIQUE))[1]["checked"][0]["relaxable"]
    monkeypatch.setattr("enforcer.tools.cli.verdicts.compile_schema", endless)
    monkeypatch.setattr("enforcer.tools.cli.verdicts._STOPPED", 0.2)
    assert not check(chat("f", UNIQUE))[1]["checked"][0]["relaxable"]


TEXT = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string"}}}


def test_a_request_whose_schemas_take_too_long_together_is_told(
    check: Callable[..., tuple[int, dict[str, Any]]],
    takes: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tools = [chat(name, {"type": "object", "title": name}) for name in "fg"]
    body = {"messages": [], "tools": tools, "response_format": TEXT}
    takes(0.9, 0.9, 0.9)
    status, found = check({"request": body}, {"messages": []})
    assert status == 0
    assert found["heavy"] == [
        {"where": f"{tmp_path}/file.json:1", "path": "$.request", "milliseconds": 2700}
    ]
    (tmp_path / "file.json").write_text(json.dumps(body))
    takes(0.9, 0.9, 0.9)
    assert cli.main(["check", str(tmp_path / "file.json")]) == 0
    told, last = capsys.readouterr().out.splitlines()[-2:]
    assert told.startswith(f"{tmp_path}/file.json: the schemas of this request take 2.7 s")
    assert "503" in told
    assert last == "3 checked: 3 exact; 3 with notes"


def test_what_a_server_does_not_check_at_once_is_not_added_up(
    check: Callable[..., tuple[int, dict[str, Any]]], takes: Callable[..., None]
) -> None:
    tools = [chat(name, {"type": "object", "title": name}) for name in "fg"]
    tools[1]["function"]["parameters"]["minProperties"] = 1
    takes(1.5, 1.5)
    assert check(tools)[1]["heavy"] == []  # which may be sent in requests of their own
    takes(1.5, 0.5)
    assert check({"messages": [], "tools": tools})[1]["heavy"] == []
    alike = [chat(name, EXACT) for name in "fg"]
    takes(1.5, 1.5)
    assert check({"messages": [], "tools": alike})[1]["heavy"] == []  # one schema, checked once
    takes(1.5, 1.5)
    assert check({"messages": [], "tools": [tools[0], chat("g", UNIQUE)]})[1]["heavy"] == []
    takes(1.5, 1.5)  # the first is remembered
    one, two = ({"messages": [], "tools": part} for part in (tools[:1], tools))
    assert check(one, two)[1]["heavy"] == []


@pytest.mark.parametrize(
    ("schema", "status"),
    [
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, 1),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, 0),
        ({"type": "string"}, 0),
    ],
)
def test_what_cannot_be_finished_within_a_budget(
    check: Callable[..., tuple[int, dict[str, Any]]], schema: Any, status: int
) -> None:
    tool = chat("f", {"type": "object", "properties": {"a": schema}, "required": ["a"]})
    assert check([tool])[0] == 0
    found, report = check([tool], options=["--finish-within-budget"])
    assert found == status
    (one,) = report["checked"]
    if status:
        (problem,) = one["problems"]
        assert problem["path"] == "$[0].function.parameters.properties.a.uniqueItems"
        assert (
            "without `finish_within_budget`, which may be the server's own setting, it is enforced"
            in problem["reason"]
        )
        assert one["error"] == "UnsupportedSchema"  # as on a server
        assert one["relaxable"]
    assert len(one["untimed"]) == status
    found, report = check([tool], options=["--finish-within-budget", "--relax"])
    (one,) = report["checked"]
    assert (found, one["status"]) == (0, "exact")
    assert len(one["untimed"]) == status


def test_whose_calls_may_be_cut_off_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.json"
    unique = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    tools = [chat("tag", {"type": "object", "properties": {"a": unique}}), chat("f")]
    file.write_text(json.dumps(tools))
    assert cli.main(["check", "--finish-within-budget", str(file)]) == 1
    said = capsys.readouterr().out
    assert "--relax would enforce it as it is, and let its calls be cut off" in said
    assert "2 checked: 1 exact, 1 refused\n" in said
    assert cli.main(["check", "--finish-within-budget", "--relax", str(file)]) == 0
    said = capsys.readouterr().out
    assert (
        said.count("calls may be cut off by `max_tokens`: the shortest completion of an array") == 1
    )
    assert "2 checked: 2 exact; calls to 1 tool may be cut off by `max_tokens`\n" in said


def test_all_that_keeps_calls_from_ending_in_time_is_listed(
    check: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    each = {"type": "array", "uniqueItems": True}
    of = {"a": each | {"items": {"type": "string"}}, "b": each | {"items": {"type": "integer"}}}
    tool = chat("f", {"type": "object", "properties": {**of, "c": {"minProperties": 2}}})
    _, report = check(tool, options=["--finish-within-budget"])
    (one,) = report["checked"]
    assert [(p["path"].rpartition("properties.")[2], p["keyword"]) for p in one["problems"]] == [
        ("a.uniqueItems", "uniqueItems"),
        ("b.uniqueItems", "uniqueItems"),
        ("c.minProperties", "minProperties"),
    ]


def test_a_format_that_cannot_end_in_time_is_refused_relaxed_or_not(
    check: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    for options in (["--finish-within-budget"], ["--finish-within-budget", "--relax"]):
        status, report = check({"messages": [], "response_format": form}, options=options)
        (one,) = report["checked"]
        assert (status, one["status"], one["relaxable"]) == (1, "refused", False)
        path = "$.response_format.json_schema.schema.uniqueItems"
        assert one["problems"][0]["path"] == path


def test_text_of_which_no_shortest_end_is_known(
    check: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    body = {"messages": [], "structured_outputs": {"regex": "a+"}}
    assert check(body)[0] == 0
    status, report = check(body, options=["--finish-within-budget"])
    assert status == 1
    (problem,) = report["checked"][0]["problems"]
    assert problem["reason"].startswith("how many tokens such a text needs to end is not known")
    assert problem["path"] == "$.structured_outputs.regex"


def test_a_format_of_which_no_shortest_end_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["check", "--finish-within-budget", "--dialect", "kimi_k3", "-"]
    assert cli.main(given) == 2
    assert "is not supported for the format kimi_k3" in capsys.readouterr().err
