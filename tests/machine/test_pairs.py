"""Arguments as pairs: rows against accepts, delimiters, odd layouts."""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from enforcer.layouts import BoundLayout, Layout
from enforcer.layouts.pattern import ID, symbols
from enforcer.machine import grammar as binding
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests.laid_out import DECLARED, bound, legal, symbols_of, vocabulary
from tests.machine.interpreted import interpreted

if TYPE_CHECKING:
    from enforcer import kernel

FORMATS = ("kimi_k3", *DECLARED)
SCHEMAS: dict[str, dict[str, Any]] = {
    "a string and an integer": {
        "properties": {"a": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "any": {},
    "listed": {"properties": {"e": {"enum": ["x", "xy", "</p", 5, "5", None]}}, "required": ["e"]},
    "nested": {
        "properties": {
            "o": {"type": "object", "properties": {"b": {"type": "string"}}},
            "l": {"type": ["array", "null", "string"]},
        },
        "additionalProperties": {"type": "integer"},
    },
    "shapes": {
        "anyOf": [
            {"properties": {"t": {"const": "x"}, "v": {"type": "string"}}, "required": ["t", "v"]},
            {"properties": {"t": {"const": "y"}, "v": {"type": "array"}}, "required": ["t"]},
        ],
        "maxProperties": 2,
    },
    "keys": {"properties": {"a": {}, "ab": {}, "日": {}}, "patternProperties": {"^[x-z]$": {}}},
    "patterns": {
        "properties": {
            "a": {"type": "string", "pattern": "^[a-z<]+$", "maxLength": 9},
            "b": {"type": ["string", "null"], "maxLength": 8},
            "c": {"type": "number", "multipleOf": 0.5},
        },
        "required": ["b"],
    },
}
_KEY = {
    "kimi_k3": re.compile(rb'key="([^"]*)"'),
    "qwen3_coder": re.compile(rb"<parameter=([^>]*)>"),
    "minimax_m2": re.compile(rb'<parameter name="([^"]*)"'),
    "glm45": re.compile(rb"<arg_key>(.*?)</arg_key>", re.DOTALL),
}
# Layouts that no file in `grammars` has.
ODD: tuple[dict[str, Any], ...] = (
    {"pair": "{_}<k>{key}</k>{_}{value}｜>", "close": "{_}</c>"},
    {"pair": "- {key}: {value}\n", "close": "", "trim": "none", "never": ["\n-"]},
    {"pair": '<|open|>{key}" {type}={_}{value}<|sep|>', "close": "{_}<|close|>", "key": "xml",
     "types": "written"},
    {"pair": "<{key}>{value}</vv>", "close": "{_}", "trim": "newline"},
)  # fmt: skip


@cache
def tree() -> kernel.Tree:
    return bound_vocabulary(vocabulary(), is_raw=True)


def layout(name: str | int) -> BoundLayout:
    if isinstance(name, str):
        return bound(name)
    return Layout.read({"layout": "pairs", **ODD[name]}).bind(vocabulary().controls.get)


def begun(name: str | int, schema: dict[str, Any]) -> kernel.TextMatcher:
    return MachineGrammar(tables_of(compile_schema(schema), layout(name)), tree()).matcher()


def step(text: kernel.TextMatcher, random: Random, hurry: float) -> int | None:
    ids = sorted(legal(text))
    ends = [i for i in ids if vocabulary().token_bytes(i)[:1] in b'<"}]>\n|']
    markers = [i for i in ids if i in vocabulary().control_ids]
    if not ids:
        return None
    return random.choice((markers or ends or ids) if random.random() < hurry else ids)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FORMATS, *range(len(ODD))])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_rows_are_what_is_accepted_and_no_text_gets_stuck(name: str | int, schema: str) -> None:
    for seed in range(3):
        random, text = Random(seed), begun(name, SCHEMAS[schema])
        for at in range(40):
            allowed = legal(text)
            for other in range(vocabulary().size):
                assert text.accept(other) == (other in allowed), vocabulary().token_bytes(other)
                if other in allowed:
                    text.rollback(1)
            token_id = step(text, random, 0.3 + at / 40)
            if token_id is None:
                assert text.is_accepting(), vocabulary().decode(text.token_ids())
                break
            assert text.accept(token_id)


@pytest.mark.parametrize(
    ("name", "written", "is_legal"),
    [
        ("qwen3_coder", '<parameter=o>{"b": "</parameter', True),
        ("qwen3_coder", '<parameter=o>{"b": "</parameter>', False),
        ("qwen3_coder", '<parameter=o>{"b": "< / parameter >', False),
        ("qwen3_coder", '<parameter=o>{"b": "<\\/parameter>"}</parameter>', True),
        ("qwen3_coder", '<parameter=o>{"</function>', False),
        ("kimi_k3", '<|open|>argument key="o" type="object"<|sep|>{"b": "<|close|>', False),
        ("glm45", "<arg_key>o</arg_key><arg_value>{} </arg_value>", True),
        ("glm45", "<arg_key>o</arg_key><arg_value>{}</arg_value><arg_key>o</arg_key>", False),
    ],
)
def test_delimiters_in_nested_json(name: str, written: str, is_legal: bool) -> None:
    text = begun(name, SCHEMAS["nested"])
    every = symbols_of(written, name)
    assert all(text.accept(x - ID if x >= ID else x) for x in every) == is_legal


@pytest.mark.parametrize("name", ["kimi_k3", "minimax_m2"])
def test_the_source_does_as_the_compiled_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "kernel", interpreted())
    every = vocabulary()
    controls = {text: 256 + at for at, text in enumerate(("<|open|>", "<|close|>", "<|sep|>"))}
    small = Vocabulary([*every.texts[:256], b"", b"", b"", b"</", b'">x', b'{"b'], controls)
    laid_out = Layout.read(
        {
            "layout": "pairs",
            "pair": bound(name).layout.pair,
            "close": bound(name).layout.close,
            "key": bound(name).layout.key.value,
            "types": bound(name).layout.types.value,
        }
    ).bind(controls.get)
    written = {
        "kimi_k3": '<|open|>argument key="o" type="object"<|sep|>{"b": ""}<|close|>argument<|sep|>',
        "minimax_m2": '<parameter name="o">{"b": "</"}</parameter>\n<parameter name="l">é</para',
    }[name]
    found = []
    for is_source in (True, False):
        if not is_source:
            monkeypatch.undo()
        tables = tables_of(compile_schema(SCHEMAS["nested"]), laid_out)
        text = MachineGrammar(tables, bound_vocabulary(small, is_raw=True)).matcher()
        rows = []
        for symbol in symbols(written, controls.get):
            mask = np.zeros(small.words, np.int32)
            text.fill(mask)
            rows.append((mask.tobytes(), text.accept(symbol - ID if symbol >= ID else symbol)))
        found.append(rows)
    assert found[0] == found[1]
    assert all(taken for _, taken in found[0])


def test_grammars_of_a_vocabulary_share_their_wide_rows() -> None:
    found = []
    for name in ("a", "other"):
        grammar = MachineGrammar(
            tables_of(compile_schema({"properties": {name: {"type": "string"}}}), bound("glm45")),
            tree(),
        )
        text = grammar.matcher()
        for symbol in symbols_of(f"<arg_key>{name}</arg_key><arg_value>", "glm45"):
            assert text.accept(symbol - ID if symbol >= ID else symbol)
        legal(text)
        found.append([row for row in grammar.tables.rows[2:] if row is not None])
    assert found[0][-1] is found[1][-1]
