"""What masks outside arguments cost in each format, beside Kimi K2's.

Run with `python -m bench.formats.masks`.

Owns: the mean time of a mask over the files' own examples, in headers and in text, over one
vocabulary of the size of Kimi's, in which every format has its control tokens. Must not know:
hosts, whether a mask is right.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import thread_time_ns
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bench.formats import page
from enforcer import Enforcer, Vocabulary
from enforcer.request.spec import Spec
from enforcer.request.tools import parse
from enforcer.turn import dialects
from enforcer.turn.dialect import FREE_TEXT, Segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.api import Prepared
    from enforcer.turn.dialect import Dialect

_ROUNDS = 30
_PASSES = 3
_BEFORE = 2  # requests that are not measured: what comes a second time is kept
_KINDS = ("text", "header", "framing", "start")
_MANY = 40  # tools beside those that an example calls


def vocabulary_of(ranks: Path, dialect: Dialect) -> Vocabulary:
    plain = Vocabulary.from_tiktoken(ranks / "tiktoken.model", ranks / "tokenizer_config.json")
    tokens = [plain.token_bytes(i) for i in range(plain.size)]
    controls = dict(plain.controls)
    for name in dialect.controls:
        if name not in controls:
            controls[name] = len(tokens)
            tokens.append(name.encode())
    return Vocabulary(tokens, controls, plain.encode)


def _write(vocabulary: Vocabulary, dialect: Dialect, text: str) -> Iterator[int]:
    """Give the ids of an example, its markers being tokens."""
    while text:
        at, name = min(
            ((text.find(name), name) for name in dialect.controls if name in text),
            default=(len(text), ""),
        )
        yield from vocabulary.encode(text[:at])
        if name:
            yield vocabulary.control(name)
        text = text[at + len(name) :]


def _prompt(vocabulary: Vocabulary, dialect: Dialect) -> list[int]:
    turn = dialect.turn
    role = turn.role or ("assistant" if turn.end else "")
    begin = [vocabulary.control(each) for each in turn.begin[:1]]
    end = [] if turn.end is None else [vocabulary.control(turn.end)]
    return [*begin, *vocabulary.encode(role), *end]


def measure(ranks: Path, name: str, rounds: int, *, anew: bool) -> dict[str, float]:
    """Give the mean microseconds of a mask in text, in headers and in what frames them.

    And of a turn's start, where its first mask is computed if it depends on the tools. What a
    server has done by another thread meanwhile, the compiling of a tool's schema, is in none.

    Args:
        ranks: folder of Kimi's tokenizer.
        name: of the format.
        rounds: how many times each example is followed, after two that are not measured.
        anew: whether each time has tools of other names.

    """
    dialect = dialects.load(name)
    vocabulary = vocabulary_of(ranks, dialect)
    enforcer = Enforcer(vocabulary, name)
    spent: dict[str, list[int]] = {kind: [] for kind in _KINDS}
    row = np.zeros((1, vocabulary.words), dtype=np.int32)
    for example in dialect.examples:
        ids = list(_write(vocabulary, dialect, example["text"]))
        first = (example.get("calls") or [{}])[0].get("index", 0)
        for at in range(-_BEFORE, rounds):
            tools = _tools(example, at if anew else 0)
            spec = Spec(parse(tools, "auto", True), first if name == "kimi_k2" else 0)
            prompt, prepared = _prompt(vocabulary, dialect), _prepared(enforcer, spec)
            begun = thread_time_ns()
            matcher = enforcer.start(
                spec, prompt, prepared=prepared, ahead=lambda compiles: compiles()
            )
            if at >= 0:
                spent["start"].append(thread_time_ns() - begun)
            for token_id in ids:
                segment = dialect.states[matcher.state].segment
                begun = thread_time_ns()
                matcher.fill(row)
                took = thread_time_ns() - begun
                if at < 0:
                    pass
                elif segment in FREE_TEXT:
                    spent["text"].append(took)
                elif segment is Segment.HEADER:
                    spent["header"].append(took)
                elif segment is Segment.NONE:
                    spent["framing"].append(took)
                if not matcher.accept(token_id):
                    raise AssertionError(f"{name}: {vocabulary.token_bytes(token_id)!r} is illegal")
    found = {kind: float(np.mean(took)) for kind, took in spent.items() if took}
    # What is collected as garbage now and then is not its own.
    found["start"] = float(np.median(spent["start"]))
    return {kind: round(took / 1e3, 1) for kind, took in found.items()}


def _prepared(enforcer: Enforcer, spec: Spec) -> Prepared:
    """Compile what a request needs, as a server does before its turn."""
    steps = enforcer.prepare(spec)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return cast("Prepared", ended.value)


def _tools(example: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
    names = {call["name"] for call in example.get("calls", [])}
    names |= {f"other_{number}_{i}" for i in range(_MANY)}
    return [{"type": "function", "function": {"name": name}} for name in sorted(names)]


def _middle(passes: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Give the median of each figure: others work on the machine meanwhile."""
    return {
        tools: {kind: float(np.median([each[tools][kind] for each in passes])) for kind in kinds}
        for tools, kinds in passes[0].items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=Path, default=Path("../shared/kimi"))
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--passes", type=int, default=_PASSES)
    parser.add_argument("--write", metavar="MACHINE", help="keep the figures for docs/formats.md")
    parser.add_argument("names", nargs="*", default=dialects.available())
    options = parser.parse_args()
    every: dict[str, list[dict[str, dict[str, float]]]] = {}
    for _ in range(options.passes):
        for name in dict.fromkeys(("kimi_k2", *options.names)):
            found = {
                kind: measure(options.ranks, name, options.rounds, anew=kind == "new")
                for kind in ("known", "new")
            }
            every.setdefault(name, []).append(found)
            print(name, found, file=sys.stderr)
    measured = {name: _middle(passes) for name, passes in every.items()}
    print(page.masks(measured))
    if options.write:
        kept = {"machine": options.write, "masks": measured}
        page.MASKS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
