"""Ask a small model the questions of a public leaderboard, with and without the Enforcer.

SmolLM2-135M-Instruct is served as by `make demo-real`, by one server after the other. The
leaderboard's own checker says which answers are right. The outcomes of each server are written to a
JSON file; given such files, the command compares them and serves nothing.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from transformers import PreTrainedTokenizerFast

from bench.demo.__main__ import serve_all, until_interrupted
from bench.demo.leaderboard import counting, workload
from bench.demo.leaderboard.published import NotInstalledError
from bench.demo.real_model import weights
from bench.demo.real_model.__main__ import IN_FLIGHT, SETTINGS, WIDTH
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.demo.leaderboard.counting import Outcome
    from bench.demo.servers import Setting
    from enforcer.judging.replies import ChatReply

WAYS = dict(zip(("vllm", "strict", "open", "enforcer"), SETTINGS, strict=True))
BASE = "strict"
OUT = weights.ROOT / ".cache" / "leaderboard"


def main() -> int:
    """Run the comparison and return the exit status."""
    options = _arguments()
    if options.files:
        kept = {file.stem: counting.read(file) for file in options.files}
        _show(kept, listed=options.differences)
        return 0
    return until_interrupted(lambda: _run(options))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.demo.leaderboard", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="outcomes to compare, the base first")
    parser.add_argument("--set", choices=workload.SETS, default="reference", help="(%(default)s)")
    parser.add_argument(
        "--ways",
        type=lambda text: text.split(","),
        help=f"of {','.join(WAYS)} (all of them; strict,enforcer for held-out)",
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the Enforcer's server",
    )
    parser.add_argument("--limit", type=int, help="questions of each category")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of outcomes (%(default)s)")
    parser.add_argument("--differences", action="store_true", help="list replies won and lost")
    options = parser.parse_args()
    options.ways = options.ways or ([*WAYS] if options.set == "reference" else [BASE, "enforcer"])
    if unknown := set(options.ways) - WAYS.keys():
        parser.error(f"unknown ways: {', '.join(sorted(unknown))}")
    return options


def _run(options: argparse.Namespace) -> int:
    try:
        requests = workload.requests(options.set, options.limit)
        model = weights.model()
    except (NotInstalledError, weights.WeightsError) as error:
        print(error, file=sys.stderr)
        return 1
    bodies = [request.body for request in requests]
    tokens = PreTrainedTokenizerFast(tokenizer_file=str(model / "tokenizer.json"))
    vocabulary = Vocabulary.from_transformers(tokens)
    rows = {}
    for way in options.ways:
        setting = _with(WAYS[way], options.env)
        name = " ".join((way, *(options.env if setting.plugins else ())))
        replies: dict[Setting, list[ChatReply]] = {}
        serve_all(model, [setting], bodies, replies, in_flight=IN_FLIGHT)
        judged = zip(requests, replies[setting], strict=True)
        rows[name] = [counting.outcome(vocabulary, *each) for each in judged]
        counting.write(options.out / f"{options.set} {name}.json", rows[name])
    _show(rows, listed=options.differences)
    return 1 if any(each.failed for outcomes in rows.values() for each in outcomes) else 0


def _with(setting: Setting, environment: Sequence[str]) -> Setting:
    """Return the setting with further variables, if it is the Enforcer's."""
    if not setting.plugins:
        return setting
    more = tuple((name, value) for name, _, value in (each.partition("=") for each in environment))
    return replace(setting, environment=(*setting.environment, *more))


def _show(rows: Mapping[str, Sequence[Outcome]], *, listed: bool) -> None:
    console = Console(width=max(Console().width, WIDTH), highlight=False)
    console.print(counting.render(rows))
    base = BASE if BASE in rows else next(iter(rows))
    for name, outcomes in rows.items():
        if name != base:
            print(f"{name} - {base}: {counting.difference(rows[base], outcomes)}")
            if listed:
                print(*counting.changed(rows[base], outcomes), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
