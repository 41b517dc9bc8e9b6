"""Layouts in masks: control ids, what is refused, and who refuses all of them."""

from random import Random
from typing import Any

import pytest

from enforcer import engines
from enforcer.errors import ConfigurationError, UnsupportedSchema
from enforcer.layouts import Layout
from enforcer.schema import Root, compile_schema
from enforcer.schema.grammar import ArgumentGrammar
from enforcer.schema.reading.document import step
from enforcer.vocabulary import Vocabulary
from tests.laid_out import K3_MARKERS, TABLES, bound, compiled, engine, legal, taken, vocabulary
from tests.schema_judge import agree_along_a_walk

V = vocabulary()
PAIRS = ("kimi_k3", "qwen3_coder", "minimax_m2", "glm45")


def grammar(schema: dict[str, Any]) -> ArgumentGrammar:
    return compile_schema(schema, root=Root.OBJECT)


def test_control_ids_are_legal_where_the_layout_has_them_and_nowhere_else() -> None:
    opened, close, sep = map(V.control, K3_MARKERS)
    matcher = compiled("kimi_k3", {}).matcher()
    assert legal(matcher) == {opened, close}
    for i in [opened, *b'argument key="a" type="string"', sep]:
        assert matcher.accept(i)
    assert legal(matcher) & V.control_ids == {close}
    assert not matcher.accept(sep)


def test_json_in_another_layout_has_no_control_ids() -> None:
    assert not legal(compiled("deepseek", {}).matcher()) & V.control_ids


def test_an_empty_object_needs_a_schema_that_permits_it() -> None:
    close = V.control("<|close|>")
    needed = {"properties": {"a": {}}, "required": ["a"]}
    assert close not in legal(compiled("kimi_k3", needed).matcher())
    assert not compiled("glm45", needed).matcher().is_accepting()
    assert compiled("glm45", {}).matcher().is_accepting()


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_an_engine_gets_ready_for_a_layout(name: str) -> None:
    """Raised at the start of a server of GLM's: a usual format was one that tables refused."""
    names = Vocabulary.of_bytes(K3_MARKERS)
    fresh = engines.load("machine", names)
    layout = Layout.read(TABLES[name]).bind(names.controls.get)
    fresh.warm(layout)
    assert fresh.compile(grammar({}), layout).weight > 0


@pytest.mark.parametrize("name", PAIRS)
def test_a_raw_value_holds_no_stop_and_its_beginnings(name: str) -> None:
    schema = {"properties": {"a": {"type": "string"}}, "additionalProperties": False}
    stop = bound(name).text_behind("value")
    assert not taken(name, schema, {"a": f"x{stop}y"})
    assert taken(name, schema, {"a": f"x{stop[:-1]}y{stop[:3]}"})
    inside = {"properties": {"a": {"type": "array", "items": {"type": "string"}}}}
    assert not taken(name, inside, {"a": [stop]})
    assert taken(name, inside, {"a": [stop[:-1]]})


@pytest.mark.parametrize(
    ("name", "key"),
    [("pythonic", "from"), ("pythonic", "a-b"), ("pythonic", "_a"), ("qwen3_coder", "a>b"),
     ("minimax_m2", 'a"b'), ("glm45", " a"), ("glm45", "</arg_key>")],
)  # fmt: skip
def test_a_declared_name_that_cannot_be_written_is_refused_by_name(name: str, key: str) -> None:
    with pytest.raises(UnsupportedSchema, match="rename") as refused:
        engine().check(grammar({"properties": {key: {"type": "string"}}}), bound(name))
    assert refused.value.path == step("$.properties", key)
    engine().check(grammar({"properties": {key: False}}), bound(name))


