"""Arguments as pairs: rows against accepts, delimiters, odd layouts."""

from random import Random
from typing import Any

import pytest

from enforcer import kernel
from enforcer.layouts import BoundLayout, Layout
from enforcer.layouts.pattern import ID, symbols
from enforcer.machine.tables import tables_of
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests.laid_out import DECLARED, TABLES, bound, legal, symbols_of, vocabulary
from tests.schema_judge import agree_along_a_walk
from tests.support import cases, machine

FORMATS = ("kimi_k3", *DECLARED)
SCHEMAS = cases.schemas("machine/cases/pairs.toml")
# Layouts that no file in `grammars` has.
ODD: tuple[dict[str, Any], ...] = (
    {"pair": "{_}<k>{key}</k>{_}{value}｜>", "close": "{_}</c>"},
    {"pair": "- {key}: {value}\n", "close": "", "trim": "none", "never": ["\n-"]},
    {"pair": '<|open|>{key}" {type}={_}{value}<|sep|>', "close": "{_}<|close|>", "key": "xml",
     "types": "written"},
    {"pair": "<{key}>{value}</vv>", "close": "{_}", "trim": "newline"},
)  # fmt: skip


def tree() -> kernel.Tree:
    return machine.tree(vocabulary(), is_raw=True)


def layout(name: str | int) -> BoundLayout:
    if isinstance(name, str):
        return bound(name)
    return Layout.read({"layout": "pairs", **ODD[name]}).bind(vocabulary().controls.get)


def begun(name: str | int, schema: dict[str, Any]) -> kernel.TextMatcher:
    return machine.held(schema, tree(), layout(name)).matcher()


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
    for seed in range(9):
        text = begun(name, SCHEMAS[schema])
        agree_along_a_walk(text, vocabulary(), Random(seed), lambda data: data[:1] in b'<"}]>\n|')


@pytest.mark.parametrize(
    ("name", "written", "is_legal"),
    cases.params("machine/cases/pairs.toml", "format, written, is_legal", "delimiters"),
)
def test_delimiters_in_nested_json(name: str, written: str, is_legal: bool) -> None:
    text = begun(name, SCHEMAS["nested"])
    every = symbols_of(written, name)
    assert all(text.accept(x - ID if x >= ID else x) for x in every) == is_legal


@pytest.mark.parametrize("name", ["kimi_k3", "minimax_m2"])
def test_the_source_does_as_the_compiled_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every = vocabulary()
    controls = {text: 256 + at for at, text in enumerate(("<|open|>", "<|close|>", "<|sep|>"))}
    small = Vocabulary([*every.texts[:256], b"", b"", b"", b"</", b'">x', b'{"b'], controls)
    table = {key: TABLES[name][key] for key in ("layout", "pair", "close")}
    table |= {"key": bound(name).layout.key.value, "types": bound(name).layout.types.value}
    tables = tables_of(compile_schema(SCHEMAS["nested"]), Layout.read(table).bind(controls.get))
    written = {
        "kimi_k3": '<|open|>argument key="o" type="object"<|sep|>{"b": ""}<|close|>argument<|sep|>',
        "minimax_m2": '<parameter name="o">{"b": "</"}</parameter>\n<parameter name="l">é</para',
    }[name]
    ids = [each - ID if each >= ID else each for each in symbols(written, controls.get)]
    assert all(machine.assert_same_interpreted(monkeypatch, tables, small, ids, is_raw=True))


def test_grammars_of_a_vocabulary_share_their_wide_rows() -> None:
    found = []
    for name in ("a", "other"):
        grammar = machine.held({"properties": {name: {"type": "string"}}}, tree(), bound("glm45"))
        text = grammar.matcher()
        for symbol in symbols_of(f"<arg_key>{name}</arg_key><arg_value>", "glm45"):
            assert text.accept(symbol - ID if symbol >= ID else symbol)
        legal(text)
        found.append([row for row in grammar.tables.rows[2:] if row is not None])
    assert found[0][-1] is found[1][-1]
