"""Set operations on object shapes, asked of compiled schemas and checked by `jsonschema`."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import ANY, inverse, literal, parse
from enforcer.schema.grammar import ALWAYS, NEVER, Formula, ObjectShape, Value, Witness
from tests.formula_cases import arena
from tests.schema_judge import agrees
from tests.support.schema_cases import schema_test

_names = st.sampled_from(["a", "b", "ab"])
_values = st.sampled_from(
    [True, False, {"type": "integer"}, {"type": ["integer", "string"]}, {"const": 1}]
)
_objects = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(_names, _values, max_size=3),
        "required": st.lists(_names, max_size=2, unique=True),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), _values, max_size=2),
        "additionalProperties": _values,
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 2),
    },
)
_instances = st.lists(
    st.dictionaries(
        st.sampled_from(["a", "b", "ab", "c"]), st.sampled_from([1, 2, "x"]), max_size=3
    ),
    min_size=6,
    max_size=12,
)


@given(_objects, _objects, _instances)
def test_meet_is_intersection(one: Any, other: Any, instances: Any) -> None:
    agrees({"type": "object", "allOf": [one, other]}, instances)


@given(_objects, _instances)
def test_complement_is_the_rest(schema: dict[str, Any], instances: list[dict[str, Any]]) -> None:
    agrees({"type": "object", "not": schema}, instances)


@given(_objects, _objects, _instances)
def test_difference(one: Any, other: Any, instances: Any) -> None:
    agrees({"type": "object", **one, "not": other}, instances)


test_schemas = schema_test(__file__)


def test_the_child_of_a_name_is_the_declared_one_or_that_of_its_class() -> None:
    one, two, three = (Formula(n) for n in (7, 8, 9))
    classes = ((literal("b"), two), (inverse(literal("b")), three))
    shape = ObjectShape(names=(("a", one),), classes=classes)
    assert [shape.child(name) for name in ("a", "b", "c")] == [one, two, three]


def requiring(*names: str, **more: Any) -> ObjectShape:
    declared = (("a", ALWAYS), ("b", ALWAYS), ("c", ALWAYS))
    return ObjectShape(names=declared, required=frozenset(names), **more)


def joined(*shapes: ObjectShape) -> list[ObjectShape]:
    return arena().objects.without_covered(shapes)


def test_what_another_shape_covers_is_left_out_and_the_rest_keeps_its_order() -> None:
    least, most = requiring("a", "b", minimum=3), requiring(maximum=2)
    assert joined(least, most, requiring("a", "b", "c", minimum=3)) == [least, most]
    assert joined(least, most, requiring()) == [requiring()]
    # Of two names that are required there are two properties, whatever the least count.
    assert joined(requiring("a", "b"), requiring(minimum=2)) == [requiring(minimum=2)]
    assert joined(requiring("a", minimum=3), requiring(minimum=2)) == [requiring(minimum=2)]


def test_a_shape_covers_others_whose_properties_imply_its_own() -> None:
    algebra = arena()
    string, null = algebra.value(Value(strings=ANY)), algebra.value(Value(null=True))
    either = algebra.disj((string, null))

    def shape(value: Formula, *required: str, other: Formula = ALWAYS) -> ObjectShape:
        return ObjectShape(names=(("a", value), ("b", other)), required=frozenset(required))

    def kept(*shapes: ObjectShape) -> list[ObjectShape]:
        return algebra.objects.without_covered(shapes)

    assert kept(shape(string, "a", "b"), shape(string, "a")) == [shape(string, "a")]
    assert kept(shape(algebra.conj((either, string)), "a"), shape(either)) == [shape(either)]
    # Neither is plainly a part of the other.
    for one, two in (
        (shape(string, "a"), shape(null, "b")),
        (shape(string, "a"), shape(ALWAYS, "a", other=null)),
        (shape(either, "a"), shape(string)),
    ):
        assert kept(one, two) == [one, two]
    closed = replace(shape(string, "a"), classes=((ANY, NEVER),))
    opened = shape(string)
    assert kept(closed, opened) == [opened]
    assert kept(closed, replace(opened, classes=((ANY, string),))) == [
        closed,
        replace(opened, classes=((ANY, string),)),
    ]


def test_a_bound_that_declared_names_keep_by_themselves_is_none() -> None:
    algebra = arena()
    null = algebra.value(Value(null=True))
    closed = ObjectShape(names=(("a", null), ("b", null)), classes=((ANY, NEVER),))
    for maximum, kept in ((1, 1), (2, None), (3, None)):
        assert algebra.objects.tidy(replace(closed, maximum=maximum)).maximum == kept
    for minimum in (2, 3):
        found = algebra.objects.tidy(replace(closed, minimum=minimum))
        assert (found is None) == (minimum > 2)


def test_where_no_other_name_may_be_a_declared_one_is_the_witness() -> None:
    algebra = arena()
    null, string = algebra.value(Value(null=True)), algebra.value(Value(strings=ANY))
    names = (("a", algebra.disj((null, string))), ("b", string), ("c", null))
    witness = Witness(names=parse("^[ab]$"), value=null)
    closed = ObjectShape(names=names, classes=((ANY, NEVER),), witnesses=(witness,))
    found = algebra.objects.tidy(closed)
    assert (found.witnesses, found.required) == ((), frozenset({"a"}))
    assert algebra.normal(found.child("a")) == Value(null=True)
    anywhere = replace(closed, witnesses=(Witness(ANY, null),))
    assert algebra.objects.tidy(anywhere).witnesses == anywhere.witnesses
    opened = ObjectShape(names=names, witnesses=closed.witnesses)
    assert algebra.objects.tidy(opened).witnesses == closed.witnesses
    assert algebra.objects.tidy(replace(closed, names=names[1:])) is None
