"""How numbers are spelled: a terminal for each set of numbers.

Owns: the expressions over regular expressions (of llguidance's Lark dialect) that match
every usual spelling of the members of a `NumberSet`: plain decimals, with trailing
zeros, and scientific notation with one digit before the point, which is what programs
print. All are bounded in length. Must not know: schemas, grammars, other types.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.numbers.bound_text import PLACES, WHOLE, ZEROS, at_least, at_most, whole_range
from enforcer.numbers.doubles import EXACT_INTEGER, LONGEST, as_read, is_double, moved, shortest
from enforcer.numbers.multiple_text import (
    EXACT,
    NotSpellableError,
    are_bearable,
    behind,
    between,
    is_hard,
    multiples,
    not_multiples,
    without_places,
)
from enforcer.numbers.remainder_text import definitions
from enforcer.numbers.sets import INTEGERS, REALS, candidates, contains

if TYPE_CHECKING:
    from enforcer.numbers.sets import NumberSet

_EXPONENT = 300  # doubles end at 308; beyond, text would be read as infinity or zero
_PLACES_SHORT = 4  # exponents below this may make up for places
_MOST_LISTED = 200  # members written out one by one, where divisibility is no easier

_EXP = r"[eE][+-]?([0-9]{1,2}|[12][0-9]{2}|300)"
_REAL = rf"-?{WHOLE}(\.[0-9]{{1,{PLACES}}})?({_EXP})?"


@lru_cache(maxsize=4096)
def spelling(numbers: NumberSet, *, shared: bool = False) -> str:
    """Return a terminal expression that matches the members of a set of numbers.

    Args:
        numbers: the set.
        shared: whether the expression may name terminals of `remainder_text.definitions`.

    Raises:
        NotSpellableError: divisibility by something that does not divide a power of ten,
            and is too large for shared terminals or a lexer, or those are not wanted.

    """
    if numbers == REALS:
        return f"/{_REAL}/"
    if numbers == INTEGERS:
        return f"/-?({WHOLE}{ZEROS}|{_scientific_integers()[1:-1]})/"
    if numbers.low is not None and numbers.low == numbers.high:
        return _constant(numbers.low, plain=numbers.plain)
    divisors = _divisors(numbers)
    if any(is_hard(each) for each in divisors):
        members = candidates(numbers, _MOST_LISTED)
        if members:
            return " | ".join(f"({_constant(x, plain=numbers.plain)})" for x in members)
    if not are_bearable(divisors):
        raise NotSpellableError
    parts = []
    low, low_open = moved(numbers.low, is_open=numbers.low_open, up=True)
    high, high_open = moved(numbers.high, is_open=numbers.high_open, up=False)
    if high is None or high > 0:
        start, start_open = (low, low_open) if low is not None and low >= 0 else (Fraction(0), True)
        parts.append(_magnitudes(numbers, start, start_open, high, high_open))
    if low is None or low < 0:
        start, start_open = (
            (-high, high_open) if high is not None and high <= 0 else (Fraction(0), True)
        )
        end = None if low is None else -low
        parts.append(f"/-/ ({_magnitudes(numbers, start, start_open, end, low_open)})")
    if contains(numbers, Fraction(0)):
        parts.append(_constant(Fraction(0), plain=numbers.plain))
    expression = " | ".join(f"({part})" for part in parts if part) or "/[^\\s\\S]/"
    if not shared and definitions(expression):
        raise NotSpellableError
    return expression


def _constant(value: Fraction, *, plain: bool) -> str:
    if value == 0:
        exponent = "" if plain else "([eE][+-]?0{1,2})?"
        return f"/-?0{'' if plain else ZEROS}{exponent}/"
    sign = "-" if value < 0 else ""
    digits, point = _decimal(abs(value))
    whole = digits[:point] if point > 0 else "0"
    places = digits[max(point, 0) :] if point > 0 else "0" * -point + digits
    # Beyond 2**53 a text with a point or an exponent is read as this number only if it is a
    # double, and then the shortest text of that double is as well.
    large = abs(value) > EXACT_INTEGER
    as_double = not plain and (not large or is_double(value))
    forms = []
    if places:
        forms.append(rf"{whole.ljust(max(point, 1), '0')}\.{places}0{{0,{PLACES}}}")
    else:
        forms.append(whole.ljust(point, "0") + (ZEROS if as_double else ""))
    if as_double:
        forms.append(_scientific_form(digits, point))
        if large:
            forms.append(_scientific_form(*_decimal(shortest(abs(value)))))
    return f"/{sign}({'|'.join(dict.fromkeys(forms))})/"


def _scientific_form(digits: str, point: int) -> str:
    rest = digits[1:]
    mantissa = digits[0] + (rf"\.{rest}0{{0,{PLACES}}}" if rest else ZEROS)
    return mantissa + _exponents(point - 1, point - 1)


def _decimal(value: Fraction) -> tuple[str, int]:
    """Return the significant digits of a finite decimal and where its point is."""
    number, places = without_places(value)
    text = str(number)
    return text.rstrip("0") or "0", len(text) - places


def _divisors(numbers: NumberSet) -> tuple[Fraction, ...]:
    multiple = () if numbers.multiple is None else (numbers.multiple,)
    return (*multiple, *numbers.not_multiples)


def _magnitudes(
    numbers: NumberSet,
    low: Fraction,
    low_open: bool,  # noqa: FBT001 - half of a bound
    high: Fraction | None,
    high_open: bool,  # noqa: FBT001
) -> str:
    """Spell the numbers above zero between two bounds that have the set's divisors."""
    if high is not None and (low > high or (low == high and (low_open or high_open))):
        return ""
    plain = _within(low, low_open, high, high_open)
    read_low, read_low_open = as_read(low, is_open=low_open, up=True)
    read_high, read_high_open = high, high_open
    if high is not None:
        read_high, read_high_open = as_read(high, is_open=high_open, up=False)
    scientific = []
    if (read_low, read_high) != (low, high):
        options = [[f"/{WHOLE}/", *plain]]
        if read_high is None or read_low <= read_high:
            within = _within(read_low, read_low_open, read_high, read_high_open)
            options.append([rf"/{WHOLE}\.[0-9]{{1,{PLACES}}}/", *within])
        plain = [" | ".join(f"({' & '.join(f'({x})' for x in each)})" for each in options)]
        if len(options) == 1:
            scientific = [""]
    scientific = scientific or [_scientific(read_low, read_low_open, read_high, read_high_open)]
    if numbers.multiple is not None:
        plain.append(multiples(numbers.multiple, plain=numbers.plain, sure=True))
        scientific.append(_scientific_integers() if numbers.multiple == 1 else "")
    for divisor in numbers.not_multiples:
        if divisor == 1:
            plain.append(between(0))
            scientific.append(_scientific_fractions())
        else:
            plain.append(not_multiples(divisor))
            scientific.append("")
    expression = " & ".join(f"({part})" for part in plain)
    if numbers.plain or not all(scientific):
        return expression
    return f"({expression}) | ({' & '.join(f'({part})' for part in scientific)})"


