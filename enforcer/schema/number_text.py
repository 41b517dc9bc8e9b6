"""How numbers are spelled: a terminal for each set of numbers.

Owns: the expressions over regular expressions (of llguidance's Lark dialect) that match
every usual spelling of the members of a `NumberSet`: plain decimals, with trailing
zeros, and scientific notation with one digit before the point, which is what programs
print. All are bounded in length. Must not know: schemas, grammars, other types.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.schema.bound_text import DIGITS, PLACES, WHOLE, ZEROS, at_least, at_most, whole_range
from enforcer.schema.doubles import EXACT_INTEGER, LONGEST, as_read, is_double, moved, shortest
from enforcer.schema.numbers import INTEGERS, REALS, candidates, contains
from enforcer.schema.remainder_text import definitions, ending, factors, reference

if TYPE_CHECKING:
    from enforcer.schema.numbers import NumberSet

_EXPONENT = 300  # doubles end at 308; beyond, text would be read as infinity or zero
_PLACES_SHORT = 4  # exponents below this may make up for places
_EXACT = 16  # digits that a double holds whatever they are
_SURE = 15  # digits, any two of which doubles tell apart
_MOST_RESIDUES = 1_000  # endings written out for a divisor of a power of ten
_MOST_SIMPLE = 31  # divisors of powers of ten that have few endings, however they go
_MOST_REMAINDERS = 5_000  # of an odd divisor, all its factors together
_MOST_LISTED = 200  # members written out one by one, where divisibility is no easier

_EXP = r"[eE][+-]?([0-9]{1,2}|[12][0-9]{2}|300)"
_REAL = rf"-?{WHOLE}(\.[0-9]{{1,{PLACES}}})?({_EXP})?"


class NotSpellableError(Exception):
    """The set's divisors cannot be written as a regular expression of bearable size."""


@lru_cache(maxsize=4096)
def spelling(numbers: NumberSet, *, shared: bool = False) -> str:
    """Return a terminal expression that matches the members of a set of numbers.

    Args:
        numbers: the set.
        shared: whether the expression may name terminals of `remainder_text.definitions`.

    Raises:
        NotSpellableError: divisibility by something that does not divide a power of ten,
            and is too large for shared terminals, or those are not wanted.

    """
    if numbers == REALS:
        return f"/{_REAL}/"
    if numbers == INTEGERS:
        return f"/-?({WHOLE}{ZEROS}|{_scientific_integers()[1:-1]})/"
    if numbers.low is not None and numbers.low == numbers.high:
        return _constant(numbers.low, plain=numbers.plain)
    if any(_is_hard(each) for each in _divisors(numbers)):
        members = candidates(numbers, _MOST_LISTED)
        if members:
            return " | ".join(f"({_constant(x, plain=numbers.plain)})" for x in members)
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
    number, places = _without_places(value)
    text = str(number)
    return text.rstrip("0") or "0", len(text) - places


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
        plain.append(_multiples(numbers.multiple, plain=numbers.plain, sure=True))
        scientific.append(_scientific_integers() if numbers.multiple == 1 else "")
    for divisor in numbers.not_multiples:
        if divisor == 1:
            plain.append(_between(0))
            scientific.append(_scientific_fractions())
        else:
            plain.append(_not_multiples(divisor))
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


# Divisors.


def _divisors(numbers: NumberSet) -> tuple[Fraction, ...]:
    multiple = () if numbers.multiple is None else (numbers.multiple,)
    return (*multiple, *numbers.not_multiples)


def _odd(number: int) -> int:
    """Return what is left of a number without the factors of powers of ten."""
    odd = number
    for factor in (2, 5):
        while odd % factor == 0:
            odd //= factor
    return odd


def _is_hard(divisor: Fraction) -> bool:
    """Tell whether writing multiples may take shared terminals."""
    return _odd(divisor.numerator) > 1 or divisor.numerator > _MOST_SIMPLE


