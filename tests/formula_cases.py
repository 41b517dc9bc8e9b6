"""Formulas over scalars that are decided by evaluating them, to compare an algebra with.

Owns: drawing expressions, building them in an arena, and what they mean. Must not know: how an
algebra works anything out.
"""

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from enforcer.numbers.sets import INTEGERS, REALS, NumberSet, contains, single
from enforcer.regex import ANY, fullmatch, inverse, literal, parse
from enforcer.schema.algebra.formulas import Formulas
from enforcer.schema.algebra.normal_form import Algebra
from enforcer.schema.grammar import ANYTHING, Formula, Value
from enforcer.schema.limits import Limits

WORLDS = (None, True, False, Fraction(0), Fraction(1), Fraction(5, 2), Fraction(-7), "", "a", "ab")
ATOMS = (
    Value(),
    ANYTHING,
    Value(null=True),
    Value(booleans=frozenset({True})),
    Value(booleans=frozenset({True, False}), null=True),
    Value(numbers=(REALS,)),
    Value(numbers=(INTEGERS,), strings=literal("a")),
    Value(numbers=(single(Fraction(1)), NumberSet(high=Fraction(0), high_open=True))),
    Value(strings=ANY),
    Value(strings=inverse(literal("a")), null=True),
    Value(strings=parse("^a")),
)

# ("value", index), ("not", x), or ("and" | "or" | "one of", parts)
expressions = st.recursive(
    st.tuples(st.just("value"), st.integers(0, len(ATOMS) - 1)),
    lambda inner: (
        st.tuples(st.just("not"), inner)
        | st.tuples(st.sampled_from(["and", "or", "one of"]), st.lists(inner, max_size=4))
    ),
    max_leaves=8,
)


def arena(targets: dict[Hashable, Any] | None = None, limits: Limits | None = None) -> Algebra:
    """Give an algebra whose references lead to the formulas of a dictionary."""
    targets = {} if targets is None else targets
    return Algebra(limits or Limits(), targets.__getitem__, lambda key: f"$.{key}")


def build(arena: Formulas, expression: Any) -> Formula:
    """Build an expression's formula."""
    kind, content = expression
    if kind == "value":
        return arena.value(ATOMS[content])
    if kind == "not":
        return arena.neg(build(arena, content))
    parts = [build(arena, each) for each in content]
    return {"and": arena.conj, "or": arena.disj, "one of": arena.one_of}[kind](parts)


def holds(expression: Any, world: Any) -> bool:
    """Tell whether an expression holds for a scalar."""
    kind, content = expression
    if kind == "value":
        return fits(ATOMS[content], world)
    if kind == "not":
        return not holds(content, world)
    found = sum(holds(each, world) for each in content)
    return {"and": found == len(content), "or": found > 0, "one of": found == 1}[kind]


def fits(value: Value, world: Any) -> bool:
    """Tell whether a scalar is among a value's."""
    if world is None:
        return value.null
    if isinstance(world, bool):
        return world in value.booleans
    if isinstance(world, str):
        return value.strings is not None and fullmatch(value.strings, world)
    return any(contains(each, world) for each in value.numbers)
