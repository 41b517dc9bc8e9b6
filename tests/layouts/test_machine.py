"""The automaton of pairs: where a value ends."""

from __future__ import annotations

import pytest

from enforcer.layouts.machine import machine
from enforcer.layouts.pattern import read
from tests.laid_out import bound, symbols_of


def follow(name: str, text: str) -> frozenset[int] | None:
    found = bound(name).machine
    places = found.start
    for symbol in symbols_of(text, name):
        places = found.step(places, symbol)
        if places is None:
            return None
    return places


@pytest.mark.parametrize(
    ("value", "ended"),
    [
        ("x", True),
        ("</parameter", True),
        ("<</parameter", True),
        ("", True),
        ("</parameter>x", False),
    ],
)
def test_a_value_ends_at_the_first_stop(value: str, ended: bool) -> None:
    places = follow("qwen3_coder", f"<parameter=a>{value}</parameter>")
    assert (places is not None) == ended
    if ended:
        assert bound("qwen3_coder").machine.behind in places


def test_the_field_of_a_place() -> None:
    found = bound("kimi_k3").machine
    places = follow("kimi_k3", '<|open|>argument key="a" type="n')
    assert {found.field[each] for each in places if each in found.field} == {"type"}


def test_the_length_of_what_may_be_a_stop() -> None:
    found = bound("qwen3_coder").machine
    places = follow("qwen3_coder", "<parameter=a>b</par")
    assert max(found.matched.get(each, 0) for each in places) == len("</par")


@pytest.mark.parametrize("space", ["", " ", "\n", "\r\n\t "])
def test_white_space_may_be_there_or_not(space: str) -> None:
    assert follow("qwen3_coder", f"{space}<parameter=a>b</parameter>{space}</function>")


@pytest.mark.parametrize("space", ["  ", "\r", "\t", "\n\n"])
def test_other_white_space_may_not(space: str) -> None:
    assert follow("qwen3_coder", f"{space}<parameter=a>") is None


def test_one_automaton_for_one_layout() -> None:
    pieces = read("<{key}>{value}<", lambda _: None, ("key", "value")), ()
    assert machine(*pieces) is machine(*pieces)
    assert not machine(*pieces).ends_itself
