"""Tables with wrong numbers, and texts that follow them: `python -m tests.machine.hostile_tables`.

The command compiles the kernel without bounds checks and with AddressSanitizer, which ends it at
the first index that is out of bounds (`gcc` and its `libasan` have to be there). `--examples N`
tables are tried, from `--seed N`. Owns: the mutations, the walk, the build.
"""

import argparse
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from enforcer import kernel
from enforcer.errors import EngineFailure
from enforcer.layouts import Layout
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import CompiledTables, raw_tables, tables_of
from enforcer.machine.wire import verify
from enforcer.regex import literal, marker, parse
from enforcer.regex.constructors import concat
from enforcer.schema import Root, compile_schema
from tests.budget_cases import SCHEMAS
from tests.support import cases, machine
from tests.vocabularies import bits, small

_ROOT = Path(__file__).resolve().parents[2]
_NAMED = cases.schemas("machine/cases/hostile_tables.toml")
_MANY: dict[str, Any] = {"type": "object", "properties": {f"p{n}": {"const": n} for n in range(70)}}
CASES: tuple[dict[str, Any], ...] = (
    *(_NAMED["nodes"], {}, _MANY, _NAMED["counted"], _NAMED["distinct"], _NAMED["printed"]),
    *(SCHEMAS["plain"], SCHEMAS["alternatives"], SCHEMAS["patterns"]),
)
_RAW = (concat(parse("^([a-f]|日)*$"), literal("<>")), concat(parse("^x*$"), marker(0)))
_LAYOUTS: tuple[dict[str, Any], ...] = (
    {"layout": "pairs", "pair": "{_}<{key}>{value}</v>", "close": "{_}</>", "trim": "newline"},
    {"layout": "pairs", "pair": '<|>k="{key}" t="{type}">{value}<|>\n', "close": "{_}",
     "key": "xml", "types": "written"},
    {"layout": "python"},
)  # fmt: skip
KINDS = len(CASES) + 2 + len(_LAYOUTS)  # of tables
_IDS = 25


@cache
def tree(*, is_python: bool = False) -> kernel.Tree:
    return bound_vocabulary(small(), is_raw=not is_python, is_python=is_python)


@cache
def tables(number: int) -> CompiledTables:
    if number >= len(CASES) + 2:
        found = Layout.read(_LAYOUTS[number - len(CASES) - 2])
        last = {"<|>": len(small().texts) - 1}
        return tables_of(compile_schema(_NAMED["nested"]), found.bind(last.get))
    if number >= len(CASES):
        return raw_tables(_RAW, ends=bool(number & 1), markers=[len(small().texts) - 1])
    return tables_of(compile_schema(CASES[number], root=Root.ANY, conventions=machine.OPEN), None)


def mutated(random: Random, found: CompiledTables) -> CompiledTables:
    """Change some numbers of some arrays, or an array's length."""
    arrays = dict(found.arrays)
    for _ in range(random.randint(1, 3)):
        name = random.choice(sorted(arrays))
        array: Any = arrays[name].copy()
        if not len(array):
            continue
        at = random.randrange(len(array))
        kind = random.choice(("near", "near", "far", "swapped", "shorter", "longer"))
        if kind == "near":
            array[at : at + 1] += random.choice((-2, -1, 1, 2, 64))
        elif kind == "far":
            info = np.iinfo(array.dtype)
            array[at] = random.randint(int(info.min), int(info.max))
        elif kind == "swapped":
            other = random.randrange(len(array))
            array[[at, other]] = array[[other, at]]
        elif kind == "shorter":
            array = array[:at].copy()
        else:
            array = np.concatenate([array, array[: at + 1]])
        arrays[name] = array
    return replace(found, arrays=arrays)


def walk(found: CompiledTables, random: Random) -> None:
    """Follow a text, right or wrong, with a mask before each id.

    Raises:
        EngineFailure: the tables are refused.

    """
    verify(found)
    text = MachineGrammar(found, tree(is_python=found.is_python)).matcher()
    row = np.zeros(small().words, np.int32)
    for count in range(_IDS):
        text.fill(row)
        legal = sorted(bits(row))
        if not legal or not text.accept(random.choice(legal)):
            text.rollback(min(count, 3))
            text.fill(row)
            return


def _try(examples: int, seed: int) -> None:
    found = Counter[str]()
    for at in range(examples):
        random = Random(f"{seed} {at}")
        try:
            walk(mutated(random, tables(random.randrange(KINDS))), random)
            found["followed"] += 1
        except EngineFailure:
            found["refused"] += 1
    sys.stdout.write(f"{examples} tables: {dict(found)}\n")


def _build(folder: Path) -> None:
    """Compile the kernel without bounds checks, with the sanitizer, in a copy of the package."""
    hook = runpy.run_path(str(_ROOT / "hatch_build.py"))
    shutil.copytree(_ROOT / "enforcer", folder / "enforcer", ignore=shutil.ignore_patterns("*.so"))
    for name in ("bench", "grammars", "tests"):
        (folder / name).symlink_to(_ROOT / name)
    os.environ["CFLAGS"] = "-fsanitize=address -fno-omit-frame-pointer -g -O1 -w"
    os.environ["LDFLAGS"] = "-fsanitize=address"
    hook["DIRECTIVES"]["boundscheck"] = False
    (folder / "scratch").mkdir()
    shutil.copy(hook["compile_kernel"](_ROOT, folder / "scratch"), folder / "enforcer" / "kernel")


def main() -> int:
    """Build, and run in a process that the sanitizer is loaded into first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        _try(options.examples, options.seed)
        return 0
    ask = [shutil.which("gcc") or "gcc", "-print-file-name=libasan.so"]
    found = subprocess.run(ask, check=True, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        _build(Path(folder))
        environment = os.environ | {
            "LD_PRELOAD": found.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0",  # Python frees little of its own at the end
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": folder,
        }
        command = [sys.executable, "-m", "tests.machine.hostile_tables", "--inside"]
        command += ["--examples", str(options.examples), "--seed", str(options.seed)]
        return subprocess.run(command, check=False, cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
