"""Sending chat requests to a server, many at a time, and reading the replies.

Owns: HTTP, server-sent events, and putting the deltas of a stream together. Must
not know: which server answers, or what makes a reply right.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_IN_FLIGHT = 32
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the client sees it; `arguments` is the text, not yet parsed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one request.

    Attributes:
        status: HTTP status; 0 if there was no answer.
        error: what the server said where the status is no success.
        token_ids: the ids that the model generated, the end of the turn included.

    """

    status: int
    error: str = ""
    finish_reason: str | None = None
    content: str = ""
    calls: tuple[Call, ...] = ()
    token_ids: tuple[int, ...] = ()


async def send_all(
    url: str, bodies: Sequence[Mapping[str, Any]], done: Callable[[], None]
) -> list[Reply]:
    """Send every body to `/v1/chat/completions`; replies in the order of the bodies.

    Args:
        url: the server's root.
        bodies: chat completion requests; one with `"stream": true` is read as a stream.
        done: called after each reply.

    """
    limit = asyncio.Semaphore(_IN_FLIGHT)
    async with httpx.AsyncClient(base_url=url, timeout=_SECONDS) as client:

        async def send(body: Mapping[str, Any]) -> Reply:
            async with limit:
                reply = await _send(client, body)
            done()
            return reply

        return await asyncio.gather(*map(send, bodies))


async def _send(client: httpx.AsyncClient, body: Mapping[str, Any]) -> Reply:
    try:
        async with client.stream("POST", "/v1/chat/completions", json=body) as response:
            if not response.is_success:
                return Reply(response.status_code, (await response.aread()).decode())
            if not body.get("stream"):
                return _whole(json.loads(await response.aread())["choices"][0])
            turn = _Deltas()
            async for line in response.aiter_lines():
                data = line.removeprefix("data: ")
                if data in (line, "[DONE]"):
                    continue
                event = json.loads(data)
                if "error" in event:
                    return Reply(event["error"].get("code") or 500, data)
                for choice in event["choices"]:
                    turn.add(choice)
            return turn.reply()
    except httpx.TransportError as error:
        return Reply(0, repr(error))


def _whole(choice: Mapping[str, Any]) -> Reply:
    message = choice["message"]
    return Reply(
        200,
        finish_reason=choice["finish_reason"],
        content=message.get("content") or "",
        calls=tuple(
            Call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ),
        token_ids=tuple(choice.get("token_ids") or ()),
    )


@dataclass(slots=True)
class _Deltas:
    """The parts of a streamed turn as they arrive."""

    finish_reason: str | None = None
    content: list[str] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)

    def add(self, choice: Mapping[str, Any]) -> None:
        delta = choice["delta"]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        self.content.append(delta.get("content") or "")
        self.token_ids.extend(choice.get("token_ids") or ())
        for part in delta.get("tool_calls") or ():
            call = self.calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
            function = part.get("function") or {}
            call["id"] += part.get("id") or ""
            call["name"] += function.get("name") or ""
            call["arguments"] += function.get("arguments") or ""

    def reply(self) -> Reply:
        return Reply(
            200,
            finish_reason=self.finish_reason,
            content="".join(self.content),
            calls=tuple(Call(**self.calls[index]) for index in sorted(self.calls)),
            token_ids=tuple(self.token_ids),
        )
