"""A server that answers as told: a first request with a call, the next one with text.

Owns: replies of Chat Completions, Responses and Messages, streamed where the client asks for
it, and the record of what was asked. Must not know: which client asks. It needs nothing but
Python.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Recorded = list[dict[str, Any]]

_SAID = "Sunny."
# What some tools are called with; where none of them is declared, the first tool is called as
# the tests' own one is.
_ARGUMENTS = {
    "exec_command": '{"cmd": "true"}',
    "ToolSearch": '{"query": "select:WebFetch,CronCreate", "max_results": 5}',
    "Read": '{"file_path": "/nothing/here"}',
}
_WEATHER = '{"city": "Paris"}'
_USAGE = {"input_tokens": 1, "output_tokens": 1}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send("application/json", b'{"object": "list", "data": []}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        self.server.recorded.append({"path": path, "body": body})  # type: ignore[attr-defined]
        if path.endswith("/count_tokens"):
            self._send("application/json", b'{"input_tokens": 1}')
        elif body.get("stream"):
            events = _response_events(body) if "responses" in path else _message_events(body)
            lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
            self._send("text/event-stream", "".join(lines).encode())
        else:
            answer = next(make for part, make in _WHOLE.items() if part in path)
            self._send("application/json", json.dumps(answer(body)).encode())

    def _send(self, kind: str, answer: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _has_result(message: dict[str, Any]) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return (
        message.get("role") == "tool"
        or message.get("type") == "function_call_output"
        or any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)
    )


def _call(body: dict[str, Any]) -> tuple[str, str] | None:
    """Name the tool to call, and its arguments; None once a result has come."""
    dialog = body.get("messages") or body.get("input") or []
    named = [
        tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools") or []
    ]
    if not any(named) or any(map(_has_result, dialog)):
        return None
    name = next((name for name in _ARGUMENTS if name in named), named[0])
    return name, _ARGUMENTS.get(name, _WEATHER)


def _item(body: dict[str, Any]) -> dict[str, Any]:
    item: dict[str, Any] = {"id": "i", "status": "completed"}
    if (call := _call(body)) is not None:
        name, arguments = call
        called = f"functions.{name}:0"
        return item | {
            "type": "function_call",
            "call_id": called,
            "name": name,
            "arguments": arguments,
        }
    text = {"type": "output_text", "text": _SAID, "annotations": []}
    return item | {"type": "message", "role": "assistant", "content": [text]}


def _response(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "k",
        "output": [_item(body)],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": _USAGE | {"total_tokens": 2},
    }


def _response_events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    whole = _response(body)
    yield {"type": "response.created", "response": whole | {"status": "in_progress", "output": []}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": whole["output"][0]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": whole["output"][0]}
    yield {"type": "response.completed", "response": whole}


def _message(body: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": _SAID}
    if (call := _call(body)) is not None:
        name, arguments = call
        block = {"type": "tool_use", "id": f"functions.{name}:0", "name": name}
        block["input"] = json.loads(arguments)
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": "end_turn" if call is None else "tool_use",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _message_events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    whole = _message(body)
    block = whole["content"][0]
    if block["type"] == "text":
        begun: dict[str, Any] = block | {"text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        begun = block | {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": begun}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": _USAGE}
    yield {"type": "message_stop"}


def _chat(body: dict[str, Any]) -> dict[str, Any]:
    call = _call(body)
    message: dict[str, Any] = {"role": "assistant", "content": _SAID if call is None else None}
    if call is not None:
        function = {"name": call[0], "arguments": call[1]}
        called = {"id": f"functions.{call[0]}:0", "type": "function", "function": function}
        message["tool_calls"] = [called]
    reason = "stop" if call is None else "tool_calls"
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "k",
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


_WHOLE = {"responses": _response, "messages": _message, "chat/completions": _chat}


@contextmanager
def running() -> Iterator[tuple[str, Recorded]]:
    """Run the server until the block ends; give its address, without `/v1`, and its record."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    recorded: Recorded = []
    server.recorded = recorded  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", recorded
    finally:
        server.shutdown()
