"""Stock vLLM reads what the writers write: the harness is right about both.

And what it does not read is in `deviations`, each with a reason that still holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("vllm")

from vllm.parser.parser_manager import ParserManager

from bench.formats import writers
from bench.formats.catalogue import ROWS
from bench.formats.writers import Turn
from enforcer import Enforcer
from enforcer.errors import InvalidVocabulary
from enforcer.turn import dialects
from tests.formats import deviations, ours, stock, vocabularies
from tests.formats.said import CALLS, TOOLS, meant, plain, turns

if TYPE_CHECKING:
    from bench.formats.writers import Style
    from tests.formats.deviations import Misread


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("style", writers.STYLES)
@pytest.mark.parametrize("name", ROWS)
def test_a_turn_is_read_as_it_was_meant(name: str, style: Style) -> None:
    for turn in turns(name, speaks=ROWS[name].speaks or name == "mistral_v3"):
        text = writers.write(name, turn, style)
        ids = vocabularies.ids(name, text)
        thinks = turn.reasoning is not None
        assert plain(stock.whole(name, ids, TOOLS, thinks=thinks)) == meant(turn)
        if not deviations.misread(ROWS[name].name, turn, text, streamed=True):
            assert plain(stock.streamed(name, ids, TOOLS, thinks=thinks)) == meant(turn)


@pytest.mark.parametrize("deviation", deviations.MISREAD, ids=lambda each: each.format)
def test_what_stock_misreads_it_does_misread(deviation: Misread) -> None:
    ids = vocabularies.ids(deviation.format, deviation.example)
    read_right = ours.read(deviation.format, ids, TOOLS)
    assert not read_right.problem
    for read in (stock.whole, stock.streamed):
        right = plain(read(deviation.format, ids, TOOLS)) == plain(read_right)
        assert right == (deviation.streams and read is stock.whole)


@pytest.mark.parametrize("name", ROWS)
def test_markers_that_the_tokenizer_has_are_ids(name: str) -> None:
    vocabulary = vocabularies.vocabulary(name)
    assert vocabulary.control(ROWS[name].end) in vocabulary.control_ids
    text = writers.write(name, Turn("é日🙂", CALLS[:1]))
    assert vocabulary.decode(vocabularies.ids(name, text)).decode() == text


def test_the_json_format_of_llama_4_is_served_by_neither() -> None:
    """As the page says: vLLM's parser asks for a token that Llama 4's tokenizer does not have."""
    with pytest.raises(TypeError, match=re.escape("bot token '<|python_tag|>'")):
        ParserManager.get_parser(
            "llama4_json", enable_auto_tools=True, tokenizer=vocabularies.Tokenizer("llama4")
        )
    assert "llama4_json" in dialects.load("llama3_json").parsers
    with pytest.raises(InvalidVocabulary, match=re.escape("<|start_header_id|>")):
        Enforcer(vocabularies.named("llama4"), "llama3_json")
