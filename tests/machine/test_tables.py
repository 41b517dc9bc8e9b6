from __future__ import annotations

import gzip
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.errors import EnforcerError, UnsupportedSchema
from enforcer.machine import builder, nodes, wire
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema import Conventions, Root, compile_schema
from tests.conformance.harness import forms, maskbench
from tests.laid_out import bound
from tests.shared_data import shared
from tests.vocabularies import small

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer import kernel
    from enforcer.schema import ArgumentGrammar

_STRING = {"type": "string"}
_CLOSED = {"additionalProperties": False}
_OPEN = Conventions(closed_objects=False)


@cache
def _tree() -> kernel.Tree:
    return bound_vocabulary(small())


def _grammar(schema: Any) -> ArgumentGrammar:
    return compile_schema(schema, root=Root.ANY, conventions=_OPEN)


def _begun(grammar: ArgumentGrammar) -> kernel.TextMatcher:
    return MachineGrammar(tables_of(grammar, None), _tree()).matcher()


def _prefix(text: kernel.TextMatcher, data: bytes) -> int:
    """Return how many bytes a text takes, one by one."""
    return next((at for at, byte in enumerate(data) if not text.accept(byte)), len(data))


def _takes(schema: Any, *values: str) -> list[bool]:
    found = []
    for value in values:
        text = _begun(_grammar(schema))
        data = value.encode()
        found.append(_prefix(text, data) == len(data) and text.is_accepting())
    return found


def test_one_of_several_properties_has_to_be_there() -> None:
    properties = {name: {"type": "integer"} for name in "abc"}
    schema = {
        "type": "object",
        "properties": properties,
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "additionalProperties": False,
    }
    texts = ("{}", '{"a":1}', '{"b":1}', '{"c":1}', '{"c":1,"b":2}')
    assert _takes(schema, *texts) == [False, True, True, False, True]


def test_a_closed_object_may_have_to_have_some_property() -> None:
    properties = {name: {"type": "integer"} for name in "ab"}
    schema = {
        "type": "object",
        "properties": properties,
        "minProperties": 1,
        "additionalProperties": False,
    }
    texts = ("{}", "{ }", '{"a":1}', '{"b":1}', '{"b":1,"a":2}', '{"b":1,"b":2}')
    assert _takes(schema, *texts) == [False, False, True, True, True, False]


def test_undeclared_names_that_are_few_are_not_begun_where_all_of_them_are_declared() -> None:
    schema = {
        "type": "object",
        "properties": {"ab": {"type": "null"}},
        "patternProperties": {"^a[bc]$": {}, "^bc+$": {}},
        "additionalProperties": False,
    }
    assert _takes(schema, '{"ac":1}', '{"ab":null}', '{"ab":1}') == [True, True, False]
    text = _begun(_grammar(schema))
    for _ in range(2):
        assert _prefix(text, b'{"ab":null,"a') == 13
        assert not text.accept(ord("b"))
        assert text.accept(ord("c"))
        text = _begun(_grammar(schema))


def test_shapes_with_several_classes_of_names_are_told_apart() -> None:
    schema = {
        "anyOf": [
            {
                "type": "object",
                "properties": {"n": {"const": 1}},
                "patternProperties": {"^x": {"type": "integer"}},
                "additionalProperties": {"type": "string"},
            },
            {"type": "object", "properties": {"x": {"type": "null"}, "n": {"const": 2}}},
        ]
    }
    texts = ('{"n":1,"x1":1}', '{"n":1,"x1":"a"}', '{"n":2,"x":null}', '{"n":1,"x":null}')
    assert _takes(schema, *texts) == [True, False, True, False]


@pytest.mark.parametrize("count", [62, 63, 64, 65, 129])
def test_a_word_of_shapes_may_have_any_bits(count: int) -> None:
    def shape(value: str, **more: Any) -> dict[str, Any]:
        properties = {"x": {"const": value}, **more}
        return {"type": "object", "properties": properties, "required": ["x"]} | _CLOSED

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


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_host_by_its_name_or_address_is_held(keyword: str) -> None:
    kinds = [{"format": "hostname"}, {"format": "ipv4"}, {"format": "ipv6"}]
    tables_of(_grammar({"type": "string", keyword: kinds}), None)


_LONG = ["^([a-z][0-9])+$", "(c1d3g3.{4,8}){6}", "(t|8){10}..$", "^z9.{100}z9$"]
_CONTAINING = {"contains": {"multipleOf": 11, "minimum": 100, "type": "number"}}
_DIVIDED = {"items": {"multipleOf": 4, "type": "number"}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "regex"},
        {"type": "string", "pattern": "a.{0,300}b"},
        {"type": "string", "allOf": [{"pattern": each} for each in _LONG]},
        {"type": "array", "items": {"oneOf": [_CONTAINING, _DIVIDED], "type": "array"}},
    ],
)
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
_NONE_FITS = {
    "maxLength": 200,
    "allOf": [
        {"pattern": "aa{22,36}"},
        {"pattern": r"b(?:b\sb|.(?:b|a..))"},
        {"not": {"pattern": r"b(?:.|b*(?:.(?:(?:[^a]|b)|(?:[ab]b)+a))+[a-c])"}},
    ],
}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", **_NONE_FITS},
        {"type": "object", "propertyNames": _NONE_FITS},
    ],
)
def test_what_no_text_fits_is_not_held(schema: Any) -> None:
    """A mask would let a text begin that nothing may follow."""
    with pytest.raises(UnsupportedSchema, match="there is none"):
        tables_of(_grammar(schema), None)


def test_white_space_is_the_layouts() -> None:
    assert tables_of(_grammar({"type": "object"}), bound("deepseek")).white_space == 1


def _tools() -> Iterator[Any]:
    with gzip.open(shared("cases", "tools.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


@pytest.mark.slow
def test_every_collected_tool_is_held() -> None:
    count = 0
    for tool in _tools():
        try:
            grammar = compile_schema(tool["function"]["parameters"], conventions=_OPEN)
        except EnforcerError:
            continue
        count += 1
        held = MachineGrammar(tables_of(grammar, None), _tree())
        for value in tool.get("valid_arguments", ()):
            text, data = held.matcher(), json.dumps(value).encode()
            assert _prefix(text, data) == len(data)
            assert text.is_accepting()
    assert count > 900


@pytest.mark.slow
def test_of_maskbench_nearly_all_is_held_and_judged_as_it_is() -> None:
    cases = [*maskbench(shared("cases", "maskbench", "cases.jsonl.gz"))][::15]
    count = 0
    for case in cases:
        try:
            held = MachineGrammar(tables_of(_grammar(case.schema), None), _tree())
        except EnforcerError:
            continue
        count += 1
        for value, is_valid in case.tests:
            for form in forms(value, case.id):
                text, data = held.matcher(), form.encode()
                is_taken = _prefix(text, data) == len(data) and text.is_accepting()
                assert is_valid or not is_taken, case.id
                assert is_taken or not is_valid, case.id
    assert count >= 0.95 * len(cases)


def test_only_tables_that_are_explained_have_a_debug_section() -> None:
    grammar = compile_schema({"type": "object", "properties": {"b": {"type": "null"}, "a": {}}})
    assert tables_of(grammar, None).debug is None
    tables = tables_of(grammar, None, is_explained=True)
    assert tables.debug is not None
    assert tables.debug.nodes[0] == ((grammar.root,), ("a", "b"))
    assert wire.read(wire.write(tables)).debug is None
