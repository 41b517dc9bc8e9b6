"""Spellings against values: what a terminal matches is what is in the set, and bounded."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsupportedSchema
from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import MOST_TOGETHER
from enforcer.numbers.sets import NumberSet, contains, is_empty
from enforcer.regex import fullmatch
from tests.schema_judge import accepts, compiled, is_valid
from tests.spelled_json import numbers
from tests.support.cases import each_case

BOUNDS = st.one_of(
    st.integers(-300, 300),
    st.decimals(-20, 20, places=2).map(float),
    st.sampled_from([1e-7, 1e21, 0.1, 1e15, 123456789.125]),
)


def around(bound: float) -> list[float]:
    return [bound, bound + 1, bound - 1, bound * 2, bound / 2, -bound, bound + 0.001, 0]


@given(BOUNDS, BOUNDS, st.sampled_from(["minimum", "exclusiveMinimum"]), st.booleans())
def test_bounds_hold_in_every_spelling(low: float, high: float, keyword: str, both: bool) -> None:
    schema: dict[str, Any] = {"type": "number", keyword: low}
    schema |= {"maximum": high} if both and low < high else {}
    grammar = compiled(schema)
    for value in (*around(low), *around(high)):
        is_above = value >= low if keyword == "minimum" else value > low
        valid = is_above and value <= schema.get("maximum", value)
        for text in numbers(value):
            assert accepts(grammar, text) == valid, (text, schema)


@given(st.sampled_from([1, 2, 5, 10, 0.5, 0.25, 0.1, 0.01]), st.decimals(-50, 50, places=3))
def test_multiples_are_exact_decimals(divisor: float, value: Decimal) -> None:
    grammar = compiled({"multipleOf": divisor})
    text = format(value, "f")
    whole = (Fraction(text) / Fraction(repr(divisor))).denominator == 1
    for spelled in (text, f"{text}00"):
        assert accepts(grammar, spelled) == whole, spelled


DIVISORS = st.sampled_from([3, 7, 12, 64, 77, 96, 256, 1.5, 2.4, 0.8, 0.07])


@pytest.mark.slow
@given(DIVISORS, st.integers(-2000, 2000), st.integers(0, 2), st.booleans(), st.booleans())
def test_other_divisors_take_plain_decimals(
    divisor: float, value: int, places: int, near: bool, negated: bool
) -> None:
    schema = {"type": "number", "multipleOf": divisor}
    grammar = compiled({"type": "number", "not": schema} if negated else schema)
    exact = Decimal(repr(divisor)) * value if near else Decimal(value).scaleb(-places)
    is_multiple = exact % Decimal(repr(divisor)) == 0
    text = format(exact, "f")
    for spelled in (text, f"{text}00" if "." in text else f"{text}.0"):
        assert accepts(grammar, spelled) == (is_multiple != negated), spelled


@pytest.mark.slow
@given(st.lists(st.sampled_from([2, 3, 7, 8, 11]), min_size=2, max_size=3), st.integers(0, 9999))
def test_divisors_together(divisors: list[int], value: int) -> None:
    multiple, *others = divisors
    negated = {"anyOf": [{"multipleOf": each} for each in others]}
    schema = {"type": "integer", "multipleOf": multiple, "not": negated}
    if any(multiple % each == 0 for each in others):
        return
    try:
        grammar = compiled(schema)
    except UnsupportedSchema:
        assert math.lcm(*divisors) > MOST_TOGETHER
        return
    member = not value % multiple and all(value % each for each in others)
    assert accepts(grammar, str(value)) == member


def test_what_no_divisor_leaves_few_of_is_listed() -> None:
    grammar = compiled({"type": "integer", "minimum": -5, "maximum": 3000, "multipleOf": 1009})
    assert [n for n in range(-2100, 3100) if accepts(grammar, str(n))] == [0, 1009, 2018]


def test_what_is_no_multiple_is_not_read_as_one_either() -> None:
    grammar = compiled({"type": "number", "not": {"multipleOf": 7}})
    assert accepts(grammar, "7.5")
    assert not accepts(grammar, "7.00000000000000000001")
    assert not accepts(grammar, "6.99999999999999999999")


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)), st.data())
def test_a_constant_is_its_value_however_written(value: float, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(numbers(value)))
    other = data.draw(st.one_of(st.integers(-5, 5), st.floats(-5, 5)))
    grammar = compiled({"const": value})
    bounded = abs(value) < 1e40 and (value == 0 or abs(value) > 1e-30)
    # Beyond that, zeros behind a point make a reader round what may be another integer.
    rounded = abs(value) > 2**53 and "." in text and "e" not in text.lower()
    if bounded and not rounded:
        assert accepts(grammar, text)
    assert accepts(grammar, json.dumps(other)) == (other == value) or not bounded


@pytest.mark.parametrize("text", ["01", "+1", ".5", "1.", "1e", "0x1", "--1", "1_0", "NaN", "1 "])
@pytest.mark.parametrize("schema", [{}, {"type": "number"}, {"minimum": -5}, {"const": 1}])
def test_what_is_no_json_number(schema: dict[str, Any], text: str) -> None:
    assert not accepts(compiled(schema), text)


@pytest.mark.parametrize(
    "schema", [{"type": "integer"}, {"type": "number"}, {"minimum": 3}, {"multipleOf": 0.5}, {}]
)
@pytest.mark.parametrize("digits", ["1", "0.1", "1e0", "-2.0"])
def test_digits_come_to_an_end(schema: dict[str, Any], digits: str) -> None:
    matcher = compiled(schema).matcher()
    assert sum(1 for byte in digits.encode() + b"0" * 400 if matcher.accept(byte)) < 200


NOT_INTEGERS = {"type": "number", "not": {"type": "integer"}}


@pytest.mark.slow
@each_case
def test_no_spelling_of_an_integer_is_a_fraction(text: str) -> None:
    assert not accepts(compiled(NOT_INTEGERS), text)
    assert not accepts(compiled({**NOT_INTEGERS, "minimum": -5}), text)


@given(st.floats(-1e6, 1e6), st.booleans())
def test_what_is_no_integer_is_accepted_as_it_is_printed(value: float, bounded: bool) -> None:
    grammar = compiled({**NOT_INTEGERS, "minimum": -2e6} if bounded else NOT_INTEGERS)
    nearly = not value.is_integer() and abs(value - round(value)) < 1e-7 and abs(value) > 1
    if not nearly and (value == 0 or abs(value) > 1e-290):
        text = json.dumps(value)
        if "e" not in text or len(text) < 18:
            assert accepts(grammar, text) == (not value.is_integer())


@given(st.floats(allow_nan=False, allow_infinity=False), st.data())
def test_an_integer_in_any_notation_is_no_fraction(value: float, data: st.DataObject) -> None:
    if value.is_integer():
        text = data.draw(st.sampled_from([*numbers(value), f"{value:e}", f"{value:.17e}"]))
        assert not accepts(compiled(NOT_INTEGERS), text)


@pytest.mark.parametrize("text", ["1.25e1", "7.1200005E+2", "1.5e-3", "9e-300", "2.50e0", "0.5"])
def test_fractions_in_scientific_notation(text: str) -> None:
    assert accepts(compiled(NOT_INTEGERS), text)
    assert accepts(compiled({**NOT_INTEGERS, "maximum": 1000}), text)


LARGE = st.sampled_from([2**53, 2**60 + 1, 2**63 - 1, 2**64 - 1, 10**22, 10**30]).flatmap(
    lambda n: st.integers(n - 3_000, n + 3_000) | st.integers(n - 1, n + 1)
)
KEYWORDS = ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "const")


@given(LARGE, st.sampled_from(KEYWORDS), st.booleans(), st.booleans(), st.data())
def test_what_is_read_as_a_double_is_compared_as_one(
    bound: int, keyword: str, negative: bool, floating: bool, data: st.DataObject
) -> None:
    bound = -bound if negative else bound
    schema = {"type": "number", keyword: float(bound) if floating else bound}
    grammar = compiled(schema)
    for _ in range(10):
        number = bound + data.draw(st.integers(-2_100, 2_100) | st.integers(-2, 2))
        digits = str(abs(number))
        scientific = f"{digits[0]}.{digits[1:]}e{len(digits) - 1}"
        spelled = [digits, f"{digits}.0", f"{digits}.5", repr(float(abs(number))), scientific]
        sign = "-" if number < 0 else ""
        for text in spelled:
            if accepts(grammar, sign + text):
                assert is_valid(schema, json.loads(sign + text)), sign + text
        assert accepts(grammar, sign + digits) == is_valid(schema, number)
    # A bound that belongs to the set may be written as the schema's author did.
    if keyword in ("maximum", "minimum", "const"):
        assert accepts(grammar, json.dumps(schema[keyword]))


FAR = [
    *("1e299", "1e300", "1.5e300", "1e301", "3e305", "1.7976931348623157e308"),
    *("1e-299", "1e-300", "1.5e-300", "1e-301", "3e-305", "5e-324", "1e-41", "3e-45", "1e49"),
]
WRITTEN = [
    *(f"{digit}e{exponent}" for digit in (1, 1.5, 3, 9) for exponent in (-300, -299, 299, 300)),
    *("0", "1", "1.5", "0." + "0" * 39 + "1", "9" * 49, "1" + "0" * 48, "1" + "0" * 49),
]


@pytest.mark.slow
@pytest.mark.parametrize("keyword", KEYWORDS[:-1])
@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize("bound", FAR)
def test_bounds_at_ends_of_exponents(bound: str, kind: str, sign: str, keyword: str) -> None:
    schema = {"type": kind, keyword: json.loads(sign + bound)}
    grammar = None
    try:
        grammar = compiled(schema)
    except UnsupportedSchema as refused:
        # The next double beside an open bound so near to zero has a thousand digits.
        if "too large" in str(refused):
            assert "-" in bound
            assert "exclusive" in keyword
            return
        # Else nothing that is written is within such bounds.
    for text in (*WRITTEN, *(f"-{text}" for text in WRITTEN)):
        valid = is_valid(schema, json.loads(text))
        taken = grammar is not None and accepts(grammar, text)
        digits = text.lstrip("-")
        # Integers have exponents to 99, and no number has more than 49 digits.
        is_left_out = len(digits) > 49 or (kind == "integer" and "e" in digits)
        assert taken == valid or (valid and is_left_out), text


@given(
    st.sampled_from([0.01, 0.002, 0.04, 0.1, 0.25, 0.5, 2, 2.5, 3, 5, 12.5, 25, 100]),
    st.integers(0, 10**18),
    st.text("0123456789", max_size=20) | st.text("09", max_size=20),
    st.booleans(),
)
def test_multiples_of_many_digits(divisor: float, whole: int, behind: str, negated: bool) -> None:
    schema: dict[str, Any] = {"multipleOf": divisor}
    schema = {"type": "number", "not": schema} if negated else {"type": "number", **schema}
    text = f"{whole}.{behind}" if behind else str(whole)
    if accepts(compiled(schema), text):
        assert is_valid(schema, json.loads(text))


@given(st.text("0123456789", min_size=1, max_size=9), st.integers(1, 9), st.integers(0, 99))
def test_an_exponent_makes_up_for_all_decimals(places: str, first: int, exponent: int) -> None:
    text = f"{first}.{places}e{exponent}"
    whole = len(places) <= exponent
    assert accepts(compiled({"type": "integer"}), text) == (whole or places == "0")
    bounded = compiled({"type": "integer", "minimum": 1})
    assert accepts(bounded, text) == accepts(compiled({"type": "integer"}), text)


@pytest.mark.parametrize("divisor", ["0.5", "1", "1.5", "2", "2.5", "30"])
def test_no_spelling_of_a_multiple_is_one_of_a_number_that_is_none(divisor: str) -> None:
    language = number_texts(NumberSet(not_multiples=frozenset({Fraction(divisor)})))
    for times in (0, 1, 2, 3, 10, 40):
        for text in numbers(float(times * Fraction(divisor))):
            assert not fullmatch(language, text), text
    assert fullmatch(language, "0.7")


_near_zero = st.none() | st.sampled_from([Fraction(n, 2) for n in range(-3, 4)])


@given(_near_zero, st.booleans(), _near_zero, st.booleans())
def test_bounds_on_either_side_of_zero(low: Any, low_open: Any, high: Any, high_open: Any) -> None:
    within = NumberSet(low, low_open and low is not None, high, high_open and high is not None)
    if is_empty(within):
        return
    language = number_texts(within)
    for quarter in range(-8, 9):
        member = contains(within, Fraction(quarter, 4))
        for text in numbers(quarter / 4 if quarter % 4 else quarter // 4):
            assert fullmatch(language, text) == member, text


@pytest.mark.parametrize("divisor", ["1", "1.5", "2", "7", "30"])
def test_every_spelling_of_what_is_no_multiple_is_refused(divisor: str) -> None:
    language = number_texts(NumberSet(multiple=Fraction(divisor)))
    for value in (0.5, 1, 4, 10, 11, 100, 1_000, 1_500_000, 10**9):
        is_multiple = (Fraction(value) / Fraction(divisor)).denominator == 1
        assert fullmatch(language, str(value)) == is_multiple
        for text in numbers(value):
            assert is_multiple or not fullmatch(language, text), text
