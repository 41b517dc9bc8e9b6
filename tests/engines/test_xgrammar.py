"""What is xgrammar's own: refusals and response formats."""

from typing import Any

import pytest

from enforcer.engines import ArgumentEngine, CompiledGrammar
from enforcer.errors import InvalidVocabulary, UnsupportedSchema
from enforcer.request.response_format import parse
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests import vocabularies
from tests.engine_cases import closed
from tests.support import cases
from tests.support.nested import nested

engines = pytest.importorskip("enforcer.engines.xgrammar", exc_type=ImportError)


@pytest.fixture(scope="module")
def engine() -> ArgumentEngine:
    found: ArgumentEngine = engines.XGrammarEngine(vocabularies.small())
    return found


def reads(grammar: CompiledGrammar, text: str) -> bool:
    matcher = grammar.matcher()
    return all(map(matcher.accept, vocabularies.small().encode(text))) and matcher.is_accepting()


@cases.parametrized("engines/cases/refusals.toml", "xgrammar")
def test_refusals_name_path_and_keyword(
    engine: ArgumentEngine, schema: dict[str, Any], path: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema, match="use the engine `machine`") as caught:
        engine.check(compile_schema(schema))
    assert (caught.value.path, caught.value.keyword) == (path, keyword)


def test_what_is_too_large_is_refused(engine: ArgumentEngine) -> None:
    deep = nested(100, lambda inner: {"type": "array", "items": inner}, {"type": "null"})
    long = {f"p{i}": {"const": "x" * 30_000} for i in range(8)}
    several = {"type": "string", "allOf": [{"pattern": "a.{20}"}, {"pattern": "b.{20}"}]}
    for schema, reason in (
        (deep, "values nest in more than 64"),
        ({"properties": long}, "rules of more than 500000 characters"),
        ({"properties": {"a": several}}, "one regular expression cannot hold these texts"),
    ):
        with pytest.raises(UnsupportedSchema, match=reason) as caught:
            engine.check(compile_schema(schema))
        assert caught.value.path.startswith("$")


def test_one_of_several_names_is_required(engine: ArgumentEngine) -> None:
    either = [{"required": ["a"]}, {"required": ["b"]}]
    schema = closed({"a": {"const": 1}, "b": {"const": 2}}, anyOf=either)
    grammar = engine.compile(compile_schema(schema))
    assert all(reads(grammar, t) for t in ('{"a":1}', '{"b":2}', '{"b":2,"a":1}'))
    assert not reads(grammar, "{}")


def test_response_formats(engine: ArgumentEngine) -> None:
    regex = engine.compile(parse({"type": "regex", "regex": "[a-c]+\\d"}))
    assert reads(regex, "abc7")
    assert not reads(regex, "abc")
    choice = engine.compile(parse({"type": "choice", "choice": ["yes", 'n"o']}))
    assert reads(choice, 'n"o')
    assert not reads(choice, "no")
    with pytest.raises(UnsupportedSchema, match="machine"):
        engine.compile(parse({"type": "grammar", "grammar": "start: /a/"}))


def test_a_language_without_a_text_is_not_written(engine: ArgumentEngine) -> None:
    with pytest.raises(UnsupportedSchema, match="no text fits") as caught:
        engine.compile(parse({"type": "regex", "regex": "(?=.*a)[bc]{1,3}"}))
    assert caught.value.path == "$.response_format.regex"


def test_a_vocabulary_without_controls() -> None:
    with pytest.raises(InvalidVocabulary):
        engines.XGrammarEngine(Vocabulary([bytes([i]) for i in range(256)], {}))
