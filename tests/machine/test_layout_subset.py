"""Which spellings of names and listed strings are legal, and how much white space."""

import json
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines import ArgumentEngine, CompiledGrammar, load
from enforcer.errors import UnsupportedSchema
from enforcer.layouts import COMPACT, JSON, BoundLayout
from enforcer.regex.charset import CharSet
from enforcer.request.options import Options
from enforcer.schema import Root, compile_schema
from enforcer.turn import dialects
from enforcer.turn.table import Table
from tests import dialect_cases
from tests.instance_strategies import instances
from tests.schema_strategies import schemas
from tests.spelled_json import Form, spell
from tests.support import cases, machine
from tests.vocabularies import small
from tests.walks import examples

V = small()
PLAIN = replace(JSON, plain_spelling=True, second_space=True, escaped=">")
SCHEMA = cases.schemas("machine/cases/layout_subset.toml")["values"]


@cache
def engine() -> ArgumentEngine:
    return load("machine", V)


def compiled(schema: Any, layout: BoundLayout = PLAIN) -> CompiledGrammar:
    return engine().compile(compile_schema(schema, root=Root.ANY), layout)


def takes(grammar: CompiledGrammar, ids: list[int]) -> bool:
    """Return whether a text is whole and accepted, each mask agreeing with what is accepted."""
    matcher = grammar.matcher()
    for token_id in ids:
        is_legal = token_id in machine.mask(matcher, V)
        assert matcher.accept(token_id) == is_legal
        if not is_legal:
            return False
    return matcher.is_accepting()


@cases.parametrized("machine/cases/layout_subset.toml", "case")
def test_plain_characters_have_no_escape_in_names_and_strings(text: str, is_plain: bool) -> None:
    json.loads(text)
    for ids in ([ord(each) for each in text], V.encode(text)):
        assert takes(compiled(SCHEMA, JSON), ids)
        assert takes(compiled(SCHEMA), ids) == is_plain


@cases.parametrized("machine/cases/layout_subset.toml", "space")
def test_two_spaces_may_stand_where_one_may(text: str, spaces: int) -> None:
    for layout, most in ((JSON, 1), (replace(JSON, second_space=True), 2), (COMPACT, 0)):
        assert takes(compiled(SCHEMA, layout), V.encode(text)) == (spaces <= most)
    assert not takes(compiled(SCHEMA, replace(COMPACT, second_space=True)), V.encode(text))


def test_what_a_tokenizer_cannot_write_stays_escaped() -> None:
    without = replace(PLAIN, writable=~CharSet.span("p"))
    assert takes(compiled(SCHEMA, without), V.encode(r'{"city": "\u0070aris"}'))
    assert not takes(compiled(SCHEMA, without), V.encode(r'{"city": "p\u0061ris"}'))


@examples(150)
@given(st.data(), st.integers(0, 2**32))
def test_spellings_without_needless_escapes_are_left(data: st.DataObject, seed: int) -> None:
    schema = data.draw(schemas())
    value, random = data.draw(instances(schema)), Random(seed)
    form = Form.drawn(random, numbers=False)
    try:
        letter, plain = compiled(schema, JSON), compiled(schema)
    except UnsupportedSchema:
        return
    for each in (form, replace(form, escaped=0.0)):
        ids = V.encode(spell(value, each, random))
        if takes(plain, ids) or not each.escaped:
            assert takes(letter, ids) == takes(plain, ids)


@pytest.mark.parametrize("name", dialects.available())
def test_the_last_characters_of_all_markers_may_be_escaped(name: str) -> None:
    layout = Table(dialects.load(name), dialect_cases.vocabulary(name)).layout
    own = Options(plain_spelling=True).laid_out(layout, Root.OBJECT)
    markers = [each for texts in dialects.load(name).markers.values() for each in texts]
    assert not {each[-1] for each in (*markers, *layout.avoided)} & {*own.unescaped}
    assert {*"abc_09 "} <= {*own.unescaped}
    assert not Options().laid_out(layout, Root.OBJECT).unescaped
