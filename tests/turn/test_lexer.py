"""A turn symbol by symbol, in dialects whose markers are spelled or end with their text."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.turn.dialect import Guard
from enforcer.turn.lexer import OPEN, Opening, Place, Step
from enforcer.turn.pattern import ID
from tests.dialect_cases import NAMES, served

NO_CALL = replace(OPEN, call=False)


def run(name: str, place: Place, symbols: Any, opening: Opening = OPEN) -> list[Step | None]:
    """Give the steps of some symbols; ends with None at one that is illegal."""
    steps = []
    for symbol in symbols:
        step = served(name).table.lexer.step(place, symbol, opening)
        steps.append(step)
        if step is None:
            break
        place = step.place
    return steps


def enter(name: str, state: str) -> Place:
    return served(name).table.lexer.enter(state)


def control(name: str, token: str) -> int:
    return ID + served(name).vocabulary.control(token)


def test_text_that_may_become_a_marker_is_text_until_it_is_one() -> None:
    steps = run("granite", enter("granite", "CONTENT"), b"a <tool_cal ")
    assert all(step.said for step in steps)
    assert [len(step.place.begun) for step in steps] == [0, 0, *([1] * 9), 0]
    assert run("granite", enter("granite", "CONTENT"), b"<tool_call>")[-1].marker == 11


def test_what_spells_a_closed_marker_is_illegal() -> None:
    steps = run("granite", enter("granite", "CONTENT"), b"<tool_call>", NO_CALL)
    assert steps[-1] is None
    assert all(steps[:-1])
    # A control token is not even begun.
    opened = run("kimi_k3", enter("kimi_k3", "SAID"), [control("kimi_k3", "<|open|>")], NO_CALL)
    assert opened == [None]


def test_a_closed_beginning_that_looks_like_text_is_text() -> None:
    (step,) = run("llama3_json", enter("llama3_json", "START"), b"{", NO_CALL)
    assert step.said
    assert step.place.state == "CONTENT"
    (step,) = run("llama3_json", enter("llama3_json", "START"), b"{")
    assert step.marker == 1


def test_after_a_control_token_a_marker_has_to_go_on() -> None:
    close = control("kimi_k3", "<|close|>")
    assert run("kimi_k3", enter("kimi_k3", "CONTENT"), [close, *b"resp"])[-1].place.committed
    assert run("kimi_k3", enter("kimi_k3", "CONTENT"), [close, *b"rx"])[-1] is None


def test_a_header_that_nothing_ends_falls_to_its_arguments() -> None:
    def fallen(name: str, text: bytes, symbol: int) -> str | None:
        *_, step = run(name, enter(name, "HEADER"), [*text, symbol])
        return None if step is None or step.fallen is None else step.fallen.state

    assert fallen("glm45", b"get", ord("x")) is None
    assert fallen("glm45", b"get", ord("\n")) == "ARGUMENTS"
    assert fallen("glm45", b"get", control("glm45", "<arg_key>")) == "ARGUMENTS"
    assert run("glm45", enter("glm45", "HEADER"), b"\n") == [None]
    # A marker that leaves the header goes first.
    assert fallen("mistral", b"get", control("mistral", "[ARGS]")) is None
    assert fallen("mistral", b"get", ord("{")) == "ARGUMENTS"


def test_arguments_end_with_their_last_brace() -> None:
    steps = run("hermes", enter("hermes", "ARGUMENTS"), b'{"a}": [{}]}')
    assert {step.place.state for step in steps[:-1]} == {"ARGUMENTS"}
    assert steps[-1].taken
    assert steps[-1].place.state == "OUTER"


@pytest.mark.parametrize(("name", "state"), [("hermes", "OUTER"), ("granite", "LIST")])
def test_where_no_text_stands_a_marker_that_has_been_begun_goes_on(name: str, state: str) -> None:
    steps = run(name, enter(name, state), b" x")
    assert steps[0] is not None
    assert not steps[0].said
    assert steps[1] is None


def test_text_that_is_closed_leaves_markers() -> None:
    opening = replace(OPEN, text=False)
    assert run("granite", enter("granite", "CONTENT"), b"a", opening) == [None]
    assert run("granite", enter("granite", "CONTENT"), b"<tool_call>", opening)[-1].marker == 11
    assert run("granite", enter("granite", "CONTENT"), b"<<", opening)[-1] is None


def test_the_markers_that_are_open() -> None:
    lexer, place = served("pythonic").table.lexer, enter("pythonic", "START")
    assert {each.role for each in lexer.open_markers(place, OPEN)} == {"calls_begin", "turn_end"}
    assert {each.role for each in lexer.open_markers(place, NO_CALL)} == {"turn_end"}
    step = run("kimi_k3", enter("kimi_k3", "START"), [control("kimi_k3", "<|open|>"), ord("t")])[-1]
    assert step is not None
    lexer = served("kimi_k3").table.lexer
    # What has been begun has to go on: no other marker may begin within it.
    assert [(each.role, each.length) for each in lexer.open_markers(step.place, OPEN)] == [
        ("think_begin", 2),
        ("tools_begin", 2),
    ]


@pytest.mark.parametrize("call", [False, True])
@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("empty", [False, True])
def test_what_opens_a_transition(call: bool, finish: bool, empty: bool) -> None:
    opening = replace(OPEN, call=call, finish=finish, empty=empty)
    assert {guard for guard in Guard if opening.permits(guard)} == {
        Guard.ALWAYS,
        *([Guard.CALL] if call else []),
        *([Guard.FINISH] if finish else []),
        *([Guard.EMPTY] if finish and empty else []),
        *([Guard.CALL_OR_EMPTY] if call or (finish and empty) else []),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_are_read_at_once_lead_where_they_lead_one_by_one(name: str) -> None:
    lexer, (tokens, _) = served(name).table.lexer, served(name).vocabulary.sorted_text
    places = [lexer.enter(state) for state in lexer.dialect.states]
    for place in places:
        for data in (b'{"a": [', b"a", b" ", b"<", b"x=(1"):
            steps = run(name, place, data)
            if steps[-1] is not None and len(places) < 60 and steps[-1].place not in places:
                places.append(steps[-1].place)
    at_once = 0
    for place in places:
        for data in tokens:
            found = lexer.within(place, data)
            if found is None:
                continue
            at_once += 1
            *_, last = steps = run(name, place, data)
            assert all(step is not None and (step.said or step.taken) for step in steps)
            assert last.place == found
    assert at_once > len(tokens)