def _multiples(divisor: Fraction, *, plain: bool, sure: bool) -> str:
    """Match unsigned plain decimals that are multiples.

    With `sure`, only what is one as a double too, where digits are counted by remainder.
    """
    if divisor == 1:
        return f"/{WHOLE}{'' if plain else ZEROS}/"
    scaled, places = _without_places(divisor)
    options = []
    for shown in range(places + 1):
        # With `shown` places and zeros behind them, the digits as one whole number must be
        # a multiple of what is left of the divisor.
        left = scaled // math.gcd(scaled, 10 ** (places - shown))
        odd = _odd(left)
        whole = left // odd
        conditions = [] if odd > 1 and whole == 1 else [_ending(whole, shown, plain=plain)]
        if odd > 1:
            conditions.append(_by_remainder(odd, shown, plain=plain, sure=sure))
        options.append(" & ".join(f"({x})" for x in conditions))
    expression = " | ".join(f"({x})" for x in options)
    if not sure or plain or _rounds_to_multiples(divisor, places):
        return expression
    few_digits = rf"(/[0-9.]{{1,{_SURE + 1}}}/ & /[0-9]+\.[0-9]*/) /0{{0,{PLACES}}}/"
    return f"({expression}) & (/{WHOLE}/ | {few_digits})"


def _rounds_to_multiples(divisor: Fraction, places: int) -> bool:
    """Tell whether a multiple of many digits, read as a double, is still one."""
    if _is_power_of_two(divisor.numerator) and _is_power_of_two(divisor.denominator):
        return True
    shorter = (Fraction(1, 10**shown) for shown in range(places + 1))
    return all((each / divisor).denominator == 1 for each in shorter)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _by_remainder(odd: int, places: int, *, plain: bool, sure: bool) -> str:
    """Match decimals of so many places whose digits are a multiple of an odd number."""
    parts = factors(odd) if odd <= _MOST_REMAINDERS else None
    exact = _SURE - places if sure else DIGITS + 1
    if parts is None or exact < 1:
        raise NotSpellableError

    def runs(digits: int) -> str:
        return " & ".join(reference(each, digits, places) for each in parts)

    zeros = rf"/0{{0,{PLACES}}}/" if places else f"/{ZEROS}/"
    options = []
    if plain:
        options.append(f"({runs(DIGITS + 1)})")
    else:
        options.append(f"({runs(exact)}) {zeros}")
        if not places and sure:
            options.append(f"({runs(DIGITS + 1)})")
    no_leading_zero = rf"/{WHOLE}(\.[0-9]{{1,{2 * PLACES}}})?/"
    return f"({' | '.join(options)}) & {no_leading_zero}"


def _not_multiples(divisor: Fraction) -> str:
    """Match unsigned plain decimals that are no multiples, and are not read as one."""
    multiples = _multiples(divisor, plain=False, sure=False)
    whole = f"/{WHOLE}/ & ~({multiples})"
    if divisor.denominator == 1:
        short = rf"/(0|[1-9][0-9]{{0,{_SURE - 1}}})/ & ~({multiples})"
        return f"({whole}) | ({short}) /{ZEROS}/ | {_between(0)}"
    short = rf"/{WHOLE}\.[0-9]{{1,{_SURE}}}/ & /[0-9.]{{1,{_SURE + 1}}}/ & ~({multiples})"
    return f"({whole}) | ({short}) | {_between(_without_places(divisor)[1])}"


def _without_places(value: Fraction) -> tuple[int, int]:
    """Return a finite decimal's digits as a whole number, and how many are behind the point."""
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    return value.numerator, places


