"""The languages of keys and raw values."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enforcer import regex
from enforcer.layouts import Trim
from enforcer.layouts.tagged_text import trimmed
from enforcer.layouts.texts import Readable, avoiding, holding, keys, trimming, without, written_key
from enforcer.regex import ANY, both, either, fullmatch, length, literal, parse
from enforcer.regex.syntax import Regex
from tests.laid_out import DECLARED, TEXTS, TYPES, bound, coerced, key_is_writable

LANGUAGES = [
    *(ANY, length(0, 0), length(0, 1), length(1, 1), length(2, 3), length(2, None), parse("^x")),
    *(parse("^\\n?x*$"), literal("x"), either(literal("\n"), literal(""))),
    *(regex.inverse(parse("x")), both(ANY, regex.inverse(literal("\n")))),
]
STOPS = ("</p>", "<{_}q{_}>")


@pytest.mark.parametrize("language", LANGUAGES, ids=str)
@given(text=st.text("\nx", max_size=6))
def test_trimming_gives_all_texts_that_are_trimmed_to_a_member(language: Regex, text: str) -> None:
    found = trimming(language, Trim.NEWLINE)
    assert fullmatch(found, text) == fullmatch(language, trimmed(text, Trim.NEWLINE))
    assert trimming(language, Trim.NONE) is language


@example("007", {"string", "object"})
@given(TEXTS, st.sets(st.sampled_from(TYPES), min_size=1))
def test_a_string_is_legal_only_if_it_is_read_as_itself(text: str, declared: set[str]) -> None:
    legal = fullmatch(Readable(frozenset(declared)).strings(ANY), text)
    value = coerced(text, {"type": sorted(declared)})
    if legal:
        assert value == text
        assert isinstance(value, str)
    elif value == text and isinstance(value, str):
        # What may be JSON, or a number that no double holds, is left out although it is none.
        assert text.lstrip()[:1] in tuple('[{"') or "e" in text.lower()


@given(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    st.sets(st.sampled_from(TYPES), min_size=1),
)
def test_a_number_is_legal_only_if_it_is_read_as_one(number: float, declared: set[str]) -> None:
    texts = Readable(frozenset(declared)).numbers(literal(str(number)))
    if texts is not None and not regex.is_empty(texts):
        value = coerced(str(number), {"type": sorted(declared)})
        assert isinstance(value, int | float)
        assert not isinstance(value, bool)
        assert float(value) == float(number)


@pytest.mark.parametrize(
    "declared",
    [{"null"}, {"boolean"}, {"string"}, {"string", "boolean"}, {"array", "string"}, {"integer"}],
)
def test_words_are_legal_only_if_they_are_read_as_such(declared: set[str]) -> None:
    readable = Readable(frozenset(declared))
    for value, texts in (
        (None, readable.null),
        (True, readable.boolean(True)),
        (False, readable.boolean(False)),
    ):
        if texts is not None:
            assert coerced(regex.example(texts), {"type": sorted(declared)}) is value
    assert (readable.null is None) == (declared <= {"string", "boolean"} and "string" in declared)


@given(st.text("<q/p> x", max_size=8))
def test_avoiding_is_holding_none(text: str) -> None:
    assert fullmatch(avoiding(STOPS), text) != fullmatch(holding(STOPS), text)
    assert fullmatch(holding(STOPS), text) == ("</p>" in text or "<q>" in text.replace(" ", ""))


def test_a_language_without_the_others_is_itself() -> None:
    assert without(literal("abc"), holding(STOPS)) == literal("abc")
    assert regex.is_empty(without(literal("a</p>"), holding(STOPS)))


@pytest.mark.parametrize("name", [*DECLARED, "kimi_k3", "pythonic"])
@given(
    key=st.one_of(
        st.text(max_size=4),
        st.sampled_from(["from", "_a", "a1", "</arg_key>", "a>", 'a"', " a", "a b", "a b "]),
    )
)
def test_keys_that_can_be_written(name: str, key: str) -> None:
    if key.strip() == key.strip("\ufeff"):  # which one of the two readings of white space has
        assert fullmatch(keys(bound(name)), key) == key_is_writable(name, key)


def test_keys_are_escaped() -> None:
    assert fullmatch(written_key(literal('a"&'), bound("kimi_k3")), "a&quot;&amp;")
    assert fullmatch(written_key(literal("a&"), bound("glm45")), "a&")
