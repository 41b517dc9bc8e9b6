"""The same schemas and calls through this project and its peers: `python -m bench.peers`.

Each engine has a process of its own, one after the other. `--schemas N` takes more or fewer of the
same order; the default takes some five minutes on two busy cores.

Owns: the options, the order of things. Must not know: how anything is measured or shown.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from bench.peers import cases, pool, summary
from bench.peers.engines import ROWS


def main() -> int:
    """Run the comparison; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--schemas", type=int, default=20, help="take so many")
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS), help="engines")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for one schema")
    parser.add_argument("--outcomes", type=Path, help="write each schema's outcome, JSON lines")
    options = parser.parse_args()
    try:
        sample = cases.sample(cases.collected(), options.schemas)
    except FileNotFoundError as error:
        print(f"{error.filename} is not there; set ENFORCER_SHARED to its folder", file=sys.stderr)
        return 2
    measured: dict[str, pool.Measured | str] = {}
    for name in options.only:
        begun = time.monotonic()
        try:
            found = pool.measure(pool.command(name), sample.cases, options.timeout)
        except pool.MissingError as error:
            measured[name] = str(error)
            continue
        measured[name] = found
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        if options.outcomes is not None:
            with options.outcomes.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps({"engine": name, **o}) + "\n" for o in found.outcomes)
    if all(isinstance(each, str) for each in measured.values()):
        return 1
    left_out = f"{sample.unjudged} more schemas and {sample.disputed} calls left out"
    print(f"{left_out}: jsonschema cannot judge them, or differs from the collection's label\n")
    print(summary.tables(len(sample.cases), measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
