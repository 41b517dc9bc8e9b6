"""A client's own grammar by the thin adapter: rows, refusals, the way back."""

import sys
from functools import cache
from random import Random

import pytest

from enforcer.engines import load
from enforcer.engines.client_grammar import ClientGrammars
from enforcer.errors import InvalidSchema, SchemaLimit, UnsupportedSchema
from enforcer.request.response_format import FormatKind, ResponseFormat
from tests.support.cases import each_case
from tests.support.machine import agreed, mask
from tests.vocabularies import kimi, small

_V = small()


@cache
def grammars() -> ClientGrammars:
    return ClientGrammars(_V)


@each_case
def test_rows_are_what_is_accepted_also_after_a_rollback(source: str) -> None:
    grammars().check(source)
    grammar = grammars().compile(source)
    for seed in range(5):
        random = Random(seed)
        text, ids = grammar.matcher(), list[int]()
        for _ in range(20):
            row = mask(text, _V)
            again = grammar.matcher()
            assert all(map(again.accept, ids))
            assert text.is_accepting() == again.is_accepting()
            legal = sorted(agreed(again, _V))
            assert legal == sorted(row)
            if ids and random.random() < 0.3:
                text.rollback(1)
                ids.pop()
                continue
            if not legal:
                break
            ids.append(random.choice(legal))
            assert text.accept(ids[-1])


@pytest.mark.parametrize(
    "source", ["root ::= x", "start: /[/", "%%%", "root ::= [", "start: missing", "", "\x00"]
)
def test_a_grammar_that_cannot_be_read_is_the_clients_fault(source: str) -> None:
    with pytest.raises(InvalidSchema, match=r"response_format\.grammar"):
        grammars().compile(source)


def test_a_grammar_that_no_text_fits_is_refused() -> None:
    with pytest.raises(InvalidSchema, match=r"no text fits it"):
        grammars().compile("start: start")


@pytest.mark.slow
def test_a_grammar_of_which_a_mask_is_too_much_is_refused() -> None:
    with pytest.raises(SchemaLimit, match="cannot hold this grammar"):
        ClientGrammars(kimi()).check("start: e\ne: e e | e e e | /[a-z ]/")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    with pytest.raises(UnsupportedSchema, match=r"pip install '\.\[grammar\]'"):
        ClientGrammars(_V)


def test_the_machine_hands_grammars_on() -> None:
    engine = load("machine", _V)
    wanted = ResponseFormat(FormatKind.GRAMMAR, 'start: "ab"')
    engine.check(wanted)
    text = engine.compile(wanted).matcher()
    assert all(map(text.accept, b"ab"))
    assert text.is_accepting()
