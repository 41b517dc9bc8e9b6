"""Dialects permit what models of their format write, and read it as it was meant.

And what stock vLLM takes for right beyond that, unless `deviations` says why not.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench.formats import writers
from bench.formats.catalogue import ROWS
from bench.formats.writers import Call, Turn
from tests.formats import deviations, ours, vocabularies
from tests.formats.tolerances import TEXTS

if TYPE_CHECKING:
    from bench.formats.writers import Style
    from tests.formats.ours import Read
    from tests.formats.tolerances import Text


pytestmark = pytest.mark.slow  # the formats' own vocabularies are large

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "w",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {},
                    "s": {"type": "string"},
                    "n": {"type": "integer"},
                    "o": {"type": "object"},
                    "y": {"type": "boolean"},
                },
            },
        },
    },
    {"type": "function", "function": {"name": "t"}},
]
CALLS = (
    Call("w", {"s": 'b é "q" \n\t \\ }] it\'s', "n": 3, "o": {"k": [1, None]}}),
    Call("t", {}),
)
TOLERATED = [
    (name, text)
    for name, texts in TEXTS.items()
    for text in texts
    if (name, text.what) not in {**deviations.REFUSED, **deviations.OTHERWISE}
]
REFUSED = [
    (name, text)
    for name, texts in TEXTS.items()
    for text in texts
    if (name, text.what) in deviations.REFUSED
]


def turns(name: str) -> list[Turn]:
    calls = CALLS if ROWS[name].parallel else CALLS[:1]
    said = [Turn("", calls), Turn("Hello."), Turn("", calls[-1:])]
    if ROWS[name].speaks:
        said.append(Turn("Let me look.", calls))
    if ROWS[name].think:
        said.append(Turn("So.", calls, "Hmm, well"))
    return said


def plain(read: Read) -> tuple[str, list[tuple[str, dict[str, Any]]], str, str]:
    calls = [(name, json.loads(arguments)) for name, arguments in read.calls]
    return read.content.strip(), calls, read.reasoning.strip(), read.problem


def meant(turn: Turn) -> tuple[str, list[tuple[str, dict[str, Any]]], str, str]:
    calls = [(call.name, dict(call.arguments)) for call in turn.calls]
    return turn.content.strip(), calls, turn.reasoning or "", ""


@pytest.mark.parametrize("style", writers.STYLES)
@pytest.mark.parametrize("name", ROWS)
def test_what_a_model_writes_is_legal_and_read_as_it_was_meant(name: str, style: Style) -> None:
    for turn in turns(name):
        text = writers.write(name, turn, style)
        ids = vocabularies.ids(name, text)
        thinks = turn.reasoning is not None
        legal = ours.legal(name, ids, TOOLS, thinks=thinks)
        assert legal == len(ids), f"{text!r}: id {legal} is refused"
        assert plain(ours.read(name, ids, TOOLS, thinks=thinks)) == meant(turn)


def ids_of(pair: tuple[str, Text]) -> str:
    return f"{pair[0]}-{pair[1].what}"


@pytest.mark.parametrize(("name", "text"), TOLERATED, ids=map(ids_of, TOLERATED))
def test_what_stock_vllm_takes_for_right_is_legal(name: str, text: Text) -> None:
    ids = vocabularies.ids(name, text.text)
    assert ours.legal(name, ids, TOOLS) == len(ids)
    calls = [(call.name, dict(call.arguments)) for call in text.calls]
    assert plain(ours.read(name, ids, TOOLS))[1] == calls


@pytest.mark.parametrize(("name", "text"), REFUSED, ids=map(ids_of, REFUSED))
def test_what_is_refused_is_refused(name: str, text: Text) -> None:
    ids = vocabularies.ids(name, text.text)
    assert ours.legal(name, ids, TOOLS) < len(ids)


@pytest.mark.parametrize(("name", "what"), deviations.OTHERWISE)
def test_what_is_read_otherwise_is(name: str, what: str) -> None:
    text = next(each for each in TEXTS[name] if each.what == what)
    ids = vocabularies.ids(name, text.text)
    assert ours.legal(name, ids, TOOLS) == len(ids)
    calls, _ = deviations.OTHERWISE[name, what]
    assert calls != text.calls
    assert plain(ours.read(name, ids, TOOLS))[1] == [(c.name, dict(c.arguments)) for c in calls]


def test_every_deviation_is_of_a_text() -> None:
    known = {(name, text.what) for name, texts in TEXTS.items() for text in texts}
    assert {*deviations.REFUSED, *deviations.OTHERWISE} <= known


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_every_choice_can_be_asked_of_the_prompts_of_a_format(name: str, thinks: bool) -> None:
    row = ROWS[name]
    if thinks and not row.think:
        pytest.skip("its models do not think")
    opening = vocabularies.ids(name, row.lead or row.call)
    named = {"type": "function", "function": {"name": "t"}}
    for choice in ("auto", "required", named):
        matcher = ours.matcher(name, TOOLS, thinks=thinks, tool_choice=choice)
        if not thinks and name != "kimi_k3":
            assert all(map(matcher.accept, opening)), (choice, matcher)
    assert ours.matcher(name, TOOLS, thinks=thinks, tool_choice="none").state != "END"
