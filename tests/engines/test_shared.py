"""One suite for all three engines: what they take, they take exactly and alike."""

import json
import random
import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import engines
from enforcer.engines import ArgumentEngine, CompiledGrammar
from enforcer.errors import EnforcerError, MissingPackage, UnsupportedSchema
from enforcer.request.response_format import FormatKind, parse
from enforcer.schema import compile_schema
from enforcer.vocabulary import Vocabulary
from tests import vocabularies
from tests.engine_cases import CASES, Case, closed, spellings
from tests.support import cases
from tests.support.machine import agreed, legal, mask

ENGINES = engines.ENGINES
V = vocabularies.small()
PAIRS = [
    pytest.param(engine, case, id=f"{engine}-{case.name}") for engine in ENGINES for case in CASES
]


@cache
def engine_of(name: str, vocabulary: Vocabulary = V) -> ArgumentEngine:
    try:
        return engines.load(name, vocabulary)
    except MissingPackage as error:
        pytest.skip(str(error))


@cache
def compiled(name: str, case_name: str) -> CompiledGrammar | None:
    """Compile a case once; None where the engine refuses it."""
    case = next(case for case in CASES if case.name == case_name)
    try:
        return engine_of(name).compile(compile_schema(case.schema))
    except UnsupportedSchema:
        return None


def taken(name: str, case: Case) -> CompiledGrammar:
    grammar = compiled(name, case.name)
    if grammar is None:
        pytest.skip(f"{name} refuses this schema")
    return grammar


def reads(grammar: CompiledGrammar, text: str | list[int]) -> bool:
    """Tell whether a text, or token ids, are accepted and whole."""
    matcher = grammar.matcher()
    ids = V.encode(text) if isinstance(text, str) else text
    return all(map(matcher.accept, ids)) and matcher.is_accepting()


def test_the_default_engine_takes_every_case() -> None:
    assert [c.name for c in CASES if compiled("machine", c.name) is None] == []


def test_xgrammar_refuses_no_more_than_what_it_cannot_count() -> None:
    refused = [c.name for c in CASES if compiled("xgrammar", c.name) is None]
    assert refused == ["counts", "counts of others", "unique", "nine properties"]


@pytest.mark.slow
def test_outlines_core_takes_the_small_cases() -> None:
    refused = {c.name for c in CASES if compiled("outlines-core", c.name) is None}
    assert refused.isdisjoint(c.name for c in CASES if c.small)
    assert refused >= {"recursive", "open", "counts of others", "unique", "nine properties"}


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "case"), PAIRS)
def test_instances_in_every_spelling(engine: str, case: Case) -> None:
    grammar = taken(engine, case)
    for value in case.valid:
        for form, text in spellings(value).items():
            assert reads(grammar, text), (form, text)
    for value in case.invalid:
        for form, text in spellings(value).items():
            assert not reads(grammar, text), (form, text)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "case"), PAIRS)
def test_any_split_into_tokens(engine: str, case: Case) -> None:
    grammar = taken(engine, case)
    choose = random.Random(case.name).choice
    for value in case.valid:
        for text in spellings(value).values():
            data = text.encode()
            assert reads(grammar, list(data))
            for _ in range(3):
                ids = vocabularies.split(choose, V, data)
                assert reads(grammar, ids), [*map(V.token_bytes, ids)]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "case"), PAIRS)
def test_a_bit_is_set_exactly_if_the_id_is_accepted(engine: str, case: Case) -> None:
    matcher = taken(engine, case).matcher()
    for token_id in [*V.encode(spellings(case.valid[-1])["shuffled"]), None]:
        allowed = agreed(matcher, V, range(-1, V.size + 40))
        assert mask(matcher, V) == allowed
        assert allowed.isdisjoint(V.control_ids)
        assert all(map(V.token_bytes, allowed))
        assert allowed or matcher.is_accepting()
        if token_id is not None:
            assert matcher.accept(token_id)
    assert matcher.is_accepting()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
def test_rollback_restores_mask_and_completeness(engine: str, data: st.DataObject) -> None:
    case = data.draw(st.sampled_from([c for c in CASES if compiled(engine, c.name) is not None]))
    matcher = compiled(engine, case.name).matcher()
    before = []  # the mask and completeness that the matcher had before each id
    for _ in range(data.draw(st.integers(1, 12))):
        allowed = mask(matcher, V)
        if not allowed:
            break
        before.append((allowed, matcher.is_accepting()))
        assert not matcher.accept(min(V.control_ids))
        assert matcher.accept(data.draw(st.sampled_from(sorted(allowed))))
        if data.draw(st.integers(0, 3)) == 0:
            count = data.draw(st.integers(1, len(before)))
            matcher.rollback(count)
            assert (mask(matcher, V), matcher.is_accepting()) == before[-count]
            del before[-count:]
    while before:
        matcher.rollback(1)
        assert (mask(matcher, V), matcher.is_accepting()) == before.pop()


TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}\[\],:]', re.DOTALL)
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def repeats_a_name(text: bytes) -> bool:
    """Return whether an object of a text that is begun has a name twice."""
    objects: list[set[str] | None] = []  # the names of each open object; None of an array
    is_name = False
    for match in TOKEN.finditer(text):
        token = match[0]
        if token in (b"{", b"["):
            objects.append(set() if token == b"{" else None)
        elif token in (b"}", b"]"):
            objects.pop()
        elif is_name and STRING.fullmatch(token):
            name, names = json.loads(token), objects[-1]
            if name in names:
                return True
            names.add(name)
        is_name = token in (b"{", b",") and bool(objects) and objects[-1] is not None
    return False


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@given(data=st.data())
def test_engines_agree_on_texts_drawn_from_their_masks(case: Case, data: st.DataObject) -> None:
    """Property 8: at every step of a text, the same ids are legal but for names that repeat.

    The machine alone lets no name of an object come twice.
    """
    done = b""
    taking = {name: g for name in ENGINES if (g := compiled(name, case.name)) is not None}
    matchers = {name: grammar.matcher() for name, grammar in taking.items()}
    for _ in range(data.draw(st.integers(1, 25))):
        allowed = {
            name: {each for each in legal(matcher, V) if not repeats_a_name(done + each)}
            for name, matcher in matchers.items()
        }
        complete = {name: matcher.is_accepting() for name, matcher in matchers.items()}
        assert len(set(complete.values())) == 1, complete
        union = set().union(*allowed.values())
        for name, ids in allowed.items():
            missing = union - ids
            assert not missing, (name, missing)
        if not union:
            break
        text = data.draw(st.sampled_from(sorted(union)))
        keys, ids_of = V.sorted_text
        token_id = ids_of[keys.index(text)]
        assert all(matcher.accept(token_id) for matcher in matchers.values())
        done += text


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_check_raises_what_compile_would(engine: str) -> None:
    for case in CASES:
        grammar = compile_schema(case.schema)
        if compiled(engine, case.name) is not None:
            engine_of(engine).check(grammar)
            continue
        with pytest.raises(UnsupportedSchema, match="machine") as caught:
            engine_of(engine).check(grammar)
        assert caught.value.path.startswith("$")


@pytest.mark.parametrize("engine", ENGINES)
def test_matchers_of_one_grammar_are_independent(engine: str) -> None:
    grammar = compiled(engine, "one enum")
    first, second = grammar.matcher(), grammar.matcher()
    ids = V.encode('{"a":"x"}')
    assert all(map(first.accept, ids))
    assert mask(second, V) == mask(grammar.matcher(), V)
    assert all(map(second.accept, ids))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", ["  {}", "{   }", "{}\n", "{}{}", "{\n\n\n}", "", "{"])
def test_white_space_is_bounded_and_nothing_follows(engine: str, text: str) -> None:
    assert not reads(compiled(engine, "empty object"), text)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "numbers",
    [
        {"type": "integer", "multipleOf": 5, "maximum": 4},
        {"type": "integer", "multipleOf": 2, "maximum": 1},
        {"type": "number", "multipleOf": 100, "minimum": -99},
    ],
    ids=lambda numbers: "-".join(map(str, numbers.values())),
)
def test_numbers_none_of_which_have_one_of_the_signs(engine: str, numbers: dict[str, Any]) -> None:
    """The digits behind that sign are an empty language, which is not that of the empty text."""
    try:
        grammar = engine_of(engine).compile(compile_schema(closed({"v": numbers}, "v")))
    except UnsupportedSchema:
        pytest.skip(f"{engine} refuses this schema")
    assert reads(grammar, '{"v":0}')
    for text in ('{"v":}', '{"v":-}', '{"v": }', '{"v":.0}', '{"v":-.0}'):
        assert not reads(grammar, text), text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("fields", "texts"), cases.params("engines/cases/shared.toml", "wanted, texts", "formats")
)
def test_a_text_may_begin_another(engine: str, fields: dict[str, Any], texts: list[str]) -> None:
    wanted = parse(fields)
    grammar = engine_of(engine).compile(wanted)

    def fits(text: str) -> bool:
        if wanted.kind is FormatKind.CHOICE:
            return text in json.loads(wanted.source)
        return re.fullmatch(wanted.source, text) is not None

    for text in texts:
        assert reads(grammar, list(text.encode())) == fits(text), text
        agreed(grammar.matcher(), V, (*range(256), *V.control_ids))


@pytest.mark.parametrize("engine", ENGINES)
@cases.parametrized("engines/cases/shared.toml", "values")
def test_non_objects(engine: str, schema: object, valid: list[str], invalid: list[str]) -> None:
    grammar = engine_of(engine).compile(compile_schema(schema))
    assert [text for text in valid if not reads(grammar, text)] == []
    assert [text for text in invalid if reads(grammar, text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_kimi_vocabulary(engine: str, kimi_vocabulary: Vocabulary) -> None:
    case = next(case for case in CASES if case.name == "one enum")
    grammar = engine_of(engine, kimi_vocabulary).compile(compile_schema(case.schema))
    for value in case.valid:
        for text in spellings(value).values():
            assert reads(grammar, kimi_vocabulary.encode(text)), text
    for value in case.invalid:
        assert not reads(grammar, kimi_vocabulary.encode(spellings(value)["default"]))
    matcher = grammar.matcher()
    for token_id in kimi_vocabulary.encode('{"a": "yé"}'):
        some = random.Random(3).sample(range(kimi_vocabulary.size), 500)
        assert agreed(matcher, kimi_vocabulary, some).isdisjoint(kimi_vocabulary.control_ids)
        assert matcher.accept(token_id)


@pytest.mark.parametrize("name", ["", "lark", "xgrammar "])
def test_unknown_engines(name: str) -> None:
    with pytest.raises(EnforcerError, match="choose one of"):
        engines.load(name, vocabularies.small())
