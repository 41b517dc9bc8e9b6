from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enforcer.numbers.languages import number_texts
from enforcer.numbers.sets import NumberSet
from enforcer.regex import ANY, NOTHING, Regex, both, either, fullmatch, inverse, literal, parse
from enforcer.regex.automata import exploring
from enforcer.regex.automata.exploring import explore
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, chars, concat, length, marker, repeat
from enforcer.regex.formats import regexes
from tests.languages import accepted

_TEXTS = ["".join(each) for count in range(6) for each in product("ab", repeat=count)]
_counts = st.sampled_from([(0, 1), (0, 2), (0, None), (1, 3), (2, 2), (2, 4), (1, None), (3, 3)])


def _combined(inner: st.SearchStrategy[Regex]) -> st.SearchStrategy[Regex]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda parts: concat(*parts)),
        several.map(lambda parts: either(*parts)),
        several.map(lambda parts: both(*parts)),
        inner.map(inverse),
        st.tuples(inner, _counts).map(lambda each: repeat(each[0], *each[1])),
    )


_AB = chars(CharSet.span("ab"))
_leaves = [literal("a"), literal("ab"), _AB, ANY, EPSILON, NOTHING, length(1, 2)]
_expressions = st.recursive(st.sampled_from(_leaves), _combined, max_leaves=8)


def _before_a(least: int, most: int) -> Regex:
    return concat(repeat(_AB, least, most), literal("a"))


@given(st.lists(_expressions, min_size=1, max_size=2).map(tuple))
@example((either(_before_a(1, 2), _before_a(3, 4)),))
@example((either(_before_a(0, 1), _before_a(3, 4)),))
@example((both(repeat(_AB, 0, 4), concat(repeat(_AB, 2, 2), inverse(literal("b")))),))
@example(
    (concat(inverse(literal("a")), literal("b")), repeat(both(_AB, inverse(literal("b"))), 2, 3))
)
@example(
    (
        both(repeat(_AB, 0, None), inverse(literal("a"))),
        repeat(concat(_AB, repeat(_AB, 0, 1)), 2, 2),
    )
)
@settings(deadline=None)
def test_an_automaton_accepts_what_derivatives_match(languages: tuple[Regex, ...]) -> None:
    found = explore(languages)
    for text in _TEXTS:
        expected = sum(1 << k for k, each in enumerate(languages) if fullmatch(each, text))
        assert accepted(found, text) == expected, text


@pytest.mark.slow
@pytest.mark.parametrize(
    "numbers",
    [
        NumberSet(multiple=Fraction(7), low=Fraction(-40), high=Fraction(900)),
        NumberSet(multiple=Fraction(3, 10), not_multiples=frozenset([Fraction(9)])),
        NumberSet(not_multiples=frozenset([Fraction(1)]), low=Fraction(2)),
        NumberSet(low=Fraction(1, 3), high=Fraction(25), high_open=True),
    ],
)
def test_numbers_are_accepted_as_derivatives_match_them(numbers: NumberSet) -> None:
    language = number_texts(numbers)
    found = explore((language,))
    for count in range(6):
        for text in map("".join, product("-0179.e", repeat=count)):
            if count < 5 or "e" not in text:
                assert bool(accepted(found, text)) == fullmatch(language, text), text


def test_only_the_longest_of_equal_runs_is_counted() -> None:
    found = explore((parse("a.{0,200}b$"),))
    assert len(found.accepts) < 410
    for text, fits in (("ab", True), ("a" + "a" * 200 + "b", True), ("a" + "c" * 201 + "b", False)):
        assert bool(accepted(found, text)) == fits


def test_runs_whose_counts_leave_a_gap_stay_two() -> None:
    x = literal("x")
    found = explore(
        (either(concat(repeat(x, 2, 3), literal("y")), concat(repeat(x, 6, 7), literal("y"))),)
    )
    assert [n for n in range(10) if accepted(found, "x" * n + "y")] == [2, 3, 6, 7]


def test_runs_beyond_the_end_of_an_intersection_are_equal() -> None:
    some = concat(
        either(*(concat(literal("ab"[k % 2]), repeat(literal("a"), k, k)) for k in (1, 4))), ANY
    )
    alone = len(explore((both(some, parse("^[ab]{0,9}$")),)).accepts)
    beside = both(some, parse("^[ab]{0,9}$"), parse("^[abc]{0,300}$"))
    assert len(explore((beside,)).accepts) <= alone + 1


def test_markers_are_no_characters_of_complements() -> None:
    found = explore((concat(inverse(literal("a")), marker(3)), marker(3)))
    at = next(i for i, each in enumerate(found.atoms) if each.is_marker)
    assert found.accepts[found.rows[0][at]] == 3
    behind_a = found.rows[0][next(i for i, each in enumerate(found.atoms) if "a" in each)]
    assert found.rows[behind_a][at] == -1


def test_the_deepest_expression_is_explored() -> None:
    language = literal("ab")
    while language.depth < exploring._DEEPEST - 2:
        language = inverse(concat(either(language, literal("b")), literal("a")))
    assert accepted(explore((language,)), "a" * 200) == fullmatch(language, "a" * 200)


@pytest.mark.slow
def test_texts_that_are_patterns_are_explored() -> None:
    found = explore((regexes(),))
    texts = (r"^a{2,5}(?:b|[^\]-])*$", r"[a-f\d]", "(", "a{5,2}", r"(?!x(y(z(?=.))))", "[z-a]")
    assert [bool(accepted(found, each)) for each in texts] == [
        fullmatch(regexes(), each) for each in texts
    ]
