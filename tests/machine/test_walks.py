"""Rows against accepts along random texts, over a vocabulary of whole names, also in escapes."""

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import engines
from enforcer.engines import CompiledGrammar
from enforcer.machine.grammar import MachineGrammar
from enforcer.schema import compile_schema
from tests.schema_judge import agree_along_a_walk
from tests.support import cases, machine
from tests.vocabularies import cut

# Strings in every spelling, with what may stand around them, in pieces of any length.
_TEXTS = (
    '{"a": "ab cd", "b": ["x y", "zz"]}',
    '{"a":"ab","b":["é日本","\\u00e9\\n"]}',
    '[" a","🙂🙃","\\ud83d\\ude42","\\\\","\\""]',
    '{"\\u0061":"a  b","c":{"a":"https://a.b/c"}}',
)
_MORE = (b"aaaaaa", b"a a a a", b"nnn", b"tab", b"uuu", b"\\u00", b"\\u", b"0041", b"41b")
V = cut(_TEXTS, _MORE)


SCHEMAS = cases.listed("machine/cases/walks.toml", "schemas")


@cache
def _grammar(number: int) -> CompiledGrammar:
    # Shared by all walks, as rows that are kept are.
    return engines.load("machine", V).compile(compile_schema(SCHEMAS[number]))


HELD = [at for at in range(len(SCHEMAS)) if isinstance(_grammar(at), MachineGrammar)]


@pytest.mark.slow
@pytest.mark.parametrize("number", HELD)
@given(seed=st.integers(0, 2**32))
def test_a_row_is_what_is_accepted(number: int, seed: int) -> None:
    agree_along_a_walk(_grammar(number).matcher(), V, Random(seed), lambda data: b'"' not in data)


@pytest.mark.parametrize("name", ['a"', '\\u0061"', '\\u0061":'])
def test_a_name_that_has_come_does_not_come_again_in_an_escape(name: str) -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    matcher = engines.load("machine", V).compile(compile_schema(schema)).matcher()
    for token in V.encode('{"a":"b","'):
        assert matcher.accept(token)
    agree_along_a_walk(matcher, V, Random(name), lambda _: True)


@pytest.mark.parametrize(
    "schema", [{}, {"pattern": "^[a-é]*$"}, {"pattern": "^[^a]*$", "maxLength": 5}]
)
def test_tokens_that_are_no_utf_8_are_not_allowed(schema: dict[str, Any]) -> None:
    random = Random(5)
    pieces = b'\x80\x90\x9f\xa0\xbf\xc0\xc2\xc3\xe0\xe6\xed\xf0\xf4\xffa"'
    tokens = {bytes(random.choices(pieces, k=random.randint(2, 5))) for _ in range(1_000)}
    vocabulary = machine.of_bytes(sorted(tokens))
    engine = engines.load("machine", vocabulary)
    matcher = engine.compile(compile_schema({"type": "string", **schema})).matcher()
    assert matcher.accept(ord('"'))
    for seed in range(4):
        agree_along_a_walk(matcher, vocabulary, Random(seed), lambda data: b'"' not in data)
