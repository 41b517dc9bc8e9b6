"""The end of a text that the kernel finds, and its length in token ids."""

import json
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.errors import EnforcerError, UnsupportedSchema
from enforcer.layouts import JSON, BoundLayout
from enforcer.machine import grammar as binding
from enforcer.machine.tables import tables_of
from enforcer.schema import ArgumentGrammar, Root, compile_schema
from tests.budget_cases import ENDLESS, SCHEMAS, V, machine, of, served, tool
from tests.drawn_json import DIALECTS
from tests.instance_strategies import instances
from tests.machine.interpreted import interpreted
from tests.schema_strategies import schemas
from tests.spelled_json import COMPACT, spell
from tests.support import cases
from tests.support.machine import OPEN, begun, mask


def started(grammar: ArgumentGrammar, layout: BoundLayout = JSON) -> kernel.TextMatcher:
    return machine(grammar, layout).matcher()


@cache
def compiled(name: str) -> ArgumentGrammar:
    return compile_schema(SCHEMAS[name], root=Root.OBJECT)


def end_of(text: kernel.TextMatcher) -> bytes:
    """Write the end; each id has to bring it nearer, and the machine has to take it."""
    data = b""
    while (left := text.end_cost()) > 0:
        ids = text.end_ids()
        assert len(ids) == left
        assert text.ids_in_time(np.array(ids[:1]), left + 1) == (ids[:1], [])
        assert text.accept(ids[0])
        data += V.token_bytes(ids[0])
        assert text.end_ids() == ids[1:], data
    assert left == 0
    assert text.is_accepting()
    return data


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SCHEMAS)
def test_from_wherever_a_text_goes_its_end_is_valid(name: str, seed: int) -> None:
    text = started(compiled(name))
    random = Random(f"{name} {seed}")
    data = b""
    for _ in range(24):
        count = len(text.token_ids())
        whole = json.loads(data + end_of(text))
        jsonschema.Draft202012Validator(SCHEMAS[name]).validate(whole)
        text.rollback(len(text.token_ids()) - count)
        ids = sorted(mask(text, V))
        if not ids:
            break
        closing = [i for i in ids if V.token_bytes(i)[:1] in b'"]},:']
        token = random.choice(closing if closing and random.random() < 0.4 else ids)
        before, (within, each, around, _) = text.end_cost(), text.end_growth()
        assert text.accept(token)
        data += V.token_bytes(token)
        begins = sum(byte in b'{}[],:"\\' for byte in V.token_bytes(token))
        lacks = 3 if V.token_bytes(token)[-1] >= 0x80 else 0  # bytes of a character
        around *= begins > 0
        assert text.end_cost() <= before + within + begins * each + around + lacks


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
        text = started(compile_schema(schema, root=Root.ANY, conventions=OPEN))
    except EnforcerError:
        assume(False)
    count = next((at for at, byte in enumerate(data) if not text.accept(byte)), len(data))
    assert text.end_cost() >= 0
    json.loads(data[:count] + end_of(text))


def test_the_end_of_a_large_value() -> None:
    cases = {
        "names": (of(**{f"name{i}": {"type": "boolean"} for i in range(60)}), 60),
        "items": (of(x={"type": "array", "items": {"type": "null"}, "minItems": 500}), 999),
        "text": (of(x={"type": "string", "minLength": 5000}), 5000),
    }
    for schema, least_ids in cases.values():
        text = started(compile_schema(schema, root=Root.OBJECT))
        assert least_ids <= text.end_cost() < 20 * least_ids


def test_what_takes_too_long_has_no_end_that_is_known() -> None:
    assert started(compile_schema(ENDLESS, root=Root.OBJECT)).end_cost() == -1


