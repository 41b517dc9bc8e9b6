"""`python -m bench.drafts`: forward passes and time of proposals by the grammar.

Recorded calls of real tools, with one and with 128 tools in the request, spaced and compact, by
policy; in Kimi K2's format, or others. No model: see `simulation`. Times are of calls to tools that
the process has seen once before.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from typing import TYPE_CHECKING

from bench.arguments.whole_turns import vocabulary_of
from bench.drafts.calls import STRETCHES, Recorded, padded, recorded
from bench.drafts.simulation import Counts, follow
from bench.formats import writers
from bench.formats.catalogue import FORMATS
from bench.formats.writers import Call, Style, Turn
from enforcer import Enforcer, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

_COUNTS = (1, 128)
_HEADS = ("passes a token", "outside of values", "rejected a pass", *STRETCHES, "µs", "refused")


def main() -> int:
    """Print a table for each format."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--formats", nargs="*", default=["kimi_k2"], choices=sorted(FORMATS))
    options.add_argument("--limit", type=int, default=8, help="tokens of a proposal")
    options.add_argument("--calls", type=int, default=None, help="how many of the recorded ones")
    arguments = options.parse_args()
    calls = recorded()[: arguments.calls]
    for name in arguments.formats:
        vocabulary = vocabulary_of(FORMATS[name])
        rows = [[name, *_HEADS], ["---", *["--:"] * len(_HEADS)]]
        for policy, count, compact in product(("forced", "likely"), _COUNTS, (False, True)):
            style = "compact" if compact else "spaced"
            rows.append([f"{policy}, {count} tools, {style}"])
            enforcer = Enforcer(vocabulary, name)  # which learns the style of one model
            counts, refused = _measure(
                enforcer, calls, count, Style(compact=compact), arguments.limit, policy
            )
            rows[-1] += [*_cells(counts), str(refused)]
        sys.stdout.write("".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n")
    return 0


def _measure(  # noqa: PLR0917 - one table's cell
    enforcer: Enforcer, calls: Sequence[Recorded], tools: int, style: Style, limit: int, policy: str
) -> tuple[Counts, int]:
    """Return the counts of all calls, and how many a schema or the format refuses."""
    counts, refused = Counts(), 0
    for call in calls:
        turn = Turn(calls=(Call(call.name, call.arguments),))
        text = writers.write(enforcer.dialect.name, turn, style)
        ids = enforcer.vocabulary.encode(text, markers=True)
        try:
            spec = enforcer.read_request(padded(call, tools, calls))
            for its in (Counts(), counts):  # first the call after which the tools are known
                matcher = enforcer.start(spec, None, rollback=limit + 1)  # as a server does
                follow(
                    matcher, ids, enforcer.vocabulary, its, limit=limit, likely=policy == "likely"
                )
        except (SchemaError, ValueError):
            refused += 1
    return counts, refused


def _cells(counts: Counts) -> list[str]:
    shares = (counts.a_token(), counts.outside, counts.rejected_a_pass)
    stretches = map(counts.a_token, STRETCHES)
    return [*(f"{each:.2f}" for each in (*shares, *stretches)), f"{counts.microseconds:.1f}"]


if __name__ == "__main__":
    sys.exit(main())
