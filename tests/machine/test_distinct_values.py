"""Arrays of distinct elements of any kind: numbers, objects, arrays, and all of them mixed."""

import itertools
import json
import tracemalloc
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsupportedSchema
from tests.engine_cases import closed
from tests.machine.test_distinct_arrays import SCHEMAS as STRINGS
from tests.machine.test_distinct_strings import ARRAYS as MORE_STRINGS
from tests.schema_judge import V, accepts, agree_along_a_walk, compiled, is_valid, walk
from tests.support import cases, machine
from tests.walks import examples


def distinct(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **more}


AB = {"enum": ["a", "b"]}
_CASES = "machine/cases/distinct_values.toml"
ELEMENTS = cases.schemas(_CASES, "elements")
SCHEMAS = {name: distinct(items) for name, items in ELEMENTS.items()}
SCHEMAS |= cases.schemas(_CASES, "arrays")
SCHEMAS |= {f"strings {at}": schema for at, schema in enumerate([*STRINGS, *MORE_STRINGS])}


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@given(seed=st.integers(0, 10**9))
def test_generated_values_fit_without_dead_ends(schema: dict[str, Any], seed: int) -> None:
    text = walk(compiled(schema), Random(seed))
    if text is not None:
        assert is_valid(schema, json.loads(text)), text


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@examples(20)
@given(seed=st.integers(0, 10**9))
def test_masks_match_acceptance_and_rollback(schema: dict[str, Any], seed: int) -> None:
    # Short elements, so that some come near to being repeated.
    agree_along_a_walk(
        compiled(schema).matcher(), V, Random(seed), lambda data: set(data) & set(b'"},')
    )


# Elements that are few, so that all of them can be listed: what is left is known exactly.
VALUES = ["a", "b", True, False, None, 0, 1]
FEW = cases.schemas(_CASES, "few")
NAMES = ["a", "b", "c", "ab", "abc"]


INNER = [{}, {"a": True}, {"a": False}, {"b": True}, {"b": False}]


def small_values() -> Any:
    yield from (*VALUES, "ab", *INNER)
    for n in range(3):
        yield from ([*xs] for xs in itertools.product([*VALUES, *INNER], repeat=n))
    for n in range(1, 4):
        for names in itertools.combinations(NAMES, n):
            members = [*VALUES, *INNER] if n < 3 else VALUES
            for xs in itertools.product(members, repeat=n):
                yield dict(zip(names, xs, strict=True))