@cases.parametrized("machine/cases/ends.toml", "case")
def test_the_shortest_string(pattern: str, end: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert end_of(started(compile_schema(schema, root=Root.ANY))) == end.encode()


@pytest.mark.parametrize("char", ["é", "日", "🙂", "\n", '"', "\\", "a", "\ud7ff", "\u0800"])
@pytest.mark.parametrize("is_listed", [False, True])
def test_a_character_that_has_been_begun_is_completed(char: str, is_listed: bool) -> None:
    schema = {"enum": [char, "x"]} if is_listed else {"type": "string"}
    plain, escaped = json.dumps(char, ensure_ascii=False)[1:-1], json.dumps(char)[1:-1]
    upper = escaped.upper().replace("U", "u") if "u" in escaped else escaped
    for spelled in {plain.encode(), escaped.encode(), upper.encode()}:
        text = started(compile_schema(schema, root=Root.ANY))
        assert text.accept(ord('"'))
        for at, byte in enumerate(spelled):
            assert text.accept(byte)
            count = len(text.token_ids())
            found = json.loads(b'"' + spelled[: at + 1] + end_of(text))
            assert not is_listed or found in {char, "x"}
            text.rollback(len(text.token_ids()) - count)


def test_no_end_needs_an_escape_that_a_plain_spelling_has_not() -> None:
    long = "a\n" + 20 * "b"
    properties = {name: {"enum": [long, "ab"]} for name in (long, "ab")}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    grammar = compile_schema(schema, root=Root.OBJECT)
    for begun_ in (b'{"a\\', b'{"ab":"a\\'):
        text = started(grammar, replace(JSON, plain_spelling=True))
        assert all(map(text.accept, begun_))
        assert end_of(text).startswith(b"n" + 20 * b"b")


def test_of_many_names_one_is_found_that_a_character_may_become() -> None:
    names = [f"{word}_{i:02}" for word in ("feld", "größe") for i in range(20)] + ["ähnlich", "日"]
    schema = {"properties": dict.fromkeys(names, True), "additionalProperties": False}
    grammar = compile_schema({"type": "object", **schema}, root=Root.OBJECT)
    for name in ("ähnlich", "größe_19", "日"):
        for spelled in (name.encode(), json.dumps(name)[1:-1].encode()):
            text = started(grammar)
            assert all(map(text.accept, b'{"'))
            for at, byte in enumerate(spelled):
                assert text.accept(byte)
                count = len(text.token_ids())
                assert {*json.loads(b'{"' + spelled[: at + 1] + end_of(text))} <= {*names}
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
def test_a_partial_character_repeats_no_name(pattern: str, taken: list[str], typed: bytes) -> None:
    schema = {"patternProperties": {pattern: {"type": "null"}}, "additionalProperties": False}
    text = started(compile_schema({"type": "object", **schema}, root=Root.OBJECT))
    written = json.dumps(dict.fromkeys(taken), ensure_ascii=False)[:-1].encode() + b', "' + typed
    assert all(map(text.accept, written))
    assert len(json.loads(written + end_of(text))) == len(taken) + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alternatives", "contains", "patterns", "distinct strings"])
def test_interpreted_it_finds_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, found = tables_of(compiled(name), JSON), []
    for is_source in (False, True):
        if is_source:
            monkeypatch.setattr(binding, "kernel", interpreted())
        text = binding.MachineGrammar(tables, binding.bound_vocabulary(V)).matcher()
        steps: list[Any] = [(text.end_cost(), text.end_growth())]
        for token in text.end_ids()[:-1]:
            assert text.accept(token)
            steps.append((text.end_cost(), text.ids_in_time(np.arange(32, 127), 12)))
        found.append(steps)
    assert found[0] == found[1]


def test_a_value_without_an_end_that_is_known_is_told_though_no_text_needs_it() -> None:
    many = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 3000}
    schema = {"type": "object", "properties": {"x": many}}
    text = started(compile_schema(schema, root=Root.OBJECT))
    assert text.end_cost() > 0
    assert text.end_growth()[1] == -1
    with pytest.raises(UnsupportedSchema, match="finish_within_budget"):
        served().matcher([tool(schema)], budget=10**6)


