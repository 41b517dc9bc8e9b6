"""The calls that a dialog already has.

Owns: counting them, so that the next index continues the dialog's counter, and
renaming their ids, those of results with them, to the form that the model was trained
on. Must not know: tools, schemas, token ids, formats.

The K2 technical report: the counter is "auto-increasing … of all tool calls
starting from 0 in the dialog". Ids of any other shape mislead the model.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enforcer.errors import InvalidTools


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call of the dialog.

    Attributes:
        id: what the client sends as such; any value at all.
        name: the tool's; None where the client sends none.
        index: how many calls the dialog has before it.
        position: how many of them are in the same message.

    """

    id: object
    name: str | None
    index: int
    position: int


def count_calls(messages: object) -> int:
    """Count the tool calls in the assistant messages of a dialog.

    Raises:
        InvalidTools: `messages` is not a list of message objects.

    """
    return sum(len(calls) for _, calls in _read(messages))


def plain(messages: object) -> object:
    """Return messages with the objects of a client's library, which are Pydantic's, as mappings."""
    if not isinstance(messages, list | tuple):
        return messages
    return [
        each.model_dump(exclude_none=True) if hasattr(each, "model_dump") else each
        for each in messages
    ]


def normalise(messages: object, id_of: Callable[[PastCall], str | None]) -> list[dict[str, Any]]:
    """Copy a dialog with every call id in the dialect's form, results following their calls.

    `id_of` writes an id; None leaves the call its own.

    A result is matched to its call by id; where ids are missing or repeated, to the first
    call of the preceding assistant message that has no result yet. A further result of a
    call that has one follows it too: vLLM makes two of one of `/v1/messages` that refers
    to tools. A result that answers no call keeps its id. The given messages are not changed.

    Raises:
        InvalidTools: `messages` is not a list of message objects.

    """
    out: list[dict[str, Any]] = []
    count = 0
    results = _Results(())
    for message, calls in _read(messages):
        copy = dict(message)
        if calls:
            ids = []
            for position, call in enumerate(calls):
                new = id_of(PastCall(call.get("id"), _name_of(call), count, position))
                ids.append((call.get("id"), call.get("id") if new is None else new))
                count += 1
            copy["tool_calls"] = [
                dict(call) if new is None else {**call, "id": new}
                for call, (_, new) in zip(calls, ids, strict=True)
            ]
            results = _Results(ids)
        elif copy.get("role") == "tool":
            match = results.match(copy.get("tool_call_id"))
            if match is not None:
                copy["tool_call_id"] = match[1]
        out.append(copy)
    return out


def _name_of(call: Mapping[str, Any]) -> str | None:
    function = call.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) and name else None


class _Results:
    """Which of a message's calls each result answers; in the time of one look, however many.

    Args:
        calls: the old id and the new of each, in order.

    """

    def __init__(self, calls: Iterable[tuple[object, object]]) -> None:
        self._calls = tuple(calls)
        # Places in it: those without a result, in order, and all by their id.
        self._waiting = OrderedDict.fromkeys(range(len(self._calls)))
        self._places: dict[object, deque[int]] = defaultdict(deque)
        for at, (old, _) in enumerate(self._calls):
            self._places[_text(old)].append(at)

    def match(self, old: object) -> tuple[object, object] | None:
        """Return the call that the next result, of this id, answers; None if there is none."""
        places = self._places[_text(old)]
        # Of several with one id the last stays, which further results follow.
        while len(places) > 1 and places[0] not in self._waiting:
            places.popleft()
        at = next(iter(places), None)
        if not _text(old) and at not in self._waiting:  # a missing id is told by order
            at = next(iter(self._waiting), None)
        if at is None:
            return None
        self._waiting.pop(at, None)
        return self._calls[at]


def _text(value: object) -> str:
    """Return an id; empty where it is missing, or no text as every client's is."""
    return value if isinstance(value, str) else ""


def _read(messages: object) -> Iterator[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]:
    """Yield the messages of a dialog, each with its calls, which the assistant's alone have."""
    if messages is None:
        return
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidTools("$.messages", "it must be a list of messages")
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise InvalidTools(f"$.messages[{at}]", "a message must be an object")
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        path = f"$.messages[{at}].tool_calls"
        if isinstance(calls or (), str | bytes | Mapping) or not isinstance(calls or (), Iterable):
            raise InvalidTools(path, "it must be a list of calls")
        listed = list(calls or ())
        for n, call in enumerate(listed):
            if not isinstance(call, Mapping):
                raise InvalidTools(f"{path}[{n}]", "a call must be an object")
        yield message, listed
