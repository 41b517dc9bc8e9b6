"""`/v1/completions` of a server with the plugin: the client reads the calls from the token ids.

Needs `pip install '.[transformers]' openai`, and a server of any tool parser. `MODEL` is the folder
or name of the served model, whose tokenizer renders the prompt and reads the reply.
"""

import sys
from pathlib import Path

import openai
from transformers import AutoTokenizer

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


def main(url: str = "http://localhost:8000/v1") -> None:
    client = openai.OpenAI(base_url=url, api_key="-")
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    prompt = tokenizer.apply_chat_template(
        MESSAGES, tools=TOOLS, add_generation_prompt=True, tokenize=False
    )
    spec = enforcer.extra_body(TOOLS, "required", messages=MESSAGES)
    reply = client.completions.create(
        model=client.models.list().data[0].id,
        prompt=prompt,
        max_tokens=512,
        extra_body=spec | {"return_token_ids": True},
    )
    choice = reply.choices[0].model_dump()
    e = enforcer.Enforcer.from_tokenizer(tokenizer)
    turn = e.parse(choice["token_ids"], choice["prompt_token_ids"], tools=TOOLS)
    for call in turn.calls:
        print(call.id, call.name, call.arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
