"""Count how the tiny model fails, unconstrained: `python -m bench.demo.tiny_model.measure`.

Owns: generation with transformers over the demo's requests, and the table of what
went wrong. Must not know: how a failure is recognised.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from bench.demo.tiny_model.judge import BAD_CALL, Failure, failures
from bench.demo.tiny_model.requests import MIX, generate
from bench.demo.tiny_model.scenes import Kind
from bench.demo.tiny_model.train import FOLDER
from enforcer import Enforcer, Vocabulary
from enforcer.hf import TransformersLogitsProcessor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BATCH = 32
_NEW_TOKENS = 160


def turns(
    folder: Path,
    bodies: Sequence[Mapping[str, Any]],
    temperature: float = 0.0,
    seed: int = 0,
    *,
    device: str = "cpu",
    enforced: bool = False,
) -> list[str]:
    """Generate the turn that follows each request, markers and end of turn included.

    Args:
        folder: the model.
        bodies: chat completion requests.
        temperature: 0 for greedy decoding.
        seed: of the sampling.
        device: torch's name of it.
        enforced: mask by the Enforcer's logits processor.

    """
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)
    served = Enforcer(Vocabulary.from_transformers(tokenizer)) if enforced else None
    torch.manual_seed(seed)
    out: list[str] = []
    prompts = [prompt(tokenizer, body) for body in bodies]
    sampling: dict[str, Any] = (
        {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {}
    )
    for at in range(0, len(prompts), _BATCH):
        batch = tokenizer(
            prompts[at : at + _BATCH], return_tensors="pt", padding=True, add_special_tokens=False
        )
        masking: dict[str, Any] = {}
        if served is not None:
            requests = [fields(body) for body in bodies[at : at + _BATCH]]
            pad = model.generation_config.pad_token_id
            processor = TransformersLogitsProcessor(served, requests, pad_token_id=pad)
            masking["logits_processor"] = [processor]
        made = model.generate(
            input_ids=batch["input_ids"].to(device),
            attention_mask=batch["attention_mask"].to(device),
            max_new_tokens=_NEW_TOKENS,
            **sampling,
            **masking,
        )
        texts = tokenizer.batch_decode(made[:, batch["input_ids"].shape[1] :])
        out.extend(text.replace("[PAD]", "") for text in texts)
    return out


def prompt(tokenizer: Any, body: Mapping[str, Any]) -> str:
    """Render the prompt of a request."""
    text: str = tokenizer.apply_chat_template(
        body["messages"],
        tools=body.get("tools"),
        tokenize=False,
        add_generation_prompt=True,
        **body.get("chat_template_kwargs", {}),
    )
    return text


def fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """Leave of a request what the Enforcer reads."""
    wanted = ("tools", "tool_choice", "parallel_tool_calls", "messages")
    return {"tools": None} | {name: body[name] for name in wanted if name in body}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=FOLDER)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--kind", choices=[kind.value for kind in Kind], help="only this kind")
    parser.add_argument("--show", type=int, default=0, help="print so many turns")
    options = parser.parse_args()
    mix = {Kind(options.kind): 1} if options.kind else MIX
    drawn = list(generate(options.requests, seed=options.seed, mix=mix))
    bodies = [request.body for request in drawn]
    texts = turns(options.model, bodies, options.temperature, options.seed)
    judged = [failures(body, text) for body, text in zip(bodies, texts, strict=True)]
    for request, text, found in list(zip(drawn, texts, judged, strict=True))[: options.show]:
        print(f"{request.kind.value}: {request.body['messages'][-1]['content']}")
        print(f"  {text}\n  {', '.join(f.value for f in found) or 'valid'}")
    total = len(judged)
    count = Counter(failure for found in judged for failure in found)
    for failure in Failure:
        print(f"{failure.value:28} {count[failure]:5} {count[failure] / total:7.1%}")
    calls = sum("<|tool_calls_section_begin|>" in text for text in texts)
    for name, many in (
        ("turns with calls", calls),
        ("turns with a bad call", sum(bool(found & BAD_CALL) for found in judged)),
        ("valid turns", sum(not found for found in judged)),
    ):
        print(f"{name:28} {many:5} {many / total:7.1%}")
    for kind in mix:
        mine = [found for request, found in zip(drawn, judged, strict=True) if request.kind is kind]
        valid = sum(not found for found in mine)
        print(f"  {kind.value:24} {valid:4} valid of {len(mine)}")


if __name__ == "__main__":
    main()