@cache
def listed(name: str) -> Any:
    """List what fits a schema of few, and for each its spellings without white space."""
    found = {}
    for value in small_values():
        if canonical(value) not in found and is_valid(FEW[name], value):
            texts = {json.dumps(x, separators=(",", ":")) for x in orders(value)}
            found[canonical(value)] = (value, texts)
    return list(found.values())


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def orders(value: Any) -> Any:
    """Give all orders of an object's properties, at every depth."""
    if isinstance(value, list):
        yield from (list(xs) for xs in itertools.product(*map(list, map(orders, value))))
    elif isinstance(value, dict):
        for names in itertools.permutations(value):
            for xs in itertools.product(*(list(orders(value[name])) for name in names)):
                yield dict(zip(names, xs, strict=True))
    else:
        yield value


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
@given(data=st.data())
def test_a_beginning_is_a_dead_end_if_no_value_begins_so(name: str, data: st.DataObject) -> None:
    every, random = listed(name), data.draw(st.randoms(use_true_random=False))
    count = data.draw(st.sampled_from([0, 1, len(every) // 2, len(every) - 2, len(every) - 1]))
    order = random.sample(every, len(every))
    used, left = order[: max(count, 0)], order[max(count, 0) :]
    grammar = compiled(distinct(FEW[name]))
    before = "[" + "".join(random.choice(sorted(texts)) + "," for _, texts in used)
    matcher = machine.begun(grammar, before)
    open_texts = {text for _, texts in left for text in texts}
    for _, texts in random.sample(every, min(len(every), 12)):
        text = random.choice(sorted(texts))
        taken = 0
        for end in range(1, len(text) + 1):
            expected = any(each.startswith(text[:end]) for each in open_texts)
            assert matcher.accept(ord(text[end - 1])) == expected, (before, text[:end])
            taken += expected
            if not expected:
                break
        matcher.rollback(taken)


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_an_array_can_be_filled_up_and_is_full_then(name: str) -> None:
    every, grammar = listed(name), compiled(distinct(FEW[name]))
    texts = [min(each) for _, each in every]
    assert 3 < len(texts) < 200
    assert accepts(grammar, f"[{','.join(texts)}]")
    matcher = machine.begun(grammar, f"[{','.join(texts)}")
    assert_refused(matcher, ",")
    assert matcher.accept(ord("]"))


def test_elements_that_count_are_refused_where_they_may_be_too_few() -> None:
    names = {"k": {"const": 0}, "a": AB, "b": AB}
    nine = {"type": "object", "properties": names, "required": ["k"], "additionalProperties": False}
    assert compiled(distinct(nine, minItems=9))
    with pytest.raises(UnsupportedSchema, match="as many distinct elements"):
        compiled(distinct(nine | {"maxProperties": 2}, minItems=6))


@pytest.mark.parametrize("least", [1, 2])
def test_elements_with_own_schemas_are_refused_where_one_may_be_the_last(least: int) -> None:
    schema = distinct(False, prefixItems=[AB, {"const": "a"}], minItems=least)
    if least > 1:
        with pytest.raises(UnsupportedSchema, match="as many distinct elements"):
            compiled(schema)
        return
    matcher = compiled(schema).matcher()
    assert all(map(matcher.accept, b'["a"'))
    assert not matcher.accept(ord(","))
    matcher.rollback(4)
    assert all(map(matcher.accept, b'["b","a"]'))


@pytest.mark.parametrize(("count", "values"), [(12, [1]), (5, [1, 2])])
def test_members_in_any_order_make_no_other_element(count: int, values: list[int]) -> None:
    names = [f"p{i}" for i in range(count)]
    grammar = compiled(distinct(closed({name: {"enum": values} for name in names}, *names)))
    every = [
        dict(zip(reversed(names), each, strict=True))
        for each in itertools.product(values, repeat=count)
    ]
    assert_refused(machine.begun(grammar, json.dumps(every)[:-1]), ",")


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ({"type": ["null", "integer"]}, "[null, -0.0]"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, "[1.0, 3, 2.000]"),
        ({"type": "number", "multipleOf": 0.05, "minimum": 0, "maximum": 0.1}, "[0, 0.1, 0.05]"),
        (closed({"a": {"enum": [1, 2]}}, "a"), '[{"a": 1},\r\n{"a":\r\n2}]'),
        (closed({"a": {"enum": [1, 2]}}, "a"), r'[{"a": 1},{"\u0061": 2}]'),
        (closed({"a": {"type": "string", "maxLength": 1}}, "a"), '[{"a": "é"},{"a": "ë"}]'),
    ],
)
def test_what_takes_a_search_may_be_spelled_in_any_way(items: Any, text: str) -> None:
    assert_masks_along(compiled(distinct(items, maxItems=3)), text)


@pytest.mark.parametrize("written", range(4))
def test_a_string_under_a_pattern_is_not_repeated_near_its_greatest_length(written: int) -> None:
    text = {"type": "string", "maxLength": 4, "pattern": "^[a-z]*$"}
    matcher = compiled(distinct(closed({"s": text}, "s"))).matcher()
    begun = "x" * written
    machine.write(matcher, f'[{{"s":"{begun}"}},{{"s":"{begun}')
    assert_refused(matcher, '"')


# Equality is JSON's, however a value is spelled.
POOL = [0, 1, -1, 10, 0.5, 1.5, True, None, "", "1", "a\u00e9/", [], [1], {}, {"a": 1, "b": [0]}]
POOL += [{"b": "x", "a": "y"}, [[1], {"a": 0.5}], {"a": {"b": True}}, 9007199254740993, 1e22]


def spelled(value: Any, draw: Any) -> str:
    """Write a value in one of the ways that JSON has."""
    gap = draw(["", "", " ", "\n  "])
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda _: draw(range(9)))
        inner = f",{gap}".join(f"{spelled(k, draw)}:{spelled(v, draw)}" for k, v in members)
        return f"{{{gap}{inner}{gap}}}"
    if isinstance(value, list):
        return f"[{gap}{f'{gap},'.join(spelled(v, draw) for v in value)}]"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, str):
        return str(draw([json.dumps(value), json.dumps(value, ensure_ascii=False)]))
    ways = [json.dumps(value)]
    if value in (1, -1, 10):
        ways += [f"{value}.0", f"{value / 10 if value == 10 else value:.2f}e{int(value == 10)}"]
    if value == 0:
        ways += ["-0", "0.0", "0e1", "-0.00E+2"]
    if value == 1.5:
        ways += ["1.50", "15.0e-1", "1.5E+0", "1.500000000000000000001"]
    return str(draw(ways))


