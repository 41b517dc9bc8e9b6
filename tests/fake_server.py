"""A real HTTP server of the standard library that answers chat requests as it is told.

Owns: the server and its thread. Must not know: who asks it.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Handler(BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._answer(200 if self.server.metrics else 404, self.server.metrics)
            return
        status, value = self.server.listing
        self._answer(status, json.dumps(value))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.headers.append(dict(self.headers))
        status, answer = self.server.answer(body)
        if isinstance(answer, list):
            events = "".join(f"data: {json.dumps(event)}\n\n" for event in answer)
            answer = f"{events}data: [DONE]\n\n"
        elif not isinstance(answer, str):
            answer = json.dumps(answer)
        self._answer(status, answer)

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


class FakeServer(ThreadingHTTPServer):
    request_queue_size = 128  # the default, 5, refuses connections that come at once
    answer: Callable[[dict[str, Any]], tuple[int, Any]]
    listing: tuple[int, Any]
    metrics: str
    bodies: list[dict[str, Any]]
    headers: list[dict[str, str]]
    url: str


@contextmanager
def serving(
    answer: Callable[[dict[str, Any]], tuple[int, Any]],
    listing: tuple[int, Any] = (200, {"data": [{"id": "toy"}]}),
    metrics: str = "",
) -> Iterator[FakeServer]:
    """Serve in a thread.

    `answer` takes a request body and gives a status and what is sent: a text, a JSON value,
    or a list of the events of a stream. `metrics` is the text at `/metrics`. The server's
    `url`, `bodies` and `headers` are attributes of what is yielded.
    """
    server = FakeServer(("127.0.0.1", 0), _Handler)
    server.answer, server.listing, server.metrics = answer, listing, metrics
    server.bodies, server.headers = [], []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def call(name: str, arguments: str, index: int = 0, call_id: str | None = None) -> dict[str, Any]:
    """Give a call as it stands in a message."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id or f"functions.{name}:{index}", "type": "function", "function": function}


def reply(
    body: dict[str, Any],
    finish: str = "stop",
    content: str | None = None,
    calls: list[dict[str, Any]] | tuple[Any, ...] = (),
) -> tuple[int, Any]:
    """Give the answer to a body: a response, or the events of a stream."""
    if not body.get("stream"):
        message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
        return 200, {"choices": [{"message": message, "finish_reason": finish}]}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": content or ""}]
    for index, made in enumerate(calls):
        function = {"name": made["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{**made, "index": index, "function": function}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": char}}]}
            for char in made["function"]["arguments"]
        ]
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    return 200, [*events, end, {"choices": [], "usage": {}}]
