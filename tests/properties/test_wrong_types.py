"""Schemas with values of wrong types at any keyword: every one is named, in plain words."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from enforcer.errors import InvalidSchema, SchemaError
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.tools.lint import notes
from tests.support import cases
from tests.walks import examples

pytestmark = pytest.mark.slow

# One right value of every keyword that is read.
RIGHT = cases.schemas("properties/cases/keywords.toml", "values")
# What Python says of a value that is of another type than code expects.
PYTHON = re.compile(
    r"object has no|argument of type|not iterable|not subscriptable|unhashable"
    r"|not supported between|unexpected keyword|positional argument|must be str"
    r"|Error\b|Traceback|<class|\bNoneType\b|\bNone\b|\bTrue\b|\bFalse\b|\bdict\b|\bbool\b|\bstr\b|\btuple\b"
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.just(0.5) | st.sampled_from(["", "a", "("]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "type", "items", "$id", "$ref"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a schema of a few keywords, some of which have any value; perhaps within another one."""
    keywords = draw(st.lists(st.sampled_from(list(RIGHT)), min_size=1, max_size=5, unique=True))
    schema = {keyword: copy.deepcopy(RIGHT[keyword]) for keyword in keywords}
    if draw(st.booleans()) and schema.get("type") == "object":
        schema["type"] = draw(st.sampled_from(["string", "array", ["number", "string"]]))
    for keyword in draw(st.lists(st.sampled_from(keywords), min_size=1, unique=True)):
        schema[keyword] = draw(VALUES)
    if draw(st.booleans()):
        return {"properties": {"inner": schema}, "required": ["inner"]}
    return schema


def problems(schema: Any, on_unsupported: OnUnsupported) -> Iterator[str]:
    try:
        yield from map(str, compile_schema(schema, on_unsupported=on_unsupported).relaxed)
    except SchemaError as error:
        yield str(error)
    yield from map(str, notes(schema))


@examples(1000)
@given(damaged(), st.sampled_from(OnUnsupported))
def test_no_message_has_words_of_python(schema: Any, on_unsupported: OnUnsupported) -> None:
    for message in problems(schema, on_unsupported):
        assert not PYTHON.search(message), message


# What the standard calls wrong, and is read all the same: as older drafts have it, or as notes.
_TOLERATED = frozenset({"$id", "$anchor", "$dynamicAnchor", "format", "$defs"})
# Keywords that say nothing without another one.
_LED = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}


def wrong(schema: dict[str, Any]) -> set[str]:
    """List the keywords of a schema that its metaschema calls wrong, if they say anything."""
    found = Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema)
    named = {str(error.absolute_path[0]) for error in found if error.absolute_path}
    # Draft 4 has booleans beside bounds.
    boolean = {keyword for keyword, value in schema.items() if value is True}
    named -= boolean & {"exclusiveMinimum", "exclusiveMaximum"}
    return {keyword for keyword in named if _LED.get(keyword, keyword) in schema}


@examples(1000)
@given(
    st.dictionaries(
        st.sampled_from(sorted(set(RIGHT) - _TOLERATED)),
        st.sampled_from([None, True, -1, "(", {"a": 5}, [5]]),
        min_size=1,
        max_size=5,
    )
)
def test_every_wrong_keyword_is_named(schema: dict[str, Any]) -> None:
    expected = wrong(schema)
    try:
        compile_schema(schema)
    except SchemaError as error:
        named = {re.split(r"[.\[]", each.path)[1] for each in error.problems if "." in each.path}
        assert not expected or isinstance(error, InvalidSchema)  # noqa: PT017
    else:
        named = set()
    assert expected <= named
