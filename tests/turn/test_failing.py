"""Whatever fails inside a turn ends that turn alone, and opens nothing."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from enforcer.errors import ConfigurationError, EnforcerError
from enforcer.turn import dialects
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.matcher import Matcher
from enforcer.turn.table import Table
from tests import toys
from tests.dialect_cases import vocabulary
from tests.turn import known
from tests.turn.known import ARGUMENTS, BEGIN, CALL_END, HEADER, OPENED, STOP, TEXT, V, at
from tests.vocabularies import feed, legal, write


def failing(
    after: int, *where: str, error: BaseException | None = None
) -> dict[str, Callable[..., Any]]:
    given: dict[str, Any] = {} if error is None else {"error": error}
    return {
        "get": partial(toys.Failing, V, known.TEXTS, after=after, where=frozenset(where), **given)
    }


def broken() -> None:
    raise EnforcerError("it does not compile")


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_failing_mask_closes_the_gate(after: int) -> None:
    found = at(OPENED, arguments=failing(after, "fill"))
    feed(found, [ord(char) for char in '{"a": 1'[:after]])
    assert legal(found) == STOP
    assert isinstance(found.failure, EnforcerError)
    for token_id in TEXT | V.control_ids - STOP:
        assert not found.accept(token_id)
    feed(found, [V.control("<|im_end|>")])
    assert legal(found) == STOP


@pytest.mark.parametrize("after", [0, 2])
def test_a_failing_step_closes_the_gate(after: int) -> None:
    found = at(OPENED, arguments=failing(after, "accept"))
    feed(found, [ord(char) for char in '{"'[:after]])
    assert not found.accept(ord('{"a'[after]))
    assert found.failure is not None
    assert legal(found) == STOP


def test_a_grammar_that_cannot_start_closes_the_gate() -> None:
    found = at(OPENED, arguments={"get": broken})
    assert legal(found) == STOP
    assert not found.accept(CALL_END)


def test_a_dead_end_closes_the_gate() -> None:
    found = at(OPENED, arguments={"get": []})
    assert legal(found) == STOP
    assert "no token can continue" in str(found.failure)


@pytest.mark.parametrize("name", ["kimi_k2", "mistral"])
def test_a_state_that_nothing_leaves_closes_the_gate(name: str) -> None:
    """No format has one; a mask without an id would be noise to whoever samples."""
    dialect, found = dialects.load(name), vocabulary(name)
    silent = replace(dialect.states["SILENT"], segment=Segment.NONE)
    table = Table(replace(dialect, states={**dialect.states, "SILENT": silent}), found)
    envelope = Envelope(table, (), due=Due.WORD, most=0, first=0, preamble=0)
    listed = toys.Starts(lambda: toys.Listed(found, []))
    begun = Matcher(envelope, lambda _: listed)
    assert legal(begun) == table.turn_end_ids
    assert "no token can continue" in str(begun.failure)
    feed(begun, [min(table.turn_end_ids)])
    assert legal(begun) == table.turn_end_ids


@pytest.mark.parametrize(
    "arguments", [failing(0, "fill"), failing(0, "accept"), {"get": broken}, {"get": []}]
)
def test_going_back_never_opens_the_gate_again(arguments: dict[str, Any]) -> None:
    found = at(OPENED, arguments=arguments)
    found.accept(ord("{"))
    assert legal(found) == STOP
    stop = V.control("<|im_end|>")
    feed(found, [stop, stop, stop])
    found.rollback(2)
    assert legal(found) == STOP
    found.rollback(1)
    assert legal(found) == STOP
    assert found.validate([CALL_END]) == 0
    assert found.validate([stop, stop]) == 2
    assert legal(found) == STOP


def test_going_back_before_the_failure_opens_what_was_open() -> None:
    found = at(OPENED, arguments=failing(0, "fill"))
    assert legal(found) == STOP
    found.rollback(1)
    assert found.failure is None
    assert legal(found) == {ARGUMENTS}


ERRORS = [
    *(RuntimeError("what"), MemoryError(), RecursionError(), toys.Panic("index out of range")),
    *(EnforcerError("a limit"), ConfigurationError("a setting")),
]


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("where", ["fill", "accept", "is_accepting"])
@pytest.mark.parametrize("after", [0, 3])
def test_any_engine_error_ends_this_turn_alone(error: Any, where: str, after: int) -> None:
    found, other = at(OPENED, arguments=failing(after, where, error=error)), at(OPENED)
    ids = [ord(char) for char in '{"a": 1}']
    for token_id in ids[:after]:
        feed(found, [token_id])
        assert found.failure is None
    if where == "accept":
        assert not found.accept(ids[after])
    else:
        assert legal(found) == STOP
    assert found.failure is error or found.failure.__cause__ is error
    assert type(error).__name__ in repr(found.failure)
    assert legal(found) == STOP
    assert found.accepted == len(write(V, OPENED)) + after
    assert found.validate([CALL_END]) == 0
    feed(found, [V.control("<|im_end|>")])
    assert not found.accept(ord("a"))
    found.rollback(found.accepted)
    assert legal(found) == TEXT | {BEGIN}
    feed(other, [*ids, CALL_END, known.END])


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_what_cannot_be_taken_back_closes_the_gate(error: Any) -> None:
    found = at(OPENED + '{"a', arguments=failing(0, "rollback", error=error))
    before = found.accepted
    found.rollback(1)
    assert found.accepted == before - 1
    assert found.failure is error or found.failure.__cause__ is error
    assert legal(found) == STOP
    found.rollback(found.accepted - len(write(V, OPENED)))
    assert legal(found) == STOP  # where the text stands is not known any more
    found.rollback(1)
    assert legal(found) == {ARGUMENTS}
    feed(found, [ARGUMENTS, ord("{")])


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_draft_that_fails_is_illegal_and_the_turn_goes_on_where_that_is_safe(error: Any) -> None:
    found = at(OPENED + "{", arguments=failing(2, "accept", error=error))
    assert found.validate([ord('"'), ord("a")]) == 1
    unknown = not isinstance(error, EnforcerError)
    assert (found.failure is not None) == unknown
    assert found.accept(ord('"')) != unknown


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_whatever_starting_raises_closes_the_gate(error: Any) -> None:
    def start() -> None:
        raise error

    found = at(OPENED, arguments={"get": start})
    assert found.failure is error or found.failure.__cause__ is error
    assert legal(found) == STOP
    found.rollback(1)
    assert legal(found) == {ARGUMENTS}
    prompt = write(V, HEADER + OPENED)
    with pytest.raises(EnforcerError):
        known.matcher({"get": start}, prompt_ids=prompt)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_the_end_of_a_process_fails_no_turn(error: KeyboardInterrupt | SystemExit) -> None:
    with pytest.raises(type(error)):
        legal(at(OPENED, arguments=failing(0, "fill", error=error)))


def test_a_host_may_close_the_gate() -> None:
    found = at("Hello")
    found.fail(EnforcerError("the host has lost its place"))
    assert legal(found) == STOP
    assert not found.accept(ord("a"))
