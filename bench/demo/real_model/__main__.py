"""Serve SmolLM2-135M-Instruct with and without the Enforcer, and compare: `make demo-real`.

The requests of `agents.json` go to vLLM's CPU build, which serves the model four ways. Exits with 1
if a reply of an enforced server has an undeclared call or invalid arguments.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from transformers import PreTrainedTokenizerFast

from bench.demo.__main__ import serve_all, until_interrupted
from bench.demo.real_model import counting, weights, workload
from bench.demo.servers import Setting
from enforcer.judging.judge import Fault
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from enforcer.judging.replies import ChatReply

IN_FLIGHT = 16
WIDTH = 120
_FLAGS = ("--served-model-name", workload.MODEL_NAME, "--enable-auto-tool-choice")
_STOCK = (*_FLAGS, "--tool-call-parser", "hermes")
_ENFORCED = (*_FLAGS, "--tool-call-parser", "hermes_enforced")
STOCK = Setting("vLLM", _STOCK)
SETTINGS = (
    STOCK,
    Setting("vLLM, strict", (*_STOCK, "--tool-strict-level", "parameter")),
    Setting("Enforcer, open", _ENFORCED, "enforcer", (("ENFORCER_CLOSED_OBJECTS", "off"),)),
    Setting("Enforcer", _ENFORCED, "enforcer"),
)


def main() -> int:
    """Run the comparison and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.demo.real_model", description=__doc__)
    parser.add_argument("--requests", type=int, default=200, help="how many to send (%(default)s)")
    parser.add_argument("--replies", type=Path, help="write prompts and replies to this file")
    options = parser.parse_args()
    return until_interrupted(lambda: _run(options.requests, options.replies))


def _run(number: int, file: Path | None) -> int:
    begun = time.monotonic()
    try:
        model = weights.model()
    except weights.WeightsError as error:
        print(error, file=sys.stderr)
        return 1
    requests = workload.requests(number)
    replies: dict[Setting, list[ChatReply]] = {}
    bodies = [request.body for request in requests]
    serve_all(model, SETTINGS, bodies, replies, in_flight=IN_FLIGHT)
    tokens = PreTrainedTokenizerFast(tokenizer_file=str(model / "tokenizer.json"))
    vocabulary = Vocabulary.from_transformers(tokens)
    rows = {
        setting.name: counting.count(vocabulary, requests, got, replies[STOCK])
        for setting, got in replies.items()
    }
    console = Console(width=max(Console().width, WIDTH), highlight=False)
    console.print(counting.render(rows))
    console.print(f"{time.monotonic() - begun:.0f} s")
    if file is not None:
        _write(file, vocabulary, requests, replies)
    wrong = [
        complaint
        for setting, got in replies.items()
        if setting.plugins
        for complaint in complaints(requests, got)
    ]
    print(*wrong, sep="\n", end="", file=sys.stderr)
    return 1 if wrong else 0


def complaints(requests: Sequence[workload.Request], replies: Sequence[ChatReply]) -> list[str]:
    """Describe each reply that has an undeclared call or invalid arguments."""
    judged = zip(requests, replies, counting.verdicts(requests, replies), strict=True)
    return [
        "; ".join(finding.message for finding in verdict.findings)
        + f": {reply} for {json.dumps(request.body)}"
        for request, reply, verdict in judged
        if verdict.faults & {Fault.UNDECLARED, Fault.SCHEMA}
    ]


def _write(
    file: Path,
    vocabulary: Vocabulary,
    requests: Sequence[workload.Request],
    replies: Mapping[Setting, Sequence[ChatReply]],
) -> None:
    with file.open("w", encoding="utf-8") as out:
        for at, request in enumerate(requests):
            body = request.body
            line = {
                "prompt": body["messages"][0]["content"],
                "tool_choice": body["tool_choice"],
                "temperature": body["temperature"],
                **{
                    setting.name: vocabulary.decode(got[at].token_ids).decode(errors="replace")
                    for setting, got in replies.items()
                },
            }
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
