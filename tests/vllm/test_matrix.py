"""Every route, mode, way of streaming and thinking: nothing undeclared, invalid or leaked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bench.demo.servers import MODEL_NAME
from bench.matrix import cells
from bench.matrix.routes import Client
from tests.vllm_servers import TINY, reader

if TYPE_CHECKING:
    from pathlib import Path

    from bench.demo.servers import Server

pytestmark = pytest.mark.vllm


def test_no_cell_of_random_weights_has_findings(random_server: Server, random_folder: Path) -> None:
    _judge(random_server, random_folder, repeats=1)


def test_no_cell_of_a_model_that_calls_has_a_finding(tiny_server: Server) -> None:
    _judge(tiny_server, TINY, repeats=2)


def _judge(server: Server, model: Path, *, repeats: int) -> None:
    client = Client(server.url, MODEL_NAME, reader(model))
    ran = cells.run(client, repeats=repeats, max_tokens=100, temperature=1.0, concurrency=16)
    results = asyncio.run(ran)
    assert not [(result.cell, result.findings) for result in results if result.findings]
    demanding = {"required", "one call", "named"}
    made = sum(result.calls for result in results if result.cell.mode in demanding)
    assert made > len(results) // 10
