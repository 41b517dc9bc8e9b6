from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex.diagram import FALSE, TRUE, Diagrams, TooManyNodesError

_formulas = st.recursive(
    st.one_of(st.integers(0, 4), st.booleans()),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=12,
)


def _value(formula, assignment):
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return assignment[formula]
    operator, *inner = formula
    values = [_value(f, assignment) for f in inner]
    return {"not": lambda: not values[0], "and": lambda: all(values), "or": lambda: any(values)}[
        operator
    ]()


def _build(store, formula):
    if isinstance(formula, bool):
        return TRUE if formula else FALSE
    if isinstance(formula, int):
        return store.variable(formula)
    operator, *inner = formula
    built = [_build(store, f) for f in inner]
    return {"not": store.inverse, "and": store.both, "or": store.either}[operator](*built)


def _table(formula):
    return [_value(formula, bits) for bits in product((False, True), repeat=5)]


@given(_formulas, _formulas)
def test_diagrams_are_equal_exactly_if_the_functions_are(left, right):
    store = Diagrams(10_000)
    assert (_build(store, left) == _build(store, right)) == (_table(left) == _table(right))


@given(_formulas)
def test_substitution_evaluates(formula):
    store = Diagrams(10_000)
    built = _build(store, formula)
    for bits in product((False, True), repeat=5):
        found = store.substitute(built, lambda number: int(bits[number]))  # noqa: B023
        assert found == int(_value(formula, bits))


def test_the_limit_holds():
    store = Diagrams(5)
    for number in range(3):
        store.variable(number)
    with pytest.raises(TooManyNodesError):
        store.variable(3)
