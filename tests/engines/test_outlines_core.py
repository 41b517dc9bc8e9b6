"""What is outlines-core's own: where values nest without end, and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines._pattern import BORDER, escaped, to_pattern
from enforcer.engines._rules import Rules, Text
from enforcer.errors import InvalidVocabulary, UnsupportedSchema
from enforcer.regex import parse as regex_of
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
        with pytest.raises(UnsupportedSchema, match="use the engine `machine`") as caught:
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


@pytest.mark.timeout(20)
def test_matches_that_begin_anywhere_cost_nothing(engine: ArgumentEngine) -> None:
    """An automaton for these has two to the power of 40 states."""
    matcher = engine.compile_text(parse({"type": "regex", "regex": "[0-9]{0,40}x"})).matcher()
    assert all(map(matcher.accept, b"12x"))
    assert matcher.is_accepting()
    with pytest.raises(UnsupportedSchema):
        engine.compile_text(parse({"type": "regex", "regex": "[0-9]{0,5000}x"}))


@given(st.binary(max_size=9).map(lambda data: data.translate(bytes(b % 3 for b in range(256)))))
def test_bytes_are_escaped_one_by_one(data: bytes) -> None:
    whole = escaped(data)
    assert BORDER.encode() not in whole
    assert whole == b"".join(escaped(bytes([byte])) for byte in data)
    back = {escaped(bytes([byte])): byte for byte in range(3)}
    assert len(back) == 3
    assert not any(one != other and other.startswith(one) for one in back for other in back)


def test_a_language_without_a_text_is_not_written() -> None:
    empty = regex_of("^(?=.*a)[bc]{1,3}$")  # which is known once its states are
    with pytest.raises(UnsupportedSchema, match="no text fits"):
        to_pattern(Rules(Text(empty), {}), 1000, 100)


def test_a_vocabulary_without_controls() -> None:
    with pytest.raises(InvalidVocabulary):
        engines.build(Vocabulary([bytes([i]) for i in range(256)], {}))
