"""Chats of all outcomes, so that no panel is empty.

Owns: what is asked, and when. Must not know: who answers, who looks at it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from random import Random
from typing import Any

import httpx

from bench.demo import workload

_CLIENTS = 6
# A stretch of the time in which some client is out of order.
_REFUSALS = (0.35, 0.6)


def _tool(name: str, **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def _with(schema: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"tools": [_tool("f", a=schema)], "tool_choice": "auto", **more}


_BACK = {"type": "string", "pattern": "(a|b)\\1"}
_COUNTED = {"items": {"type": "integer"}, "contains": {"const": 1}, "uniqueItems": True}
_REFUSED = (
    _with(_BACK),
    _with({"type": "text"}),
    _with({"allOf": [{"type": "string"}, {"type": "integer"}]}),
    _with({"$ref": "https://example.com/item.json"}),
    {"tools": [_tool("f"), _tool("f")], "tool_choice": "auto"},
    _with({}, vllm_xargs={"enforcer": "nonsense"}),
)
_INEXACT = (
    _with({"type": "array", **_COUNTED}, vllm_xargs={"enforcer": "relax"}),
    _with(_BACK, vllm_xargs={"enforcer": "relax"}),
    _with(
        {"anyOf": [{"type": "null"}, {"$ref": "#/properties/a"}]},
        vllm_xargs={"enforcer": "isolate"},
    ),
    {"vllm_xargs": {"enforcer": "off"}},
)


def _fresh(random: Random) -> dict[str, Any]:
    """Declare a tool that was perhaps not declared before."""
    names = [f"p{random.randrange(3)}" for _ in range(random.randrange(1, 4))]
    text = {"type": "string", "pattern": f"^[a-z]{{1,{random.randrange(2, 12)}}}$"}
    items = {"type": "array", "items": text, "maxItems": random.randrange(2, 6)}
    return _tool(f"t{random.randrange(40)}", **dict.fromkeys(names, items))


def _body(random: Random, bodies: list[Any], part: float) -> dict[str, Any]:
    body = {**random.choice(bodies), "stream": False}
    kind = random.random()
    share = 0.1 if _REFUSALS[0] < part < _REFUSALS[1] else 0.01
    if kind < share:
        return body | random.choice(_REFUSED)
    if kind < 0.2:
        return body | random.choice(_INEXACT)
    if kind < 0.3:
        return body | {"max_tokens": random.choice((3, 6, 14, 20))}
    if kind < 0.45 and "tools" in body:
        return body | {"tools": [*body["tools"], _fresh(random)], "temperature": 1.0}
    return body


async def send(url: str, minutes: float) -> Counter[int]:
    """Keep a server busy for so long; gives how often each HTTP status came."""
    random = Random(7)
    bodies = list(workload.bodies(400))
    begin, seconds = time.monotonic(), 60 * minutes
    seen: Counter[int] = Counter()

    async def client(http: httpx.AsyncClient) -> None:
        while (part := (time.monotonic() - begin) / seconds) < 1:
            body = _body(random, bodies, part)
            answer = await http.post("/v1/chat/completions", json=body)
            seen[answer.status_code] += 1
            await asyncio.sleep(random.random() / 2)

    async with httpx.AsyncClient(base_url=url, timeout=300) as http:
        await asyncio.gather(*(client(http) for _ in range(_CLIENTS)))
    return seen
