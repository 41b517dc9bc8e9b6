"""What a number that has been begun may become: cheap answers are those that listing all gives."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.distinct.fuel import Fuel, unlimited
from enforcer.engines.distinct.number_completions import (
    _KEPT,
    Few,
    is_roomy,
    numbers,
    only,
)
from enforcer.errors import EngineFailure
from enforcer.regex import NOTHING
from enforcer.regex.minimal_automaton import State, read
from enforcer.schema import compile_schema
from enforcer.schema.finishing.distinct import bare_states

SCHEMAS = {
    "integer": {"type": "integer"},
    "port": {"type": "integer", "minimum": 0, "maximum": 65535},
    "few": {"enum": [1, 1.5, 0, -20, 2**53 + 1]},
    "number": {"type": "number"},
    "fraction": {"type": "number", "minimum": 0, "maximum": 1},
    "sevens": {"type": "integer", "multipleOf": 7},
    "cents": {"type": "number", "multipleOf": 0.01, "minimum": 0},
}
TEXTS = st.from_regex(r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{0,18})?([eE][0-9]{0,2})?", fullmatch=True)

if TYPE_CHECKING:
    from collections.abc import Iterable


@cache
def language(name: str) -> Any:
    grammar = compile_schema(SCHEMAS[name])
    return read(bare_states(grammar.definitions[grammar.root]))


def values(listed: Iterable[Any]) -> set[Any]:
    return {each.value for each in listed}


def behind(regex: Any, text: Any) -> Any:
    for char in text:
        regex = regex.behind(char) if isinstance(regex, State) else NOTHING
    return regex


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
@given(text=TEXTS)
def test_what_is_said_of_a_beginning_is_true_of_the_list(name: str, text: Any) -> None:
    regex = behind(language(name), text)
    if regex == NOTHING:
        return
    listed = list(islice(numbers(regex, text, Few(), unlimited()), 60))
    assert len(set(listed)) == len(listed)
    value = only(regex, text)
    if value is not None:
        assert listed == [value]
        for char in "0123456789.":
            assert set(numbers(behind(regex, char), text + char, Few(), unlimited())) <= {value}
    if text.strip("-0.") and "e" not in text.lower():
        for sure in {False, len(text) < 11}:
            assert not is_roomy(regex, 50, sure=sure) or len(listed) > 50
            assert not is_roomy(regex, 50, 2, sure=sure) or is_roomy(regex, 50, sure=sure)


def test_few_numbers_are_listed_however_many_spellings_they_have() -> None:
    found = values(numbers(language("few"), "", Few(), unlimited()))
    assert found == {1, 1.5, 0, -20, 2**53 + 1}
    one = behind(language("few"), "1")
    assert values(numbers(one, "1", Few(), unlimited())) == {1, 1.5}


def test_what_is_remembered_of_a_grammar_is_bounded() -> None:
    few, number = Few(), language("number")
    for i in range(3 * _KEPT):
        start = f"1{i}"
        assert list(islice(numbers(behind(number, start), start, few, unlimited()), 20))
    assert len(few._samples) <= _KEPT
    assert 0 < len(few._firsts) <= _KEPT


def test_what_lists_too_much_is_charged_for_it() -> None:
    fuel = Fuel(100)
    with pytest.raises(EngineFailure):
        list(numbers(behind(language("port"), "1"), "1", Few(), fuel))


def test_what_another_thread_forgets_is_given_all_the_same() -> None:
    class Forgetful(dict[Any, Any]):
        """As if it were cleared at once."""

        def __setitem__(self, key: Any, value: Any) -> None:
            pass

    few, number = Few(), language("few")
    few._samples = Forgetful()
    few._firsts = Forgetful()
    assert values(numbers(number, "", few, unlimited())) == {1, 1.5, 0, -20, 2**53 + 1}
