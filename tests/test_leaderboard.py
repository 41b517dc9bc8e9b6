"""The leaderboard's questions: requests, the package's checker, counts and comparisons."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import parametrized
from tests.support.tools import tool

pytest.importorskip("rich")

from bench.demo.leaderboard import __main__ as command
from bench.demo.leaderboard import counting, published, workload
from bench.demo.leaderboard.counting import Outcome
from bench.demo.leaderboard.published import Question
from bench.demo.leaderboard.workload import Request
from bench.demo.real_model import weights
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.vocabulary import Vocabulary
from tests.vocabularies import small

TOOL = tool(
    "math_add", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
)
FUNCTION = {
    "name": "math.add",
    "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}
ADD = Question("q", "simple_python", (), (FUNCTION,), (TOOL,), ({"math.add": {"a": [1, 2]}},))
IRRELEVANT = replace(ADD, id="i", category="irrelevance", answer=None)
OUTCOME = Outcome(
    *("q", "auto", True, "text", 3), calls=True, valid=True, right=True, cut_off=False, failed=False
)


def published_questions(category: str) -> tuple[Question, ...]:
    try:
        return published.questions(category)
    except published.NotInstalledError as error:
        pytest.skip(str(error))


def reply(arguments: str | None, finish: str = "tool_calls") -> ChatReply:
    calls = () if arguments is None else (ChatCall("id", "math_add", arguments),)
    ids = tuple(small().encode(arguments or "no"))
    return ChatReply(200, finish_reason=finish, content="x", calls=calls, token_ids=ids)


@pytest.mark.slow
def test_the_held_out_questions_are_none_of_the_reference() -> None:
    published_questions("simple_python")
    reference, held_out = (workload.requests(name) for name in ("reference", "held-out"))
    assert len(reference) == 420
    assert Counter(request.choice for request in reference) == {"auto": 270, "required": 150}
    assert Counter(request.question.category for request in held_out) == {
        "simple_python": 310,
        "multiple": 160,
        "live_simple": 198,
    }
    asked = {request.question.id for request in reference}
    assert not asked & {request.question.id for request in held_out}
    assert [request.question.id for request in workload.requests("reference", 1)][:2] == [
        "simple_python_0",
        "live_simple_0-0-0",
    ]


def test_functions_are_declared_as_tools() -> None:
    body = Request(published_questions("simple_python")[1], "required").body
    assert body["tools"][0]["function"]["name"] == "math_factorial"
    assert body["tools"][0]["function"]["parameters"]["type"] == "object"
    assert (body["tool_choice"], body["temperature"]) == ("required", 0)


@parametrized("cases/leaderboard.toml", "calls")
def test_the_checker_judges_calls(arguments: list[str], *, right: bool) -> None:
    published_questions("simple_python")
    calls = [ChatCall("id", "math_add", each) for each in arguments]
    assert published.is_right(ADD, calls) is right
    assert published.is_right(IRRELEVANT, calls) is (not arguments)


def test_each_reply_is_counted_in_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "is_right", lambda _, calls: bool(calls))
    replies = {
        "right": reply('{"a": 1}'),
        "invalid": reply('{"a": "1"}'),
        "cut off": reply('{"a": 1}', "length"),
        "failed": ChatReply(400, "rejected"),
    }
    found = {
        name: counting.outcome(small(), Request(ADD, "auto"), each)
        for name, each in replies.items()
    }
    assert found["right"] == replace(OUTCOME, text='{"a": 1}', tokens=found["right"].tokens)
    assert (found["invalid"].calls, found["invalid"].valid) == (True, False)
    cut_off = found["cut off"]
    assert (cut_off.calls, cut_off.right, cut_off.cut_off) == (False, False, True)
    failed = found["failed"]
    assert (failed.failed, failed.cut_off, failed.right) == (True, False, False)
    irrelevant = counting.outcome(small(), Request(IRRELEVANT, "auto"), reply(None, "stop"))
    assert not irrelevant.answerable


def outcomes(text: str) -> list[Outcome]:
    """Make an outcome a character, `+` right or `-` wrong, of questions `0`, `0`, `1`, `2`, …."""
    return [
        replace(OUTCOME, question=str(max(0, at - 1)), choice=f"{at}", right=mark == "+")
        for at, mark in enumerate(text)
    ]


def test_a_question_that_is_asked_twice_counts_once() -> None:
    found = counting.difference(outcomes("----+"), outcomes("+++--"))
    assert (found.questions, found.won, found.lost) == (4, 2, 1)
    # Differences of 1, 1, 0 and -1: mean 0.25, standard deviation 0.957.
    assert found.mean == pytest.approx(0.25)
    assert found.half == pytest.approx(1.96 * 0.9574 / 2, abs=1e-3)
    assert counting.difference(outcomes("--+"), outcomes("+-+")).mean == pytest.approx(0.25)


def test_questions_without_an_answer_are_not_compared() -> None:
    base, other = outcomes("----"), outcomes("+-+-")
    other[0], base[0] = (replace(each[0], answerable=False) for each in (other, base))
    assert counting.difference(base, other).won == 1
    with pytest.raises(ValueError, match="not the same requests"):
        counting.difference(base, [replace(each, choice="x") for each in other])


def test_changed_replies_are_shown_from_where_they_differ() -> None:
    base = [replace(OUTCOME, text='{"a": 5.0}', right=False), OUTCOME]
    other = [replace(OUTCOME, text='{"a": 5}'), replace(OUTCOME, text="other")]
    (line,) = counting.changed(base, other)
    assert line == r'won  q (auto): "{\"a\": 5" then ".0}" | "}"'


def test_each_server_has_a_line_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    mixed = [*outcomes("+-+"), replace(OUTCOME, question="i", answerable=False, valid=False)]
    command._show({"enforcer": mixed, "strict": mixed}, listed=False)
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line.split() for line in lines if line.startswith(" strict ")]
    assert row == ["strict", "4", "4", "3", "2", "0", "0", "1", "of", "1", "12"]
    assert lines[-1].startswith("enforcer - strict: +0.0% right answers")


def test_outcomes_are_kept_and_compared_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environments = []
    last: ChatReply | None = None

    def serve_all(_model: Path, settings: Any, bodies: Any, replies: Any, **_: int) -> None:
        for setting in settings:
            environments.append(setting.environment)
            arguments = json.dumps({"a": 1 if setting.plugins else 3})
            replies[setting] = [*(reply(arguments) for _ in bodies[1:]), last or reply(arguments)]

    monkeypatch.setattr(command, "serve_all", serve_all)
    monkeypatch.setattr(weights, "model", lambda: tmp_path)
    monkeypatch.setattr(command, "PreTrainedTokenizerFast", lambda **_: None)
    monkeypatch.setattr(Vocabulary, "from_transformers", lambda _: small())
    monkeypatch.setattr(published, "is_right", lambda _, calls: "1" in calls[0].arguments)
    monkeypatch.setattr(
        workload, "requests", lambda *_: [Request(replace(ADD, id=f"{at}"), "auto") for at in "ab"]
    )
    arguments = ["bench.demo.leaderboard", "--ways", "strict,enforcer", "--env", "A=b=c"]
    monkeypatch.setattr("sys.argv", [*arguments, "--out", f"{tmp_path}"])
    assert command.main() == 0
    assert environments == [(), (("A", "b=c"),)]
    assert "enforcer A=b=c - strict: +100.0% right" in capsys.readouterr().out
    last = ChatReply(0, "no answer")
    assert command.main() == 1
    last = None
    assert command.main() == 0
    files = [f"{tmp_path}/reference {name}.json" for name in ("strict", "enforcer A=b=c")]
    monkeypatch.setattr("sys.argv", ["bench.demo.leaderboard", *files, "--differences"])
    assert command.main() == 0
    assert 'won  b (auto): "{\\"a\\": " then "3}" | "1}"' in capsys.readouterr().out


def test_a_package_that_is_not_installed_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published.questions.cache_clear()
    monkeypatch.setattr(published, "find_spec", lambda _: None)
    monkeypatch.setattr("sys.argv", ["bench.demo.leaderboard"])
    assert command.main() == 1
    assert "install bfcl-eval" in capsys.readouterr().err
