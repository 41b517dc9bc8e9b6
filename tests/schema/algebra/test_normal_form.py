"""The normal form holds for what its formula holds for; and references in circles."""

from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import SchemaLimit, UnsupportedSchema
from enforcer.schema.grammar import ANYTHING, NEVER, NOTHING, ArrayShape, ObjectShape, Value
from enforcer.schema.limits import Limits
from tests.formula_cases import ATOMS, WORLDS, arena, build, expressions, fits, holds


@given(expressions)
def test_a_normal_form_holds_for_what_its_formula_holds_for(expression: tuple[str, Any]) -> None:
    algebra = arena()
    value = algebra.normal(build(algebra, expression))
    for world in WORLDS:
        assert fits(value, world) == holds(expression, world), world


@given(expressions)
def test_a_reference_stands_for_its_target(expression: tuple[str, Any]) -> None:
    targets: dict[Hashable, Any] = {}
    algebra = arena(targets)
    targets["a"] = build(algebra, expression)
    there = algebra.normal(algebra.reference("a"))
    other = algebra.normal(algebra.neg(algebra.reference("a")))
    for world in WORLDS:
        assert fits(there, world) == holds(expression, world)
        assert fits(other, world) != holds(expression, world)


@given(expressions, expressions)
def test_empty_and_disjoint_share_no_members(one: tuple[str, Any], other: tuple[str, Any]) -> None:
    algebra = arena()
    a, b = build(algebra, one), build(algebra, other)
    if algebra.is_empty(a):
        assert not any(holds(one, world) for world in WORLDS)
    if not algebra.overlap(a, b):
        assert not any(holds(one, world) and holds(other, world) for world in WORLDS)


@given(expressions, st.sampled_from(range(len(ATOMS))))
def test_narrowing_is_intersection(expression: tuple[str, Any], atom: int) -> None:
    algebra = arena()
    part, by = algebra.value(ATOMS[atom]), build(algebra, expression)
    value = algebra.normal(algebra.narrowed(part, by))
    for world in WORLDS:
        assert fits(value, world) == (fits(ATOMS[atom], world) and holds(expression, world))


def test_exactly_one_of_a_constant_and_its_type() -> None:
    algebra = arena()
    value = algebra.normal(algebra.one_of([algebra.value(ATOMS[5]), algebra.value(ATOMS[7])]))
    assert not fits(value, 1)
    assert fits(value, 0)


def test_what_is_unknown_restricts_nothing_negated_or_not() -> None:
    algebra = arena()
    unknown = algebra.unknown("why")
    string = algebra.value(ATOMS[8])
    assert algebra.normal(unknown) == ANYTHING
    for part in (unknown, algebra.neg(unknown)):
        assert algebra.normal(algebra.conj((string, part))) == ATOMS[8]


@pytest.mark.parametrize("negated", [False, True])
def test_a_reference_to_itself_has_no_meaning_and_says_where(negated: bool) -> None:
    targets: dict[Hashable, Any] = {}
    algebra = arena(targets)
    reference = algebra.reference("loop")
    targets["loop"] = algebra.neg(reference) if negated else reference
    with pytest.raises(UnsupportedSchema, match="break the loop") as caught:
        algebra.normal(reference)
    assert caught.value.path == "$.loop"


def test_recursion_through_a_property_has_a_meaning() -> None:
    targets: dict[Hashable, Any] = {}
    algebra = arena(targets)
    reference = algebra.reference("tree")
    shape = ObjectShape(names=(("kid", reference),))
    targets["tree"] = algebra.value(Value(null=True, objects=(shape,)))
    assert algebra.normal(reference) == Value(null=True, objects=(shape,))
    assert not algebra.is_empty(reference)
    assert algebra.normal(algebra.conj((reference, algebra.neg(reference)))) == NOTHING


def test_what_is_plain_is_told_at_once() -> None:
    algebra = arena()
    assert algebra.plainly(NEVER) is None
    assert algebra.plainly(algebra.value(ATOMS[2])) == ATOMS[2]
    listed = [algebra.is_listed(algebra.value(each)) for each in ATOMS]
    assert listed == [False, False, True, True, True, *[False] * 6]
    for each in (Value(objects=(ObjectShape(),)), Value(arrays=(ArrayShape(),))):
        assert not algebra.is_listed(algebra.value(each))


def test_alternatives_are_bounded_and_say_where_they_come_from() -> None:
    algebra = arena(limits=Limits(branches=2))
    shapes = tuple(ArrayShape(minimum=n, maximum=n, path="$.a") for n in range(3))
    parts = [algebra.value(Value(arrays=(shape,))) for shape in shapes]
    assert len(algebra.normal(algebra.disj(parts[:2])).arrays) == 2
    with pytest.raises(SchemaLimit, match="more than 2 alternatives") as caught:
        algebra.normal(algebra.disj(parts))
    assert caught.value.path == "$.a"


def of_arrays(prefix: int) -> Value:
    return Value(arrays=tuple(ArrayShape(minimum=n, maximum=n + prefix) for n in range(9)))


def of_objects(word: str) -> Value:
    return Value(objects=tuple(ObjectShape(required=frozenset({f"{word}{n}"})) for n in range(9)))


@pytest.mark.parametrize(
    ("one", "other"),
    [(of_arrays(3), of_arrays(5)), (of_objects("a"), of_objects("b"))],
    ids=["arrays", "objects"],
)
def test_the_work_of_a_product_is_counted(one: Value, other: Value) -> None:
    def met(steps: int) -> Value:
        algebra = arena(limits=Limits(steps=steps))
        return algebra.normal(algebra.conj((algebra.value(one), algebra.value(other))))

    assert met(9 * 9) != NOTHING
    with pytest.raises(SchemaLimit, match="limit `steps`"):
        met(9 * 9 - 1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_of_several_values_those_with_few_alternatives_come_first(place: int) -> None:
    values = [of_objects("a"), of_objects("b")]
    values.insert(place, Value(objects=(ObjectShape(required=frozenset({"c"})),)))
    # 191 steps are enough; with those of many alternatives first it takes 243.
    algebra = arena(limits=Limits(steps=200))
    met = algebra.normal(algebra.conj([algebra.value(each) for each in values]))
    assert len(met.objects) == 9 * 9


def test_the_parts_of_a_formula_are_what_it_combines() -> None:
    targets: dict[Hashable, Any] = {}
    algebra = arena(targets)
    one, other = algebra.value(ATOMS[2]), algebra.value(ATOMS[8])
    targets["a"] = one
    assert algebra.parts(one) == algebra.parts(algebra.unknown("why")) == ()
    assert algebra.parts(algebra.reference("a")) == (one,)
    assert algebra.parts(algebra.neg(one)) == (one,)
    for both in (algebra.conj, algebra.disj, algebra.one_of):
        assert set(algebra.parts(both((one, other)))) == {one, other}
