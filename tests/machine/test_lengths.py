"""Lengths of raw values and of strings, as bounds beside states: rows, and what they cost."""

from __future__ import annotations

import json
from collections import OrderedDict
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from enforcer.layouts.pattern import ID
from enforcer.machine import automata, layout_subset, lengths, pairs
from enforcer.machine import grammar as binding
from enforcer.machine.byte_groups import ASCII_GROUPS
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.regex import parse
from enforcer.schema import Root, compile_schema
from enforcer.vocabulary import Vocabulary
from tests.laid_out import legal, read, spelled, symbols_of, vocabulary
from tests.machine.interpreted import interpreted
from tests.machine.test_pairs import FORMATS, ODD, layout, step, tree

if TYPE_CHECKING:
    from enforcer import kernel
    from enforcer.machine.tables import CompiledTables
    from enforcer.regex import Regex

_STRING: dict[str, Any] = {"type": "string"}
VALUES: dict[str, dict[str, Any]] = {
    "at most 0": {**_STRING, "maxLength": 0},
    "at most 5": {**_STRING, "maxLength": 5},
    "2 to 4": {**_STRING, "minLength": 2, "maxLength": 4},
    "6": {**_STRING, "minLength": 6, "maxLength": 6},
    "3 to 30": {**_STRING, "minLength": 3, "maxLength": 30},
    "at least 7": {**_STRING, "minLength": 7},
    "letters": {**_STRING, "pattern": "^[a-z<\\n]+$", "maxLength": 24},
    "pairs": {**_STRING, "pattern": "^(ab|c<|\\n)*$", "minLength": 21, "maxLength": 23},
    "a label": {**_STRING, "pattern": "^[a-z]([a-z0-9]{0,25}[a-z])?$"},
    "some in it": {**_STRING, "pattern": "[a-c].b", "maxLength": 22},
    "no blank at its end": {**_STRING, "pattern": "^\\S(.*\\S)?$", "maxLength": 21},
    "more in it": {**_STRING, "pattern": "<.[a-c]", "minLength": 9, "maxLength": 24},
    "or null": {"type": ["string", "null"], "maxLength": 6},
    "or a number": {"type": ["string", "integer", "boolean"], "minLength": 2, "maxLength": 4},
    "any": {"maxLength": 3},
    "several": {
        "anyOf": [
            {**_STRING, "maxLength": 3},
            {**_STRING, "minLength": 5, "maxLength": 7},
            {"const": "abcdefghij"},
        ]
    },
    "few behind a letter": {
        "anyOf": [
            {**_STRING, "pattern": "^[^x]*x?$", "minLength": least, "maxLength": least + 2}
            for least in (0, 4, 9, 14, 21, 28)
        ]
    },
    "or an array": {
        "anyOf": [
            {**_STRING, "maxLength": 24, "pattern": "^[a-x]"},
            {**_STRING, "minLength": 26},
            {"type": "array"},
        ]
    },
}


def _object(value: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"a": value}, "required": ["a"], "additionalProperties": False}


SCHEMAS = {
    **{name: _object(value) for name, value in VALUES.items()},
    "keys": {
        "patternProperties": {"^[a-c]{1,22}$": {"type": "integer"}, "^.{30,}$": {}},
        "additionalProperties": False,
    },
}


def _tables(schema: dict[str, Any], name: str | int | None) -> CompiledTables:
    grammar = compile_schema(schema, root=Root.OBJECT)
    return tables_of(grammar, None if name is None else layout(name))


