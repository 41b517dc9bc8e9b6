"""Every format through real vLLM with random weights, by every route: nothing wrong comes out."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bench.demo.servers import MODEL_NAME, Server, Setting
from bench.matrix import cells
from bench.matrix.routes import Client, Route
from enforcer.judging.rules import rules_of
from enforcer.turn import dialects
from tests import format_models
from tests.vllm.test_matrix import assert_without_findings
from tests.vllm_servers import ask, serving

Served = tuple[Any, Server]  # a format, and the server of its model


pytestmark = pytest.mark.vllm
OFF = {"thinking": False}


@dataclass(frozen=True, slots=True)
class Format:
    """A dialect, the parser of its name, and a model.

    Attributes:
        flags: that a server of such a model is started with.
        template: whether a request may tell the chat template to think or not.

    """

    dialect: str
    parser: str
    write: Callable[[Path], None]
    flags: tuple[str, ...] = ()
    template: bool = True


MISTRAL = ("--tokenizer-mode", "mistral", "--config-format", "hf", "--load-format", "safetensors")
K3 = ("--tokenizer-mode", "kimi_k3", "--trust-remote-code")


def qwen(folder: Path) -> None:
    format_models.published("qwen-3", folder, "<|im_end|>", "<|endoftext|>")


FORMATS = [
    Format("hermes", "hermes", qwen),
    Format("mistral", "mistral", format_models.mistral_v13, MISTRAL, template=False),
    Format("kimi_k3", "kimi_k3", format_models.kimi_k3, K3),
]


# The last is what the two others are in parts: marks, and a tokenizer and template of a mode's own.
@pytest.fixture(
    scope="module",
    params=[*(pytest.param(each, marks=pytest.mark.long) for each in FORMATS[:-1]), FORMATS[-1]],
    ids=lambda one: one.dialect,
)
def served(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a model of each format, one after the other; none with `ENFORCER_DIALECT`."""
    wanted = request.param
    if wanted.dialect not in dialects.available():
        pytest.skip(f"there is no dialect {wanted.dialect} yet")
    folder = tmp_path_factory.mktemp(wanted.dialect)
    wanted.write(folder / "model")
    parser = f"{wanted.parser}_enforced"
    flags = ("--enable-auto-tool-choice", "--tool-call-parser", parser, *wanted.flags)
    setting = Setting(wanted.dialect, flags, "enforcer")
    # What random weights say before a demanded call says nothing: keep it short.
    with serving(folder / "model", setting, folder / "log", ENFORCER_PREAMBLE_IDS="3") as server:
        yield wanted, server


def test_the_log_names_the_dialect(served: Served) -> None:
    wanted, server = served
    log = server.log.read_text()
    assert f"dialect={wanted.dialect} " in log


def test_no_cell_has_a_finding(served: Served) -> None:
    wanted, server = served
    # Prompts of the matrix's own are Kimi K2's.
    every = [cell for cell in cells.cells() if cell.route is not Route.COMPLETIONS]
    chosen = [cell for cell in every if wanted.template or cell.thinking == "-"]
    client, rules = Client(server.url, MODEL_NAME, None), rules_of(dialects.load(wanted.dialect))
    how = {"repeats": 1, "max_tokens": 160, "wanted": chosen, "expected": rules}
    assert_without_findings(client, 20, **how)


def _only(served: Served, dialect: str) -> Server:
    wanted, server = served
    if wanted.dialect != dialect:
        pytest.skip(f"of {dialect} alone")
    return server


def _post(server: Server, **body: Any) -> Any:
    return ask(server, {"temperature": None, "return_token_ids": True, **body})


def _text(server: Server, ids: list[int]) -> str:
    return str(ask(server, {"tokens": ids}, "/detokenize")["prompt"])


def _tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"n": {"enum": [1]}}, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def _call(name: str, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


@pytest.mark.parametrize("role", ["system", "developer"])
def test_tools_of_messages_are_shown_and_enforced_in_kimi_k3(served: Served, role: str) -> None:
    server = _only(served, "kimi_k3")
    dialog = [
        {"role": "user", "content": "Load a tool."},
        {"role": role, "content": "", "tools": [_tool("late")]},
        {"role": "user", "content": "Use it."},
    ]
    for own in ([], [_tool("early")]):
        # vLLM takes a choice only beside tools of the request's own.
        listed = {"tools": own, "tool_choice": "required"} if own else {}
        answer = _post(server, messages=dialog, chat_template_kwargs=OFF, **listed)
        prompt = _text(server, answer["prompt_token_ids"])
        declares = '<|open|>message role="system" type="tool-declare"<|sep|>'
        assert prompt.count(declares) == 1 + bool(own)
        assert prompt.index('"late"') > prompt.index("Load a tool.")
        for call in answer["choices"][0]["message"].get("tool_calls") or ():
            assert call["function"]["name"] in {"late", *(["early"] if own else [])}


DIGIT = {"type": "integer", "minimum": 0, "maximum": 9}
KEPT_PROPERTIES = {
    "ids": {"type": "array", "items": DIGIT, "uniqueItems": True, "minItems": 3},
    "note": {"type": "string", "maxLength": 66, "pattern": "^[a-z<>/ ]+$"},
}
KEPT: dict[str, Any] = {"properties": KEPT_PROPERTIES, "required": ["ids", "note"]}
KEPT |= {"type": "object", "additionalProperties": False}


def test_distinct_elements_and_lengths_are_kept_in_kimi_k3(served: Served) -> None:
    server = _only(served, "kimi_k3")
    tool = {"type": "function", "function": {"name": "save", "parameters": KEPT}}
    body = {"messages": [{"role": "user", "content": "Save it."}], "tools": [tool]}
    body |= {"tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 500}
    for seed in range(4):
        answer = _post(server, chat_template_kwargs=OFF, seed=seed, **body)
        (call,) = answer["choices"][0]["message"]["tool_calls"]
        jsonschema.validate(json.loads(call["function"]["arguments"]), KEPT)


def test_results_stand_in_the_order_of_their_calls_in_kimi_k3(served: Served) -> None:
    server = _only(served, "kimi_k3")
    calls = [_call(name, f"functions.{name}:{at}") for at, name in ((7, "b"), (3, "a"))]
    dialog = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "functions.a:3", "content": "of a"},
        {"role": "tool", "tool_call_id": "functions.b:7", "content": "of b"},
    ]
    answer = _post(server, messages=dialog, chat_template_kwargs=OFF, max_tokens=1)
    prompt = _text(server, answer["prompt_token_ids"])
    assert "functions" not in prompt
    for at, name in enumerate("ba", 1):
        assert f'<|open|>call tool="{name}" index="{at}"<|sep|>' in prompt
        said = f'<|open|>message role="tool" tool="{name}" index="{at}"<|sep|>of {name}<|close|>'
        assert said in prompt
    assert prompt.index("of b") < prompt.index("of a")


def test_the_history_has_nine_letters_and_digits_in_mistrals_format(served: Served) -> None:
    server = _only(served, "mistral")
    dialog = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [_call("a", "functions.a:0")]},
        {"role": "tool", "tool_call_id": "functions.a:0", "content": "done"},
    ]
    answer = _post(server, messages=dialog, tools=[_tool("a")], tool_choice="required")
    for made in answer["choices"][0]["message"].get("tool_calls") or ():
        assert len(made["id"]) == 9
        assert made["id"].isalnum()
