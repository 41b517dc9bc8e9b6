r"""Which plain decimals are multiples of a number, and which surely are none.

Owns: the expressions for both, by the last digits for what divides a power of ten and by the
remainder of all digits for the rest; and keeping away from text that is read as a double on
the other side. Must not know: bounds, signs, exponents, sets of numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.numbers.bound_text import DIGITS, PLACES, WHOLE, ZEROS
from enforcer.numbers.remainder_text import ending, factors, reference

if TYPE_CHECKING:
    from collections.abc import Sequence

EXACT = 16  # digits that a double holds whatever they are
_SURE = 15  # digits, any two of which doubles tell apart
_MOST_RESIDUES = 1_000  # endings written out for a divisor of a power of ten
_MOST_SIMPLE = 31  # divisors of powers of ten that have few endings, however they go
_MOST_REMAINDERS = 5_000  # of an odd divisor, all its factors together
# Of all divisors together. With three times as many, a step takes the lexer 0.15 s, and more
# than that it gives up.
_MOST_TOGETHER = 8_000


class NotSpellableError(Exception):
    """The set's divisors cannot be written as a regular expression of bearable size."""


def _odd(number: int) -> int:
    """Return what is left of a number without the factors of powers of ten."""
    odd = number
    for factor in (2, 5):
        while odd % factor == 0:
            odd //= factor
    return odd


def is_hard(divisor: Fraction) -> bool:
    """Tell whether writing multiples may take shared terminals."""
    return _odd(divisor.numerator) > 1 or divisor.numerator > _MOST_SIMPLE


def are_bearable(divisors: Sequence[Fraction]) -> bool:
    """Tell whether a lexer can keep apart the remainders by all divisors of one number."""
    places = max((without_places(each)[1] for each in divisors), default=0)
    joint = math.lcm(*(int(each * 10**places) for each in divisors))
    if _odd(joint) == 1:
        return True  # a matter of the last digits
    while joint % 10 == 0:
        joint //= 10
    return joint <= _MOST_TOGETHER


def multiples(divisor: Fraction, *, plain: bool, sure: bool) -> str:
    """Match unsigned plain decimals that are multiples.

    With `sure`, only what is one as a double too, where digits are counted by remainder.
    """
    if divisor == 1:
        return f"/{WHOLE}{'' if plain else ZEROS}/"
    scaled, places = without_places(divisor)
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


def not_multiples(divisor: Fraction) -> str:
    """Match unsigned plain decimals that are no multiples, and are not read as one."""
    all_of_them = multiples(divisor, plain=False, sure=False)
    whole = f"/{WHOLE}/ & ~({all_of_them})"
    if divisor.denominator == 1:
        short = rf"/(0|[1-9][0-9]{{0,{_SURE - 1}}})/ & ~({all_of_them})"
        return f"({whole}) | ({short}) /{ZEROS}/ | {between(0)}"
    short = rf"/{WHOLE}\.[0-9]{{1,{_SURE}}}/ & /[0-9.]{{1,{_SURE + 1}}}/ & ~({all_of_them})"
    return f"({whole}) | ({short}) | {between(without_places(divisor)[1])}"


def without_places(value: Fraction) -> tuple[int, int]:
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


@lru_cache(maxsize=32)
def between(places: int) -> str:
    """Match unsigned plain decimals that are not read as one with so many places, or fewer."""
    options = []
    shown = rf"[0-9]{{{places}}}" if places else ""
    # Integers are doubles; what has places is itself up to half a double's distance off.
    used = places + bool(places)
    for whole in range(1, EXACT - used):
        before = "[0-9]" if whole == 1 else rf"[1-9][0-9]{{{whole - 1}}}"
        options.append(rf"{before}\.{shown}({behind(whole + used)})")
    return f"/{'|'.join(options)}/" if options else "/[^\\s\\S]/"


def behind(whole: int) -> str:
    """Match the digits behind so many whole ones that keep a number from an integer.

    The first of them, up to the 16th in all, are neither all 0 nor all 9: next to a number of
    n whole digits, doubles are less than 2 * 10**(n - 16) apart.
    """
    more = EXACT - whole - 1
    nines = rf"9{{1,{more}}}([0-8][0-9]{{0,{PLACES}}})?" if more > 0 else ""
    zeros = rf"0{{1,{more}}}[1-9][0-9]{{0,{PLACES}}}" if more > 0 else ""
    return "|".join(x for x in (rf"[1-8][0-9]{{0,{PLACES}}}", zeros, nines) if x)
