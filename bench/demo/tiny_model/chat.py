"""The tiny model's tokenizer: Kimi's control tokens, byte-level BPE, a K2-style template.

Owns: the names and flags of the control tokens, the training of the BPE, and the
files from which `AutoTokenizer` and vLLM load it. Must not know: what is said in
the dialogues.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.demo.tiny_model.scenes import Reply

# Name to "special" flag, as Kimi K2's own tokenizer has them: those of tools and
# thinking are not flagged. The order is that of the real ids.
CONTROLS: Mapping[str, bool] = {
    "[BOS]": True,
    "[EOS]": True,
    "<|im_end|>": True,
    "<|im_user|>": True,
    "<|im_assistant|>": True,
    "[EOT]": True,
    "<|im_system|>": True,
    "<|tool_calls_section_begin|>": False,
    "<|tool_calls_section_end|>": False,
    "<|tool_call_begin|>": False,
    "<|tool_call_argument_begin|>": False,
    "<|tool_call_end|>": False,
    "<|im_middle|>": True,
    "<think>": False,
    "</think>": False,
    "[UNK]": True,
    "[PAD]": True,
}
TEMPLATE = Path(__file__).with_name("chat_template.jinja")

# Numbers are split into digits: a tiny model learns to count calls more easily so.
_PIECES = Regex(r"\p{N}| ?[\p{L}\p{M}]+| ?[^\s\p{L}\p{M}\p{N}]+|\s+")


def train_bpe(texts: Iterable[str], size: int) -> Tokenizer:
    """Train a tokenizer of `size` ids, control tokens last, on texts without them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_PIECES, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(CONTROLS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    add_controls(tokenizer, CONTROLS)
    return tokenizer


def add_controls(tokenizer: Tokenizer, controls: Mapping[str, bool]) -> None:
    """Append added tokens with their "special" flags, in the order given."""
    for name, special in controls.items():
        token = AddedToken(name, normalized=False, special=special)
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)([token])


def save(tokenizer: Tokenizer, folder: Path, *, max_length: int) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`, the chat template in it."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "[BOS]",
        "eos_token": "[EOS]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "clean_up_tokenization_spaces": False,
        "model_max_length": max_length,
        "chat_template": TEMPLATE.read_text(encoding="utf-8"),
    }
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (folder / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def spell_reply(reply: Reply, thinking: bool | None) -> str:  # noqa: FBT001 - the template's own option
    """Write a reply as the model generates it after the prompt, end of turn included."""
    text = reply.content
    if thinking:
        text = f"{reply.reasoning}{'</think>' if reply.closes_thinking else ''}{text}"
    if reply.calls:
        calls = "".join(
            f"<|tool_call_begin|>{id_}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
            for id_, arguments in reply.calls
        )
        text += f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>"
    return text + "<|im_end|>"
