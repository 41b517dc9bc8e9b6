"""What the clients of a soak do, and what is wrong with what they get.

Owns: the kinds of requests and how often each comes, and judging each reply. Must not know:
how the server is run, how figures are shown.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema

from bench.demo.servers import MODEL_NAME
from bench.matrix import cells, workload
from bench.matrix.routes import Client, Route
from bench.neighbours.hostile import Constraint
from enforcer.judging.judge import judge

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    import enforcer
    from bench.matrix.cells import Cell
    from bench.neighbours.hostile import Load

_MOST = 120
_OK = 200
_PLAIN: tuple[dict[str, Any], ...] = (
    {"json": {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}},
    {
        "json": {
            "type": "object",
            "properties": {"a": {"type": "integer", "multipleOf": 2}},
            "patternProperties": {},
        }
    },
    {"regex": "[a-c]{2,4}"},
    {"choice": ["yes", "no"]},
)
_BROKEN: tuple[dict[str, Any], ...] = (
    {"tools": "none"},
    {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "text"}}}]},
    {"tools": [{"type": "function", "function": {"name": "f"}}] * 2},
    {"tool_choice": "required"},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": 3}}},
)


@dataclass(slots=True)
class Tally:
    """What came of all requests.

    Attributes:
        sent: by kind.
        outcomes: by kind and HTTP status, or what else became of it.
        calls: whole ones.
        wrong: what should not be, in words; the first of each kind.
        faults: how many should not be.

    """

    sent: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: int = 0
    faults: int = 0
    wrong: list[str] = field(default_factory=list)

    def blame(self, kind: str, what: str) -> None:
        """Note what should not be."""
        self.faults += 1
        if len(self.wrong) < 50:
            self.wrong.append(f"{kind}: {what[:600]}")


class Crowd:
    """Clients that go on until they are told to stop.

    Args:
        url: the server's, without `/v1`.
        reader: of the model's tokenizer.
        loads: the hostile requests.
        random: draws what each does next.

    """

    def __init__(
        self, url: str, reader: enforcer.Enforcer, loads: list[Load], random: Random
    ) -> None:
        self._url = url
        self._reader = reader
        self._loads = loads
        self._random = random
        self._client = Client(url, MODEL_NAME, reader)
        self._number = 0
        self._cells = cells.cells()
        self.tally = Tally()
        self.done = asyncio.Event()
        self._kinds: dict[str, tuple[int, Callable[[httpx.AsyncClient], Awaitable[None]]]] = {
            "chat": (50, self._chat),
            "every route": (15, self._cell),
            "cancelled": (12, self._cancelled),
            "hostile": (8, self._hostile),
            "vLLM's own constraints": (8, self._plain),
            "malformed": (7, self._broken),
        }

    async def run(self, count: int) -> None:
        """Be so many clients, until `done` is set."""
        # A kept connection may be closed by the server just as the next request is written.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=self._url, timeout=600, limits=limits) as http:
            await asyncio.gather(*(self._one(http) for _ in range(count)))
        await self._client.close()

    async def _one(self, http: httpx.AsyncClient) -> None:
        names = list(self._kinds)
        weights = [weight for weight, _ in self._kinds.values()]
        while not self.done.is_set():
            kind = self._random.choices(names, weights)[0]
            self.tally.sent[kind] += 1
            try:
                await self._kinds[kind][1](http)
            except httpx.TransportError as error:
                self.tally.blame(kind, repr(error))
                await asyncio.sleep(1)

    def _drawn(self) -> dict[str, Any]:
        self._number += 1
        (body,) = workload.bodies(1, seed=self._number)
        return {**body, "max_tokens": _MOST}

    async def _chat(self, _http: httpx.AsyncClient) -> None:
        body = self._drawn()
        reply = await self._client.send(Route.CHAT, body)
        self.tally.outcomes["chat", reply.finish_reason or str(reply.status)] += 1
        verdict = judge(body, reply)
        self.tally.calls += len(reply.calls) if verdict.has_calls else 0
        for finding in verdict.findings:
            self.tally.blame("chat", f"{finding.fault.name} {finding.message}")

    async def _cell(self, _http: httpx.AsyncClient) -> None:
        cell: Cell = self._random.choice(self._cells)
        (result,) = await cells.run(
            self._client,
            repeats=1,
            max_tokens=_MOST,
            temperature=1.0,
            concurrency=1,
            wanted=[cell],
        )
        self.tally.outcomes["every route", "cut off" if result.cut_off else "whole"] += 1
        self.tally.calls += result.calls
        for finding in result.findings:
            self.tally.blame(str(cell), f"{finding.fault.name} {finding.message}")

    async def _cancelled(self, http: httpx.AsyncClient) -> None:
        """Go away: at once, after some events, or while the schema is still looked at."""
        body = {**self._drawn(), "model": MODEL_NAME, "stream": True}
        patience = self._random.choice((0.01, 0.1, 0.5, 2.0))
        seen = 0
        try:
            async with (
                asyncio.timeout(patience),
                http.stream("POST", "/v1/chat/completions", json=body) as answer,
            ):
                async for _ in answer.aiter_lines():
                    seen += 1
        except TimeoutError:
            pass  # as meant
        self.tally.outcomes["cancelled", "after events" if seen else "before the first"] += 1

    async def _hostile(self, http: httpx.AsyncClient) -> None:
        load = self._random.choice(self._loads)
        self._number += 1
        route, body = load.build(f"{self._number}s", Constraint.ENFORCER)
        body |= {"return_token_ids": True, "skip_special_tokens": False}
        data = await asyncio.to_thread(json.dumps, body)
        try:
            async with asyncio.timeout(load.patience):
                answer = await http.post(
                    route, content=data, headers={"content-type": "application/json"}
                )
        except TimeoutError:
            self.tally.outcomes["hostile", "abandoned"] += 1
            return
        self.tally.outcomes["hostile", str(answer.status_code)] += 1
        if answer.status_code not in (_OK, 400):
            self.tally.blame(load.name, f"HTTP {answer.status_code}: {answer.text}")
        elif answer.status_code == _OK and route == "/v1/completions":
            for wrong in await asyncio.to_thread(self._misfits, body, answer.json()):
                self.tally.blame(load.name, wrong)

    def _misfits(self, body: dict[str, Any], answer: dict[str, Any]) -> list[str]:
        """Read the calls of a raw completion; give what is wrong with them."""
        spec = json.loads(json.loads(body["structured_outputs"]["structural_tag"])["enforcer"])
        schemas = {
            tool["function"]["name"]: tool["function"]["parameters"] for tool in spec["tools"]
        }
        turn = self._reader.parse(answer["choices"][0]["token_ids"])
        wrong = [] if turn.stray is None else [f"id {turn.stray} is illegal where it stands"]
        for call in turn.calls:
            if call.name not in schemas:
                wrong.append(f"undeclared: {call.name}")
                continue
            try:
                validator = jsonschema.Draft202012Validator(schemas[call.name])
                validator.validate(json.loads(call.arguments))
            except (ValueError, jsonschema.ValidationError) as error:
                wrong.append(f"arguments: {call.arguments[:200]!r}: {str(error)[:200]}")
        return wrong

    async def _plain(self, http: httpx.AsyncClient) -> None:
        own = self._random.choice(_PLAIN)
        body = {"prompt": "Hi", "max_tokens": 40, "structured_outputs": own, "model": MODEL_NAME}
        answer = await http.post("/v1/completions", json=body)
        self.tally.outcomes["vLLM's own constraints", str(answer.status_code)] += 1
        if answer.status_code != _OK:
            self.tally.blame("vLLM's own constraints", f"{own}: {answer.text}")

    async def _broken(self, http: httpx.AsyncClient) -> None:
        messages = [{"role": "user", "content": "Hi"}]
        body = {"model": MODEL_NAME, "messages": messages, "max_tokens": 8}
        body |= self._random.choice(_BROKEN) | {"stream": self._random.random() < 0.5}
        answer = await http.post("/v1/chat/completions", json=body)
        self.tally.outcomes["malformed", str(answer.status_code)] += 1
        if answer.status_code not in (400, 422):
            self.tally.blame("malformed", f"HTTP {answer.status_code} for {body}")
