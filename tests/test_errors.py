"""Errors say who is at fault, where, and what to do, on every way out."""

import pickle
from typing import Any

import pytest

from enforcer import errors

LEAVES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.EnforcerError)
]
PROBLEMS = (
    errors.Problem("$.properties.a", "not", "a complement that cannot be written; list the values"),
    errors.Problem("$", "", "too deep"),
)


@pytest.mark.parametrize(
    "value",
    [10**5000, [10**5000], "x" * 10**6, {"a": b"b" * 10**6}],
    ids=["number", "list", "text", "object"],
)
def test_a_value_is_shown_briefly(value: Any) -> None:
    assert 0 < len(errors.brief(value)) < 100


def test_all_have_one_root_and_one_of_two_at_fault() -> None:
    for leaf in LEAVES:
        at_fault = [
            issubclass(leaf, errors.ConfigurationError),
            issubclass(leaf, errors.RequestError),
        ]
        assert sum(at_fault) == (
            leaf
            not in {
                errors.EnforcerError,
                errors.UnexpectedFailure,
                errors.Busy,
                errors.EngineFailure,
                errors.InvalidArguments,
            }
        ), leaf


def test_a_message_has_twenty_problems_at_most() -> None:
    problems = tuple(errors.Problem(f"$.p{i}", "type", "is wrong") for i in range(21))
    assert str(errors.InvalidSchema(problems[:20])).count("is wrong") == 20
    message = str(errors.InvalidSchema(problems))
    assert message.count("is wrong") == 20
    assert message.endswith("; and there are more; mend these first")


def test_a_request_error_says_where() -> None:
    error = errors.InvalidTools("$.tools[2].function.name", "use another name")
    assert (error.path, error.reason) == ("$.tools[2].function.name", "use another name")
    assert str(error) == "use another name (at `$.tools[2].function.name`)"


def test_a_schema_error_lists_every_offender() -> None:
    error = errors.UnsupportedSchema(PROBLEMS)
    assert (error.path, error.keyword) == ("$.properties.a", "not")
    assert str(error) == (
        "a complement that cannot be written; list the values "
        "(at `$.properties.a`, keyword `not`); too deep (at `$`)"
    )


def test_under_moves_every_path_and_keeps_the_class() -> None:
    error = errors.SchemaLimit(PROBLEMS).under("$.tools[0].function.parameters")
    assert isinstance(error, errors.SchemaLimit)
    assert [problem.path for problem in error.problems] == [
        "$.tools[0].function.parameters.properties.a",
        "$.tools[0].function.parameters",
    ]
    assert error.path == error.problems[0].path


@pytest.mark.parametrize(
    "leaf", [errors.UnsupportedSchema, errors.InvalidSchema, errors.UnsatisfiableSchema]
)
def test_a_schema_error_crosses_processes(
    leaf: type[errors.InvalidSchema | errors.UnsatisfiableSchema | errors.UnsupportedSchema],
) -> None:
    copy = pickle.loads(pickle.dumps(leaf(PROBLEMS)))  # noqa: S301 - our own bytes
    assert (type(copy), copy.problems, str(copy)) == (leaf, PROBLEMS, str(leaf(PROBLEMS)))


def test_a_request_error_crosses_processes() -> None:
    copy = pickle.loads(pickle.dumps(errors.InvalidTools("$.tools", "no")))  # noqa: S301 - likewise
    assert (copy.path, copy.reason) == ("$.tools", "no")
