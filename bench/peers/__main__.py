"""The same schemas and calls through this project and its peers: `python -m bench.peers`.

Each engine has a process of its own, one after the other. `--schemas N` takes more or fewer of the
same order; the default takes some five minutes on two busy cores. `--write` keeps the results for
`docs/results.md` and its plots. GRID is not among this project's packages; it is found in `.peers`,
where `pip install --no-deps --target .peers --group peers` puts it (pip 25.1 or later).

Owns: the options, the order of things. Must not know: how anything is measured or shown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from bench.peers import cases, page, pool, summary
from bench.peers.engines import ROWS


def machine() -> str:
    """Say what this runs on."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {platform.machine()}, Python {platform.python_version()}"


def main() -> int:
    """Run the comparison; see the module."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--schemas", type=int, default=20, help="take so many")
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS), help="engines")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for one schema")
    parser.add_argument("--outcomes", type=Path, help="write what became of every schema, lines")
    parser.add_argument("--write", action="store_true", help="keep the results for the docs")
    options = parser.parse_args()
    if options.write and options.only != list(ROWS):
        parser.error("--write keeps a comparison of all engines")
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
            print(f"{name}: {error}", file=sys.stderr)
            continue
        measured[name] = found
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        if options.outcomes is not None:
            _append(options.outcomes, name, found)
    if all(isinstance(each, str) for each in measured.values()):
        return 1
    results = summary.results(sample, options.timeout, machine(), measured)
    if options.write:
        summary.keep(results)
        page.write(results)
    print(page.table(results))
    print(page.shared(results))
    return 0


def _append(file: Path, name: str, found: pool.Measured) -> None:
    def line(outcome: dict[str, Any]) -> str:
        return json.dumps({"engine": name, **outcome}, ensure_ascii=False) + "\n"

    with file.open("a", encoding="utf-8") as out:
        out.writelines(map(line, found.outcomes))


if __name__ == "__main__":
    sys.exit(main())
