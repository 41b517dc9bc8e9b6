"""Every schema of the vendor verifier's suite as a call of random weights, within 256 ids.

`python -m bench.finish_live [--max-tokens 256]`: starts vLLM's CPU build with a random model
of Kimi's vocabulary and `ENFORCER_FINISH_WITHIN_BUDGET`, on and off, demands a call of every
schema, streamed and not, and prints what came back: whole calls, valid or not, and replies
that were cut off.

Owns: the servers and the table. Must not know: how a reply is judged (that is
`enforcer.tools.verify`).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import httpx

from bench import random_model
from bench.demo.servers import ENFORCED, MODEL_NAME, Server
from bench.finish import walle
from enforcer.judging.judge import judge
from enforcer.judging.replies import joined, whole

_CLIENTS = 8


def ask(url: str, tools: list[dict[str, object]], *, stream: bool, most: int) -> str:
    """Send a request; says what became of it."""
    body = {
        "model": MODEL_NAME,
        "messages": [{"role": "user", "content": "Go on."}],
        "tools": tools,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "max_tokens": most,
        "temperature": 1.0,
        "stream": stream,
    }
    answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=600)
    if not answer.is_success:
        return f"HTTP {answer.status_code}"
    if stream:
        lines = (line for line in answer.text.splitlines() if line.startswith("data: {"))
        reply = joined(json.loads(line.removeprefix("data: ")) for line in lines)
    else:
        reply = whole(answer.json())
    if reply.finish_reason == "length":
        return "cut off"
    findings = judge(body, reply).findings
    if findings:
        return f"wrong: {findings[0].fault.name}"
    return "valid call" if reply.calls else "no call"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-tokens", type=int, default=256)
    options = parser.parse_args()
    listed = list(walle())
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        tokens = random_model.tokenizer(random_model.Vocabulary.AUTO, Path(".cache"))
        random_model.write(model, tokens)
        for setting in ("on", "off"):
            environment = {
                "ENFORCER_FINISH_WITHIN_BUDGET": setting,
                "ENFORCER_PREAMBLE_IDS": "3",  # what random weights say before says nothing
            }
            log = Path(folder) / f"{setting}.log"
            with patch.dict(os.environ, environment), Server(model, ENFORCED, log) as server:
                server.wait_until_ready()
                for stream in (False, True):
                    with ThreadPoolExecutor(_CLIENTS) as pool:
                        found = Counter(
                            pool.map(
                                lambda tools, stream=stream: ask(
                                    server.url, tools, stream=stream, most=options.max_tokens
                                ),
                                listed,
                            )
                        )
                    way = "streamed" if stream else "whole"
                    print(f"finish {setting:3} {way:9} {len(listed)} requests: {dict(found)}")


if __name__ == "__main__":
    main()
