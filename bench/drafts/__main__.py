"""`python -m bench.drafts`: forward passes and time of proposals by the grammar.

Recorded calls of real tools, with one and with 128 tools in the request, spaced and compact, by
policy; then other formats. No model: see `simulation`.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

from bench.arguments.whole_turns import vocabulary_of
from bench.drafts.calls import STRETCHES, Recorded, padded, recorded
from bench.drafts.simulation import Counts, follow
from bench.formats import writers
from bench.formats.catalogue import FORMATS
from bench.formats.writers import Call, Style, Turn
from enforcer import Enforcer, SchemaError

_COUNTS = (1, 128)


def main() -> int:
    """Print a table for each format."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--formats", nargs="*", default=["kimi_k2"], choices=sorted(FORMATS))
    options.add_argument("--limit", type=int, default=8, help="tokens of a proposal")
    options.add_argument("--calls", type=int, default=None, help="how many of the recorded ones")
    arguments = options.parse_args()
    calls = recorded()[: arguments.calls]
    for name in arguments.formats:
        sys.stdout.write(f"{_table(name, calls, arguments.limit)}\n")
    return 0


def _table(name: str, calls: list[Recorded], limit: int) -> str:
    row = FORMATS[name]
    vocabulary = vocabulary_of(row)
    enforcer = Enforcer(vocabulary, row.name)
    rows = []
    for policy, count, compact in product(("forced", "likely"), _COUNTS, (False, True)):
        counts, refused = Counts(), 0
        for call in calls:
            tools = padded(call, count, calls)
            text = writers.write(
                name, Turn(calls=(Call(call.name, call.arguments),)), Style(compact=compact)
            )
            try:
                matcher = enforcer.matcher(tools=tools, tool_choice="auto")
                ids = vocabulary.encode(text, markers=True)
                follow(matcher, ids, vocabulary, counts, limit=limit, likely=policy == "likely")
            except (SchemaError, ValueError):
                refused += 1
        rows.append(
            [
                f"{policy}, {count} tools, {'compact' if compact else 'spaced'}",
                *(f"{x:.2f}" for x in (counts.a_token(), counts.outside, counts.rejected_a_pass)),
                *(f"{counts.a_token(each):.2f}" for each in STRETCHES),
                f"{counts.microseconds:.1f}",
                str(refused),
            ]
        )
    heads = [name, "passes a token", "outside of values", "rejected a pass", *STRETCHES]
    lines = [[*heads, "µs", "refused"], ["---", *["--:"] * (len(heads) + 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
