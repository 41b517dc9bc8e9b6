"""Unique elements that are strings: against every text of a few, and by walks that get nowhere."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.machine.grammar import MachineGrammar
from enforcer.schema import Root
from tests.schema_judge import accepts, agree_along_a_walk, is_valid
from tests.support import cases, machine
from tests.vocabularies import small

_PIECES = (
    *('"', "a", "b", "ab", "ba", '"a', 'a"', '",', '","', '", "', '","a', '","a"', '","b",', '"]'),
    *('["', '["a"', '["a","', '["b","a', '"a","a"', '","a","', '"",""', ',"a"', ',"ab"', '"],["a'),
    *("\\", "\\u", "\\u0061", "u00", '\\u0061"', "é", "\\u00e9", "😀", "\\ud83d", "\\ude00"),
    *('é"', '😀"', ",", "[", "]", '"],[', '{"a":["', '"]}', "c", "d", "cd", 'd"'),
)
_VOCABULARY = machine.of_bytes(_PIECES)
_LONG_LIST = [*(f"a{n}" for n in range(70)), "a", "é", "b"]
ARRAYS = [
    *cases.listed("machine/cases/distinct_strings.toml", "arrays"),
    {"type": "array", "items": {"enum": _LONG_LIST}, "uniqueItems": True},
]
NESTED = (9, 10)  # of arrays
NUMBERS = pytest.mark.parametrize("number", range(len(ARRAYS)))
_ELEMENTS = ("a", "b", "ba", "c", "d", "é", "")


@cache
def _held(number: int, *, is_small: bool = True) -> MachineGrammar:
    vocabulary = small() if is_small else _VOCABULARY
    return machine.held(ARRAYS[number], machine.tree(vocabulary), root=Root.ANY)


def _texts(most: int) -> Iterator[str]:
    for count in range(most + 1):
        for strings in product(_ELEMENTS, repeat=count):
            spelled = [
                json.dumps(text, ensure_ascii=at % 2 == 0) for at, text in enumerate(strings)
            ]
            yield f"[{','.join(spelled)}]"


@pytest.mark.slow
@NUMBERS
def test_a_text_is_taken_if_it_is_valid(number: int) -> None:
    found = _held(number)
    for text in _texts(4):
        assert accepts(found, text) == is_valid(ARRAYS[number], json.loads(text)), text
        if number in NESTED:
            nested = f'[{text},["c"],{text}]'
            assert accepts(found, nested) == is_valid(ARRAYS[number], json.loads(nested)), nested


@pytest.mark.slow
@NUMBERS
@given(seed=st.integers(0, 2**32))
def test_a_row_is_what_is_accepted(number: int, seed: int) -> None:
    pool = frozenset("".join(_PIECES).encode())
    matcher = _held(number, is_small=False).matcher()
    agree_along_a_walk(matcher, _VOCABULARY, Random(seed), pool.issuperset)


_WORDS = ["".join(word) for n in range(1, 7) for word in product("ab", repeat=n)]


@pytest.mark.parametrize(("number", "words"), [(2, _WORDS), (9, [*_WORDS, "c"]), (11, _LONG_LIST)])
@pytest.mark.parametrize("seed", range(4))
def test_each_string_comes_once_before_the_end(number: int, words: list[str], seed: int) -> None:
    matcher = machine.begun(_held(number), "[[" if number in NESTED else "[")
    order = sorted(words) if seed == 0 else Random(seed).sample(words, len(words))
    for at, word in enumerate(order):
        machine.write(matcher, f'{"," if at else ""}"{word}"')
    assert not matcher.accept(ord(","))
    assert matcher.accept(ord("]"))


@pytest.mark.parametrize("left", [("b", "ab"), ("bbbbbb", "bbbbba"), ("a", "aa"), ("ba", "bb")])
def test_rows_are_right_where_the_last_strings_come(left: tuple[str, str]) -> None:
    matcher = machine.begun(_held(2, is_small=False), "[")
    for word in sorted({*_WORDS} - {*left}):
        machine.write(matcher, f'"{word}",')
    for byte in f'"{left[0]}","{left[1]}"]'.encode():
        machine.agreed(matcher, _VOCABULARY)
        assert matcher.accept(byte)


def test_rows_of_one_array_are_not_those_of_another_with_other_strings() -> None:
    found = _held(0, is_small=False)
    for first, other in (("a", "b"), ("b", "a"), ("a", "é")):
        matcher = machine.begun(found, f'["{first}"')
        for _ in range(2):
            assert (b',"a"' in machine.legal(matcher, _VOCABULARY)) == (first != "a")
        machine.write(matcher, f',"{other}')
        assert (b'","a"' in machine.legal(matcher, _VOCABULARY)) == ("a" not in {first, other})
        assert b'","a' in machine.legal(matcher, _VOCABULARY)


@pytest.mark.parametrize("number", [0, 3, 9])
def test_strings_are_known_after_taking_back_and_letting_go(number: int) -> None:
    machine.assert_known_after_going_back(_held(number), small(), Random(number))


def test_memory_of_strings_is_bounded_and_goes_with_the_array() -> None:
    matcher = machine.begun(_held(9), "[")
    before = matcher.weight
    words = ["".join(word) for n in range(1, 5) for word in product("ab", repeat=n)]
    most = 0
    for _ in range(40):
        for byte in ("[" + ",".join(f'"{word}"' for word in words) + "],").encode():
            assert matcher.accept(byte)
            matcher.keep(4)
        most = max(most, matcher.weight)
    assert most - before < 40_000 + 4 * 16_384  # token ids are kept of any text


@pytest.mark.parametrize("least", [2, 3, 5])
@pytest.mark.parametrize("more", [{}, {"maxItems": 40}, {"uniqueItems": True}])
def test_a_row_kept_at_one_length_serves_no_other(least: int, more: dict[str, Any]) -> None:
    schema = {"type": "array", "items": {"type": "string"}, "minItems": least, **more}
    found = machine.held(schema, machine.tree(_VOCABULARY))
    for length in (*range(9, 0, -1), *range(1, 9)):
        text = machine.begun(found, "[" + ",".join(f'"a{n}"' for n in range(length)))
        assert (ord("]") in machine.mask(text, _VOCABULARY)) == (length >= least), length
