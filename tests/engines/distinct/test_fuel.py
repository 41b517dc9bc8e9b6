"""What one mask and one id may look at: honest arrays stay below, and another text ends alone."""

from __future__ import annotations

import json
from hashlib import sha256
from random import Random
from typing import Any

import numpy as np
import pytest

from enforcer import engines
from enforcer.engines.distinct import fuel
from enforcer.engines.distinct.fuel import Fuel
from enforcer.errors import EngineFailure
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests.schema_judge import V, compiled


def distinct(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True}


def write(matcher: Any, ids: Any, row: Any) -> None:
    for token_id in ids:
        matcher.fill(row)
        assert matcher.accept(token_id)


PORT = {"type": "integer", "minimum": 0, "maximum": 65535}
POINT = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id"],
}
BOUNDED = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 100},
        "note": {"type": "string", "minLength": 2, "maxLength": 500},
    },
    "required": ["name", "note"],
    "additionalProperties": False,
}
DIGEST = {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}
HONEST = {
    "integers in order": ({"type": "integer"}, list(range(2_000))),
    "any integers": ({"type": "integer"}, Random(1).sample(range(10**9), 2_000)),
    "ports in order": (PORT, list(range(2_000))),
    "any ports": (PORT, Random(1).sample(range(65_536), 2_000)),
    "fractions": ({"type": "number"}, [i / 7 for i in range(1_000)]),
    "small fractions": (
        {"type": "number", "minimum": 0, "maximum": 1},
        [i / 7e5 for i in range(500)],
    ),
    "narrow": ({"type": "number", "minimum": 0.5, "maximum": 1}, [0.8, 0.7, 0.5, 0.96, 0.6, 1]),
    "common digits": ({"type": "number"}, [0.142857 + i * 1e-12 for i in range(500)]),
    "anything": ({}, list(range(1_000))),
    "objects": (POINT, [{"id": i, "name": f"n{i}"} for i in range(1_000)]),
    "text or number": (
        {"type": ["string", "integer"]},
        [i if i % 2 else f"n{i}" for i in range(2_000)],
    ),
    "bounded texts": (BOUNDED, [{"name": "a" * 50, "note": f"note {i}"} for i in range(300)]),
    "digests": (DIGEST, [sha256(b"%d" % i).hexdigest() for i in range(500)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_honest_arrays_need_less_than_half_of_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = []
    burn = Fuel.burn

    def measured(self: Any, count: int) -> None:
        burn(self, count)
        if self is matcher._keeper.keeper._fuel:
            least.append(self._left)

    element, values = HONEST[name]
    matcher: Any = compiled(distinct(element)).matcher()
    row = np.zeros(V.words, np.int32)
    ids = V.encode(json.dumps(values))
    assert all(map(matcher.accept, ids[:-60]))
    monkeypatch.setattr(Fuel, "burn", measured)
    write(matcher, ids[-60:], row)
    assert min(least) > fuel._FULL // 2


def test_a_text_that_needs_more_ends_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar, row = compiled(distinct(POINT)), np.zeros(V.words, np.int32)
    monkeypatch.setattr(fuel, "_FULL", 40)
    poor = grammar.matcher()
    monkeypatch.undo()
    text = V.encode('[{"id": 1}, {"id": ')
    with pytest.raises(EngineFailure, match="elements of an array distinct"):
        write(poor, text, row)
    other = grammar.matcher()
    write(other, [*text, *V.encode("2}]")], row)
    assert other.is_accepting()


def test_an_id_that_is_too_much_leaves_the_text_where_it_was() -> None:
    matcher: Any = compiled(distinct({})).matcher()
    assert all(map(matcher.accept, b"[[1],"))
    matcher._keeper.keeper._fuel._full = 0
    with pytest.raises(EngineFailure):
        matcher.accept(ord("["))
    matcher._keeper.keeper._fuel._full = 1_000
    assert all(map(matcher.accept, b"[2]]"))
    assert matcher.is_accepting()


@pytest.mark.slow
def test_pairs_of_numbers_are_told_apart_with_ids_of_three_digits() -> None:
    digits = [f"{i:0{n}}".encode() for n in (2, 3) for i in range(10**n)]
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), *digits], {})
    pair = {"items": {"type": "integer", "minimum": 0, "maximum": 1000}, "minItems": 2}
    schema = distinct({"type": "array", "maxItems": 2, **pair})
    matcher = engines.load("machine", vocabulary).compile(compile_schema(schema)).matcher()
    row = np.zeros(vocabulary.words, np.int32)
    write(matcher, vocabulary.encode(json.dumps([[i % 40, i // 40] for i in range(200)])), row)
    assert matcher.is_accepting()


def test_unique_arrays_within_each_other_end_before_they_hold_the_square_of_their_depth() -> None:
    schema = {"$defs": {"t": distinct({"$ref": "#/$defs/t"})}, "$ref": "#/$defs/t"}
    matcher = compiled(schema).matcher()
    assert all(map(matcher.accept, b"[" * 300 + b"]" * 300))
    assert matcher.is_accepting()
    with pytest.raises(EngineFailure, match="elements of an array distinct"):
        all(map(compiled(schema).matcher().accept, b"[" * 2_000))
