"""The table of states bound to a vocabulary."""

from itertools import product

import pytest

from enforcer.api import Enforcer
from enforcer.errors import ConfigurationError, InvalidVocabulary
from enforcer.turn import dialects
from enforcer.turn.dialect import Guard, Segment
from enforcer.turn.lexer import OPEN, Opening
from enforcer.turn.table import Table
from tests import vocabularies
from tests.dialect_cases import served
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
    assert bits(row.mask) == set(expected)
    assert row.text == free
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


@pytest.mark.parametrize("text", [b"a1(", b"_a(", b'"('])
def test_names_that_a_format_cannot_write_are_read(text: bytes) -> None:
    """Which are generated is the request's to say."""
    lexer = served("pythonic").table.lexer
    place = lexer.enter("HEADER")
    for byte in text:
        step = lexer.step(place, byte, OPEN)
        assert step is not None
        place = step.place
    assert place.state == "ARGUMENTS"


@pytest.mark.parametrize(
    ("name", "spells"),
    [("kimi_k2", False), ("kimi_k3", False), ("mistral", False), ("pythonic", True),
     ("llama3_json", True), ("granite", True)],
)  # fmt: skip
def test_whether_text_may_turn_out_to_be_a_call(name: str, spells: bool) -> None:
    assert served(name).table.spells_calls is spells


@pytest.mark.parametrize("name", dialects.available())
def test_other_engines_need_a_special_token_behind_arguments(name: str) -> None:
    table = served(name).table
    table.refuse_engine("machine")
    if name in {"kimi_k2", "glm45"}:
        table.refuse_engine("xgrammar")
        return
    with pytest.raises(ConfigurationError, match=f"engine xgrammar .* in the format {name}"):
        table.refuse_engine("xgrammar")
    with pytest.raises(ConfigurationError, match="xgrammar"):
        Enforcer(served(name).vocabulary, name, "xgrammar")


def test_the_first_turn_waits_for_no_marker() -> None:
    table = Enforcer(served("hermes").vocabulary, "hermes").table
    table.warm()
    assert {"any_text", "longest_marker", "token_weights"} <= vars(table).keys()
