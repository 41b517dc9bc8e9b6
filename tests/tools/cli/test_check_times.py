"""What `enforcer check` says of the time that a server's check has."""

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from enforcer.checking.work import LOOK, SECONDS, TOO_SLOW
from enforcer.schema import OnUnsupported, compile_schema
from tests.tools.cli.answers import Check, Run
from tests.tools.cli.declared import EXACT, UNIQUE, chat


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the checks to come take these seconds of processor time, whatever they take."""

    def put(*seconds: float) -> None:
        ends = accumulate(seconds)
        times = iter([0.0, *(end for end in ends for _ in ("its end", "the next one's begin"))])
        monkeypatch.setattr("enforcer.tools.cli.verdicts.process_time", lambda: next(times))

    return put


@pytest.mark.parametrize("schema", [EXACT, UNIQUE])
def test_too_slow_checks_are_refused(check: Check, takes: Callable[..., None], schema: Any) -> None:
    takes(SECONDS + 0.5)
    status, found = check(chat("f", schema))
    assert status == 1
    [one] = found["checked"]
    assert (one["status"], one["error"], one["rules"]) == ("refused", "SchemaLimit", 0)
    assert (one["relaxable"], one["milliseconds"]) == (False, 2500)
    [problem] = one["problems"]
    assert problem["path"] == "$.function.parameters"
    assert problem["reason"] == f"{TOO_SLOW}; here it took 2.5 s"


def test_a_format_of_text_has_no_more_time(check: Check, takes: Callable[..., None]) -> None:
    body = {"messages": [], "structured_outputs": {"regex": "a+"}}
    takes(SECONDS + 1)
    assert check(body)[1]["checked"][0]["error"] == "SchemaLimit"
    takes(SECONDS)
    status, found = check(body)
    assert (status, len(found["checked"][0]["notes"])) == (0, 1)


def test_slow_server_work_is_noted_with_its_time(check: Check, takes: Callable[..., None]) -> None:
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


def test_less_than_a_tick_is_told_by_the_wall(check: Check, takes: Callable[..., None]) -> None:
    takes(0.0)
    assert 0 < check(chat("f"))[1]["checked"][0]["milliseconds"] <= 4


def test_what_would_not_end_is_ended(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_superset_not_found_is_none(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
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
    check: Check, takes: Callable[..., None], tmp_path: Path, run: Run
) -> None:
    tools = [chat(name, {"type": "object", "title": name}) for name in "fg"]
    body = {"messages": [], "tools": tools, "response_format": TEXT}
    takes(0.9, 0.9, 0.9)
    status, found = check({"request": body}, {"messages": []})
    assert status == 0
    assert found["heavy"] == [
        {"where": f"{tmp_path}/file.json:1", "path": "$.request", "milliseconds": 2700}
    ]
    takes(0.9, 0.9, 0.9)
    status, out, _ = run(body)
    assert status == 0
    told, last = out[-2:]
    assert told.startswith(f"{tmp_path}/file.jsonl: the schemas of this request take 2.7 s")
    assert "503" in told
    assert last == "3 checked: 3 exact; 3 with notes"


def test_separate_server_checks_are_not_added_up(check: Check, takes: Callable[..., None]) -> None:
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
