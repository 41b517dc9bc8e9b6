"""What `enforcer verify` measures, and what it says of it."""

from pathlib import Path
from typing import Any

from tests.fake_server import call, reply
from tests.support.json_lines import write
from tests.tools.cli.answers import GOOD, REQUEST, Verify, asks_enum, enforced, loose, stopping

HERMES = 'enforcer_dialect{dialect="hermes"} 1.0\n'


def test_a_server_without_fault(verify: Verify, schemas: str) -> None:
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


def test_violations_are_counted_and_told(verify: Verify, schemas: str) -> None:
    status, report, out, _ = verify(loose, "--schemas", schemas, "--stream", "no")
    assert status == 1
    row = report["runs"]["schemas, whole"]
    assert (row["faults"]["schema"], row["faults"]["id"]) == (2, 2)
    assert row["schema_accuracy"] == 0
    assert "functions.submit:3" in out
    assert report["results"][0]["findings"]


def test_ids_may_be_judged_otherwise(verify: Verify, requests: str) -> None:
    def other(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "tool_calls", calls=[call("f", "{}", call_id="call_1")])

    assert verify(other, "--requests", requests)[0] == 1
    assert verify(other, "--requests", requests, "--ids", "unique")[0] == 0


def test_a_refusal_is_a_column_of_its_own(verify: Verify, schemas: str) -> None:
    def refusing(body: dict[str, Any]) -> tuple[int, Any]:
        return (400, {"error": "unsupported"}) if asks_enum(body) else enforced(body)

    status, report, out, _ = verify(refusing, "--schemas", schemas)
    assert status == 1
    assert report["runs"]["all"]["faults"]["refused"] == 2
    assert report["runs"]["all"]["faults"]["failed"] == 0
    said = "no reply violates what the requests demand; 2 have calls"
    assert f"\n{said}; the server refused 2 of 4 requests\n" in out
    assert verify(refusing, "--schemas", schemas, "--allow-refused")[0] == 0


def test_violations_refusals_and_failures_are_told_apart(verify: Verify, tmp_path: Path) -> None:
    def mixed(body: dict[str, Any]) -> tuple[int, Any]:
        said = body["messages"][0]["content"]
        if said in ("refused", "failed"):
            return 400 if said == "refused" else 500, {"error": said}
        return loose(body) if said == "violates" else reply(body, "stop", "Hello.")

    asked = ("refused", "violates", "failed", "good", "failed")
    bodies = ({"messages": [{"role": "user", "content": said}]} for said in asked)
    file = write(tmp_path / "requests.jsonl", *bodies)
    status, _, out, _ = verify(mixed, "--requests", str(file), "--allow-refused")
    assert status == 1
    line = "1 of 2 replies violate what the requests demand; 1 have calls"
    assert out.endswith(f"\n{line}; the server refused 1 of 5 requests; 2 of 5 requests failed\n")


def test_requests_are_named_by_their_records(verify: Verify, schemas: str, tmp_path: Path) -> None:
    file = write(tmp_path / "requests.jsonl", REQUEST, {"input": "hi"}, REQUEST)
    _, report, _, server = verify(stopping, "--requests", str(file))
    named = ["enforcer-verify-1", "enforcer-verify-3"]
    assert sorted(headers["X-Request-Id"] for headers in server.headers) == named
    assert [one["request_id"] for one in report["results"]] == named
    _, _, _, server = verify(enforced, "--schemas", schemas, "--stream", "no")
    named = ["enforcer-verify-1", "enforcer-verify-2"]
    assert sorted(headers["X-Request-Id"] for headers in server.headers) == named


def test_cut_off_replies_are_counted_apart(verify: Verify, schemas: str) -> None:
    def cutting(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "length") if asks_enum(body) else enforced(body)

    status, report, _, _ = verify(cutting, "--schemas", schemas)
    assert status == 0
    assert report["runs"]["all"]["cut_off"] == 2
    assert report["runs"]["all"]["with_calls"] == 2


def test_what_the_server_aborts_has_failed(verify: Verify, schemas: str) -> None:
    def aborting(body: dict[str, Any]) -> tuple[int, Any]:
        begun = [call("submit", '{"val')]
        return reply(body, "abort", calls=begun) if asks_enum(body) else enforced(body)

    status, report, out, _ = verify(aborting, "--schemas", schemas)
    assert status == 1
    faults = report["runs"]["all"]["faults"]
    assert {name: count for name, count in faults.items() if count} == {"failed": 2}
    assert "jsonl:2: the server aborted the reply" in out
    status, _, out, _ = verify(lambda body: reply(body, "abort"), "--schemas", schemas)
    assert status == 2
    assert "no request was answered: the server aborted the reply" in out


def test_aborted_requests_are_not_compared(verify: Verify, requests: str, tmp_path: Path) -> None:
    def aborting(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "abort" if body["stream"] else "stop", "Hello.")

    reference = write(tmp_path / "reference.jsonl", "stop", "stop")
    _, report, _, _ = verify(aborting, "--requests", requests, "--reference", str(reference))
    assert report["trigger_similarity"]["compared"] == 1


def test_a_reply_that_was_cut_off_must_not_report_a_call(verify: Verify, schemas: str) -> None:
    def reporting(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "length", calls=[call("submit", '{"val')])

    status, report, _, _ = verify(reporting, "--schemas", schemas)
    assert status == 1
    assert report["runs"]["schemas, whole"]["faults"]["finish"] == 2
    assert report["runs"]["schemas, streamed"]["faults"]["finish"] == 0


def test_nothing_complete_shows_nothing(verify: Verify, schemas: str) -> None:
    status, _, out, _ = verify(lambda body: reply(body, "length"), "--schemas", schemas)
    assert status == 2
    assert "--max-tokens" in out


def test_the_format_is_what_the_server_tells(verify: Verify, schemas: str) -> None:
    def hermes(body: dict[str, Any]) -> tuple[int, Any]:
        made = call("submit", GOOD["enum" if asks_enum(body) else "integer"])
        return reply(body, "tool_calls", calls=[{**made, "id": f"call-{len(str(body))}"}])

    status, _, printed, _ = verify(hermes, "--schemas", schemas, metrics=HERMES)
    assert status == 0
    assert printed.rstrip().endswith("no reply violates what the requests demand; 4 have calls")
    told, _, printed, _ = verify(
        hermes, "--schemas", schemas, "--dialect", "kimi_k2", metrics=HERMES
    )
    assert told == 1
    assert "4 of 4 replies violate what the requests demand; 4 have calls" in printed


def test_a_run_without_calls_says_so(verify: Verify, requests: str) -> None:
    status, _, printed, _ = verify(stopping, "--requests", requests)
    assert status == 1
    assert "; 0 have calls" in printed
    assert "no complete reply has a call, so nothing was shown of calls: send" in printed


def test_a_run_with_allowed_refusals_must_have_calls_too(verify: Verify, requests: str) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return (400, {"error": "no"}) if body["stream"] else reply(body, "stop", content="No.")

    status, _, printed, _ = verify(answer, "--requests", requests, "--allow-refused")
    assert status == 1
    assert "so nothing was shown of calls" in printed
