"""Dialects permit what models of their format write, and read it as it was meant.

And what stock vLLM takes for right beyond that, unless `tolerances` says why not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.formats import writers
from bench.formats.catalogue import ROWS
from tests.formats import ours, vocabularies
from tests.formats.said import TOOLS, meant, plain, turns, values
from tests.formats.tolerances import TEXTS

if TYPE_CHECKING:
    from bench.formats.writers import Style
    from tests.formats.tolerances import Text


pytestmark = pytest.mark.slow  # the formats' own vocabularies are large

EVERY = [
    pytest.param(name, text, id=f"{name}-{text.what}")
    for name, texts in TEXTS.items()
    for text in texts
]


@pytest.mark.parametrize("style", writers.STYLES)
@pytest.mark.parametrize("name", ROWS)
def test_what_a_model_writes_is_legal_and_read_as_it_was_meant(name: str, style: Style) -> None:
    for turn in turns(name, speaks=ROWS[name].speaks):
        text = writers.write(name, turn, style)
        ids = vocabularies.ids(name, text)
        thinks = turn.reasoning is not None
        legal = ours.legal(name, ids, TOOLS, thinks=thinks)
        assert legal == len(ids), f"{text!r}: id {legal} is refused"
        assert plain(ours.read(name, ids, TOOLS, thinks=thinks)) == meant(turn)


@pytest.mark.parametrize(("name", "text"), EVERY)
def test_text_right_for_stock_vllm_is_legal_unless_it_is_refused(name: str, text: Text) -> None:
    ids = vocabularies.ids(name, text.text)
    is_legal = ours.legal(name, ids, TOOLS) == len(ids)
    assert is_legal == (not text.refused)
    if is_legal:
        calls = [] if text.otherwise else values(text.meant)
        assert plain(ours.read(name, ids, TOOLS))[0] == calls


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_every_choice_can_be_asked_of_the_prompts_of_a_format(name: str, thinks: bool) -> None:
    row = ROWS[name]
    if thinks and not row.think:
        pytest.skip("its models do not think")
    opening = vocabularies.ids(name, row.lead or row.call)
    for choice in ("auto", "required", {"type": "function", "function": {"name": "t"}}):
        matcher = ours.matcher(name, TOOLS, thinks=thinks, tool_choice=choice)
        if not thinks and name != "kimi_k3":
            assert all(map(matcher.accept, opening)), (choice, matcher)
    assert ours.matcher(name, TOOLS, thinks=thinks, tool_choice="none").state != "END"
