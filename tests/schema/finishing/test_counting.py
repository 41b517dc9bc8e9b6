"""The automaton that counts elements, against counting them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsupportedSchema
from enforcer.schema.finishing import counting
from enforcer.schema.finishing.counting import counting_automaton
from enforcer.schema.grammar import NEVER, ArrayShape, Contains, ElementChoice, ValueId

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
)


def fits(array: ArrayShape, word: tuple[ElementChoice, ...]) -> bool:
    """Tell by counting whether a word of choices is one of the array's."""
    if len(word) < array.minimum or len(word) > (4 if array.maximum is None else array.maximum):
        return False
    if word and word[0] not in array.choices[0]:
        return False
    for i, each in enumerate(array.contains):
        count = sum(i in choice.counted for choice in word)
        if count < each.minimum or (each.maximum is not None and count > each.maximum):
            return False
    return True


@given(_shapes)
def test_an_array_is_accepted_if_its_counts_fit(array: ArrayShape) -> None:
    automaton = counting_automaton(array)
    found = False
    for length in range(5):
        for word in product(CHOICES, repeat=length):
            state = automaton.start if automaton.inhabited else None
            for choice in word:
                moves = dict(automaton.moves.get(state, ()))
                state = moves.get(choice.value)
            accepted = state is not None and state in automaton.final
            assert accepted == fits(array, word), word
            found = found or accepted
    assert automaton.inhabited >= found


@given(_shapes)
def test_every_state_can_be_completed(array: ArrayShape) -> None:
    automaton = counting_automaton(array)
    ends = set(automaton.final)
    for _ in automaton.moves:
        ends |= {s for s, out in automaton.moves.items() if any(to in ends for _, to in out)}
    assert set(automaton.moves) <= ends
    assert all(to in automaton.moves for out in automaton.moves.values() for _, to in out)


def test_too_many_states_are_refused_with_their_place() -> None:
    many = tuple(Contains(NEVER, 0, 0, 40) for _ in range(2))
    array = ArrayShape((), NEVER, contains=many, choices=(CHOICES,), path="$.a")
    with pytest.raises(UnsupportedSchema, match="too large together") as caught:
        counting_automaton(array)
    assert caught.value.path == "$.a.contains"


@pytest.mark.parametrize("fewer", [0, 1])
def test_as_many_states_as_may_be(fewer: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four lengths; of what is counted none to two, and none to one."""
    monkeypatch.setattr(counting, "_MOST_STATES", 4 * 3 * 2 - fewer)
    counts = (Contains(NEVER, 0, 0, 2), Contains(NEVER, 0, 1, None))
    array = ArrayShape((), NEVER, maximum=3, contains=counts, choices=(CHOICES,))
    if fewer:
        with pytest.raises(UnsupportedSchema):
            counting_automaton(array)
    else:
        assert counting_automaton(array).inhabited