def _ending(divisor: int, places: int, *, plain: bool) -> str:
    """Match decimals of so many places whose digits are a multiple of the divisor."""
    length, power = 0, 1
    while power % divisor:
        length, power = length + 1, power * 10
    if power // divisor > _MOST_RESIDUES:
        shared = None if places else ending(divisor, length)
        if shared is None:
            raise NotSpellableError
        zeros = "" if plain else f" /{ZEROS}/"
        return f"(({shared}) & /{WHOLE}/){zeros}"
    zeros = "" if plain else (f"0{{0,{PLACES}}}" if places else ZEROS)
    if divisor == 1:
        body = rf"\.[0-9]{{{places}}}" if places else ""
        return f"/{WHOLE}{body}{zeros}/"
    width = max(length, places + 1)
    endings = [str(x).rjust(length, "0") for x in range(0, 10**length, divisor)]
    # Digits in one run first, then the point is put in: every ending is cut at one place.
    forms = []
    for text in endings:
        pieces = ["[0-9]"] * (width - length) + list(text)
        whole, behind = pieces[: width - places], pieces[width - places :]
        point = r"\." + "".join(behind) if places else ""
        forms.append(f"[0-9]{{0,{DIGITS}}}{''.join(whole)}{point}{zeros}")
    short = []
    for x in range(0, 10 ** max(width - 1, 0), divisor):
        # Fewer digits than the ending has.
        digits = str(x).rjust(places + 1, "0")
        point = rf"\.{digits[-places:]}" if places else ""
        short.append(f"{digits[: len(digits) - places]}{point}{zeros}")
    no_leading_zero = rf"(0|[1-9][0-9]{{0,{DIGITS + width}}})(\.[0-9]{{1,{3 * PLACES}}})?"
    return f"(/{'|'.join([*forms, *short])}/ & /{no_leading_zero}/)"


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
        rf"[1-9]\.[0-9]{{1,{_EXACT}}}{_exponents(_EXACT, _EXPONENT)}",
    ]
    return f"/{'|'.join(options)}/"


# What is no integer. The complement of the spellings above would not do: they are not all
# that integers have, and a fraction nearer to an integer than doubles are is read as one.


@lru_cache(maxsize=32)
def _between(places: int) -> str:
    """Match unsigned plain decimals that are not read as one with so many places, or fewer."""
    options = []
    shown = rf"[0-9]{{{places}}}" if places else ""
    # Integers are doubles; what has places is itself up to half a double's distance off.
    used = places + bool(places)
    for whole in range(1, _EXACT - used):
        before = "[0-9]" if whole == 1 else rf"[1-9][0-9]{{{whole - 1}}}"
        options.append(rf"{before}\.{shown}({_behind(whole + used)})")
    return f"/{'|'.join(options)}/" if options else "/[^\\s\\S]/"


@lru_cache(maxsize=1)
def _scientific_fractions() -> str:
    """Match unsigned scientific notation that is not read as an integer."""
    behind = rf"[0-8][0-9]{{0,{PLACES}}}|9{{1,{_EXACT - 2}}}([0-8][0-9]{{0,{PLACES}}})?"
    tenths = rf"([1-8](\.[0-9]{{1,{PLACES}}})?|9(\.({behind}))?)[eE]-0{{0,2}}1"
    smaller = rf"[1-9](\.[0-9]{{1,{PLACES}}})?[eE]-0{{0,2}}{whole_range(2, _EXPONENT)}"
    options = [tenths, smaller]
    for e in range(_EXACT - 1):
        skipped = rf"[0-9]{{{e}}}" if e else ""
        options.append(rf"[1-9]\.{skipped}({_behind(e + 1)}){_exponents(e, e)}")
    return f"/{'|'.join(options)}/"


def _behind(whole: int) -> str:
    """Match the digits behind so many whole ones that keep a number from an integer.

    The first of them, up to the 16th in all, are neither all 0 nor all 9: next to a number of
    n whole digits, doubles are less than 2 * 10**(n - 16) apart.
    """
    more = _EXACT - whole - 1
    nines = rf"9{{1,{more}}}([0-8][0-9]{{0,{PLACES}}})?" if more > 0 else ""
    zeros = rf"0{{1,{more}}}[1-9][0-9]{{0,{PLACES}}}" if more > 0 else ""
    return "|".join(x for x in (rf"[1-8][0-9]{{0,{PLACES}}}", zeros, nines) if x)
