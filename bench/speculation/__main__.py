"""`python -m bench.speculation`: both model runners, with and without drafts, and a table.

Every way gets the same requests. Exits with 1 if a call was undeclared or invalid, a turn
failed, or a greedy turn differs from that of the first way, which has no drafts. On a machine
with an accelerator the servers run there; on one without, V2's kernels are interpreted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

from transformers import AutoTokenizer

import enforcer
from bench.gpu import serving
from bench.speculation import run, ways
from enforcer.judging.judge import Fault

TINY = Path(__file__).resolve().parents[1] / "models" / "tiny-kimi"


def main() -> int:
    """Run the ways one after another; see the module."""
    first, *others = ways.WAYS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=48, help="sampled, for each way")
    parser.add_argument("--greedy", type=int, default=12, help="greedy, for each way")
    parser.add_argument(
        "--only", nargs="*", choices=[way.name for way in others], help="these, and the first"
    )
    parser.add_argument("--flags", default="", help="more of vLLM's, in one word: --flags='-x -y'")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    flags = (*(serving.SHARING if serving.is_here() else ()), *arguments.flags.split())
    reader = enforcer.Enforcer(
        enforcer.Vocabulary.from_transformers(AutoTokenizer.from_pretrained(TINY))
    )
    if arguments.only:
        others = [way for way in others if way.name in arguments.only]
    found: dict[str, run.Figures] = {}
    show_head()
    for way in (first, *others):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            ways.write_hot(Path(folder) / "hot", TINY)
            with ways.serving(
                replace(way, flags=flags),
                Path(folder) / "hot",
                Path(folder),
                interpreted=not serving.is_here(),
                ENFORCER_PREAMBLE_IDS="3",
            ) as server:
                started = time.monotonic()
                found[way.name] = run.measure(
                    server.url,
                    reader,
                    sampled=arguments.requests,
                    greedy=arguments.greedy,
                    processor=way.processor,
                )
            seconds = (started - begun, time.monotonic() - started)
        show(way.name, found[way.name], found[first.name], seconds)
        for cell, finding in found[way.name].findings:
            print(f"{way.name}: {cell}: {finding.fault.name}: {finding.message}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(
            json.dumps({name: asdict(figures) for name, figures in found.items()}, default=str)
        )
    plain = found[first.name].greedy
    right = all(
        not figures.findings and not figures.failed and figures.greedy == plain
        for figures in found.values()
    )
    return 0 if right else 1


def show_head() -> None:
    """Print the table's first lines."""
    names = (
        *("way", "requests", "calls", "cut off", "undeclared", "invalid", "other", "failed turns"),
        *("drafted", "kept", "greedy equal", "start, s", "run, s"),
    )
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" + "---:|" * (len(names) - 1))


def show(name: str, figures: run.Figures, plain: run.Figures, seconds: tuple[float, float]) -> None:
    """Print a way's line."""
    equal = sum(a == b for a, b in zip(figures.greedy, plain.greedy, strict=True))
    undeclared, invalid = figures.count(Fault.UNDECLARED), figures.count(Fault.SCHEMA)
    parts = (
        *(name, figures.requests, figures.calls, figures.cut_off, undeclared, invalid),
        *(len(figures.findings) - undeclared - invalid, figures.failed),
        *(figures.drafted, figures.kept, f"{equal} of {len(plain.greedy)}"),
        *(round(part) for part in seconds),
    )
    print("| " + " | ".join(map(str, parts)) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
