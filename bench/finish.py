"""Turns of random ids that have to end within budgets from tiny to ample.

`python -m bench.finish [--turns 10000] [--seed 0]`: every id is drawn from the mask, budgets
begin at the shortest that the server does not refuse, and every twentieth id or so is taken
back. A turn is right if it is over when its budget is, its calls are of declared tools, and
their arguments fit the schema by `jsonschema`; at every step an id that is not in the mask has
to be refused, and the one that was drawn accepted. Text alone may be cut.

Times are the thread's processor time, collections of garbage apart: these are as long as what this
process holds, most of which a server does not.

Owns: the requests, drawing the turns and judging them. Must not know: how ends are found.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema
import numpy as np

import enforcer
from bench.first_mask.run import vocabulary as find_vocabulary
from enforcer.errors import BudgetTooSmall, EnforcerError
from enforcer.tools.verify.suites import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.turn.matcher import Matcher

_SHARED = Path(__file__).resolve().parents[2] / "shared" / "cases"
_HEADER = ("<|im_user|>", "user", "<|im_middle|>", "Hi", "<|im_end|>")
_OPENED = ("<|im_assistant|>", "assistant", "<|im_middle|>")
_AMPLE = 400
_MORE_THAN_ENOUGH = 10**6
_TINY_SHARE = 0.4
_BACK_SHARE = 0.05


def walle() -> Iterator[list[dict[str, Any]]]:
    """Give the tools of the vendor verifier's schema suite."""
    for file in sorted((_SHARED / "walle").rglob("valid.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield [
                {
                    "type": "function",
                    "function": {"name": "f", "parameters": wrap(json.loads(line))},
                }
            ]


def real() -> Iterator[list[dict[str, Any]]]:
    """Give tools of real use, three to a request."""
    with gzip.open(_SHARED / "tools.jsonl.gz", "rt", encoding="utf-8") as lines:
        tools = [json.loads(line) for line in lines]
    for at in range(0, len(tools), 3):
        yield [{k: t[k] for k in ("type", "function")} for t in tools[at : at + 3]]


def drawn(random: Random, count: int) -> Iterator[list[dict[str, Any]]]:
    """Draw tools: nested, with large least sizes, references and alternatives among them."""
    for _ in range(count):
        schema = {"type": "object", **_object(random, 3), "$defs": {"node": _node(random)}}
        yield [{"type": "function", "function": {"name": "drawn", "parameters": schema}}]


def _node(random: Random) -> dict[str, Any]:
    kids = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    return {
        "type": "object",
        "properties": {"v": _value(random, 0), "kids": kids},
        "required": ["v"],
    }


def _object(random: Random, depth: int) -> dict[str, Any]:
    names = random.sample(["a", "city", "città", 'q"', "日本", "a_long_name", "b", "c"], 4)
    wide = [f"name{i}" for i in range(60)] if random.random() < 0.02 else []
    found: dict[str, Any] = {
        "properties": {name: _value(random, depth - 1) for name in names}
        | {name: {"type": "boolean"} for name in wide},
        "required": [name for name in names if random.random() < 0.5] + wide,
    }
    if random.random() < 0.5:
        found["additionalProperties"] = False
        if random.random() < 0.5:
            found["minProperties"] = random.randint(0, 4)
    return found


def _value(random: Random, depth: int) -> dict[str, Any]:
    leaves: list[dict[str, Any]] = [
        {"type": "string"},
        {"type": "string", "minLength": random.choice([1, 5, 60]), "maxLength": 80},
        {
            "type": "string",
            "pattern": random.choice(["^[A-Z]{2}-[0-9]{3,8}$", "^(ab|cd)+x?$", "é"]),
        },
        {"type": "string", "format": random.choice(["date", "date-time", "uuid", "email"])},
        {"enum": ["red", "green", 3, None, "日本語"]},
        {"type": "integer", "minimum": -5, "maximum": 1000},
        {"type": "number", "exclusiveMinimum": 0.5},
        {"type": ["boolean", "null"]},
        {},
    ]
    if depth <= 0 or random.random() < 0.3:
        return random.choice(leaves)
    kind = random.random()
    if kind < 0.35:
        return {"type": "object", **_object(random, depth)}
    if kind < 0.6:
        least = random.choice([0, 0, 1, 3, 12])
        return {"type": "array", "items": _value(random, depth - 1), "minItems": least}
    if kind < 0.7:
        items = {"enum": [1, 2, 3, "x", "y"]}
        return {
            "type": "array",
            "items": items,
            "uniqueItems": True,
            "minItems": random.randint(0, 3),
        }
    if kind < 0.8:
        return {"$ref": "#/$defs/node"}
    options = [_value(random, depth - 1) for _ in range(random.randint(2, 3))]
    return {"anyOf": options}


class _Request(NamedTuple):
    prompt: list[int]
    tools: list[dict[str, Any]]
    choice: str
    response_format: dict[str, Any] | None
    budget: int


class Run:
    """Draws turns and judges them."""

    def __init__(self, served: enforcer.Enforcer, random: Random) -> None:
        self._served = served
        self._random = random
        self._row = np.zeros((1, served.vocabulary.words), dtype=np.int32)
        self.fills: list[float] = []
        self.longest_collection = self._collected = self._collecting = 0.0
        gc.callbacks.append(self._collect)
        self.kinds: Counter[str] = Counter()
        vocabulary = served.vocabulary
        names = [*_HEADER, *_OPENED]
        self._prompt: list[int] = []
        for name in names:
            control = vocabulary.controls.get(name)
            self._prompt += [control] if control is not None else vocabulary.encode(name)
        self._think = [vocabulary.control("<think>")]

    def turn(self, tools: list[dict[str, Any]]) -> None:
        """Draw one turn; raises AssertionError if it is wrong."""
        random = self._random
        choice = random.choice(["required", "required", "auto"])
        prompt = self._prompt + (self._think if random.random() < 0.5 else [])
        response_format = None
        if choice == "auto" and random.random() < 0.3:
            schema = tools[0]["function"]["parameters"]
            response_format = {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": schema},
            }

        def start(budget: int) -> Matcher:
            return self._served.matcher(
                tools,
                choice,
                prompt_ids=prompt,
                response_format=response_format,
                budget=budget,
            )

        try:
            start(_MORE_THAN_ENOUGH)
            least = _least(start) if choice == "required" or response_format else 1
        except (EnforcerError, RecursionError) as error:
            self.kinds[f"refused: {type(error).__name__}"] += 1
            return
        if random.random() < _TINY_SHARE:
            budget = least + random.randint(0, 8)
        else:
            budget = least + random.randint(0, _AMPLE)
        matcher = start(budget)
        ids = self._draw(matcher, budget)
        self._judge(matcher, ids, _Request(prompt, tools, choice, response_format, budget))

    def _draw(self, matcher: Matcher, budget: int) -> list[int]:
        random = self._random
        controls = self._served.vocabulary.control_ids
        ids: list[int] = []
        eager = random.choice([0.0, 0.02, 0.3])
        while len(ids) < budget and matcher.state != "END":
            before, begun = self._collected, time.thread_time()
            matcher.fill(self._row)
            took = time.thread_time() - begun
            self.fills.append(took - (self._collected - before))
            if matcher.failure is not None:
                raise AssertionError(f"the gate is closed: {matcher.failure!r}")
            legal = np.flatnonzero(np.unpackbits(self._row[0].view(np.uint8), bitorder="little"))
            markers = [i for i in legal[-40:].tolist() if i in controls]
            token = int(random.choice(legal))
            if markers and random.random() < eager:
                token = random.choice(markers)
            elif random.random() < eager:
                # Ids that begin or end something are few among all.
                token = min((int(random.choice(legal)) for _ in range(20)), key=self._length)
            other = random.randrange(self._served.vocabulary.size)
            if not self._row[0][other // 32] >> (other % 32) & 1 and matcher.accept(other):
                raise AssertionError(f"{other} is taken and not in the mask")
            if not matcher.accept(token):
                raise AssertionError(f"{token} is in the mask and not taken: {matcher!r}")
            ids.append(token)
            if random.random() < _BACK_SHARE:
                count = random.randint(0, min(len(ids), 12))
                matcher.rollback(count)
                del ids[len(ids) - count :]
        return ids

    def _collect(self, phase: str, _: dict[str, int]) -> None:
        now = time.thread_time()
        if phase == "start":
            self._collecting = now
            return
        pause = now - self._collecting
        self._collected += pause
        self.longest_collection = max(self.longest_collection, pause)

    def _length(self, token_id: int) -> int:
        return len(self._served.vocabulary.token_bytes(token_id))

    def _judge(self, matcher: Matcher, ids: list[int], request: _Request) -> None:
        prompt, tools, choice, response_format, budget = request
        turn = self._served.parse(ids, prompt)
        where = f"budget {budget}, {json.dumps(tools)[:2000]}, {turn}"
        if len(ids) > budget or turn.stray is not None:
            raise AssertionError(f"not a turn: {where}")
        free = choice == "auto" and response_format is None and not turn.calls
        if not turn.ended:
            if not free or matcher.state not in {"START", "SILENT", "CONTENT", "REASONING"}:
                raise AssertionError(f"cut off in {matcher.state}: {where}")
            self.kinds["text, cut"] += 1
            return
        if choice == "required" and not turn.calls:
            raise AssertionError(f"no call: {where}")
        schemas = {t["function"]["name"]: t["function"].get("parameters") for t in tools}
        for call in turn.calls:
            jsonschema.Draft202012Validator(schemas[call.name] or {}).validate(
                json.loads(call.arguments)
            )
        if response_format is not None and not turn.calls:
            schema = response_format["json_schema"]["schema"]
            jsonschema.Draft202012Validator(schema).validate(json.loads(turn.content))
            self.kinds["formatted"] += 1
            return
        self.kinds[f"{len(turn.calls)} calls" if turn.calls else "text"] += 1


def _least(start: Any) -> int:
    """Find the smallest budget that is not refused, from what the refusal says."""
    try:
        start(0)
    except BudgetTooSmall as error:
        return int(error.reason.split(" takes ")[1].split()[0])
    raise AssertionError("a budget of nothing was not refused")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random = Random(arguments.seed)
    options = enforcer.Options(finish_within_budget=True, max_calls=3)
    run = Run(enforcer.Enforcer(find_vocabulary()[1], options=options), random)
    cases = [*walle(), *real()]
    cases += drawn(random, len(cases) // 2)
    print(f"{len(cases)} sets of tools", file=sys.stderr)
    for number in range(arguments.turns):
        run.turn(random.choice(cases))
        if number % 100 == 99:
            print(number + 1, dict(run.kinds), file=sys.stderr)
    fills = sorted(run.fills)
    print(
        json.dumps(
            {
                "turns": arguments.turns,
                "kinds": dict(run.kinds),
                "ids": len(fills),
                "fill_us": {
                    "mean": round(statistics.fmean(fills) * 1e6),
                    "p50": round(fills[len(fills) // 2] * 1e6),
                    "p99": round(fills[len(fills) * 99 // 100] * 1e6),
                    "max": round(fills[-1] * 1e6),
                },
                "longest_collection_ms": round(run.longest_collection * 1e3),
            }
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
