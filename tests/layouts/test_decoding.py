"""Texts of arguments as JSON, as they come."""

import json
from random import Random

import pytest

from enforcer.layouts import Decoder
from enforcer.layouts.pattern import ID
from tests.laid_out import LAID_OUT, bound, symbols_of, write

VALUE = {"a": 'say "é"', "b": "5"}
SCHEMA = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}


@pytest.mark.parametrize("name", LAID_OUT)
def test_strings_are_said_as_they_come(name: str) -> None:
    decoder = Decoder(bound(name), SCHEMA)
    said, at = "", []
    for symbol in symbols_of(write(name, VALUE, Random(0)), name):
        said += decoder.feed([symbol])
        at.append(said)
    assert json.loads(said + decoder.finish()) == VALUE
    # Before the value has ended, all of it but what may be the beginning of a stop.
    assert any(each.endswith("say ") for each in at)


@pytest.mark.parametrize("name", LAID_OUT)
def test_a_text_that_is_cut_off_is_none(name: str) -> None:
    symbols = symbols_of(write(name, VALUE, Random(0)), name)
    decoder = Decoder(bound(name), SCHEMA)
    decoder.feed(symbols[: len(symbols) // 2])
    with pytest.raises(ValueError, match=r"."):
        decoder.finish()


@pytest.mark.parametrize("name", LAID_OUT)
def test_behind_a_mistake_nothing_is_said(name: str) -> None:
    decoder = Decoder(bound(name), SCHEMA)
    decoder.feed([ID + 100])
    assert decoder.feed(symbols_of(write(name, VALUE, Random(0)), name)) == ""
    with pytest.raises(ValueError, match=r"."):
        decoder.finish()


@pytest.mark.slow
@pytest.mark.parametrize("name", LAID_OUT)
def test_what_is_nested_too_deeply_to_be_read_is_a_mistake_and_no_other_value(name: str) -> None:
    symbols = symbols_of(write(name, {"a": [[[]]]}, Random(0)), name)
    for deep, is_read in ((50, True), (100_000, False)):
        decoder = Decoder(bound(name), {"properties": {"a": {"type": "array"}}})
        said = ""
        for symbol in symbols:
            more = deep if symbol in (ord("["), ord("]")) else 1
            said += decoder.feed([symbol] * more)
        if is_read:
            assert json.loads(said + decoder.finish())["a"]
        else:
            with pytest.raises(ValueError, match=r"."):
                decoder.finish()
