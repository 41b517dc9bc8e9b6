"""Bitmask rows of today's engine, to hold another one against: `python -m bench.reference`.

`--write` follows every case and keeps one CRC-32 a row, and the token ids of the walks, in
`rows.npz`; without it the rows are compared with those that are kept, and a difference is printed
with the text before it. `--only WORD` takes the cases whose key begins with it. The case files and
Kimi's tokenizer have to be in `../shared`. About ten minutes of one processor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from bench.reference.cases import Case, all_cases
from bench.reference.rows import Rows, enforcer_for, follow

_KEPT = Path(__file__).with_name("rows.npz")
_SHOWN = 200


def write() -> None:
    """Follow every case and keep what it gave."""
    hashes: list[int] = []
    walks: list[int] = []
    index: list[tuple[str, int, int, str]] = []
    for case in all_cases():
        found = follow(case)
        walk = found.ids if case.text is None else []
        hashes += found.hashes
        walks += walk
        index.append((case.key, len(found.hashes), len(walk), found.outcome))
    np.savez_compressed(
        _KEPT,
        hashes=np.array(hashes, dtype=np.uint32),
        walks=np.array(walks, dtype=np.int32),
        index=np.frombuffer(json.dumps(index, ensure_ascii=False).encode(), dtype=np.uint8),
    )
    _print_totals(index)


def kept() -> dict[str, Rows]:
    """Read the kept rows by their case's key; `ids` are those of walks."""
    with np.load(_KEPT) as file:
        hashes, walks = file["hashes"].tolist(), file["walks"].tolist()
        index = json.loads(file["index"].tobytes())
    found, row, step = {}, 0, 0
    for key, rows, steps, outcome in index:
        found[key] = Rows(hashes[row : row + rows], walks[step : step + steps], outcome)
        row, step = row + rows, step + steps
    return found


def compare(only: str) -> int:
    """Print each case that differs; return how many do."""
    expected = kept()
    count = rows = differ = 0
    for case in all_cases():
        if not case.key.startswith(only):
            continue
        known = expected.get(case.key)
        if known is None:  # it has come since
            continue
        found = follow(case, known.ids)
        count, rows = count + 1, rows + len(found.hashes)
        if (found.hashes, found.outcome) != (known.hashes, known.outcome):
            differ += 1
            if differ <= _SHOWN:
                print(_difference(case, known, found), flush=True)
    print(f"{count} cases, {rows} rows, {differ} cases differ")
    return differ


def _difference(case: Case, known: Rows, found: Rows) -> str:
    pairs = enumerate(zip(known.hashes, found.hashes, strict=False))
    at = next((n for n, (one, other) in pairs if one != other), None)
    if at is None:
        return f"{case.key}: {known.outcome} became {found.outcome}"
    vocabulary = enforcer_for(case.format).vocabulary
    text = vocabulary.decode(found.ids[:at]).decode(errors="replace")
    return f"{case.key}: another row behind {text[-60:]!r} (row {at})"


def _print_totals(index: list[tuple[str, int, int, str]]) -> None:
    rows, ends = Counter[str](), Counter[str]()
    for key, count, _, outcome in index:
        rows[" ".join(key.split()[:2]) if key.split()[1].isalpha() else key.split()[0]] += count
        ends[outcome.split()[0]] += 1
    for name, count in rows.most_common():
        print(f"{count:8,} {name}")
    print(f"{rows.total():,} rows, {_KEPT.stat().st_size:,} bytes;", dict(ends))


def main() -> int:
    """Write or compare; exits with 1 if a case differs."""
    parser = argparse.ArgumentParser(prog="python -m bench.reference", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the rows of this engine")
    parser.add_argument("--only", default="", help="cases whose key begins so")
    options = parser.parse_args()
    if options.write:
        write()
        return 0
    return 1 if compare(options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
