"""Decimals divisible by a number that divides no power of ten, as shared terminals.

Owns: the automaton over remainders, written as one terminal for each remainder and number
of digits still to come. A regular expression for it would be far too long; terminals that
name one another are shared, and the lexer visits only those that a text leads to. Must not
know: sets of numbers, bounds, schemas.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import gcd

MOST_REMAINDERS = 200  # of one factor; there is a terminal for each remainder and digit
_MOST_ENDINGS = 1 << 12  # remainders of a divisor of a power of ten
_RUN = re.compile(r"\bR([0-9]+)_([0-9]+)_([0-9]+)\b")
_END = re.compile(r"\bF([0-9]+)_([0-9]+)_0\b")
_NOTHING = r"/[^\s\S]/"


def factors(divisor: int) -> tuple[int, ...] | None:
    """Split an odd divisor into powers of primes; None if one is too large."""
    found = []
    prime = 3
    while divisor > 1:
        if prime > MOST_REMAINDERS:
            return None
        power = 1
        while divisor % prime == 0:
            divisor //= prime
            power *= prime
        if power > MOST_REMAINDERS:
            return None
        if power > 1:
            found.append(power)
        prime += 2
    return tuple(found)


def reference(divisor: int, digits: int, places: int) -> str:
    """Name the terminal of decimals whose digits, read in one run, are a multiple.

    Leading zeros are permitted. The terminal is one of `definitions`.

    Args:
        divisor: a number of at least 3.
        digits: greatest number of digits before the point.
        places: number of digits behind it; there is no point where it is zero.

    """
    return f"R{divisor}_{places}_{digits}"


def ending(divisor: int, length: int) -> str | None:
    """Write whole numbers that are a multiple of a divisor of `10**length`.

    Leading zeros are permitted, and any number of digits. The terminals that are named are
    some of `definitions`. Returns None if there would be too many.
    """
    if divisor > _MOST_ENDINGS:
        return None
    exactly = (f"F{divisor}_{digits}_0" for digits in range(1, length))
    return " | ".join((f"/[0-9]*/ F{divisor}_{length}_0", *exactly))


def definitions(expression: str) -> list[str]:
    """List the lines that define what an expression refers to, each once."""
    wanted: dict[tuple[int, int], int] = {}
    for divisor, places, digits in _RUN.findall(expression):
        key = (int(divisor), int(places))
        wanted[key] = max(wanted.get(key, 0), int(digits))
    lines: dict[str, None] = {}
    for (divisor, places), digits in wanted.items():
        lines.update(dict.fromkeys(_automaton(divisor, places, digits)))
    for divisor, left in _END.findall(expression):
        lines.update(dict.fromkeys(_ends(int(divisor), int(left))))
    return list(lines)


@lru_cache(maxsize=64)
def _automaton(divisor: int, places: int, digits: int) -> tuple[str, ...]:
    """Write the states; the start with so many digits to come is a name without remainder."""
    kind = f"R{divisor}_{places}"
    lines: list[str] = []
    for left in range(digits + 1):
        lines.extend(
            f"{kind}_{left}_{r}: {_state(divisor, places, left, r)}" for r in range(divisor)
        )
        lines.append(f"{kind}_{left}: {kind}_{left}_0")
    return (*lines, *_ends(divisor, places))


@lru_cache(maxsize=64)
def _ends(divisor: int, digits: int) -> tuple[str, ...]:
    """Write the states with exactly so many digits to come, and with fewer."""
    return tuple(
        f"F{divisor}_{left}_{r}: {_behind(divisor, left, r)}"
        for left in range(1, digits + 1)
        for r in range(_distinct(divisor, left))
    )


def _distinct(divisor: int, left: int) -> int:
    """Count the remainders that still differ when so many digits are to come."""
    return divisor // gcd(divisor, 10**left)


def _state(divisor: int, places: int, left: int, remainder: int) -> str:
    options: list[str] = []
    if left:
        options.extend(
            f"/[{digits}]/ R{divisor}_{places}_{left - 1}_{after}"
            for after, digits in _moves(divisor, remainder)
        )
    if places:
        after = remainder % _distinct(divisor, places)
        options.append(rf"/\./ F{divisor}_{places}_{after}")
    elif remainder == 0:
        options.append('""')
    return " | ".join(options) or _NOTHING


def _behind(divisor: int, left: int, remainder: int) -> str:
    """Write a state with exactly so many digits to come."""
    moves = _moves(divisor, remainder)
    if left == 1:
        return " | ".join(f"/[{digits}]/" for after, digits in moves if after == 0) or _NOTHING
    merged: dict[int, str] = {}
    for after, digits in moves:
        same = after % _distinct(divisor, left - 1)
        merged[same] = merged.get(same, "") + digits
    return " | ".join(
        f"/[{digits}]/ F{divisor}_{left - 1}_{after}" for after, digits in merged.items()
    )


def _moves(divisor: int, remainder: int) -> list[tuple[int, str]]:
    """List the remainders that one digit leads to, and the digits."""
    found: dict[int, str] = {}
    for digit in range(10):
        after = (10 * remainder + digit) % divisor
        found[after] = found.get(after, "") + str(digit)
    return list(found.items())
