"""The table of states bound to a vocabulary, and what a request makes of it."""

from __future__ import annotations

from itertools import product

import pytest

from enforcer.errors import InvalidVocabulary
from enforcer.turn import dialects
from enforcer.turn.dialect import Guard, Segment
from enforcer.turn.envelope import Due, Envelope, Table
from enforcer.turn.lexer import OPEN, Opening
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
    row = TABLE.row(state, opening)
    assert dict(row.markers) == expected
    free = declared.segment is Segment.REASONING or (
        declared.segment is Segment.CONTENT and opening.text
    )
    text = bits(V.text_row) if free else set()
    assert bits(row.mask) == text | set(expected)
    assert row.text == free
    assert row is TABLE.row(state, opening)
    assert not row.mask.flags.writeable


@pytest.mark.parametrize("state", KIMI.states)
def test_a_step_is_a_marker_or_some_text(state: str) -> None:
    declared, leaves = KIMI.states[state], TABLE.leaves[state]
    for token in (-1, *range(V.size), V.size):
        to = TABLE.step(state, token, leaves)
        if token in leaves:
            assert to == leaves[token]
            assert TABLE.step(state, token, {}) is None  # a control id is never text
        elif declared.segment is Segment.NONE or token not in bits(V.text_row):
            assert to is None
        else:
            assert to == (declared.blank_to if token in V.blank_ids else declared.text_to)


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


@pytest.mark.parametrize(
    ("calls", "text", "expected"),
    [
        (0, 0, Opening(call=True, finish=False, text=True, empty=False)),
        (0, 4, Opening(call=True, finish=False, text=True, empty=False)),
        (0, 5, Opening(call=True, finish=False, text=False, empty=False)),
        (1, 5, Opening(call=True, finish=True, text=True, empty=False)),
        (2, 0, Opening(call=False, finish=True, text=True, empty=False)),
    ],
)
def test_what_is_open_where_a_call_is_demanded(calls: int, text: int, expected: Opening) -> None:
    envelope = Envelope(TABLE, ("a",), due=Due.CALL, most=2, first=0, preamble=5)
    assert envelope.opening(calls, text) == expected


def test_without_names_no_call_is_open() -> None:
    envelope = Envelope(TABLE, (), due=Due.WORD, most=9, first=0, preamble=5)
    assert envelope.opening(0, 10**6) == Opening(call=False, finish=True, text=True, empty=False)


def test_header_tries_are_shared_and_do_not_pile_up() -> None:
    envelope = Envelope(TABLE, ("a", "b"), due=Due.WORD, most=9, first=3, preamble=5)
    again = Envelope(TABLE, ("a", "b"), due=Due.CALL, most=9, first=4, preamble=5)
    assert envelope.headers(1) is again.headers(0)
    assert envelope.headers(1) is not envelope.headers(0)
    for index in range(2000):
        envelope.headers(index)
    assert TABLE.headers.cache_info().currsize <= TABLE.headers.cache_info().maxsize < 2000


def test_an_index_in_its_message_is_also_taken_where_it_goes_on_from_earlier_ones() -> None:
    from tests.dialect_cases import served

    envelope = Envelope(served("kimi_k3").table, ("a",), due=Due.WORD, most=9, first=3, preamble=5)
    for calls, indices in ((0, (1, 4)), (1, (2, 5)), (2, (3, 6))):
        texts = [f'a" index="{index}"'.encode() for index in indices]
        assert envelope.headers(calls).texts == texts


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


def test_envelopes_that_allow_the_same_are_told_from_others_from_the_second_on() -> None:
    table = Table(KIMI, V)

    def alike(*names: str, most: int = 9) -> object:
        return Envelope(table, names, due=Due.WORD, most=most, first=0, preamble=5).alike

    assert alike("a", "b") is None
    second = alike("a", "b")
    assert second is not None
    assert alike("a", "b") is second
    assert alike("ab") is None
    assert alike("ab") is not second
    assert alike("a", "b", most=8) is None


@pytest.mark.parametrize(
    ("name", "due", "expected"),
    [
        # With an index, each call has headers of its own.
        ("kimi_k2", Due.WORD, [0, 1, 2, 3, 4, 5, 6]),
        # A token may end two calls here, and the last may not be followed by another.
        ("pythonic", Due.WORD, [0, 0, 0, 0, 4, 5, 6]),
        ("pythonic", Due.CALL, [0, 1, 1, 1, 4, 5, 6]),
    ],
)
def test_a_stage_is_a_number_of_calls_that_a_mask_can_tell_from_others(
    name: str, due: Due, expected: list[int]
) -> None:
    from tests.dialect_cases import served

    table = served(name).table
    assert name != "pythonic" or table.borders.calls == 2
    envelope = Envelope(table, ("a",), due=due, most=6, first=0, preamble=5)
    assert [envelope.stage(calls) for calls in range(7)] == expected


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
