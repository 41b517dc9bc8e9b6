"""Starting vLLM for tests, and reading what its model generates.

Owns: how. Must not know: which servers the tests share (that is `vllm/conftest.py`).
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import enforcer
from bench.demo.servers import Server, Setting
from enforcer.vllm.config import settings

if TYPE_CHECKING:
    from collections.abc import Iterator


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
