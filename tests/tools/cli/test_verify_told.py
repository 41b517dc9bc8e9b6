"""What `enforcer verify` says where it cannot measure, or is not left to."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from enforcer.tools import cli
from tests.fake_server import call, reply, serving
from tests.support.cases import parametrized
from tests.support.json_lines import write
from tests.support.tools import tool
from tests.tools.cli.answers import USER, Command, Verify, asks_enum, calling, enforced


def test_the_key_comes_from_the_environment(
    verify: Verify, schemas: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server = verify(enforced, "--schemas", schemas)[3]
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer secret"}


@parametrized("tools/cli/cases/verify_told.toml", "usage")
def test_what_cannot_be_run_is_told(
    verify: Verify, schemas: str, options: tuple[str, ...], message: str
) -> None:
    told = [option.format(schemas=schemas) for option in options]
    status, report, out, _ = verify(enforced, *told)
    assert (status, report) == (2, None)
    assert message in out


def test_no_server_is_told(verify: Verify, schemas: str) -> None:
    status, _, out, _ = verify(enforced, "--schemas", schemas, url="http://127.0.0.1:9")
    assert status == 2
    assert "no server answers" in out


def test_a_model_that_is_not_served_is_told(verify: Verify, schemas: str) -> None:
    def missing(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return 404, {"error": {"message": "The model `wrong` does not exist.", "code": 404}}

    status, report, out, _ = verify(missing, "--schemas", schemas, "--model", "wrong")
    assert (status, report) == (2, None)
    assert "no request was answered: HTTP 404: The model `wrong` does not exist." in out
    assert "(is wrong a model of that server? --model names it)" in out
    assert "--max-tokens" not in out


def test_a_wrong_path_in_the_url_is_told(verify: Verify, schemas: str) -> None:
    status, _, out, server = verify(enforced, "--schemas", schemas, listing=(404, {}))
    assert status == 2
    assert f"HTTP 404 at {server.url}/v1/models" in out


def test_a_pasted_route_is_no_base(schemas: str) -> None:
    with serving(enforced) as server:
        url = f"{server.url}/v1/chat/completions"
        assert cli.main(["verify", "--url", url, "--schemas", schemas, "--quiet"]) == 0


def test_refusals_are_told_whole(verify: Verify, schemas: str) -> None:
    path = "$.tools[0].function.parameters" + ".properties.a" * 40
    message = f"UnsupportedSchema: {'because ' * 100}(at `{path}`, keyword `multipleOf`)"

    def refusing(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return 400, {"error": {"message": message, "type": "BadRequestError"}}

    status, report, out, _ = verify(refusing, "--schemas", schemas)
    assert status == 1
    assert out.count(message) == 2  # of two schemas
    assert f"{message} (2 times)" in out  # whole and streamed
    assert "every request was refused" in out
    assert "--allow-refused" in out
    assert report["results"][0]["findings"][0]["message"].endswith(f"HTTP 400: {message}")


@pytest.mark.slow
def test_a_long_value_does_not_hide_the_path(verify: Verify, schemas: str) -> None:
    def long(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "tool_calls", calls=[call("submit", json.dumps({"value": "x" * 5000}))])

    assert "(at `$.value`)" in verify(long, "--schemas", schemas)[2]


@pytest.mark.slow
def test_an_interruption_shows_what_was_measured(schemas: str, tmp_path: Path) -> None:
    answered = threading.Event()
    hanging = threading.Event()

    def slow(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if asks_enum(body):
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


def test_one_of_several_models_must_be_named(verify: Verify, schemas: str) -> None:
    listing = (200, {"data": [{"id": "a"}, {"id": "b"}]})
    status, _, out, _ = verify(enforced, "--schemas", schemas, listing=listing)
    assert status == 2
    assert "one of a, b" in out
    assert verify(enforced, "--schemas", schemas, "--model", "b", listing=listing)[0] == 0


def test_progress_is_shown_on_standard_error(schemas: str, command: Command) -> None:
    with serving(enforced) as server:
        status, _, err = command("verify", "--url", server.url, "--schemas", schemas)
    assert status == 0
    assert "4 of 4 answered" in err


def test_no_client_is_told(schemas: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "enforcer.tools.verify.client", raising=False)
    monkeypatch.delattr("enforcer.tools.verify.client", raising=False)
    status, _, err = command("verify", "--url", "http://127.0.0.1:9", "--schemas", schemas)
    assert status == 2
    assert "pip install '.[cli]'" in err


def test_an_unwritable_report_is_told_at_once(verify: Verify, schemas: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    unwritable = str(tmp_path / "file" / "report.json")
    status, _, out, server = verify(enforced, "--schemas", schemas, "--report", unwritable)
    assert (status, server.bodies) == (2, [])
    assert "cannot write" in out


def test_a_report_is_not_there_before_it_is_written(verify: Verify, tmp_path: Path) -> None:
    assert verify(enforced, "--schemas", "absent.jsonl")[:2] == (2, None)
    assert not (tmp_path / "report.json").exists()


def test_one_malformed_schema_does_not_end_a_measurement(verify: Verify, tmp_path: Path) -> None:
    schemas: list[Any] = [{}, {"type": "dict"}, {"$schema": 3}, "x", {"properties": []}]
    bodies = ({"messages": [USER], "tools": [tool("f", each)]} for each in schemas)
    file = write(tmp_path / "requests.jsonl", *bodies)
    status, report, out, _ = verify(calling, "--requests", str(file))
    assert status == 1
    row = report["runs"]["requests"]
    assert (row["requests"], row["successful_calls"]) == (5, 1)
    assert "the schema cannot be evaluated" in out


def test_server_messages_forge_no_line_and_are_whole(verify: Verify, requests: str) -> None:
    name = "a\x1b[2J\nforged\u202e\ud800"

    def calling(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "tool_calls", calls=[call(name, "{}", call_id=name)])

    status, report, out, _ = verify(calling, "--requests", requests)
    assert status == 1
    assert [one["calls"][0]["name"] for one in report["results"]] == [name, name]
    assert out.replace("\n", "").isprintable()
    assert not any(line.startswith("forged") for line in out.splitlines())

    def refusing(_: dict[str, Any]) -> tuple[int, Any]:
        return 400, {"error": {"message": name}}

    _, _, out, _ = verify(refusing, "--requests", requests)
    assert "a\\x1b[2J\\nforged\\u202e\\ud800" in out
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--concurrency", "0"], "argument --concurrency: "),
        (["--timeout", "nan"], "argument --timeout: "),
        (["--stream", "maybe"], "argument --stream: "),
        (["--temperature", "nan"], "argument --temperature: nan is not a number"),
        (["--temperature", "inf"], "argument --temperature: inf is not a number"),
        (["--extra-body", '{"a": NaN}'], "argument --extra-body: cannot be sent as JSON: NaN"),
        (["--extra-body", '{"a": 1e999}'], "argument --extra-body: cannot be sent as JSON: "),
        (["--extra-body", '{"a": ' + "[" * 3_000], "nested too deeply"),
        (["--extra-body", '{"a": ' + "9" * 5_000 + "}"], "an integer of 5,000 digits"),
        (["--extra-body", "[]"], "not a JSON object"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_option_that_cannot_be_sent_is_at_fault_and_no_server(
    requests: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", "--url", "http://127.0.0.1:9", "--requests", requests, *words])
    assert ended.value.code == cli.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("key", ["é", "secret\nkey", "secret "])
def test_an_invalid_key_is_told_and_not_shown(requests: str, key: str, command: Command) -> None:
    words = ["--url", "http://127.0.0.1:9", "--requests", requests, "--key", key]
    status, _, told = command("verify", *words)
    assert status == cli.USAGE
    assert "the API key" in told
    assert "secret" not in told
    assert "no server answers" not in told
