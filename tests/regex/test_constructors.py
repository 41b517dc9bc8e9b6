import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import ANY, NOTHING, both, either, fullmatch, inverse, length, literal, parse
from enforcer.regex.constructors import EPSILON, concat, repeat
from enforcer.regex.syntax import Regex
from tests.languages import PLAIN, languages, texts


@given(languages, languages, texts())
def test_operators_are_those_of_sets(a: Regex, b: Regex, text: str) -> None:
    in_a, in_b = fullmatch(a, text), fullmatch(b, text)
    assert fullmatch(both(a, b), text) == (in_a and in_b)
    assert fullmatch(either(a, b), text) == (in_a or in_b)
    assert fullmatch(inverse(a), text) == (not in_a)


@given(languages, languages, texts(max_size=4))
def test_concatenation_tries_every_split(a: Regex, b: Regex, text: str) -> None:
    splits = any(fullmatch(a, text[:i]) and fullmatch(b, text[i:]) for i in range(len(text) + 1))
    assert fullmatch(concat(a, b), text) == splits


@given(languages, texts(max_size=4))
def test_repetition_is_repeated_concatenation(a: Regex, text: str) -> None:
    assert fullmatch(repeat(a, 2, 2), text) == fullmatch(concat(a, a), text)
    assert fullmatch(repeat(a, 0, 1), text) == (not text or fullmatch(a, text))
    star = repeat(a, 0, None)
    assert fullmatch(star, text) == fullmatch(either(EPSILON, concat(a, star)), text)
    assert fullmatch(repeat(a, 1, 3), text) == any(
        fullmatch(repeat(a, n, n), text) for n in (1, 2, 3)
    )


@given(languages, texts())
def test_derived_attributes_hold(a: Regex, text: str) -> None:
    assert a.nullable == fullmatch(a, "")
    if fullmatch(a, text):
        assert a.shortest <= len(text)
        assert a.longest is None or len(text) <= a.longest


@given(languages, languages)
def test_laws_hold_as_equality(a: Regex, b: Regex) -> None:
    assert both(a, ANY) == a
    assert either(a, NOTHING) == a
    assert both(a, NOTHING) == NOTHING
    assert either(a, a) == a == both(a, a)
    assert inverse(inverse(a)) == a
    assert either(a, b) == either(b, a)
    assert hash(either(a, b)) == hash(either(b, a))
    assert both(a, inverse(a)) == NOTHING
    assert either(a, inverse(a)) == ANY


@pytest.mark.parametrize(
    ("built", "simple"),
    [
        (both(parse("^[a-z]+$"), length(2, 5)), parse("^[a-z]{2,5}$")),
        (both(length(1, 9), length(4, None)), length(4, 9)),
        (both(length(1, 2), length(3, 4)), NOTHING),
        (both(parse("^[0-9]{4}-[0-9]{2}$"), length(0, 7)), parse("^[0-9]{4}-[0-9]{2}$")),
        (both(parse("^[0-9]{4}-[0-9]{2}$"), length(8, None)), NOTHING),
        (both(either(literal("a"), literal("bb")), parse("^b")), literal("bb")),
        (inverse(length(1, None)), EPSILON),
        (inverse(length(4, None)), length(0, 3)),
        (either(literal("a"), literal("b"), parse("^[c-z]$")), parse("^[a-z]$")),
        (repeat(repeat(literal("ab"), 0, None), 1, None), repeat(literal("ab"), 0, None)),
        (parse("^([a-z]{0,9}){5}$"), parse("^[a-z]{0,45}$")),
        (parse("^([a-z]{1,2}){2,3}$"), parse("^[a-z]{2,6}$")),
        (parse("^([a-z]{2,}){3}$"), parse("^[a-z]{6,}$")),
        (concat(literal("a"), literal("b"), EPSILON), literal("ab")),
        (literal("\ud800"), NOTHING),
        (length(3, 2), NOTHING),
        (either(literal("a"), length(0, 0), length(1, None)), ANY),
        (either(literal("a"), length(0, 3), length(4, None)), ANY),
        (both(), ANY),
        (either(), NOTHING),
    ],
)
def test_usual_combinations_collapse(built: Regex, simple: Regex) -> None:
    assert built == simple


def test_large_counts_stay_symbolic() -> None:
    assert parse("^(?:ab|c){1,100000}$").size < 20
    assert length(0, 10**9).size < 5


def test_texts_with_lone_surrogates_are_members_of_nothing() -> None:
    for language in (ANY, inverse(literal("a")), parse("^.$")):
        assert not fullmatch(language, "\ud800")


def test_a_regex_is_frozen() -> None:
    with pytest.raises(AttributeError):
        ANY.nullable = False  # type: ignore[misc]


def test_the_alphabet_of_these_tests_is_sharp_enough() -> None:
    assert fullmatch(parse(f"^[{PLAIN[:4]}]$"), "b")


@given(
    st.integers(0, 4),
    st.integers(0, 4) | st.none(),
    st.integers(0, 4),
    st.integers(0, 4) | st.none(),
    st.integers(0, 20),
)
def test_a_count_of_counts_holds_what_it_says(
    least: int, more: int | None, minimum: int, further: int | None, length_of_text: int
) -> None:
    most = None if more is None else least + more
    maximum = None if further is None else minimum + further
    pattern = f"(?:a{{{least},{'' if most is None else most}}})"
    pattern += f"{{{minimum},{'' if maximum is None else maximum}}}"
    built = repeat(repeat(literal("a"), least, most), minimum, maximum)
    text = "a" * length_of_text
    assert fullmatch(built, text) == bool(re.fullmatch(pattern, text))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3) | st.none()), max_size=4),
    st.booleans(),
)
def test_a_union_of_counts_holds_each(counts: list[tuple[int, int | None]], alone: bool) -> None:
    spans = [(low, None if more is None else low + more) for low, more in counts]
    parts = [repeat(literal("ab"), low, high) for low, high in spans]
    union = either(*parts, *[literal("ab")] * alone)
    for times in range(9):
        held = any(low <= times and (high is None or times <= high) for low, high in spans)
        assert fullmatch(union, "ab" * times) == (held or (alone and times == 1))


def test_counts_that_touch_are_one() -> None:
    def times(low: int, high: int | None) -> Regex:
        return repeat(literal("ab"), low, high)

    assert either(literal("ab"), times(2, 3)) == times(1, 3)
    assert either(times(4, None), times(2, 3)) == times(2, None)
    assert either(times(2, 5), times(3, 4), EPSILON, literal("ab")) == times(0, 5)
    assert either(times(2, 2), times(4, 4)) != times(2, 4)
