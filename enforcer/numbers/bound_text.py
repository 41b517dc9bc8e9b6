"""How plain decimals within bounds are spelled: digit by digit.

Owns: regular expressions for what is at least, at most or between given numbers, and how
many digits a plain decimal may have. Must not know: divisors, exponents, signs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

DIGITS = 48  # digits before the point, beyond the first
PLACES = 40  # digits behind the point
WHOLE = rf"(0|[1-9][0-9]{{0,{DIGITS}}})"
ZEROS = rf"(\.0{{1,{PLACES}}})?"


def _split(bound: Fraction) -> tuple[int, str]:
    whole = bound.numerator // bound.denominator
    rest, places = bound - whole, ""
    while rest and len(places) <= 1100:  # noqa: PLR2004 - the longest double has 1,074
        rest *= 10
        digit = rest.numerator // rest.denominator
        places += str(digit)
        rest -= digit
    return whole, places


def at_least(bound: Fraction, *, is_open: bool) -> str:
    """Match plain decimals from a bound on, which is not below zero."""
    whole, places = _split(bound)
    anything = rf"(\.[0-9]{{1,{PLACES}}})?"
    if not places and not is_open:
        return f"/{_whole_from(whole)}{anything}/"
    if places:
        tails, prefix = [], ""
        for digit in places:
            if digit != "9":
                tails.append(f"{prefix}[{int(digit) + 1}-9][0-9]{{0,{PLACES}}}")
            prefix += digit
        tails.append(prefix + _above_zeros() if is_open else prefix + f"[0-9]{{0,{PLACES}}}")
        behind = rf"\.({'|'.join(tails)})"
    else:
        behind = rf"\.{_above_zeros()}"
    return f"/{whole}{behind}|{_whole_from(whole + 1)}{anything}/"


def _above_zeros() -> str:
    return f"0{{0,{PLACES}}}[1-9][0-9]{{0,{PLACES}}}"


def at_most(bound: Fraction, *, is_open: bool) -> str:
    """Match plain decimals up to a bound, which is not below zero."""
    whole, places = _split(bound)
    options = []
    if whole > 0:
        options.append(rf"{whole_range(0, whole - 1)}(\.[0-9]{{1,{PLACES}}})?")
    tails, prefix = [], ""
    for digit in places:
        if digit != "0":
            tails.append(f"{prefix}[0-{int(digit) - 1}][0-9]{{0,{PLACES}}}")
        prefix += digit
    if places:
        if not is_open:
            tails.append(f"{prefix}0{{0,{PLACES}}}")
        # Fewer places than the bound has, all equal to its own, are below it.
        tails.extend(places[:n] for n in range(1, len(places)))
        options.append(rf"{whole}(\.({'|'.join(tails)}))?")
    elif not is_open:
        options.append(f"{whole}{ZEROS}")
    return f"/{'|'.join(options)}/"


def _whole_from(least: int) -> str:
    """Match whole numbers from `least` on, up to the greatest length."""
    if least == 0:
        return WHOLE
    length = len(str(least))
    longer = f"[1-9][0-9]{{{length},{max(DIGITS, length)}}}"
    return f"({whole_range(least, 10**length - 1)}|{longer})"


def whole_range(low: int, high: int) -> str:
    """Match whole numbers between two bounds, without leading zeros."""
    parts: list[str] = []
    while low <= high:
        end = min(high, 10 ** len(str(low)) - 1)
        parts.extend(_same_length(str(low), str(end)))
        low = end + 1
    return f"({'|'.join(parts)})"


def _same_length(low: str, high: str) -> list[str]:
    if low == high:
        return [low]
    if len(low) == 1:
        return [f"[{low}-{high}]"]
    first, last, rest = int(low[0]), int(high[0]), len(low) - 1
    if first == last:
        return [low[0] + f"({'|'.join(_same_length(low[1:], high[1:]))})"]
    parts = []
    if low[1:] != "0" * rest:
        parts.append(low[0] + f"({'|'.join(_same_length(low[1:], '9' * rest))})")
        first += 1
    tail = ""
    if high[1:] != "9" * rest:
        tail = high[0] + f"({'|'.join(_same_length('0' * rest, high[1:]))})"
        last -= 1
    if first <= last:
        parts.append(f"[{first}-{last}][0-9]{{{rest}}}")
    return [*parts, tail] if tail else parts
