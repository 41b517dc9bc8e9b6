from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from enforcer import cli
from tests.fake_server import call, reply, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fake_server import FakeServer


SCHEMAS = [{"type": "integer"}, {"enum": ["a"]}]
GOOD = {"integer": '{"value": 1}', "enum": '{"value": "a"}'}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
USER = {"role": "user", "content": "hi"}


def enforced(body: dict[str, Any]) -> tuple[int, Any]:
    schema = body["tools"][0]["function"]["parameters"]["properties"]["value"]
    arguments = GOOD["enum" if "enum" in schema else "integer"]
    return reply(body, "tool_calls", calls=[call("submit", arguments)])


def loose(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return reply(body, "tool_calls", calls=[call("submit", '{"value": null}', index=3)])


@pytest.fixture
def schemas(tmp_path: Path) -> str:
    path = tmp_path / "schemas.jsonl"
    path.write_text("\n".join(map(json.dumps, SCHEMAS)))
    return str(path)


@pytest.fixture
def requests(tmp_path: Path) -> str:
    path = tmp_path / "requests.jsonl"
    body = {"messages": [USER], "tools": [TOOL]}
    path.write_text("\n".join(json.dumps({**body, "stream": s}) for s in (False, True)))
    return str(path)


@pytest.fixture
def verify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]]:
    def run(
        answer: Callable[..., Any], *options: str, url: str | None = None, **listing: Any
    ) -> tuple[int, dict[str, Any] | None, str, FakeServer]:
        report = tmp_path / "report.json"
        with serving(answer, **listing) as server:
            arguments = ["--url", url or server.url, "--report", str(report), "--quiet"]
            status = cli.main(["verify", *arguments, *options])
        out, err = capsys.readouterr()
        found = json.loads(report.read_text()) if report.exists() else None
        return status, found, out + err, server

    return run