@pytest.mark.parametrize(
    "items", [{}, {"type": ["number", "string"]}, {"type": ["object", "array", "integer"]}]
)
@given(data=st.data(), seed=st.integers(0, 10**9))
def test_equal_elements_equal_in_any_spelling(items: Any, data: st.DataObject, seed: int) -> None:
    def draw(ways: Any) -> Any:
        return data.draw(st.sampled_from(ways))

    values = [draw(POOL) for _ in range(data.draw(st.integers(0, 4)))]
    text = f"[{', '.join(spelled(value, draw) for value in values)}]"
    plain = accepts(compiled({"type": "array", "items": items}), text)
    expected = plain and is_valid(distinct(items), json.loads(text))
    assert accepts(compiled(distinct(items)), text, Random(seed)) == expected


@given(st.lists(st.integers(0, 99), unique=True, min_size=60, max_size=99))
def test_which_numbers_are_left_is_known_digit_by_digit(used: Any) -> None:
    matcher = compiled(distinct(ELEMENTS["ports"])).matcher()
    assert all(map(matcher.accept, f"[{','.join(map(str, used))},".encode()))
    left = set(range(100)) - set(used)
    for number in range(100):
        text, taken = str(number), 0
        for end in range(1, len(text) + 1):
            expected = any(str(x).startswith(text[:end]) for x in left)
            assert matcher.accept(ord(text[end - 1])) == expected
            if not expected:
                break
            taken += 1
        else:
            assert matcher.accept(ord("]")) == (number in left)
            taken += number in left
        matcher.rollback(taken)


HOSTILE = {
    "many": [str(i) for i in range(1_500)],
    "deep": ["[" * 50 + end + "]" * 50 for end in ("1", "2")],
    "digits": ["1" * 48, "1" * 47],
    "places": ["0." + "1" * 30, "0." + "1" * 31 + "e5"],
    "objects": [f'{{"n{i}":{i}}}' for i in range(300)],
    "names": ["{" + ",".join(f'"n{i}":{i + j}' for i in range(300)) + "}" for j in range(2)],
    "text": [f'"{"x" * 5_000}"', f'"{"x" * 4_999}y"'],
}


@pytest.mark.slow
@pytest.mark.parametrize("elements", HOSTILE.values(), ids=HOSTILE)
def test_large_elements_are_known_again(elements: Any) -> None:
    matcher = compiled(distinct({})).matcher()
    assert all(map(matcher.accept, V.encode(f"[{','.join(elements)},")))
    for each in elements[:2]:
        ids = V.encode(each)
        taken = sum(itertools.takewhile(bool, map(matcher.accept, ids)))
        if taken == len(ids):  # a number, which what follows ends
            assert_refused(matcher, ",")
        matcher.rollback(taken)
    assert all(map(matcher.accept, b'"new"]'))


