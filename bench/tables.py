"""What making a grammar's tables takes, and reading made ones: `python -m bench.tables [KIND]`.

`tools`: the collected declarations; `maskbench`: MaskBench's schemas. Times are of the thread's
processor: from a schema's text to tables, to bytes for another process, from bytes to tables that
are checked and bound to Kimi's vocabulary (`docs/decisions/0027-tables-are-made-twice.md`).

Owns: what is timed, and the table. Must not know: how tables are made.
"""

from __future__ import annotations

import argparse
import gc
import json
import time

import numpy as np

from bench.first_mask.run import vocabulary as find_vocabulary
from bench.longest_masks.__main__ import cases
from enforcer.errors import EnforcerError
from enforcer.machine import wire
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import make_usual, tables_of
from enforcer.schema import Root, compile_schema
from enforcer.schema.reading.plain import is_plain

_COLUMNS = ("make, ms", "write, ms", "read and bind, ms", "bytes")


def main() -> None:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", choices=["tools", "maskbench"], default="tools")
    kind = parser.parse_args().kind
    tree = bound_vocabulary(find_vocabulary()[1])
    make_usual()
    root = Root.OBJECT if kind == "tools" else Root.ANY
    found: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
    for number, (_, schema, _) in enumerate(cases(kind)):
        if number % 50 == 0:
            gc.collect()
            gc.disable()
        text = json.dumps(schema)
        begun = time.thread_time()
        try:
            tables = tables_of(compile_schema(json.loads(text), root=root), None)
        except EnforcerError:
            continue
        made = time.thread_time()
        data = wire.write(tables)
        written = time.thread_time()
        MachineGrammar(wire.read(data), tree)
        bound = time.thread_time()
        times = (made - begun, written - made, bound - written)
        found[is_plain(text)].append((*(1e3 * each for each in times), len(data)))
    for plain, rows in found.items():
        print(f"{len(rows)} of {kind} that are {'' if plain else 'not '}plain: p50, p99, greatest")
        for name, column in zip(_COLUMNS, np.array(rows).T, strict=True):
            print(
                f"  {name:<20}"
                + "".join(f"{x:12,.2f}" for x in np.percentile(column, [50, 99, 100]))
            )


if __name__ == "__main__":
    main()
