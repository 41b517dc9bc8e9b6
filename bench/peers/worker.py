"""One engine in a process of its own: `python -m bench.peers.worker ENGINE`.

Reads a case a line, prints an outcome a line; the first line says that the engine is ready, or why
there is none. Memory that the case before it has left is collected between two cases.

Owns: that exchange. Must not know: what follows from an outcome.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from dataclasses import asdict
from importlib import metadata
from typing import Any

from bench.first_mask.run import vocabulary
from bench.peers import cases, engines
from bench.peers.judge import Outcome, Verdict, judge

_PLAIN = cases.Case(
    "warm up",
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    ('{"a": 1}',),
    ('{"a": "b"}',),
    (),
)


def outcome(engine: engines.Engine, words: Any, case: cases.Case) -> dict[str, Any]:
    """Judge a case; an exception that is no refusal is a crash."""
    try:
        found = judge(engine, words, case)
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is its crash
        found = Outcome(case.id, Verdict.CRASH, detail=repr(error)[:200])
    return {**asdict(found), "verdict": found.verdict.value}


def main() -> None:
    """Serve cases from standard input; what an engine prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)

    def reply(value: dict[str, Any]) -> None:
        replies.write(json.dumps(value) + "\n")

    name = sys.argv[1]
    _, words = vocabulary()
    try:
        engine = engines.load(name, words)
    except ImportError as error:
        reply({"missing": str(error)})
        return
    # The first schema costs imports and pages; here as in a server it is none of the measured.
    outcome(engine, words, _PLAIN)
    gc.collect()
    gc.freeze()
    reply({"version": metadata.version(engines.ROWS[name].package)})
    for line in sys.stdin:
        gc.collect()
        reply(outcome(engine, words, cases.read(line)))


if __name__ == "__main__":
    main()
