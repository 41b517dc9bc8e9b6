from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.sets import (
    NumberSet,
    candidates,
    complement,
    contains,
    is_empty,
    meet,
    single,
)

VALUES = st.fractions(-4, 4, max_denominator=4)
BOUNDS = st.none() | VALUES
DIVISORS = st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 4)])
SETS = st.builds(
    NumberSet,
    BOUNDS,
    st.booleans(),
    BOUNDS,
    st.booleans(),
    st.none() | DIVISORS,
    st.frozensets(DIVISORS, max_size=2),
)


@given(SETS, SETS, VALUES)
def test_meet_is_intersection(one: NumberSet, other: NumberSet, value: Fraction) -> None:
    both = meet(one, other)
    expected = contains(one, value) and contains(other, value)
    assert (both is not None and contains(both, value)) == expected


@given(SETS, VALUES)
def test_complement_is_the_rest(numbers: NumberSet, value: Fraction) -> None:
    assert any(contains(each, value) for each in complement(numbers)) != contains(numbers, value)


@given(SETS, VALUES)
def test_a_set_with_a_member_is_not_empty(numbers: NumberSet, value: Fraction) -> None:
    assert not (contains(numbers, value) and is_empty(numbers))


@given(SETS)
def test_candidates_are_the_members(numbers: NumberSet) -> None:
    listed = candidates(numbers, 100)
    if listed is not None:
        assert all(contains(numbers, each) for each in listed)
        grid = (Fraction(n, 8) for n in range(-40, 41))
        assert {each for each in grid if contains(numbers, each)} <= set(listed)


def test_a_single_number_has_no_neighbours() -> None:
    three = single(Fraction(3))
    assert contains(three, Fraction(3))
    assert not contains(three, Fraction(3001, 1000))
    assert meet(three, single(Fraction(4))) is None
