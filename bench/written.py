"""What llguidance is told of every conformance schema: compare it before and after a change.

`python -m bench.written --save FILE` keeps the text of each schema, `--against FILE` says which
texts differ from those that were kept, how many characters there are, and the processor time
that writing took. A change that only moves code leaves every text as it was.

Owns: the texts and their comparison. Must not know: instances, vocabularies.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

from enforcer.engines.llguidance.lark import to_lark
from enforcer.errors import EnforcerError
from enforcer.schema import compile_schema
from tests.conformance.harness import all_cases


def texts() -> tuple[dict[str, str], float]:
    """Give the text of every schema by the case's name, a refusal's being its reason.

    And the seconds of processor time that writing took, compiling not counted.
    """
    found, seconds = {}, 0.0
    for case in all_cases():
        try:
            grammar = compile_schema(case.schema)
            begun = time.thread_time()
            found[case.id] = to_lark(grammar)
            seconds += time.thread_time() - begun
        except EnforcerError as error:
            found[case.id] = f"refused: {error}"
    return found, seconds


def main() -> None:
    """Save the texts, or compare them with those that were saved."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--save", type=Path)
    options.add_argument("--against", type=Path)
    options.add_argument("--show", type=int, default=0, help="differing texts to show")
    arguments = options.parse_args()
    found, seconds = texts()
    size = sum(map(len, found.values()))
    print(f"{len(found)} schemas, {size} characters, {seconds:.2f} s of processor time")
    if arguments.save:
        arguments.save.write_bytes(gzip.compress(json.dumps(found).encode()))
    if not arguments.against:
        return
    before = json.loads(gzip.decompress(arguments.against.read_bytes()))
    unlike = [name for name, text in found.items() if before.get(name) != text]
    sizes = {name: len(found[name]) - len(before.get(name, "")) for name in unlike}
    print(f"{len(unlike)} differ, {sum(sizes.values()):+} characters in all")
    print("grown most:", sorted(((n, s) for s, n in sizes.items()), reverse=True)[:5])
    for name in unlike[: arguments.show]:
        pairs = zip(before.get(name, "").split("\n"), found[name].split("\n"), strict=False)
        lines = [f"- {old}\n+ {new}" for old, new in pairs if old != new]
        print(f"{name}\n" + "\n".join(lines[:6]))


if __name__ == "__main__":
    main()
