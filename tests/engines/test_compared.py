"""Both engines over the same texts: walks that must agree, and a difference that is noticed."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest

from enforcer.engines import COMPARED, load
from enforcer.errors import EngineFailure
from enforcer.schema import compile_schema
from tests.vocabularies import bits, kimi

SCHEMAS: list[dict[str, Any]] = [
    {"type": "object"},
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2, "maxLength": 9},
            "unit": {"enum": ["C", "F", None, 3, 2.5]},
            "days": {"type": "array", "items": {"type": "integer", "minimum": -3}, "maxItems": 3},
        },
        "required": ["city"],
        "additionalProperties": {"anyOf": [{"type": "boolean"}, {"$ref": "#"}]},
    },
    {"anyOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]}, {"minProperties": 2}]},
]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("seed", range(3))
def test_walks_agree(schema: dict[str, Any], seed: int) -> None:
    vocabulary, random = kimi(), Random(seed)
    text = load(COMPARED, vocabulary).compile(compile_schema(schema)).matcher()
    row = np.zeros(vocabulary.words, np.int32)
    for _ in range(60):
        text.fill(row)
        legal = bits(row)
        if not legal:
            assert text.is_accepting()
            return
        assert text.accept(random.choice(sorted(legal)))
        if random.random() < 0.2:
            text.rollback(1)


def test_a_difference_is_a_failure() -> None:
    vocabulary = kimi()
    engine: Any = load(COMPARED, vocabulary)
    one, other = ({"properties": {"a": {"const": n}}, "required": ["a"]} for n in (1, 2))
    written = json.loads(engine.write(compile_schema(one)).partition(" ")[2])
    written[1] = json.loads(engine.write(compile_schema(other)).partition(" ")[2])[1]
    text = engine.read("\0both " + json.dumps(written)).matcher()
    row = np.zeros(vocabulary.words, np.int32)

    def follow() -> None:
        for token_id in vocabulary.encode('{"a":1}'):
            text.accept(token_id)
            text.fill(row)

    with pytest.raises(EngineFailure, match="differ behind"):
        follow()
