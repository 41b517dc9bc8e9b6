"""`enforcer explain` for arguments alone, and beside tools that cannot be enforced."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enforcer.api import Enforcer
from enforcer.tools import cli
from enforcer.tools.cli.explain import opening_of
from enforcer.tools.cli.partial_turn import call_opening
from enforcer.tools.explain import explained
from enforcer.tools.explain.trace import read_spelled
from enforcer.turn import dialects
from enforcer.turn.dialect import Segment
from enforcer.vocabulary import Vocabulary
from tests.support.cases import parametrized
from tests.support.nested import nested
from tests.support.tools import tool
from tests.tools.cli.answers import Command
from tests.vocabularies import feed

Run = Callable[..., tuple[int, dict[str, Any], str]]

BROKEN = {"type": "object", "properties": {"x": {"type": "float"}}}
ODD = {"type": "array", "uniqueItems": True, "contains": {"const": 1}}


TOOLS = [
    tool("broken", BROKEN),
    tool("place", {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}),
    tool("odd", {"type": "object", "properties": {"a": ODD}}),
]


@pytest.fixture
def explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(body: Any, *words: str) -> tuple[int, dict[str, Any], str]:
        file = tmp_path / "request.json"
        file.write_text(json.dumps(body))
        status = cli.main(["explain", "--tools", str(file), "--json", *words])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else {}, err

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", dialects.available())
def test_what_opens_a_call_is_legal_in_every_format(name: str) -> None:
    dialect = dialects.load(name)
    vocabulary = Vocabulary.of_bytes(dialect.controls)
    enforcer = Enforcer(vocabulary, name)
    prompt = opening_of(enforcer)
    matcher = explained(enforcer, enforcer.read_request(TOOLS[1:2], "required"), prompt)
    feed(matcher, read_spelled(vocabulary, call_opening(dialect, "place", 0)))
    segment = dialect.states[matcher.state].segment
    assert segment is Segment.ARGUMENTS or dialect.states[matcher.state].then is not None
    assert '"place"' in str(matcher.expected())


def test_the_arguments_of_a_call_are_explained_alone(explain: Run) -> None:
    status, found, said = explain(TOOLS[1:2], "--call", "place", "--text", '{"n": 0')
    last = found["steps"][-1]
    assert (status, last["token"], last["legal"], said) == (1, "0", False, "")
    assert (last["expected"]["tool"], last["expected"]["path"]) == ("place", "$.n")
    assert explain(TOOLS[1:2], "--call", "place", "--text", '{"n": 1}')[0] == 0
    status, found, _ = explain(TOOLS[1:2], "--call", "place")
    assert (status, found["after"]["tool"]) == (0, "place")


def test_a_dialogs_calls_count_for_the_one_that_is_explained(explain: Run) -> None:
    past = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "place"}}]}
    body = {"messages": [past], "tools": TOOLS[1:2]}
    status, found, _ = explain(body, "--call", "place", "--text", "{}")
    assert status == 0
    assert "functions.place:1" in "".join(step["token"] for step in found["steps"])


@parametrized("tools/cli/cases/partial_turn.toml", "usage")
def test_what_call_does_not_go_with(explain: Run, words: list[str], said: str) -> None:
    status, _, err = explain(TOOLS[1:2], *words)
    assert status == cli.USAGE
    assert said in err


def test_arguments_that_are_read_as_text_are_noticed(explain: Run) -> None:
    status, _, said = explain(TOOLS[1:2], "--text", '{"n": 0')
    assert status == 0
    assert "the TEXT begins no call" in said
    assert "--call place" in said
    for text in ("Well.", "<think>{", "{}<|tool_calls_section_begin|>"):
        assert explain(TOOLS[1:2], "--text", text)[2] == ""
    body = {"messages": [], "tools": TOOLS[1:2], "response_format": {"type": "json_object"}}
    assert explain(body, "--text", '{"n": 0')[2] == ""
    assert explain({"messages": [], "tools": []}, "--text", "{")[2] == ""


def test_a_tool_that_cannot_be_enforced_does_not_keep_the_others(explain: Run) -> None:
    status, found, _ = explain(TOOLS, "--call", "place", "--text", '{"n": 0')
    assert status == 1
    assert [each["tool"] for each in found["set_aside"]] == ["broken", "odd"]
    assert [each["problems"][0]["path"] for each in found["set_aside"]] == [
        "$[0].function.parameters.properties.x.type",
        "$[2].function.parameters.properties.a.uniqueItems",
    ]
    assert found["title"] == (
        "tools: broken, place, odd; not enforceable, and followed with any object as arguments: "
        "broken, odd"
    )
    assert found["steps"][-1]["expected"]["path"] == "$.n"
    status, found, _ = explain(TOOLS, "--call", "odd", "--text", '{"a": 1}')
    assert status == 1
    assert all(step["legal"] for step in found["steps"])


def test_a_tool_that_cannot_be_enforced_is_told_first(tmp_path: Path, command: Command) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    status, out, _ = command("explain", "--tools", str(tmp_path / "tools.json"))
    assert status == 1
    lines = out.splitlines()
    assert lines[0].startswith('"broken" cannot be enforced, and a server refuses the request')
    assert lines[1].startswith('"odd" cannot be enforced')
    assert "next: " in lines[2]


def test_a_tool_that_is_nested_too_deeply_does_not_keep_the_others(explain: Run) -> None:
    schema = nested(700, lambda inner: {"items": inner}, {})
    deep = {"name": "deep", "inputSchema": {"type": "object", "properties": {"a": schema}}}
    status, found, _ = explain([deep, TOOLS[1]], "--call", "place", "--text", '{"n": 1}')
    assert status == 1
    assert [(x["tool"], x["error"]) for x in found["set_aside"]] == [("deep", "SchemaLimit")]
