"""Formulas mean what they were built from, whatever is simplified on the way."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema.algebra.formulas import (
    And,
    FormulaReference,
    Formulas,
    Not,
    OneOf,
    Or,
    Unknown,
    is_of_objects,
)
from enforcer.schema.grammar import ALWAYS, ANY_OBJECT, ANYTHING, NEVER, NOTHING, Formula, Value
from tests.formula_cases import ATOMS, WORLDS, build, expressions, fits, holds


def meaning(arena: Formulas, formula: Formula, world: bool | Fraction | str | None) -> bool:
    """Evaluate a formula as it stands in its arena."""
    node = arena.look(formula)
    if isinstance(node, Value):
        return fits(node, world)
    if isinstance(node, Not):
        return not meaning(arena, node.part, world)
    assert isinstance(node, And | Or | OneOf)
    found = sum(meaning(arena, part, world) for part in node.parts)
    return {And: found == len(node.parts), Or: found > 0, OneOf: found == 1}[type(node)]


@given(expressions)
def test_a_formula_means_what_it_was_built_from(expression: tuple[str, Any]) -> None:
    arena = Formulas()
    formula = build(arena, expression)
    for world in WORLDS:
        assert meaning(arena, formula, world) == holds(expression, world), world


@given(expressions, expressions)
def test_what_is_plainly_implied_is_implied(one: tuple[str, Any], other: tuple[str, Any]) -> None:
    arena = Formulas()
    a, b = build(arena, one), build(arena, other)
    assert arena.implies(arena.conj((a, b)), a)
    if arena.implies(a, b):
        assert all(holds(other, world) for world in WORLDS if holds(one, world))


@given(expressions, st.sampled_from(ATOMS))
def test_double_negation_and_plain_contradiction(expression: tuple[str, Any], atom: Value) -> None:
    arena = Formulas()
    formula = build(arena, expression)
    assert arena.neg(arena.neg(formula)) == formula
    plain = arena.value(atom)
    assert arena.conj((plain, formula, arena.neg(plain))) == NEVER
    assert arena.disj((arena.neg(plain), formula, plain)) == ALWAYS


@given(st.lists(st.integers(0, len(ATOMS) - 1), max_size=5), st.randoms())
def test_equal_formulas_are_the_same_integer(atoms: list[int], random: Random) -> None:
    arena = Formulas()
    parts = [arena.value(ATOMS[i]) for i in atoms]
    shuffled = random.sample(parts, len(parts))
    for combine in (arena.conj, arena.disj):
        assert combine(parts) == combine([*shuffled, *shuffled])
        assert combine(parts) == combine([combine(parts[:2]), *parts[2:]])


def test_none_and_one_of_no_parts() -> None:
    arena = Formulas()
    assert (arena.conj(()), arena.disj(()), arena.one_of(())) == (ALWAYS, NEVER, NEVER)
    null = arena.value(ATOMS[2])
    assert arena.one_of((NEVER, null)) == null
    # Twice the same is not the same once: then two parts hold.
    assert arena.one_of((null, null)) != null


@pytest.mark.parametrize(("kind", "node"), [("reference", FormulaReference), ("unknown", Unknown)])
def test_what_has_no_value_yet_is_the_same_by_its_key(kind: str, node: type) -> None:
    arena = Formulas()
    make = getattr(arena, kind)
    assert make("a") == make("a") != make("b")
    assert arena.look(make("a")) == node("a")


def test_what_may_be_either_is_neither_denied_nor_affirmed() -> None:
    arena = Formulas()
    unknown = arena.unknown("a")
    assert arena.neg(unknown) == unknown


def test_an_opposite_is_declared_for_both() -> None:
    arena = Formulas()
    one, other = arena.value(ATOMS[6]), arena.value(ATOMS[9])
    arena.oppose(one, other)
    assert arena.neg(one) == other
    assert arena.neg(other) == one


def test_what_allows_objects_alone_is_told_by_a_look() -> None:
    assert is_of_objects(ANY_OBJECT)
    assert not is_of_objects(ANYTHING)
    assert not is_of_objects(NOTHING)
    assert not is_of_objects(Value(null=True))
    assert not is_of_objects(ANY_OBJECT._replace(null=True))
    assert not is_of_objects(Or((NEVER, ALWAYS)))