@pytest.mark.slow
def test_what_a_text_holds_grows_with_its_length_and_not_with_the_square_of_it() -> None:
    grammar, held = compiled(distinct({})), []
    for count in (200, 800):
        text = "[" + ",".join(f'{{"id":{i}}}' for i in range(count))
        tracemalloc.start()
        try:
            matcher = grammar.matcher()
            assert all(map(matcher.accept, text.encode()))
            held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    assert held[1] < 6 * held[0]


@pytest.mark.parametrize("gap", ["  ", " \n", "\n\n", "\n" + " " * 65, "\r\n \n"])
@pytest.mark.parametrize(("opened", "closed"), ["[]", "{}"])
def test_behind_two_gaps_only_the_end_follows(opened: str, closed: str, gap: str) -> None:
    grammar = compiled(distinct({}))
    assert accepts(grammar, f"[{opened}{gap}{closed}]")
    for before, legal in ((f"[{opened}{closed},{opened}", False), (f"[1,{opened}", True)):
        matcher = machine.begun(grammar, before + gap[:-1])
        assert (ord(gap[-1]) in machine.mask(matcher, V)) == legal
        assert matcher.accept(ord(gap[-1])) == legal


def test_more_elements_than_there_are_values_are_refused() -> None:
    assert compiled(distinct(FEW["closed"], minItems=9))
    with pytest.raises(
        UnsupportedSchema, match="as many distinct elements as `minItems`"
    ) as caught:
        compiled(distinct(FEW["closed"], minItems=10))
    assert caught.value.path == "$.uniqueItems"


def test_an_exponent_beyond_all_doubles_is_not_worked_out() -> None:
    grammar = compiled(distinct({}))
    assert not accepts(grammar, "[1e999999999, 1e999999999]")
    assert not accepts(grammar, "[1e999999999]")  # as without `uniqueItems`


@pytest.mark.parametrize("items", [{}, {"type": "object", "properties": {"k": AB}}])
def test_a_name_is_not_repeated_within_an_element(items: Any) -> None:
    matcher = machine.begun(compiled(distinct(items)), '[{"x":2},{"x":1,"x')
    assert not matcher.accept(ord('"'))
    machine.write(matcher, 'y":1},{"x":1}]')


ESCAPED = {
    "surrogate pairs": (["\U0001f642", "\U0001f643"], "🙂", r"\ud83d\ude43", r"\ud83d\ude42"),
    "control characters": (["\x01", "\x02"], r"\u0001", r"\u0002", r"\u0001"),
}


@pytest.mark.parametrize("name", sorted(ESCAPED))
def test_what_is_written_as_escapes_is_found_as_another_element(name: str) -> None:
    values, first, second, repeated = ESCAPED[name]
    for schema, element in (
        (distinct({"enum": values}), '"{}"'),
        (distinct(closed({"a": {"enum": values}}, "a")), '{{"a":"{}"}}'),
        (distinct(closed({each: {"const": 1} for each in values}, minProperties=1)), '{{"{}":1}}'),
    ):
        grammar = compiled(schema)
        begun = f"[{element.format(first)},"
        assert_masks_along(grammar, begun + element.format(second) + "]")
        assert not accepts(grammar, begun + element.format(repeated) + "]")


def assert_refused(matcher: Any, character: str) -> None:
    """Assert that a character is not legal, by the mask as by accept."""
    assert ord(character) not in machine.mask(matcher, V)
    assert not matcher.accept(ord(character))


def assert_masks_along(grammar: Any, text: str) -> None:
    """Assert that a text is legal, by masks as by accepts."""
    matcher = grammar.matcher()
    machine.assert_follows(matcher, V, text.encode())
    assert matcher.is_accepting()
