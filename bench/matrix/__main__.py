"""`python -m bench.matrix [MODEL]`: starts a server, runs the matrix, prints it.

MODEL is a folder; by default one with random weights is made, the hardest adversary
there is. With `--proxy PROGRAM` all but `/v1/completions` goes through LiteLLM's proxy; see
`bench.matrix.proxy`. Exits with 1 if any cell has a finding.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from transformers import AutoTokenizer

import enforcer
from bench.demo import random_model
from bench.demo.servers import ENFORCED, MODEL_NAME, Server
from bench.matrix import cells, modes
from bench.matrix.proxy import PROVIDERS, proxy
from bench.matrix.routes import Client, Route

if TYPE_CHECKING:
    from bench.matrix.cells import Result


def main() -> int:
    """Run the matrix; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--max-tokens", type=int, default=150)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--proxy", type=Path, metavar="PROGRAM", help="LiteLLM's, as installed")
    parser.add_argument("--provider", choices=PROVIDERS, default=PROVIDERS[0])
    arguments = parser.parse_args()
    wanted = cells.cells()
    if arguments.proxy is not None:  # which knows neither prompts of ids nor the ids of a reply
        wanted = [cell for cell in wanted if cell.route is not Route.COMPLETIONS]
    with tempfile.TemporaryDirectory() as folder:
        model = arguments.model
        if model is None:
            model = Path(folder) / "random"
            tokens = random_model.tokenizer(random_model.Vocabulary.AUTO, Path(folder) / "cache")
            random_model.write(model, tokens)
            os.environ.setdefault("ENFORCER_PREAMBLE_IDS", "4")  # its text says nothing
        reader = enforcer.Enforcer(
            enforcer.Vocabulary.from_transformers(AutoTokenizer.from_pretrained(model))
        )
        with ExitStack() as running:
            server = running.enter_context(Server(model, ENFORCED, Path(folder) / "server.log"))
            server.wait_until_ready()
            url = server.url
            if arguments.proxy is not None:
                described = proxy(arguments.proxy, url, Path(folder), arguments.provider)
                between = running.enter_context(described)
                between.wait_until_ready()
                url = between.url
            results = asyncio.run(
                cells.run(
                    Client(url, MODEL_NAME, reader),
                    repeats=arguments.repeats,
                    max_tokens=arguments.max_tokens,
                    temperature=arguments.temperature,
                    concurrency=16,
                    wanted=wanted,
                )
            )
    show(results)
    return 1 if any(result.findings for result in results) else 0


def show(results: list[Result]) -> None:
    """Print a line a mode, a column a route; a cell counts calls, and findings if any."""
    table: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        table[result.cell.mode, result.cell.route.value].append(result)
    routes = [route.value for route in Route]
    print(f"| {'mode':<16} | " + " | ".join(f"{route:<22}" for route in routes) + " |")
    print("|" + "-" * 18 + "|" + ("-" * 24 + "|") * len(routes))
    for mode in modes.MODES:
        texts = []
        for route in routes:
            group = table.get((mode, route))
            if not group:
                texts.append("not sent")
                continue
            calls = sum(result.calls for result in group)
            wrong = sum(len(result.findings) for result in group)
            texts.append(f"{'ok' if not wrong else f'{wrong} WRONG'}, {calls} calls")
        print(f"| {mode:<16} | " + " | ".join(f"{text:<22}" for text in texts) + " |")
    replies = len(results)
    print(f"{replies} cells (streamed and not, thinking absent, open and closed)")
    for result in results:
        for finding in result.findings:
            print(f"{result.cell}: {finding.fault.name}: {finding.message}")


if __name__ == "__main__":
    sys.exit(main())
