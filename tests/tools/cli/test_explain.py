"""`enforcer explain`: its files, its output, its exit status."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from enforcer.tools import cli
from enforcer.tools.explain.trace import read_spelled
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary
from tests.fake_server import serving
from tests.snippets import ROOT, blocks
from tests.support.cases import parametrized
from tests.support.tools import tool
from tests.tools.cli.answers import Command

Explain = Callable[..., tuple[int, Any]]

PAGE = ROOT / "docs" / "explain.md"
TINY = ROOT / "bench" / "models" / "tiny-kimi"
BEGUN = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
    "<|tool_call_argument_begin|>"
)
WHOLE = BEGUN + '{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|><|im_end|>'


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(PAGE, "json")
    Path("tools.json").write_text(block)
    found: list[dict[str, Any]] = json.loads(block)
    return found


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    """Run the command; gives its status and what it printed, with `as_json` as values."""

    def run(*words: str, as_json: bool = False) -> tuple[int, Any]:
        status = cli.main(["explain", *words, *(["--json"] if as_json else [])])
        printed = capsys.readouterr()
        return status, json.loads(printed.out) if as_json else printed

    return run


def test_the_example_of_the_page(command: Command) -> None:
    (block,) = blocks(PAGE, "console")
    typed, shown = block.replace("\\\n", "").split("\n", 1)
    words = shlex.split(typed.removeprefix("$ "))
    status, out, _ = command(*words[1:])
    assert (status, out) == (1, shown)


def test_a_turn_that_is_legal(explain: Explain) -> None:
    status, found = explain("--tools", "tools.json", "--text", WHOLE, as_json=True)
    assert status == 0
    assert "".join(step["token"] for step in found["steps"]) == WHOLE
    assert found["changed"] == []
    assert found["after"]["state"] == "END"


def test_what_is_legal_is_as_on_a_server_or_as_the_options_say(explain: Explain) -> None:
    spaced, escaped = '{"city":  "Paris"}', r'{"c\u0069ty": "Paris"}'
    librarys = ("--no-plain-spelling", "--no-second-space")
    for text, how, status in (
        *((spaced, (), 0), (spaced, librarys, 1)),
        *((escaped, (), 1), (escaped, librarys, 0)),
    ):
        words = ("--tools", "tools.json", "--model", str(TINY), "--call", "get_weather")
        assert explain(*words, "--text", text, *how)[0] == status, (text, how)


def test_a_text_that_is_no_utf_8_is_told(explain: Explain) -> None:
    for more in ([], ["--call", "get_weather"]):
        status, printed = explain("--tools", "tools.json", "--text", '{"\udcff', *more)
        assert status == cli.USAGE
        assert "the TEXT is no UTF-8" in printed.err


def test_a_turn_that_has_ended_has_no_next(explain: Explain) -> None:
    status, printed = explain("--tools", "tools.json", "--text", f"{WHOLE}<|im_end|>")
    assert status == 0
    assert "the turn has ended" in printed.out
    assert "next:" not in printed.out


def test_without_a_turn_it_tells_how_one_begins(explain: Explain) -> None:
    status, printed = explain("--tools", "tools.json")
    assert status == 0
    assert printed.out.startswith("next: any text; or the marker of think begin: `<think>`")


@pytest.mark.parametrize(
    ("text", "said"),
    [("[]", "no tool and no request"), ('{"type": "object"}', "make a tool of it")],
)
def test_what_has_no_tool_to_explain_is_told(text: str, said: str, explain: Explain) -> None:
    Path("other.json").write_text(text)
    status, printed = explain("--tools", "other.json")
    assert status == 2
    assert said in printed.err


def test_a_request_without_tools_is_explained(explain: Explain) -> None:
    Path("request.json").write_text('{"messages": [], "model": "kimi"}')
    assert explain("--tools", "request.json")[0] == 0


def test_what_stands_before_the_assistants_turn_is_the_prompt(explain: Explain) -> None:
    opening = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"
    Path("turn.txt").write_text(opening + WHOLE + "\n")
    status, found = explain("--tools", "tools.json", "--text", "@turn.txt", as_json=True)
    assert status == 0
    assert found["steps"][0]["expected"]["state"] == "START"
    assert "".join(step["token"] for step in found["steps"]) == WHOLE


def test_errors_have_the_paths_of_the_request(tmp_path: Path, explain: Explain) -> None:
    tool = {"name": "f", "input_schema": {"properties": {"a": {"type": "strin"}}}}
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"messages": [], "tools": [tool]}))
    status, printed = explain("--tools", str(request))
    assert status == 1
    assert "at `$.tools[0].input_schema.properties.a.type`" in printed.out


def test_a_request_has_its_choice_and_dialog(tools: list[dict[str, Any]], explain: Explain) -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "get_weather"}}]}
    request = {"tools": tools, "tool_choice": "none", "messages": [asked]}
    Path("request.json").write_text(json.dumps(request))
    status, found = explain("--tools", "request.json", "--text", BEGUN, as_json=True)
    assert status == 1
    assert "no tool may be called" in found["steps"][0]["reason"]
    # The choice of the command line comes before the request's; the index goes on from 0.
    named = ["--tools", "request.json", "--tool-choice", "get_weather"]
    status, found = explain(*named, "--text", BEGUN, as_json=True)
    assert status == 1
    assert "get_weather:1" in found["steps"][-1]["reason"]


def test_a_page_is_written(explain: Explain) -> None:
    assert explain(*["--tools", "tools.json", "--text", WHOLE, "--html", "turn.html"])[0] == 0
    assert Path("turn.html").read_text().startswith("<!doctype html>")


def tiny() -> Vocabulary:
    transformers = pytest.importorskip("transformers")
    return Vocabulary.from_transformers(transformers.AutoTokenizer.from_pretrained(TINY))


def test_a_folder_that_is_missing_is_named_as_such(explain: Explain) -> None:
    status, printed = explain("--tools", "tools.json", "--model", "nosuch")
    assert status == 2
    assert "nosuch: there is no such folder" in printed.err


def test_what_the_model_wanted_and_the_mask_forbade(explain: Explain) -> None:
    vocabulary = tiny()
    ids = read_spelled(vocabulary, BEGUN + '{"unit": "')
    k, c = vocabulary.find(b"k"), vocabulary.find(b"c")
    Path("ids.json").write_text(json.dumps([*ids, {"id": c, "top": [[c, -2.5], [k, -0.1]]}]))
    words = ["--tools", "tools.json", "--model", str(TINY), "--ids", "ids.json"]
    status, found = explain(*words, as_json=True)
    assert status == 1
    assert found["changed"] == [len(ids)]
    assert found["steps"][-1]["taken_away"] == [k]
    # The same from a reply and its scores as a prompt.
    reply = {"prompt_token_ids": [], "choices": [{"token_ids": [*ids, c]}]}
    Path("reply.json").write_text(json.dumps(reply))
    scores = [{str(i): {"logprob": -0.1}} for i in ids]
    scores.append({str(c): {"logprob": -2.5}, str(k): {"logprob": -0.1}})
    Path("scores.json").write_text(json.dumps({"choices": [{"prompt_logprobs": scores}]}))
    words[-2:] = ["--reply", "reply.json", "--scores", "scores.json"]
    status, printed = explain(*words)
    assert status == 1
    assert "taken away: `k` (-0.10): does not fit: expected " in printed.out
    assert printed.out.endswith("tokens: changed at 1 of them\n")
    # Without them a turn that is legal says nothing of what the model would rather have said.
    status, printed = explain(*words[:-2])
    assert status == 0
    assert printed.out.endswith(
        "tokens: all legal; without the model's scores nothing is known of what the mask took "
        "away\n"
    )


@parametrized("tools/cli/cases/explain.toml", "usage")
def test_what_cannot_be_done(explain: Explain, words: list[str], said: str) -> None:
    status, printed = explain(*words)
    assert status == cli.USAGE
    assert said in printed.err


def examples() -> Iterator[Any]:
    """Give every dialect's examples of turns that a dialog may begin with."""
    for name in dialects.available():
        for example in dialects.load(name).examples:
            first = [call.get("index", 0) for call in example.get("calls", ())][:1]
            if first in ([], [0], [1]):
                yield pytest.param(name, example, id=f"{name}: {example['text'][:40]}")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "example"), list(examples()))
