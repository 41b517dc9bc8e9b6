"""Merged shapes hold the objects that the shapes hold, asked of every object of three names."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import ANY
from enforcer.schema.algebra.shapes import Formula
from enforcer.schema.finishing import presence
from enforcer.schema.finishing.presence import Term, merge, stays_above
from enforcer.schema.grammar import NEVER, ObjectShape, ValueId

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.schema.finishing.presence import Merged


FREE, SMALL, BIG = (ValueId(Formula(n)) for n in (1, 5, 6))
VALUES = tuple(ValueId(Formula(n)) for n in (7, 8, 9))  # by the cell that they are in
ONE, TWO, _ = VALUES
CELLS = {("a", SMALL): (ONE,), ("a", BIG): (ONE, TWO)}
_OF = {FREE: set(VALUES), SMALL: {ONE}, BIG: {ONE, TWO}, NEVER: set(), ONE: {ONE}, TWO: {TWO}}


def shapes_over(values_of_a: list[int]) -> st.SearchStrategy[Any]:
    names = st.fixed_dictionaries(
        {"a": st.sampled_from(values_of_a), "b": st.sampled_from([FREE, FREE, NEVER])}
    )
    return st.builds(
        lambda names, required, some: ObjectShape(
            names=tuple(names.items()),
            classes=((ANY, NEVER),),
            required=frozenset(n for n in required if names[n] != NEVER),
            some=frozenset({frozenset(some)}) if some else frozenset(),
        ),
        names,
        st.sets(st.sampled_from("ab")),
        st.sets(st.sampled_from("ab"), max_size=2),
    )


def objects() -> Iterator[dict[str, int]]:
    for a, b in product((None, *VALUES), (None, VALUES[0])):
        yield {name: value for name, value in (("a", a), ("b", b)) if value is not None}


def fits(shape: ObjectShape, value: dict[str, int]) -> bool:
    return (
        shape.required <= set(value)
        and all(not clause.isdisjoint(value) for clause in shape.some)
        and all(each in _OF[shape.child(name)] for name, each in value.items())
    )


def fits_merged(merged: Merged, value: dict[str, int]) -> bool:
    """Tell whether an object fits: each property is the one whose value it has."""
    found = set()
    for name, each in value.items():
        known = [x for x in merged.shape.names if x[0] == name and each in _OF[x[1]]]
        if len(known) != 1:
            return False
        found.add(known[0])
    return any(
        term.required <= found
        and term.forbidden.isdisjoint(found)
        and all(not clause.isdisjoint(found) for clause in term.some)
        for term in merged.terms
    )


@pytest.mark.slow
@given(st.lists(shapes_over([FREE, NEVER]), min_size=1, max_size=5))
def test_shapes_that_differ_in_what_is_there(shapes: list[ObjectShape]) -> None:
    merged = merge(shapes, {})
    for value in objects():
        expected = any(fits(shape, value) for shape in shapes)
        assert any(fits_merged(each, value) for each in merged) == expected, value


@given(st.lists(shapes_over([SMALL, BIG, NEVER]), min_size=1, max_size=5))
def test_shapes_that_differ_in_the_values_of_a_name(shapes: list[ObjectShape]) -> None:
    merged = merge(shapes, CELLS)
    for value in objects():
        expected = any(fits(shape, value) for shape in shapes)
        assert any(fits_merged(each, value) for each in merged) == expected, value
    assert len(merged) <= len(merge(shapes, {}))


@pytest.mark.parametrize("limit", ["_MOST_PROPERTIES", "_MOST_CONDITIONS"])
@given(st.lists(shapes_over([SMALL, BIG, NEVER]), min_size=1, max_size=5))
def test_where_cells_are_too_many_shapes_are_merged_without(
    limit: str, shapes: list[ObjectShape]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presence, limit, 0)
        merged = merge(shapes, CELLS)
    for value in objects():
        expected = any(fits(shape, value) for shape in shapes)
        assert any(fits_merged(each, value) for each in merged) == expected, value
    assert all(len(dict(each.shape.names)) == len(each.shape.names) for each in merged)


def shape(names: tuple[tuple[str, ValueId], ...] = (), **more: Any) -> ObjectShape:
    return ObjectShape(names, ((ANY, FREE),), **more)


def requiring(*names: str) -> ObjectShape:
    return shape(names=(("a", FREE), ("b", FREE)), required=frozenset(names))


def test_what_differs_in_presence_alone_is_one() -> None:
    shapes = [requiring("a"), requiring("b"), requiring("a", "b")]
    (merged,) = merge(shapes, {})
    # That both are there follows from either.
    assert len(merged.terms) == 2
    assert not stays_above(shapes, 1)


def test_what_counts_properties_stays_alone() -> None:
    shapes = [requiring("a"), shape(minimum=1), shape(maximum=3), requiring("b")]
    assert len(merge(shapes, {})) == 3
    closed = ObjectShape(names=(("a", SMALL),), classes=((ANY, NEVER),))
    assert stays_above([requiring("a"), closed], 1)


def test_more_terms_than_are_followed_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "_MOST_TERMS", 2)
    shapes = [requiring("a"), requiring("b"), requiring()]
    assert [len(each.terms) for each in merge(shapes, {})] == [2, 1]


@pytest.mark.parametrize(
    ("one", "other", "implied"),
    [
        (({"a", "b"}, set()), ({"a"}, set()), True),
        (({"a"}, set()), ({"a", "b"}, set()), False),
        (({"a"}, {"b"}), ({"a"}, set()), True),
        (({"a"}, set()), ({"a"}, {"b"}), False),
    ],
)
def test_implied_terms(
    one: tuple[set[str], set[str]], other: tuple[set[str], set[str]], implied: bool
) -> None:
    def term(required: set[str], forbidden: set[str]) -> Term:
        return Term(frozenset((n, FREE) for n in required), frozenset((n, FREE) for n in forbidden))

    assert term(*one).implies(term(*other)) is implied
