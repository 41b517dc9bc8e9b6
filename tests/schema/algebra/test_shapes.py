from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import ANY, literal
from enforcer.schema.algebra.shapes import (
    ALWAYS,
    ArrayShape,
    Contains,
    Formula,
    ObjectShape,
    Value,
    Witness,
    least,
)

MAXIMA = st.none() | st.integers(0, 5)


@given(MAXIMA, MAXIMA, st.integers(0, 6))
def test_the_least_of_two_maxima_bounds_what_both_bound(
    a: int | None, b: int | None, count: int
) -> None:
    def within(maximum: int | None) -> bool:
        return maximum is None or count <= maximum

    assert within(least(a, b)) == (within(a) and within(b))


def test_every_child_is_mentioned() -> None:
    f = [Formula(i) for i in range(10)]
    array = ArrayShape(prefix=(f[2], f[3]), rest=f[4], contains=(Contains(f[5], 0, 1, None),))
    shape = ObjectShape(
        names=(("a", f[6]),),
        classes=((literal("b"), f[7]), (ANY, f[8])),
        witnesses=(Witness(ANY, f[9]),),
    )
    assert sorted(Value(arrays=(array,), objects=(shape,)).children()) == f[2:]


def test_other_children_stand_where_these_do() -> None:
    array = ArrayShape((Formula(2),), Formula(3), contains=(Contains(Formula(4), 0, 1, None),))
    shape = ObjectShape((("a", Formula(5)),), ((ANY, ALWAYS),), witnesses=(Witness(ANY, ALWAYS),))
    value = Value(null=True, arrays=(array,), objects=(shape,))
    other = value.mapped(lambda formula: Formula(formula + 10))
    assert [*other.children()] == [formula + 10 for formula in value.children()]
    assert other.mapped(lambda formula: Formula(formula - 10)) == value


def test_where_a_shape_comes_from_is_no_part_of_what_it_is() -> None:
    assert ObjectShape(path="$.a") == ObjectShape(path="$.b")
    assert len({ArrayShape(path="$.a"), ArrayShape(path="$.b")}) == 1
    assert Contains(ALWAYS, 0, 1, None, "$.a") == Contains(ALWAYS, 0, 1, None, "$.b")
    assert Witness(ANY, ALWAYS, "$.a") == Witness(ANY, ALWAYS, "$.b")
