import json
from dataclasses import replace
from typing import Any

import pytest

from enforcer import engines
from enforcer.checking.task import TaskVerdict, WorkerState, survived
from enforcer.checking.work import SchemaCheck, warm
from enforcer.engines import ArgumentEngine
from enforcer.errors import (
    InvalidSchema,
    Problem,
    SchemaLimit,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from enforcer.layouts import BoundLayout
from enforcer.machine import wire
from enforcer.regex.charset import ALL, CharSet
from enforcer.request.options import Options
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema import Conventions, Limits, OnUnsupported, Root
from enforcer.schema.grammar import ArgumentGrammar
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary
from tests.checking_cases import sent

ENGINE = engines.load("machine", Vocabulary.of_bytes(["<|end|>"]))


def check(schema: Any, kind: FormatKind = FormatKind.JSON_SCHEMA, **options: Any) -> SchemaCheck:
    source = schema if kind is not FormatKind.JSON_SCHEMA else json.dumps(schema)
    return SchemaCheck(ResponseFormat(kind, source, Root.OBJECT), Options(**options))


def perform(one: SchemaCheck, engine: ArgumentEngine) -> TaskVerdict:
    return one.perform(WorkerState(engine))


BYTES = CharSet.span("\0\xff")
CHECKS = [
    check({"type": "object"}),
    check({"enum": ["\ud800", "é", "日本"]}),
    check("a+", FormatKind.REGEX),
    check({}, on_unsupported=OnUnsupported.RELAX, limits=Limits(depth=7, enum=3)),
    check({"type": "object"}, conventions=Conventions(closed_objects=True)),
    replace(check({"type": "object"}), writes=True, dialect="kimi_k3"),
    replace(check({"type": "object"}), writes=True, dialect="kimi_k3", controls=(("<|open|>", 7),)),
    replace(check({"type": "object"}), writes=True, dialect="qwen3_coder", writable=BYTES),
    check({"type": "object"}, compact_text=True),
    check({"type": "object"}, closed_text=True),
]


@pytest.mark.parametrize("asked", CHECKS)
def test_a_check_comes_back_as_it_was(asked: SchemaCheck) -> None:
    assert sent(asked) == asked


def test_keys_tell_checks_apart_and_do_not_grow() -> None:
    assert len({asked.key() for asked in CHECKS}) == len(CHECKS)
    assert len(repr(check({"enum": ["x" * 100_000]}).key())) < 1_000


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "object", "properties": {"a": {"type": 3}}}, InvalidSchema),
        ({"type": "object", "required": ["a"], "properties": {"a": False}}, UnsatisfiableSchema),
        ({"enum": list(range(30_000))}, SchemaLimit),
        ({"$ref": "https://example.com/other.json"}, UnsupportedSchema),
    ],
)
def test_a_refusal_travels_with_its_class_and_problems(schema: dict[str, Any], kind: Any) -> None:
    verdict = perform(check(schema), ENGINE)
    again = sent(verdict)
    assert type(again.error) is type(verdict.error)
    assert isinstance(again.error, kind)
    assert again.error.problems == verdict.error.problems
    assert again.weight > 200


def test_what_the_vocabulary_cannot_write_without_escapes_is_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ["é"]}}, "required": ["a"]}
    asked = replace(check(schema), dialect="qwen3_coder")
    ascii_alone = engines.load("machine", Vocabulary([bytes([byte]) for byte in range(128)], {}))
    assert perform(asked, ENGINE).error is None
    error = perform(asked, ascii_alone).error
    assert isinstance(error, UnsupportedSchema)
    assert error.path == "$.properties.a"
    # Another vocabulary that is named counts instead of the worker's own.
    assert perform(replace(asked, writable=ALL), ascii_alone).error is None


def markers(written: bytes) -> list[int]:
    found: list[int] = wire.read(written).arrays["markers"].tolist()
    return found


