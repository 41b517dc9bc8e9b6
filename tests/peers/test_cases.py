"""What is taken of a collection, and what its calls are."""

import json
from collections.abc import Iterator
from typing import Any

from bench.peers import cases

INTEGER = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def collection(
    count: int,
) -> Iterator[
    tuple[str, dict[str, Any], tuple[tuple[dict[str, int], bool], tuple[dict[str, Any], bool]]]
]:
    for n in range(count):
        yield f"case {n}", INTEGER, (({"a": n}, True), ({"a": "x"}, False))


def test_a_larger_sample_contains_a_smaller_one() -> None:
    small, large = cases.sample(collection(30), 5), cases.sample(list(collection(30))[::-1], 12)
    assert len(large.cases) == 12
    assert large.cases[:5] == small.cases
    # Not in the order of the collection.
    assert [case.id for case in small.cases] != [f"case {n}" for n in range(5)]


def test_calls_are_objects_with_their_validity() -> None:
    tests: tuple[Any, ...] = (({"a": 1}, True), ({}, False), ([1], False), (3, True))
    (case,) = cases.sample([("one", INTEGER, tests)], 1).cases
    assert (case.valid, case.invalid) == (('{"a": 1}',), ("{}",))


def test_a_schema_without_a_call_that_fits_is_not_taken() -> None:
    assert not cases.sample([("one", INTEGER, (({}, False), (1, True)))], 1).cases


def test_an_instance_on_which_the_judges_differ_is_left_out_and_counted() -> None:
    tests = (({"a": 1}, True), ({"a": 2}, False), ({"a": "x"}, True))
    found = cases.sample([("one", INTEGER, tests)], 1)
    assert found.disputed == 2
    assert (found.cases[0].valid, found.cases[0].invalid) == (('{"a": 1}',), ())


def test_the_judge_checks_formats() -> None:
    schema = {"type": "object", "properties": {"a": {"format": "date"}}}
    tests = (({"a": "2026-11-22"}, True), ({"a": "22.11."}, False))
    found = cases.sample([("one", schema, tests)], 1)
    assert (found.disputed, found.cases[0].invalid) == (0, ('{"a": "22.11."}',))


def test_a_schema_that_cannot_be_judged_is_counted() -> None:
    for schema in (
        {"$ref": "https://example.com/other.json"},
        {"type": "nonsense"},
        {"properties": {"a": {"pattern": "("}}},
    ):
        found = cases.sample([("one", schema, (({"a": "b"}, True),))], 1)
        assert (found.cases, found.unjudged) == ([], 1), schema


def test_what_cannot_be_written_is_no_call() -> None:
    schema = {"type": "object"}
    tests = (({"a": "\ud800"}, True), ({"a": "é"}, True))
    assert cases.sample([("one", schema, tests)], 1).cases[0].valid == ('{"a": "é"}',)


def test_shuffled_calls_are_the_same_values() -> None:
    value = {name: {"x": 1, "y": 2} for name in "abcdefgh"}
    (case,) = cases.sample([("one", {"type": "object"}, ((value, True),))], 1).cases
    ((text, fits),) = case.shuffled
    assert fits
    assert json.loads(text) == value
    assert text != case.valid[0]


def test_cases_go_through_a_pipe() -> None:
    taken = cases.sample(collection(3), 3).cases
    assert [cases.read(line) for line in cases.lines(taken)] == taken
