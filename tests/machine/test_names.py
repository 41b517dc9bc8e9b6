"""No name twice in an object: against every text of a few names, and by walks that get nowhere."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema import Conventions, Root, compile_schema
from enforcer.vocabulary import Vocabulary
from tests.schema_judge import agree_along_a_walk, is_valid, walk
from tests.vocabularies import small

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer import kernel

_PIECES = (
    *('"', "a", "b", "ab", "ba", '"a', 'a"', '":', '":1', '":1,', '":1,"', '":1}', "},", '},"'),
    *('":1,"a', '":1,"a"', '":1,"b":1,"', '{"', '{"a"', '"a":1', '"a":1,"a":1', ',"a":', ',"a"'),
    *("\\", "\\u", "\\u0061", "u00", '\\u0061"', "é", "\\u00e9", "😀", "\\ud83d", "\\ude00"),
    *('é"', '😀"', ":", ",", "{", "}", "1", "[", "]", '":{"a":1}', '":{"a":1},"b', '"b":[{"a"'),
)
_VOCABULARY = Vocabulary(
    [*(bytes([n]) for n in range(256)), *(x.encode() for x in _PIECES if len(x.encode()) > 1)], {}
)
_ONE = {"const": 1}
_CLOSED = {"additionalProperties": False}
_OR_NESTED = {"anyOf": [_ONE, {"type": "object", "additionalProperties": _ONE}]}

OBJECTS: list[dict[str, Any]] = [
    {"additionalProperties": _ONE},
    {"properties": {"a": _ONE}, "additionalProperties": _ONE},
    {"additionalProperties": _OR_NESTED},
    {"patternProperties": {"^[ab]$": _ONE}, **_CLOSED},
    {"patternProperties": {"^[ab]{1,3}$": _ONE}, **_CLOSED},
    {"patternProperties": {"^(a|ba|bé|b😀+)$": _ONE}, **_CLOSED},
    {"patternProperties": {"^(a|b.*)$": _ONE}, **_CLOSED},
    {"patternProperties": {"^(é|😀)$": _ONE, "^ab?$": {}}, **_CLOSED},
    {"properties": {"ab": _ONE}, "patternProperties": {"^a?b?$": _ONE}, **_CLOSED},
    {"propertyNames": {"maxLength": 1}, "additionalProperties": _ONE},
    {
        "propertyNames": {"pattern": "^[ab]*$", "maxLength": 2},
        "properties": {"b": _ONE},
        "additionalProperties": _ONE,
    },
    {
        "anyOf": [
            {"patternProperties": {"^[ab]$": _ONE}, **_CLOSED},
            {"patternProperties": {"^(ab|b|é)$": {}}, **_CLOSED},
            {"properties": {"a": {"const": 2}}, "required": ["a"]},
        ]
    },
    {
        "anyOf": [
            {"patternProperties": {"^(a|ab|b)$": {"const": 2}}, **_CLOSED},
            {"patternProperties": {"^(a|b|ba)$": _ONE}, **_CLOSED},
        ]
    },
    {"properties": {"a": {"const": 2}}, "maxProperties": 2},
    # What one alternative leaves undeclared, the other declares: no further name is left.
    {
        "anyOf": [
            {"properties": {"a": {"const": 2}}, "required": ["a"]},
            {"propertyNames": {"enum": ["a"]}},
        ]
    },
    {
        "anyOf": [
            {"propertyNames": {"pattern": "^(a|b|ab)$"}},
            {"properties": dict.fromkeys(("a", "b", "ab"), False)},
        ]
    },
    {
        "anyOf": [
            {"properties": {"a": {"const": 2}}, "required": ["a"]},
            {"patternProperties": {"^[ab]$": _ONE}, **_CLOSED},
        ]
    },
]
_PLAIN = frozenset(b'ab",:1{')
_NAMES = ("a", "b", "ab", "é")
_VALUES = ("1", "2")


@cache
def _small_tree() -> kernel.Tree:
    return bound_vocabulary(small())


@cache
def _own_tree() -> kernel.Tree:
    return bound_vocabulary(_VOCABULARY)


@cache
def _held(number: int, *, is_small: bool = True) -> MachineGrammar:
    schema = {"type": "object", **OBJECTS[number]}
    conventions = Conventions(closed_objects=False)
    grammar = compile_schema(schema, root=Root.ANY, conventions=conventions)
    return MachineGrammar(tables_of(grammar, None), _small_tree() if is_small else _own_tree())


def _texts(most: int) -> Iterator[tuple[str, bool]]:
    """Yield texts of objects, and whether a name is written twice."""
    for count in range(most + 1):
        for names in product(_NAMES, repeat=count):
            for values in product(_VALUES, repeat=min(count, 2)):
                pairs = [
                    f"{json.dumps(name, ensure_ascii=at % 2 == 0)}:{values[min(at, 1)]}"
                    for at, name in enumerate(names)
                ]
                yield "{" + ",".join(pairs) + "}", len({*names}) < count


def _is_taken(found: MachineGrammar, text: str) -> bool:
    matcher = found.matcher()
    return all(map(matcher.accept, text.encode())) and matcher.is_accepting()


@pytest.mark.parametrize("number", range(len(OBJECTS)))
def test_a_text_is_taken_if_it_is_valid_and_no_name_comes_twice(number: int) -> None:
    found = _held(number)
    for text, repeats in _texts(4):
        expected = not repeats and is_valid(OBJECTS[number], json.loads(text))
        assert _is_taken(found, text) == expected, text


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(OBJECTS)))
@given(seed=st.integers(0, 2**32))
def test_a_row_is_what_is_accepted(number: int, seed: int) -> None:
    matcher = _held(number, is_small=False).matcher()
    pool = frozenset("".join(_PIECES).encode()) - {ord("]")}
    agree_along_a_walk(matcher, _VOCABULARY, Random(seed), pool.issuperset)


@pytest.mark.parametrize("seed", range(4))
def test_every_name_comes_once_and_then_the_object_ends(seed: int) -> None:
    schema = {"type": "object", "patternProperties": {"^(b|a[0-9]{0,2})$": _ONE}, **_CLOSED}
    found = MachineGrammar(tables_of(compile_schema(schema), None), _small_tree())
    names = ["b", "a", *(f"a{n}" for n in range(10)), *(f"a{n:02}" for n in range(100))]
    matcher = found.matcher()
    assert matcher.accept(ord("{"))
    order = sorted(names) if seed == 0 else Random(seed).sample(names, len(names))
    for at, name in enumerate(order):
        assert all(map(matcher.accept, f'{"," if at else ""}"{name}":1'.encode())), name
    assert not matcher.accept(ord(","))
    assert matcher.accept(ord("}"))


@pytest.mark.parametrize("number", range(len(OBJECTS)))
def test_no_text_gets_stuck(number: int) -> None:
    for seed in range(20):
        text = walk(_held(number), Random(seed), most=60)
        assert text is None or is_valid(OBJECTS[number], json.loads(text))


def _legal(matcher: kernel.TextMatcher) -> set[bytes]:
    row = np.zeros(_VOCABULARY.words, np.int32)
    matcher.fill(row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return {_VOCABULARY.token_bytes(i) for i in np.flatnonzero(bits).tolist()}


def test_rows_of_one_text_are_not_those_of_another_with_other_names() -> None:
    found = _held(0, is_small=False)
    for name, other in (("a", "b"), ("b", "a"), ("a", "é")):
        matcher = found.matcher()
        assert all(map(matcher.accept, f'{{"{name}":1'.encode()))
        for _ in range(2):
            legal = _legal(matcher)
            assert (b',"a"' in legal) == (name != "a")
            assert (b',"a":' in legal) == (name != "a")
        assert all(map(matcher.accept, f',"{other}'.encode()))
        assert b'":1,"a' in _legal(matcher)
        assert (b'":1,"a"' in _legal(matcher)) == ("a" not in {name, other})


def test_memory_of_names_is_bounded_and_goes_with_the_object() -> None:
    matcher = _held(2).matcher()
    assert matcher.accept(ord("{"))
    before = matcher.weight
    assert all(map(matcher.accept, b'"x":{'))
    for n in range(3_000):
        data = f'{"," if n else ""}"{n:010}":1'.encode()
        for byte in data:
            assert matcher.accept(byte)
            matcher.keep(4)
    accepted = 4 * 64 * 1_024  # token ids, as many as are kept of any text
    assert matcher.weight - before < 3_000 * 41 * 2.5 + accepted
    assert all(map(matcher.accept, b',"0000000007'))
    assert not matcher.accept(ord('"'))
    assert all(map(matcher.accept, b'x":1},"0000000007":{'))
    for n in range(1_000):
        assert all(map(matcher.accept, f'{"," if n else ""}"{n}":1'.encode()))
        matcher.keep(4)
    assert matcher.weight - before < 80_000 + accepted


def test_names_are_known_after_taking_back_and_letting_go() -> None:
    for number in (0, 4):
        random = Random(number)
        found = _held(number)
        kept, written, most = found.matcher(), b"", 0
        row, again = (np.zeros(small().words, np.int32) for _ in range(2))
        for _ in range(400):
            count = random.randint(0, most)
            kept.rollback(count)
            most = min(most - count + 1, 3)
            written = written[: len(written) - count]
            kept.fill(row)
            bits = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
            single = [i for i in bits if i in _PLAIN] or [i for i in bits if i < 256]
            if not single:
                break
            written += bytes([random.choice(single)])
            assert kept.accept(written[-1])
            kept.keep(3)
            fresh = found.matcher()
            assert all(map(fresh.accept, written))
            fresh.fill(again)
            kept.fill(row)
            assert np.array_equal(row, again)


def _written(schema: dict[str, Any], *pieces: str) -> kernel.TextMatcher:
    tables = tables_of(compile_schema(schema, root=Root.ANY), None)
    text = MachineGrammar(tables, _small_tree()).matcher()
    for piece in pieces:
        assert all(map(text.accept, piece.encode()))
    return text


_CJK = [chr(0x4E00 + at) for at in range(300)]


@pytest.mark.parametrize(
    ("schema", "begin", "between"),
    [
        ({"patternProperties": {"^[一-龥]$": _ONE}, **_CLOSED, "type": "object"}, '{"', '":1,"'),
        ({"propertyNames": {"maxLength": 1}, "type": "object"}, '{"', '":1,"'),
        (
            {"type": "array", "uniqueItems": True, "items": {"pattern": "^[一-龥]$"}},
            '["',
            '","',
        ),
    ],
)
def test_names_of_which_there_are_so_many_alone_cost_little(
    schema: dict[str, Any], begin: str, between: str
) -> None:
    """Masks took millions of units, and grew with the square of the names and more."""
    if "items" in schema:
        schema = {**schema, "items": {"type": "string", **schema["items"]}}
    text = _written(schema, begin, *(name + between for name in _CJK))
    row = np.zeros(small().words, np.int32)
    text.fill(row)
    assert text.work < 100_000
    assert not any(_takes(text, name + '"') for name in (_CJK[0], _CJK[-1]))
    assert all(_takes(text, name + '"') for name in (chr(0x4E00 + 300), "龥"))


def test_a_long_name_that_few_others_are_beside_costs_its_length() -> None:
    pattern = {"^(a{2000}|b)$": _ONE}
    schema = {"type": "object", "patternProperties": pattern, **_CLOSED}
    text = _written(schema, '{"', "a" * 2_000)
    assert text.accept(ord('"'))
    assert text.work < 50_000
    text = _written(schema, '{"', "a" * 2_000, '":1,"b":1')
    assert not text.accept(ord(","))


def test_more_names_are_declared_than_a_word_of_words_has_bits() -> None:
    """Alternatives together may declare more than one object may."""
    names = [[f"n{at}" for at in range(first, first + 2_049)] for first in (0, 2_049)]
    objects = [{"properties": dict.fromkeys(each, _ONE), **_CLOSED} for each in names]
    text = _written({"type": "object", "anyOf": objects}, '{"n4000":1,"n2049":1')
    assert not _takes(text, ',"n0"')
    assert _takes(text, ',"n2050"')


def _takes(text: kernel.TextMatcher, more: str) -> bool:
    taken = 0
    for byte in more.encode():
        if not text.accept(byte):
            break
        taken += 1
    text.rollback(taken)
    return taken == len(more.encode())


def test_deep_values_of_distinct_elements_are_told_apart() -> None:
    node = {"type": "array", "maxItems": 1, "items": {"$ref": "#/$defs/n"}}
    schema = {
        "$defs": {"n": {"anyOf": [node, {"type": "boolean"}]}},
        "type": "array",
        "uniqueItems": True,
        "items": {"$ref": "#/$defs/n"},
    }
    opened, closed = "[" * 60, "]" * 60
    text = _written(schema, "[", opened, "true", closed, ",")
    row = np.zeros(small().words, np.int32)
    for inner, is_new in (("true", False), ("false", True), ("[]", True), ("[true]", True)):
        assert _takes(text, opened + inner + closed) == is_new
    assert all(map(text.accept, opened.encode()))
    text.fill(row)
    for first in b"tf[]":
        assert bool(row[first >> 5] >> (first & 31) & 1) == (first != ord("t"))
