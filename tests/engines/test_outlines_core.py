"""What is outlines-core's own: where values nest without end, and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.request.response_format import parse
from enforcer.schema import compile_schema
from tests import vocabularies

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine


engines = pytest.importorskip("enforcer.engines.outlines_core", exc_type=ImportError)


@pytest.fixture(scope="module")
def engine() -> ArgumentEngine:
    found: ArgumentEngine = engines.OutlinesCoreEngine(vocabularies.small())
    return found


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "path", "keyword"),
    [
        ({"type": "object"}, "$", ""),
        ({"type": "array"}, "$", ""),
        (closed(a={}), "$.properties.a", ""),
        (closed(a={"type": "array"}), "$.properties.a", ""),
        (closed(a={"$ref": "#"}), "$", ""),
        (closed(**{f"p{i}": {"const": 1} for i in range(5)}), "$.properties", "properties"),
    ],
)
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
        engine.check(compile_schema(closed(a={"type": "string", "maxLength": 3000})))


def test_response_formats(engine: ArgumentEngine) -> None:
    grammar = engine.compile(parse({"type": "choice", "choice": ["yes", "no"]}))
    matcher = grammar.matcher()
    assert all(map(matcher.accept, b"ye"))
    assert not matcher.is_accepting()
    assert matcher.accept(ord("s"))
    assert matcher.is_accepting()


@pytest.mark.timeout(20)
def test_matches_that_begin_anywhere_cost_nothing(engine: ArgumentEngine) -> None:
    """An automaton for these has two to the power of 40 states."""
    matcher = engine.compile(parse({"type": "regex", "regex": "[0-9]{0,40}x"})).matcher()
    assert all(map(matcher.accept, b"12x"))
    assert matcher.is_accepting()
    with pytest.raises(UnsupportedSchema):
        engine.compile(parse({"type": "regex", "regex": "[0-9]{0,5000}x"}))


def test_what_stands_before_a_text_may_stand_in_it(engine: ArgumentEngine) -> None:
    matcher = engine.compile(parse({"type": "regex", "regex": "a[^b]*b"})).matcher()
    text = "a\U0010ffffa\U0010ffffb"
    assert all(map(matcher.accept, text.encode()))
    assert matcher.is_accepting()
