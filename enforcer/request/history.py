"""The past calls of a dialog: their number, and their ids in the model's form.

The next call's index continues the dialog's counter ("auto-increasing … of all tool calls starting
from 0 in the dialog", K2 technical report), and ids of any other form mislead the model. Must not
know: tools, schemas, token ids, formats.
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
        id: the id that the client sends; any value.
        name: the tool's name; None if the client sends none.
        index: the number of calls before it in the dialog.
        position: the number of calls before it in its message.

    """

    id: object
    name: str | None
    index: int
    position: int


def count_calls(messages: object) -> int:
    """Return the number of tool calls in the assistant messages of a dialog.

    Raises:
        InvalidTools: `messages` is not a list of message objects.

    """
    return sum(len(calls) for _, calls in _read(messages))


def normalise(messages: object, id_of: Callable[[PastCall], str | None]) -> list[dict[str, Any]]:
    """Return a copy of a dialog with new call ids, in calls and in results alike.

    A result is matched to its call by id; if ids are missing or repeated, to the first call of the
    preceding assistant message that has no result yet. A further result of a call gets its id too
    (vLLM splits a result of `/v1/messages` that refers to tools in two). A result that answers no
    call keeps its id.

    Args:
        messages: the dialog; not changed.
        id_of: returns a call's new id; None to keep the old one.

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
    """Matches results to the calls of a message, in constant time each.

    Args:
        calls: the old and the new id of each, in order.

    """

    def __init__(self, calls: Iterable[tuple[object, object]]) -> None:
        self._calls = tuple(calls)
        # Indices into it: of the calls without a result, in order, and of all by id.
        self._waiting = OrderedDict.fromkeys(range(len(self._calls)))
        self._places: dict[object, deque[int]] = defaultdict(deque)
        for at, (old, _) in enumerate(self._calls):
            self._places[_text(old)].append(at)

    def match(self, old: object) -> tuple[object, object] | None:
        """Return the old and new id of the call that a result answers; None if there is none."""
        places = self._places[_text(old)]
        # The last of several with one id stays, for further results.
        while len(places) > 1 and places[0] not in self._waiting:
            places.popleft()
        at = next(iter(places), None)
        if not _text(old) and at not in self._waiting:  # a missing id: by order
            at = next(iter(self._waiting), None)
        if at is None:
            return None
        self._waiting.pop(at, None)
        return self._calls[at]


def _text(value: object) -> str:
    """Return an id; empty if it is missing or no string."""
    return value if isinstance(value, str) else ""


def _read(messages: object) -> Iterator[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]:
    """Yield each message of a dialog with its calls; only assistant messages have some."""
    if messages is None:
        return
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidTools("$.messages", "it must be a list of messages")
    for at, given in enumerate(messages):
        is_model = hasattr(given, "model_dump")  # a model of a client's library
        message = given.model_dump(exclude_none=True) if is_model else given
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
