"""What is outlines-core's own: where values nest without end, and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from enforcer.errors import InvalidVocabulary, UnsupportedSchema
from enforcer.request.response_format import parse
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests import vocabularies

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine


engines = pytest.importorskip("enforcer.engines.outlines_core", exc_type=ImportError)


@pytest.fixture(scope="module")
def engine() -> ArgumentEngine:
    found: ArgumentEngine = engines.build(vocabularies.small())
    return found


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "path", "keyword"),
    [
        ({"type": "object"}, "$", "additionalProperties"),
        ({"type": "array"}, "$", "items"),
        (closed(a={}), "$.properties.a", ""),
        (closed(a={"type": "array"}), "$.properties.a", "items"),
        (closed(a={"$ref": "#"}), "$", "$ref"),
        (closed(**{f"p{i}": {"const": 1} for i in range(5)}), "$.properties", "properties"),
    ],
)
def test_refusals_name_path_and_keyword(
    engine: ArgumentEngine, schema: dict[str, Any], path: str, keyword: str
) -> None:
    for ask in (engine.check, engine.compile):
        with pytest.raises(UnsupportedSchema, match="use the llguidance engine") as caught:
            ask(compile_schema(schema))
        assert (caught.value.path, caught.value.keyword) == (path, keyword)


@pytest.mark.slow
def test_too_many_states(engine: ArgumentEngine) -> None:
    with pytest.raises(UnsupportedSchema, match=r"too large for one regular expression .*states"):
        engine.check(compile_schema(closed(a={"type": "string", "maxLength": 3000})))


def test_response_formats(engine: ArgumentEngine) -> None:
    grammar = engine.compile_text(parse({"type": "choice", "choice": ["yes", "no"]}))
    matcher = grammar.matcher()
    assert all(map(matcher.accept, b"ye"))
    assert not matcher.is_accepting()
    assert matcher.accept(ord("s"))
    assert matcher.is_accepting()


def test_a_vocabulary_without_controls() -> None:
    with pytest.raises(InvalidVocabulary):
        engines.build(Vocabulary([bytes([i]) for i in range(256)], {}))
