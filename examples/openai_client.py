"""OpenAI's client and a server with the plugin: one request is enforced by its `extra_body`.

Needs `pip install '.[tools]' openai`, and a server:

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser kimi_k2

A server with `--tool-call-parser kimi_k2_enforced` needs no `extra_body`. One with the logits
processor (docs/vllm.md) needs `via=enforcer.Route.LOGITS_PROCESSOR`:

    python examples/openai_client.py http://localhost:8000/v1 logits_processor
"""

import sys
from typing import Literal

import openai
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel, ConfigDict

import enforcer


class GetWeather(BaseModel):
    """Look up the weather."""

    model_config = ConfigDict(extra="forbid")

    city: Literal["Paris", "Rome"]


def main(url: str = "http://localhost:8000/v1", via: str = "plugin") -> None:
    client = openai.OpenAI(base_url=url, api_key="-")
    tools = [enforcer.tool(GetWeather, name="get_weather")]
    messages: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": "What is the weather in Paris?"}
    ]
    reply = client.chat.completions.create(
        model=client.models.list().data[0].id,
        messages=messages,
        tools=tools,
        tool_choice="required",
        extra_body=enforcer.extra_body(tools, "required", messages=messages, via=via),
    )
    for call in reply.choices[0].message.tool_calls or ():
        if call.type == "function":
            print(call.function.name, GetWeather.model_validate_json(call.function.arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
