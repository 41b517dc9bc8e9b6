"""Folders of models: one that is right, and each of the ways to be wrong."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared_data import shared

pytest.importorskip("transformers")

from transformers import PreTrainedTokenizerFast

from enforcer.tools.doctor import CheckStatus, model
from enforcer.turn import dialects

OK, NOTE, BAD = CheckStatus.OK, CheckStatus.NOTE, CheckStatus.BAD
K2 = dialects.load("kimi_k2")
TEMPLATE = """
{%- if tools %}<|im_system|>tool_declare<|im_middle|>{{ tools | tojson }}<|im_end|>{% endif -%}
{%- for message in messages -%}
<|im_{{ message.role }}|>{{ message.role }}<|im_middle|>{{ message.content }}
{%- for call in message.tool_calls -%}
<|tool_call_begin|>{{ call.id }}<|tool_call_argument_begin|>{{ call.function.arguments }}
{%- endfor -%}
<|im_end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|im_assistant|>assistant<|im_middle|>{%- endif -%}
"""


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Write a folder with a byte-level tokenizer of 256 bytes and these control tokens."""

    def write(
        missing: list[str] | tuple[Any, ...] = (),
        template: str | None = TEMPLATE,
        size: int | None = None,
    ) -> Path:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        tokens = Tokenizer(models.BPE({char: n for n, char in enumerate(alphabet)}, []))
        tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokens.decoder = decoders.ByteLevel()
        tokens.add_tokens(sorted(set(K2.controls) - set(missing)))
        wrapped = PreTrainedTokenizerFast(tokenizer_object=tokens)
        if template:
            wrapped.chat_template = template
        wrapped.save_pretrained(tmp_path)
        number = tokens.get_vocab_size() if size is None else size
        (tmp_path / "config.json").write_text(
            json.dumps({"model_type": "llama", "vocab_size": number})
        )
        return tmp_path

    return write


def statuses(folder: Path, **options: Any) -> dict[str, CheckStatus]:
    return {check.name: check.status for check in model.checks(folder, **options)}


def wrong(folder: Path, **options: Any) -> set[str]:
    return {name for name, status in statuses(folder, **options).items() if status is BAD}


def test_a_folder_that_is_right(save: Callable[..., Path]) -> None:
    found = statuses(save())
    assert set(found.values()) == {OK}
    assert len(found) == 6


@pytest.mark.parametrize("missing", ["<|tool_call_end|>", "<|im_end|>", "<|im_middle|>"])
def test_a_tokenizer_without_a_marker(save: Callable[..., Path], missing: str) -> None:
    assert wrong(save(missing=[missing])) == {"special tokens"}


def test_markers_that_only_some_models_have_may_be_missing(save: Callable[..., Path]) -> None:
    assert not wrong(save(missing=["<think>", "</think>", "[EOS]"]))


def test_a_model_with_fewer_ids_than_its_tokenizer(save: Callable[..., Path]) -> None:
    assert wrong(save(size=256)) == {"size of the model"}


def test_a_model_with_more_ids_is_right(save: Callable[..., Path]) -> None:
    assert not wrong(save(size=512))


def test_a_folder_without_a_template(save: Callable[..., Path]) -> None:
    assert wrong(save(template=None)) == {"chat template"}


def test_a_template_from_a_file(save: Callable[..., Path], tmp_path: Path) -> None:
    file = tmp_path / "other.jinja"
    file.write_text(TEMPLATE.replace("{%- if add_generation_prompt -%}", "{%- if False -%}"))
    assert wrong(save(), template=file) == {"the prompt's end"}
    assert wrong(save(), template=tmp_path / "absent.jinja") == {"chat template"}


def test_a_config_that_cannot_be_read(save: Callable[..., Path]) -> None:
    folder = save()
    (folder / "config.json").write_text("{")
    assert "size of the model" in wrong(folder) or "tokenizer" in wrong(folder)


def test_what_is_no_folder(tmp_path: Path) -> None:
    assert wrong(tmp_path / "absent") == {"model"}
    assert wrong(tmp_path) == {"tokenizer"}


def test_a_size_that_is_not_told(save: Callable[..., Path]) -> None:
    folder = save()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    assert statuses(folder)["size of the model"] is NOTE


def test_a_size_may_stand_in_the_text_model(save: Callable[..., Path]) -> None:
    folder = save()
    config = {"model_type": "llama", "text_config": {"vocab_size": 7}}
    (folder / "config.json").write_text(json.dumps(config))
    assert "size of the model" in wrong(folder)


def test_the_tokenizer_that_vendors_serve_with(tmp_path: Path) -> None:
    """Kimi's own files: the slow class is remote code, which this folder lacks."""
    for name in ("tiktoken.model", "tokenizer_config.json"):
        (tmp_path / name).symlink_to(shared("kimi", name))
    [check] = model.checks(tmp_path)
    assert (check.name, check.status) == ("tokenizer", BAD)
    assert "--trust-remote-code" in check.mend


@pytest.mark.parametrize("given", [None, "kimi_k9"])
def test_an_unknown_dialect_is_told_with_the_variable_where_it_is_the_variable(
    given: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENFORCER_DIALECT", "kimi_k8")
    [check] = model.checks(tmp_path, dialect=given)
    assert check.status is BAD
    assert check.found.startswith("ENFORCER_DIALECT: ") == (given is None)
    assert (given or "kimi_k8") in check.found


def test_a_model_needs_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    [check] = model.checks(tmp_path, dialect="kimi_k2")
    assert check.status is BAD
    assert "not installed" in check.found
    assert check.mend == "pip install '.[transformers]' in a checkout of kimi-enforcer"
