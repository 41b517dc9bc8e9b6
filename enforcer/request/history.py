"""The calls that a dialog already has.

Owns: counting them, so that the next index continues the dialog's counter, and
renaming their ids to the form that the model was trained on. Must not know:
tools, schemas, token ids, formats.

The K2 technical report: the counter is "auto-increasing … of all tool calls
starting from 0 in the dialog". Ids of any other shape mislead the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from enforcer.errors import InvalidTools


def count_calls(messages: object) -> int:
    """Count the tool calls in the assistant messages of a dialog.

    Raises:
        InvalidTools: `messages` is not a list of message objects.

    """
    return sum(len(calls) for _, calls in _assistant_calls(messages))


def normalise(messages: object, id_of: Callable[[str, int], str]) -> list[dict[str, Any]]:
    """Copy a dialog with every call id in the dialect's form, results following their calls.

    `id_of` writes an id for the name of a tool and an index (`Dialect.header_text`).

    A result is matched to its call by id; where ids are missing or repeated, to the first
    call of the preceding assistant message that has no result yet. A result that answers
    no call keeps its id. The given messages are not changed.

    Raises:
        InvalidTools: `messages` is not a list of message objects.

    """
    calls_at = dict(_assistant_calls(messages))
    out: list[dict[str, Any]] = []
    count = 0
    pending: list[tuple[object, object]] = []
    for at, message in enumerate(_messages(messages)):
        copy = dict(message)
        if calls := calls_at.get(at):
            pending = []
            renamed = []
            for call in calls:
                function = call.get("function")
                name = function.get("name") if isinstance(function, Mapping) else None
                # A call without a name has no id in the dialect's form; it keeps its own.
                new = id_of(name, count) if _is_name(name) else call.get("id")
                count += 1
                pending.append((call.get("id"), new))
                renamed.append(dict(call) if new is None else {**call, "id": new})
            copy["tool_calls"] = renamed
        elif copy.get("role") == "tool" and (match := _match(copy.get("tool_call_id"), pending)):
            pending.remove(match)
            copy["tool_call_id"] = match[1]
        out.append(copy)
    return out


def _is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and bool(name)


def _match(old: object, pending: list[tuple[object, object]]) -> tuple[object, object] | None:
    for entry in pending:
        if entry[0] == old and old is not None:
            return entry
    # An id that no call has: only a missing one can be told by its order.
    return pending[0] if pending and not old else None


def _assistant_calls(messages: object) -> list[tuple[int, Sequence[Mapping[str, Any]]]]:
    found: list[tuple[int, Sequence[Mapping[str, Any]]]] = []
    for at, message in enumerate(_messages(messages)):
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        if not calls:
            continue
        path = f"$.messages[{at}].tool_calls"
        if isinstance(calls, str | bytes | Mapping):
            raise InvalidTools(path, "it must be a list of calls")
        try:
            listed = list(calls)
        except TypeError:
            raise InvalidTools(path, "it must be a list of calls") from None
        for n, call in enumerate(listed):
            if not isinstance(call, Mapping):
                raise InvalidTools(f"{path}[{n}]", "a call must be an object")
        found.append((at, listed))
    return found


def _messages(messages: object) -> Sequence[Mapping[str, Any]]:
    if messages is None:
        return ()
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidTools("$.messages", "it must be a list of messages")
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise InvalidTools(f"$.messages[{at}]", "a message must be an object")
    return messages
