"""Examples that need no server, and that none is left out."""

from __future__ import annotations

import base64
import json
import random
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import enforcer
from enforcer import cli
from enforcer.turn import dialects
from tests.snippets import MESSAGES, PAGES, PROMPT, TOOLS, blocks, commands, every, find, run
from tests.vocabularies import call, section, small, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


# Page and words of every example in Python; those of clients run in `vllm/test_snippets.py`.
PYTHON = [
    ("README.md", "openai"),
    ("README.md", "generate"),
    ("docs/index.md", "client.completions"),
    ("docs/index.md", "LOGITS_PROCESSOR"),
    ("docs/index.md", "llm.chat"),  # run in `vllm/test_offline.py`
    ("docs/index.md", "model.generate"),
    ("docs/index.md", "mask_logits"),
    ("docs/index.md", "BookTable"),
    ("docs/clients/openai.md", "openai"),
    ("docs/clients/anthropic.md", "anthropic"),
    ("docs/explain.md", "m.explain"),
    ("docs/reference/errors.md", "except"),
    ("docs/index.md", "reply.choices[0].model_dump"),
    ("docs/schema-support.md", "Documents"),  # run in `schema/test_documentation.py`
    ("docs/production/runbook.md", "matcher.fill"),
]


def test_every_example_in_python_is_run() -> None:
    assert sum(len(blocks(page, "python")) for page in PAGES) == len(PYTHON)
    assert len({find(page, *words) for page, *words in PYTHON}) == len(PYTHON)


@pytest.mark.parametrize(("page", "word"), [("README.md", "generate"), PYTHON[5]])
def test_transformers(page: str, word: str) -> None:
    transformers = pytest.importorskip("transformers")
    from tests.vllm_servers import TINY

    tokenizer = transformers.AutoTokenizer.from_pretrained(TINY)
    model = transformers.AutoModelForCausalLM.from_pretrained(TINY)
    inputs = tokenizer(PROMPT, return_tensors="pt", add_special_tokens=False)
    given = {"tokenizer": tokenizer, "model": model, "inputs": inputs}
    run(find(page, word), tools=TOOLS, messages=MESSAGES, **given)


@pytest.mark.parametrize(("page", "word"), [("README.md", "generate"), PYTHON[5]])
def test_transformers_reads_reasoning_that_the_prompt_opens(page: str, word: str) -> None:
    transformers = pytest.importorskip("transformers")
    from tests.vllm_servers import TINY

    tokenizer = transformers.AutoTokenizer.from_pretrained(TINY)
    turn = (
        "hm</think><|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
        '<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|><|tool_calls_section_end|>'
        "<|im_end|>"
    )
    prompt, whole = (
        np.array([tokenizer.encode(text, add_special_tokens=False)])
        for text in (f"{PROMPT}<think>", f"{PROMPT}<think>{turn}")
    )
    model = SimpleNamespace(generate=lambda **_: whole)
    given = {"tokenizer": tokenizer, "model": model, "inputs": {"input_ids": prompt}}
    read = run(find(page, word), tools=TOOLS, messages=MESSAGES, **given)["turn"]
    assert [made.name for made in read.calls] == ["get_weather"]


def test_masks_are_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands, but for the model's name; nothing is defined for it."""
    transformers = pytest.importorskip("transformers")
    from tests.vllm_servers import TINY

    tokenizer = transformers.AutoTokenizer.from_pretrained(TINY)
    turn = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
        '<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|><|tool_calls_section_end|>'
    )
    ids = tokenizer.encode(turn, add_special_tokens=False)
    (tmp_path / "request.json").write_text(json.dumps({"tools": TOOLS}))
    (tmp_path / "reply.json").write_text(json.dumps({"choices": [{"token_ids": ids}]}))
    monkeypatch.chdir(tmp_path)
    shown = find("docs/production/runbook.md", "matcher.fill")
    named = run(shown.replace("moonshotai/Kimi-K2-Instruct", str(TINY)))
    assert len(named["timed"]()) == len(ids)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert all(re.fullmatch(r"\d+\.\d\d ms  [A-Z_]+", line) for line in lines)


