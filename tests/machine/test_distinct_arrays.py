"""Arrays of distinct elements: what is legal, ends, comes back, and costs others nothing."""

import json
import threading
import tracemalloc
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines import load
from enforcer.errors import SchemaError, UnsupportedSchema
from enforcer.schema import compile_schema
from tests.schema_judge import V, accepts, compiled, is_valid, walk
from tests.support import cases, machine


def distinct(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def strings(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^({pattern})$"}


NESTED, MIXED = cases.schemas("machine/cases/distinct_arrays.toml").values()
SCHEMAS = [
    *cases.listed("machine/cases/distinct_arrays.toml", "arrays"),
    distinct({"enum": [f"n{i}" for i in range(70)]}, minItems=1),
    NESTED,
]


POOL = st.sampled_from(
    [
        *("", "a", "b", "ab", "A", "é", "\n", "/", '"', "\\"),
        *("🙂", "a\0", "e\u0301", "日本", "\u2028"),
    ]
)


def spelled(text: str, data: st.DataObject) -> str:
    """Write a string, each character in one of the ways that JSON has."""
    out = []
    for char in text:
        units = char.encode("utf-16-be")
        code = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
        usual = json.dumps(char, ensure_ascii=False)[1:-1]
        ways = [usual, code, "\\u".join(part.upper() for part in code.split("\\u"))]
        if char == "/":
            ways.append("\\/")
        out.append(data.draw(st.sampled_from(ways)))
    return '"' + "".join(out) + '"'


@given(st.lists(POOL, max_size=4), st.data(), st.integers(0, 10**9))
def test_equal_strings_in_any_spelling(texts: list[str], data: st.DataObject, seed: int) -> None:
    text = "[" + ", ".join(spelled(each, data) for each in texts) + "]"
    taken = accepts(compiled(distinct({"type": "string"})), text, Random(seed))
    assert taken == (len(set(texts)) == len(texts))


@given(
    st.lists(st.sampled_from(["a", "b", "aa", "ab", "ba", "bb"]), max_size=7), st.integers(0, 10**9)
)
def test_few_strings_agree_with_a_validator(texts: list[str], seed: int) -> None:
    schema = distinct(strings("[ab]{1,2}|x*"), maxItems=6)
    assert accepts(compiled(schema), json.dumps(texts), Random(seed)) == is_valid(schema, texts)


def test_what_ends_with_no_other_element_left_is_not_begun() -> None:
    grammar = compiled(distinct(strings("[a-h]{2}")))
    every = [a + b for a in "abcdefgh" for b in "abcdefgh"]
    whole = json.dumps(every)
    assert accepts(grammar, whole)
    legal = machine.mask(machine.begun(grammar, whole[:-1]), V)
    assert ord(",") not in legal
    assert V.decode(sorted(legal))[:1] in b"\n ]"
    # The last one is forced, character by character.
    matcher = machine.begun(grammar, json.dumps(every[:-1])[:-1] + ', "h')
    assert [char for char in "abcdefgh" if matcher.accept(ord(char))] == ["h"]
    assert not matcher.accept(ord(","))
    assert matcher.accept(ord('"'))
    assert not matcher.accept(ord(","))


def test_arrays_are_kept_apart_by_the_way_that_leads_to_them() -> None:
    grammar = compiled(NESTED)
    fits = {"tags": ["x", "y"], "below": [{"tags": ["x"]}, {"other": ["x"]}], "z": ["x", "xx"]}
    assert accepts(grammar, json.dumps(fits))
    for wrong in ({"tags": ["x", "x"]}, {"z": ["", ""]}, {"below": [{}, {"tags": ["y", "y"]}]}):
        assert not accepts(grammar, json.dumps(wrong))
    plain = {"type": "object", "properties": {"a": distinct({"type": "string"}), "b": {}}}
    assert accepts(compiled(plain), '{"b": ["x", "x"], "a": ["x"], "c": [["x"], ["x"]]}')


def test_two_texts_of_one_grammar_know_nothing_of_each_other() -> None:
    grammar = compiled(distinct({"type": "string"}))
    one, other = machine.begun(grammar, '["a", "'), machine.begun(grammar, '["b", "a')
    machine.write(one, 'b"')
    machine.write(other, 'b", "a"]')
    assert not all(map(one.accept, b', "a"'))


def test_threads_that_share_a_grammar_each_follow_their_own_text() -> None:
    grammar, wrong = compiled(distinct(strings("[a-c]{1,3}"))), []

    def follow(seed: int) -> None:
        for each in range(10):
            text = walk(grammar, Random(seed * 100 + each))
            found = [] if text is None else json.loads(text)
            if len(set(found)) < len(found):
                wrong.append(text)

    threads = [threading.Thread(target=follow, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_elements_that_are_counted_as_well_are_refused() -> None:
    with pytest.raises(UnsupportedSchema, match="drop one of the two") as caught:
        compiled({"type": "array", "uniqueItems": True, "contains": {"const": "x"}})
    assert caught.value.path == "$.uniqueItems"


TEXT = '{"below": [{"tags": ["xy", "x"]}, {}], "tags": ["yx", "y"], "k": ["a", "ab", "\\u00e9", ""]'


@pytest.mark.parametrize("seed", range(3))
def test_however_far_it_goes_back_it_is_where_a_new_text_would_be(seed: int) -> None:
    ids, random = V.encode(TEXT), Random(seed)
    mixed = json.dumps(NESTED).replace('"type": "string"', '"type": ["string", "null"]')
    grammar = load("machine", V).compile(compile_schema(json.loads(mixed)))
    matcher = grammar.matcher()
    at = 0
    for _ in range(80):
        to = random.randrange(len(ids) + 1)
        if to < at:
            matcher.rollback(at - to)
        assert all(map(matcher.accept, ids[at:to]))
        at, fresh = to, grammar.matcher()
        assert all(map(fresh.accept, ids[:at]))
        assert machine.mask(matcher, V) == machine.mask(fresh, V)


@pytest.mark.slow
def test_what_a_text_holds_hardly_grows() -> None:
    """Each place once held a copy of the element and of all elements: 200 MB for such texts."""
    grammar = compiled(distinct({"type": "string"}))
    tracemalloc.start()
    try:
        for text in ('["' + "abcde fghi" * 1_000, "[" + ", ".join(f'"{n}"' for n in range(1_500))):
            matcher, before = grammar.matcher(), tracemalloc.get_traced_memory()[0]
            for token_id in V.encode(text):
                assert matcher.accept(token_id)
                if keep := getattr(matcher, "keep", None):
                    keep(64)
            assert tracemalloc.get_traced_memory()[0] - before < 60 * len(text)
    finally:
        tracemalloc.stop()


def test_where_it_depends_on_the_rest_of_the_text_it_is_known_there() -> None:
    grammar = compiled(MIXED)
    for value in (
        {"a": ["x", "x"], "k": 2},
        {"a": ["x", "x"], "k": 1},
        {"k": 1, "a": ["x", "y"]},
        {"k": 1, "a": ["x", "x"]},
        {"k": 2, "a": [1, 1]},
    ):
        assert accepts(grammar, json.dumps(value)) == is_valid(MIXED, value)


def test_more_elements_than_there_are_values_fit_nothing() -> None:
    with pytest.raises(UnsupportedSchema, match="as many distinct elements"):
        compiled(distinct(strings("[a-h]{2}"), minItems=65))


ITEMS = st.sampled_from(
    [{"type": "string"}, strings("[ab]*"), strings("[ab]{1,3}"), {"enum": ["a", "b"]}, True]
)


def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.dictionaries(st.sampled_from("pq"), inner, max_size=2).map(
            lambda p: {"type": "object", "properties": p, "additionalProperties": False}
        ),
        inner.map(lambda x: {"type": "array", "items": x}),
        st.lists(inner, min_size=1, max_size=2).map(lambda x: {"anyOf": x}),
        st.lists(inner, min_size=1, max_size=2).map(lambda x: {"oneOf": x}),
    )


@given(
    st.recursive(ITEMS.map(distinct), around, max_leaves=4),
    st.recursive(
        st.lists(st.sampled_from(["a", "b", "ab"]), max_size=3),
        lambda v: st.one_of(
            st.dictionaries(st.sampled_from("pq"), v, max_size=2), st.lists(v, max_size=2)
        ),
        max_leaves=4,
    ),
    st.integers(0, 10**9),
)
def test_schemas_agree_with_a_validator(schema: dict[str, Any], value: Any, seed: int) -> None:
    try:
        grammar = compiled(schema)
    except SchemaError:
        return
    assert accepts(grammar, json.dumps(value), Random(seed)) == is_valid(schema, value)
    text = walk(grammar, Random(seed))
    assert text is None or is_valid(schema, json.loads(text))


def test_numbers_beyond_doubles_are_kept_distinct_as_well() -> None:
    matcher = compiled(distinct({"type": "number"})).matcher()
    huge = "1234567890123456789012345678901234567890e299"
    machine.assert_follows(matcher, V, V.encode(f"[{huge}, 1e5, -{huge}, 12e5]"))
    assert matcher.is_accepting()
