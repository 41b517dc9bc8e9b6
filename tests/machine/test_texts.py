"""Texts that the machine follows: masks against accepts, the way back, memory, threads."""

import json
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.errors import EnforcerError
from enforcer.machine import grammar as binding
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema import ArgumentGrammar, Root, compile_schema
from tests import vocabularies
from tests.engine_cases import CASES, closed
from tests.machine.interpreted import interpreted
from tests.schema_strategies import schemas
from tests.support import cases, machine

V = vocabularies.small()


TREE = machine.tree(V)


def compiled(grammar: ArgumentGrammar) -> MachineGrammar:
    return MachineGrammar(tables_of(grammar, None), TREE)


def row(text: kernel.TextMatcher) -> set[int]:
    return machine.mask(text, V)


def walked(text: kernel.TextMatcher, random: Random, most: int) -> list[int]:
    """Follow random legal ids, preferring those that end something."""
    ids: list[int] = []
    while len(ids) < most and (legal := sorted(row(text))):
        ends = [i for i in legal if V.token_bytes(i)[-1:] in b'"]}0']
        ids.append(random.choice(ends if ends and random.random() < 0.5 else legal))
        assert text.accept(ids[-1])
    return ids


def replayed(found: MachineGrammar, ids: list[int]) -> kernel.TextMatcher:
    text = found.matcher()
    assert all(map(text.accept, ids))
    return text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_row_has_exactly_the_ids_that_are_accepted(case: Any) -> None:
    try:
        found = compiled(compile_schema(case.schema))
    except EnforcerError as error:
        pytest.skip(str(error))
    for value in (*case.valid, *case.invalid):
        text = found.matcher()
        for token_id in V.encode(json.dumps(value)):
            machine.agreed(text, V)
            assert not any(map(text.accept, (-1, V.size)))
            if not text.accept(token_id):
                assert value in case.invalid
                break
        else:
            assert text.is_accepting() == (value in case.valid)


@given(schemas(), st.randoms(use_true_random=False))
def test_going_back_and_letting_go_leave_the_text_as_it_is(schema: Any, random: Random) -> None:
    try:
        found = compiled(compile_schema(schema, root=Root.ANY))
    except EnforcerError:
        assume(False)
        return
    text = found.matcher()
    ids: list[int] = []
    kept = 0
    for _ in range(6):
        ids += walked(text, random, random.randrange(12))
        assert row(text) == row(replayed(found, ids))
        assert text.is_accepting() == replayed(found, ids).is_accepting()
        if random.random() < 0.5:
            kept = max(kept, len(ids) - 3)
            text.keep(3)
        back = random.randint(0, min(3, len(ids) - kept))
        text.rollback(back)
        del ids[len(ids) - back :]
    with pytest.raises(ValueError, match="cannot take back"):
        text.rollback(len(ids) + 1)
    assert row(text) == row(replayed(found, ids))


def test_texts_of_one_grammar_in_several_threads() -> None:
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"type": "string", "pattern": "^[a-z]{2,}x"} for n in range(9)},
    }
    grammar = compile_schema(schema)

    def follow(found: MachineGrammar, seed: int) -> int:
        text, ids = found.matcher(), []
        hashes = 0
        random = Random(seed)
        for _ in range(40):
            ids = walked(text, random, 1)
            found_row = np.zeros(V.words, np.int32)
            text.fill(found_row)
            hashes = zlib.crc32(found_row.tobytes(), hashes)
            if not ids:
                break
        return hashes

    expected = [follow(compiled(grammar), seed) for seed in range(24)]
    for _ in range(5):
        shared = compiled(grammar)
        with ThreadPoolExecutor(8) as pool:
            assert [*pool.map(follow, [shared] * 24, range(24))] == expected


def test_a_text_of_many_names_stays_small() -> None:
    names = {f"a property {n}": {"type": "integer"} for n in range(3_000)}
    text = compiled(compile_schema({"type": "object", "properties": names})).matcher()
    most = 0
    for n, token_id in enumerate(V.encode(json.dumps(dict.fromkeys(list(names)[:400], 1)))):
        assert text.accept(token_id)
        if n % 16 == 0:
            text.keep(8)
            text.fill(np.zeros(V.words, np.int32))
            most = max(most, text.weight)
    assert text.is_accepting()
    assert most < 64 << 10
    assert most > 1_000


def test_a_deep_text_grows_and_comes_back() -> None:
    text = compiled(compile_schema({}, root=Root.ANY)).matcher()
    opening, closing = V.encode("["), V.encode("]")
    for _ in range(5_000):
        assert text.accept(opening[0])
    deep = text.weight
    for _ in range(5_000):
        assert text.accept(closing[0])
        text.keep(4)
    assert text.is_accepting()
    assert text.weight < deep / 10


def test_frames_of_a_deep_text_are_moved_seldom(
    monkeypatch: pytest.MonkeyPatch, calls_of: Callable[..., list[Any]]
) -> None:
    monkeypatch.setattr(binding, "kernel", interpreted())
    found = MachineGrammar(tables_of(compile_schema({}, root=Root.ANY), None), bound_vocabulary(V))
    moves = calls_of(import_module("enforcer.kernel.names"), "collect")
    text = found.matcher()
    for _ in range(1_000):
        assert text.accept(V.encode("[")[0])
        text.keep(4)
    assert 1 <= len(moves) < 20