@pytest.mark.parametrize("length", range(1, 9))
def test_what_is_too_long_for_one_kind_of_string_ends_as_another_one(length: int) -> None:
    kinds = [{"maxLength": 3}, {"minLength": 6, "maxLength": 7}, {"pattern": "é"}]
    schema = of(s={"type": "string", "anyOf": kinds})
    written = b'{"s":"' + b"x" * length
    text = begun(machine(compile_schema(schema, root=Root.OBJECT)), written)
    written += b"".join(map(V.token_bytes, text.end_ids()))
    jsonschema.Draft202012Validator(schema).validate(json.loads(written))
    assert len(json.loads(written)["s"]) == {4: 5, 5: 6, 8: 9}.get(length, length)


def least_room(text: kernel.TextMatcher, token: int) -> int:
    return next(n for n in range(4000) if text.ids_in_time(np.array([token]), n)[0])


def test_what_is_remembered_of_a_state_is_of_its_own_length() -> None:
    schema = {"type": "object", "propertyNames": {"minLength": 1000}, "minProperties": 1}
    text = begun(machine(compile_schema(schema, root=Root.OBJECT)), b'{"' + b"x" * 500)
    near = least_room(text, ord("x"))
    text.rollback(490)
    assert least_room(text, ord("x")) > near
    assert text.accept(ord("x"))
    assert least_room(text, ord("x")) <= text.end_cost()


def test_what_is_remembered_of_a_state_is_not_of_other_elements() -> None:
    items = {"type": "string", "pattern": "^(a|b|c{20}d*)$"}
    schema = of(l={"type": "array", "items": items, "uniqueItems": True, "minItems": 3})
    text = started(compile_schema(schema, root=Root.OBJECT))
    costs = []
    for second in (b"b", b"c" * 20):
        assert all(map(text.accept, b'{"l":["a","' + second + b'"'))
        room = least_room(text, ord(","))
        assert text.accept(ord(","))
        assert room == text.end_cost()
        costs.append(room)
        text.rollback(len(text.token_ids()))
    assert costs[0] != costs[1]


def test_a_string_that_becomes_one_that_was_written_has_room_to_become_another_one() -> None:
    strings = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2}
    text = begun(machine(compile_schema(of(l=strings), root=Root.OBJECT)), '{"l":["ab","a')
    before, (within, *_) = text.end_cost(), text.end_growth()
    assert text.accept(ord("b"))
    assert before < text.end_cost() <= before + within


@pytest.mark.parametrize("depth", [1, 4])
def test_a_string_that_decides_what_objects_around_it_lack_has_room_for_that(depth: int) -> None:
    note = {"type": "string", "minLength": 9}
    short, long = of(k={"const": "a"}), of(k={"const": "b"}, note=note)
    for _ in range(depth - 1):
        short, long = of(in_=short), of(in_=long, note=note)
    text = started(compile_schema({"anyOf": [short, long]}, root=Root.ANY))
    assert all(map(text.accept, b'{"in_":' * (depth - 1) + b'{"k":"'))
    before, (within, *_) = text.end_cost(), text.end_growth()
    assert text.accept(ord("b"))
    assert before + 9 * depth < text.end_cost() <= before + within


def test_a_text_may_be_as_deep_as_it_likes() -> None:
    kinds = [
        {**of(kind={"const": kind}), "properties": {"kind": {"const": kind}, "in": {"$ref": "#"}}}
        for kind in ("a", "b")
    ]
    text = started(compile_schema({"anyOf": kinds}, root=Root.ANY))
    for depth in range(1, 20_001):
        assert all(map(text.accept, b'{"kind":"b","in":'))
        if depth in {10, 100}:
            assert depth / 2 < text.end_cost() < 3 * depth + 20  # a token may close two levels
    assert text.end_cost() == -1  # too long to be looked for


@pytest.mark.parametrize("count", [2, 3, 5])
def test_arrays_of_several_kinds_that_count_no_element_have_an_end(count: int) -> None:
    kinds = [{"type": "string"}, {"type": "integer"}, {"type": "null"}, {"type": "boolean"}]
    kinds.append({"type": "object"})
    options = [{"type": "array", "items": kind, "minItems": 2} for kind in kinds[:count]]
    text = machine(compile_schema(of(x={"anyOf": options}))).matcher()
    for byte in b'{"x": ["a", ':
        assert text.accept(byte)
        assert text.end_cost() > 0
