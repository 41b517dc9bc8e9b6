"""Every format through real vLLM with random weights, by every route: nothing wrong comes out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import format_models
import pytest
from vllm_servers import serving

from bench.demo.servers import MODEL_NAME, Setting
from bench.matrix import cells
from bench.matrix.routes import Client, Route
from enforcer.turn import dialect as dialects
from enforcer.verify import expected

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.vllm


@dataclass(frozen=True, slots=True)
class Format:
    """A dialect, the parser of its name, and a model.

    Attributes:
        flags: that a server of such a model is started with.

    """

    dialect: str
    parser: str
    write: Callable[[Path], None]
    flags: tuple[str, ...] = ()


FORMATS = [
    Format(
        "hermes",
        "hermes",
        lambda to: format_models.published("qwen-3", to, "<|im_end|>", "<|endoftext|>"),
    ),
    Format(
        "mistral",
        "mistral",
        format_models.mistral_v13,
        ("--tokenizer-mode", "mistral", "--config-format", "hf", "--load-format", "safetensors"),
    ),
    Format(
        "kimi_k3",
        "kimi_k3",
        format_models.kimi_k3,
        ("--tokenizer-mode", "kimi_k3", "--trust-remote-code"),
    ),
]


@pytest.fixture(scope="module", params=FORMATS, ids=lambda one: one.dialect)
def served(request, tmp_path_factory):
    """Serve a model of each format, one after the other; none with `ENFORCER_DIALECT`."""
    wanted = request.param
    if wanted.dialect not in dialects.available():
        pytest.skip(f"there is no dialect {wanted.dialect} yet")
    folder = tmp_path_factory.mktemp(wanted.dialect)
    wanted.write(folder / "model")
    parser = f"{wanted.parser}_enforced"
    flags = ("--enable-auto-tool-choice", "--tool-call-parser", parser, *wanted.flags)
    setting = Setting(wanted.dialect, flags, "enforcer")
    # What random weights say before a demanded call says nothing: keep it short.
    with serving(folder / "model", setting, folder / "log", ENFORCER_PREAMBLE_IDS="3") as server:
        yield wanted, server


def test_the_log_names_the_dialect(served):
    wanted, server = served
    log = server.log.read_text()
    assert f"dialect={wanted.dialect} " in log


def test_no_cell_has_a_finding(served):
    wanted, server = served
    chosen = [cell for cell in cells.cells() if cell.route is not Route.COMPLETIONS]
    results = asyncio.run(
        cells.run(
            Client(server.url, MODEL_NAME, None),
            repeats=1,
            max_tokens=100,
            temperature=1.0,
            concurrency=16,
            wanted=chosen,
            expected=expected.of(dialects.load(wanted.dialect)),
        )
    )
    assert not [(result.cell, result.findings) for result in results if result.findings]
    demanding = {"required", "one call", "named"}
    made = sum(result.calls for result in results if result.cell.mode in demanding)
    assert made > len(results) // 10
