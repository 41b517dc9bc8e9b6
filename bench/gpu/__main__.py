"""`python -m bench.gpu [--write FILE]`: a report of what an accelerator is needed for.

With `--way`, `--in-flight` and `--rounds` a part of it: all takes more than half an hour. With
`--large` the servers have a model whose steps take an accelerator as long as production's; that
needs one.

On a machine without one it does the same on the CPU, smaller and without Model Runner V2, so that
it is known to work.
Sections: masks on 1 to 512 rows of logits; the tiny model by transformers on the device; and,
where vLLM is installed, what enforcing costs a token in it: Model Runner V1 and V2, without
drafts, with n-grams and with an EAGLE3 head, 1 to 512 sequences. Exits with 1 if an enforced
turn has a bad call or an error. Owns: which sections there are, versions, the report. Must not
know: how anything is measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import tempfile
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from bench.gpu import generation, masks, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULES = ("vllm", "torch", "transformers", "xgrammar", "llguidance")
_SERVED = [1, 8, 64, 256, 512]  # in flight
_SERVED_CPU = [1, 8]
_WAYS = ("V1", "V1, n-gram", "V2, async", "V2, n-gram", "V2, async, EAGLE3")
# Without an accelerator Model Runner V2 needs Triton interpreted, which makes an id or two a second
# of Kimi's vocabulary.
_WAYS_CPU = _WAYS[:2]


def versions(device: str) -> str:
    """Say what it was measured with."""
    name = torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
    found = [f"Python {platform.python_version()}"]
    installed = packages_distributions()
    for module in _MODULES:
        named = installed.get(module)
        found.append(f"{module} {version(named[0])}" if named else f"no {module}")
    return f"{name}; {', '.join(found)}."


def sections(options: argparse.Namespace, *, failed: list[str]) -> Iterator[str]:
    """Measure, and give the report part by part.

    Args:
        options: as `main` reads them.
        failed: gets what was wrong.

    """
    device = options.device
    is_small = not device.startswith("cuda")
    yield f"# On {device}\n\n{versions(device)}\n"
    if not options.only_vllm:
        yield from _without_servers(device, is_small=is_small, failed=failed)
    if not options.no_vllm and importlib.util.find_spec("vllm") is not None:
        yield from _served(options, is_small=is_small, failed=failed)


def _without_servers(device: str, *, is_small: bool, failed: list[str]) -> Iterator[str]:
    rows, repeats = (masks.ROWS[:3], 3) if is_small else (masks.ROWS, 50)
    costs = [masks.measure(device, each, repeats) for each in rows]
    yield f"## Masks on {masks.VOCABULARY:,} logits a row\n\n{masks.table(costs)}\n"
    count = 40 if is_small else 260
    made = [generation.measure(device, count, enforced=on) for on in (False, True)]
    if made[-1].bad:
        failed.append(f"transformers: {made[-1].bad} bad calls")
    yield f"## The tiny model by transformers\n\n{generation.table(made)}\n"


def _served(options: argparse.Namespace, *, is_small: bool, failed: list[str]) -> Iterator[str]:
    from bench import throughput

    yield "## In vLLM\n"
    with tempfile.TemporaryDirectory() as folder:
        in_flight = options.in_flight or (_SERVED_CPU if is_small else _SERVED)
        ways = options.way or (_WAYS_CPU if is_small else _WAYS)
        rounds = options.rounds or (1 if is_small else 5)
        if options.large:
            model, flags = serving.write_large(Path(folder)), serving.LARGE
        else:
            model = throughput.model(Path(folder))
            flags = () if is_small else serving.SHARING
        flags += tuple(options.flags.split())
        compared = throughput.accelerated(Path(folder), model, max(in_flight), ways, flags)
        for title, starts in compared:
            found = throughput.measure(
                starts, in_flight, rounds, streamed=not options.whole, known=options.known
            )
            lost = throughput.failures(found, "Enforcer")
            if lost:
                failed.append(f"{title}: {lost} requests ended with an error")
            parts = [f"### {title}", throughput.table(found)]
            parts += [throughput.gaps(found)] * (not options.whole)
            yield "\n\n".join(parts) + "\n"


def main() -> int:
    """Write the report; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    usual = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", default=usual, help=f"torch's name of it; here {usual}")
    parser.add_argument("--no-vllm", action="store_true", help="leave the servers out")
    parser.add_argument(
        "--way",
        action="append",
        choices=_WAYS,
        help="serve this way alone; again for more of them",
    )
    parser.add_argument("--in-flight", type=int, nargs="+", help="requests at a time")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    parser.add_argument(
        "--known", type=int, help="repeat so many requests, whose tools the servers have seen"
    )
    parser.add_argument("--whole", action="store_true", help="do not stream; no gaps then")
    parser.add_argument(
        "--large",
        action="store_true",
        help="serve a model of eight billion made-up weights, in bfloat16, with CUDA graphs",
    )
    parser.add_argument("--flags", default="", help="more of vLLM's, in one word: --flags='-x -y'")
    parser.add_argument("--only-vllm", action="store_true", help="the servers alone")
    parser.add_argument("--write", type=Path, help="the report's file")
    options = parser.parse_args()
    parts, failed = [], list[str]()
    for part in sections(options, failed=failed):
        print(part, flush=True)
        parts.append(part)
        if options.write:
            options.write.write_text("\n".join(parts), encoding="utf-8")
    for each in failed:
        print(each, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
