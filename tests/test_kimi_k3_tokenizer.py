"""The class that stands for Kimi K3's tokenizer: its prompts, and what vLLM makes of it."""

import json
from typing import Any

import pytest

from tests import format_models
from tests.support.cases import load
from tests.support.tools import tool

transformers = pytest.importorskip("transformers")

from enforcer.vocabulary import Vocabulary  # noqa: E402 - transformers is asked for above

pytestmark = pytest.mark.slow

_CASES = load("cases/kimi_k3.toml")
TOOL = tool("w", {"type": "object"})
DIALOG = [json.loads(each) for each in _CASES["dialog"]]
DECLARED, SAID = ("".join(_CASES[name]) for name in ("declared", "said"))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("k3")
    format_models.kimi_k3(folder)
    return transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)


def test_a_dialog_reads_as_kimi_k3s_encoder_writes_it(tokenizer: Any) -> None:
    text = tokenizer.apply_chat_template(
        DIALOG, add_generation_prompt=True, tokenize=False, thinking=False
    )
    assert text == DECLARED + SAID.format(think="") + "<|open|>response<|sep|>"


def test_a_think_is_kept_and_left_open(tokenizer: Any) -> None:
    text = tokenizer.apply_chat_template(
        DIALOG[1:], tools=[TOOL], add_generation_prompt=True, tokenize=False, thinking_effort="low"
    )
    think = "<|open|>think<|sep|>Hm.<|close|>think<|sep|>"
    assert text.startswith(DECLARED + '<|open|>message role="system" type="thinking-effort"<|sep|>')
    assert "`thinking_effort=low`.<|close|>" in text
    assert text.endswith(SAID.format(think=think) + "<|open|>think<|sep|>")


@pytest.mark.parametrize("choice", ["required", "none"])
def test_a_choice_is_told_last(tokenizer: Any, choice: str) -> None:
    text = tokenizer.apply_chat_template([], tokenize=False, thinking=False, tool_choice=choice)
    begin = '<|open|>message role="system" type="tool-choice"<|sep|>'
    assert text.startswith(f"{begin}The system is invoked with `tool_choice={choice}`.\nYou MUST")


def test_what_is_said_never_becomes_a_control_token(tokenizer: Any) -> None:
    ids = tokenizer.apply_chat_template(DIALOG, thinking=False)
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.decode(ids).decode() == DECLARED + SAID.format(think="").removesuffix(
        '<|open|>message role="assistant"<|sep|>'
    )
    closes = vocabulary.control("<|close|>")
    assert ids.count(closes) == (DECLARED + SAID).count("<|close|>") - 1
