"""Ending within a number of ids: the shortest end of a text, and of a turn."""

from __future__ import annotations

import json
from functools import cache
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest

import enforcer
from enforcer import engines
from enforcer.budget import objects
from enforcer.budget.frames import endings
from enforcer.budget.least import furthest, least
from enforcer.budget.reading import Reading
from enforcer.budget.shortest import NoShortestEnd, Shortest
from enforcer.errors import UnsupportedSchema
from enforcer.partial import Partial
from enforcer.regex import ANY, both, inverse, literal, parse
from enforcer.schema import Root, compile_schema
from enforcer.schema.grammar import NEVER
from tests import vocabularies
from tests.budget_cases import PIECES, SCHEMAS, V, of, tool

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine, ArgumentMatcher, CompiledGrammar


@cache
def compiled(name: str) -> tuple[CompiledGrammar, Shortest]:
    grammar = compile_schema(SCHEMAS[name], root=Root.OBJECT)
    return engine().compile(grammar), Shortest(grammar, PIECES)


@cache
def engine() -> ArgumentEngine:
    return engines.load("machine", V)


def end_of(reading: Reading, matcher: ArgumentMatcher) -> int:
    """Write the shortest end; each id has to bring it nearer, and the engine has to take it."""
    ids = 0
    while reading.cost:
        token = PIECES.first(reading.next())
        after = reading.read(V.token_bytes(token))
        assert after.cost <= reading.cost - 1, V.token_bytes(token)
        assert matcher.accept(token), V.token_bytes(token)
        reading = after
        ids += 1
    assert matcher.is_accepting()
    return ids


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SCHEMAS)
def test_from_wherever_a_text_goes_its_shortest_end_is_valid(name: str, seed: int) -> None:
    grammar, shortest = compiled(name)
    random = Random(f"{name} {seed}")
    matcher, reading = grammar.matcher(), Reading.begin(shortest)
    row = np.zeros(V.words, dtype=np.int32)
    for step in range(24):
        if step % 6 == 2 * seed:
            matcher.rollback(end_of(reading, matcher))
        matcher.fill(row)
        ids = sorted(vocabularies.bits(row))
        if not ids:
            break
        closing = [i for i in ids if V.token_bytes(i)[:1] in b'"]},:']
        token = random.choice(closing if closing and random.random() < 0.4 else ids)
        assert matcher.accept(token)
        after = reading.read(V.token_bytes(token))
        weight = PIECES.weight(token)
        growth = 12 + weight * shortest.growth if weight else 0
        assert after.cost <= reading.cost + reading.leeway() + growth
        reading = after
    end_of(reading, matcher)


@pytest.mark.parametrize("name", SCHEMAS)
def test_how_a_text_is_cut_does_not_matter(name: str) -> None:
    grammar, shortest = compiled(name)
    matcher, text = grammar.matcher(), b""
    reading = Reading.begin(shortest)
    while reading.cost:
        data = V.token_bytes(PIECES.first(reading.next()))
        text, reading = text + data, reading.read(data)
    jsonschema.Draft202012Validator(SCHEMAS[name]).validate(json.loads(text))
    whole, bytewise = Reading.begin(shortest).read(text), Reading.begin(shortest)
    for byte in text:
        assert bytewise.cost < inf
        bytewise = bytewise.read(bytes([byte]))
    assert whole.cost == bytewise.cost == 0
    assert matcher is not None


@pytest.mark.parametrize(
    "constraint",
    [
        {"not": {"propertyNames": {"not": {"pattern": "^[ab]{40}$"}}}},
        {"properties": {"a" * 40: {}}, "required": ["a" * 40]},
    ],
)
@pytest.mark.parametrize("others", [{}, {"minLength": 2}, {"pattern": "^[ab]*(c{50})?$"}])
def test_a_name_that_leaves_the_one_that_is_needed_costs_no_more_than_is_foreseen(
    constraint: dict[str, Any], others: dict[str, Any]
) -> None:
    schema = {"type": "object", "propertyNames": others, **constraint}
    reading = Reading.begin(Shortest(compile_schema(schema, root=Root.OBJECT), PIECES))
    reading = reading.read(b'{"')
    whole = reading.cost
    for written in range(1, 40):
        reading = reading.read(b"a")
        assert reading.cost <= whole - written / 4  # it is the name that is needed
        for char in b"bc":
            after = reading.read(bytes([char])).cost
            assert after == inf or after <= reading.cost + reading.leeway()


def test_large_least_instances() -> None:
    cases = {
        "names": (of(**{f"name{i}": {"type": "boolean"} for i in range(60)}), 60),
        "items": (of(x={"type": "array", "items": {"type": "null"}, "minItems": 500}), 999),
        "text": (of(x={"type": "string", "minLength": 5000}), 5000),
    }
    for schema, least_ids in cases.values():
        shortest = Shortest(compile_schema(schema, root=Root.OBJECT), PIECES)
        assert least_ids <= shortest.cost_of_root < 20 * least_ids


@pytest.mark.parametrize(
    "value",
    [
        {"type": "string", "minLength": 10**9},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "object", "minProperties": 3},
        {"type": "string", "format": "regex", "maxLength": 9},
    ],
)
def test_what_has_no_end_that_is_known_is_refused(value: dict[str, Any]) -> None:
    schema = of(x=value)
    found = enforcer.Enforcer(V, options=enforcer.Options(finish_within_budget=True))
    with pytest.raises(UnsupportedSchema, match="finish_within_budget") as caught:
        found.matcher([tool(schema)], "required", budget=10**10)
    assert caught.value.path.startswith("$.tools[0].function.parameters")
    assert caught.value.path.endswith(caught.value.keyword)
    assert issubclass(NoShortestEnd, enforcer.EnforcerError)


@pytest.mark.parametrize(
    ("pattern", "text", "far"),
    [
        ("^$", "", 0),
        ("^a{3}$", "aaa", 3),
        ("^(ab|cdefgh)+$", "ab", 6),
        ("^[A-Z]{2}-\\d{3}$", "AA-000", 6),
        ("^(x|é)$", "x", 1),
    ],
)
def test_the_least_member_and_how_far_a_prefix_may_be(pattern: str, text: str, far: int) -> None:
    assert least(parse(pattern)) == text
    assert furthest(parse(pattern)) == far


def test_the_least_member_of_what_has_operators() -> None:
    assert least(both(parse("^[ab]*$"), parse("b.*b"))) == "bb"
    assert least(inverse(literal(""))) == "a"
    assert least(both(ANY, inverse(parse("^.*$")))) is not None


@pytest.mark.parametrize("char", ["é", "日", "🙂", "\n", '"', "\\", "a", "\ud7ff", "\u0800"])
def test_a_character_that_has_been_begun_is_completed(char: str) -> None:
    plain, escaped = json.dumps(char, ensure_ascii=False)[1:-1], json.dumps(char)[1:-1]
    upper = escaped.upper().replace("U", "u") if "u" in escaped else escaped
    for spelled in {plain.encode(), escaped.encode(), upper.encode()}:
        partial, read = Partial(), ""
        for byte in spelled:
            partial, found = partial.read(byte)
            read += found or ""
            for end in endings(partial, ANY):
                json.loads(b'"' + partial.pending + end)
        assert read == char


def test_no_long_name_is_kept() -> None:
    objects._short.cache_clear()
    for name in ("short", "x" * 100_000):
        assert objects.Pair(None, name, NEVER).text == f'"{name}":'.encode()
    assert objects._short.cache_info().currsize == 1
