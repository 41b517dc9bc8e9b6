"""Replies to chat requests as values, read from whole responses and from streams.

Must not know: HTTP, or what makes a reply right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import index
from typing import Any

OK = 200
ABORTED = "abort"  # vLLM's finish_reason of what it ended itself, as when it is told to stop


@dataclass(frozen=True, slots=True)
class ChatCall:
    """A tool call as the client sees it; `arguments` is the text, not yet parsed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The reply to one request.

    Attributes:
        status: HTTP status; 0 if there was no answer.
        error: what went wrong; empty for a reply that can be judged. One that the server aborted
            cannot: what it lacks is not the model's fault.
        content, reasoning: texts, empty where there are none.
        token_ids: the ids that the model generated, where the server tells them.

    """

    status: int
    error: str = ""
    finish_reason: str | None = None
    content: str = ""
    calls: tuple[ChatCall, ...] = ()
    token_ids: tuple[int, ...] = ()
    reasoning: str = ""

    @property
    def answered(self) -> bool:
        """Return whether there is a reply to judge."""
        return self.status == OK and not self.error


def whole(response: Any) -> ChatReply:
    """Read a response that was not streamed; its first choice, if it has several.

    A response of another form gives a reply with an `error`.
    """
    return joined([response])


def events(lines: Iterable[str]) -> Iterator[Any]:
    """Yield the events of a stream of server-sent events, but for its end.

    Raises:
        ValueError: one is not JSON.

    """
    for line in lines:
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield json.loads(data)


def joined(events: Iterable[Any]) -> ChatReply:
    """Join the events of a stream, which may be cut off; see `whole`."""
    status, error, finish_reason = OK, "", None
    content, reasoning = "", ""
    token_ids: list[int] = []
    calls: dict[int, list[str]] = {}
    try:
        for event in events:
            if "error" in event:
                status, error = _failure(event["error"])
            for choice in event.get("choices") or ():
                if choice.get("index"):
                    continue
                said = choice.get("delta", choice.get("message")) or {}
                finish_reason = choice.get("finish_reason") or finish_reason
                content += _text(said.get("content"))
                reasoning += _text(said.get("reasoning") or said.get("reasoning_content"))
                token_ids += choice.get("token_ids") or ()
                for at, part in enumerate(said.get("tool_calls") or ()):
                    number = at if part.get("index") is None else index(part["index"])
                    call = calls.setdefault(number, ["", "", ""])
                    function = part.get("function") or {}
                    call[0] += _text(part.get("id"))
                    call[1] += _text(function.get("name"))
                    call[2] += _text(function.get("arguments"))
    except (AttributeError, KeyError, TypeError) as problem:
        error = f"not a chat completion: {problem!r}"
    if not error and finish_reason is None:
        error = "it ended without a finish_reason"
    elif not error and finish_reason == ABORTED:
        error = "the server aborted the reply"
    return ChatReply(
        status,
        error,
        finish_reason=finish_reason,
        content=content,
        calls=tuple(ChatCall(*calls[number]) for number in sorted(calls)),
        token_ids=tuple(token_ids),
        reasoning=reasoning,
    )


def _failure(error: Any) -> tuple[int, str]:
    """Return the HTTP status that an error in a stream has, and the error as text."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and code > OK else 500, str(error)


def _text(value: Any) -> str:
    """Return a text, or the empty one where there is none.

    Raises:
        TypeError: it is something else.

    """
    if value and not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} stands where a text belongs")
    return value or ""
