"""The longest masks of many texts: `python -m bench.longest_masks KIND [--seed N] [--schemas N]`.

`tools`: collected declarations with their valid calls; `maskbench`: valid instances of MaskBench's
schemas, each a first text; `patterns`, `structures`, and of distinct elements `lengths`, `members`:
schemas that are drawn to cost, and texts that go on at random, three of each. All is checked, and
compiled, as a server does before a text.

Owns: following texts with a mask before each id, and the table. Must not know: how masks are
computed. Times are of the processor, for a machine that others use too; none of Python's garbage
is collected meanwhile.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.first_mask import tools as tools_
from bench.first_mask.run import vocabulary as find_vocabulary
from bench.longest_masks import drawn
from enforcer.engines import load
from enforcer.errors import EnforcerError
from enforcer.schema import Root, compile_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer import Vocabulary
    from enforcer.engines import ArgumentEngine, CompiledGrammar

_SLOW = 5e-3  # seconds
_TEXTS = 3  # of a drawn schema
_DRAWN = 150  # schemas
_IDS = 200
_MANY = 2_000  # units of work, of which the time of one can be told
_BESIDE = Path(__file__).resolve().parents[3] / "shared"


@dataclass(slots=True)
class Found:
    """What was measured.

    Attributes:
        masks: seconds of each.
        accepts: likewise.
        units: units of work of the longest mask and accept of each text that the machine follows.
        schemas: how many were tried.
        refused: how many of them when they were checked.
        texts: how many were followed.
        ended: why the engine gave up on some of them.
        slow: names of schemas that had a mask over `_SLOW`.

    """

    masks: list[float] = field(default_factory=list)
    accepts: list[float] = field(default_factory=list)
    units: list[tuple[int, float]] = field(default_factory=list)
    schemas: int = 0
    refused: int = 0
    texts: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    slow: set[str] = field(default_factory=set)


def cases(kind: str) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield names, schemas and valid instances."""
    if kind == "tools":
        for each in tools_.load()[1]:
            function = each["function"]
            yield function["name"], function["parameters"], each["valid_arguments"]
        return
    root = Path(os.environ.get("ENFORCER_SHARED", _BESIDE))
    with gzip.open(root / "cases" / "maskbench" / "cases.jsonl.gz", "rt") as lines:
        for line in lines:
            case = json.loads(line)
            yield case["id"], case["schema"], [x["data"] for x in case["tests"] if x["valid"]]