def test_the_calls_of_a_completion_are_read_by_its_ids(capsys: pytest.CaptureFixture[str]) -> None:
    """As OpenAI's client gives what vLLM adds to a choice; a real one: `vllm/test_snippets.py`."""
    transformers = pytest.importorskip("transformers")
    choice = pytest.importorskip("openai.types.completion_choice").CompletionChoice
    from tests.vllm_servers import TINY

    tokenizer = transformers.AutoTokenizer.from_pretrained(TINY)
    turn = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
        '<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|><|tool_calls_section_end|>'
        "<|im_end|>"
    )
    ids, prompt_ids = (tokenizer.encode(text, add_special_tokens=False) for text in (turn, PROMPT))
    shown = {"token_ids": ids, "prompt_token_ids": prompt_ids}
    made = choice.model_validate({"index": 0, "text": "", "finish_reason": "stop", **shown})
    given = {"enforcer": enforcer, "tokenizer": tokenizer}
    run(find("docs/index.md", "model_dump"), reply=SimpleNamespace(choices=[made]), **given)
    assert capsys.readouterr().out == 'functions.get_weather:0 get_weather {"city": "Rome"}\n'


def test_a_loop_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256))
    (tmp_path / "tiktoken.model").write_bytes(ranks)
    dialect = dialects.load("kimi_k2")
    names = dialect.controls
    named = {str(256 + n): {"content": name} for n, name in enumerate(names)}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": named}))
    drawn = random.Random(4)
    size = 512

    def forward(_: list[int]) -> NDArray[np.float32]:
        return np.zeros(size, dtype=np.float32)

    def sample(logits: NDArray[np.float32]) -> int:
        legal: list[int] = np.isfinite(logits).nonzero()[0].tolist()
        ending = [i for i in legal if i >= 256 or chr(i) in '"}']
        return drawn.choice(ending if ending and drawn.random() < 0.5 else legal)

    given = {"tools": TOOLS, "messages": MESSAGES, "prompt_ids": None, "sample": sample}
    given |= {"forward": forward}
    calls = 0
    for _ in range(20):
        made = run(find("docs/index.md", "mask_logits"), folder=tmp_path, **given)
        found = made["e"].parse(made["ids"])
        assert found.ended
        calls += len(found.calls)
    assert calls
    assert "get_weather" in capsys.readouterr().out


def test_tools_written_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    def read(tools: list[Any]) -> enforcer.Turn:
        e = enforcer.Enforcer(small())
        arguments = '{"city": "Rome", "days": 2}', '{"guests": 4}'
        names = [each["function"]["name"] for each in tools]
        turn = section(*(call(names[n], n, arguments[n]) for n in range(2)))
        ids = write(e.vocabulary, turn)
        assert e.matcher(tools).validate(ids) == len(ids)
        return e.parse(ids)

    run(find("docs/index.md", "BookTable"), read=read)
    assert capsys.readouterr().out == "Rome: sunny\n4\n"


def test_a_turn_that_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    vocabulary = small()
    begun = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
    ids = write(vocabulary, begun + '<|tool_call_argument_begin|>{"city": "')
    given = {"vocabulary": vocabulary, "tools": TOOLS, "ids": ids}
    run(find("docs/explain.md", "m.explain"), enforcer=enforcer, wanted=ord("k"), **given)
    assert capsys.readouterr().out.splitlines() == [
        "ARGUMENTS $.city",
        (
            """the value of "city": one of "Rome", "Paris" ('"Rome"', '"Paris"') """
            "('$.properties.city',)"
        ),
        (
            '`k` does not fit: expected the value of "city": one of "Rome", "Paris" '
            "(by $.properties.city)"
        ),
    ]


def test_an_error_that_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    parameters = {"properties": {"pair": {"pattern": r"^(a|b)\1$"}}}
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": parameters}}]
    e = enforcer.Enforcer(small())
    run(find("docs/reference/errors.md", "except"), enforcer=enforcer, e=e, tools=tools)
    said = capsys.readouterr().out
    assert said.startswith("$.tools[0].function.parameters.properties.pair.pattern pattern ")


def _command_lines() -> Iterator[Any]:
    for command in commands(every()):
        if command.words[:1] == ("enforcer",):
            yield pytest.param(list(command.words[1:]), id=str(command))


@pytest.mark.parametrize("words", list(_command_lines()))
def test_the_command_line_takes_what_the_pages_show(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def take(options: object) -> int:
        taken.append(options)
        return 0

    for module in (cli.check, cli.doctor, cli.explain, cli.verify):
        monkeypatch.setattr(module, "run", take)
    assert cli.main(words) == 0
    assert taken
