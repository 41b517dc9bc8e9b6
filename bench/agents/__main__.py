"""`python -m bench.agents [claude-code] [codex]`: coding agents against real vLLM with the plugin.

Starts vLLM's CPU build, lets each agent ask its question in an empty folder, every tool denied,
and prints what it sent and how that was answered. Exits with 1 if a request was not answered, if
an agent sent none, or if the server failed. What the agent makes of the answers is printed, and
no more: the tiny model knows nothing.

It needs the agents: `npm install --prefix .agents @anthropic-ai/claude-code @openai/codex`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from bench.agents import headless
from bench.agents.relay import relaying
from bench.demo.servers import ENFORCED, MODEL_NAME, Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.agents.relay import Exchange

TINY = Path(__file__).resolve().parents[1] / "models" / "tiny-kimi"
_SHOWN = 600  # characters of an answer that is none, and of what an agent says at its end
# The prompts of these agents have up to 45,000 of the tiny model's small tokens, beside which there
# has to be room for the 32,000 that Claude Code asks for. It has learnt 4,096 positions: what it
# says beyond is what a model may say that is at its wits' end.
_FLAGS = (
    *("--max-model-len", "98304", "--hf-overrides", '{"max_position_embeddings": 98304}'),
    *("--kv-cache-memory-bytes", str(1 << 30)),
    *("--override-generation-config", '{"max_new_tokens": 400}'),
)


def main() -> int:
    """Serve, ask, print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", help=f"of {', '.join(headless.AGENTS)}; default: all")
    parser.add_argument("--model", type=Path, default=TINY, help="a folder")
    parser.add_argument("--seconds", type=float, default=300, help="for each question")
    parser.add_argument("--log", type=Path, help="where the server's log goes")
    arguments = parser.parse_args()
    names = arguments.agents or list(headless.AGENTS)
    if not headless.AGENTS.keys() >= set(names):
        parser.error(f"agents are {', '.join(headless.AGENTS)}")
    for name in names:  # before a server is started
        print(name, headless.version(headless.AGENTS[name][0]))
    setting = replace(ENFORCED, flags=(*ENFORCED.flags, *_FLAGS))
    environment = {"ENFORCER_FINISH_WITHIN_BUDGET": "on"}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, environment):
        log = arguments.log or Path(folder) / "server.log"
        with Server(arguments.model, setting, log) as server:
            server.wait_until_ready()
            well = [
                _asked(agent, server.url, arguments.seconds)
                for name in names
                for agent in headless.AGENTS[name]
            ]
            server.check_alive()
    return 0 if all(well) else 1


def _asked(agent: headless.Agent, url: str, seconds: float) -> bool:
    """Let an agent ask, and print what it did; whether all that it sent was answered."""
    print(f"\n{agent.program}{agent.way and f': {agent.way}'}", flush=True)
    with tempfile.TemporaryDirectory() as home, relaying(url) as (relay, seen):
        try:
            ended = headless.ask(agent, relay, MODEL_NAME, Path(home), seconds)
        except subprocess.TimeoutExpired:  # a model that knows nothing may call without end
            ended = headless.Ended(-1, f"still at it after {seconds:g} s")
        exchanges = list(seen)
    _show(exchanges)
    print(f"  ended with {ended.status}: {ended.said.strip()[-_SHOWN:]}", flush=True)
    return bool(exchanges) and all(one.answered for one in exchanges)


def _show(exchanges: Sequence[Exchange]) -> None:
    for one in exchanges:
        calls = ", ".join(one.calls) or "nothing"
        print(
            f"  {one.path} {one.tools} tools, {one.messages} messages: {one.status}, calls {calls}"
        )
        if not one.answered:
            print(f"    {one.text[-_SHOWN:]}")


if __name__ == "__main__":
    sys.exit(main())
