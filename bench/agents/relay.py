"""A relay between an agent and a server, which notes what was asked and how it was answered.

Owns: what one exchange was. Must not know: who asks, and whether an answer is good.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SECONDS = 600
_FAILED = ("event: error", "event: response.failed")
_KEPT_HEADERS = ("content-type", "authorization", "anthropic-version", "anthropic-beta")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with a body, and its answer.

    Attributes:
        path: of the request, without its query.
        body: of the request.
        status: of the answer; 599 where the server broke the connection.
        text: the answer, whole.

    """

    path: str
    body: Mapping[str, Any]
    status: int
    text: str

    @property
    def tools(self) -> int:
        """How many tools it declares; a namespace is one."""
        return len(self.body.get("tools") or ())

    @property
    def messages(self) -> int:
        """How many messages its dialog has."""
        return len(self.body.get("messages") or self.body.get("input") or ())

    @property
    def answered(self) -> bool:
        """Whether it is an answer; a stream that has begun can only say so in an event."""
        return self.status == httpx.codes.OK and not any(sign in self.text for sign in _FAILED)

    @property
    def calls(self) -> list[str]:
        """The names of the tools that a streamed answer calls, in its order."""
        lines = self.text.splitlines()
        events = (json.loads(line[6:]) for line in lines if line.startswith("data: {"))
        return [name for event in events for name in _called(event)]


def _called(event: Mapping[str, Any]) -> Iterator[str]:
    if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
        yield event["content_block"]["name"]
    if event["type"] == "response.output_item.done" and event["item"]["type"] == "function_call":
        space = event["item"].get("namespace")
        yield f"{space}.{event['item']['name']}" if space else event["item"]["name"]


class _Relay(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        self.seen: list[Exchange] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Relay

    def do_GET(self) -> None:
        answer = httpx.get(f"{self.server.target}{self.path}", timeout=_SECONDS)
        self._begin(answer)
        self.wfile.write(answer.content)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name: self.headers[name] for name in _KEPT_HEADERS if name in self.headers}
        parts: list[bytes] = []
        status = 599
        try:
            with httpx.stream(
                "POST",
                f"{self.server.target}{self.path}",
                content=content,
                headers=headers,
                timeout=_SECONDS,
            ) as answer:
                self._begin(answer)
                for part in answer.iter_raw():
                    parts.append(part)
                    self.wfile.write(part)
                    self.wfile.flush()
                status = answer.status_code
        except (BrokenPipeError, ConnectionResetError):
            return  # whoever asked has gone, and so nobody knows what the answer would have been
        except httpx.TransportError as error:
            parts.append(str(error).encode())
        answered = b"".join(parts).decode(errors="replace")
        path = self.path.partition("?")[0]
        self.server.seen.append(Exchange(path, json.loads(content), status, answered))

    def _begin(self, answer: httpx.Response) -> None:
        # HTTP/1.0: the end of the connection is the end of the body.
        self.send_response(answer.status_code)
        self.send_header("content-type", answer.headers.get("content-type", "text/plain"))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def relaying(target: str) -> Iterator[tuple[str, list[Exchange]]]:
    """Relay to a server until the block ends; give the relay's address and what it has seen."""
    relay = _Relay(target)
    threading.Thread(target=relay.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{relay.server_port}", relay.seen
    finally:
        relay.shutdown()
        relay.server_close()
