"""Languages of the spellings of number sets.

A language has every usual spelling of the members of a `NumberSet`: plain decimals, with trailing
zeros, and scientific notation with one digit before the point, as programs print numbers. All are
bounded in length. Must not know: schemas, grammars, engines, other types.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial

from enforcer.numbers.decimals import (
    DIGIT,
    PLACES,
    PLAIN,
    WHOLE,
    ZERO,
    ZEROS,
    at_least,
    at_most,
    behind_point,
    digits,
    one_of,
    optional,
    whole,
)
from enforcer.numbers.doubles import EXACT_INTEGER, LONGEST, as_read, is_double, moved, shortest
from enforcer.numbers.multiples import (
    EXACT,
    NotSpellableError,
    are_bearable,
    between,
    is_hard,
    large_multiples,
    multiples,
    not_multiples,
    without_places,
)
from enforcer.numbers.scientific import (
    E,
    exponents,
    scientific,
    scientific_fractions,
    scientific_integers,
)
from enforcer.numbers.sets import INTEGERS, REALS, NumberSet, candidates, contains
from enforcer.regex import NOTHING, Regex, either, literal
from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.constructors import both, chars, concat, repeat

MOST_LISTED = 200  # members written out one by one, where divisibility is no easier

_LEAST = Fraction(1, 10 ** (PLACES + 1))  # nothing nearer to zero has so few places
_MANY_DIGITS = 10 ** (EXACT - 1)  # from here on, doubles do not distinguish all decimals
MINUS = literal("-")
# Texts that keep their value where digits alone are read as a double too.
AS_DOUBLES = concat(
    optional(MINUS),
    either(
        whole(EXACT - 2),
        concat(WHOLE, behind_point(), optional(concat(E, repeat(chars(ALL), 1, None)))),
        concat(WHOLE, E, repeat(chars(ALL), 1, None)),
    ),
)


@lru_cache(maxsize=4096)
def number_texts(numbers: NumberSet) -> Regex:
    """Build the language of the spellings of the members of a set.

    Raises:
        NotSpellableError: a divisor does not divide a power of ten, and its automaton would be
            too large.

    """
    if numbers == REALS:
        exponent = either(digits(1, 2), concat(one_of(1, 2), digits(2, 2)), literal("300"))
        signed = concat(E, optional(chars(CharSet.span("+", "-"))), exponent)
        return concat(optional(MINUS), PLAIN, optional(signed))
    if numbers == INTEGERS:
        return concat(optional(MINUS), either(concat(WHOLE, ZEROS), scientific_integers()))
    if numbers.low is not None and numbers.low == numbers.high:
        return _constant(numbers.low, plain=numbers.plain)
    divisors = _divisors(numbers)
    if any(is_hard(each) for each in divisors):
        members = candidates(numbers, MOST_LISTED)
        if members:
            return either(*(_constant(x, plain=numbers.plain) for x in members))
    large = None
    if numbers.multiple is not None and not numbers.not_multiples:
        large = large_multiples(numbers.multiple, plain=numbers.plain)
    if large is None and not are_bearable(divisors):
        raise NotSpellableError
    magnitudes = partial(_magnitudes, numbers) if large is None else partial(_large, large)
    parts = []
    low, low_open = moved(numbers.low, is_open=numbers.low_open, up=True)
    high, high_open = moved(numbers.high, is_open=numbers.high_open, up=False)
    if high is None or high > 0:
        start, start_open = (low, low_open) if low is not None and low >= 0 else (Fraction(0), True)
        parts.append(magnitudes(start, start_open, high, high_open))
    if low is None or low < 0:
        start, start_open = (
            (-high, high_open) if high is not None and high <= 0 else (Fraction(0), True)
        )
        end = None if low is None else -low
        parts.append(concat(MINUS, magnitudes(start, start_open, end, low_open)))
    if contains(numbers, Fraction(0)):
        parts.append(_constant(Fraction(0), plain=numbers.plain))
    return either(*parts)


def _large(
    multiples: Regex,
    low: Fraction,
    low_open: bool,  # noqa: FBT001 - half of a bound
    high: Fraction | None,
    high_open: bool,  # noqa: FBT001
) -> Regex:
    """Match those multiples of a large number that are within bounds."""
    if high is not None:
        return both(multiples, _within(low, low_open, high, high_open))
    if not low:
        return multiples
    count = len(str(int(low)))
    few = both(_within(low, low_open, None, False), concat(repeat(DIGIT, 1, count), ZEROS))
    return both(multiples, either(few, concat(repeat(DIGIT, count + 1, None), ZEROS)))


def tells_doubles_apart(numbers: NumberSet) -> bool:
    """Return whether some digits alone are a member, but the double that they are read as is not.

    Such digits are beyond 2**53, where bounds nearer to zero make no difference.
    """
    bounds = [abs(each) for each in (numbers.low, numbers.high) if each is not None]
    return bool(_divisors(numbers)) or any(each >= _MANY_DIGITS for each in bounds)


def _constant(value: Fraction, *, plain: bool) -> Regex:
    if value == 0:
        if plain:  # a parser that decides by the text takes -0 for a float (Rust's serde_json)
            return ZERO
        exponent = concat(E, optional(chars(CharSet.span("+", "-"))), repeat(ZERO, 1, 2))
        return concat(optional(MINUS), ZERO, ZEROS, optional(exponent))
    sign = MINUS if value < 0 else literal("")
    text, point = _decimal(abs(value))
    whole = text[:point] if point > 0 else "0"
    places = text[max(point, 0) :] if point > 0 else "0" * -point + text
    # Beyond 2**53 a text with a point or an exponent is read as this number only if it is a
    # double, and then the shortest text of that double is as well.
    large = abs(value) > EXACT_INTEGER
    as_double = not plain and (not large or is_double(value))
    forms = []
    if places:
        written = literal(f"{whole.ljust(max(point, 1), '0')}.{places}")
        forms.append(concat(written, repeat(ZERO, 0, PLACES)))
    else:
        written = literal(whole.ljust(point, "0"))
        forms.append(concat(written, ZEROS) if as_double else written)
    if as_double:
        forms.append(_scientific_form(text, point))
        if large:
            forms.append(_scientific_form(*_decimal(shortest(abs(value)))))
    return concat(sign, either(*forms))


def _scientific_form(text: str, point: int) -> Regex:
    if len(text) > 1:
        mantissa = concat(literal(f"{text[0]}.{text[1:]}"), repeat(ZERO, 0, PLACES))
    else:
        mantissa = concat(literal(text), ZEROS)
    return concat(mantissa, exponents(point - 1, point - 1))


def _decimal(value: Fraction) -> tuple[str, int]:
    """Return the significant digits of a finite decimal, and the position of its point."""
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
) -> Regex:
    """Match the positive numbers between two bounds that fit the set's divisors."""
    if high is not None and (low > high or (low == high and (low_open or high_open))):
        return NOTHING
    if 1 in numbers.not_multiples and low >= _MANY_DIGITS:
        return NOTHING  # no digit behind the point would be sure to count
    read_low, read_low_open = as_read(low, is_open=low_open, up=True)
    read_high, read_high_open = high, high_open
    if high is not None:
        read_high, read_high_open = as_read(high, is_open=high_open, up=False)
    plain = _within(low, low_open, high, high_open)
    with_exponent: Regex = NOTHING
    if read_high is None or read_low <= read_high:
        with_exponent = scientific(read_low, read_low_open, read_high, read_high_open)
    if (read_low, read_high) != (low, high):
        with_point: Regex = NOTHING
        if read_high is None or read_low <= read_high:
            within = _within(read_low, read_low_open, read_high, read_high_open)
            with_point = both(concat(WHOLE, behind_point()), within)
        plain = either(both(WHOLE, plain), with_point)
    if numbers.multiple is not None:
        plain = both(plain, multiples(numbers.multiple, plain=numbers.plain, sure=True))
        integers: Regex = scientific_integers() if numbers.multiple == 1 else NOTHING
        with_exponent = both(with_exponent, integers)
    for divisor in numbers.not_multiples:
        plain = both(plain, between(0) if divisor == 1 else not_multiples(divisor))
        fractions: Regex = scientific_fractions() if divisor == 1 else NOTHING
        with_exponent = both(with_exponent, fractions)
    return plain if numbers.plain else either(plain, with_exponent)


def _within(low: Fraction, low_open: bool, high: Fraction | None, high_open: bool) -> Regex:  # noqa: FBT001
    """Match plain decimals within bounds; nothing if the bounds exclude all of them."""
    too_small = high is not None and high < _LEAST and low == 0 and low_open
    if low >= LONGEST or too_small:
        return NOTHING
    from_low = at_least(low, is_open=low_open)
    if high is None or high >= LONGEST:
        return from_low
    return both(from_low, at_most(high, is_open=high_open))
