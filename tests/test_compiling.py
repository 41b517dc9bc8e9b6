"""What is compiled for an engine, when, and what is kept of it."""

import gc
import json
from collections.abc import Callable

import pytest

from enforcer import engines
from enforcer.cache import Cache
from enforcer.compiling import Grammars
from enforcer.errors import UnsupportedSchema
from enforcer.request.options import Options
from enforcer.request.response_format import FormatKind, ResponseFormat, parse
from enforcer.schema import Limits, OnUnsupported, Root
from enforcer.turn import dialects
from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary
from tests.dialect_cases import vocabulary
from tests.vocabularies import small

PLAIN = '{"type": "object", "properties": {"a": {"type": "string"}}}'
NOT_PLAIN = '{"type": "object", "not": {"required": ["a"]}}'
UNIQUE = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
REFUSED = '{"type": "integer", "multipleOf": 10007}'
REFUSED_ARGUMENTS = f'{{"type": "object", "properties": {{"n": {REFUSED}}}}}'
OPTIONS = Options()


def of_schema(source: str, root: Root = Root.OBJECT) -> ResponseFormat:
    return ResponseFormat(FormatKind.JSON_SCHEMA, source, root)


def made(
    cache: Cache | None = None,
    dialect: str = "kimi_k2",
    known: Vocabulary | None = None,
    on_compile: Callable[[int], None] | None = None,
    write: Callable[[ResponseFormat, Options], bytes] | None = None,
) -> Grammars:
    known = known or small()
    return Grammars(
        known,
        engines.load("machine", known),
        Table(dialects.load(dialect), known).layout,
        cache=cache or Cache(1 << 24),
        on_compile=on_compile,
        write=write,
    )


def test_equal_sources_are_compiled_once_and_under_other_options_again() -> None:
    compiled: list[int] = []
    grammars = made(on_compile=compiled.append)
    assert not grammars.is_compiled(of_schema(PLAIN), OPTIONS)
    first = grammars.compiled(of_schema(PLAIN), OPTIONS)
    assert grammars.compiled(of_schema(PLAIN), OPTIONS) is first
    assert grammars.is_compiled(of_schema(PLAIN), OPTIONS)
    tight = Options(limits=Limits(properties=9))
    assert not grammars.is_compiled(of_schema(PLAIN), tight)
    assert grammars.compiled(of_schema(PLAIN), tight) is not first
    assert len(compiled) == 2


def test_what_is_kept_of_one_that_is_gone_is_no_other_ones() -> None:
    """Those of several vocabularies may share a cache; their addresses are used again."""
    shared = Cache(1 << 24)
    compiled: list[int] = []
    gc.freeze()  # what other tests have left is not looked through twenty times
    try:
        for _ in range(20):
            grammars = made(shared, on_compile=compiled.append)
            grammars.compiled(of_schema("{}"), OPTIONS)
            del grammars
            gc.collect()
    finally:
        gc.unfreeze()
    assert len(compiled) == 20


def test_small_and_plain_schemas_are_written_here() -> None:
    elsewhere: list[tuple[str, Root]] = []
    here = made()

    def write(wanted: ResponseFormat, options: Options) -> bytes:
        elsewhere.append((wanted.source, wanted.root))
        return here._write_here(wanted, options)

    grammars = made(write=write)
    grammars.compiled(of_schema(PLAIN), OPTIONS)
    assert not elsewhere
    long = PLAIN.replace('"a"', f'"{"a" * 3_000}"')
    wanted = parse({"type": "json_schema", "json_schema": {"name": "n", "schema": {}}})
    assert wanted is not None
    grammars.compiled(of_schema(long), OPTIONS)
    grammars.compiled(of_schema(NOT_PLAIN), OPTIONS)
    grammars.compiled(wanted, OPTIONS)
    assert elsewhere == [(long, Root.OBJECT), (NOT_PLAIN, Root.OBJECT), ("{}", Root.ANY)]


@pytest.mark.parametrize("schema", [None, {}, {"properties": {"a": {"type": "integer"}}}])
@pytest.mark.parametrize("compact", [False, True])
def test_white_space_of_a_text_is_bounded_or_none(schema: object, compact: bool) -> None:
    wanted = parse(
        {"type": "json_object"}
        if schema is None
        else {"type": "json_schema", "json_schema": {"schema": schema}}
    )
    assert wanted is not None
    grammar = made().compiled(wanted, Options(compact_text=compact))

    def takes(text: str) -> bool:
        matcher = grammar.matcher()
        return all(map(matcher.accept, small().encode(text))) and matcher.is_accepting()

    for form in ('%s{"a":1}', '{%s"a":1}', '{"a"%s:1}', '{"a":%s1}', '{"a":1%s}'):
        assert takes(form % "")
        for space in (" ", "\n", "\r\n\t", "\n" + " " * 64):
            assert takes(form % space) is not compact
        for space in ("  ", "\t", "\n\n", "\n" + " " * 65):
            assert not takes(form % space)


def test_a_text_is_closed_where_arguments_are_not() -> None:
    wanted = parse({"type": "json_schema", "json_schema": {"schema": json.loads(PLAIN)}})
    assert wanted is not None
    grammars, closed, other = made(), Options(closed_text=True), small().encode('{"b":1}')
    assert all(map(grammars.compiled(wanted, OPTIONS).matcher().accept, other))
    assert all(map(grammars.compiled(of_schema(PLAIN), closed).matcher().accept, other))
    assert not all(map(grammars.compiled(wanted, closed).matcher().accept, other))


def test_what_is_quick() -> None:
    grammars = made()
    assert grammars.is_quick(PLAIN, OPTIONS)
    assert not grammars.is_quick(NOT_PLAIN, OPTIONS)
    assert not grammars.is_quick(PLAIN.replace('"a"', f'"{"a" * 3_000}"'), OPTIONS)
    # Limits may be tighter than what plain schemas stay within.
    assert not grammars.is_quick(PLAIN, Options(limits=Limits(properties=9)))
    # A format may have no way to write a name.
    assert not made(dialect="qwen3_coder", known=vocabulary("qwen3_coder")).is_quick(PLAIN, OPTIONS)


def test_what_is_refused_is_isolated_where_that_is_asked_for() -> None:
    grammars = made()
    isolated = Options(on_unsupported=OnUnsupported.ISOLATE)
    for refuse in (grammars.check, grammars.compiled):
        with pytest.raises(UnsupportedSchema) as caught:
            refuse(of_schema(REFUSED_ARGUMENTS), OPTIONS)
        assert caught.value.path == "$.properties.n.multipleOf"
    grammars.check(of_schema(REFUSED_ARGUMENTS), isolated)
    matcher = grammars.compiled(of_schema(REFUSED_ARGUMENTS), isolated).matcher()
    assert all(map(matcher.accept, small().encode('{"x": 1}')))
    assert matcher.is_accepting()
