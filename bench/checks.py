"""What checking new schemas takes beside a server: `python -m bench.checks`.

Distinct schemas with formats, patterns and counts, those of `bench.matrix.workload` that are not
plain, go through the processes that a front end has, over Kimi's vocabulary where it is to be
had. With `--tools` the collected tools are checked, and compiled as an engine does, in this
process, and the processor time of each is told. This file also runs in older checkouts. Owns:
sending them, and what is printed. Must not know: how anything is checked.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import time

import numpy as np

from bench.first_mask import tools as tools_
from bench.first_mask.run import vocabulary as find_vocabulary
from bench.matrix import workload
from enforcer.checking.pool import Pool
from enforcer.checking.work import SchemaCheck
from enforcer.engines import load
from enforcer.errors import EnforcerError
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import Root, compile_schema
from enforcer.schema.reading.plain import is_plain

_REQUESTS = 100
_SEED = 7


def checks() -> list[SchemaCheck]:
    """Draw them; the same each time."""
    sources = {
        json.dumps(tool["function"]["parameters"]): None
        for body in workload.bodies(_REQUESTS, _SEED)
        for tool in body.get("tools", ())
        if "parameters" in tool["function"]
    }
    return [
        SchemaCheck(ResponseFormat(FormatKind.JSON_SCHEMA, source, Root.OBJECT))
        for source in sources
        if not is_plain(source)
    ]


async def send(pool: Pool, wanted: list[SchemaCheck], at_once: int) -> list[tuple[float, float]]:
    """Have them checked; gives the seconds that each was waited for, and of its processor time."""
    room = asyncio.Semaphore(at_once)

    async def one(check: SchemaCheck) -> tuple[float, float]:
        async with room:
            begun = time.perf_counter()
            verdict = await pool.check_async(check)
            return time.perf_counter() - begun, verdict.seconds

    return await asyncio.gather(*map(one, wanted))


def of_tools() -> None:
    """Print the processor time of checking, and of compiling, each collected tool."""
    name, vocabulary = find_vocabulary()
    engine = load("machine", vocabulary)
    engine.warm(None)
    source, tools = tools_.load()
    found: list[tuple[float, float]] = []
    for tool in tools:
        schema = json.dumps(tool["function"]["parameters"])
        if len(found) % 50 == 0:
            gc.collect()
            gc.disable()
        begun = time.process_time()
        try:
            engine.check(compile_schema(json.loads(schema)), None)
        except EnforcerError:
            continue
        checked = time.process_time()
        engine.compile(compile_schema(json.loads(schema)), None)
        found.append((checked - begun, time.process_time() - checked))
    print(f"vocabulary: {name}; {len(found)} tools, {source}")
    checks_, compiled = np.array(found).T * 1e3
    for what, times in (("check", checks_), ("tables", compiled), ("both", checks_ + compiled)):
        half, nearly_all = np.percentile(times, [50, 99])
        print(f"{what}: {half:.2f} ms in the median, {nearly_all:.2f} at p99")


def main() -> None:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(prog="python -m bench.checks", description=__doc__)
    parser.add_argument("--at-once", type=int, default=1, help="how many are waited for at a time")
    parser.add_argument("--looks", type=int, help="how many are looked at at a time")
    parser.add_argument("--tools", action="store_true", help="collected tools, in this process")
    options = parser.parse_args()
    if options.tools:
        of_tools()
        return
    name, vocabulary = find_vocabulary()
    pool = Pool("machine", vocabulary, "kimi_k2", looks=options.looks)
    first, *wanted = checks()
    pool.check(first)  # starts what forks the others
    begun = time.perf_counter()
    found = asyncio.run(send(pool, wanted, options.at_once))
    whole = time.perf_counter() - begun
    waited, spent = zip(*found, strict=True)
    print(f"vocabulary: {name}; {len(wanted)} schemas, {options.at_once} at once")
    print(
        f"{whole / len(wanted) * 1e3:.1f} ms for each, {statistics.mean(spent) * 1e3:.1f} of them "
        f"processor time of its check; waited for one: {statistics.median(waited) * 1e3:.0f} ms in "
        f"the median, {max(waited) * 1e3:.0f} at most"
    )


if __name__ == "__main__":
    main()
