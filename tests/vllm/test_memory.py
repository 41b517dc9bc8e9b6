"""The engine's memory under ever new tool sets, hostile ones among them.

`LIVE_REQUESTS=500 .venv/bin/python -m pytest tests/vllm/test_memory.py` sends fewer.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

import enforcer
from bench import processes
from bench.demo.servers import MODEL_NAME, Server
from tests.vllm_servers import TINY, enforced_with, serving

pytestmark = [pytest.mark.vllm, pytest.mark.long]

_ORDINARY = int(os.environ.get("LIVE_REQUESTS", "2000"))
_HOSTILE = _ORDINARY // 40
_TOKENS, _MANY_TOKENS = 200, 4_000
_WARM = _ORDINARY // 10  # requests that a server and its libraries have grown by then
_AT_ONCE = 128
_CACHE_MIB = 16
_FLAGS = (
    *("--max-model-len", "8192", "--hf-overrides", '{"max_position_embeddings": 8192}'),
    *("--max-num-seqs", str(_AT_ONCE)),
)


def _ordinary(number: int) -> dict[str, Any]:
    properties = {
        "id": {"type": "string", "format": "uuid"},
        f"mode_{number}": {"enum": [f"mode {number} {k}" for k in range(5)]},
        "note": {"type": "string", "minLength": 100},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 20},
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _hostile(number: int) -> dict[str, Any]:
    """Return a schema whose texts visit thousands of states of an automaton, each once."""
    pattern = {"type": "string", "pattern": "^([a-z ][A-Z ]){2400}$"}
    return {"type": "object", "title": str(number), "properties": {"a": pattern}, "required": ["a"]}


def _body(schema: dict[str, Any], tokens: int) -> dict[str, Any]:
    tool = {"type": "function", "function": {"name": "get", "parameters": schema}}
    demanded = enforcer.extra_body([tool], "required")
    return {"model": MODEL_NAME, "prompt": "Hi", "max_tokens": tokens, **demanded}


def _bodies() -> list[dict[str, Any]]:
    """Return the requests in order, the hostile ones spread over all but the first."""
    bodies = [_body(_ordinary(number), _TOKENS) for number in range(_ORDINARY)]
    every = (_ORDINARY - _WARM) // _HOSTILE
    for number in range(_HOSTILE):
        bodies.insert(_WARM + number * (every + 1), _body(_hostile(number), _MANY_TOKENS))
    return bodies


async def _send(server: Server, bodies: list[dict[str, Any]]) -> tuple[list[float], int]:
    """Send all, some at a time.

    Returns:
        MiB of the engine each time that as many as `_WARM` more have been answered, and how many
        tokens came.

    """
    todo, sizes, tokens, answers = iter(bodies), [], 0, 0
    async with httpx.AsyncClient(base_url=server.url, timeout=600) as client:

        async def some() -> None:
            nonlocal tokens, answers
            for body in todo:
                answer = await client.post("/v1/completions", json=body)
                assert answer.status_code == 200, answer.text
                tokens += answer.json()["usage"]["completion_tokens"]
                answers += 1
                if not answers % _WARM:
                    sizes.append(processes.memory(server.pid)["EngineCore"])

        await asyncio.gather(*(some() for _ in range(_AT_ONCE)))
    return sizes, tokens


def test_memory_is_flat_under_ever_new_tools(tmp_path: Path) -> None:
    own = {"ENFORCER_CACHE_MIB": str(_CACHE_MIB), "ENFORCER_PREAMBLE_IDS": "0"}
    with serving(TINY, enforced_with(*_FLAGS), tmp_path / "server.log", **own) as server:
        engine, tokens = asyncio.run(_send(server, _bodies()))
    assert tokens > 0.9 * (_ORDINARY * _TOKENS + _HOSTILE * _MANY_TOKENS)
    assert max(engine) - engine[0] < 1.15 * _CACHE_MIB + 64, engine
    second = engine[len(engine) // 2 :]
    assert max(second) - min(second) < 16, engine
