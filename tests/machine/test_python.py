"""Python's keyword arguments: rows against accepts, quotes and escapes, names, words."""

import ast
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import kernel
from enforcer.machine.tables import tables_of
from enforcer.schema import Root, compile_schema
from enforcer.vocabulary import Vocabulary
from tests.engine_cases import closed
from tests.laid_out import bound, vocabulary
from tests.schema_judge import is_valid
from tests.support import cases, machine
from tests.vocabularies import kimi
from tests.walks import examples

SCHEMAS = cases.schemas("machine/cases/python.toml")


def tree(names: Vocabulary) -> kernel.Tree:
    return machine.tree(names, is_python=True)


def begun(schema: dict[str, Any], names: Vocabulary | None = None) -> kernel.TextMatcher:
    return machine.held(schema, tree(names or vocabulary()), bound("pythonic")).matcher()


def taken(schema: dict[str, Any], written: str) -> str:
    """Return as much of a text, byte by byte, as is legal; the row has to say the same."""
    text = begun(schema)
    for at, byte in enumerate(written.encode()):
        is_legal = byte in machine.mask(text, vocabulary())
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
        random, text = Random(seed), begun(SCHEMAS[schema], names)
        for at in range(40):
            some = random.sample(range(names.size), 4_000) if is_kimi else None
            allowed = machine.agreed(text, names, some)
            if not allowed:
                assert text.is_accepting()
                break
            ends = [i for i in allowed if names.token_bytes(i)[:1] in b"'\")]},\\:="]
            hurry = random.random() < 0.3 + at / 60
            assert text.accept(random.choice(sorted(ends if ends and hurry else allowed)))


@examples(100)
@given(st.text(max_size=8), st.sampled_from("'\""), st.data())
def test_each_spelling_of_a_string_is_counted(meant: str, quote: str, data: st.DataObject) -> None:
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
    ("written", "legal_part"), cases.params("machine/cases/python.toml", "written, legal")
)
def test_what_python_reads(written: str, legal_part: str | None) -> None:
    expected = written if legal_part is None else legal_part
    assert taken({"properties": {"a": {}}}, written) == expected


def test_an_element_of_quotes_is_followed_by_one_of_more_quotes() -> None:
    element = closed({"a": {"type": "string", "pattern": "^'{0,2}$"}}, "a")
    schema = closed({"l": {"type": "array", "items": element, "uniqueItems": True}})
    for first, second in (("", r"\'"), (r"\'", r"\'\'")):
        written = f"l=[{{'a': '{first}'}}, {{'a': '{second}'}}])"
        assert taken(schema, written) == written


def test_an_unfinished_escape_leads_to_a_character_that_fits() -> None:
    astral = {"properties": {"a": {"type": "string", "pattern": "^😀$"}}}
    assert taken(astral, "a='\\u") == "a='\\"
    assert taken(astral, "a='\\x") == "a='\\"
    assert taken(astral, "a='\\U0001F600')") == "a='\\U0001F600')"
    assert taken({"properties": {"a": {"const": ""}}}, "a='\\") == "a='"


def test_the_source_does_as_the_compiled_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Vocabulary([*vocabulary().texts[:256], b"='", b"': ", b"','", b'="'], {})
    tables = tables_of(compile_schema({}), bound("pythonic"))
    written = b"a='\\x41\"', o={'k': \"it's\", \"l\":['x','y']})"
    assert all(machine.assert_same_interpreted(monkeypatch, tables, small, written, is_python=True))


NAMED = cases.listed("machine/cases/python.toml", "named")


@cache
def _names() -> Vocabulary:
    own = (b"a=1,", b"a=1,a", b"=1,b=1,", b", a", b",b=", b"b=1,b=1)", b"b=1,a=1)", b"ab=1", b"=1,")
    return machine.of_bytes(own)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(NAMED)))
def test_no_argument_comes_twice(number: int) -> None:
    options: dict[str, Any] = {"root": Root.OBJECT, "conventions": machine.OPEN}
    held = machine.held(NAMED[number], tree(_names()), bound("pythonic"), **options)
    for count in range(4):
        for names in product(("a", "b", "ab", "bb"), repeat=count):
            text = held.matcher()
            taken = True
            for byte in (",".join(f"{name}=1" for name in names) + ")").encode():
                assert machine.agreed(text, _names()) or text.is_accepting()
                taken = text.accept(byte)
                if not taken:
                    break
            value = dict.fromkeys(names, 1)
            fits = len(value) == count and is_valid(NAMED[number], value)
            assert (taken and text.is_accepting()) == fits, names
