"""Which ids of a vocabulary are tried: all that could repeat a string, whatever they begin with."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import engines
from enforcer.schema import compile_schema
from tests.schema_judge import agree_along_a_walk
from tests.vocabularies import cut
from tests.walks import examples

# In pieces of any length, so that quotes and commas stand before letters alone.
V = cut(('["us","id"]', '["a", "b","us"]', '["\\u0061","\\n","x"]'))
ENGINE = engines.load("machine", V)
STRINGS: list[dict[str, Any]] = [
    {"pattern": "^[a-z]{2}$"},
    {"maxLength": 1},
    {"minLength": 1, "maxLength": 1},
    {"pattern": "^.?$"},
    {"pattern": "^[A-Za-z]{2}$"},
    {"pattern": "^u?s?$"},
]


@pytest.mark.slow
@pytest.mark.parametrize("string", STRINGS, ids=range(len(STRINGS)))
@examples(20)
@given(seed=st.integers(0, 10**9))
def test_the_mask_is_what_is_accepted_where_beginnings_are_used_up(
    string: dict[str, Any], seed: int
) -> None:
    items = {"type": "string", **string}
    schema = {"type": "array", "items": items, "uniqueItems": True}
    matcher = ENGINE.compile(compile_schema(schema)).matcher()
    for data in (b'["us"', b",", b'"id"', b","):
        if string.get("pattern", "").startswith("^["):
            assert all(matcher.accept(V.encode(chr(byte))[0]) for byte in data)
    agree_along_a_walk(matcher, V, Random(seed), lambda data: len(data) > 1 and b'"' in data)
