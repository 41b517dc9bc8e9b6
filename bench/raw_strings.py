"""What masks cost within source code and markup, where values stand as they are.

`python -m bench.raw_strings`: for each format of pairs, the mean of a mask over whole calls with a
file as their argument, and that of the masks right behind a `<`, which may begin what ends a value;
and that over calls with three short arguments, one of them not declared, and of compiling such an
object. Kimi K2's JSON beside them.

Owns: the texts and the table. Must not know: hosts, whether a mask is right.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import thread_time_ns
from typing import TYPE_CHECKING

import numpy as np

from bench.formats.masks import vocabulary_of
from enforcer import engines
from enforcer.schema import compile_schema
from enforcer.turn import dialects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.engines import ArgumentEngine, CompiledGrammar
    from enforcer.layouts import BoundLayout
    from enforcer.vocabulary import Vocabulary

FORMATS = ("kimi_k2", "kimi_k3", "glm45", "qwen3_coder", "minimax_m2")
CODE = """\
#include <vector>
#include <cstdint>

template <typename T>
static int lower(const std::vector<T> &of, T at) {
    int first = 0, last = (int)of.size();
    while (first < last) {
        int middle = first + ((last - first) >> 1);
        if (of[middle] < at) first = middle + 1;
        else last = middle;
    }
    return first; // 0 <= first <= of.size()
}
"""
MARKUP = """\
<!DOCTYPE html>
<html lang="en">
<head><title>Orders</title><link rel="stylesheet" href="/site.css"></head>
<body>
  <h1>Orders of <em>today</em></h1>
  <table>
    <tr><th>Number</th><th>Of</th></tr>
    <tr><td>17</td><td><a href="/orders/17">Ms. Ochs</a></td></tr>
    <tr><td>18</td><td><a href="/orders/18">Mr. Adler</a></td></tr>
  </table>
  <p>Two orders, <b>one</b> of them <i>open</i>.</p>
</body>
</html>
"""
TEXTS = {"code": CODE, "markup": MARKUP}
SCHEMAS = {
    "string": {"type": "string"},
    "with a length": {"type": "string", "maxLength": 20_000},
}


SHORT = {"text": "Two orders, one of them open.", "path": "orders/17", "my own": "Ms. Ochs"}
OPEN = {"properties": {"text": {"type": "string"}, "path": {"type": "string"}}}


def _pair(name: str, key: str, text: str) -> list[str]:
    """Write an argument: what stands before its text, it, and what stands behind."""
    return {
        "kimi_k2": [f'"{key}": "', json.dumps(text)[1:-1], '"'],
        "kimi_k3": [
            f'<|open|>argument key="{key}" type="string"<|sep|>',
            text,
            "<|close|>argument<|sep|>",
        ],
        "glm45": [f"<arg_key>{key}</arg_key><arg_value>", text, "</arg_value>"],
        "qwen3_coder": [f"<parameter={key}>\n", text, "\n</parameter>\n"],
        "minimax_m2": [f'<parameter name="{key}">', text, "</parameter>\n"],
    }[name]


def _call(vocabulary: Vocabulary, name: str, arguments: dict[str, str]) -> list[int]:
    """Write arguments as ids, up to what ends them."""
    ids: list[int] = vocabulary.encode("{") if name == "kimi_k2" else []
    for key, text in arguments.items():
        before, inside, behind = _pair(name, key, text)
        if name == "kimi_k2" and key != next(iter(arguments)):
            before = f", {before}"
        ids += _ids(vocabulary, before, controls=True)
        ids += _ids(vocabulary, inside, controls=False)
        ids += _ids(vocabulary, behind, controls=True)
    return ids


def _ids(vocabulary: Vocabulary, text: str, *, controls: bool) -> Iterator[int]:
    while text:
        named = [(text.find(name), name) for name in vocabulary.controls if name in text]
        at, name = min(named if controls else [], default=(len(text), ""))
        yield from vocabulary.encode(text[:at])
        if name:
            yield vocabulary.control(name)
        text = text[at + len(name) :]


def _followed(
    compiled: CompiledGrammar, vocabulary: Vocabulary, ids: list[int], rounds: int
) -> Iterator[tuple[bytes, int]]:
    """Give what stood before each mask, and the nanoseconds that it took; not of a first round."""
    row = np.zeros(vocabulary.words, dtype=np.int32)
    for at in range(-1, rounds):
        matcher, last = compiled.matcher(), b""
        for token_id in ids:
            begun = thread_time_ns()
            matcher.fill(row)
            took = thread_time_ns() - begun
            if at >= 0:
                yield last, took
            last = vocabulary.token_bytes(token_id)
            if not matcher.accept(token_id):
                raise AssertionError(f"{last!r} is illegal")


def _compile(engine: ArgumentEngine, schema: object, layout: BoundLayout) -> CompiledGrammar:
    return engine.read(engine.write(compile_schema(schema), layout))


def measure(ranks: Path, name: str, rounds: int) -> Iterator[tuple[str, str, float, float | None]]:
    """Give what is measured, of what, the mean microseconds, and those right behind a `<`."""
    dialect = dialects.load(name)
    vocabulary = vocabulary_of(ranks, dialect)
    engine = engines.load("machine", vocabulary)
    layout = dialect.arguments.bind(vocabulary.controls.get)
    engine.warm(layout)
    for said, schema in SCHEMAS.items():
        whole = {"type": "object", "properties": {"text": schema}, "required": ["text"]}
        compiled = _compile(engine, whole, layout)
        for kind, text in TEXTS.items():
            ids = _call(vocabulary, name, {"text": text})
            every = list(_followed(compiled, vocabulary, ids, rounds))
            behind = [took for last, took in every if last.endswith((b"<", b"</"))]
            mean = float(np.mean([took for _, took in every])) / 1e3
            yield said, kind, mean, float(np.mean(behind)) / 1e3
    compiled = _compile(engine, OPEN, layout)
    short = _followed(compiled, vocabulary, _call(vocabulary, name, SHORT), rounds)
    yield "three, open object", "short", float(np.mean([took for _, took in short])) / 1e3, None
    spent = []
    for _ in range(rounds):
        begun = thread_time_ns()
        _compile(engine, OPEN, layout)
        spent.append(thread_time_ns() - begun)
    yield "the same, compiled", "", float(np.median(spent)) / 1e3, None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=Path, default=Path("../shared/kimi"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| format | string | text | a mask, µs | behind a `<`, µs |\n|---|---|---|--:|--:|")
    for name in FORMATS:
        for said, kind, mean, behind in measure(options.ranks, name, options.rounds):
            last = "" if behind is None else f"{behind:,.0f}"
            print(f"| {name} | {said} | {kind} | {mean:,.0f} | {last} |", flush=True)


if __name__ == "__main__":
    main()
