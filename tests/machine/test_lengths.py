"""Lengths of raw values and of strings, as bounds beside states: rows, and what they cost."""

import json
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from enforcer import kernel
from enforcer.layouts.pattern import ID
from enforcer.machine import automata, layout_subset, lengths, pairs
from enforcer.machine import grammar as binding
from enforcer.machine.byte_groups import ASCII_GROUPS
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import CompiledTables, tables_of
from enforcer.regex import Regex, parse
from enforcer.schema import Root, compile_schema
from enforcer.vocabulary import Vocabulary
from tests.engine_cases import closed
from tests.laid_out import legal, read, spelled, symbols_of, vocabulary
from tests.machine.interpreted import interpreted
from tests.machine.test_pairs import FORMATS, ODD, layout, step, tree
from tests.support import cases, machine

_STRING: dict[str, Any] = {"type": "string"}
VALUES = {
    **cases.schemas("machine/cases/lengths.toml", "values"),
    "few behind a letter": {
        "anyOf": [
            {**_STRING, "pattern": "^[^x]*x?$", "minLength": least, "maxLength": least + 2}
            for least in (0, 4, 9, 14, 21, 28)
        ]
    },
}


SCHEMAS = {
    **{name: closed({"a": value}, "a") for name, value in VALUES.items()},
    "keys": cases.schemas("machine/cases/lengths.toml")["keys"],
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


@pytest.mark.slow
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
            check.validate(dict(read(name, spelled(text.token_ids()), SCHEMAS[schema])))


@pytest.mark.parametrize("name", [*FORMATS, *range(len(ODD)), None])
@pytest.mark.parametrize("keyword", ["minLength", "maxLength"])
@pytest.mark.parametrize("more", [{}, {"pattern": "^[a-z<\\n]*$"}, {"type": ["string", "null"]}])
def test_length_costs_no_state(name: str | int | None, keyword: str, more: dict[str, Any]) -> None:
    sizes = {
        sum(each.nbytes for each in _tables(closed({"a": value}, "a"), name).arrays.values())
        for value in ({**_STRING, keyword: far, **more} for far in (30, 100_000, 10**12))
    }
    assert len(sizes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FORMATS, 0, 1, 3])
@pytest.mark.parametrize("least", [0, 300])
def test_long_raw_values_have_their_lengths(name: str | int, least: int) -> None:
    value = {**_STRING, "minLength": least, "maxLength": 300}
    found = MachineGrammar(_tables(closed({"a": value}, "a"), name), tree())
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
def test_a_mask_looks_once_at_open_lengths(
    count: int, monkeypatch: pytest.MonkeyPatch, calls_of: Callable[..., list[Any]]
) -> None:
    monkeypatch.setattr(binding, "kernel", interpreted())
    asked = calls_of(import_module("enforcer.kernel.automata"), "within_bounds")
    strings = [
        {**_STRING, "pattern": "^[^x]*x?$", "minLength": 9 * at, "maxLength": 9 * at + 5}
        for at in range(count)
    ]
    pieces = ["ab", "abc", "ba", "bx", "xb", "xx", 'x"', "abcd", "dcba", "bcda"]
    some = Vocabulary([bytes([at]) for at in range(128)] + [each.encode() for each in pieces], {})
    tables = _tables(closed({"a": {"anyOf": strings}}, "a"), None)
    text = machine.begun(MachineGrammar(tables, bound_vocabulary(some)), '{"a": "bcabcabcabcab')
    asked.clear()
    machine.mask(text, some)
    assert asked
    assert len(asked) <= 3 * len({each[2:] for each in asked})  # there are over a hundred nodes


def _ids(text: str) -> list[int]:
    found = symbols_of(text, "kimi_k3" if "<|" in text else "glm45")
    return [each - ID if each >= ID else each for each in found]


def test_strings_of_several_lengths_are_held() -> None:
    schema = cases.schemas("machine/cases/lengths.toml")["several lengths"]
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
        machine.assert_follows(held.matcher(), vocabulary(), _ids(written))
