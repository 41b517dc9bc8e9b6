"""`python -m bench.scale WAY…`: serves the tiny model in these ways, and sends each the matrix.

Each way runs in namespaces of its own, in which there is no network but `lo` (vLLM's and Ray's
ports are reached from nowhere else) and whose processes end with it. Prints one JSON object a
way: the matrix's findings, what `enforcer doctor --require-all` finds, and `/metrics` of the server
that replies. Exits with 1 if there is a finding or a check to mend.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.scale.ways import WAYS

_ALONE = (
    *("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"),
    *("sh", "-c", 'ip link set lo up && exec "$@"', "sh"),
)


def main() -> int:
    """Run the ways; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="+", choices=WAYS, metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--stock", type=int, metavar="N", help="node N has no plugin")
    parser.add_argument("--logs", type=Path, help="keep the servers' logs in this folder")
    arguments = parser.parse_args()
    good = True
    for name in arguments.ways:
        with tempfile.TemporaryDirectory() as folder:
            report = run(name, arguments.logs or Path(folder), stock=arguments.stock)
        shown = {key: value for key, value in report.items() if key != "metrics"}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        good = good and not (report["failed"] or report["findings"] or report["bad"])
    return 0 if good else 1


def available() -> str | None:
    """Return why no way can be run on this machine; None if they can."""
    try:
        tried = subprocess.run(
            [*_ALONE, "true"], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError as error:
        return str(error)
    return None if tried.returncode == 0 else tried.stderr.strip()


def run(name: str, folder: Path, *, stock: int | None = None) -> dict[str, Any]:
    """Run a way in namespaces of its own.

    Args:
        name: of `WAYS`.
        folder: gets the logs.
        stock: index of the node without the plugin, if any.

    Returns:
        What `bench.scale.trial` reports.

    Raises:
        RuntimeError: the trial itself ended with an error.

    """
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / f"{name}.json"
    words = [name, str(folder), str(report), *(() if stock is None else (str(stock),))]
    done = subprocess.run(
        [*_ALONE, sys.executable, "-m", "bench.scale.trial", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name}: status {done.returncode}: {done.stdout[-4000:]}")
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main())
