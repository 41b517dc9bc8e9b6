from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex.bdd import FALSE, TRUE, Diagrams, TooManyNodesError

if TYPE_CHECKING:
    from collections.abc import Callable


_formulas = st.recursive(
    st.one_of(st.integers(0, 4), st.booleans()),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=12,
)


# A variable, a constant, or an operator's name and what it is applied to.
_Formula = Any


def _value(
    formula: _Formula,
    assignment: tuple[bool, ...],
) -> bool:
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return assignment[formula]
    operator, *inner = formula
    values = [_value(f, assignment) for f in inner]
    meaning: dict[str, Callable[[list[bool]], bool]]
    meaning = {"not": lambda parts: not parts[0], "and": all, "or": any}
    return meaning[operator](values)


def _build(
    store: Diagrams,
    formula: _Formula,
) -> int:
    if isinstance(formula, bool):
        return TRUE if formula else FALSE
    if isinstance(formula, int):
        return store.variable(formula)
    operator, *inner = formula
    built = [_build(store, f) for f in inner]
    made: dict[str, Callable[..., int]]
    made = {"not": store.inverse, "and": store.both, "or": store.either}
    return made[operator](*built)


def _table(
    formula: _Formula,
) -> list[bool]:
    return [_value(formula, bits) for bits in product((False, True), repeat=5)]


@given(_formulas, _formulas)
def test_diagrams_are_equal_exactly_if_the_functions_are(
    left: int | tuple[int | str | tuple[int | str | tuple[str, bool], ...], ...],
    right: int
    | tuple[int | str | tuple[int | str | tuple[str, bool | tuple[str, bool, bool]], ...], ...],
) -> None:
    store = Diagrams(10_000)
    assert (_build(store, left) == _build(store, right)) == (_table(left) == _table(right))


@given(_formulas)
def test_substitution_evaluates(
    formula: int | tuple[int | str | tuple[int | str, ...], ...],
) -> None:
    store = Diagrams(10_000)
    built = _build(store, formula)
    for bits in product((False, True), repeat=5):
        found = store.substitute(built, lambda number: int(bits[number]))  # noqa: B023
        assert found == int(_value(formula, bits))


def test_the_limit_holds() -> None:
    store = Diagrams(5)
    for number in range(3):
        store.variable(number)
    with pytest.raises(TooManyNodesError):
        store.variable(3)
