"""What is held to be simple surely compiles, and most declared tools are."""

from __future__ import annotations

import gzip
import json

import pytest
import vocabularies
from engine_cases import CASES
from shared_data import shared

from enforcer import engines
from enforcer.engines._simple import is_simple
from enforcer.errors import UnsupportedSchema
from enforcer.schema import Root, compile_schema


def grammars():
    with gzip.open(shared("cases", "tools.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in list(lines)[::4]:
            try:
                parameters = json.loads(line)["function"].get("parameters", {})
                yield compile_schema(parameters, root=Root.OBJECT)
            except UnsupportedSchema:
                continue


def test_most_declared_tools_are_simple_and_each_of_those_compiles():
    engine = engines.load("llguidance", vocabularies.small())
    found = list(grammars())
    simple = [grammar for grammar in found if is_simple(grammar)]
    assert len(simple) > len(found) / 2
    for grammar in simple:
        engine.compile(grammar)


def test_the_largest_simple_grammar_compiles():
    names = {
        f"{'n' * 190}{i}": {"enum": ["x" * 190 + str(j) for j in range(99)]} for i in range(48)
    }
    grammar = compile_schema({"type": "object", "properties": names, "required": list(names)})
    assert is_simple(grammar)
    engines.load("llguidance", vocabularies.small()).compile(grammar)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^(ab|c)*$"},
        {"type": "string", "maxLength": 5},
        {"type": "number", "multipleOf": 0.5},
        {"type": "array", "contains": {"const": 1}},
        {"type": "array", "maxItems": 100_000},
        {"type": "object", "maxProperties": 3},
        {"type": "object", "patternProperties": {"^x": {"type": "null"}}},
        {"type": "object", "properties": {f"p{i}": {} for i in range(49)}},
        {"enum": [f"v{i}" for i in range(200)]},
    ],
)
def test_what_could_be_costly_is_not_simple(schema):
    assert not is_simple(compile_schema(schema))


def test_cases():
    simple = {case.name for case in CASES if is_simple(compile_schema(case.schema))}
    assert simple >= {"empty object", "one enum", "one string", "three properties", "open"}
    assert simple.isdisjoint({"pattern", "multiples", "counts", "unique", "typed others"})
