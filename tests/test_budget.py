"""Ending within a number of ids: the shortest end of a text, and of a turn."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import enforcer
from enforcer.budget import pieces
from enforcer.budget.costs import Shortest
from enforcer.budget.ends import Ends
from enforcer.budget.pieces import _weight
from enforcer.budget.tails import begun
from enforcer.budget.untold import untold
from enforcer.errors import EnforcerError, UnsupportedSchema
from enforcer.layouts import JSON, BoundLayout
from enforcer.regex.charset import EMPTY
from enforcer.schema import Conventions, Root, compile_schema
from tests import vocabularies
from tests.budget_cases import PIECES, SCHEMAS, V, machine, of, tool
from tests.drawn_json import DIALECTS
from tests.instance_strategies import instances
from tests.schema_strategies import schemas
from tests.spelled_json import COMPACT, spell

if TYPE_CHECKING:
    from enforcer import kernel
    from enforcer.schema import ArgumentGrammar

_OPEN = Conventions(closed_objects=False)


def started(
    grammar: ArgumentGrammar, layout: BoundLayout = JSON
) -> tuple[Ends, kernel.TextMatcher]:
    text = machine(grammar, layout).matcher()
    return Ends(Shortest.of(text.tables, PIECES), text), text


@cache
def compiled(name: str) -> ArgumentGrammar:
    return compile_schema(SCHEMAS[name], root=Root.OBJECT)


def end_of(ends: Ends, text: kernel.TextMatcher) -> bytes:
    """Write the shortest end; each id has to bring it nearer, and the machine has to take it."""
    data = b""
    while (end := ends.now()[0]).cost:
        token = PIECES.first(end.piece)
        assert text.accept(token), (data, end.piece)
        data += V.token_bytes(token)
        assert ends.cost <= end.cost - 1, data
    assert text.is_accepting()
    return data


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SCHEMAS)
def test_from_wherever_a_text_goes_its_shortest_end_is_valid(name: str, seed: int) -> None:
    ends, text = started(compiled(name))
    growth = Shortest.of(text.tables, PIECES).growth
    random = Random(f"{name} {seed}")
    row, data = np.zeros(V.words, dtype=np.int32), b""
    for step in range(24):
        if step % 6 == 2 * seed:
            count = len(text.token_ids())
            whole = json.loads(data + end_of(ends, text))
            jsonschema.Draft202012Validator(SCHEMAS[name]).validate(whole)
            text.rollback(len(text.token_ids()) - count)
        text.fill(row)
        ids = sorted(vocabularies.bits(row))
        if not ids:
            break
        closing = [i for i in ids if V.token_bytes(i)[:1] in b'"]},:']
        token = random.choice(closing if closing and random.random() < 0.4 else ids)
        before, weight = ends.now()[0], _weight(V.token_bytes(token))
        assert text.accept(token)
        data += V.token_bytes(token)
        assert ends.cost <= before.most + 1 + (12 + weight * growth if weight else 0)
    end_of(ends, text)


@st.composite
def beginnings(draw: st.DrawFn) -> tuple[Any, bytes]:
    dialect = draw(st.sampled_from(DIALECTS))
    schema = draw(schemas(dialect))
    value = draw(instances(schema, dialect))
    text = spell(value, COMPACT, draw(st.randoms(use_true_random=False))).encode()
    return schema, text[: draw(st.integers(0, len(text)))]


@pytest.mark.slow
@given(beginnings())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_has_begun_has_an_end_that_the_machine_takes(case: tuple[Any, bytes]) -> None:
    schema, data = case
    try:
        grammar = compile_schema(schema, root=Root.ANY, conventions=_OPEN)
        ends, text = started(grammar)
    except EnforcerError:
        assume(False)
    assume(not untold(grammar))
    count = next((at for at, byte in enumerate(data) if not text.accept(byte)), len(data))
    assert ends.cost < inf
    json.loads(data[:count] + end_of(ends, text))


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
    ends, text = started(compile_schema(schema, root=Root.OBJECT))
    assert all(map(text.accept, b'{"'))
    whole = ends.cost
    for count in range(1, 40):
        assert text.accept(ord("a"))
        end = ends.now()[0]
        assert end.cost <= whole - count / 4  # it is the name that is needed
        for char in b"bc":
            if text.accept(char):
                assert ends.cost <= end.most + 1
                text.rollback(1)


def test_large_least_instances() -> None:
    cases = {
        "names": (of(**{f"name{i}": {"type": "boolean"} for i in range(60)}), 60),
        "items": (of(x={"type": "array", "items": {"type": "null"}, "minItems": 500}), 999),
        "text": (of(x={"type": "string", "minLength": 5000}), 5000),
    }
    for schema, least_ids in cases.values():
        ends, _ = started(compile_schema(schema, root=Root.OBJECT))
        assert least_ids <= ends.cost < 20 * least_ids


@pytest.mark.parametrize(
    "value",
    [
        {"type": "string", "minLength": 10**9},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "object", "minProperties": 3},
    ],
)
def test_what_has_no_end_that_is_known_is_refused(value: dict[str, Any]) -> None:
    schema = of(x=value)
    found = enforcer.Enforcer(V, options=enforcer.Options(finish_within_budget=True))
    with pytest.raises(UnsupportedSchema, match="finish_within_budget") as caught:
        found.matcher([tool(schema)], "required", budget=10**10)
    assert caught.value.path.startswith("$.tools[0].function.parameters")
    assert caught.value.path.endswith(caught.value.keyword)


@pytest.mark.parametrize(
    ("pattern", "text", "far"),
    [
        ("^a{3}$", "aaa", 3),
        ("^(ab|cdefgh)+$", "ab", 5),
        ("^[A-Z]{2}-\\d{3}$", "AA-000", 6),
        ("^(x|é)$", "x", 1),
        ("^[ab]*b[ab]*b$", "bb", 2),
        ("^.{3,}x$", "aaax", 4),
        ("[^\\x00-\\x7f]", "\x80", 1),
    ],
)
def test_the_shortest_word_and_how_far_a_prefix_may_be(pattern: str, text: str, far: int) -> None:
    grammar = compile_schema({"type": "string", "pattern": pattern}, root=Root.ANY)
    words = Shortest.of(machine(grammar).tables, PIECES).words
    assert words.word(0, 0, 0) == text
    assert words.farthest(0, 0, 0) == far


def test_words_of_any_length_are_kept_within_a_bound() -> None:
    grammar = compile_schema({"type": "string", "minLength": 20_000}, root=Root.ANY)
    words = Shortest.of(machine(grammar).tables, PIECES).words
    for count in (*range(100), *range(100)):
        assert words.word(0, 0, 0, count) == "a" * (20_000 - count)
    assert 0 < sum(len(word or "") for word in words._words.values()) <= 400_000


def test_pieces_of_any_length_are_counted_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_COUNTED", 10_000)
    found = pieces.Pieces(V)
    for length in (*range(1, 200), *range(1, 200)):
        assert found.count(b"~" * length) == length
    assert 0 < sum(map(len, found._counts)) <= 10_000


@pytest.mark.parametrize("char", ["é", "日", "🙂", "\n", '"', "\\", "a", "\ud7ff", "\u0800"])
@pytest.mark.parametrize("is_listed", [False, True])
def test_a_character_that_has_been_begun_is_completed(char: str, is_listed: bool) -> None:
    schema = {"enum": [char, "x"]} if is_listed else {"type": "string"}
    plain, escaped = json.dumps(char, ensure_ascii=False)[1:-1], json.dumps(char)[1:-1]
    upper = escaped.upper().replace("U", "u") if "u" in escaped else escaped
    for spelled in {plain.encode(), escaped.encode(), upper.encode()}:
        ends, text = started(compile_schema(schema, root=Root.ANY))
        assert text.accept(ord('"'))
        for at, byte in enumerate(spelled):
            assert text.accept(byte)
            partial = begun(text.open_values()[0][5], EMPTY)
            if partial is not None:
                assert spelled[: at + 1].lower().endswith(partial.data)
            count = len(text.token_ids())
            found = json.loads(b'"' + spelled[: at + 1] + end_of(ends, text))
            assert not is_listed or found in {char, "x"}
            text.rollback(len(text.token_ids()) - count)


def test_no_end_needs_an_escape_that_a_plain_spelling_has_not() -> None:
    long = "a\n" + 20 * "b"
    properties = {name: {"enum": [long, "ab"]} for name in (long, "ab")}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    grammar = compile_schema(schema, root=Root.OBJECT)
    for begun_ in (b'{"a\\', b'{"ab":"a\\'):
        ends, text = started(grammar, replace(JSON, plain_spelling=True))
        assert all(map(text.accept, begun_))
        assert end_of(ends, text).startswith(b"n" + 20 * b"b")


def test_answers_about_objects_of_many_undeclared_names_are_not_kept() -> None:
    """A text wrote 3,491 names, and 668 MB stayed with its grammar."""
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    ends, text = started(compile_schema(schema, root=Root.OBJECT))
    assert text.accept(ord("{"))
    for at in range(100):
        assert all(map(text.accept, f'{"," if at else ""}"{at}":1'.encode()))
        assert text.accept(ord(","))
        assert ends.cost > 1
        text.rollback(1)
    kept = [
        key for each in Shortest.of(text.tables, PIECES).objects.values() for key in each._known
    ]
    assert 0 < len(kept) < 20


def test_of_many_names_one_is_found_that_a_character_may_become() -> None:
    names = [f"{word}_{i:02}" for word in ("feld", "größe") for i in range(20)] + ["ähnlich", "日"]
    schema = {"properties": dict.fromkeys(names, True), "additionalProperties": False}
    grammar = compile_schema({"type": "object", **schema}, root=Root.OBJECT)
    for name in ("ähnlich", "größe_19", "日"):
        for spelled in (name.encode(), json.dumps(name)[1:-1].encode()):
            ends, text = started(grammar)
            assert all(map(text.accept, b'{"'))
            for at, byte in enumerate(spelled):
                assert text.accept(byte)
                count = len(text.token_ids())
                whole = json.loads(b'{"' + spelled[: at + 1] + end_of(ends, text))
                assert {*whole} <= {*names}
                text.rollback(len(text.token_ids()) - count)


@pytest.mark.parametrize(
    ("pattern", "taken", "typed"),
    [
        ("^[à-ÿ]$", ["à"], b"\xc3"),
        ("^[à-ÿ]$", ["à", "á", "ã"], b"\\u00e"),
        (r"^\d{4}-\d\d$", ["0000-00"], b"0000-0\\"),
        (r"^\d{4}-\d\d$", [f"0000-0{i}" for i in range(9)], b"0000-0\\u003"),
    ],
)
def test_a_character_that_has_been_begun_becomes_none_that_repeats_a_name(
    pattern: str, taken: list[str], typed: bytes
) -> None:
    schema = {"patternProperties": {pattern: {"type": "null"}}, "additionalProperties": False}
    ends, text = started(compile_schema({"type": "object", **schema}, root=Root.OBJECT))
    written = json.dumps(dict.fromkeys(taken), ensure_ascii=False)[:-1].encode() + b', "' + typed
    assert all(map(text.accept, written))
    assert len(json.loads(written + end_of(ends, text))) == len(taken) + 1