def test_a_grammar_is_for_the_named_vocabulary_and_not_for_the_workers_own() -> None:
    names = [name for name in dialects.load("kimi_k3").tokens.names if name.startswith("<|")]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    def written(first: int, engine: ArgumentEngine = ENGINE) -> bytes:
        named = tuple((name, first + at) for at, name in enumerate(names))
        asked = replace(check(schema), writes=True, dialect="kimi_k3", controls=named)
        verdict = perform(asked, engine)
        assert verdict.error is None
        return verdict.written

    one, other = written(5000), written(6000)
    assert written(5000, engines.load("machine", Vocabulary.of_bytes(names))) == one
    assert all(5000 <= token_id < 6000 for token_id in markers(one))
    assert [token_id + 1000 for token_id in markers(one)] == markers(other) != []


def test_what_was_relaxed_is_told() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "https://example.com/other.json"}}}
    verdict = perform(check(schema, on_unsupported=OnUnsupported.RELAX), ENGINE)
    assert verdict.error is None
    assert [problem.keyword for problem in verdict.relaxed] == ["$ref"]


def test_formats_of_text_are_checked() -> None:
    assert perform(check("[a-z]+", FormatKind.REGEX), ENGINE).error is None
    assert isinstance(perform(check("(", FormatKind.REGEX), ENGINE).error, InvalidSchema)


class Panic(BaseException):
    """As what an engine's Rust raises: no `Exception`."""


class Broken:
    def __init__(self, error: Any) -> None:
        self.error = error

    def check(self, _grammar: ArgumentGrammar, _layout: object = None) -> None:
        raise self.error


def broken(error: BaseException) -> Any:
    """Give an engine whose checks raise."""
    return Broken(error)


@pytest.mark.parametrize("error", [TypeError("the #1"), Panic("the #2"), AttributeError("the #3")])
def test_whatever_is_raised_is_a_refusal_that_names_it(
    error: AttributeError | TypeError | Panic, capfd: pytest.CaptureFixture[str]
) -> None:
    verdict = survived(lambda: perform(check({}), broken(error)))
    assert type(verdict.error) is UnsupportedSchema
    assert type(error).__name__ in str(verdict.error)
    logged = capfd.readouterr().err
    assert "in check" in logged  # the operator's log says where, without a client's words
    assert str(error) not in logged


def test_too_much_memory_is_a_limit() -> None:
    assert isinstance(
        survived(lambda: perform(check({}), broken(MemoryError()))).error, SchemaLimit
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_an_end_that_is_meant_is_none(error: KeyboardInterrupt | SystemExit) -> None:
    with pytest.raises(type(error)):
        survived(lambda: perform(check({}), broken(error)))


def test_a_schema_is_written_for_the_engine() -> None:
    asked = replace(check({"type": "object", "properties": {"a": {"const": 1}}}), writes=True)
    matcher = ENGINE.read(perform(asked, ENGINE).written).matcher()
    assert all(matcher.accept(byte) for byte in b'{"a": 1}')
    assert matcher.is_accepting()
    assert asked.key() != replace(asked, writes=False).key()


def test_a_text_is_written_without_white_space_and_closed_where_arguments_are_not() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}}
    arguments = replace(check(schema, compact_text=True, closed_text=True), writes=True)
    text = replace(arguments, wanted=replace(arguments.wanted, root=Root.ANY))
    for asked, others in ((arguments, True), (text, False)):
        for given, legal in ((b'{"a":1}', True), (b'{"a": 1}', others), (b'{"b":1}', others)):
            matcher = ENGINE.read(perform(asked, ENGINE).written).matcher()
            assert all(map(matcher.accept, given)) is legal


def test_getting_ready_tries_json_and_layout_in_any_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[BoundLayout | None] = []

    def refusing(_: ArgumentGrammar, layout: BoundLayout | None) -> None:
        tried.append(layout)
        raise UnsupportedSchema((Problem("$", "", "none"),))

    dialect = dialects.load("glm45")
    layout = dialect.layout({name: at for at, name in enumerate(dialect.controls)})
    engine = engines.load("machine", Vocabulary.of_bytes(dialect.controls))
    monkeypatch.setattr(engine, "check", refusing)
    warm(engine, layout)
    assert len(tried) == 2
    assert all(each in tried for each in (None, layout))
    warm(engine, None)
    assert tried[2:] == [None]
