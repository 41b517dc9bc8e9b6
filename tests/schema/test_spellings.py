"""One value, many spellings: what is enforced is the value."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schema_judge import accepts, compiled
from tests.spelled_json import Form, spell
from tests.support.schema_cases import schema_test

NAMED = {
    "type": "object",
    "properties": {"city": {"type": "integer"}, 'q"/é🙂': {"type": "integer"}},
    "required": ["city"],
}
CITY = ["city", "\\u0063ity", "cit\\u0079", "\\u0063\\u0069\\u0074\\u0079"]


test_schemas = schema_test(__file__)


@pytest.mark.parametrize("one", CITY)
@pytest.mark.parametrize("other", CITY)
def test_a_name_never_repeats_in_any_spelling(one: str, other: str) -> None:
    grammar = compiled(NAMED)
    assert not accepts(grammar, f'{{"{one}": 1, "{other}": 1}}')
    assert not accepts(grammar, f'{{"{one}": 1, "x": [], "{other}": 1}}')


@given(st.text(max_size=6), st.integers(0, 2**32))
def test_any_text_is_a_name_and_a_constant_in_any_form(text: str, seed: int) -> None:
    random = Random(seed)
    grammar = compiled(
        {"type": "object", "properties": {text: {"const": text}}, "required": [text]}
    )
    form = Form.drawn(random, numbers=True)
    assert accepts(grammar, spell({text: text}, form, random), random)
    assert not accepts(grammar, spell({text: text + "x"}, form, random), random)
    assert not accepts(grammar, spell({text + "x": text}, form, random), random)


@pytest.mark.parametrize("space", [" ", "\n", "\t", "\r", "\n ", "\r\n"])
@pytest.mark.parametrize("start", ["", "[", "[1", "[1,", "{", '{"a"', '{"a":', '{"a":1'])
def test_white_space_comes_to_an_end(start: str, space: str) -> None:
    matcher = compiled({}).matcher()
    for byte in start.encode():
        assert matcher.accept(byte)
    taken = 0
    for byte in (space * 400).encode():
        if not matcher.accept(byte):
            break
        taken += 1
    assert taken <= 66


@pytest.mark.parametrize(
    "text",
    [b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\x01"', b'"\\ud800"', b'"\\udc00\\ud800"', b"'a'"],
)
def test_what_is_no_valid_text(text: bytes) -> None:
    assert not accepts(compiled({}), text)
