"""A client's own grammar by the thin adapter: rows, refusals, the way back."""

from __future__ import annotations

import sys
from functools import cache
from random import Random

import numpy as np
import pytest

from enforcer.engines import ArgumentMatcher, load
from enforcer.engines.client_grammar import ClientGrammars
from enforcer.engines.llguidance.engine import LLGuidanceEngine
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
def test_rows_are_those_of_the_engine_before(source: str) -> None:
    before = LLGuidanceEngine(_V).compile_text(ResponseFormat(FormatKind.GRAMMAR, source))
    grammars().check(source)
    for seed in range(5):
        random = Random(seed)
        texts: list[ArgumentMatcher] = [before.matcher(), grammars().compile(source).matcher()]
        ids: list[int] = []
        for _ in range(20):
            rows = [np.full(_V.words, -1, np.int32) for _ in texts]
            for text, row in zip(texts, rows, strict=True):
                text.fill(row)
            assert (rows[0] == rows[1]).all()
            assert texts[0].is_accepting() == texts[1].is_accepting()
            if ids and random.random() < 0.3:
                for text in texts:
                    text.rollback(1)
                ids.pop()
                continue
            wrong = random.randrange(_V.size)
            if wrong not in bits(rows[0]):
                assert not texts[1].accept(wrong)
            if not (legal := sorted(bits(rows[0]))):
                break
            ids.append(random.choice(legal))
            assert all(text.accept(ids[-1]) for text in texts)


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
    engine.check_text(wanted)
    text = engine.compile_text(wanted).matcher()
    assert all(map(text.accept, b"ab"))
    assert text.is_accepting()
