"""What a schema may cost is known when it is checked, and whatever fails has a name."""

import json
from random import Random
from typing import Any

import pytest

from enforcer.engines import ArgumentEngine, load
from enforcer.errors import InvalidSchema, SchemaLimit, UnsupportedSchema
from enforcer.machine.grammar import MachineGrammar
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests.engine_cases import closed
from tests.support import cases
from tests.support.machine import assert_follows
from tests.vocabularies import kimi

pytestmark = pytest.mark.slow

RANDOM = Random(11)
WORDS = sorted({"".join(RANDOM.choices("abcdefghijklmnopqrstuvwxyz_", k=12)) for _ in range(2_000)})
LARGE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an enumeration": ({"properties": {"e": {"enum": WORDS}}, "required": ["e"]}, {"e": WORDS[77]}),
    "open properties": (
        {"properties": {name: {"type": "string"} for name in WORDS[:1_000]}},
        dict.fromkeys(WORDS[:1000:60], "text"),
    ),
    "closed properties": (
        closed({name: {"type": ["string", "integer"]} for name in WORDS[:1_000]}, *WORDS[:20]),
        dict.fromkeys([*WORDS[:20], *WORDS[500:520]], 3),
    ),
}
# A few hundred characters each; before, they passed and failed or stood still within a call.
HOSTILE: dict[str, dict[str, Any]] = {
    "patterns that all have to match": {"allOf": [{"pattern": f"{c}.{{9}}{c}"} for c in "abcde"]},
    "eight distances": {"allOf": [{"pattern": f"a.{{{n}}}a"} for n in range(13, 21)]},
}


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return kimi()


@pytest.fixture(scope="module")
def engine(vocabulary: Vocabulary) -> ArgumentEngine:
    return load("machine", vocabulary)


@pytest.mark.parametrize("name", LARGE)
def test_large_schemas_are_held(engine: ArgumentEngine, vocabulary: Vocabulary, name: str) -> None:
    schema, value = LARGE[name]
    grammar = compile_schema({"type": "object", **schema})
    engine.check(grammar)
    compiled = engine.compile(grammar)
    matcher = compiled.matcher()
    assert_follows(matcher, vocabulary, vocabulary.encode(json.dumps(value)))
    assert matcher.is_accepting()
    assert 500_000 < compiled.weight < 40_000_000


def test_untracked_names_and_values_remain(engine: ArgumentEngine, vocabulary: Vocabulary) -> None:
    names = WORDS[:200]
    kinds = ({"type": "integer"}, {"type": "string"}, {"const": None})
    properties = {name: kinds[i % 3] for i, name in enumerate(names)}
    schema = {"type": "object", "properties": properties, "additionalProperties": {"const": 0}}
    compiled = engine.compile(compile_schema(schema))

    def fits(value: Any) -> bool:
        matcher = compiled.matcher()
        tokens = vocabulary.encode(json.dumps(value))
        return all(map(matcher.accept, tokens)) and matcher.is_accepting()

    values = (7, "7", None)
    for i, name in enumerate(names):
        assert [fits({names[0]: 1, name: each}) for each in values] == [
            i % 3 == kind for kind in range(3)
        ]
    assert fits({"other": 0})
    assert not fits({"other": 1})


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_text_could_bear_is_refused_by_its_place(engine: ArgumentEngine, name: str) -> None:
    schema = {"type": "object", "properties": {"deep": {"type": "string", **HOSTILE[name]}}}
    with pytest.raises(UnsupportedSchema, match="states") as error:
        engine.check(compile_schema(schema))
    assert error.value.path == "$.properties.deep"


def test_many_overlapping_patterns_of_names_are_refused_after_little_work() -> None:
    patterns = {c: {"type": "string", "minLength": i} for i, c in enumerate("abcdefghijkl")}
    with pytest.raises(SchemaLimit, match="steps"):
        compile_schema({"type": "object", "patternProperties": patterns})


def test_a_grammar_that_no_text_fits_is_refused(engine: ArgumentEngine) -> None:
    with pytest.raises(InvalidSchema, match=r"no text fits it.*response_format\.grammar"):
        engine.compile(ResponseFormat(FormatKind.GRAMMAR, "start: start"))


@cases.parametrized("engines/cases/grammars.toml", "nowhere")
def test_dead_ends_are_refused_with_a_text(engine: ArgumentEngine, source: str, begun: str) -> None:
    with pytest.raises(InvalidSchema, match=f"begins with {begun} can be neither") as caught:
        engine.check(ResponseFormat(FormatKind.GRAMMAR, source))
    assert caught.value.path == "$.response_format.grammar"


@cases.parametrized("engines/cases/grammars.toml", "somewhere")
def test_formats_that_lead_somewhere_pass(engine: ArgumentEngine, kind: str, source: str) -> None:
    engine.check(ResponseFormat(FormatKind(kind), source))


@pytest.mark.parametrize("first", ["", "w"])
def test_thousands_of_choices_are_as_good_as_two(
    engine: ArgumentEngine, vocabulary: Vocabulary, first: str
) -> None:
    choices = [first, *(f"w{i}" for i in range(20_000))]
    wanted = ResponseFormat(FormatKind.CHOICE, json.dumps(choices))
    engine.check(wanted)
    found = engine.compile(wanted)
    assert isinstance(found, MachineGrammar)  # of which they are a trie
    matcher = found.matcher()
    assert matcher.is_accepting() == (first == "")
    for id_ in vocabulary.encode("w123"):
        assert matcher.accept(id_)
    assert matcher.is_accepting()
    assert matcher.accept(vocabulary.encode("9")[0])
    assert not matcher.accept(vocabulary.encode("x")[0])


@pytest.mark.parametrize(("kind", "source"), [("grammar", 'start: ""'), ("choice", '["", "a"]')])
def test_formats_without_text_are_accepting(engine: ArgumentEngine, kind: str, source: str) -> None:
    assert engine.compile(ResponseFormat(FormatKind(kind), source)).matcher().is_accepting()
