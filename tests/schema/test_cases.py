"""Schemas of all tables of cases, interpreted, and in each layout of arguments."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from enforcer.errors import SchemaError
from enforcer.layouts.pattern import ID
from enforcer.machine import grammar as binding
from enforcer.machine.tables import tables_of
from enforcer.schema import Root, compile_schema
from tests.laid_out import FORMATS, bound, engine, key_is_writable, read, write, written_symbols
from tests.machine.interpreted import interpreted
from tests.support import schema_cases
from tests.support.schema_cases import SchemaCase
from tests.vocabularies import small

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
# Those of bundled schemas refer to documents.
FILES = [each for each in HERE.rglob("cases/*.toml") if each.parts[-3] != "bundling"]
CASES = [
    case
    for file in FILES
    if "[[schemas]]" in file.read_text(encoding="utf-8")
    for case in schema_cases.cases_of(file)
    if not case.error
]


def test_interpreted_they_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "kernel", interpreted())
    vocabulary = binding.bound_vocabulary(small())

    def compiled(schema: Any, **options: Any) -> binding.MachineGrammar:
        tables = tables_of(compile_schema(schema, **options), None)
        return binding.MachineGrammar(tables, vocabulary)

    monkeypatch.setattr(schema_cases, "compiled", compiled)
    assert len(CASES) > 200
    for case in CASES:
        case.check()


def objects(case: SchemaCase, layout: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield arguments that vLLM reads as they were before they were written in a layout."""
    for text in (*case.accepts, *case.rejects):
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if json.dumps(value) == text and isinstance(value, dict):
            if not all(key_is_writable(layout, key) for key in value):
                continue
            if json.dumps(dict(read(layout, write(layout, value, Random(0)), case.schema))) == text:
                yield value, text in case.accepts


@pytest.mark.parametrize("layout", FORMATS)
def test_laid_out_they_accept_the_same(layout: str) -> None:
    compared = 0
    for case in CASES:
        if case.relaxed:
            continue
        try:
            grammar = compile_schema(case.schema, **{**case.settings(), "root": Root.OBJECT})
            compiled = engine().compile(grammar, bound(layout))
        except SchemaError:
            continue
        for value, fits in objects(case, layout):
            matcher = compiled.matcher()
            ids = [x - ID if x >= ID else x for x in written_symbols(layout, value, 0)]
            assert (all(map(matcher.accept, ids)) and matcher.is_accepting()) is fits, (case, value)
            compared += 1
    assert compared > 60