def test_the_examples_of_every_dialect_are_legal(
    tmp_path: Path, explain: Explain, name: str, example: dict[str, Any]
) -> None:
    names = dict.fromkeys(call["name"] for call in example.get("calls", ()))
    declared = [tool(each, {"type": "object"}) for each in names]
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"messages": [], "tools": declared}))
    words = ("--tools", str(file), "--dialect", name, "--text", example["text"])
    status, found = explain(*words, as_json=True)
    assert status == 0, found
    assert "".join(step["token"] for step in found["steps"]) == example["text"]
    for parser in dialects.load(name).parsers:
        if len(dialects.of_parser(parser)) == 1:  # else a tokenizer tells
            assert explain(*words[:3], parser, *words[4:])[0] == 0


def test_documents_are_what_is_legal(tmp_path: Path, explain: Explain) -> None:
    uri = "https://schemas.example.com/city"
    schema = {"type": "object", "properties": {"a": {"$ref": uri}}, "required": ["a"]}
    (tmp_path / "city.json").write_text(json.dumps({"$id": uri, "enum": ["Rome", "Oslo"]}))
    (tmp_path / "tools.json").write_text(json.dumps([{"name": "get", "parameters": schema}]))
    begun = BEGUN.replace("get_weather", "get") + '{"a": '
    words = ["--tools", str(tmp_path / "tools.json"), "--documents", str(tmp_path / "city.json")]
    _, found = explain(*words, "--text", begun, as_json=True)
    said = json.dumps(found["after"])
    assert "Rome" in said
    assert uri in said


