"""What a server answers to a chat request, whole or streamed, as one value.

Owns: reading Chat Completions responses and putting the deltas of a stream together.
Must not know: HTTP, or what makes a reply right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

OK = 200
ABORTED = "abort"  # vLLM's finish_reason of what it ended itself, as when it is told to stop


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
        error: what went wrong; empty for a reply that can be judged. One that the server aborted
            cannot: what it lacks is not the model's fault.
        content, reasoning: texts, empty where there are none.
        token_ids: the ids that the model generated, where the server tells them.

    """

    status: int
    error: str = ""
    finish_reason: str | None = None
    content: str = ""
    calls: tuple[Call, ...] = ()
    token_ids: tuple[int, ...] = ()
    reasoning: str = ""

    @property
    def answered(self) -> bool:
        """Tell whether there is a reply to judge."""
        return self.status == OK and not self.error


def whole(response: Any) -> Reply:
    """Read a response that was not streamed; its first choice, if it has several.

    A response of another form gives a reply with an `error`.
    """
    found = Deltas()
    found.add(response)
    return found.reply()


def _text(value: Any) -> str:
    """Give a text, or the empty one where there is none.

    Raises:
        TypeError: it is something else.

    """
    if value and not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} stands where a text belongs")
    return value or ""


@dataclass(slots=True)
class Deltas:
    """The parts of a turn as they arrive; a response that was not streamed is one part."""

    _error: str = ""
    _status: int = OK
    _finish_reason: str | None = None
    _content: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _token_ids: list[int] = field(default_factory=list)
    _calls: dict[int, list[str]] = field(default_factory=dict)

    def add(self, event: Any) -> None:
        """Take the next event of the stream; what is no part of a completion is an error."""
        try:
            if "error" in event:
                self._fail(event["error"])
            for choice in event.get("choices") or ():
                if not choice.get("index"):
                    self._add_choice(choice)
        except (AttributeError, KeyError, TypeError) as error:
            self._error = f"not a chat completion: {error!r}"

    def _fail(self, error: Any) -> None:
        code = error.get("code") if isinstance(error, dict) else None
        self._status = code if isinstance(code, int) and code > OK else 500
        self._error = str(error)

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        said = choice.get("delta", choice.get("message")) or {}
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        self._content.append(_text(said.get("content")))
        self._reasoning.append(_text(said.get("reasoning") or said.get("reasoning_content")))
        self._token_ids.extend(choice.get("token_ids") or ())
        for at, part in enumerate(said.get("tool_calls") or ()):
            number = at if part.get("index") is None else index(part["index"])
            call = self._calls.setdefault(number, ["", "", ""])
            function = part.get("function") or {}
            call[0] += _text(part.get("id"))
            call[1] += _text(function.get("name"))
            call[2] += _text(function.get("arguments"))

    def reply(self) -> Reply:
        """Give the turn as far as it has come."""
        error = self._error
        if not error and self._finish_reason is None:
            error = "it ended without a finish_reason"
        elif not error and self._finish_reason == ABORTED:
            error = "the server aborted the reply"
        return Reply(
            self._status,
            error,
            finish_reason=self._finish_reason,
            content="".join(self._content),
            calls=tuple(Call(*self._calls[index]) for index in sorted(self._calls)),
            token_ids=tuple(self._token_ids),
            reasoning="".join(self._reasoning),
        )
