import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from enforcer.tools import cli
from enforcer.tools.doctor import CheckResult, CheckStatus, bad, installation, note, ok
from tests.fake_server import call, reply, serving
from tests.support.cases import parametrized

Doctor = Callable[..., tuple[int, str, str]]
WELL = (ok("a", "fine"),)
BROKEN = bad("b", "broken", "mend it")


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run the command; gives its status, output and errors.

    The installation's checks find `checks`; with None they find what is here.
    """

    def run(*options: str, checks: Sequence[CheckResult] | None = WELL) -> tuple[int, str, str]:
        if checks is not None:
            monkeypatch.setattr(installation, "checks", lambda: iter(checks))
        return cli.main(["doctor", *options]), *capsys.readouterr()

    return run


def test_all_well(doctor: Doctor) -> None:
    status, out, _ = doctor(checks=[*WELL, note("b", "absent", "install it")])
    assert status == 0
    assert out == "ok    a: fine\nnote  b: absent\n      install it\n2 checks, all well\n"


def test_something_to_mend(doctor: Doctor) -> None:
    status, out, _ = doctor(checks=[*WELL, BROKEN])
    assert status == 1
    assert out.splitlines()[1:] == ["BAD   b: broken", "      mend it", "2 checks, 1 to mend"]


def test_json(doctor: Doctor) -> None:
    status, out, _ = doctor("--json", checks=[BROKEN])
    assert status == 1
    check = {"name": "b", "status": "bad", "found": "broken", "mend": "mend it"}
    assert json.loads(out) == {"checks": [check], "bad": 1, "caveats": []}


def test_what_is_not_enforced_is_said_last(doctor: Doctor) -> None:
    results = [note("a", "some", caveat="only some are"), note("b", "less", caveat="others less")]
    status, out, _ = doctor(checks=results)
    assert status == 0
    assert out.splitlines()[-1] == "2 checks, none to mend, but only some are, and others less"
    status, out, _ = doctor(checks=[*results, BROKEN])
    assert status == 1
    assert out.splitlines()[-1] == "3 checks, 1 to mend"
    status, out, _ = doctor("--json", checks=results)
    assert status == 0
    assert json.loads(out)["caveats"] == ["only some are", "others less"]


@pytest.mark.slow
def test_a_server_that_enforces_by_request_fails_where_all_are_meant(doctor: Doctor) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if "tools" not in body or "structured_outputs" not in body:
            return reply(body, content="Here.")
        if body["tools"][0]["function"]["name"] == "impossible":
            return 400, {"error": {"message": "UnsatisfiableSchema: … (at `$.tools[0]…`)"}}
        return enforced(body)

    def last(*options: str) -> tuple[int, str]:
        with serving(answer) as server:
            status, out, _ = doctor("--url", server.url, *options)
        return status, out.splitlines()[-1]

    assert last() == (0, "8 checks, none to mend, but only requests that ask for it are enforced")
    assert last("--require-all") == (1, "8 checks, 1 to mend")


def test_without_a_server_no_request_can_be_required(doctor: Doctor) -> None:
    status, out, err = doctor("--require-all")
    assert (status, out) == (2, "")
    assert "--url" in err


def enforced(body: dict[str, Any]) -> tuple[int, Any]:
    errors = {"twice": "InvalidTools", "unenforceable": "UnsupportedSchema"}
    if error := errors.get(body["tools"][0]["function"]["name"]):
        return 400, {"error": {"message": f"{error}: … (at `$.tools[0]…`)"}}
    return reply(body, "tool_calls", calls=[call("pick_colour", '{"colour":"violet","sure":true}')])


def test_a_server_is_checked(doctor: Doctor) -> None:
    """In place of this environment, whose settings are none of the server's."""

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return enforced(body) if "tools" in body else reply(body, content="Here.")

    with serving(answer) as server:
        status, out, _ = doctor("--url", server.url, checks=[BROKEN])
    assert status == 0
    assert out.count("ok ") == 8
    assert out.startswith(f"ok    server: {server.url}/v1 serves toy\n")
    assert ":\n" not in out


