"""vLLM's Rust front end before the CPU build.

Owns: what it takes to start one. Must not know: what is sent to it.

The CPU build has no `vllm-rs`; the wheel for GPUs of the same version has one, at
`vllm/vllm-rs`, which needs no GPU.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from bench.demo.servers import Server, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STOCK = "Rust, strict"
ENFORCED = "Rust, Enforcer"


def settings(parser: str, *flags: str) -> tuple[Setting, ...]:
    """Give both servers of a format: vLLM's strict mode alone, and with the plugin.

    Args:
        parser: of tool calls and of reasoning.
        flags: that the format's tokenizer wants.

    """
    every = (
        *("--enable-auto-tool-choice", "--tool-call-parser", parser),
        *("--reasoning-parser", parser, "--tool-strict-level", "parameter"),
        *flags,
    )
    return Setting(STOCK, every), Setting(ENFORCED, every, "enforcer")


@contextmanager
def serving(
    binary: Path, model: Path, setting: Setting, folder: Path, **environment: str
) -> Iterator[Server]:
    """Serve a model behind the Rust front end, until the block ends.

    Args:
        binary: `vllm-rs`, of the installed vLLM's version.
        model: a model folder.
        setting: of the server.
        folder: where the log goes.
        environment: variables of the server's, beside the ones it needs.

    Raises:
        ServerFailedError: it ended, or never answered.

    """
    folder.mkdir(parents=True, exist_ok=True)
    variables = {
        "VLLM_USE_RUST_FRONTEND": "1",
        "VLLM_RUST_FRONTEND_PATH": str(binary),
        **environment,
    }
    log = folder / f"{setting.name.lower().replace(', ', '-')}.log"
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, variables))
        command = ("vllm.entrypoints.cli.main", "serve", str(model))
        server = Server(model, setting, log, command)
        stack.enter_context(server)
        server.wait_until_ready()
        yield server
