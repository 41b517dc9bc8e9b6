import pytest
from hypothesis import given

from enforcer.errors import SchemaLimit
from enforcer.regex import ANY, NOTHING, both, either, fullmatch, inverse, length, literal, parse
from enforcer.regex.syntax import Regex
from enforcer.schema.algebra.languages import Languages
from enforcer.schema.limits import Limits
from tests.languages import languages, texts


@given(languages, languages, texts())
def test_meeting_is_intersection_or_none_if_empty(one: Regex, other: Regex, text: str) -> None:
    found = Languages(Limits()).meet_strings(one, other)
    member = fullmatch(one, text) and fullmatch(other, text)
    assert (found is not None and fullmatch(found, text)) == member


@given(languages, texts())
def test_what_is_empty_has_no_member(language: Regex, text: str) -> None:
    if Languages(Limits()).is_empty_regex(language):
        assert not fullmatch(language, text)


def test_nothing_meets_nothing() -> None:
    sets = Languages(Limits())
    assert sets.meet_strings(None, ANY) is None
    assert sets.meet_strings(ANY, None) is None
    assert sets.meet_strings(literal("a"), literal("b")) is None
    assert (
        sets.meet_strings(ANY, literal("b")) == literal("b") == sets.meet_strings(literal("b"), ANY)
    )
    assert sets.is_empty_regex(NOTHING)
    assert sets.is_empty_regex(both(parse("^a"), inverse(parse("a"))))
    assert not sets.is_empty_regex(ANY)


def test_what_is_not_decided_within_the_budget_counts_as_inhabited() -> None:
    hard = both(parse("^(a|b)*a(a|b){8}$"), parse("^(a|b)*b(a|b){8}$"))
    assert Languages(Limits()).is_empty_regex(hard)
    assert not Languages(Limits(regex_states=3)).is_empty_regex(hard)


def test_members_are_listed_up_to_a_limit() -> None:
    sets = Languages(Limits())
    few = either(literal("a"), literal("b"), literal("cd"))
    assert sorted(sets.members(few, 3)) == ["a", "b", "cd"]
    assert sets.members(few, 2) is None
    assert sets.members(length(0, None), 100) is None


def test_languages_that_combine_to_one_too_large_are_over_a_limit() -> None:
    one, other = parse("^a{20}b"), inverse(parse("c{20}d$"))
    assert Languages(Limits()).meet_strings(one, other) is not None
    with pytest.raises(SchemaLimit, match="too large"):
        Languages(Limits(regex_size=5)).meet_strings(one, other)


def test_work_is_counted_up_to_the_limit() -> None:
    sets = Languages(Limits(steps=10))
    sets.spend(10)
    with pytest.raises(SchemaLimit, match="limit `steps`"):
        sets.spend(1)


def test_asking_whether_a_language_is_empty_costs_where_it_takes_a_search() -> None:
    hard = both(parse("^a"), inverse(parse("b")))
    sets = Languages(Limits(steps=1))
    assert not sets.is_empty_regex(literal("a"))
    with pytest.raises(SchemaLimit):
        sets.is_empty_regex(hard)
    sets = Languages(Limits(steps=1_000))
    for _ in range(1_000):
        assert not sets.is_empty_regex(hard)  # asked once
