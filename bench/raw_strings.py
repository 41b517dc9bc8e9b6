"""What masks cost within source code and markup, where values stand as they are.

`python -m bench.raw_strings`: for each format of pairs, the mean of a mask over whole calls with a
file as their argument, and that of the masks right behind a `<`, which may begin what ends a value;
Kimi K2's JSON beside them.

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


def _written(name: str, text: str) -> list[str]:
    """Write a call's arguments: what stands before the text, it, and what stands behind."""
    return {
        "kimi_k2": ['{"text": "', json.dumps(text)[1:-1], '"}'],
        "kimi_k3": [
            '<|open|>argument key="text" type="string"<|sep|>',
            text,
            "<|close|>argument<|sep|>",
        ],
        "glm45": ["<arg_key>text</arg_key><arg_value>", text, "</arg_value>"],
        "qwen3_coder": ["<parameter=text>\n", text, "\n</parameter>"],
        "minimax_m2": ['<parameter name="text">', text, "</parameter>"],
    }[name]


def _ids(vocabulary: Vocabulary, text: str, *, controls: bool) -> Iterator[int]:
    while text:
        named = [(text.find(name), name) for name in vocabulary.controls if name in text]
        at, name = min(named if controls else [], default=(len(text), ""))
        yield from vocabulary.encode(text[:at])
        if name:
            yield vocabulary.control(name)
        text = text[at + len(name) :]


def measure(ranks: Path, name: str, rounds: int) -> dict[tuple[str, str], tuple[float, float]]:
    """Give the mean microseconds of all masks, and of those right behind a `<`."""
    dialect = dialects.load(name)
    vocabulary = vocabulary_of(ranks, dialect)
    engine = engines.load("llguidance", vocabulary)
    layout = dialect.arguments.bind(vocabulary.controls.get)
    engine.warm(layout)
    row = np.zeros(vocabulary.words, dtype=np.int32)
    found = {}
    for said, schema in SCHEMAS.items():
        whole = {"type": "object", "properties": {"text": schema}, "required": ["text"]}
        compiled = engine.read(engine.write(compile_schema(whole), layout))
        for kind, text in TEXTS.items():
            before, inside, behind = _written(name, text)
            ids = list(_ids(vocabulary, before, controls=True))
            ids += _ids(vocabulary, inside, controls=False)
            ids += _ids(vocabulary, behind, controls=True)
            every: list[int] = []
            pending: list[int] = []
            for at in range(-1, rounds):
                matcher, last = compiled.matcher(), b""
                for token_id in ids:
                    begun = thread_time_ns()
                    matcher.fill(row)
                    took = thread_time_ns() - begun
                    if at >= 0:
                        every.append(took)
                        if last.endswith((b"<", b"</")):
                            pending.append(took)
                    if not matcher.accept(token_id):
                        raise AssertionError(
                            f"{name}: {vocabulary.token_bytes(token_id)!r} is illegal"
                        )
                    last = vocabulary.token_bytes(token_id)
            found[said, kind] = (float(np.mean(every)) / 1e3, float(np.mean(pending)) / 1e3)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=Path, default=Path("../shared/kimi"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| format | string | text | a mask, µs | behind a `<`, µs |\n|---|---|---|--:|--:|")
    for name in FORMATS:
        for (said, kind), (mean, behind) in measure(options.ranks, name, options.rounds).items():
            print(f"| {name} | {said} | {kind} | {mean:,.0f} | {behind:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
