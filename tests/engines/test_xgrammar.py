"""What is xgrammar's own: refusals, counts, response formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from enforcer.engines._ebnf import to_ebnf
from enforcer.engines._rules import Rules, Text
from enforcer.errors import InvalidVocabulary, UnsupportedSchema
from enforcer.regex import either, literal
from enforcer.regex import parse as parse_regex
from enforcer.regex.constructors import concat, repeat
from enforcer.request.response_format import parse
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests import vocabularies

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine, CompiledGrammar
    from enforcer.regex import Regex


engines = pytest.importorskip("enforcer.engines.xgrammar", exc_type=ImportError)


@pytest.fixture(scope="module")
def engine() -> ArgumentEngine:
    found: ArgumentEngine = engines.build(vocabularies.small())
    return found


def reads(grammar: CompiledGrammar, text: str) -> bool:
    matcher = grammar.matcher()
    return all(map(matcher.accept, vocabularies.small().encode(text))) and matcher.is_accepting()


@pytest.mark.parametrize(
    ("schema", "path", "keyword"),
    [
        ({"properties": {"a": {"items": {"enum": [1, 2]}, "type": "array", "uniqueItems": True}}},
         "$.properties.a.uniqueItems", "uniqueItems"),
        ({"items": {"type": "string"}, "type": "array", "uniqueItems": True},
         "$.uniqueItems", "uniqueItems"),
        ({"properties": {"a": {}}, "minProperties": 3}, "$.minProperties", "minProperties"),
        ({"type": "array", "contains": {"const": 1}}, "$.contains", "contains"),
        ({"properties": {f"p{i}": {} for i in range(9)}}, "$.properties", "properties"),
        ({"maxProperties": 300}, "$", "maxProperties"),
    ],
)  # fmt: skip
def test_refusals_name_path_and_keyword(
    engine: ArgumentEngine, schema: dict[str, Any], path: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema, match="use the engine `machine`") as caught:
        engine.check(compile_schema(schema))
    assert (caught.value.path, caught.value.keyword) == (path, keyword)


def test_every_offender_is_listed(engine: ArgumentEngine) -> None:
    one, two = ({"type": "array", "contains": {"const": value}} for value in (1, 2))
    with pytest.raises(UnsupportedSchema) as caught:
        engine.compile(compile_schema({"properties": {"a": one, "b": two}, "type": "object"}))
    assert [p.path for p in caught.value.problems] == [
        "$.properties.a.contains",
        "$.properties.b.contains",
    ]


def test_one_of_several_names_is_required(engine: ArgumentEngine) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"const": 2}},
        "additionalProperties": False,
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    grammar = engine.compile(compile_schema(schema))
    assert all(reads(grammar, t) for t in ('{"a":1}', '{"b":2}', '{"b":2,"a":1}'))
    assert not reads(grammar, "{}")


def test_response_formats(engine: ArgumentEngine) -> None:
    regex = engine.compile_text(parse({"type": "regex", "regex": "[a-c]+\\d"}))
    assert reads(regex, "abc7")
    assert not reads(regex, "abc")
    choice = engine.compile_text(parse({"type": "choice", "choice": ["yes", 'n"o']}))
    assert reads(choice, 'n"o')
    assert not reads(choice, "no")
    with pytest.raises(UnsupportedSchema, match="machine"):
        engine.compile_text(parse({"type": "grammar", "grammar": "start: /a/"}))


_EMPTY = parse_regex("^(?=.*a)[bc]{1,3}$")  # no text, which is known once its states are


@pytest.mark.parametrize(
    ("regex", "texts"),
    [
        (either(_EMPTY, literal("ab")), {"ab"}),
        (either(concat(literal("a"), _EMPTY), literal("b")), {"b"}),
        (concat(literal("a"), repeat(_EMPTY, 0, 3)), {"a"}),
        (either(_EMPTY, literal("")), {""}),
    ],
)
def test_parts_that_turn_out_to_be_empty_are_left_out(
    engine: ArgumentEngine, regex: Regex, texts: set[str]
) -> None:
    written = to_ebnf(Rules(Text(regex), {}), 100)
    grammar = engine.read(written)
    assert {text for text in ("", "a", "b", "ab", "aa") if reads(grammar, text)} == texts


@pytest.mark.parametrize("regex", [_EMPTY, concat(literal("a"), _EMPTY), repeat(_EMPTY, 1, 2)])
def test_a_language_without_a_text_has_no_rule(regex: Regex) -> None:
    with pytest.raises(UnsupportedSchema, match="no text fits"):
        to_ebnf(Rules(Text(regex), {}), 100)


def test_a_vocabulary_without_controls() -> None:
    with pytest.raises(InvalidVocabulary):
        engines.build(Vocabulary([bytes([i]) for i in range(256)], {}))