def _counting_by_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave lengths in languages."""

    def nothing(language: Regex, **_: bool) -> lengths.Bounded:
        return lengths.Bounded(language)

    for module in (automata, layout_subset, pairs):
        monkeypatch.setattr(module, "apart", nothing)
    monkeypatch.setattr(automata, "_kept", OrderedDict())


def _sample(text: kernel.TextMatcher, other: kernel.TextMatcher, seed: int) -> bool:
    """Write a text at random, with equal rows; return whether it is whole."""
    random = Random(seed)
    hurry = (0.1, 0.3, 0.02, 0.5)[seed % 4]
    for at in range(90):
        written = vocabulary().decode(text.token_ids())
        assert legal(text) == legal(other), written
        assert text.is_accepting() == other.is_accepting(), written
        token_id = step(text, random, hurry + at / 90)
        if token_id is None:
            assert text.is_accepting(), written
            break
        assert text.accept(token_id)
        assert other.accept(token_id)
    return text.is_accepting()


@pytest.mark.parametrize("name", [*FORMATS, *range(len(ODD)), None])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_rows_are_those_of_states_that_count(
    schema: str, name: str | int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = MachineGrammar(_tables(SCHEMAS[schema], name), tree())
    _counting_by_states(monkeypatch)
    other = MachineGrammar(_tables(SCHEMAS[schema], name), tree())
    check = Draft202012Validator(SCHEMAS[schema])
    for seed in range(6):
        text = found.matcher()
        if _sample(text, other.matcher(), seed) and isinstance(name, str):
            written = spelled(text.token_ids())
            check.validate(dict(read(name, written, SCHEMAS[schema])))


@pytest.mark.parametrize("name", [*FORMATS, *range(len(ODD)), None])
@pytest.mark.parametrize("keyword", ["minLength", "maxLength"])
@pytest.mark.parametrize("more", [{}, {"pattern": "^[a-z<\\n]*$"}, {"type": ["string", "null"]}])
def test_a_long_length_takes_as_many_states_as_a_short_one(
    name: str | int | None, keyword: str, more: dict[str, Any]
) -> None:
    sizes = {
        sum(each.nbytes for each in _tables(_object(value), name).arrays.values())
        for value in ({**_STRING, keyword: far, **more} for far in (30, 100_000, 10**12))
    }
    assert len(sizes) == 1


@pytest.mark.parametrize("name", [*FORMATS, 0, 1, 3])
@pytest.mark.parametrize("least", [0, 300])
def test_long_raw_values_have_their_lengths(name: str | int, least: int) -> None:
    value = {**_STRING, "minLength": least, "maxLength": 300}
    found = MachineGrammar(_tables(_object(value), name), tree())
    bound_ = layout(name)
    pair = bound_.layout.pair.replace("{_}", "").replace("{type}", "string")
    before, behind = pair.replace("{key}", "a").split("{value}")
    trims = ("", "\n") if bound_.layout.trim.value == "newline" else ("",)
    for first, last in ((x, y) for x in trims for y in trims):
        for count in (299, 300, 301):
            text = found.matcher()
            written = before + first + "x<" * (count // 2) + "x" * (count % 2) + last + behind
            is_taken = all(map(text.accept, _ids(written)))
            assert is_taken == (least <= count <= 300), (first, last, count)


def test_behind_a_least_length_few_groups_are_looked_at() -> None:
    found = automata.automaton_of((lengths.Bounded(parse("^[^x]*x?$"), 50, 70),))
    few = int(found.safe[0])
    letters = {group: ASCII_GROUPS.index(group) for group in ASCII_GROUPS if group.isalpha()}
    safe = {group for group, number in letters.items() if few >> number & 1}
    assert safe == {group for group in letters if "x" not in group}
    assert not found.safe[1]  # behind an `x`, where a text of no greater length is left


@pytest.mark.parametrize("count", [10, 40])
def test_a_mask_looks_once_at_what_lengths_leave_open(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source: Any = import_module("enforcer.kernel.automata")
    asked = []
    within = source.within_bounds

    def counted(text: kernel.TextMatcher, a: Any, state: int, *more: int) -> int:
        asked.append((state, *more))
        found: int = within(text, a, state, *more)
        return found

    monkeypatch.setattr(binding, "kernel", interpreted())
    monkeypatch.setattr(source, "within_bounds", counted)
    strings = [
        {**_STRING, "pattern": "^[^x]*x?$", "minLength": 9 * at, "maxLength": 9 * at + 5}
        for at in range(count)
    ]
    pieces = ["ab", "abc", "ba", "bx", "xb", "xx", 'x"', "abcd", "dcba", "bcda"]
    some = Vocabulary([bytes([at]) for at in range(128)] + [each.encode() for each in pieces], {})
    text = MachineGrammar(
        _tables(_object({"anyOf": strings}), None), bound_vocabulary(some)
    ).matcher()
    assert all(map(text.accept, b'{"a": "bcabcabcabcab'))
    asked.clear()
    text.fill(np.zeros(some.words, np.int32))
    assert asked
    assert len(asked) <= 3 * len(set(asked))  # there are over a hundred nodes


def _ids(text: str) -> list[int]:
    found = symbols_of(text, "kimi_k3" if "<|" in text else "glm45")
    return [each - ID if each >= ID else each for each in found]


def test_strings_of_several_lengths_are_held() -> None:
    schema = {
        "anyOf": [
            {**_STRING, "maxLength": 32_767},
            {**_STRING, "pattern": "^a+b", "maxLength": 50},
            {**_STRING, "format": "email", "minLength": 40_000},
            {"type": "number"},
        ],
        "title": "as Github_hard---o9808 has it",
    }
    found = tables_of(compile_schema(schema, root=Root.ANY), None)
    assert len(found.arrays["wide"]) < 500
    check = Draft202012Validator(schema).is_valid
    grammar = MachineGrammar(found, tree())
    for value in ("x" * 32_767, "x" * 32_768, "aab" + "x" * 32_765, "a@b.c" + "d" * 39_995):
        text = grammar.matcher()
        assert all(map(text.accept, json.dumps(value).encode())) == check(value)


def test_a_delimiter_may_have_more_characters_than_any_token_has_bytes() -> None:
    """The row of an empty value was kept for those that may end."""
    written = '<|open|>argument key="a" type="string"<|sep|>uv<|close|>'
    texts = [data if len(data) < 2 else b"" for data in vocabulary().texts]
    single = Vocabulary(texts, vocabulary().controls)
    found = _tables(SCHEMAS["letters"], "kimi_k3")
    held = MachineGrammar(found, bound_vocabulary(single, is_raw=True))
    for _ in range(2):
        text = held.matcher()
        for token_id in _ids(written):
            assert token_id in legal(text)
            assert text.accept(token_id)
