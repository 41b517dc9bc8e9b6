"""What an engine says that it holds, and what it does hold."""

import json
from typing import Any

import pytest

from enforcer.engines import ENGINES, MACHINE, ArgumentEngine, load
from enforcer.engines._rules import RuleEngine
from enforcer.errors import UnsupportedSchema
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import compile_schema
from tests.engine_cases import closed
from tests.schema_judge import accepts
from tests.vocabularies import small


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> ArgumentEngine:
    return load(request.param, small())


def compiles(engine: ArgumentEngine, schema: dict[str, Any]) -> bool:
    try:
        engine.check(compile_schema(schema))
    except UnsupportedSchema:
        return False
    return True


def nulls(count: int) -> dict[str, Any]:
    return closed({f"n{i}": {"type": "null"} for i in range(count)})


@pytest.mark.slow
def test_properties_in_any_order_are_held_as_far_as_is_said(engine: ArgumentEngine) -> None:
    if isinstance(engine, RuleEngine):
        assert compiles(engine, nulls(3))
        assert not compiles(engine, nulls(engine.properties + 1))
    else:
        assert compiles(engine, nulls(200))


def test_values_that_hold_themselves(engine: ArgumentEngine) -> None:
    tree = {"type": "array", "items": {"$ref": "#"}}
    assert compiles(engine, tree) == (not getattr(engine, "is_inline", False))


def test_plain_schemas_are_held_by_the_machine(engine: ArgumentEngine) -> None:
    assert compiles(engine, nulls(48)) == (engine.name == MACHINE)


@pytest.mark.parametrize(
    ("kind", "source"),
    [(FormatKind.REGEX, "a+"), (FormatKind.CHOICE, '["a"]'), (FormatKind.GRAMMAR, 'start: "a"')],
)
def test_formats(engine: ArgumentEngine, kind: FormatKind, source: str) -> None:
    wanted = ResponseFormat(kind, source)
    if kind is not FormatKind.GRAMMAR or not isinstance(engine, RuleEngine):
        engine.compile(wanted)
    else:
        with pytest.raises(UnsupportedSchema):
            engine.compile(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("divisor", [7, 0.3])
def test_remainders_are_counted_by_the_machine(engine: ArgumentEngine, divisor: float) -> None:
    schema = {"type": "number", "multipleOf": divisor}
    if engine.name != MACHINE:  # one expression would be too long
        assert not compiles(engine, schema)
        return
    grammar = engine.compile(compile_schema(schema))
    for value in (0, divisor, 20 * divisor, -3 * divisor):
        assert accepts(grammar, json.dumps(round(value, 3)))
    assert not any(accepts(grammar, text) for text in ("1", "0.1", "-8", "22"))
