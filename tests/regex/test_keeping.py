from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import either, literal
from enforcer.regex.derivative import derivative
from enforcer.regex.keeping import Weighed, kept

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex


def texts(count: int, mark: int = 0) -> Regex:
    return either(*(literal(f"{mark}-{at:05}") for at in range(count)))


def test_what_is_asked_again_is_not_worked_out_again() -> None:
    asked = []

    @kept
    def double(regex: Regex, times: int) -> int:
        asked.append(regex)
        return times * regex.size

    small, large = texts(2), texts(100)
    for _ in range(3):
        assert double(small, 2) == 2 * small.size
        assert double(large, 2) == 2 * large.size
    assert double(large, 3) == 3 * large.size
    assert asked == [small, large, large]


def test_an_answer_of_none_is_kept_too() -> None:
    asked = []

    @kept
    def nothing(regex: Regex) -> None:
        asked.append(regex)

    large = texts(100)
    nothing(large)
    nothing(large)
    assert len(asked) == 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 400)), max_size=60))
def test_entries_never_weigh_more_than_they_may(puts: list[tuple[int, int]]) -> None:
    answers: Weighed[int] = Weighed(100_000)
    for key, count in puts:
        answers.put((texts(count, key),), key)
        assert 0 <= answers.weight <= 100_000
    for key, count in puts:
        assert answers.get((texts(count, key),)) in (None, (key,))


def test_the_least_recently_used_goes_first_and_what_is_too_heavy_is_not_kept() -> None:
    weighing: Weighed[int] = Weighed(1 << 30)
    weighing.put((texts(100, 0),), 0)
    answers: Weighed[int] = Weighed(3 * weighing.weight)
    for key in range(3):
        answers.put((texts(100, key),), key)
    assert answers.get((texts(100, 0),)) == (0,)
    answers.put((texts(100, 3),), 3)
    assert answers.get((texts(100, 1),)) is None
    assert answers.get((texts(100, 0),)) == (0,)
    answers.put((texts(1_000, 4),), 4)
    assert answers.get((texts(1_000, 4),)) is None
    assert answers.get((texts(100, 0),)) == (0,)


def test_putting_an_answer_again_does_not_weigh_twice() -> None:
    answers: Weighed[int] = Weighed(1 << 30)
    answers.put((texts(100),), 1)
    once = answers.weight
    answers.put((texts(100),), 1)
    assert answers.weight == once


def test_a_derivative_weighs_with_its_language() -> None:
    large = texts(100)
    small: Weighed[Regex] = Weighed(1 << 30)
    small.put((large, "0"), literal(""))
    both: Weighed[Regex] = Weighed(1 << 30)
    both.put((large, "0"), derivative(large, "0"))
    assert both.weight > 1.5 * small.weight
