"""What a segment of a turn begins with."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

from enforcer.engines.mask_rows import is_member
from enforcer.errors import EngineFailure, UnexpectedFailure
from enforcer.turn import bits
from enforcer.turn.dialect import Guard
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.lexer import Place
from enforcer.turn.position import Kept
from enforcer.turn.transitions import Transitions, named
from tests import toys
from tests.dialect_cases import served, vocabulary
from tests.toys import Starts
from tests.vocabularies import small

V = small()


def moves(
    name: str,
    arguments: Callable[..., Any],
    expect: Callable[..., Any] | None = None,
    *,
    names: tuple[str, str] = ("get", "a"),
) -> Transitions:
    allowed = Envelope(served(name).table, names, due=Due.WORD, most=3, first=0, preamble=5)
    return Transitions(allowed, arguments, expect, is_shared=True)


def known(name: str) -> Callable[..., Any]:
    return lambda _: toys.Listed(vocabulary(name), [b"{}"])


def test_a_state_begins_with_its_row_and_no_text_of_its_own() -> None:
    found = moves("hermes", known("hermes")).enter("SILENT", 1, 2)
    assert (found.state, found.calls, found.text) == ("SILENT", 1, 2)
    assert found.grammar is None
    assert found.place == Place("SILENT")


def test_arguments_begin_with_the_grammar_of_the_tool_that_the_header_named() -> None:
    asked = []

    def arguments(name: str) -> Starts:
        asked.append(name)
        return toys.Starts(lambda: toys.Listed(vocabulary("hermes"), [b"{}"]))

    made = moves("hermes", arguments)
    found = made.begin_arguments(made.enter("HEADER", 0, 0), "get", "ARGUMENTS")
    assert asked == ["get"]
    assert found.grammar is not None


def test_a_grammar_that_cannot_start_ends_the_turn_alone() -> None:
    def broken(_: str) -> None:
        raise RuntimeError("no")

    made = moves("hermes", broken)
    found = made.begin_arguments(made.enter("HEADER", 0, 0), "get", "ARGUMENTS")
    assert isinstance(found.failure, UnexpectedFailure)
    assert "RuntimeError" in str(found.failure)


def test_the_tool_is_told_once_it_can_be_no_other() -> None:
    told: list[Any] = []
    made = moves("kimi_k2", known("kimi_k2"), told.append)
    position = made.follow(made.enter("SECTION", 0, 0), "HEADER")
    for byte in b"functions.get:0":
        position = made.at_header(position, position.header.step(byte), position)
    assert told == ["get"]


def test_what_is_ours_keeps_its_name_and_what_ends_the_process_goes_on() -> None:
    own = EngineFailure("gave up")
    assert named(own, "masking") is own
    with pytest.raises(KeyboardInterrupt):
        named(KeyboardInterrupt(), "masking")
    assert named(ValueError("x"), "masking").__cause__.args == ("x",)


@pytest.mark.parametrize("name", ["kimi_k2", "mistral"])
@pytest.mark.parametrize("due", Due)
def test_text_that_has_a_format_is_let_through_by_its_grammar_alone(name: str, due: Due) -> None:
    table, end = served(name).table, served(name).table.turn_end_ids
    text = toys.Listed(vocabulary(name), [b"{}"])
    allowed = Envelope(
        table, ("get",), due=due, most=3, first=0, preamble=5, text_format=lambda: text
    )
    made = Transitions(allowed, known(name), None, is_shared=True)
    found = made.enter("CONTENT", 0, 0)
    # Where a call is demanded there is no text at all.
    assert found.grammar is (None if due is Due.CALL else text)
    for row in (found.row, found.before):
        assert not row.text
        assert not any(is_member(row.mask, each) for each in b"{x")
    assert end.isdisjoint(found.before.markers)
    assert end.isdisjoint(found.row.markers) == (due is Due.CALL)
    assert made.enter("CONTENT", 1, 0).grammar is text


@pytest.mark.parametrize(
    ("texts", "due", "fits"),
    [
        (["", "yes"], Due.WORD, True),
        (["", "yes"], Due.CALL, False),
        (["yes"], Due.WORD, False),
        (["yes"], Due.NOTHING, False),
    ],
)
def test_after_a_text_its_format_is_decided(texts: list[str], due: Due, fits: bool) -> None:
    table = served("kimi_k3").table
    text = toys.Listed(vocabulary("kimi_k3"), [text.encode() for text in texts])
    allowed = Envelope(
        table, ("get",), due=due, most=3, first=0, preamble=5, text_format=lambda: text
    )
    made = Transitions(allowed, known("kimi_k3"), None, is_shared=True)
    behind = made.follow(made.enter("SILENT", 0, 0), "SAID_NOTHING")
    assert behind.row.opening.permits(Guard.EMPTY) is fits
    # A think has no text before it, and a call has none to come.
    for at, to in (("START", "REASONING"), ("SILENT", "REASONING"), ("BETWEEN", "CLOSED")):
        assert not made.follow(made.enter(at, 0, 0), to).row.opening.permits(Guard.EMPTY)


def test_what_is_kept_depends_on_the_grammars_that_were_asked_for() -> None:
    grammars = {name: toys.Starts(lambda: toys.Listed(V, [b"{}"])) for name in ("get", "a")}
    asked: list[str] = []

    def arguments(name: str) -> Starts:
        asked.append(name)
        if name not in grammars:
            raise EngineFailure("gave up")
        return grammars[name]

    made = moves("pythonic", arguments)
    begin = made.share(made.enter("HEADER", 0, 0))
    assert begin.shared is not None
    assert made.share(made.enter("HEADER", 0, 0)) is begin

    def ask(*names: str) -> Kept:
        if made.kept(begin.shared) is None:
            for name in names:
                made.begin_arguments(begin, name, "ARGUMENTS")
            made.keep(begin.shared, bits.sparse(V.row([1])))
        return begin.shared.kept

    row = ask("get")
    assert ask("a") is row  # which is what there is
    grammars["get"] = toys.Starts(lambda: toys.Listed(V, [b"{}"]))
    again = ask("get")
    assert again is not row
    assert ask() is again
    del grammars["get"]
    ask("get", "a")
    assert begin.shared.kept is again  # what fails is asked for again


@pytest.mark.slow
def test_no_grammar_lives_for_what_is_kept_of_it() -> None:
    grammars = {"get": toys.Starts(lambda: toys.Listed(V, [b"{}"]))}
    made = moves("pythonic", grammars.__getitem__, names=("get", "own"))
    begin = made.share(made.enter("HEADER", 0, 0))

    assert made.kept(begin.shared) is None
    made.begin_arguments(begin, "get", "ARGUMENTS")
    made.keep(begin.shared, bits.sparse(V.row([1])))
    (found,) = (each for _, each in begin.shared.kept.asked)
    made._asked.clear()
    grammars.clear()
    gc.collect()
    assert found() is None
