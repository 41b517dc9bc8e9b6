"""Recorded requests and reports, as `enforcer verify` replays and compares them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fake_server import call, reply
from tests.support.json_lines import write
from tests.tools.cli.answers import REQUEST, USER, Verify, calling, enforced, stopping


def test_recorded_requests_are_compared(verify: Verify, requests: str, tmp_path: Path) -> None:
    reference = write(tmp_path / "reference.jsonl", "tool_calls", "stop")
    status, report, out, server = verify(
        calling, "--requests", requests, "--reference", str(reference), "--max-tokens", "9",
        "--temperature", "0", "--extra-body", '{"seed": 7}',
    )  # fmt: skip
    assert status == 0
    assert [bool(b["stream"]) for b in sorted(server.bodies, key=lambda b: b["stream"])] == [0, 1]
    assert {(b["max_tokens"], b["temperature"], b["seed"]) for b in server.bodies} == {(9, 0, 7)}
    assert report["trigger_similarity"]["f1"] == pytest.approx(2 / 3)
    assert "66.66 %" in out


def test_a_report_is_a_reference(verify: Verify, requests: str, tmp_path: Path) -> None:
    verify(stopping, "--requests", requests)
    earlier = (tmp_path / "report.json").rename(tmp_path / "earlier.json")
    _, report, _, _ = verify(stopping, "--requests", requests, "--reference", str(earlier))
    assert report["trigger_similarity"] == {
        "f1": 1.0, "compared": 2, "both": 0, "ours": 0, "theirs": 0, "neither": 2
    }  # fmt: skip


def test_an_interrupted_reference_is_told(verify: Verify, requests: str, tmp_path: Path) -> None:
    _, whole, out, _ = verify(stopping, "--requests", requests)
    assert (whole["requests"], whole["measured"]) == (2, 2)
    earlier = write(
        tmp_path / "earlier.json", {**whole, "measured": 1, "results": whole["results"][1:]}
    )
    named = ("--requests", requests, "--reference", str(earlier))
    _, report, out, _ = verify(stopping, *named)
    assert report["trigger_similarity"]["compared"] == 1
    assert "The reference was interrupted: 1 of its 2 requests were measured" in out
    write(earlier, whole)
    assert "interrupted" not in verify(stopping, *named)[2]


def test_an_invalid_reference_is_told_early(verify: Verify, requests: str, tmp_path: Path) -> None:
    def never(body: dict[str, Any]) -> tuple[int, Any]:
        raise AssertionError(body)

    missing = tmp_path / "missing.json"
    status, _, _, server = verify(never, "--requests", requests, "--reference", str(missing))
    assert status == 2
    assert not server.bodies


def test_a_reference_of_no_requests_is_told(verify: Verify, requests: str, tmp_path: Path) -> None:
    _, whole, _, _ = verify(stopping, "--requests", requests)
    other = write(tmp_path / "other.json", {**whole, "results": []})
    _, report, out, _ = verify(stopping, "--requests", requests, "--reference", str(other))
    found = report["trigger_similarity"]
    assert (found["compared"], found["f1"]) == (0, None)
    assert "Nothing could be compared" in out


def test_undeclared_calls_of_a_replay(verify: Verify, requests: str) -> None:
    def undeclared(body: dict[str, Any]) -> tuple[int, Any]:
        return reply(body, "tool_calls", calls=[call("img_gen", "{}")])

    status, report, _, _ = verify(undeclared, "--requests", requests)
    assert (status, report["runs"]["requests"]["faults"]["undeclared"]) == (1, 2)


def test_a_limit_sends_the_first(verify: Verify, schemas: str) -> None:
    assert len(verify(enforced, "--schemas", schemas, "--limit", "1")[3].bodies) == 2


def test_recordings_that_check_reads_are_replayed(verify: Verify, tmp_path: Path) -> None:
    path = write(tmp_path / "batch.jsonl", {"custom_id": "1", "body": REQUEST})
    status, _, _, server = verify(calling, "--requests", str(path))
    assert status == 0
    assert [sent["messages"] for sent in server.bodies] == [[USER]]


def test_what_is_no_chat_request_is_skipped_with_a_note(verify: Verify, tmp_path: Path) -> None:
    file = write(tmp_path / "mixed.jsonl", {"input": "hi"}, REQUEST, {"input": "ho"}, REQUEST)
    reference = write(tmp_path / "reference.jsonl", "stop", "stop", "stop", "tool_calls")
    named = ("--requests", str(file), "--reference", str(reference))
    status, report, out, server = verify(calling, *named)
    assert (status, len(server.bodies)) == (0, 2)
    assert "enforcer: skipped 2 records:\n" in out
    for line in (1, 3):
        assert f"enforcer: {file}:{line} is no chat request: it is one of the Responses" in out
    # A reference's lines are those of all records.
    compared = {key: report["trigger_similarity"][key] for key in ("both", "ours", "theirs")}
    assert compared == {"both": 1, "ours": 1, "theirs": 0}
    assert [one["data_index"] for one in report["results"]] == [2, 4]
    assert "a server is not like itself either: send" in out
    earlier = write(tmp_path / "earlier.json", report)
    _, report, _, _ = verify(calling, "--requests", str(file), "--reference", str(earlier))
    assert report["trigger_similarity"]["both"] == 2


def test_of_many_records_that_are_skipped_five_are_named(verify: Verify, tmp_path: Path) -> None:
    file = write(tmp_path / "mixed.jsonl", REQUEST, *[{"input": "hi"}] * 6)
    status, _, out, _ = verify(calling, "--requests", str(file))
    assert status == 0
    assert "enforcer: skipped 6 records, of which the first 5:\n" in out
    assert [f"{file}:{line} is no" in out for line in range(1, 8)] == [False, *[True] * 5, False]


def test_invalid_lines_are_named_and_the_others_measured(verify: Verify, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    body = json.dumps(REQUEST)
    file.write_text(f'{{"input": "hi"}}\n{body}\n{{"messages\n{body}\n{{\n{body}')

    status, report, out, server = verify(calling, "--requests", str(file))
    assert (status, len(server.bodies)) == (2, 3)
    assert f"enforcer: {file}:3 is not JSON" in out
    assert f"enforcer: {file}:5 is not JSON" in out
    assert f"enforcer: skipped 1 record:\nenforcer: {file}:1 is no chat request" in out
    assert out.endswith("no JSON, and so not measured: 2 lines\n")
    assert [one["data_index"] for one in report["results"]] == [2, 4, 6]
