"""Ending within a number of ids: the shortest end of a text, and of a turn."""

from __future__ import annotations

import json
from functools import cache
from math import inf
from random import Random

import jsonschema
import numpy as np
import pytest
import vocabularies
from vocabularies import call, feed, legal, row_of, section, small, write

import enforcer
from enforcer import engines
from enforcer.budget.least import furthest, least
from enforcer.budget.pieces import Pieces
from enforcer.budget.reading import Reading
from enforcer.budget.shortest import NoShortestEnd, Shortest
from enforcer.budget.spelled import endings
from enforcer.errors import BudgetTooSmall, UnsupportedSchema
from enforcer.partial import Partial
from enforcer.regex import ANY, both, inverse, literal, parse
from enforcer.schema import Root, compile_schema

V = small()
PIECES = Pieces(V)
BEGIN = V.control("<|tool_calls_section_begin|>")
THINK = V.control("<think>")
STOP = {V.control("<|im_end|>"), V.control("[EOS]")}
HEADER = "<|im_user|>user<|im_middle|>Hi<|im_end|><|im_assistant|>assistant<|im_middle|>"
NODE = {
    "type": "object",
    "properties": {
        "v": {"enum": ["é", 'b"c']},
        "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "required": ["v", "kids"],
    "additionalProperties": False,
}


def of(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


ALTERNATIVES = [
    of(kind={"const": "x"}, v={"type": "integer"}),
    of(kind={"const": "yy"}, w={"type": "string", "minLength": 9}),
]
SCHEMAS = {
    "plain": of(a={"type": "string"}, b={"type": "integer"}),
    "long": of(a={"type": "string", "minLength": 40}),
    "closed": {
        "type": "object",
        "properties": {"a": {"type": "null"}, "b": {"type": "string", "minLength": 30}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "alternatives": of(x={"oneOf": ALTERNATIVES}),
    "recursive": {**of(t={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}},
    "patterns": of(
        p={"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
        q={"type": "string", "pattern": "^(ab|cdefghij)+$"},
        f={"type": "string", "format": "date-time"},
    ),
    "some property": {"type": "object", "minProperties": 1},
    "unique": of(x={"type": "array", "items": {"enum": [1, 2, "ab"]}, "uniqueItems": True}),
    "all of the unique": of(
        x={"type": "array", "items": {"enum": [1, 22, "ab"]}, "uniqueItems": True, "minItems": 3}
    ),
    "contains": of(
        x={
            "type": "array",
            "contains": {"type": "string"},
            "minContains": 2,
            "items": {"type": ["string", "null"]},
        }
    ),
    "prefix": of(
        x={"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "minItems": 4}
    ),
    "pattern properties": {
        "type": "object",
        "patternProperties": {"^x": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "some of a clause": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}, "é": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["é"]}],
    },
    "an undeclared witness": {
        "type": "object",
        "not": {"propertyNames": {"pattern": "^a"}},
    },
    "numbers": of(
        a={"type": "number", "exclusiveMinimum": 99.5, "maximum": 100.25},
        b={"type": "integer", "multipleOf": 25, "minimum": 1000},
    ),
}


@cache
def compiled(name):
    grammar = compile_schema(SCHEMAS[name], root=Root.OBJECT)
    return engine().compile(grammar), Shortest(grammar, PIECES)


@cache
def engine():
    return engines.load("llguidance", V)


def end_of(reading, matcher):
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


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SCHEMAS)
def test_from_wherever_a_text_goes_its_shortest_end_is_valid(name, seed):
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
def test_how_a_text_is_cut_does_not_matter(name):
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


def test_large_least_instances():
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
    ],
)
def test_what_has_no_end_that_is_known_is_refused(value):
    schema = of(x=value)
    found = enforcer.Enforcer(V, options=enforcer.Options(finish_within_budget=True))
    with pytest.raises(UnsupportedSchema, match="finish_within_budget"):
        found.matcher([tool(schema)], "required", budget=10**10)
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
def test_the_least_member_and_how_far_a_prefix_may_be(pattern, text, far):
    assert least(parse(pattern)) == text
    assert furthest(parse(pattern)) == far


def test_the_least_member_of_what_has_operators():
    assert least(both(parse("^[ab]*$"), parse("b.*b"))) == "bb"
    assert least(inverse(literal(""))) == "a"
    assert least(both(ANY, inverse(parse("^.*$")))) is not None


@pytest.mark.parametrize("char", ["é", "日", "🙂", "\n", '"', "\\", "a", "\ud7ff", "\u0800"])
def test_a_character_that_has_been_begun_is_completed(char):
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


# Turns


def tool(schema, name="get"):
    return {"type": "function", "function": {"name": name, "parameters": schema}}


@cache
def served():
    options = enforcer.Options(max_calls=3, preamble_ids=5, finish_within_budget=True)
    return enforcer.Enforcer(V, options=options)


def start(budget, schema="plain", choice="required", tail="", **more):
    prompt = write(V, HEADER + tail)
    tools = [tool(SCHEMAS[schema])]
    return served().matcher(tools, choice, prompt_ids=prompt, budget=budget, **more)


def least_budget(**how):
    with pytest.raises(BudgetTooSmall) as caught:
        start(0, **how)
    return int(caught.value.reason.split(" takes ")[1].split()[0])


def test_a_budget_that_is_too_small_is_refused_and_the_least_is_enough():
    need = least_budget()
    with pytest.raises(BudgetTooSmall, match=f"takes {need} ids, and {need - 1}"):
        start(need - 1)
    found = start(need)
    ids = []
    while found.state != "END":
        allowed = legal(found)
        ids.append(min(allowed))
        feed(found, ids[-1:])
    assert len(ids) <= need
    assert len(served().parse(ids, write(V, HEADER)).calls) == 1


def test_without_the_option_or_a_budget_nothing_is_cut_short():
    plain = enforcer.Enforcer(V, options=enforcer.Options(preamble_ids=5))
    for found in (start(None), plain.matcher([tool(SCHEMAS["plain"])], "required", budget=1)):
        feed(
            found, write(V, "hello" + section(call("get", 0, '{"a": "' + "x" * 99 + '", "b": 1}')))
        )


def test_a_call_that_does_not_fit_is_not_begun_and_text_may_be_cut():
    need = least_budget()
    for budget in (0, 3, need - 1, need):
        found = start(budget, choice="auto")
        assert (BEGIN in legal(found)) == (budget >= need or budget == 0)
        assert found.accept(BEGIN) == (budget >= need or budget == 0)
    found = start(need + 3, choice="auto")
    for left in (need + 3, need + 2, need + 1, need, need - 1, need - 2):
        assert (BEGIN in legal(found)) == (left >= need)
        feed(found, [ord("x")])
    assert legal(found) >= STOP


def test_a_demanded_call_is_begun_in_time():
    need = least_budget()
    for tail in ("", "<think>", "<think>hm"):
        found = start(need + 2, tail=tail)
        feed(found, [ord("x")] * 2)
        assert legal(found) == {BEGIN}
        found.rollback(1)
        assert legal(found) > {BEGIN}


def test_another_call_is_begun_only_if_it_fits():
    opened = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0"
    ids = write(V, opened + "<|tool_call_argument_begin|>")
    ids += list(b'{"a":"","b":0}')
    ids += write(V, "<|tool_call_end|>")
    headers = [PIECES.count(f"functions.get:{i}".encode()) for i in (0, 1)]
    another = least_budget() - 1 - headers[0] + headers[1]
    found = start(1000)
    feed(found, ids)
    for left in (2, another - 1, another, another + 9):
        found._countdown.total = len(ids) + left
        assert (V.control("<|tool_call_begin|>") in legal(found)) == (left >= another)
        assert V.control("<|tool_calls_section_end|>") in legal(found)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_text_that_has_a_format_ends_in_time(schema):
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMAS[schema]}}
    random = Random(schema)
    with pytest.raises(BudgetTooSmall):
        served().matcher([], None, response_format=wanted, budget=1)
    for extra in (0, 20):
        need = Shortest(compile_schema(SCHEMAS[schema]), PIECES).cost_of_root + 1
        found = served().matcher([], None, response_format=wanted, budget=int(need) + extra)
        ids = drawn(found, random, int(need) + extra)
        turn = served().parse(ids)
        assert turn.ended
        jsonschema.Draft202012Validator(SCHEMAS[schema]).validate(json.loads(turn.content))


