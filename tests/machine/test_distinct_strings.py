"""Unique elements that are strings: against every text of a few, and by walks that get nowhere."""

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
from enforcer.schema import Root, compile_schema
from enforcer.vocabulary import Vocabulary
from tests.schema_judge import agree_along_a_walk, is_valid, walk
from tests.vocabularies import bits, small

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer import kernel

_PIECES = (
    *('"', "a", "b", "ab", "ba", '"a', 'a"', '",', '","', '", "', '","a', '","a"', '","b",', '"]'),
    *('["', '["a"', '["a","', '["b","a', '"a","a"', '","a","', '"",""', ',"a"', ',"ab"', '"],["a'),
    *("\\", "\\u", "\\u0061", "u00", '\\u0061"', "é", "\\u00e9", "😀", "\\ud83d", "\\ude00"),
    *('é"', '😀"', ",", "[", "]", '"],[', '{"a":["', '"]}', "c", "d", "cd", 'd"'),
)
_VOCABULARY = Vocabulary(
    [*(bytes([n]) for n in range(256)), *(x.encode() for x in _PIECES if len(x.encode()) > 1)], {}
)


def _unique(*, items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def _string(pattern: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, **more}


ARRAYS: list[dict[str, Any]] = [
    _unique(items={"type": "string"}),
    _unique(items={"type": "string"}, minItems=2, maxItems=3),
    _unique(items=_string("^[ab]{1,6}$")),
    _unique(items=_string("^([ab]{1,3}|cd*|[é😀]{2,3})$"), minItems=2),
    _unique(items=_string("^(a|b[ab]|c*d)$")),
    _unique(items=_string("^a?b?c*$")),
    _unique(items={"type": "string", "maxLength": 1}),
    _unique(items=_string("^[ab]*$", maxLength=30)),
    _unique(items=_string("^[ab]*$", maxLength=6), maxItems=3),
    _unique(items={"enum": [*(f"a{n}" for n in range(70)), "a", "é", "b"]}),
    {"type": "array", "items": _unique(items=_string("^([ab]{1,6}|c)$"))},
    {"anyOf": [_unique(items=_string("^([ab]{1,6}|c)$")), {"type": "array", "maxItems": 1}]},
]
_PLAIN = frozenset(b'abcd",[]')
_ELEMENTS = ("a", "b", "ba", "c", "d", "é", "")


@cache
def _tree(*, is_small: bool = True) -> kernel.Tree:
    return bound_vocabulary(small() if is_small else _VOCABULARY)


@cache
def _held(number: int, *, is_small: bool = True) -> MachineGrammar:
    grammar = compile_schema(ARRAYS[number], root=Root.ANY)
    return MachineGrammar(tables_of(grammar, None), _tree(is_small=is_small))


def _texts(most: int) -> Iterator[str]:
    for count in range(most + 1):
        for strings in product(_ELEMENTS, repeat=count):
            spelled = [
                json.dumps(text, ensure_ascii=at % 2 == 0) for at, text in enumerate(strings)
            ]
            yield f"[{','.join(spelled)}]"


def _is_taken(found: MachineGrammar, text: str) -> bool:
    matcher = found.matcher()
    return all(map(matcher.accept, text.encode())) and matcher.is_accepting()


@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_a_text_is_taken_if_it_is_valid(number: int) -> None:
    found = _held(number)
    for text in _texts(4):
        assert _is_taken(found, text) == is_valid(ARRAYS[number], json.loads(text)), text
        if number >= len(ARRAYS) - 2:  # an array of arrays
            nested = f'[{text},["c"],{text}]'
            assert _is_taken(found, nested) == is_valid(ARRAYS[number], json.loads(nested)), nested


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ARRAYS)))
@given(seed=st.integers(0, 2**32))
def test_a_row_is_what_is_accepted(number: int, seed: int) -> None:
    pool = frozenset("".join(_PIECES).encode())
    matcher = _held(number, is_small=False).matcher()
    agree_along_a_walk(matcher, _VOCABULARY, Random(seed), pool.issuperset)


@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_no_text_gets_stuck(number: int) -> None:
    for seed in range(25):
        text = walk(_held(number), Random(seed), most=60)
        assert text is None or is_valid(ARRAYS[number], json.loads(text))