def test_a_server_without_fault(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    status, report, out, server = verify(enforced, "--schemas", schemas)
    assert status == 0
    assert {(name, row["successful_calls"]) for name, row in report["runs"].items()} == {
        ("schemas, whole", 2),
        ("schemas, streamed", 2),
        ("all", 4),
    }
    assert sorted(bool(body["stream"]) for body in server.bodies) == [False, False, True, True]
    assert {body["model"] for body in server.bodies} == {"toy"}
    assert "100.00 %" in out


def test_violations_are_counted_and_told(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    status, report, out, _ = verify(loose, "--schemas", schemas, "--stream", "no")
    assert status == 1
    row = report["runs"]["schemas, whole"]
    assert (row["faults"]["schema"], row["faults"]["id"]) == (2, 2)
    assert row["schema_accuracy"] == 0
    assert "functions.submit:3" in out
    assert report["results"][0]["findings"]


def test_ids_may_be_judged_otherwise(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], requests: str
) -> None:
    def other(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "tool_calls", calls=[call("f", "{}", call_id="call_1")])

    assert verify(other, "--requests", requests)[0] == 1
    assert verify(other, "--requests", requests, "--ids", "unique")[0] == 0


def test_a_refusal_is_a_column_of_its_own(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    def refusing(body: dict[str, Any]) -> tuple[int, Any]:
        schema = body["tools"][0]["function"]["parameters"]["properties"]["value"]
        return (400, {"error": "unsupported"}) if "enum" in schema else enforced(body)

    status, report, out, _ = verify(refusing, "--schemas", schemas)
    assert status == 1
    assert report["runs"]["all"]["faults"]["refused"] == 2
    assert report["runs"]["all"]["faults"]["failed"] == 0
    said = "no reply violates what the requests demand; 2 have calls"
    assert f"\n{said}; the server refused 2 of 4 requests\n" in out
    assert verify(refusing, "--schemas", schemas, "--allow-refused")[0] == 0


def test_what_violates_what_is_refused_and_what_fails_are_told_apart(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], tmp_path: Path
) -> None:
    def mixed(body: dict[str, Any]) -> tuple[int, Any]:
        said = body["messages"][0]["content"]
        if said in ("refused", "failed"):
            return 400 if said == "refused" else 500, {"error": said}
        return loose(body) if said == "violates" else reply(body, "stop", "Hello.")

    file = tmp_path / "requests.jsonl"
    asked = ("refused", "violates", "failed", "good", "failed")
    bodies = ({"messages": [{"role": "user", "content": said}]} for said in asked)
    file.write_text("\n".join(map(json.dumps, bodies)))
    status, _, out, _ = verify(mixed, "--requests", str(file), "--allow-refused")
    assert status == 1
    line = "1 of 2 replies violate what the requests demand; 1 have calls"
    assert out.endswith(f"\n{line}; the server refused 1 of 5 requests; 2 of 5 requests failed\n")


def test_requests_are_named_by_their_records(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    schemas: str,
    tmp_path: Path,
) -> None:
    def stopping(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "stop", "Hello.")

    file = tmp_path / "requests.jsonl"
    body = {"messages": [USER]}
    file.write_text("\n".join(map(json.dumps, [body, {"input": "hi"}, body])))
    _, report, _, server = verify(stopping, "--requests", str(file))
    named = ["enforcer-verify-1", "enforcer-verify-3"]
    assert sorted(headers["X-Request-Id"] for headers in server.headers) == named
    assert [one["request_id"] for one in report["results"]] == named
    _, _, _, server = verify(enforced, "--schemas", schemas, "--stream", "no")
    named = ["enforcer-verify-1", "enforcer-verify-2"]
    assert sorted(headers["X-Request-Id"] for headers in server.headers) == named


def test_cut_off_replies_are_counted_apart(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    def cutting(body: dict[str, Any]) -> tuple[int, Any]:
        schema = body["tools"][0]["function"]["parameters"]["properties"]["value"]
        return reply(body, "length") if "enum" in schema else enforced(body)

    status, report, _, _ = verify(cutting, "--schemas", schemas)
    assert status == 0
    assert report["runs"]["all"]["cut_off"] == 2
    assert report["runs"]["all"]["with_calls"] == 2


def test_what_the_server_aborts_has_failed(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    def stopping(body: dict[str, Any]) -> tuple[int, Any]:
        schema = body["tools"][0]["function"]["parameters"]["properties"]["value"]
        begun = [call("submit", '{"val')]
        return reply(body, "abort", calls=begun) if "enum" in schema else enforced(body)

    status, report, out, _ = verify(stopping, "--schemas", schemas)
    assert status == 1
    faults = report["runs"]["all"]["faults"]
    assert {name: count for name, count in faults.items() if count} == {"failed": 2}
    assert "jsonl:2: the server aborted the reply" in out
    status, _, out, _ = verify(lambda body: reply(body, "abort"), "--schemas", schemas)
    assert status == 2
    assert "no request was answered: the server aborted the reply" in out


def test_what_was_aborted_is_compared_with_nothing(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    requests: str,
    tmp_path: Path,
) -> None:
    def stopping(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "abort" if body["stream"] else "stop", "Hello.")

    reference = tmp_path / "reference.jsonl"
    reference.write_text('"stop"\n"stop"')
    _, report, _, _ = verify(stopping, "--requests", requests, "--reference", str(reference))
    assert report["trigger_similarity"]["compared"] == 1


def test_a_reply_that_was_cut_off_must_not_report_a_call(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    def reporting(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "length", calls=[call("submit", '{"val')])

    status, report, _, _ = verify(reporting, "--schemas", schemas)
    assert status == 1
    assert report["runs"]["schemas, whole"]["faults"]["finish"] == 2
    assert report["runs"]["schemas, streamed"]["faults"]["finish"] == 0


def test_nothing_complete_shows_nothing(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    status, _, out, _ = verify(lambda body: reply(body, "length"), "--schemas", schemas)
    assert status == 2
    assert "--max-tokens" in out


def test_recorded_requests_are_replayed_and_compared(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    requests: str,
    tmp_path: Path,
) -> None:
    reference = tmp_path / "reference.jsonl"
    reference.write_text('"tool_calls"\n"stop"')

    def calling(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "tool_calls", calls=[call("f", "{}")])

    status, report, out, server = verify(
        calling, "--requests", requests, "--reference", str(reference), "--max-tokens", "9",
        "--temperature", "0", "--extra-body", '{"seed": 7}',
    )  # fmt: skip
    assert status == 0
    assert [bool(b["stream"]) for b in sorted(server.bodies, key=lambda b: b["stream"])] == [0, 1]
    assert {(b["max_tokens"], b["temperature"], b["seed"]) for b in server.bodies} == {(9, 0, 7)}
    assert report["trigger_similarity"]["f1"] == pytest.approx(2 / 3)
    assert "66.66 %" in out


def test_a_report_is_a_reference(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    requests: str,
    tmp_path: Path,
) -> None:
    def stopping(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "stop", "Hello.")

    earlier = tmp_path / "earlier.json"
    verify(stopping, "--requests", requests)
    earlier.write_text((tmp_path / "report.json").read_text())
    status, report, _, _ = verify(stopping, "--requests", requests, "--reference", str(earlier))
    assert status == 0
    assert report["trigger_similarity"] == {
        "f1": 1.0, "compared": 2, "both": 0, "ours": 0, "theirs": 0, "neither": 2
    }  # fmt: skip


def test_a_reference_that_was_interrupted_is_told(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    requests: str,
    tmp_path: Path,
) -> None:
    def stopping(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "stop", "Hello.")

    _, whole, out, _ = verify(stopping, "--requests", requests)
    assert (whole["requests"], whole["measured"]) == (2, 2)
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps({**whole, "measured": 1, "results": whole["results"][1:]}))
    named = ("--requests", requests, "--reference", str(earlier))
    status, report, out, _ = verify(stopping, *named)
    assert (status, report["trigger_similarity"]["compared"]) == (0, 1)
    assert "The reference was interrupted: 1 of its 2 requests were measured" in out
    earlier.write_text(json.dumps(whole))
    assert "interrupted" not in verify(stopping, *named)[2]


def test_undeclared_calls_of_a_replay(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], requests: str
) -> None:
    def undeclared(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "tool_calls", calls=[call("img_gen", "{}")])

    status, report, _, _ = verify(undeclared, "--requests", requests)
    assert (status, report["runs"]["requests"]["faults"]["undeclared"]) == (1, 2)


def test_a_limit_sends_the_first(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    assert len(verify(enforced, "--schemas", schemas, "--limit", "1")[3].bodies) == 2


def test_the_key_comes_from_the_environment(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    schemas: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server = verify(enforced, "--schemas", schemas)[3]
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer secret"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to send"),
        (("--schemas", "absent.jsonl"), "cannot read"),
        (("--schemas", "{schemas}", "--reference", "x"), "--requests"),
    ],
)
def test_what_cannot_be_run_is_told(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    schemas: str,
    options: tuple[str, ...],
    message: str,
) -> None:
    told = [option.format(schemas=schemas) for option in options]
    status, report, out, _ = verify(enforced, *told)
    assert (status, report) == (2, None)
    assert message in out


def test_no_server_is_told(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    status, _, out, _ = verify(enforced, "--schemas", schemas, url="http://127.0.0.1:9")
    assert status == 2
    assert "no server answers" in out


def test_a_model_that_is_not_served_is_told(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    def missing(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return 404, {"error": {"message": "The model `wrong` does not exist.", "code": 404}}

    status, report, out, _ = verify(missing, "--schemas", schemas, "--model", "wrong")
    assert (status, report) == (2, None)
    assert "no request was answered: HTTP 404: The model `wrong` does not exist." in out
    assert "--max-tokens" not in out


def test_a_wrong_path_in_the_url_is_told(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    status, _, out, server = verify(enforced, "--schemas", schemas, listing=(404, {}))
    assert status == 2
    assert f"HTTP 404 at {server.url}/v1/models" in out


def test_a_pasted_route_is_no_base(schemas: str) -> None:
    with serving(enforced) as server:
        url = f"{server.url}/v1/chat/completions"
        assert cli.main(["verify", "--url", url, "--schemas", schemas, "--quiet"]) == 0


def test_refusals_are_told_whole(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    path = "$.tools[0].function.parameters" + ".properties.a" * 40
    message = f"UnsupportedSchema: {'because ' * 100}(at `{path}`, keyword `multipleOf`)"

    def refusing(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return 400, {"error": {"message": message, "type": "BadRequestError"}}

    status, report, out, _ = verify(refusing, "--schemas", schemas)
    assert status == 1
    assert message in out
    assert "every request was refused" in out
    assert report["results"][0]["findings"][0]["message"].endswith(f"HTTP 400: {message}")


def test_a_long_value_does_not_hide_the_path(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    def long(body: dict[str, Any]) -> tuple[int, Any]:
        arguments = json.dumps({"value": "x" * 5000})
        return reply(body, "tool_calls", calls=[call("submit", arguments)])

    assert "(at `$.value`)" in verify(long, "--schemas", schemas)[2]


def test_an_interruption_shows_what_was_measured(schemas: str, tmp_path: Path) -> None:
    answered = threading.Event()
    hanging = threading.Event()

    def slow(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "enum" in body["tools"][0]["function"]["parameters"]["properties"]["value"]:
            answered.set()
            hanging.wait(60)
        return enforced(body)

    report = tmp_path / "report.json"
    with serving(slow) as server:
        options = ["--url", server.url, "--schemas", schemas, "--report", str(report), "--quiet"]
        command = [sys.executable, "-m", "enforcer", "verify", *options, "--concurrency", "1"]
        # As in a terminal, wherever the tests run: a shell has its background jobs ignore it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        running = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
        signal.signal(signal.SIGINT, before)
        assert answered.wait(60)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        hanging.set()
    assert running.returncode == 130
    assert "successful calls" in out
    assert "interrupted: 1 of 4 requests were measured" in err
    assert "Traceback" not in err
    written = json.loads(report.read_text())
    assert (written["requests"], written["measured"], len(written["results"])) == (4, 1, 1)


def test_one_of_several_models_must_be_named(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    listing = (200, {"data": [{"id": "a"}, {"id": "b"}]})
    status, _, out, _ = verify(enforced, "--schemas", schemas, listing=listing)
    assert status == 2
    assert "one of a, b" in out
    assert verify(enforced, "--schemas", schemas, "--model", "b", listing=listing)[0] == 0


@pytest.mark.parametrize(
    "options",
    [("--concurrency", "0"), ("--timeout", "nan"), ("--extra-body", "[]"), ("--stream", "maybe")],
)
def test_wrong_options_are_wrong_usage(options: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", "--url", "http://x", *options])
    assert ended.value.code == 2


def test_progress_is_shown_on_standard_error(
    schemas: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(enforced) as server:
        assert cli.main(["verify", "--url", server.url, "--schemas", schemas]) == 0
    assert "4 of 4 answered" in capsys.readouterr().err


def test_progress_is_a_bar_on_a_terminal(
    schemas: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")  # which rich takes for a terminal
    with serving(enforced) as server:
        assert cli.main(["verify", "--url", server.url, "--schemas", schemas]) == 0
    assert "4/4" in capsys.readouterr().err


def test_progress_needs_no_package(
    schemas: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with serving(enforced) as server:
        assert cli.main(["verify", "--url", server.url, "--schemas", schemas]) == 0
    assert "4 of 4 answered" in capsys.readouterr().err


def test_a_missing_client_is_told(
    schemas: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "enforcer.verify.client", raising=False)
    monkeypatch.delattr("enforcer.verify.client", raising=False)
    assert cli.main(["verify", "--url", "http://127.0.0.1:9", "--schemas", schemas]) == 2
    assert "pip install httpx" in capsys.readouterr().err


HERMES = 'enforcer_dialect{dialect="hermes"} 1.0\n'


def test_the_format_is_what_the_server_tells(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], schemas: str
) -> None:
    def hermes(body: dict[str, Any]) -> tuple[int, Any]:
        made = call("submit", GOOD["enum" if "enum" in str(body["tools"]) else "integer"])
        return reply(body, "tool_calls", calls=[{**made, "id": f"call-{len(str(body))}"}])

    status, _, printed, _ = verify(hermes, "--schemas", schemas, metrics=HERMES)
    assert status == 0
    assert printed.rstrip().endswith("no reply violates what the requests demand; 4 have calls")
    told, _, printed, _ = verify(
        hermes, "--schemas", schemas, "--dialect", "kimi_k2", metrics=HERMES
    )
    assert told == 1
    assert "4 of 4 replies violate what the requests demand; 4 have calls" in printed


def test_a_run_without_calls_says_so(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], requests: str
) -> None:
    def stopping(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "stop", content="No.")

    status, _, printed, _ = verify(stopping, "--requests", requests)
    assert status == 0
    assert "; 0 have calls" in printed


def test_recordings_that_check_reads_are_replayed(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], tmp_path: Path
) -> None:
    body = {"messages": [USER], "tools": [TOOL]}
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps({"custom_id": "1", "body": body}))

    def calling(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return reply(body, "tool_calls", calls=[call("f", "{}")])

    status, _, _, server = verify(calling, "--requests", str(path))
    assert status == 0
    assert [sent["messages"] for sent in server.bodies] == [[USER]]


def test_what_is_no_chat_request_is_skipped_with_a_note(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], tmp_path: Path
) -> None:
    file, reference = tmp_path / "mixed.jsonl", tmp_path / "reference.jsonl"
    body = {"messages": [USER], "tools": [TOOL]}
    file.write_text("\n".join(map(json.dumps, [{"input": "hi"}, body, {"input": "ho"}, body])))
    reference.write_text('"stop"\n"stop"\n"stop"\n"tool_calls"')

    def calling(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return reply(asked, "tool_calls", calls=[call("f", "{}")])

    named = ("--requests", str(file), "--reference", str(reference))
    status, report, out, server = verify(calling, *named)
    assert (status, len(server.bodies)) == (0, 2)
    assert f"2 records are skipped; the first: {file}:1 is no chat request" in out
    # A reference's lines are those of all records.
    compared = {key: report["trigger_similarity"][key] for key in ("both", "ours", "theirs")}
    assert compared == {"both": 1, "ours": 1, "theirs": 0}
    assert [one["data_index"] for one in report["results"]] == [2, 4]
    assert "a\nserver is not like itself" in out
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(report))
    _, report, _, _ = verify(calling, "--requests", str(file), "--reference", str(earlier))
    assert report["trigger_similarity"]["both"] == 2


def test_every_line_that_is_no_json_is_named_and_the_others_are_measured(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], tmp_path: Path
) -> None:
    file = tmp_path / "broken.jsonl"
    body = json.dumps({"messages": [USER], "tools": [TOOL]})
    file.write_text(f'{{"input": "hi"}}\n{body}\n{{"messages\n{body}\n{{\n{body}')

    def calling(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return reply(asked, "tool_calls", calls=[call("f", "{}")])

    status, report, out, server = verify(calling, "--requests", str(file))
    assert (status, len(server.bodies)) == (2, 3)
    assert f"enforcer: {file}:3 is not JSON" in out
    assert f"enforcer: {file}:5 is not JSON" in out
    assert f"1 record is skipped; {file}:1 is no chat request" in out
    assert out.endswith("2 lines are not JSON, and were not measured\n")
    assert [one["data_index"] for one in report["results"]] == [2, 4, 6]


def test_a_report_that_cannot_be_written_is_told_before_anything_is_sent(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]],
    schemas: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    unwritable = str(tmp_path / "file" / "report.json")
    status, _, out, server = verify(enforced, "--schemas", schemas, "--report", unwritable)
    assert (status, server.bodies) == (2, [])
    assert "cannot write" in out


def test_a_report_is_not_there_before_it_is_written(
    verify: Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]], tmp_path: Path
) -> None:
    assert verify(enforced, "--schemas", "absent.jsonl")[:2] == (2, None)
    assert not (tmp_path / "report.json").exists()