def drawn(matcher, random, budget):
    """Draw a turn; masks and `accept` have to agree, and so do masks after going back."""
    ids, rows = [], []
    while len(ids) < budget and matcher.state != "END":
        rows[len(ids) :] = [row_of(matcher)]
        assert matcher.failure is None, repr(matcher.failure)
        allowed = sorted(vocabularies.bits(rows[-1]))
        other = random.randrange(V.size)
        if other not in allowed:
            assert not matcher.accept(other)
        ids.append(random.choice(allowed))
        assert matcher.accept(ids[-1])
        if random.random() < 0.1:
            count = random.randint(0, len(ids))
            matcher.rollback(count)
            del ids[len(ids) - count :]
            assert count == 0 or (row_of(matcher) == rows[len(ids)]).all()
    return ids


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("schema", SCHEMAS)
def test_whatever_is_drawn_a_demanded_call_ends_in_time(schema, seed):
    random = Random(f"{schema} {seed}")
    need = least_budget(schema=schema)
    budget = need + [0, 1, 40][seed]
    tail = random.choice(["", "<think>", "Well, "])
    ids = drawn(start(budget, schema=schema, tail=tail), random, budget)
    turn = served().parse(ids, write(V, HEADER + tail))
    assert turn.ended
    assert turn.calls
    for found in turn.calls:
        jsonschema.Draft202012Validator(SCHEMAS[schema]).validate(json.loads(found.arguments))
