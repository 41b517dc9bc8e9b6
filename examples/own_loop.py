"""A decoding loop of one's own: each step masks the logits, which are random here.

Needs `pip install '.[tokenizers]'`, and no model.
"""

from pathlib import Path

import numpy as np

import enforcer

FOLDER = Path(__file__).parents[1] / "bench" / "models" / "tiny-kimi"
PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Paris", "Rome"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
    },
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]


def main() -> None:
    e = enforcer.Enforcer.from_tokenizer(FOLDER)
    matcher = e.matcher(TOOLS, tool_choice="required", parallel_tool_calls=False)
    random = np.random.default_rng(seed=0)
    ids: list[int] = []
    while not matcher.is_finished:
        logits = random.standard_normal(e.vocabulary.size)  # a model's would come here
        token_id = int(enforcer.mask_logits(logits, matcher.mask()).argmax())
        if not matcher.accept(token_id):
            raise RuntimeError(f"token id {token_id} is masked")
        ids.append(token_id)
    for call in e.parse(ids, tools=TOOLS).calls:
        print(call.name, call.arguments)


if __name__ == "__main__":
    main()
