"""The tables that count elements, against counting them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsupportedSchema
from enforcer.schema.grammar import NEVER, ArrayShape, Contains, ElementChoice, ValueId
from enforcer.schema.lowering import counting
from enforcer.schema.lowering.counting import Tallies, tallies_of

NEITHER, ONE, BOTH = (ValueId(n) for n in (5, 6, 7))
CHOICES = (
    ElementChoice(NEITHER),
    ElementChoice(ONE, counted=(0,)),
    ElementChoice(BOTH, counted=(0, 1)),
)
# A least count above the greatest is no shape any more: `ArraySets.tidy` sees to that.
_counts = st.sampled_from(
    [(n, None) for n in range(3)] + [(n, m) for m in range(4) for n in range(min(m, 2) + 1)]
)
_shapes = st.builds(
    lambda counts, minimum, maximum, first: ArrayShape(
        prefix=(),
        rest=NEVER,
        minimum=minimum,
        maximum=maximum,
        contains=tuple(Contains(NEVER, 0, least, most) for least, most in counts),
        choices=(first, CHOICES),
    ),
    st.tuples(_counts, _counts),
    st.integers(0, 3),
    st.none() | st.integers(0, 4),
    st.sampled_from([CHOICES, CHOICES[:1], CHOICES[1:]]),
).filter(lambda array: array.maximum is None or array.minimum <= array.maximum)


def fits(array: ArrayShape, word: tuple[ElementChoice, ...]) -> bool:
    """Tell by counting whether a word of choices is one of the array's."""
    if len(word) < array.minimum or len(word) > (7 if array.maximum is None else array.maximum):
        return False
    if word and word[0] not in array.choices[0]:
        return False
    for i, each in enumerate(array.contains):
        count = sum(i in choice.counted for choice in word)
        if count < each.minimum or (each.maximum is not None and count > each.maximum):
            return False
    return True


def after(tallies: Tallies, word: tuple[ElementChoice, ...]) -> int | None:
    """Return the tally behind a word, if each of its beginnings can become complete."""
    tally: int | None = 0 if tallies.can_complete() else None
    for length, choice in enumerate(word, 1):
        if tally is None or choice not in tallies.array.choices[min(length - 1, 1)]:
            return None
        tally = tallies.behind(tally, choice.counted)
        if tally is not None and not tallies.can_complete(length, tally):
            return None
    return tally


@given(_shapes)
def test_an_array_is_accepted_if_its_counts_fit(array: ArrayShape) -> None:
    try:
        tallies = tallies_of(array)
    except UnsupportedSchema as error:
        assert "gaps" in str(error)  # noqa: PT017 - either outcome is right
        return
    lives: set[tuple[ElementChoice, ...]] = set()
    for length in range(7, -1, -1):
        for word in product(CHOICES, repeat=length):
            tally = after(tallies, word)
            accepted = tally is not None and tallies.is_done(tally) and length >= array.minimum
            assert accepted == fits(array, word), word
            # What lives has a continuation that fits, and what has one lives.
            is_alive = accepted or any((*word, each) in lives for each in CHOICES)
            if length < 4:
                assert (tally is not None) == is_alive, word
            if is_alive:
                lives.add(word)


def test_too_many_tallies_are_refused_with_their_place() -> None:
    many = tuple(Contains(NEVER, 0, 0, 200) for _ in range(2))
    array = ArrayShape((), NEVER, contains=many, choices=(CHOICES,), path="$.a")
    with pytest.raises(UnsupportedSchema, match="too large together") as caught:
        tallies_of(array)
    assert caught.value.path == "$.a.contains"


@pytest.mark.parametrize("fewer", [0, 1])
def test_as_many_tallies_as_may_be(fewer: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is counted none to two, and none to one; three ways to fill an element."""
    monkeypatch.setattr(counting, "_MOST_TALLIES", 3 * 2 * 3 - fewer)
    counts = (Contains(NEVER, 0, 0, 2), Contains(NEVER, 0, 1, None))
    array = ArrayShape((), NEVER, maximum=3, contains=counts, choices=(CHOICES,))
    if fewer:
        with pytest.raises(UnsupportedSchema):
            tallies_of(array)
    else:
        assert tallies_of(array).can_complete()
