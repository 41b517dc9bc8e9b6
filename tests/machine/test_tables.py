import gzip
import json
from typing import Any

import pytest

from enforcer import kernel
from enforcer.errors import EnforcerError, UnsupportedSchema
from enforcer.machine import builder, nodes, wire
from enforcer.machine.grammar import MachineGrammar
from enforcer.machine.tables import tables_of
from enforcer.schema import ArgumentGrammar, Root, compile_schema
from tests.conformance.harness import forms, maskbench
from tests.engine_cases import closed
from tests.laid_out import bound
from tests.schema_judge import accepts
from tests.shared_data import shared
from tests.support import cases, machine
from tests.vocabularies import small

_STRING = {"type": "string"}


def _grammar(schema: Any) -> ArgumentGrammar:
    return compile_schema(schema, root=Root.ANY, conventions=machine.OPEN)


def _held(grammar: ArgumentGrammar) -> MachineGrammar:
    return MachineGrammar(tables_of(grammar, None), machine.tree(small()))


def _prefix(text: kernel.TextMatcher, data: bytes) -> int:
    """Return how many bytes a text takes, one by one."""
    return next((at for at, byte in enumerate(data) if not text.accept(byte)), len(data))


def _takes(schema: Any, *values: str) -> list[bool]:
    found = _held(_grammar(schema))
    return [accepts(found, value) for value in values]


@cases.parametrized("machine/cases/tables.toml", "case")
def test_objects_of_several_shapes(schema: Any, taken: list[str], refused: list[str]) -> None:
    assert _takes(schema, *taken) == [True] * len(taken)
    assert _takes(schema, *refused) == [False] * len(refused)


def test_undeclared_names_that_are_few_are_not_begun_where_all_of_them_are_declared() -> None:
    patterns: dict[str, Any] = {"^a[bc]$": {}, "^bc+$": {}}
    schema = closed({"ab": {"type": "null"}}, patternProperties=patterns)
    assert _takes(schema, '{"ac":1}', '{"ab":null}', '{"ab":1}') == [True, True, False]
    for _ in range(2):
        text = _held(_grammar(schema)).matcher()
        assert _prefix(text, b'{"ab":null,"a') == 13
        assert not text.accept(ord("b"))
        assert text.accept(ord("c"))


@pytest.mark.parametrize("count", [62, 63, 64, 65, 129])
def test_a_word_of_shapes_may_have_any_bits(count: int) -> None:
    def shape(value: str, **more: Any) -> dict[str, Any]:
        return closed({"x": {"const": value}, **more}, "x")

    others = [shape("b", **{f"p{i}": {"type": "integer"}}) for i in range(count)]
    schema = {"anyOf": [shape("a"), *others]}
    texts = ('{"x":"a"}', '{"x":"b"}', '{"x":"b","p61":1}', '{"x":"a","p61":1}', "{}")
    assert _takes(schema, *texts) == [True, True, True, False, False]


def test_equal_parts_are_stored_once() -> None:
    pair = {"type": "object", "properties": {"a": _STRING, "b": _STRING}}
    found = tables_of(_grammar({"type": "object", "properties": {"x": pair, "y": pair}}), None)
    one = tables_of(_grammar({"type": "object", "properties": {"x": pair}}), None)
    assert len(found.arrays["automata"]) == len(one.arrays["automata"])
    assert len(found.arrays["nodes"]) == len(one.arrays["nodes"])


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [{}, {"minimum": -3}, {"exclusiveMaximum": 10**9}])
def test_numbers_that_are_no_integers_are_held(bounds: dict[str, Any]) -> None:
    """Each of sixteen exponents once had a count of its own of the digits behind."""
    tables_of(_grammar({"oneOf": [{"type": "integer"}, {"type": "number"}]}), None)
    schema = {"type": "number", "not": {"type": "integer"}, **bounds}
    texts = ("1.5", "-2.25e0", "2.5e3", "1.5e-1", "3.0", "7")
    assert _takes(schema, *texts) == [True, True, False, True, False, False]