def test_a_server_and_a_model_stand_apart(doctor: Doctor, tmp_path: Path) -> None:
    with serving(enforced) as server:
        words = ("--url", server.url, "--model", str(tmp_path / "absent"))
        status, out, _ = doctor(*words, checks=None)
    assert status == 1
    lines = out.splitlines()
    assert lines[0] == "the model's folder:"
    assert lines[lines.index("the server:") + 1].startswith("ok    server: ")


def test_a_model_is_checked(doctor: Doctor, tmp_path: Path) -> None:
    status, out, _ = doctor("--model", str(tmp_path / "absent"))
    assert status == 1
    assert "is no folder" in out


def test_an_unknown_dialect_is_an_error_though_nothing_is_judged_by_it(doctor: Doctor) -> None:
    status, out, err = doctor("--dialect", "nosuch")
    assert (status, out) == (2, "")
    assert "nosuch" in err
    assert "kimi_k2" in err
    assert doctor("--dialect", "kimi_k2_enforced")[0] == 0


def test_what_a_server_says_moves_no_cursor(doctor: Doctor) -> None:
    listing = (200, {"data": [{"id": "\x1b[2J\nok    forged\u202e"}]})
    with serving(enforced, listing=listing) as server:
        _, out, _ = doctor("--url", server.url)
    assert "\\x1b[2J\\nok    forged\\u202e" in out
    assert out.replace("\n", "").isprintable()


def test_a_server_may_be_waited_for_as_long_as_one_likes(doctor: Doctor) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(0.6)
        return reply(body, content="Here.")

    with serving(answer) as server:
        status, out, _ = doctor("--url", server.url, "--timeout", "0.2")
    assert status == 1
    assert "did not answer: ReadTimeout" in out
    with pytest.raises(SystemExit):
        doctor("--timeout", "0")


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--key", "nope"], "refuses the key (HTTP 401)"), ([], "wants a key (HTTP 401)")],
)
def test_of_a_key_alone_is_spoken_where_it_is_the_key(
    options: list[str], said: str, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(enforced, listing=(401, {})) as server:
        status, out, _ = doctor("--url", server.url, *options)
    assert status == 1
    told, mend, _ = out.splitlines()
    assert told.endswith(said)
    assert "--key" in mend
    assert "start it" not in mend
    assert "--url" not in mend


def test_this_installation_is_well(doctor: Doctor) -> None:
    if installation.distribution().status is CheckStatus.BAD:
        pytest.skip("the project is not installed here, just on the path")
    status, out, _ = doctor(checks=None)
    assert status == 0, out


@pytest.mark.slow
def test_a_server_of_another_format_is_judged_by_its_own(doctor: Doctor) -> None:
    """By Kimi's rules the ids of its calls would be wrong, and the engine be suspected."""

    def hermes(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, made = enforced(body)
        for choice in made.get("choices", ()):
            for each in choice["message"].get("tool_calls", ()):
                each["id"] = "chatcmpl-tool-1"
        return status, made

    def wrong_ids(*options: str) -> bool:
        with serving(hermes, metrics='enforcer_dialect{dialect="hermes"} 1.0\n') as server:
            _, out, _ = doctor("--url", server.url, *options)
        return "is not functions.pick_colour:0" in out

    assert not wrong_ids()
    assert wrong_ids("--dialect", "kimi_k2")


@parametrized("tools/cli/cases/doctor.toml", "urls")
def test_a_wrong_url_is_told_before_all_checks(url: str, said: str, doctor: Doctor) -> None:
    for more in ([], ["--require-all"]):
        status, out, err = doctor("--url", url, *more)
        assert (status, out) == (cli.USAGE, "")
        assert err.startswith("enforcer: ")
        assert said in err
