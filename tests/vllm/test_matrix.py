"""Every route, mode, way of streaming and thinking: nothing undeclared, invalid or leaked."""

from __future__ import annotations

import asyncio

import pytest

from bench.demo.servers import MODEL_NAME
from bench.matrix import cells
from bench.matrix.routes import Client
from tests.vllm_servers import TINY, reader

pytestmark = pytest.mark.vllm


@pytest.mark.parametrize(("which", "repeats"), [("random", 1), ("tiny", 2)])
def test_no_cell_has_a_finding(request: pytest.FixtureRequest, which: str, repeats: int) -> None:
    server = request.getfixturevalue(f"{which}_server")
    model = request.getfixturevalue("random_folder") if which == "random" else TINY
    results = asyncio.run(
        cells.run(
            Client(server.url, MODEL_NAME, reader(model)),
            repeats=repeats,
            max_tokens=100,
            temperature=1.0,
            concurrency=16,
        )
    )
    assert not [(result.cell, result.findings) for result in results if result.findings]
    demanding = {"required", "one call", "named"}
    made = sum(result.calls for result in results if result.cell.mode in demanding)
    assert made > len(results) // 10
