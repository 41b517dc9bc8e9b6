"""Train the tiny model on the CPU: `python -m bench.demo.tiny_model.train`.

Owns: the corpus, the optimisation, and the model folder that it leaves behind.
Must not know: how the model is judged.

Everything is seeded. Two cores take about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from bench.demo.tiny_model import chat
from bench.demo.tiny_model.scenes import Kind, Scene, scene

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenizers import Tokenizer

FOLDER = Path(__file__).parents[2] / "models" / "tiny-kimi"
CONTEXT = 4096

# How often each kind of scene is drawn for training; those whose replies are the
# plainest need the fewest.
WEIGHTS = {
    Kind.UNDECLARED_IN_HISTORY: 12,
    Kind.UNDECLARED_ASKED: 12,
    Kind.PLAIN_QUESTION: 12,
    Kind.SINGLE_CALL: 20,
    Kind.PARALLEL_CALLS: 14,
    Kind.AFTER_RESULT: 8,
    Kind.NONE: 2,
    Kind.NO_TOOLS: 6,
    Kind.NO_TOOLS_AFTER_CALLS: 5,
    Kind.REQUIRED: 2,
    Kind.NAMED: 5,
    Kind.FOREIGN_IDS: 3,
    Kind.THINKING: 9,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The numbers of a training run."""

    dialogues: int = 30_000
    batch_tokens: int = 8192
    learning_rate: float = 4e-3
    prompt_weight: float = 0.1  # of a token that the model need not write
    seed: int = 2026


def render(tokenizer: PreTrainedTokenizerFast, drawn: Scene) -> str:
    """Write a scene as one text, reply included, as the chat template and the model would."""
    prompt = tokenizer.apply_chat_template(
        [_parsed(message) for message in drawn.messages],
        tools=list(drawn.tools) or None,
        tokenize=False,
        add_generation_prompt=True,
        thinking=drawn.thinking,
    )
    return str(prompt) + chat.spell_reply(drawn.reply, drawn.thinking)


def _parsed(message: dict[str, Any]) -> dict[str, Any]:
    """Parse the arguments of history calls, as vLLM does before it renders them."""
    calls = [
        {
            **call,
            "function": {
                **call["function"],
                "arguments": json.loads(call["function"]["arguments"]),
            },
        }
        for call in message.get("tool_calls", ())
    ]
    return {**message, "tool_calls": calls} if calls else message


def corpus(recipe: Recipe, template: PreTrainedTokenizerFast) -> list[str]:
    rng = Random(recipe.seed)
    kinds = rng.choices(list(WEIGHTS), list(WEIGHTS.values()), k=recipe.dialogues)
    return [render(template, scene(rng, kind)) for kind in kinds]


def bpe(texts: Sequence[str], size: int) -> Tokenizer:
    markers = re.compile("|".join(map(re.escape, chat.CONTROLS)))
    return chat.train_bpe((piece for text in texts for piece in markers.split(text)), size)


def reply_weights(ids: Sequence[int], tokenizer: Tokenizer, prompt_weight: float) -> list[float]:
    """Weigh each id as a target: 1 inside the assistant's turns, little elsewhere."""
    assistant, middle, end = (
        tokenizer.token_to_id(name) for name in ("<|im_assistant|>", "<|im_middle|>", "<|im_end|>")
    )
    weights = []
    role, inside = -1, False
    for i in ids:
        weights.append(1.0 if inside else prompt_weight)
        if i == middle:
            inside = role == assistant
        elif i == end:
            role, inside = -1, False
        elif role < 0:
            role = i
    return weights


def batches(
    samples: Sequence[tuple[list[int], list[float]]], recipe: Recipe, pad: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield batches of dialogues of like length: ids (int64) and weights (float32), `(n, length)`.

    Padding is on the right, where causal attention makes it harmless; its weight is 0.
    """
    order = sorted(range(len(samples)), key=lambda i: len(samples[i][0]))
    groups: list[list[int]] = [[]]
    for i in order:
        if (len(groups[-1]) + 1) * len(samples[i][0]) > recipe.batch_tokens:
            groups.append([])
        groups[-1].append(i)
    Random(recipe.seed).shuffle(groups)
    for group in groups:
        longest = max(len(samples[i][0]) for i in group)
        ids = torch.full((len(group), longest), pad)
        weights = torch.zeros(len(group), longest)
        for row, i in enumerate(group):
            sample, weight = samples[i]
            ids[row, : len(sample)] = torch.tensor(sample)
            weights[row, : len(weight)] = torch.tensor(weight)
        yield ids, weights


def llama(tokenizer: Tokenizer) -> LlamaForCausalLM:
    end = tokenizer.token_to_id("<|im_end|>")
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=6,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.token_to_id("[BOS]"),
        eos_token_id=end,
        pad_token_id=tokenizer.token_to_id("[PAD]"),
    )
    return LlamaForCausalLM(config)


def optimizers(model: LlamaForCausalLM, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings and norms."""
    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "layers" in name]
    taken = {id(p) for p in inner}
    outer = [p for p in model.parameters() if id(p) not in taken]
    return [
        torch.optim.Muon(inner, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(outer, lr=rate, betas=(0.9, 0.98), weight_decay=0.01),
    ]


def train(recipe: Recipe, tokenizer: Tokenizer, texts: Sequence[str]) -> LlamaForCausalLM:
    torch.manual_seed(recipe.seed)
    encoded = (encoding.ids for encoding in tokenizer.encode_batch(list(texts)))
    samples = [(ids, reply_weights(ids, tokenizer, recipe.prompt_weight)) for ids in encoded]
    model = llama(tokenizer)
    optimizing = optimizers(model, recipe.learning_rate)
    steps = list(batches(samples, recipe, model.config.pad_token_id))
    tokens = sum(len(ids) for ids, _ in samples)
    print(
        f"{tokens:,} tokens, {len(steps)} steps, {model.num_parameters():,} parameters", flush=True
    )
    begun = time.monotonic()
    for step, (ids, weights) in enumerate(steps):
        progress = (step + 1) / len(steps)
        scale = min(1.0, 20 * progress, 0.5 + 0.5 * math.cos(math.pi * progress) + 0.01)
        for optimizer in optimizing:
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * scale
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=ids[:, :-1]).logits
        losses = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
        )
        weight = weights[:, 1:].flatten()
        loss = (losses * weight).sum() / weight.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizing:
            optimizer.step()
            optimizer.zero_grad()
        if step % 20 == 0:
            written = weight == 1
            spent = time.monotonic() - begun
            print(f"{step:5} {spent:6.0f} s  loss {losses[written].mean():.4f}", flush=True)
    return model


def save(model: LlamaForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model.generation_config.do_sample = False
    model.to(torch.bfloat16).save_pretrained(folder)
    chat.save(tokenizer, folder, max_length=CONTEXT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=FOLDER)
    parser.add_argument("--dialogues", type=int, default=Recipe().dialogues)
    parser.add_argument("--rate", type=float, default=Recipe().learning_rate)
    parser.add_argument("--vocabulary", type=int, default=1024)
    options = parser.parse_args()
    recipe = Recipe(dialogues=options.dialogues, learning_rate=options.rate)
    template = PreTrainedTokenizerFast(
        tokenizer_object=chat.train_bpe([], 256 + len(chat.CONTROLS)),
        chat_template=chat.TEMPLATE.read_text(encoding="utf-8"),
    )
    texts = corpus(recipe, template)
    tokenizer = bpe(texts[:3000], options.vocabulary)
    save(train(recipe, tokenizer, texts), tokenizer, options.output)


if __name__ == "__main__":
    main()
