"""Shapes and values: each child is named, and can be another."""

from enforcer.regex import ANY, inverse, literal
from enforcer.schema.grammar import (
    ALWAYS,
    NEVER,
    ArrayShape,
    Contains,
    ElementChoice,
    Formula,
    Mark,
    ObjectShape,
    Value,
    Witness,
    fresh,
)

N = [Formula(i) for i in range(13)]
ARRAY = ArrayShape(
    (N[2], N[3]),
    N[4],
    contains=(Contains(N[11], 0, 1, None),),
    choices=((ElementChoice(N[5]), ElementChoice(N[6], (0,))),),
)
A = literal("a")
OBJECT = ObjectShape(
    (("b", N[7]),),
    ((A, N[8]), (inverse(A), N[9])),
    witnesses=(Witness(ANY, N[12], "$.not"),),
    marks=(Mark(ANY, N[10], 0),),
)
VALUE = Value(null=True, arrays=(ARRAY,), objects=(OBJECT,))


def test_every_child_is_named() -> None:
    assert sorted(VALUE.children()) == N[2:]


def test_other_children_stand_where_these_do() -> None:
    other = VALUE.mapped(lambda number: Formula(number + 20))
    assert [*other.children()] == [number + 20 for number in VALUE.children()]
    assert other.mapped(lambda number: Formula(number - 20)) == VALUE


def test_the_child_of_a_name_is_the_declared_one_or_that_of_its_class() -> None:
    assert [OBJECT.child(name) for name in "abc"] == [N[8], N[7], N[9]]
    assert ObjectShape((), ()).child("a") == NEVER


def test_where_a_shape_comes_from_is_no_part_of_what_it_is() -> None:
    assert ObjectShape(path="$.a") == ObjectShape(path="$.b")
    assert len({ArrayShape(path="$.a"), ArrayShape(path="$.b")}) == 1
    assert Contains(ALWAYS, 0, 1, None, "$.a") == Contains(ALWAYS, 0, 1, None, "$.b")
    assert Witness(ANY, ALWAYS, "$.a") == Witness(ANY, ALWAYS, "$.b")


def test_a_fresh_number_stands_for_nothing_yet() -> None:
    assert fresh({NEVER: Value(), N[4]: VALUE}) == N[5]


def test_a_shape_of_whose_elements_and_properties_nothing_is_said_asks_for_nothing() -> None:
    array, properties = ArrayShape((), N[2]), ObjectShape((), ((ANY, N[2]),))
    assert (array.minimum, array.maximum, array.contains) == (0, None, ())
    assert not array.unique
    assert (properties.required, properties.witnesses) == (frozenset(), ())
    assert (properties.minimum, properties.maximum) == (0, None)
    assert not properties.distinct_names