def test_the_servers_settings_are_taken(explain: Explain, tmp_path: Path) -> None:
    """What a server relaxes or closes is explained as it is there."""
    odd = {"type": "array", "uniqueItems": True, "contains": {"const": 1}}
    parameters = {"type": "object", "properties": {"n": odd}}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}
    (tmp_path / "odd.json").write_text(json.dumps([tool]))
    words = ("--tools", str(tmp_path / "odd.json"))
    call = BEGUN + '{"x": 1}<|tool_call_end|>'
    assert explain(*words, "--text", call)[0] == 1
    for how in ("relax", "isolate"):
        chosen = ("--on-unsupported", how)
        assert explain(*words, "--text", call, *chosen)[0] == 1
        assert explain(*words, "--text", call, *chosen, "--no-closed-objects")[0] == 0


def test_the_scores_of_a_server_are_shown(explain: Explain, tools: list[dict[str, Any]]) -> None:
    vocabulary = tiny()
    prompt = [vocabulary.control("<|im_assistant|>"), vocabulary.control("<|im_middle|>")]
    ids = read_spelled(vocabulary, WHOLE)
    wanted = vocabulary.find(b"k")
    Path("request.json").write_text(json.dumps({"messages": [], "tools": tools}))

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "prompt" not in body:
            return 200, {"prompt_token_ids": prompt, "choices": [{"token_ids": ids}]}
        scores = [{str(i): {"logprob": -0.5}} for i in body["prompt"]]
        scores[-2][str(wanted)] = {"logprob": -0.1}
        return 200, {"choices": [{"prompt_logprobs": scores}]}

    with serving(answer) as server:
        words = ("--tools", "request.json", "--url", server.url, "--model", str(TINY))
        status, printed = explain(*words, "--json")
    assert status == 1
    assert printed.err.splitlines() == [
        f"reading the tokenizer of {TINY}",
        f"waiting for the reply of {server.url}/v1",
        f"waiting for the scores of {len(prompt)} tokens of prompt and {len(ids)} of reply",
        f"explaining {len(ids)} tokens",
    ]
    assert json.loads(printed.out)["steps"][-2]["taken_away"] == [wanted]
    assert server.bodies[0]["tools"] == tools


def test_only_a_chat_request_can_be_sent(explain: Explain) -> None:
    words = ("--tools", "tools.json", "--url", "http://127.0.0.1:9", "--model", str(TINY))
    status, printed = explain(*words)
    assert status == 2
    assert "is no chat request: --url sends one to /chat/completions" in printed.err
