"""The client against a real HTTP server of the standard library that replays fixed answers."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.demo.sending import Call, Reply, send_all

CALLS = [
    {"id": f"functions.f:{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for n in (0, 1)
]
WHOLE = {
    "choices": [
        {
            "message": {"content": None, "tool_calls": CALLS},
            "finish_reason": "tool_calls",
            "token_ids": [1, 2],
        }
    ]
}


def delta(finish=None, ids=(), **parts):
    return {"choices": [{"delta": parts, "finish_reason": finish, "token_ids": list(ids)}]}


def part(index, **more):
    return {"tool_calls": [{"index": index, **more}]}


STREAM = [
    delta(role="assistant", content=""),
    delta(content="so ", ids=[3]),
    delta(content="be it", ids=[4]),
    delta(**part(0, id="functions.f:0", function={"name": "f", "arguments": ""}), ids=[5]),
    delta(**part(0, function={"arguments": '{"a"'}), ids=[6]),
    delta(**part(1, id="functions.g:1", function={"name": "g", "arguments": "{}"}), ids=[7]),
    delta(**part(0, function={"arguments": ": 1}"}), ids=[8]),
    delta(finish="tool_calls", ids=[9]),
    {"choices": [], "usage": {}},
]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, events = self.server.answers[body["name"]]
        self.send_response(status)
        self.end_headers()
        if isinstance(events, list):
            text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
            self.wfile.write(f"{text}data: [DONE]\n\n".encode())
        else:
            self.wfile.write(json.dumps(events).encode())

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # the default, 5, refuses connections that come at once


@pytest.fixture
def url():
    server = Server(("127.0.0.1", 0), Handler)
    server.answers = {
        "whole": (200, WHOLE),
        "stream": (200, STREAM),
        "refused": (400, {"error": {"message": "no such keyword"}}),
        "broken": (200, [STREAM[0], {"error": {"message": "died", "code": 500}}]),
    }
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def ask(url, *bodies):
    done = []
    replies = asyncio.run(send_all(url, bodies, lambda: done.append(1)))
    assert len(done) == len(bodies)
    return replies


def test_whole_reply(url):
    [reply] = ask(url, {"name": "whole"})
    calls = tuple(Call(f"functions.f:{n}", "f", "{}") for n in (0, 1))
    assert reply == Reply(200, "", "tool_calls", "", calls, (1, 2))


def test_streamed_reply_is_put_together(url):
    [reply] = ask(url, {"name": "stream", "stream": True})
    calls = (Call("functions.f:0", "f", '{"a": 1}'), Call("functions.g:1", "g", "{}"))
    assert reply == Reply(200, "", "tool_calls", "so be it", calls, (3, 4, 5, 6, 7, 8, 9))


def test_errors_are_replies(url):
    refused, broken = ask(url, {"name": "refused"}, {"name": "broken", "stream": True})
    assert refused.status == 400
    assert "no such keyword" in refused.error
    assert broken.status == 500
    assert "died" in broken.error


def test_replies_stand_in_the_order_of_the_requests(url):
    names = ["whole", "refused"] * 50
    replies = ask(url, *({"name": name} for name in names))
    assert [reply.status for reply in replies] == [200, 400] * 50


def test_no_server_is_a_reply_too():
    [reply] = ask("http://127.0.0.1:9", {"name": "whole"})
    assert reply.status == 0
    assert "ConnectError" in reply.error
