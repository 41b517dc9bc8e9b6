"""What is outlines-core's own: where values nest without end, and sizes."""

from __future__ import annotations

import pytest

from enforcer.errors import InvalidVocabulary, UnsupportedSchema
from enforcer.request.response_format import parse
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests import vocabularies

engines = pytest.importorskip("enforcer.engines.outlines_core", exc_type=ImportError)


@pytest.fixture(scope="module")
def engine():
    return engines.build(vocabularies.small())


def closed(**properties):
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
def test_refusals_name_path_and_keyword(engine, schema, path, keyword):
    for ask in (engine.check, engine.compile):
        with pytest.raises(UnsupportedSchema, match="use the llguidance engine") as caught:
            ask(compile_schema(schema))
        assert (caught.value.path, caught.value.keyword) == (path, keyword)


def test_too_many_states(engine):
    with pytest.raises(UnsupportedSchema, match=r"too large for one regular expression .*states"):
        engine.check(compile_schema(closed(a={"type": "string", "maxLength": 3000})))


def test_response_formats(engine):
    grammar = engine.compile_text(parse({"type": "choice", "choice": ["yes", "no"]}))
    matcher = grammar.matcher()
    assert all(map(matcher.accept, b"ye"))
    assert not matcher.is_accepting()
    assert matcher.accept(ord("s"))
    assert matcher.is_accepting()


def test_a_vocabulary_without_controls():
    with pytest.raises(InvalidVocabulary):
        engines.build(Vocabulary([bytes([i]) for i in range(256)], {}))
