"""What is outlines-core's own: where values nest without end, and sizes."""

from typing import Any

import pytest

from enforcer.engines import ArgumentEngine
from enforcer.errors import UnsupportedSchema
from enforcer.request.response_format import parse
from enforcer.schema import compile_schema
from tests import vocabularies
from tests.engine_cases import closed
from tests.schema_judge import accepts
from tests.support import cases

engines = pytest.importorskip("enforcer.engines.outlines_core", exc_type=ImportError)


@pytest.fixture(scope="module")
def engine() -> ArgumentEngine:
    found: ArgumentEngine = engines.OutlinesCoreEngine(vocabularies.small())
    return found


@cases.parametrized("engines/cases/refusals.toml", "outlines_core")
def test_refusals_name_path_and_keyword(
    engine: ArgumentEngine, schema: dict[str, Any], path: str, keyword: str
) -> None:
    for ask in (engine.check, engine.compile):
        with pytest.raises(UnsupportedSchema, match="use the engine `machine`") as caught:
            ask(compile_schema(schema))
        assert (caught.value.path, caught.value.keyword) == (path, keyword)


@pytest.mark.slow
def test_too_many_states(engine: ArgumentEngine) -> None:
    with pytest.raises(UnsupportedSchema, match=r"too large for one regular expression .*states"):
        engine.check(compile_schema(closed({"a": {"type": "string", "maxLength": 3000}})))


def test_response_formats(engine: ArgumentEngine) -> None:
    grammar = engine.compile(parse({"type": "choice", "choice": ["yes", "no"]}))
    assert accepts(grammar, "yes")
    assert not accepts(grammar, "ye")


@pytest.mark.timeout(20)
def test_matches_that_begin_anywhere_cost_nothing(engine: ArgumentEngine) -> None:
    """An automaton for these has two to the power of 40 states."""
    assert accepts(engine.compile(parse({"type": "regex", "regex": "[0-9]{0,40}x"})), "12x")
    with pytest.raises(UnsupportedSchema):
        engine.compile(parse({"type": "regex", "regex": "[0-9]{0,5000}x"}))


def test_what_stands_before_a_text_may_stand_in_it(engine: ArgumentEngine) -> None:
    grammar = engine.compile(parse({"type": "regex", "regex": "a[^b]*b"}))
    assert accepts(grammar, "a\U0010ffffa\U0010ffffb")