@pytest.mark.parametrize(
    ("limit", "value", "schema", "path"),
    [
        ((builder, "MOST_NODES"), 2, {"type": "object", "properties": {"a": _STRING}}, "$"),
        ((builder, "MOST_VALUES"), 0, _STRING, "$"),
        ((builder, "MOST_WORDS"), 0, _STRING, "$"),
        ((builder, "MOST_WORK"), 5, {"type": "string", "pattern": "^ab+c$"}, "$"),
        ((builder, "MOST_TRIE_NODES"), 2, {"enum": ["ab", "cd"]}, "$"),
        ((nodes, "MOST_ITEM_SLOTS"), 1, {"type": "array", "prefixItems": [_STRING]}, "$"),
    ],
)
def test_what_is_too_large_is_refused_where_it_is(
    monkeypatch: pytest.MonkeyPatch, limit: tuple[Any, str], value: int, schema: Any, path: str
) -> None:
    grammar = _grammar({"type": "object", "properties": {"p": schema}, "required": ["p"]})
    tables_of(grammar, None)
    monkeypatch.setattr(*limit, value)
    with pytest.raises(UnsupportedSchema) as refused:
        tables_of(grammar, None)
    assert refused.value.path.startswith("$")
    assert "it needs" in refused.value.reason
    assert path in refused.value.path


@pytest.mark.slow
@pytest.mark.parametrize("schema", cases.listed("machine/cases/tables.toml", "large"))
def test_large_automata_are_held(schema: Any) -> None:
    tables_of(_grammar(schema), None)


def test_a_language_that_is_too_large_is_refused_by_its_property() -> None:
    schema = {"anyOf": [{"type": "string", "maxLength": 9_000}, {"const": "a"}, {"type": "null"}]}
    huge = {"type": "string", "pattern": "^(a|b)*a(a|b){20}$"}
    grammar = _grammar({"type": "object", "properties": {"x": schema, "huge name": huge}})
    with pytest.raises(UnsupportedSchema) as refused:
        tables_of(grammar, None)
    assert refused.value.path == '$.properties["huge name"]'
    assert refused.value.reason.startswith("it needs an automaton of more than 40,000 states; ")


# More than the schema's compiler looks at: it takes `b` to be in some of these strings.
_NONE_FITS = cases.schemas("machine/cases/tables.toml")["none fits"]


@pytest.mark.slow
@pytest.mark.parametrize("schema", [_NONE_FITS, {"type": "object", "propertyNames": _NONE_FITS}])
def test_what_no_text_fits_is_not_held(schema: Any) -> None:
    """A mask would let a text begin that nothing may follow."""
    with pytest.raises(UnsupportedSchema, match="there is none"):
        tables_of(_grammar(schema), None)


def test_white_space_is_the_layouts() -> None:
    assert tables_of(_grammar({"type": "object"}), bound("deepseek")).white_space == 1


@pytest.mark.slow
def test_every_collected_tool_is_held() -> None:
    count = 0
    with gzip.open(shared("cases", "tools.jsonl.gz"), "rt", encoding="utf-8") as lines:
        tools = [*map(json.loads, lines)]
    for tool in tools:
        try:
            grammar = compile_schema(tool["function"]["parameters"], conventions=machine.OPEN)
        except EnforcerError:
            continue
        count += 1
        held = _held(grammar)
        for value in tool.get("valid_arguments", ()):
            assert accepts(held, json.dumps(value))
    assert count > 900


@pytest.mark.slow
def test_of_maskbench_nearly_all_is_held_and_judged_as_it_is() -> None:
    cases = [*maskbench(shared("cases", "maskbench", "cases.jsonl.gz"))][::15]
    count = 0
    for case in cases:
        try:
            held = _held(_grammar(case.schema))
        except EnforcerError:
            continue
        count += 1
        for value, is_valid in case.tests:
            for form in forms(value, case.id):
                assert accepts(held, form) == is_valid, case.id
    assert count >= 0.95 * len(cases)


def test_only_tables_that_are_explained_have_a_debug_section() -> None:
    grammar = compile_schema({"type": "object", "properties": {"b": {"type": "null"}, "a": {}}})
    assert tables_of(grammar, None).debug is None
    tables = tables_of(grammar, None, is_explained=True)
    assert tables.debug is not None
    assert tables.debug.nodes[0] == ((grammar.root,), ("a", "b"))
    assert wire.read(wire.write(tables)).debug is None
