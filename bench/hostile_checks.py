"""What schemas that take long to check cost other clients: `python -m bench.hostile_checks`.

Owns: a server, a plain chat that streams again and again, and beside it requests whose schemas
are slow to check, abandoned by their clients. Must not know: how schemas are checked.

Prints, without and with the hostile requests, the plain chats' times to the first token and the
largest gap between two of their tokens; and what the first requests of a fresh server took.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import httpx

from bench.demo.servers import ENFORCED, MODEL_NAME, Server, with_a_worker_process

TINY = Path(__file__).resolve().parent / "models" / "tiny-kimi"
SECONDS = 15.0
PATIENCE = 0.2  # of a hostile client
LETTERS = "abcdefghijkl"
PLAIN = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


def hostile(number: int) -> dict[str, object]:
    """Give a schema of some 530 bytes whose patterns overlap in 4,096 ways."""
    lengths = {c: {"type": "string", "minLength": number + at} for at, c in enumerate(LETTERS)}
    return {"type": "object", "patternProperties": lengths}


def ask(schema: object, *, stream: bool = True) -> dict[str, object]:
    """Give a chat request with one tool."""
    function = {"name": "look_up", "parameters": schema}
    return {
        "model": MODEL_NAME,
        "messages": [{"role": "user", "content": "How is the weather in Paris?"}],
        "tools": [{"type": "function", "function": function}],
        "max_tokens": 48,
        "temperature": 0,
        "ignore_eos": True,
        "stream": stream,
    }


def plain_chat(url: str) -> tuple[float, float]:
    """Give the time to the first event, and the largest gap after it; in seconds."""
    begun = last = time.perf_counter()
    first = gap = 0.0
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=ask(PLAIN), timeout=120) as answer:
        for line in answer.iter_lines():
            if not line.startswith("data: {"):
                continue
            now = time.perf_counter()
            if first:
                gap = max(gap, now - last)
            else:
                first = now - begun
            last = now
    return first, gap


def plain_chats(url: str, seconds: float) -> tuple[list[float], list[float]]:
    """Chat for so long."""
    found = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        found.append(plain_chat(url))
    return [first for first, _ in found], [gap for _, gap in found]


def abandon(url: str, number: int) -> None:
    """Send a hostile request, and go away."""
    try:
        httpx.post(
            f"{url}/v1/chat/completions",
            json=ask(hostile(number), stream=False),
            timeout=PATIENCE,
        )
    except httpx.TimeoutException:
        return


def show(name: str, times: tuple[list[float], list[float]]) -> dict[str, object]:
    """Print one line, and give it."""
    firsts, gaps = times
    line: dict[str, object] = {"plain chats": name, "count": len(firsts)}
    for what, values in (("first token", firsts), ("largest gap", gaps)):
        line[f"{what}, median ms"] = round(statistics.median(values) * 1e3, 1)
        line[f"{what}, worst ms"] = round(max(values) * 1e3, 1)
    print(json.dumps(line), flush=True)
    return line


def main() -> None:
    """Run it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(TINY, with_a_worker_process(ENFORCED), Path(folder) / "log") as server,
    ):
        server.wait_until_ready()
        for name in ("first request", "second request"):
            first, _ = plain_chat(server.url)
            print(json.dumps({name: f"first token after {first * 1e3:.1f} ms"}), flush=True)
        plain_chats(server.url, 2)
        show("alone", plain_chats(server.url, SECONDS))
        sent = [
            threading.Thread(target=abandon, args=(server.url, number)) for number in range(1, 7)
        ]
        for each in sent:
            each.start()
        show("beside six hostile requests", plain_chats(server.url, SECONDS))
        for each in sent:
            each.join()
        begun = time.perf_counter()
        answer = httpx.post(
            f"{server.url}/v1/chat/completions", json=ask(hostile(1), stream=False), timeout=120
        )
        took = time.perf_counter() - begun
        message = answer.json().get("error", {}).get("message", "")
        print(json.dumps({"status": answer.status_code, "s": round(took, 2), "says": message}))


if __name__ == "__main__":
    main()
