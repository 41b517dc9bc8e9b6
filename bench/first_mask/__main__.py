"""First mask and mask times, side by side: `python -m bench.first_mask [--json FILE]`.

Owns: one process for each rival, one after the other, and the table. Must not know: how
anything is measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_OURS, _XGRAMMAR = "enforcer", "xgrammar"


def _run(rival: str, *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "bench.first_mask.run", rival, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _find(lines: list[dict[str, Any]], **wanted: Any) -> dict[str, Any] | None:
    return next((x for x in lines if all(x.get(k) == v for k, v in wanted.items())), None)


def _ratio(ours: float, theirs: float | None) -> str:
    return "-" if theirs is None else f"{theirs:10.3f}  {theirs / ours:8.1f}x"


def table(lines: list[dict[str, Any]], rival: str = _XGRAMMAR) -> str:
    """Write the measurements as two tables; the ratio is theirs divided by ours."""
    out = ["time to the first mask, ms (median)"]
    out.append(
        f"{'tools':>6} {'seen':<12}{'check':>10}{'start':>10}{'total':>10}{'xgrammar':>11}  ratio"
    )
    for ours in (x for x in lines if x["rival"] == _OURS and x["what"] == "first mask"):
        theirs = _find(
            lines, rival=rival, what="first mask", tools=ours["tools"], seen=ours["seen"]
        )
        check = ours["parse"] + ours["check"]
        out.append(
            f"{ours['tools']:>6} {ours['seen']:<12}{check:>10.3f}{ours['start']:>10.3f}"
            f"{ours['total']:>10.3f} {_ratio(ours['total'], theirs['total'] if theirs else None)}"
        )
    out += [
        "",
        "time of a mask with 128 tools declared, µs",
        f"{'segment':<12}{'mean':>9}{'p99':>9}{'longest':>9}{'xgrammar: mean':>16}{'longest':>9}",
    ]
    for ours in (x for x in lines if x["rival"] == _OURS and x["what"] == "mask"):
        theirs = _find(lines, rival=rival, what="mask", segment=ours["segment"])
        out.append(
            f"{ours['segment']:<12}{ours['mean']:>9.1f}{ours['p99']:>9.1f}{ours['longest']:>9.1f}"
            + (f"{theirs['mean']:>16.1f}{theirs['longest']:>9.1f}" if theirs else "")
        )
    for each in (_OURS, rival):
        refused = sum(x["rival"] == each and x["what"] == "refused" for x in lines)
        blocked = _find(lines, rival=each, what="blocked")
        if blocked is not None:
            out.append(
                f"{each}: refused {refused} declarations, "
                f"blocked {blocked['calls']} of {blocked['of']} valid calls"
            )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the measurements, a line each")
    parser.add_argument(
        "--processor", action="store_true", help="first masks by processor time, on a busy machine"
    )
    parser.add_argument(
        "--dynamic", action="store_true", help="xgrammar compiles masks as they are needed (0.2.9)"
    )
    options = parser.parse_args()
    chosen = ["--processor"] if options.processor else []
    theirs = f"{_XGRAMMAR}-dynamic" if options.dynamic else _XGRAMMAR
    lines = [line for rival in (_OURS, theirs) for line in _run(rival, *chosen)]
    if options.json is not None:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))
    print(json.dumps(_find(lines, what="inputs")))
    print(table(lines, theirs))


if __name__ == "__main__":
    main()
