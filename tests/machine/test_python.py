"""Python's keyword arguments: rows against accepts, quotes and escapes, names, words."""

from __future__ import annotations

import ast
from functools import cache
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.machine import grammar as binding
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema import Conventions, Root, compile_schema
from enforcer.vocabulary import Vocabulary
from tests.engine_cases import closed
from tests.laid_out import bound, vocabulary
from tests.machine.interpreted import interpreted
from tests.schema_judge import is_valid
from tests.vocabularies import bits, kimi
from tests.walks import examples

if TYPE_CHECKING:
    from enforcer import kernel

_LIST = {"type": "array", "uniqueItems": True}
SCHEMAS: dict[str, dict[str, Any]] = {
    "any": {},
    "counted strings": {
        "properties": {
            "a": {"type": "string", "maxLength": 6},
            "b": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": r"^[a-e'\"\\\t]*$"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "distinct strings": {
        "properties": {
            "l": {**_LIST, "items": {"enum": ["a", "ab", "it's", '"x"', "\n"]}, "minItems": 3},
            "m": {**_LIST, "items": {"type": "string", "maxLength": 2}},
        },
        "required": ["l", "m"],
        "additionalProperties": False,
    },
    "names that run out": {
        "properties": {
            "o": {
                "type": "object",
                "patternProperties": {"^[a-c']$": {"type": "integer"}},
                "additionalProperties": False,
                "minProperties": 2,
            }
        },
        "required": ["o"],
    },
    "declared names": {
        "properties": {
            "k": {"properties": {"k'": {"type": "number"}, 'k"日': {"type": ["null", "boolean"]}}},
            "ka": {"type": "null"},
        },
        "required": ["k"],
    },
    "characters": {
        "patternProperties": {"^x": {"type": "string", "pattern": "^[é-ÿ😀]+$"}},
        "additionalProperties": {"type": "integer"},
    },
}


@cache
def tree(*, is_kimi: bool = False) -> kernel.Tree:
    return bound_vocabulary(kimi() if is_kimi else vocabulary(), is_python=True)


def begun(schema: dict[str, Any], *, is_kimi: bool = False) -> kernel.TextMatcher:
    tables = tables_of(compile_schema(schema), bound("pythonic"))
    return MachineGrammar(tables, tree(is_kimi=is_kimi)).matcher()


def legal(text: kernel.TextMatcher, names: Vocabulary | None = None) -> set[int]:
    row = np.zeros((names or vocabulary()).words, np.int32)
    text.fill(row)
    return bits(row)


def taken(schema: dict[str, Any], written: str) -> str:
    """Return as much of a text, byte by byte, as is legal; the row has to say the same."""
    text = begun(schema)
    for at, byte in enumerate(written.encode()):
        is_legal = byte in legal(text)
        assert text.accept(byte) == is_legal
        if not is_legal:
            return written.encode()[:at].decode(errors="replace")
    assert text.is_accepting() == written.endswith(")")
    return written


@pytest.mark.slow
@pytest.mark.parametrize("is_kimi", [False, True])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_rows_are_what_is_accepted_and_no_text_gets_stuck(schema: str, is_kimi: bool) -> None:
    names = kimi() if is_kimi else vocabulary()
    for seed in range(3):
        random, text = Random(seed), begun(SCHEMAS[schema], is_kimi=is_kimi)
        for at in range(40):
            allowed = legal(text, names)
            every = range(names.size)
            for other in random.sample(every, 4_000) if is_kimi else every:
                assert text.accept(other) == (other in allowed), names.token_bytes(other)
                if other in allowed:
                    text.rollback(1)
            if not allowed:
                assert text.is_accepting()
                break
            ends = [i for i in allowed if names.token_bytes(i)[:1] in b"'\")]},\\:="]
            hurry = random.random() < 0.3 + at / 60
            assert text.accept(random.choice(sorted(ends if ends and hurry else allowed)))


@examples(100)
@given(st.text(max_size=8), st.sampled_from("'\""), st.data())
def test_every_spelling_of_a_string_is_taken_and_counted(
    meant: str, quote: str, data: st.DataObject
) -> None:
    written = "".join(data.draw(st.sampled_from(_spellings(each, quote))) for each in meant)
    assert ast.literal_eval(f"{quote}{written}{quote}") == meant
    schema = {"properties": {"a": {"type": "string", "maxLength": len(meant)}}}
    fits = f"a={quote}{written}{quote})"
    assert taken(schema, fits) == fits
    assert taken({"properties": {"a": {"const": meant}}}, fits) == fits
    longer = f"a={quote}{written}x"
    assert taken(schema, longer) == longer[:-1]


def _spellings(character: str, quote: str) -> list[str]:
    code = ord(character)
    found = [f"\\U{code:08x}", f"\\U{code:08X}"]
    if code < 0x10000:
        found.append(f"\\u{code:04x}")
    if code < 0x100:
        found.append(f"\\x{code:02X}")
    if character in "\"'\\":
        found.append(f"\\{character}")
    short = dict(zip("\a\b\f\n\r\t\v", "abfnrtv", strict=True))
    if character in short:
        found.append(f"\\{short[character]}")
    if character not in f"{quote}\\\0\r\n":
        found.append(character)
    return found


@pytest.mark.parametrize(
    ("written", "legal_part"),
    [
        ("a=1,b=2)", None),
        ("\n  a = 'x' ,\n  b = [ None , True ] )", None),
        (" )", None),
        ("a={'k': 1, \"k\"", "a={'k': 1, \"k"),
        ("a=null, b=true, c=False)", None),
        ("a=1,)", "a=1,"),
        ("a=1,a=2)", "a=1,a"),
        ("a=1}", "a=1"),
        ("a={'k': 1)", "a={'k': 1"),
        ("a=(1)", "a="),
        ("'a'=1)", ""),
        ("from=1)", "from"),
        ("_a=1)", ""),
        ("a:1)", "a"),
        ("a='\n", "a='"),
        ("a='\t'", None),
        ("a='\\/", "a='\\"),
        ("a='\\d", "a='\\"),
        ("a='\\ud800", "a='\\ud"),
        ("a='\\U00110000", "a='\\U001"),
        ("a=nothing", "a=n"),
        ("a=Trueish", "a=True"),
        ("a=1e5, b=-0.5)", None),
    ],
)
def test_what_python_reads(written: str, legal_part: str | None) -> None:
    expected = written if legal_part is None else legal_part
    assert taken({"properties": {"a": {}}}, written) == expected


def test_an_element_of_quotes_is_followed_by_one_of_more_quotes() -> None:
    quotes = {"type": "string", "pattern": "^'{0,2}$"}
    element = closed({"a": quotes}, "a")
    schema = closed({"l": {"type": "array", "items": element, "uniqueItems": True}})
    for first, second in (("", r"\'"), (r"\'", r"\'\'")):
        written = f"l=[{{'a': '{first}'}}, {{'a': '{second}'}}])"
        assert taken(schema, written) == written


def test_an_unfinished_escape_leads_to_a_character_that_fits() -> None:
    astral = {"properties": {"a": {"type": "string", "pattern": "^😀$"}}}
    assert taken(astral, "a='\\u") == "a='\\"
    assert taken(astral, "a='\\x") == "a='\\"
    assert taken(astral, "a='\\U0001F600')") == "a='\\U0001F600')"
    none = {"properties": {"a": {"const": ""}}}
    assert taken(none, "a='\\") == "a='"


def test_the_source_does_as_the_compiled_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "kernel", interpreted())
    every = vocabulary()
    small = Vocabulary([*every.texts[:256], b"='", b"': ", b"','", b'="'], {})
    written = "a='\\x41\"', o={'k': \"it's\", \"l\":['x','y']})"
    found = []
    for is_source in (True, False):
        if not is_source:
            monkeypatch.undo()
        tables = tables_of(compile_schema({}), bound("pythonic"))
        text = MachineGrammar(tables, bound_vocabulary(small, is_python=True)).matcher()
        rows = []
        for byte in written.encode():
            mask = np.zeros(small.words, np.int32)
            text.fill(mask)
            rows.append((mask.tobytes(), text.accept(byte)))
        found.append(rows)
    assert found[0] == found[1]
    assert all(accepted for _, accepted in found[0])


_ONE = {"const": 1}
NAMED: list[dict[str, Any]] = [
    {"additionalProperties": _ONE},
    {"properties": {"a": _ONE}, "additionalProperties": _ONE, "minProperties": 3},
    {"patternProperties": {"^[ab]$": _ONE}, "additionalProperties": False},
    {"patternProperties": {"^(a|ba|b[b-d]+)$": _ONE}, "additionalProperties": False},
    {"patternProperties": {"^(a|b|ab)$": _ONE, "^b": {}}, "additionalProperties": False},
]


@cache
def _names() -> Vocabulary:
    own = (b"a=1,", b"a=1,a", b"=1,b=1,", b", a", b",b=", b"b=1,b=1)", b"b=1,a=1)", b"ab=1", b"=1,")
    texts = vocabulary().texts
    return Vocabulary([*texts[:256], *own], {})


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(NAMED)))
def test_no_argument_comes_twice(number: int) -> None:
    conventions = Conventions(closed_objects=False)
    grammar = compile_schema(NAMED[number], root=Root.OBJECT, conventions=conventions)
    tree = bound_vocabulary(_names(), is_python=True)
    held = MachineGrammar(tables_of(grammar, bound("pythonic")), tree)
    for count in range(4):
        for names in product(("a", "b", "ab", "bb"), repeat=count):
            text = held.matcher()
            taken = True
            for byte in (",".join(f"{name}=1" for name in names) + ")").encode():
                allowed = legal(text, _names())
                for token_id in range(_names().size):
                    taken = text.accept(token_id)
                    assert taken == (token_id in allowed), (names, _names().token_bytes(token_id))
                    text.rollback(int(taken))
                assert allowed or text.is_accepting()
                taken = text.accept(byte)
                if not taken:
                    break
            value = dict.fromkeys(names, 1)
            fits = len(value) == count and is_valid(NAMED[number], value)
            assert (taken and text.is_accepting()) == fits, names