def test_a_row_made_out_of_bounds_is_not_kept() -> None:
    grammar = compile_schema({"properties": {"a": {"type": "integer"}}, "required": ["a"]})
    tables = tables_of(grammar, None)
    found = MachineGrammar(tables, TREE)
    tables.arrays["names"].view(kernel.NAME)["node"] = 10**6  # behind the check of tables
    for _ in range(2):
        text = replayed(found, V.encode('{"a":'))
        with pytest.raises(IndexError, match="out of bounds"):
            row(text)


@given(schemas(), st.randoms(use_true_random=False))
def test_a_kept_row_is_the_row(schema: Any, random: Random) -> None:
    try:
        grammar = compile_schema(schema, root=Root.ANY)
        shared = compiled(grammar)
    except EnforcerError:
        assume(False)
        return
    for _ in range(4):
        text = shared.matcher()
        for token_id in walked(shared.matcher(), random, 12):
            fresh = replayed(compiled(grammar), text.token_ids())
            assert all(row(text) == row(fresh) for _ in range(3))
            assert text.accept(token_id)


def test_rows_are_kept_when_met_again() -> None:
    found = compiled(compile_schema({"type": "object"}))
    before = TREE.memory.bytes
    texts = [replayed(found, V.encode('{"c": 1, "d": ')) for _ in range(3)]
    rows = [row(text) for text in texts]
    assert rows[0] == rows[1] == rows[2]
    assert [bool(text.work) for text in texts] == [True, False, False]
    assert TREE.memory.bytes > before


def test_a_vocabulary_keeps_few_tries_of_patterns() -> None:
    letters = "abcdefg"
    vocabulary = machine.of_bytes(f'{c}"' for c in letters)
    shared = bound_vocabulary(vocabulary)
    for bits in range(1 << len(letters)):
        some = "".join(c for n, c in enumerate(letters) if bits >> n & 1)
        schema = {"pattern": f"^[h-zA-Z{some}]*$", "type": "string"}
        text = machine.begun(machine.held(schema, shared, root=Root.ANY), '"')
        found = {token for token in machine.legal(text, vocabulary) if len(token) > 1}
        assert found == {f'{c}"'.encode() for c in some}
    assert 32 < len(shared.tries) <= 64


@pytest.mark.parametrize("pattern", ["^a*b{90}$", "^.*b{90}$", "^[a-z ]*$", None])
def test_rows_near_the_bounds_of_a_length(pattern: str | None) -> None:
    string: dict[str, Any] = {"type": "string", "maxLength": 120}
    string |= {"minLength": 7} if pattern is None else {"pattern": pattern}
    found = compiled(compile_schema({"type": "object", "properties": {"s": string}}))
    first = V.encode('{"s": "')
    texts = [replayed(found, first) for _ in range(2)]
    recalled = 0
    for text in texts:
        longest = 0
        while text.accept(V.encode("a")[0]):
            longest += 1
            row(text)
            recalled += not text.work
            machine.agreed(text, V)
        assert longest == (30 if pattern and "90" in pattern else 120)
    if pattern == "^[a-z ]*$":  # of the others some rows are too little work to be kept
        assert recalled > longest


def test_bounds_that_no_text_reaches() -> None:
    far = 10**12
    schema: Any = {
        "anyOf": [{"type": "string", "maxLength": far}, {"type": "array", "maxItems": far}]
    }
    for text in ('"ab"', "[1]"):
        assert replayed(compiled(compile_schema(schema, root=Root.ANY)), V.encode(text))
    for least in ({"type": "string", "minLength": far}, {"type": "array", "minItems": far}):
        found = compiled(compile_schema(least, root=Root.ANY)).matcher()
        assert not all(map(found.accept, V.encode('""'))) or not found.is_accepting()


def test_a_row_that_is_too_short_is_refused() -> None:
    text = compiled(compile_schema({})).matcher()
    short, long = np.zeros(V.words - 1, np.int32), np.zeros(V.words, np.int32)
    for none in (None, short, None):  # no row at all did end the process
        with pytest.raises(ValueError, match="shorter"):
            text.fill(none)
        long[:] = 0
        text.fill(long)
        assert vocabularies.bits(long) == row(text)


CASES_OF_KERNELS = [
    *cases.params("machine/cases/texts.toml", "schema, value"),
    (
        closed({f"n{n}": {"const": n} for n in range(70)}, "n3", "n63", "n64"),
        json.dumps({f"n{n}": n for n in (64, 63, 5, 3)}),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "value"), CASES_OF_KERNELS)
def test_interpreted_is_the_same(schema: Any, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_of(compile_schema(schema, root=Root.ANY), None)
    text = json.dumps(json.loads(value))
    small = vocabularies.cut([text, value])
    ids = small.encode(text)
    assert all(machine.assert_same_interpreted(monkeypatch, tables, small, ids))
    matcher = MachineGrammar(tables, bound_vocabulary(small)).matcher()
    assert all(map(matcher.accept, ids))
    assert matcher.is_accepting()
