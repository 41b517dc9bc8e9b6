"""A client's own grammar by the thin adapter: rows, refusals, the way back."""

from __future__ import annotations

import sys
from functools import cache
from random import Random

import numpy as np
import pytest

from enforcer.engines import ArgumentMatcher, load
from enforcer.engines.client_grammar import ClientGrammars
from enforcer.errors import InvalidSchema, SchemaLimit, UnsupportedSchema
from enforcer.request.response_format import FormatKind, ResponseFormat
from tests.vocabularies import bits, kimi, small

_V = small()


@cache
def grammars() -> ClientGrammars:
    return ClientGrammars(_V)


@pytest.mark.parametrize(
    "source",
    [
        'root ::= "a" root | "b"',
        'start: t ("+" t)*\nt: /[0-9]+/ | "(" start ")"',
        'start: %json {"type": "object"}',
        'start: ""',
    ],
)
def test_rows_are_what_is_accepted_also_after_a_rollback(source: str) -> None:
    grammars().check(source)
    grammar = grammars().compile(source)
    for seed in range(5):
        random = Random(seed)
        text, ids = grammar.matcher(), list[int]()
        for _ in range(20):
            row = np.full(_V.words, -1, np.int32)
            text.fill(row)
            again = grammar.matcher()
            assert all(map(again.accept, ids))
            assert text.is_accepting() == again.is_accepting()
            legal = sorted(bits(row))
            assert legal == [i for i in range(_V.size) if accepts(again, i)]
            if ids and random.random() < 0.3:
                text.rollback(1)
                ids.pop()
                continue
            if not legal:
                break
            ids.append(random.choice(legal))
            assert text.accept(ids[-1])


def accepts(text: ArgumentMatcher, token_id: int) -> bool:
    taken = text.accept(token_id)
    if taken:
        text.rollback(1)
    return taken


@pytest.mark.parametrize(
    "source", ["root ::= x", "start: /[/", "%%%", "root ::= [", "start: missing", "", "\x00"]
)
def test_a_grammar_that_cannot_be_read_is_the_clients_fault(source: str) -> None:
    with pytest.raises(InvalidSchema, match=r"response_format\.grammar"):
        grammars().compile(source)


def test_a_grammar_that_no_text_fits_is_refused() -> None:
    with pytest.raises(InvalidSchema, match=r"no text fits it"):
        grammars().compile("start: start")


@pytest.mark.parametrize(
    ("source", "begun"),
    [
        ('start: "a" T\nT: /b/ & /c/', "'a'"),
        ('start: "a" %json {"$ref": "#"}', "'a'"),
        ('start: "a" <|im_end|> "b"', "'a'"),
    ],
)
def test_a_grammar_that_leads_nowhere_is_refused_with_the_text(source: str, begun: str) -> None:
    with pytest.raises(InvalidSchema, match=f"begins with {begun} can be neither"):
        grammars().check(source)


def test_a_grammar_of_which_a_mask_is_too_much_is_refused() -> None:
    with pytest.raises(SchemaLimit, match="cannot hold this grammar"):
        ClientGrammars(kimi()).check("start: e\ne: e e | e e e | /[a-z ]/")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    with pytest.raises(UnsupportedSchema, match=r"pip install 'kimi-enforcer\[grammar\]'"):
        ClientGrammars(_V)


def test_the_machine_hands_grammars_on() -> None:
    engine = load("machine", _V)
    wanted = ResponseFormat(FormatKind.GRAMMAR, 'start: "ab"')
    engine.check(wanted)
    text = engine.compile(wanted).matcher()
    assert all(map(text.accept, b"ab"))
    assert text.is_accepting()
