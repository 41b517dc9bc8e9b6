import json
import re
import warnings
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import fullmatch
from enforcer.regex.formats import no_regexes, regexes
from tests.schema_judge import accepts, compiled, walk
from tests.support.cases import each_case


@each_case
def test_what_both_syntaxes_take_is_a_regular_expression(text: str) -> None:
    re.compile(text)
    assert fullmatch(regexes(), text)
    assert not fullmatch(no_regexes(), text)


@each_case
def test_what_one_of_them_refuses_is_none(text: str) -> None:
    assert not fullmatch(regexes(), text)


def test_counts_are_in_order_and_have_few_digits() -> None:
    language = regexes()
    for low in (0, 1, 2, 9, 10, 19, 99, 100, 999):
        assert fullmatch(language, f"a{{{low}}}")
        assert fullmatch(language, f"a{{{low},}}")
        for high in (0, 1, 2, 9, 10, 19, 20, 99, 100, 101, 999):
            taken = fullmatch(language, f"a{{{low},{high}}}")
            assert not taken or low <= high
            # Of the others that are in order, those with as many digits are left out.
            assert taken == (low <= high) or (low > 9 and high // 10 < 10 * (low // 10))
    for counts in ("1000", "1000,", "1,1000", "10,1000", "00,1", ",1", ""):
        assert not fullmatch(language, f"a{{{counts}}}")


@given(st.text(alphabet="ab1,-^$|()[]{}?*+.\\dx", max_size=8))
def test_nothing_that_python_cannot_read_is_taken(text: str) -> None:
    if fullmatch(regexes(), text):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    if fullmatch(no_regexes(), text):
        with pytest.raises(re.error):
            re.compile(text)


@pytest.mark.slow
@given(st.integers(0, 10**9))
def test_whatever_is_generated_can_be_read(seed: int) -> None:
    text = walk(compiled({"type": "string", "format": "regex"}), Random(seed))
    if text is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(json.loads(text))


def test_what_is_no_expression_is_so_by_either_reading() -> None:
    grammar = compiled({"type": "string", "not": {"format": "regex"}})
    assert accepts(grammar, json.dumps("a\\"))
    assert not accepts(grammar, json.dumps("a(((((b)))))"))
    assert not accepts(grammar, '"a"')
