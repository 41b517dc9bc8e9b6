"""No name twice in an object: against every text of a few names, and by walks that get nowhere."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import product, takewhile
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.machine.grammar import MachineGrammar
from enforcer.schema import Root
from tests.schema_judge import accepts, agree_along_a_walk, is_valid, walk
from tests.support import cases, machine
from tests.vocabularies import small

_PIECES = (
    *('"', "a", "b", "ab", "ba", '"a', 'a"', '":', '":1', '":1,', '":1,"', '":1}', "},", '},"'),
    *('":1,"a', '":1,"a"', '":1,"b":1,"', '{"', '{"a"', '"a":1', '"a":1,"a":1', ',"a":', ',"a"'),
    *("\\", "\\u", "\\u0061", "u00", '\\u0061"', "é", "\\u00e9", "😀", "\\ud83d", "\\ude00"),
    *('é"', '😀"', ":", ",", "{", "}", "1", "[", "]", '":{"a":1}', '":{"a":1},"b', '"b":[{"a"'),
)
_VOCABULARY = machine.of_bytes(_PIECES)
_SMALL = machine.tree(small())
_ONE = {"const": 1}
_CLOSED = {"additionalProperties": False}
OBJECTS = cases.listed("machine/cases/names.toml", "objects")
NUMBERS = pytest.mark.parametrize("number", range(len(OBJECTS)))
_NAMES = ("a", "b", "ab", "é")
_VALUES = ("1", "2")


@cache
def _held(number: int, *, is_small: bool = True) -> MachineGrammar:
    found = _SMALL if is_small else machine.tree(_VOCABULARY)
    return machine.held(
        {"type": "object", **OBJECTS[number]}, found, root=Root.ANY, conventions=machine.OPEN
    )


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


@NUMBERS
def test_a_text_is_taken_if_it_is_valid_and_no_name_comes_twice(number: int) -> None:
    found = _held(number)
    for text, repeats in _texts(4):
        expected = not repeats and is_valid(OBJECTS[number], json.loads(text))
        assert accepts(found, text) == expected, text


@pytest.mark.slow
@NUMBERS
@given(seed=st.integers(0, 2**32))
def test_a_row_is_what_is_accepted(number: int, seed: int) -> None:
    matcher = _held(number, is_small=False).matcher()
    pool = frozenset("".join(_PIECES).encode()) - {ord("]")}
    agree_along_a_walk(matcher, _VOCABULARY, Random(seed), pool.issuperset)


@pytest.mark.parametrize("seed", range(4))
def test_every_name_comes_once_and_then_the_object_ends(seed: int) -> None:
    schema = {"type": "object", "patternProperties": {"^(b|a[0-9]{0,2})$": _ONE}, **_CLOSED}
    names = ["b", "a", *(f"a{n}" for n in range(10)), *(f"a{n:02}" for n in range(100))]
    matcher = machine.begun(machine.held(schema, _SMALL), "{")
    order = sorted(names) if seed == 0 else Random(seed).sample(names, len(names))
    for at, name in enumerate(order):
        machine.write(matcher, f'{"," if at else ""}"{name}":1')
    assert not matcher.accept(ord(","))
    assert matcher.accept(ord("}"))


@NUMBERS
def test_no_text_gets_stuck(number: int) -> None:
    for seed in range(20):
        text = walk(_held(number), Random(seed), most=60)
        assert text is None or is_valid(OBJECTS[number], json.loads(text))


def test_rows_of_one_text_are_not_those_of_another_with_other_names() -> None:
    found = _held(0, is_small=False)
    for name, other in (("a", "b"), ("b", "a"), ("a", "é")):
        matcher = machine.begun(found, f'{{"{name}":1')
        for _ in range(2):
            legal = machine.legal(matcher, _VOCABULARY)
            assert (b',"a"' in legal) == (name != "a")
            assert (b',"a":' in legal) == (name != "a")
        machine.write(matcher, f',"{other}')
        assert b'":1,"a' in machine.legal(matcher, _VOCABULARY)
        assert (b'":1,"a"' in machine.legal(matcher, _VOCABULARY)) == ("a" not in {name, other})


def test_memory_of_names_is_bounded_and_goes_with_the_object() -> None:
    matcher = machine.begun(_held(2), "{")
    before = matcher.weight
    machine.write(matcher, '"x":{')
    for n in range(3_000):
        for byte in f'{"," if n else ""}"{n:010}":1'.encode():
            assert matcher.accept(byte)
            matcher.keep(4)
    accepted = 4 * 64 * 1_024  # token ids, as many as are kept of any text
    assert matcher.weight - before < 3_000 * 41 * 2.5 + accepted
    machine.write(matcher, ',"0000000007')
    assert not matcher.accept(ord('"'))
    machine.write(matcher, 'x":1},"0000000007":{')
    for n in range(1_000):
        machine.write(matcher, f'{"," if n else ""}"{n}":1')
        matcher.keep(4)
    assert matcher.weight - before < 80_000 + accepted


@pytest.mark.parametrize("number", [0, 4])
def test_names_are_known_after_taking_back_and_letting_go(number: int) -> None:
    machine.assert_known_after_going_back(_held(number), small(), Random(number))


def _written(schema: dict[str, Any], *pieces: str) -> kernel.TextMatcher:
    text = machine.held(schema, _SMALL, root=Root.ANY).matcher()
    machine.write(text, "".join(pieces))
    return text


_CJK = [chr(0x4E00 + at) for at in range(300)]


_ARRAY = {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": "^[一-龥]$"}}


@pytest.mark.parametrize(
    ("schema", "begin", "between"),
    [
        ({"patternProperties": {"^[一-龥]$": _ONE}, **_CLOSED, "type": "object"}, '{"', '":1,"'),
        ({"propertyNames": {"maxLength": 1}, "type": "object"}, '{"', '":1,"'),
        (_ARRAY, '["', '","'),
    ],
)
def test_many_names_alone_cost_little(schema: dict[str, Any], begin: str, between: str) -> None:
    """Masks took millions of units, and grew with the square of the names and more."""
    text = _written(schema, begin, *(name + between for name in _CJK))
    machine.mask(text, small())
    assert text.work < 100_000
    assert not any(_takes(text, name + '"') for name in (_CJK[0], _CJK[-1]))
    assert all(_takes(text, name + '"') for name in (chr(0x4E00 + 300), "龥"))


def test_a_long_name_that_few_others_are_beside_costs_its_length() -> None:
    schema = {"type": "object", "patternProperties": {"^(a{2000}|b)$": _ONE}, **_CLOSED}
    text = _written(schema, '{"', "a" * 2_000)
    assert text.accept(ord('"'))
    assert text.work < 50_000
    text = _written(schema, '{"', "a" * 2_000, '":1,"b":1')
    assert not text.accept(ord(","))


@pytest.mark.slow
def test_more_names_are_declared_than_a_word_of_words_has_bits() -> None:
    """Alternatives together may declare more than one object may."""
    names = [[f"n{at}" for at in range(first, first + 2_049)] for first in (0, 2_049)]
    objects = [{"properties": dict.fromkeys(each, _ONE), **_CLOSED} for each in names]
    text = _written({"type": "object", "anyOf": objects}, '{"n4000":1,"n2049":1')
    assert not _takes(text, ',"n0"')
    assert _takes(text, ',"n2050"')


def _takes(text: kernel.TextMatcher, more: str) -> bool:
    taken = sum(takewhile(bool, map(text.accept, more.encode())))
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
    for inner, is_new in (("true", False), ("false", True), ("[]", True), ("[true]", True)):
        assert _takes(text, opened + inner + closed) == is_new
    machine.write(text, opened)
    assert machine.mask(text, small()) & {*b"tf[]"} == {*b"f[]"}