_WORDS = ["".join(word) for n in range(1, 7) for word in product("ab", repeat=n)]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (2, _WORDS),
        (9, [*(f"a{n}" for n in range(70)), "a", "é", "b"]),
        (10, [*_WORDS, "c"]),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_every_string_comes_once_and_then_the_array_ends(
    number: int, words: list[str], seed: int
) -> None:
    matcher = _held(number).matcher()
    assert all(map(matcher.accept, b"[[" if number == 10 else b"["))
    order = sorted(words) if seed == 0 else Random(seed).sample(words, len(words))
    for at, word in enumerate(order):
        data = f'{"," if at else ""}"{word}"'.encode()
        assert all(map(matcher.accept, data)), word
    assert not matcher.accept(ord(","))
    assert matcher.accept(ord("]"))


@pytest.mark.parametrize("left", [("b", "ab"), ("bbbbbb", "bbbbba"), ("a", "aa"), ("ba", "bb")])
def test_rows_are_right_where_the_last_strings_come(left: tuple[str, str]) -> None:
    matcher = _held(2, is_small=False).matcher()
    assert matcher.accept(ord("["))
    for word in sorted({*_WORDS} - {*left}):
        assert all(map(matcher.accept, f'"{word}",'.encode()))
    for byte in f'"{left[0]}","{left[1]}"]'.encode():
        legal = _legal(matcher)
        for token_id in range(_VOCABULARY.size):
            is_taken = matcher.accept(token_id)
            assert is_taken == (_VOCABULARY.token_bytes(token_id) in legal)
            if is_taken:
                matcher.rollback(1)
        assert matcher.accept(byte)


def test_rows_of_one_array_are_not_those_of_another_with_other_strings() -> None:
    found = _held(0, is_small=False)
    for first, other in (("a", "b"), ("b", "a"), ("a", "é")):
        matcher = found.matcher()
        assert all(map(matcher.accept, f'["{first}"'.encode()))
        for _ in range(2):
            assert (b',"a"' in _legal(matcher)) == (first != "a")
        assert all(map(matcher.accept, f',"{other}'.encode()))
        assert (b'","a"' in _legal(matcher)) == ("a" not in {first, other})
        assert b'","a' in _legal(matcher)


def _legal(matcher: kernel.TextMatcher) -> set[bytes]:
    row = np.zeros(_VOCABULARY.words, np.int32)
    matcher.fill(row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return {_VOCABULARY.token_bytes(i) for i in np.flatnonzero(bits).tolist()}


@pytest.mark.parametrize("number", [0, 3, 10])
def test_strings_are_known_after_taking_back_and_letting_go(number: int) -> None:
    random = Random(number)
    found = _held(number)
    kept, written, most = found.matcher(), b"", 0
    row, again = (np.zeros(small().words, np.int32) for _ in range(2))
    for _ in range(400):
        count = random.randint(0, most)
        kept.rollback(count)
        written = written[: len(written) - count]
        kept.fill(row)
        bits = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        single = [i for i in bits if i in _PLAIN] or [i for i in bits if i < 256]
        if not single:
            break
        written += bytes([random.choice(single)])
        assert kept.accept(written[-1])
        most = min(most - count + 1, 3)
        kept.keep(3)
        fresh = found.matcher()
        assert all(map(fresh.accept, written))
        fresh.fill(again)
        kept.fill(row)
        assert np.array_equal(row, again)


def test_memory_of_strings_is_bounded_and_goes_with_the_array() -> None:
    matcher = _held(10).matcher()
    assert all(map(matcher.accept, b"["))
    before = matcher.weight
    words = ["".join(word) for n in range(1, 5) for word in product("ab", repeat=n)]
    most = 0
    for _ in range(40):
        text = "[" + ",".join(f'"{word}"' for word in words) + "],"
        for byte in text.encode():
            assert matcher.accept(byte)
            matcher.keep(4)
        most = max(most, matcher.weight)
    assert most - before < 40_000 + 4 * 16_384  # token ids are kept of any text


@pytest.mark.parametrize("least", [2, 3, 5])
@pytest.mark.parametrize("more", [{}, {"maxItems": 40}, {"uniqueItems": True}])
def test_a_row_kept_at_one_length_serves_no_other(least: int, more: dict[str, Any]) -> None:
    schema = {"type": "array", "items": {"type": "string"}, "minItems": least, **more}
    tree = bound_vocabulary(_VOCABULARY)
    found = MachineGrammar(tables_of(compile_schema(schema), None), tree)
    row = np.zeros(_VOCABULARY.words, np.int32)
    for length in (*range(9, 0, -1), *range(1, 9)):
        text = found.matcher()
        data = "[" + ",".join(f'"a{n}"' for n in range(length))
        assert all(map(text.accept, data.encode()))
        text.fill(row)
        assert (ord("]") in bits(row)) == (length >= least), length
