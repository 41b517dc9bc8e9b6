"""The bits of a rule's parameter, worked out as llguidance does, against what they stand for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.llguidance import tracking
from enforcer.engines.llguidance.tracking import Tracking, Way
from enforcer.errors import UnsupportedSchema
from enforcer.regex import ANY
from enforcer.schema.algebra.shapes import ALWAYS as ANY_FORMULA
from enforcer.schema.finishing.presence import Merged, Term
from enforcer.schema.grammar import NEVER, ObjectShape, ValueId
from enforcer.schema.limits import BITS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.schema.finishing.presence import Property

ALWAYS = ValueId(ANY_FORMULA)
_PART = re.compile(r"(\w+)\(|\[(\d+):(\d+)\]|(0x[0-9a-f]+|\d+)|[(), ]")


def evaluate(condition: str, bits: int) -> bool:
    """Tell whether a condition holds of a parameter, by llguidance's documentation."""
    tokens = [found for found in _PART.finditer(condition) if found[1] or found[2] or found[4]]
    tree, rest = _read(tokens, bits)
    assert not rest
    assert isinstance(tree, bool)
    return tree


def _read(tokens: list[re.Match[str]], bits: int) -> tuple[object, list[re.Match[str]]]:
    head, rest = tokens[0], tokens[1:]
    if head[2]:
        low, high = int(head[2]), int(head[3])
        return (low, high, (bits >> low) & ((1 << (high - low)) - 1)), rest
    if head[4]:
        return int(head[4], 0), rest
    first, rest = _read(rest, bits)
    if head[1] in ("and", "or"):
        second, rest = _read(rest, bits)
        return (first and second) if head[1] == "and" else (first or second), rest
    if isinstance(first, int):
        assert head[1] in ("bit_set", "bit_clear")
        return bool(bits >> first & 1) is (head[1] == "bit_set"), rest
    assert isinstance(first, tuple)
    low, high, value = first
    if head[1] == "is_ones":
        return value == (1 << (high - low)) - 1, rest
    limit, rest = _read(rest, bits)
    assert isinstance(limit, int)
    count = value.bit_count() if "count" in head[1] else value
    return count >= limit if head[1].endswith("ge") else count < limit, rest


def changed(change: str, bits: int) -> int:
    """Give the parameter after a property."""
    if change == "_":
        return bits
    name, argument = change[:-1].split("(", 1)
    if name == "set_bit":
        return bits | 1 << int(argument)
    if name == "bit_or":
        return bits | int(argument, 0)
    assert name == "incr"
    low, high = map(int, argument[1:-1].split(":"))
    ones = ((1 << (high - low)) - 1) << low
    return bits if bits & ones == ones else bits + (1 << low)


def permits(kept: Tracking, written: Iterable[Way]) -> bool:
    """Tell whether an object may be of these properties, in this order."""
    reached = {0}
    for way in written:
        reached = {
            changed(change, bits)
            for bits in reached
            for change, conditions in tracking.moves(kept, way)
            if all(evaluate(condition, bits) for condition in conditions)
        }
    ends = tracking.done(kept)
    return any(all(evaluate(condition, bits) for condition in ends) for bits in reached)


def way_of(kept: Tracking, each: Property) -> Way:
    return Way("N", "v", each if each in kept.bits else None)


UNDECLARED = Way("OTHER", "v")


@given(st.data())
def test_an_object_ends_when_its_properties_are_all_there(data: st.DataObject) -> None:
    count = data.draw(st.sampled_from([1, 2, 5, 62, 66]))
    names: list[Property] = [(f"p{i}", ALWAYS) for i in range(count)]
    required = frozenset(data.draw(st.sets(st.sampled_from(names), max_size=60)))
    least = data.draw(st.integers(0, 6))
    most = data.draw(st.none() | st.integers(least, least + 9).map(lambda n: n + len(required)))
    shape = ObjectShape(
        tuple(names),
        ((ANY, ALWAYS),),
        frozenset(name for name, _ in required),
        minimum=least,
        maximum=most,
        distinct_names=True,
    )
    try:
        kept = tracking.plan(Merged(shape, (Term(required),)))
    except UnsupportedSchema:
        assert len(required) + least > BITS // 2
        return
    also = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=9))
    lacks = data.draw(st.sets(st.sampled_from(names), max_size=1))
    present = [each for each in dict.fromkeys([*required, *also]) if each not in lacks]
    others = data.draw(st.integers(0, 8))
    written = data.draw(
        st.permutations([*(way_of(kept, each) for each in present), *[UNDECLARED] * others])
    )
    total = len(present) + others
    fits = required <= set(present) and least <= total and (most is None or total <= most)
    assert permits(kept, written) == fits


@given(st.permutations([("a", ALWAYS), ("b", ALWAYS), ("c", ALWAYS)]), st.integers(0, 3))
def test_what_excludes_each_other(names: list[Property], taken: int) -> None:
    a, b, c = sorted(names)
    terms = (Term(frozenset({a}), frozenset({b})), Term(frozenset({b}), frozenset({a})))
    kept = tracking.plan(Merged(ObjectShape((a, b, c), ()), terms))
    present = names[:taken]
    written = [way_of(kept, each) for each in present]
    assert permits(kept, written) == ((a in present) != (b in present))


def test_a_tracked_name_comes_once() -> None:
    a: Property = ("a", ALWAYS)
    kept = tracking.plan(Merged(ObjectShape((a,), (), maximum=3), (Term(frozenset()),)))
    assert permits(kept, [way_of(kept, a)])
    assert not permits(kept, [way_of(kept, a)] * 2)


@pytest.mark.parametrize(
    ("shape", "keyword"),
    [
        (ObjectShape(tuple((f"p{i}", ALWAYS) for i in range(65)), ()), "required"),
        (
            ObjectShape(tuple((f"p{i}", ALWAYS) for i in range(65)), (), minimum=1, path="$.a"),
            "minProperties",
        ),
    ],
)
def test_what_has_too_few_bits_is_refused(shape: ObjectShape, keyword: str) -> None:
    required = frozenset(shape.names) if keyword == "required" else frozenset()
    with pytest.raises(UnsupportedSchema) as caught:
        tracking.plan(Merged(shape, (Term(required),)))
    (problem,) = caught.value.problems
    assert (problem.path, problem.keyword) == (shape.path, keyword)


def test_names_that_nothing_fits_have_no_bit() -> None:
    shape = ObjectShape((("a", NEVER), ("b", ALWAYS)), ())
    kept = tracking.plan(Merged(shape, (Term(frozenset({("b", ALWAYS)})),)))
    assert kept.bits == {("b", ALWAYS): 0}
