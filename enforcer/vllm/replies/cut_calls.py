"""Replies of /v1/responses that were cut off inside their calls, which are not complete.

vLLM closes whatever is open when the token ids end, without asking the parser, and reports half a
call as `completed` (0.32) or in the reply's output (0.33). A reply is `completed` there unless
`max_tokens` has ended it, also where an operator has aborted it. Here such a call is closed as
incomplete, the stream's last event has no call (decision 0006), and the reply is `incomplete`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from enforcer.vllm.observe import request_context

_CALLS = {"function_call", "custom_tool_call"}
_ITEM_DONE = "response.output_item.done"
# How events begin that say that arguments are whole; vLLM sends a custom tool's rest with it.
_SAY_SO = ("response.function_call_arguments.done", "response.custom_tool_call_input.")


def from_request(original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Wrap `ResponsesResponse.from_request`, which gets the status of a reply."""
    made = original(cls, *args, **kwargs)
    if request_context.current().is_cut and made.status == "completed":
        made.status = "incomplete"  # no `incomplete_details`: they have no such reason
    return made


def close_current(original: Any, self: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Wrap `SimpleStreamingEventProcessor.close_current`, by which every item of a stream ends."""
    events: list[Any] = original(self, *args, **kwargs)
    if not request_context.current().is_cut:
        return events
    self.output_items[:] = [one for one in self.output_items if one.type not in _CALLS]
    return list(_incomplete(events))


def _incomplete(events: list[Any]) -> Iterator[Any]:
    for event in events:
        ends_call = event.type == _ITEM_DONE and event.item.type in _CALLS
        if ends_call and event.item.type == "function_call":
            event.item = event.item.model_copy(update={"status": "incomplete"})
        # An item of a custom tool's call has no status that could say so.
        elif ends_call or event.type.startswith(_SAY_SO):
            continue
        yield event
