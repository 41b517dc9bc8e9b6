"""Rows against accepts along random texts, over a vocabulary of whole names, also in escapes."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import engines
from enforcer.machine.grammar import MachineGrammar
from enforcer.schema import compile_schema
from tests.engines.lengths.test_engine import SCHEMAS, V
from tests.schema_judge import agree_along_a_walk

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar


@cache
def _grammar(number: int) -> CompiledGrammar:
    # Shared by all walks, as rows that are kept are.
    return engines.load("llguidance", V).compile(compile_schema(SCHEMAS[number]))


HELD = [at for at in range(len(SCHEMAS)) if isinstance(_grammar(at), MachineGrammar)]


@pytest.mark.slow
@pytest.mark.parametrize("number", HELD)
@given(seed=st.integers(0, 2**32))
def test_a_row_is_what_is_accepted(number: int, seed: int) -> None:
    matcher = _grammar(number).matcher()
    agree_along_a_walk(matcher, V, Random(seed), lambda data: b'"' not in data)


@pytest.mark.parametrize("name", ['a"', '\\u0061"', '\\u0061":'])
def test_a_name_that_has_come_does_not_come_again_in_an_escape(name: str) -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    matcher = engines.load("llguidance", V).compile(compile_schema(schema)).matcher()
    for token in V.encode('{"a":"b","'):
        assert matcher.accept(token)
    agree_along_a_walk(matcher, V, Random(name), lambda _: True)
