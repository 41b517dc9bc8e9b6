"""Spellings of strings and numbers against Python's own JSON reader."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import divisible
from enforcer.numbers.sets import INTEGERS, REALS, NumberSet, contains, single
from enforcer.regex import ANY, both, either, fullmatch, inverse, length, literal, parse
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import chars, concat, repeat
from enforcer.regex.syntax import Regex
from enforcer.spelling import INDENTATION, WHITE_SPACE, json_chars, spelled, xml_chars


def strings(regex: Regex) -> Regex:
    """Return the JSON strings of a language's members."""
    return concat(literal('"'), spelled(regex, json_chars), literal('"'))


STRINGS = strings(ANY)
LETTERS = st.text("ab01-", max_size=7)
SETS = [
    REALS,
    INTEGERS,
    single(Fraction("3.33")),
    NumberSet(low=Fraction(1), high=Fraction(100), multiple=Fraction(1)),
    NumberSet(low=Fraction(0), low_open=True, high=Fraction(1)),
    NumberSet(multiple=Fraction(1, 4)),
]
BOOLEAN = [
    inverse(literal("ab")),
    both(parse("a"), inverse(parse("b"))),
    either(inverse(length(0, 2)), literal("é")),
    concat(repeat(either(literal("a"), literal("🙂")), 1, 2), inverse(literal("b"))),
]


def is_string(text: str) -> bool:
    try:
        return isinstance(json.loads(text), str) and bool(json.loads(text).encode() or True)
    except (ValueError, UnicodeEncodeError):
        return False


@given(st.text(st.sampled_from('"\\/bnu0dD8ceF\té🙂'), max_size=14).map(lambda s: f'"{s}"'))
def test_strings_are_what_json_reads(text: str) -> None:
    assert fullmatch(STRINGS, text) == is_string(text)


@given(st.text(max_size=4), st.text(max_size=4))
def test_a_text_is_spelled_in_every_way_and_is_no_other_text(one: str, other: str) -> None:
    if not is_string(json.dumps(one)) or not is_string(json.dumps(other)):
        return
    language = strings(literal(one))
    units = one.encode("utf-16-be").hex()
    escapes = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
    forms = [json.dumps(one), json.dumps(one, ensure_ascii=False), f'"{escapes}"']
    assert all(fullmatch(language, form) for form in forms)
    assert fullmatch(language, json.dumps(other)) == (one == other)


@given(
    st.sets(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
    st.characters(exclude_categories=["Cs"]),
)
def test_one_character_of_a_set(members: set[str], char: str) -> None:
    language = strings(chars(CharSet.span(*members)))
    for form in (json.dumps(char), json.dumps(char, ensure_ascii=False)):
        assert fullmatch(language, form) == (char in members)


@pytest.mark.parametrize("numbers", SETS, ids=str)
@given(value=st.integers(-130, 130) | st.decimals(-3, 3, places=2))
def test_numbers_are_spelled_if_they_are_members(numbers: NumberSet, value: Decimal | int) -> None:
    is_member = contains(numbers, Fraction(str(value)))
    assert fullmatch(number_texts(numbers), str(value)) == is_member
    # Not every set has scientific spellings, but none has one of another number.
    assert is_member or not fullmatch(number_texts(numbers), f"{value:e}")


@pytest.mark.parametrize("text", ["01", "1.", ".5", "+1", "1e", "0x1", "", "-", "1" * 60, "NaN"])
def test_what_is_no_number_or_endless(text: str) -> None:
    assert not fullmatch(number_texts(REALS), text)


@pytest.mark.parametrize("regex", BOOLEAN, ids=range(len(BOOLEAN)))
@given(text=st.text("abé🙂", max_size=4), ascii_only=st.booleans())
def test_operators_are_spelled_by_their_operands(regex: Regex, text: str, ascii_only: bool) -> None:
    written = json.dumps(text, ensure_ascii=ascii_only)
    assert fullmatch(strings(regex), written) == fullmatch(regex, text)
    assert not fullmatch(spelled(regex, json_chars), "\\x")


@given(text=st.text("ab", max_size=5))
def test_any_rule_of_writing_characters_is_a_spelling(text: str) -> None:
    written = "".join(f"{char}!" for char in text)
    for regex in BOOLEAN:
        language = spelled(regex, lambda members: concat(chars(members), literal("!")))
        assert fullmatch(language, written) == fullmatch(regex, text)


def test_states_of_automata_have_no_spelling() -> None:
    found = divisible(7)
    assert found is not None
    with pytest.raises(TypeError, match="automata"):
        spelled(found, json_chars)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *((" ", True), ("\n", True), ("\r\n \t", True), ("  ", False), ("\r", False), ("", False)),
        *(("\n" + " " * INDENTATION, True), ("\n" + " " * (INDENTATION + 1), False)),
    ],
)
def test_white_space_is_what_printers_write(text: str, is_one: bool) -> None:
    assert fullmatch(WHITE_SPACE, text) == is_one


@given(text=st.text('a&;"<é', max_size=5))
def test_attributes_are_written_in_one_way(text: str) -> None:
    written = text.replace("&", "&amp;").replace('"', "&quot;")
    assert fullmatch(spelled(literal(text), xml_chars), written)
    assert fullmatch(spelled(ANY, xml_chars), text) == (
        text.replace("&", "").replace('"', "") == text
    )
    assert written.replace("&quot;", '"').replace("&amp;", "&") == text