def _within(low: Fraction, low_open: bool, high: Fraction | None, high_open: bool) -> list[str]:  # noqa: FBT001
    """Match plain decimals within bounds, which may be beyond all plain decimals."""
    bounds = [at_least(min(low, Fraction(LONGEST)), is_open=low_open)]
    if high is None or high >= LONGEST:
        return bounds
    return [*bounds, at_most(high, is_open=high_open)]


# Scientific notation: one digit that is not zero before the point.


def _scientific(low: Fraction, low_open: bool, high: Fraction | None, high_open: bool) -> str:  # noqa: FBT001
    options = []
    first = -_EXPONENT if low == 0 else _magnitude(low)
    last = _EXPONENT if high is None else _magnitude(high)
    mantissa = rf"[1-9](\.[0-9]{{1,{PLACES}}})?"
    for exponent in sorted({first, last}):
        if not -_EXPONENT <= exponent <= _EXPONENT:
            continue
        bounds = [f"/{mantissa}/"]
        scale = Fraction(10) ** exponent
        if exponent == first and low:
            bounds.append(at_least(low / scale, is_open=low_open))
        if exponent == last and high is not None:
            bounds.append(at_most(high / scale, is_open=high_open))
        options.append(
            f"({' & '.join(f'({x})' for x in bounds)}) /{_exponents(exponent, exponent)}/"
        )
    start, end = max(first + 1, -_EXPONENT), min(last - 1, _EXPONENT)
    if start <= end:
        options.append(f"/{mantissa}{_exponents(start, end)}/")
    return " | ".join(options)


def _magnitude(value: Fraction) -> int:
    """Return the exponent of a number above zero in scientific notation."""
    exponent = len(str(value.numerator)) - len(str(value.denominator))
    return exponent - 1 if Fraction(10) ** exponent > value else exponent


def _exponents(low: int, high: int) -> str:
    """Match `e` and an exponent between two bounds, with sign and a leading zero or not."""
    options = []
    if high >= 0:
        options.append(rf"\+?0{{0,2}}{whole_range(max(low, 0), high)}")
    if low < 0:
        options.append(rf"-0{{0,2}}{whole_range(max(1, -high), -low)}")
    if low <= 0 <= high:
        options.append("-0{1,2}")
    return f"[eE]({'|'.join(options)})"


@lru_cache(maxsize=1)
def _scientific_integers() -> str:
    """Match unsigned scientific notation whose exponent makes up for its places."""
    # As few forms as programs print: each digit that is counted costs the lexer a state.
    options = [
        rf"[1-9](\.0)?{_exponents(0, 99)}",
        *(rf"[1-9]\.[0-9]{{1,{e}}}{_exponents(e, e)}" for e in range(1, _PLACES_SHORT)),
        rf"[1-9]\.[0-9]{{1,{EXACT}}}{_exponents(EXACT, _EXPONENT)}",
    ]
    return f"/{'|'.join(options)}/"


# What is no integer. The complement of the spellings above would not do: they are not all
# that integers have, and a fraction nearer to an integer than doubles are is read as one.


@lru_cache(maxsize=1)
def _scientific_fractions() -> str:
    """Match unsigned scientific notation that is not read as an integer."""
    after_nine = rf"[0-8][0-9]{{0,{PLACES}}}|9{{1,{EXACT - 2}}}([0-8][0-9]{{0,{PLACES}}})?"
    tenths = rf"([1-8](\.[0-9]{{1,{PLACES}}})?|9(\.({after_nine}))?)[eE]-0{{0,2}}1"
    smaller = rf"[1-9](\.[0-9]{{1,{PLACES}}})?[eE]-0{{0,2}}{whole_range(2, _EXPONENT)}"
    options = [tenths, smaller]
    for e in range(EXACT - 1):
        skipped = rf"[0-9]{{{e}}}" if e else ""
        options.append(rf"[1-9]\.{skipped}({behind(e + 1)}){_exponents(e, e)}")
    return f"/{'|'.join(options)}/"
