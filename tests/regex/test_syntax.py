import pytest

from enforcer.regex import either, literal, syntax
from enforcer.regex.syntax import Regex, cached


def texts(count: int, mark: int = 0) -> Regex:
    return either(*(literal(f"{mark}-{at:05}" + 80 * "x") for at in range(count)))


def test_what_is_asked_again_is_not_worked_out_again() -> None:
    asked = []

    @cached
    def double(regex: Regex, times: int) -> int:
        asked.append(regex)
        return times * regex.size

    small, large = texts(2), texts(1_000)
    for _ in range(3):
        assert double(small, 2) == 2 * small.size
        assert double(large, 2) == 2 * large.size
    assert double(large, 3) == 3 * large.size
    assert asked == [small, large, large]


@pytest.mark.slow
def test_large_languages_do_not_stay() -> None:
    asked = []

    @cached
    def itself(regex: Regex) -> Regex:
        asked.append(regex)
        return regex

    many = [texts(1_000, mark) for mark in range(120)]  # a quarter of a megabyte each, twice
    assert sum(2 * each.weight for each in many) > 64 << 20
    for each in many:
        assert itself(each) is each
    del asked[:]
    assert itself(many[-1]) is many[-1]
    assert not asked  # the last ones are known
    assert itself(many[0]) is many[0]
    assert asked  # the first ones are not


def test_small_languages_stay_by_the_thousand() -> None:
    asked = []

    @cached
    def itself(regex: Regex) -> Regex:
        asked.append(regex)
        return regex

    many = [texts(2, mark) for mark in range(4_000)]
    for _ in range(2):
        for each in many:
            itself(each)
    assert len(asked) == len(many)


@pytest.mark.slow
def test_a_question_may_ask_itself_about_parts_while_all_that_is_kept_goes() -> None:
    @cached
    def count(regex: Regex, mark: int) -> int:
        parts = getattr(regex, "parts", ())
        return sum(count(part, mark) for part in parts) if parts else 1

    large = texts(3_000)
    for mark in range(100):
        assert count(large, mark) == 3_000


def test_a_tuple_weighs_what_its_parts_do_and_an_entry() -> None:
    assert syntax._weight(("ab", ("c",))) == syntax._weight(()) * 4 + 3
