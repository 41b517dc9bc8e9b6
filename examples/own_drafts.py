"""A decoding loop of one's own that verifies draft tokens: fewer forward passes, the same turn.

Needs `pip install '.[transformers]'`. The grammar proposes what the model likely writes next, and
one forward pass has the logits behind each proposed token. The model's cache is cut back to the
tokens that were written.
"""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

import enforcer

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
    prompt_ids = tokenizer.apply_chat_template(
        MESSAGES, tools=TOOLS, add_generation_prompt=True, return_dict=True
    )["input_ids"]
    e = enforcer.Enforcer.from_tokenizer(tokenizer, preamble_ids=0)
    matcher = e.matcher(TOOLS, "required", messages=MESSAGES, prompt_ids=prompt_ids)
    cache = DynamicCache(config=model.config)
    token_ids: list[int] = []
    passes = 0
    while not matcher.is_finished:
        drafts = matcher.propose(8)
        ids = torch.tensor([(prompt_ids + token_ids + drafts)[cache.get_seq_length() :]])
        with torch.no_grad():
            logits = model(ids, past_key_values=cache).logits[0, -len(drafts) - 1 :]
        passes += 1
        for row, draft in zip(logits, [*drafts, None], strict=True):
            token_id = int(enforcer.mask_logits(row, matcher.mask()).argmax())  # your sampler
            matcher.accept(token_id)
            token_ids.append(token_id)
            if token_id != draft or matcher.is_finished:
                break  # the other drafts are behind a token that was not written
        # Its last token has not been read yet.
        wrong = cache.get_seq_length() - (len(prompt_ids) + len(token_ids) - 1)
        if wrong:
            cache.crop(-wrong)
    for call in e.parse(token_ids, prompt_ids, tools=TOOLS).calls:
        print(call.name, call.arguments)
    print(f"{len(token_ids)} tokens in {passes} passes")


if __name__ == "__main__":
    main()
