"""Every route, mode, way of streaming and thinking: nothing undeclared, invalid or leaked."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench.demo.servers import MODEL_NAME, Server
from bench.matrix import cells
from bench.matrix.routes import Client
from tests.vllm_servers import TINY, reader

pytestmark = pytest.mark.vllm


def test_no_cell_of_random_weights_has_findings(random_server: Server, random_folder: Path) -> None:
    client = Client(random_server.url, MODEL_NAME, reader(random_folder))
    assert_without_findings(client, 10, repeats=1, max_tokens=100)


def test_no_cell_of_a_model_that_calls_has_a_finding(tiny_server: Server) -> None:
    client = Client(tiny_server.url, MODEL_NAME, reader(TINY))
    assert_without_findings(client, 10, repeats=2, max_tokens=100)


def assert_without_findings(client: Client, share: int, **how: Any) -> None:
    """Run cells of the matrix; so many of their replies, one of `share`, have a demanded call."""
    results = asyncio.run(cells.run(client, temperature=1.0, concurrency=16, **how))
    assert not [(result.cell, result.findings) for result in results if result.findings]
    demanding = {"required", "one call", "named"}
    made = sum(result.calls for result in results if result.cell.mode in demanding)
    assert made > len(results) // share
