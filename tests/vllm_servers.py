"""Starting vLLM for tests, and reading what its model generates.

Owns: how. Must not know: which servers the tests share (that is `vllm/conftest.py`).
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from httpx import Response

import enforcer
from bench.demo.servers import MODEL_NAME, Server, Setting
from enforcer.vllm.config import settings

TINY = Path(__file__).resolve().parents[1] / "bench" / "models" / "tiny-kimi"


@contextmanager
def serving(model: Path, setting: Setting, log: Path, **environment: str) -> Iterator[Server]:
    """Run a server with more environment than the tests have, until the block ends."""
    with ExitStack() as stack:
        with patch.dict(os.environ, environment):
            server = stack.enter_context(Server(model, setting, log))
        server.wait_until_ready()
        yield server


def reader(model: Path) -> enforcer.Enforcer:
    """Build an enforcer for a model folder's tokenizer, with the options of servers."""
    options = settings.read({}).options
    return enforcer.Enforcer.from_tokenizer(model, options=options)


def post(
    server: Server, body: dict[str, Any], path: str = "/v1/chat/completions", **more: Any
) -> Response:
    """Ask a server for something short, greedily where the body does not say otherwise."""
    import httpx

    sent = {"model": MODEL_NAME, "temperature": 0, "max_tokens": 160, **body}
    return httpx.post(f"{server.url}{path}", json=sent, timeout=600, **more)


def events(text: str) -> list[Any]:
    """Read the JSON of a stream's events."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def sample(url: str, name: str, **labels: str) -> float:
    """Read one of a server's metrics, summed over what has these labels."""
    import httpx

    return sampled(httpx.get(f"{url}/metrics/", timeout=60).text, name, **labels)


def sampled(text: str, name: str, **labels: str) -> float:
    """Read one metric of a text of Prometheus', summed over what has these labels."""
    from prometheus_client.parser import text_string_to_metric_families

    return sum(
        found.value
        for family in text_string_to_metric_families(text)
        for found in family.samples
        if found.name == name and labels.items() <= found.labels.items()
    )
