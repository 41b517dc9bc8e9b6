"""Useless values: what can be completed is kept whole, and nothing else is reached."""

from random import Random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from enforcer.errors import SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.regex import ANY
from enforcer.schema.grammar import NEVER, ArrayShape, ObjectShape, Value, ValueId
from enforcer.schema.lowering.pruning import prune
from tests.schema_judge import accepts, compiled, walk
from tests.support.schema_cases import schema_test

_NUMBER = 5


def number(of: int) -> ValueId:
    return ValueId(of)


_ids = st.integers(2, 1 + _NUMBER).map(number)
_shapes = st.builds(
    lambda names, required, rest: ObjectShape(
        names=tuple(names.items()),
        classes=((ANY, rest),),
        required=frozenset(required) & frozenset(names),
    ),
    st.dictionaries(st.sampled_from("abc"), _ids, max_size=3),
    st.sets(st.sampled_from("abc")),
    _ids | st.just(NEVER),
)
_arrays = st.builds(
    lambda prefix, rest, minimum: ArrayShape(prefix=tuple(prefix), rest=rest, minimum=minimum),
    st.lists(_ids, max_size=2),
    _ids,
    st.integers(0, 3),
)
_values = st.builds(
    Value,
    null=st.sampled_from([False, False, False, True]),
    arrays=st.lists(_arrays, max_size=1).map(tuple),
    objects=st.lists(_shapes, max_size=2).map(tuple),
)
_grammars = st.lists(_values, min_size=_NUMBER, max_size=_NUMBER).map(
    lambda values: {number(2 + i): value for i, value in enumerate(values)} | {NEVER: Value()}
)


def completed(definitions: dict[ValueId, Value]) -> set[int]:
    """Find what has a finite member, by trying all until nothing is added."""
    found: set[Any] = set()
    for _ in definitions:
        found |= {formula for formula, value in definitions.items() if _has_member(value, found)}
    return found


def _has_member(value: Value, found: set[int]) -> bool:
    def full(array: ArrayShape) -> bool:
        slots = [*array.prefix, array.rest, array.rest, array.rest][: array.minimum]
        return all(slot in found for slot in slots)

    def whole(shape: ObjectShape) -> bool:
        return all(dict(shape.names)[name] in found for name in shape.required)

    return value.null or any(map(full, value.arrays)) or any(map(whole, value.objects))


@given(_grammars)
def test_exactly_completable_definitions_are_kept(definitions: dict[ValueId, Value]) -> None:
    root, live = number(2), completed(definitions)
    pruned = prune(definitions, root)
    assert (pruned is not None) == (root in live)
    if pruned is None:
        return
    for formula, value in pruned.items():
        assert set(value.children()) <= {*live, NEVER}
        assert formula in {*live, NEVER}
        if set(definitions[formula].children()) <= {*live, NEVER}:
            assert value == definitions[formula]
    assert set(pruned) <= set(definitions)


test_schemas = schema_test(__file__)


def test_not_one_letter_of_a_name_is_accepted_whose_value_would_never_end() -> None:
    itself = {"$ref": "#/$defs/a"}
    endless = {"a": {"type": "object", "properties": {"a": itself}, "required": ["a"]}}
    grammar = compiled({"$defs": endless, "type": "object", "properties": {"x": itself, "y": {}}})
    assert accepts(grammar, '{"y": 1}')
    assert not all(map(grammar.matcher().accept, b'{"x":'))


def test_of_alternatives_the_endless_one_alone_is_left_out() -> None:
    one_of_two = {"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}
    names = {"x": {"$ref": "#/$defs/a"}, "y": {"type": "null"}}
    node = {"type": "object", "properties": names, "additionalProperties": False}
    grammar = compiled({"$defs": {"a": {**node, "required": ["x"]}}, **node, **one_of_two})
    assert accepts(grammar, '{"y": null}')
    matcher = grammar.matcher()
    assert not all(map(matcher.accept, b'{"x"'))


def _closed(names: dict[str, Any]) -> dict[str, Any]:
    closed = {"type": "object", "properties": names, "additionalProperties": False}
    return {**closed, "required": list(names)[:1]}


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    array = {"type": st.just("array"), "items": inner, "minItems": st.integers(0, 1)}
    return (
        st.dictionaries(st.sampled_from("ab"), inner, min_size=1, max_size=2).map(_closed)
        | st.fixed_dictionaries(array)
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
    )


_leaves = st.sampled_from([{"$ref": "#"}, {"type": "null"}, {"type": "boolean"}])
_recursive = st.recursive(_leaves, _nested, max_leaves=5)


@given(_recursive, st.integers(0, 2**32))
def test_no_beginning_is_a_dead_end(schema: dict[str, Any], seed: int) -> None:
    try:
        grammar = compiled({"type": ["object", "array"], "allOf": [schema]})
    except (UnsatisfiableSchema, UnsupportedSchema, SchemaLimit):
        assume(False)
    walk(grammar, Random(seed))  # fails where a mask is empty
