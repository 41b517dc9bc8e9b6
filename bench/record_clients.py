"""Records what agents' libraries send: `python -m bench.record_clients CLIENT FILE`.

Owns: a server that answers each first request with a call and each second one with text, and a
program for each client that makes it do both. Must not know: the enforcer. It runs in an
environment of its own, where the client is installed (`openai-agents`, `langchain-openai`,
`pydantic-ai-slim[openai]`, `litellm`); `tests/vllm/test_clients.py` reads what it writes.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

_ARGUMENTS = '{"city": "Paris"}'
_SAID = "Sunny."
Recorded = list[dict[str, Any]]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.recorded.append({"path": self.path, "body": body})  # type: ignore[attr-defined]
        answer = json.dumps((_response if "responses" in self.path else _chat)(body)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _call(tools: list[dict[str, Any]], dialog: list[dict[str, Any]]) -> str | None:
    """Name the tool to call; None once a result has come."""
    done = any(m.get("role") == "tool" or m.get("type") == "function_call_output" for m in dialog)
    if done or not tools:
        return None
    name: str = tools[0].get("name") or tools[0]["function"]["name"]
    return name


def _response(body: dict[str, Any]) -> dict[str, Any]:
    name = _call(body.get("tools", []), body["input"])
    item: dict[str, Any] = {"id": "i", "status": "completed"}
    if name:
        called = f"functions.{name}:0"
        item |= {"type": "function_call", "call_id": called, "name": name, "arguments": _ARGUMENTS}
    else:
        text = {"type": "output_text", "text": _SAID, "annotations": []}
        item |= {"type": "message", "role": "assistant", "content": [text]}
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "k",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _chat(body: dict[str, Any]) -> dict[str, Any]:
    name = _call(body.get("tools", []), body["messages"])
    message: dict[str, Any] = {"role": "assistant", "content": None if name else _SAID}
    if name:
        function = {"name": name, "arguments": _ARGUMENTS}
        called = {"id": f"functions.{name}:0", "type": "function", "function": function}
        message["tool_calls"] = [called]
    choice = {"index": 0, "finish_reason": "tool_calls" if name else "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "k",
        "choices": [choice],
        "usage": usage,
    }


def get_weather(
    city: Literal["Paris", "Rome"], days: int = 1, tags: list[str] | None = None
) -> str:
    """Tell the weather.

    Args:
        city: where.
        days: how many.
        tags: what to look for.

    """
    return f"{city}, {days}, {tags}: sunny"


def _agents(url: str) -> None:
    import agents
    import openai

    agents.set_tracing_disabled(True)
    for kind in ("responses", "chat_completions"):
        client = openai.AsyncOpenAI(base_url=url, api_key="-")
        agents.set_default_openai_client(client, use_for_tracing=False)
        agents.set_default_openai_api(kind)
        agent = agents.Agent(
            name="Asked",
            instructions="Be brief.",
            model="kimi",
            tools=[agents.function_tool(get_weather)],
            handoffs=[agents.Agent(name="Other", instructions="Be brief.")],
        )
        agents.Runner.run_sync(agent, "What is the weather?")


def _langchain(url: str) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Place(BaseModel):
        city: Literal["Paris", "Rome"]

    weather = tool(get_weather)
    model = ChatOpenAI(model="kimi", base_url=url, api_key="-")
    bound = model.bind_tools([weather], tool_choice="any")
    asked = HumanMessage("What is the weather?")
    reply = bound.invoke([asked])
    bound.invoke([asked, reply, weather.invoke(reply.tool_calls[0])])
    model.with_structured_output(Place, method="function_calling").invoke([asked])
    with suppress(ValueError):  # what the server says is no JSON
        model.with_structured_output(Place, method="json_schema").invoke([asked])


def _pydantic_ai(url: str) -> None:
    from pydantic import BaseModel
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Place(BaseModel):
        city: Literal["Paris", "Rome"]

    model = OpenAIChatModel("kimi", provider=OpenAIProvider(base_url=url, api_key="-"))
    Agent(model, tools=[get_weather]).run_sync("What is the weather?")
    Agent(model, output_type=Place).run_sync("Which place?")


def _litellm(url: str) -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network
    import litellm

    city = {"enum": ["Paris", "Rome"]}
    schema = {"type": "object", "properties": {"city": city}, "required": ["city"]}
    function = {"name": "get_weather", "strict": True, "parameters": schema}
    for provider in ("openai", "hosted_vllm"):
        litellm.completion(
            model=f"{provider}/kimi",
            api_base=url,
            api_key="-",
            messages=[{"role": "user", "content": "What is the weather?"}],
            tools=[{"type": "function", "function": function}],
            tool_choice="required",
            parallel_tool_calls=False,
        )


CLIENTS: dict[str, Callable[[str], None]] = {
    "openai-agents": _agents,
    "langchain-openai": _langchain,
    "pydantic-ai": _pydantic_ai,
    "litellm": _litellm,
}


def record(client: str) -> Recorded:
    """Let a client make its requests, and give them with the paths they went to."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.recorded = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        CLIENTS[client](f"http://127.0.0.1:{server.server_port}/v1")
    finally:
        server.shutdown()
    recorded: Recorded = server.recorded  # type: ignore[attr-defined]
    return recorded


def main() -> None:
    """Write one request a line."""
    client, file = sys.argv[1:]
    lines = [json.dumps(one, sort_keys=True) for one in record(client)]
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