@pytest.mark.parametrize("name", ["qwen3_coder", "minimax_m2", "glm45"])
def test_a_required_value_that_would_be_read_as_another_is_refused(name: str) -> None:
    hidden = {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    with pytest.raises(UnsupportedSchema, match="`type`") as refused:
        engine().check(grammar({**hidden, "required": ["a"]}), bound(name))
    assert refused.value.path == "$.properties.a"
    # Where it may be left out, it is.
    assert taken(name, hidden, {"b": "x"})
    assert not taken(name, hidden, {"a": 5})
    engine().check(grammar({**hidden, "required": ["a"]}), bound("kimi_k3"))


UNIQUE = {"properties": {"a": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}}}
COUNTED = {"properties": {"a": {"type": "object", "minProperties": 3}}}


@pytest.mark.parametrize("name", [*PAIRS, "deepseek", "pythonic"])
def test_distinct_elements_of_any_kind_are_kept(name: str) -> None:
    items = {"enum": ["b", "é", True, None, 1, {"k": [0]}, {"k": [1]}]}
    anything = {"properties": {"a": {"type": "array", "uniqueItems": True}}}
    few = {"properties": {"a": {"type": "array", "uniqueItems": True, "items": items}}}
    fitting = ["é", "b", None, True, 1], [{"k": [0]}, {"k": [1]}]
    others = [1, "b", 1], [{"k": [0]}, None, {"k": [0]}], ["é", "é"], [None, True, None]
    for schema in (anything, few):
        for elements in (*fitting, *others):
            assert taken(name, schema, {"a": elements}) == (elements in fitting), elements


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["pythonic", "kimi_k3"])
def test_masks_of_distinct_elements_are_what_is_accepted(name: str, seed: int) -> None:
    items = {"properties": {"k": {"enum": ["x", 1]}}, "additionalProperties": False}
    schema = {"properties": {"a": {"type": "array", "uniqueItems": True, "items": items}}}
    matcher = compiled(name, schema).matcher()
    agree_along_a_walk(matcher, V, Random(seed), lambda data: set(data) & set(b"'\"},"))


@pytest.mark.parametrize("name", [*PAIRS, "deepseek", "pythonic"])
def test_distinct_strings_and_counted_names_are_kept(name: str) -> None:
    for elements, fits in ((["b", "c"], True), (["b", "b"], False), (["b", "c", "b"], False)):
        assert taken(name, UNIQUE, {"a": elements}) == fits
    for names, fits in (("bcd", True), ("bc", False)):
        assert taken(name, COUNTED, {"a": dict.fromkeys(names, 1)}) == fits


@pytest.mark.parametrize("name", [*PAIRS, "pythonic"])
def test_arguments_themselves_are_counted(name: str) -> None:
    counted = {"minProperties": 3, "additionalProperties": {"type": "string"}}
    for names, fits in (("bcd", True), ("bc", False), ("", False)):
        assert taken(name, counted, dict.fromkeys(names, "x")) == fits


@pytest.mark.parametrize("name", ["xgrammar", "outlines-core"])
def test_other_engines_write_plain_json_only(name: str) -> None:
    pytest.importorskip(name.replace("-", "_"))
    other = engines.load(name, V)
    closed = grammar({"properties": {"a": {"type": "null"}}, "additionalProperties": False})
    assert other.write(closed, Layout.read({}).bind(V.controls.get)) == other.write(closed)
    for layout in map(bound, TABLES):
        with pytest.raises(ConfigurationError, match="machine"):
            other.check(closed, layout)


def test_a_name_that_stands_in_no_shape_keeps_its_own_type() -> None:
    # The compiler leaves out a property that says no more than `additionalProperties` does.
    either = {"type": ["string", "null"]}
    schema = {"properties": {"a": either}, "additionalProperties": either}
    assert taken("glm45", schema, {"a": None})
    assert taken("glm45", schema, {"b": "null"})
    strict = {"properties": {"a": {"type": ["null", "string"], "not": {"type": "null"}}}}
    assert not taken("glm45", strict, {"a": "null"})
    assert taken("glm45", strict, {"a": "nul"})
