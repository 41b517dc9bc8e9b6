"""Digits alone, where a format reads a `number` as a double: what the client gets is valid."""

import json
from typing import Any

import pytest

from enforcer.errors import UnsupportedSchema
from tests.dialect_cases import opening, served, vocabulary
from tests.engine_cases import closed
from tests.schema_judge import is_valid
from tests.support import cases
from tests.support.tools import tool
from tests.vocabularies import write

CALLS = cases.load("properties/cases/raw_numbers.toml")["texts"]
DIGITS = (
    *("7", "9007199254740992", "9007199254740993", "9007199254740994.0", "900719925474099"),
    *("12345678901234567890", "-9007199254740993", "100000000000000000000000", "1e22", "0.5"),
)


def check(name: str, number: dict[str, Any]) -> list[str]:
    """Assert that each text that is taken is valid once it is read; give those."""
    schema = closed({"a": number}, "a")
    tools = [tool("get", schema)]
    taken = []
    for text in DIGITS:
        ids = write(vocabulary(name), CALLS[name].format(text))
        matcher = served(name).matcher(tools, "required", prompt_ids=opening(name))
        if matcher.validate(ids) == len(ids):
            taken.append(text)
            (call,) = served(name).parse(ids, opening(name), ["get"], {"get": schema}).calls
            assert is_valid(schema, json.loads(call.arguments)), (text, call.arguments)
    return taken


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "bound",
    [
        *({"minimum": 9007199254740993}, {"exclusiveMinimum": 9007199254740992}),
        *({"exclusiveMaximum": -9007199254740992}, {"multipleOf": 3}),
        *({"not": {"const": 9007199254740992}}, {"not": {"multipleOf": 3}}),
    ],
)
def test_what_digits_are_read_as_fits(name: str, bound: dict[str, Any]) -> None:
    check(name, {"type": "number", **bound})
    check(name, {"type": ["number", "string"], **bound})


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_digits_that_no_bound_tells_apart_from_their_double_are_taken(name: str) -> None:
    wide = {"12345678901234567890", "9007199254740993", "7", "0.5"}
    for number in ({}, {"minimum": 0}, {"exclusiveMinimum": -1000}):
        assert wide <= set(check(name, {"type": "number", **number}))
    assert "12345678901234567890" in check(name, {"type": "integer", "multipleOf": 10})


@pytest.mark.parametrize("name", CALLS)
def test_a_constant_that_no_double_is_cannot_be_written(name: str) -> None:
    with pytest.raises(UnsupportedSchema):
        check(name, {"type": "number", "const": 1234567890123456789})
