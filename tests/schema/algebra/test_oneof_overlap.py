"""No two alternatives that can hold together are taken for exclusive."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import ANY, literal
from enforcer.schema.algebra.normal_form import Algebra
from enforcer.schema.algebra.oneof_overlap import OneOfOverlap
from enforcer.schema.grammar import Formula, ObjectShape, Value
from tests.formula_cases import WORLDS, arena, build, expressions, holds
from tests.schema_judge import agrees


@given(st.lists(expressions, min_size=2, max_size=5))
def test_what_holds_together_is_a_rival(parts: list[tuple[str, Any]]) -> None:
    algebra = arena()
    formulas = tuple(build(algebra, each) for each in parts)
    found = OneOfOverlap(algebra).of(formulas)
    for i, j in combinations(range(len(parts)), 2):
        if any(holds(parts[i], world) and holds(parts[j], world) for world in WORLDS):
            assert formulas[j] in found[i]
            assert formulas[i] in found[j]


def kind(algebra: Algebra, *words: str, required: bool = True) -> Formula:
    either = [algebra.value(Value(strings=literal(word))) for word in words]
    names = (("kind", algebra.disj(either)), ("more", algebra.value(Value(strings=ANY))))
    shape = ObjectShape(names=names, required=frozenset({"kind"} if required else ()))
    return algebra.value(Value(objects=(shape,)))


def test_a_kind_tells_apart_without_asking_for_each_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    algebra = arena()
    parts = tuple(kind(algebra, f"k{i}") for i in range(60))
    asked: list[tuple[Formula, ...]] = []
    monkeypatch.setattr(algebra, "overlap", lambda *pair: asked.append(pair))
    assert OneOfOverlap(algebra).of(parts) == [[] for _ in parts]
    assert not asked


def test_kinds_that_share_a_word_are_rivals_and_optional_ones_too() -> None:
    algebra = arena()
    one, two = kind(algebra, "a", "b"), kind(algebra, "b", "c")
    three, perhaps = kind(algebra, "d"), kind(algebra, "b", required=False)
    found = OneOfOverlap(algebra).of((one, two, three, perhaps))
    assert found == [[two, perhaps], [one, perhaps], [], [one, two]]


_branches = st.fixed_dictionaries(
    {"properties": st.fixed_dictionaries({"kind": st.sampled_from(
        [{"const": "a"}, {"const": "b"}, {"enum": ["a", "c"]}, {"type": "string"}, {"const": 1}]
    )})},
    optional={"required": st.just(["kind"])},
)  # fmt: skip


_scalars = st.sampled_from(["null", "boolean", "number", "integer", "string", "array"])


@given(st.lists(_scalars, min_size=1, max_size=2), st.sampled_from(["a", "b"]))
def test_a_kind_tells_nothing_where_a_value_is_no_object(types: list[str], other: str) -> None:
    """Two that both allow a number hold together, whatever their objects' kinds are."""
    kinds = [
        {
            "type": [*types, "object"],
            "properties": {"kind": {"const": word}},
            "required": ["kind"],
        }
        for word in ("a", other)
    ]
    agrees({"oneOf": kinds}, [None, True, 1, 1.5, "x", [], {}, {"kind": "a"}, {"kind": "b"}])


@given(st.lists(_branches, min_size=2, max_size=4))
def test_one_of_by_a_kind(branches: list[dict[str, Any]]) -> None:
    instances = [{}, *({"kind": word} for word in ("a", "b", "c", "d", 1, 2))]
    agrees({"type": "object", "oneOf": branches}, instances)
