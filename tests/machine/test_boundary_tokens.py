"""What tokens may have of names and strings."""

import pytest

from enforcer.machine.boundary_tokens import SPANS_OF_JSON, SPANS_OF_PYTHON, QuotedTexts

_PIECES = (b'{"ab":"\\u00e9', b'x","', b'"c\\u00', b'"d\xc3', b'"\\ud83d', b"none", b'"\\"q"')


@pytest.mark.parametrize(
    ("text", "exhausted", "affects_earlier"),
    [
        *(("ab", -1, True), ("a", -1, False), ("abc", 1, True), ("abc", 2, True)),
        *(("abc", 3, False), ("\u00e9x", 1, True), ("c\u00e9", 2, True), ("cx", 2, True)),
        *(("ce", 0, True), ("d\u00e9", 2, True), ("dd\u00e9", 3, False), ("\U0001f600", 1, True)),
        *(('"q', -1, True), ("x", -1, False), ("none", 4, False)),
    ],
)
def test_tokens_that_have_a_text_behind_a_quote_depend_on_it(
    text: str, exhausted: int, *, affects_earlier: bool
) -> None:
    assert QuotedTexts(_PIECES).affects_earlier(text, exhausted) == affects_earlier


def test_elements_that_end_within_a_token() -> None:
    assert SPANS_OF_JSON.ends.search(b'a" ,')
    assert not SPANS_OF_JSON.ends.search(b'a",'[:2])
    assert SPANS_OF_JSON.elements.search(b'","b')
    assert not SPANS_OF_JSON.elements.search(b'","')
    assert not SPANS_OF_JSON.ends.search(b"a' ,")
    assert SPANS_OF_PYTHON.ends.search(b"a' ,")
