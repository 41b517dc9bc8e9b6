"""Records what clients send: `python -m tests.support.record_clients CLIENT FILE`.

Owns: the file: one request a line. Must not know: the enforcer. `tests/vllm/test_clients.py`
reads what it writes.
"""

import json
import sys
import tempfile
from pathlib import Path

from bench.agents import headless
from tests.support.record_clients import stub
from tests.support.record_clients.libraries import LIBRARIES
from tests.support.record_clients.reduced import reduced
from tests.support.record_clients.stub import Recorded


def record(client: str) -> Recorded:
    """Let a client make its requests, and give them with the paths they went to.

    Those of an agent are reduced, and given once however often it sends the same.
    """
    with stub.running() as (url, recorded):
        if client in LIBRARIES:
            LIBRARIES[client](f"{url}/v1")
            return recorded
        for agent in headless.AGENTS[client]:
            with tempfile.TemporaryDirectory() as folder:
                ended = headless.ask(agent, url, "kimi", Path(folder))
            if ended.status:
                raise SystemExit(f"{agent.program} ended with {ended.status}: {ended.said}")
    different: Recorded = []
    for one in map(reduced, recorded):
        if one not in different:
            different.append(one)
    return different


def main() -> None:
    """Write one request a line."""
    client, file = sys.argv[1:]
    lines = [json.dumps(one, sort_keys=True) for one in record(client)]
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