class Follower:
    """Follows texts of one engine."""

    def __init__(self, engine: ArgumentEngine, vocabulary: Vocabulary) -> None:
        self._engine = engine
        self._vocabulary = vocabulary
        self._row = np.zeros(vocabulary.words, np.int32)
        self.found = Found()

    def compiled(self, schema: Any, root: Root) -> CompiledGrammar | None:
        """Check and compile; None if it is refused."""
        self.found.schemas += 1
        try:
            grammar = compile_schema(schema, root=root)
            self._engine.check(grammar)
            return self._engine.compile(grammar)
        except EnforcerError:
            self.found.refused += 1
            return None

    def follow(self, name: str, grammar: CompiledGrammar, choose: Iterator[int]) -> None:
        """Take the ids that are chosen, with a mask before each."""
        matcher = grammar.matcher()
        self.found.texts += 1
        try:
            for _ in range(1_000_000):
                begun = time.thread_time()
                matcher.fill(self._row)
                spent = time.thread_time() - begun
                self.found.masks.append(spent)
                self._count(matcher, spent)
                if spent > _SLOW:
                    self.found.slow.add(name)
                token_id = next(choose, None)
                if token_id is None:
                    return
                begun = time.thread_time()
                taken = matcher.accept(token_id)
                spent = time.thread_time() - begun
                self.found.accepts.append(spent)
                self._count(matcher, spent)
                if not taken:
                    raise RuntimeError(f"id {token_id} is refused: {name}")
        except EnforcerError as error:
            self.found.ended[str(error)] += 1

    def _count(self, matcher: Any, spent: float) -> None:
        units = getattr(matcher, "work", None)  # of the machine alone
        if units is not None:
            self.found.units.append((units, spent))

    def at_random(self, random: Random, begun: str, pieces: tuple[str, ...]) -> Iterator[int]:
        """Choose some of the pieces where they may come next, anything legal else."""
        yield from self._vocabulary.encode(begun)
        spelled = [self._vocabulary.encode(piece) for piece in pieces]
        wanted = [ids[0] for ids in spelled if len(ids) == 1]
        for _ in range(_IDS):
            legal = [i for i in random.sample(wanted, len(wanted)) if self._permits(i)]
            words = np.flatnonzero(self._row)
            if not len(words):
                return
            if legal and random.random() < 0.9:
                yield legal[0]
                continue
            word = int(words[random.randrange(len(words))])
            yield next(i for i in range(32 * word, 32 * word + 32) if self._permits(i))

    def _permits(self, token_id: int) -> bool:
        return bool(self._row[token_id // 32] >> token_id % 32 & 1)


def _honest(follower: Follower, kind: str, vocabulary: Vocabulary, most: int | None) -> None:
    root = Root.OBJECT if kind == "tools" else Root.ANY
    for name, schema, instances in islice(cases(kind), most):
        grammar = follower.compiled(schema, root)
        if grammar is not None:
            for each in instances:
                text = json.dumps(each, ensure_ascii=False)
                follower.follow(name, grammar, iter(vocabulary.encode(text)))
        gc.collect()


def _drawn(follower: Follower, kind: str, seed: int, count: int) -> None:
    draw, begin, pieces = drawn.KINDS[kind]
    for at in range(count):
        # What becomes of one text changes no other, so that two versions can be compared.
        schema = draw(Random(f"{seed} {at}"))
        grammar = follower.compiled(schema, Root.OBJECT)
        if grammar is not None:
            for text in range(_TEXTS):
                random = Random(f"{seed} {at} {text}")
                chosen = follower.at_random(random, begin(schema, random), pieces)
                follower.follow(str(at), grammar, chosen)
        gc.collect()


def main() -> None:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["tools", "maskbench", *drawn.KINDS])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schemas", type=int, help="how many at most; 150 of those that are drawn")
    options = parser.parse_args()
    name, vocabulary = find_vocabulary()
    follower = Follower(load("machine", vocabulary), vocabulary)
    gc.disable()
    if options.kind in ("tools", "maskbench"):
        _honest(follower, options.kind, vocabulary, options.schemas)
    else:
        _drawn(follower, options.kind, options.seed, options.schemas or _DRAWN)
    found = follower.found
    slow = [mask for mask in found.masks if mask > _SLOW]
    print(f"vocabulary: {name}; schemas: {found.schemas}, refused {found.refused}")
    print(f"texts: {found.texts}; masks: {len(found.masks):,}")
    for why, times in found.ended.items():
        print(f"ended: {times}, {why}")
    print(f"longest: {1e3 * max(found.masks):.1f} ms; over 5 ms: {len(slow)}", *sorted(found.slow))
    print(f"longest accept: {1e3 * max(found.accepts, default=0.0):.1f} ms")
    if found.units:
        most = max(units for units, _ in found.units)
        share = len(found.units) / (len(found.masks) + len(found.accepts))
        print(f"by the machine {share:.1%}; units: at most {most:,}")
        # The time of a unit is told by masks of many. Of the slowest, others who use the
        # processor's caches are the cause.
        many = [spent / units for units, spent in found.units if units > _MANY]
        if many:
            half, nearly_all = np.percentile(many, [50, 99])
            print(
                f"a unit: {1e9 * half:.0f} ns in the median of {len(many)} masks, "
                f"{1e9 * nearly_all:.0f} at p99; of so many units {1e3 * most * half:.1f} ms, "
                f"{1e3 * most * nearly_all:.1f} at p99"
            )


if __name__ == "__main__":
    main()
