"""`fill` and `accept` agree id by id: without masks, after any rollback, from many threads."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from enforcer.engines import load
from enforcer.engines.llguidance import grammar as grammars
from enforcer.errors import EngineFailure, SchemaLimit
from enforcer.schema import compile_schema
from tests.engines.limits import limited
from tests.vocabularies import bits, kimi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from enforcer.engines import ArgumentEngine, ArgumentMatcher, CompiledGrammar
    from enforcer.vocabulary import Vocabulary


# Which of the last 20 characters were an `a` is what a lexer has to know within such a string.
FORGETFUL: dict[str, Any] = {
    "type": "object",
    "properties": {"deep": {"type": "string", "pattern": "a.{20}b.{3}c"}, "n": {"type": "integer"}},
}
# Both objects have a first property with the same values, in the same place.
TWINS = {
    "anyOf": [
        {
            "properties": {
                "k": {"const": kind},
                "v": {
                    "type": "object",
                    "properties": {name: {"type": "string"} for name in names},
                    "required": list(names),
                    "additionalProperties": False,
                },
            },
            "required": ["k", "v"],
            "additionalProperties": False,
        }
        for kind, names in ((1, "x"), (2, "xy"))
    ],
    "type": "object",
}


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return kimi()


@pytest.fixture(scope="module")
def engine(vocabulary: Vocabulary) -> ArgumentEngine:
    return load("machine", vocabulary)


def filled(matcher: ArgumentMatcher, vocabulary: Vocabulary) -> NDArray[np.int32]:
    row = np.full(vocabulary.words, -1, np.int32)
    matcher.fill(row)
    return row


def taken(matcher: ArgumentMatcher, vocabulary: Vocabulary, text: str) -> bool:
    return all(matcher.accept(token) for char in text for token in vocabulary.encode(char))


@pytest.mark.slow
def test_a_mask_is_not_kept_across_a_rollback(
    engine: ArgumentEngine, vocabulary: Vocabulary
) -> None:
    grammar = engine.compile(compile_schema(TWINS))
    matcher, fresh = grammar.matcher(), grammar.matcher()
    first, second = '1,"v":{"x":"s', '2,"v":{"x":"s'
    assert taken(matcher, vocabulary, '{"k":' + first)
    complete = filled(matcher, vocabulary)
    matcher.rollback(len(first))
    assert taken(matcher, vocabulary, second)
    assert taken(fresh, vocabulary, '{"k":' + second)
    assert np.array_equal(filled(matcher, vocabulary), filled(fresh, vocabulary))
    assert not np.array_equal(filled(matcher, vocabulary), complete)


def test_masks_agree_with_ids_after_any_rollback(
    engine: ArgumentEngine, vocabulary: Vocabulary
) -> None:
    grammar = engine.compile(compile_schema(TWINS))
    texts = ('{"k":1,"v":{"x":"str"}}', '{"k":2,"v":{"x":"str","y":"s"}}', '{"v":{"x":"str"}}')
    random, matcher, at = Random(5), grammar.matcher(), ""
    for _ in range(400):
        choice = random.random()
        if choice < 0.3 and at:
            count = random.randint(1, len(at))
            matcher.rollback(count)
            at = at[:-count]
        following = [text for text in texts if text.startswith(at) and text != at]
        if choice > 0.5:
            fresh = grammar.matcher()
            assert taken(fresh, vocabulary, at)
            assert np.array_equal(filled(matcher, vocabulary), filled(fresh, vocabulary)), at
        elif following:
            text = random.choice(following)
            assert taken(matcher, vocabulary, text[len(at)])
            at += text[len(at)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": r"^(?:\S+\s+){0,20}\S+$", "maxLength": 300},
        {"type": "string", "allOf": [{"pattern": f"a.{{{n}}}a"} for n in (2, 3)]},
        FORGETFUL["properties"]["deep"],
    ],
)
def test_ids_without_masks_between_are_taken_like_those_with(
    engine: ArgumentEngine,
    vocabulary: Vocabulary,
    schema: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grammars, "PATIENCE", sys.maxsize)  # whatever machine this runs on
    try:
        grammar = engine.compile(compile_schema(schema))
    except SchemaLimit:
        return
    words = " ".join(Random(3).choices(["alpha", "banana", "a", "cab"], k=40))
    with_masks, without = grammar.matcher(), grammar.matcher()
    for token in vocabulary.encode(json.dumps(words)[:-1]):
        legal = token in bits(filled(with_masks, vocabulary))
        assert with_masks.accept(token) == legal
        assert without.accept(token) == legal
        if not legal:
            break


def test_little_fuel_is_filled_up_between_ids(
    engine: ArgumentEngine, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, initial_lexer_fuel=60_000)
    grammar = engine.compile(compile_schema(FORGETFUL))
    random, matcher = Random(7), grammar.matcher()
    assert taken(matcher, vocabulary, '{"deep": "')
    # No mask is ever asked for.
    assert taken(matcher, vocabulary, "".join(random.choices("ab", k=1_500)))


def follow(
    grammar: CompiledGrammar, vocabulary: Vocabulary, seed: int, barrier: Barrier
) -> str | None:
    """Write a random text by the masks; return what went wrong."""
    random, matcher = Random(seed), grammar.matcher()
    row = np.zeros(vocabulary.words, np.int32)
    tokens = [vocabulary.encode(each)[0] for each in ("a", "b", "ab", "ba", "cab", " a")]
    barrier.wait()
    try:
        for token in vocabulary.encode('{"deep": "'):
            matcher.fill(row)
            if not matcher.accept(token):
                return f"id {token} refused at the start"
        for _ in range(60):
            matcher.fill(row)
            token = random.choice(tokens)
            if not (int(row[token // 32]) >> token % 32) & 1:
                return f"id {token} missing"
            if not matcher.accept(token):
                return f"id {token} refused, which the mask permitted"
            if random.random() < 0.2:
                matcher.rollback(1)
    except EngineFailure as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("states", [60_000, 4_000])
def test_texts_in_many_threads_lose_lexers_but_no_id(
    engine: ArgumentEngine, vocabulary: Vocabulary, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, max_lexer_states=states)
    monkeypatch.setattr(grammars, "PATIENCE", sys.maxsize)  # however crowded the machine is
    grammar = engine.compile(compile_schema(FORGETFUL))
    count = 12
    barrier = Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        found = list(
            pool.map(lambda seed: follow(grammar, vocabulary, seed, barrier), range(count))
        )
    # A text that is too much for any lexer ends by name; none is told that an id is illegal.
    ended = [each for each in found if each is not None]
    assert not [each for each in ended if "gave up" not in each], ended
    assert states < 60_000 or not ended
