from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines import load
from enforcer.errors import EnforcerError
from enforcer.schema import compile_schema

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
TEXT = '{"days": 3, "city": "Zürich"}'


@pytest.fixture(scope="module")
def engine(vocabulary):
    return load("llguidance", vocabulary)


@pytest.fixture(scope="module")
def grammar(engine):
    return engine.compile(compile_schema(SCHEMA))


def mask(matcher, vocabulary):
    row = np.full(vocabulary.words, -1, np.int32)
    matcher.fill(row)
    return row


def ids(row):
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def test_a_bit_is_set_exactly_if_the_id_is_accepted(grammar, vocabulary):
    matcher = grammar.matcher()
    for token in [*vocabulary.encode(TEXT), None]:
        allowed = ids(mask(matcher, vocabulary))
        for i in range(vocabulary.size):
            taken = matcher.accept(i)
            assert taken == (i in allowed), i
            if taken:
                matcher.rollback(1)
        if token is not None:
            assert matcher.accept(token)


def test_control_ids_and_holes_are_never_legal(grammar, vocabulary):
    matcher = grammar.matcher()
    for token in vocabulary.encode(TEXT):
        assert not ids(mask(matcher, vocabulary)) & vocabulary.control_ids
        assert not any(matcher.accept(i) for i in vocabulary.control_ids)
        assert matcher.accept(token)
    assert matcher.is_accepting()


@pytest.mark.parametrize("token", [-1, 10**9])
def test_an_id_outside_the_vocabulary_is_illegal(grammar, token):
    assert not grammar.matcher().accept(token)


@given(data=st.data())
def test_rollback_restores_the_mask(grammar, vocabulary, data):
    matcher, tokens = grammar.matcher(), vocabulary.encode(TEXT)
    masks = [mask(matcher, vocabulary)]
    for token in tokens:
        assert matcher.accept(token)
        masks.append(mask(matcher, vocabulary))
    at = len(tokens)
    for _ in range(4):
        back = data.draw(st.integers(0, at))
        matcher.rollback(back)
        at -= back
        assert np.array_equal(mask(matcher, vocabulary), masks[at])
        assert matcher.is_accepting() == (at == len(tokens))
        for token in tokens[at : at + data.draw(st.integers(0, 3))]:
            assert matcher.accept(token)
            at += 1


def test_texts_do_not_share_state(grammar, vocabulary):
    first, second = grammar.matcher(), grammar.matcher()
    for token in vocabulary.encode(TEXT):
        assert first.accept(token)
    assert first.is_accepting()
    assert not second.is_accepting()


def test_check_refuses_what_compile_refuses(engine):
    grammar = compile_schema({"anyOf": [{"required": [f"n{i}"]} for i in range(70)]})
    for attempt in (engine.check, engine.compile):
        with pytest.raises(EnforcerError, match="required"):
            attempt(grammar)


def test_endless_white_space_and_digits_end(engine, vocabulary):
    matcher = engine.compile(compile_schema({"type": "integer"})).matcher()
    taken = 0
    while taken < 200 and matcher.accept(vocabulary.encode("7")[0]):
        taken += 1
    assert 15 <= taken < 200
    matcher = engine.compile(compile_schema({})).matcher()
    assert all(map(matcher.accept, vocabulary.encode("[")))
    taken = 0
    while taken < 200 and matcher.accept(vocabulary.encode(" ")[0]):
        taken += 1
    assert taken <= 2


def test_a_long_array_of_objects_stays_within_the_limits(engine, vocabulary):
    items = {"type": "array", "items": SCHEMA}
    matcher = engine.compile(compile_schema(items)).matcher()
    text = json.dumps([{"city": "x", "days": 1}] * 800)
    assert all(map(matcher.accept, vocabulary.encode(text)))
    assert matcher.is_accepting()
