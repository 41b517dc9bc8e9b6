"""transformers' `generate` with a logits processor.

Needs `pip install '.[transformers]'`. The model has two million parameters. In a batch `generate`
pads the shorter rows: cut the padding off before `parse`, or `turn.stray` is its first place (the
calls are the same).
"""

from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer

import enforcer
from enforcer.hf import TransformersLogitsProcessor

MODEL = Path(__file__).parents[1] / "bench" / "models" / "tiny-kimi"
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
MESSAGES = [{"role": "user", "content": "What is the weather in Paris?"}]


def main() -> None:
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL)
    inputs = tokenizer.apply_chat_template(
        MESSAGES, tools=TOOLS, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    e = enforcer.Enforcer.from_tokenizer(tokenizer)
    request = {"tools": TOOLS, "tool_choice": "required", "messages": MESSAGES}
    processor = TransformersLogitsProcessor(e, [request])  # a new one for each call of `generate`
    out = model.generate(
        **inputs,
        logits_processor=[processor],
        custom_generate=processor.assisted_decoding,  # fewer forward passes, for one row
        max_new_tokens=128,
    )
    prompt_ids = inputs["input_ids"][0].tolist()
    turn = e.parse(out[0, len(prompt_ids) :].tolist(), prompt_ids, tools=TOOLS)
    for call in turn.calls:
        print(call.name, call.arguments)


if __name__ == "__main__":
    main()
