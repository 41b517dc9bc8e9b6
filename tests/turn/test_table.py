"""The table of states bound to a vocabulary."""

from __future__ import annotations

from itertools import product

import pytest

from enforcer.errors import InvalidVocabulary
from enforcer.turn import dialects
from enforcer.turn.dialect import Guard, Segment
from enforcer.turn.lexer import OPEN, Opening
from enforcer.turn.table import Table
from tests import vocabularies
from tests.vocabularies import bits, small

V = small()
KIMI = dialects.load("kimi_k2")
TABLE = Table(KIMI, V)
OPENINGS = [Opening(*flags) for flags in product([False, True], repeat=4)]


@pytest.mark.parametrize("opening", OPENINGS, ids=str)
@pytest.mark.parametrize("state", KIMI.states)
def test_a_row_is_what_the_dialects_file_says(state: str, opening: Opening) -> None:
    declared = KIMI.states[state]
    open_now = {
        Guard.ALWAYS: True,
        Guard.CALL: opening.call,
        Guard.FINISH: opening.finish,
        Guard.EMPTY: opening.finish and opening.empty,
    }
    expected = {
        V.control(token): transition.to
        for marker, transition in declared.on.items()
        if open_now[transition.when]
        for token in KIMI.markers[marker]
    }
    place = TABLE.lexer.enter(state)
    row = TABLE.row_at(place, opening)
    assert dict(row.markers) == expected
    free = declared.segment is Segment.REASONING or (
        declared.segment is Segment.CONTENT and opening.text
    )
    text = bits(V.text_row) if free else set()
    assert bits(row.mask) == text | set(expected)
    assert row.text == free
    assert row.ready == bool(text or expected)
    assert row is TABLE.row_at(place, opening)
    assert not row.mask.flags.writeable


@pytest.mark.parametrize("name", ["<think>", "</think>", "[EOS]"])
def test_tokens_that_may_be_missing(name: str) -> None:
    table = Table(KIMI, small(name))
    assert all(small().control(name) not in leaves for leaves in table.leaves.values())


@pytest.mark.parametrize(
    "name",
    [
        *("<|im_end|>", "<|im_assistant|>", "<|im_middle|>", "<|tool_calls_section_begin|>"),
        *("<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
        "<|tool_call_end|>",
    ],
)
def test_tokens_that_may_not_be_missing(name: str) -> None:
    with pytest.raises(InvalidVocabulary) as caught:
        Table(KIMI, small(name))
    assert name in str(caught.value)


def test_the_ids_that_end_a_turn() -> None:
    assert {V.control("<|im_end|>"), V.control("[EOS]")} == TABLE.turn_end_ids
    assert Table(KIMI, small("[EOS]")).turn_end_ids == {V.control("<|im_end|>")}


@pytest.mark.slow
def test_kimis_own_vocabulary_has_all_tokens() -> None:
    Table(KIMI, vocabularies.kimi())


def test_what_is_warm_is_not_computed_again() -> None:
    from tests.dialect_cases import served, vocabulary

    table = Table(served("hermes").dialect, vocabulary("hermes"))
    table.warm()
    before = table._places.cache_info().misses, table.borders._leavers.cache_info().misses
    table.warm()
    after = table._places.cache_info().misses, table.borders._leavers.cache_info().misses
    assert before == after
    assert before[0] > 0


def test_what_is_the_same_for_all_headers_is_warm() -> None:
    from tests.dialect_cases import served, vocabulary

    table = Table(served("hermes").dialect, vocabulary("hermes"))
    table.warm()
    form = table.headers(("get",), (0,)).form
    before = form.begun.cache_info().misses
    node, row = table.headers(("get",), (0,)).root, vocabulary("hermes").row(())
    for byte in b'{"name": "':
        node.fill(row)
        node = node.step(byte)
    assert form.begun.cache_info().misses == before > 0


def test_names_that_a_format_cannot_write_are_read_and_never_generated() -> None:
    from tests.dialect_cases import served

    def reads(name: str, text: bytes, *, generated: bool) -> bool:
        table = served(name).table
        lexer = table.lexer if generated else table.reader
        place = lexer.enter("HEADER")
        for byte in text:
            step = lexer.step(place, byte, OPEN)
            if step is None:
                return False
            place = step.place
        return True

    assert reads("pythonic", b"a1(", generated=True)
    assert not reads("pythonic", b'"(', generated=True)
    assert not reads("pythonic", b"_a(", generated=True)  # nor what could call what is private
    assert reads("pythonic", b"_a(", generated=False)
    assert reads("pythonic", b'"(', generated=False)
    assert served("glm45").table.lexer is served("glm45").table.reader


@pytest.mark.parametrize(
    ("name", "spells"),
    [("kimi_k2", False), ("kimi_k3", False), ("mistral", False), ("pythonic", True),
     ("llama3_json", True), ("granite", True)],
)  # fmt: skip
def test_whether_text_may_turn_out_to_be_a_call(name: str, spells: bool) -> None:
    from tests.dialect_cases import served

    assert served(name).table.spells_calls is spells
