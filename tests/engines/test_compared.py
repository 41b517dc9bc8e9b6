"""Both engines over the same texts: walks that must agree, and a difference that is noticed."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.longest_masks import drawn
from enforcer.engines import COMPARED, load
from enforcer.errors import EnforcerError, EngineFailure
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests.languages import asserting_patterns, plain_patterns
from tests.schema_strategies import schemas
from tests.vocabularies import bits, kimi
from tests.walks import examples

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine, ArgumentMatcher

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


# What tokens of `hostile` are put together from.
PIECES = (
    "\\", "\\u", "\\u00", '\\"', "\\\\", "\\n", "0", "00", "1", "6", "61", "d8", "c", "D", "0a",
    '"', '"a"', '":', '","', "{", "}", "[", "]", ",", ":", " ", "\n", "\t", "/", "<", "x", "A", "_",
    "-", "+", ".", "e", "E", "9", "t", "r", "ue", "true", "false", "null", "type", "id", "a", "b",
    "é", "日", "🙂", "\u2028", "\x7f", "\ud7ff", "\uffff", "n",
)  # fmt: skip
BYTES = b'\x80\x90\x9f\xa0\xbf\xc0\xc3\xe0\xe6\xed\xf0\xf4\xff"a'
STRINGS = st.fixed_dictionaries(
    {"type": st.just("string"), "pattern": asserting_patterns | plain_patterns},
    optional={"minLength": st.integers(0, 4), "maxLength": st.sampled_from([4, 19, 25, 64, 90])},
)
STRUCTURES = st.builds(lambda seed: drawn.structures(Random(seed)), st.integers(0, 2**32))


@cache
def hostile() -> Vocabulary:
    """Return 3,000 tokens that cross all borders of JSON and characters, or are no UTF-8."""
    random = Random(7)
    tokens = {bytes([byte]) for byte in range(256)}
    tokens.update(bytes(random.choices(BYTES, k=random.randint(2, 4))) for _ in range(300))
    while len(tokens) < 3_000:
        text = "".join(random.choices(PIECES, k=random.randint(1, 5))).encode()
        cut = random.randint(0, len(text) - 1) if random.random() < 0.25 else 0
        tokens.add(text[cut : cut + 12])
    return Vocabulary([*sorted(tokens), b"<|im_end|>"], {"<|im_end|>": len(tokens)})


@cache
def engine(vocabulary: Vocabulary) -> ArgumentEngine:
    return load(COMPARED, vocabulary)


def walk(text: ArgumentMatcher, vocabulary: Vocabulary, random: Random, most: int) -> None:
    """Follow random ids, half of them with what ends or begins something, and go back at times."""
    row = np.zeros(vocabulary.words, np.int32)
    taken = 0
    for _ in range(most):
        text.fill(row)
        legal = sorted(bits(row))
        if not legal:
            assert text.is_accepting()
            return
        for other in random.choices(range(vocabulary.size), k=4):
            if text.accept(other):
                text.rollback(1)
        marks = [i for i in legal if set(b'"\\[]{},:').intersection(vocabulary.token_bytes(i))]
        assert text.accept(random.choice(marks if marks and random.random() < 0.5 else legal))
        taken += 1
        text.is_accepting()
        if random.random() < 0.1:
            back = random.randint(1, min(3, taken))
            text.rollback(back)
            taken -= back


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("seed", range(3))
def test_walks_agree(schema: dict[str, Any], seed: int) -> None:
    text = engine(kimi()).compile(compile_schema(schema)).matcher()
    walk(text, kimi(), Random(seed), 60)


@pytest.mark.slow
@given(schemas() | STRUCTURES | STRINGS, st.integers(0, 2**32))
@examples(100)
def test_walks_agree_over_a_hostile_vocabulary(schema: Any, seed: int) -> None:
    try:
        grammar = engine(hostile()).compile(compile_schema(schema))
    except EnforcerError:
        assume(False)
        return
    random = Random(seed)
    for _ in range(3):
        walk(grammar.matcher(), hostile(), random, 30)


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
