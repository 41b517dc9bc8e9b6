"""A decoding loop of one's own: each step masks the logits, which are random here.

Needs `pip install '.[tokenizers]'`, and no model. The turn is read while it is written; `e.parse`
reads a whole one. Where a turn is cut off, `parser.finish()` returns the events of text that looked
like the beginning of a marker.
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
    parser = e.parser(TOOLS)
    random = np.random.default_rng(seed=0)
    while not matcher.is_finished:
        logits = random.standard_normal(e.vocabulary.size)  # a model's would come here
        token_id = int(enforcer.mask_logits(logits, matcher.mask()).argmax())
        if not matcher.accept(token_id):
            raise RuntimeError(f"token id {token_id} is masked")
        for event in parser.feed([token_id]):
            print(event.what.value, repr(event.text))  # a piece of content, a call, …
    for call in parser.turn().calls:
        print(call.name, call.arguments)


if __name__ == "__main__":
    main()
