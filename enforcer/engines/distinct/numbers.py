"""What numbers and words a text that has been begun may still become, as far as anyone asks.

There are many spellings, and nearly always some number that is not there yet is easy to name. So
answers are tried in the order of their cost: room along digits and exponents, counted once for a
language; a few numbers far from each other; and the list of all.

Owns: listing the members of a language of numbers, counting them from below, and what characters
are ahead. Must not know: values around a number, what is taken already.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from enforcer.engines.distinct.fuel import STEP, Fuel
from enforcer.engines.distinct.values import bare
from enforcer.errors import EngineFailure
from enforcer.regex import NOTHING
from enforcer.regex.charset import ASCII_DIGIT, CharSet
from enforcer.regex.derivative import derivative, is_empty, successors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.engines.distinct.values import Number, Word
    from enforcer.regex import Regex

_NONZERO = CharSet.span("19")
_NINES = "9" * 60
_FEW = 64  # numbers of a language that are remembered
_KEPT = 16  # times that what has been listed is asked for again, or so
_LISTED = 20_000  # of fuel, before it is given up to list few numbers
_SEEDS = (3, 1, 7, 2, 13, 4, 17, 9)  # by turns to a far end, and to a near one behind so many
_SAMPLED = 24  # characters that are added to a number
ZERO, NONZERO, POINT, EXPONENT = 1, 2, 4, 8
_FLAGS = (
    (ZERO, CharSet.span("00")),
    (NONZERO, _NONZERO),
    (POINT, CharSet.span("..")),
    (EXPONENT, CharSet.span("EE", "ee")),
)


@lru_cache(maxsize=4_096)
def moves(regex: Regex) -> tuple[tuple[CharSet, Regex], ...]:
    """List the classes of next characters, those that lead nowhere left out."""
    found = successors(regex)
    return tuple((x, after) for x, after in found if not after.boolean or not is_empty(after))


def following(regex: Regex) -> Iterator[tuple[str, Regex]]:
    """List the next characters, each with what may follow it."""
    return ((char, after) for members, after in moves(regex) for char in members)


def numbers(regex: Regex, start: str, fuel: Fuel) -> Iterator[Number | Word]:
    """List the numbers and words that begin with a text."""
    if regex == NOTHING or (regex.boolean and is_empty(regex)):
        return
    if value := only(regex, start):
        yield value
        return
    known = _samples(regex, start)
    fuel.burn(STEP)
    yield from known
    few, whole, cost = first_few(regex, start)
    fuel.burn(cost // _KEPT)
    yield from (each for each in few if each not in known)
    if whole:
        return
    known = (*known, *few)
    yield from (each for each in _all_numbers(regex, start, fuel) if each not in known)


def only(regex: Regex, start: str) -> Number | Word | None:
    """Give the number that a text is whatever follows it, if there is but one."""
    still = ahead(regex)
    if still & EXPONENT or "e" in start.lower():
        return None
    if "." in start:
        same = not still & NONZERO or float(start) == float(start + _NINES)
    else:
        same = not still & NONZERO and not any(members & ASCII_DIGIT for members, _ in moves(regex))
    return bare(start + "0" if start[-1:] == "." else start) if same else None


@lru_cache(maxsize=4_096)
def _samples(regex: Regex, start: str) -> tuple[Number | Word, ...]:
    """List a few numbers far from each other: mostly one of them is not there yet."""
    found: dict[Number | Word, None] = {}
    for turn, seed in enumerate(_SEEDS):
        state, text, last = regex, start, ""
        near = bool(turn % 2)
        for step in range(_SAMPLED if near else _SAMPLED // 2):
            ways = moves(state)
            if not ways:
                break
            if not near or step < seed:
                members, state = ways[(seed + step * step) % len(ways)]
            else:  # to an end, the shortest way
                members, state = min(ways, key=lambda way: way[1].shortest)
            text += tuple(members)[(seed * (step + 1)) % len(members)]
            last = text if state.nullable else last
            if near and last and step >= seed:
                break
        value = bare(last)
        if value is not None:
            found[value] = None
    return tuple(found)


@lru_cache(maxsize=4_096)
def first_few(regex: Regex, start: str = "") -> tuple[tuple[Number | Word, ...], bool, int]:
    """List the first few that begin with a text; tell whether these are all, and what it cost.

    Of an integer there are hundreds of spellings, all of which are one number.
    """
    fuel = Fuel(_LISTED)
    found: list[Number | Word] = []
    try:
        found.extend(islice(_all_numbers(regex, start, fuel), _FEW))
    except EngineFailure:  # more spellings than can be listed: those that are listed are true
        return tuple(found), False, _LISTED
    return tuple(found), len(found) < _FEW, fuel.burned


def _all_numbers(regex: Regex, start: str, fuel: Fuel) -> Iterator[Number | Word]:
    """List all, the shortest first."""
    seen: set[Number | Word] = set()
    known: set[tuple[Regex, str, str]] = set()
    level = [(regex, start)]
    while level:
        ahead_of: list[tuple[Regex, str]] = []
        for state, text in level:
            fuel.burn(3)
            mantissa, _, exponent = text.lower().partition("e")
            if (
                "e" in text.lower()
            ):  # however many zeros stand before and in it, what follows is the same
                whole, _, places = mantissa.partition(".")
                key = state, f"{whole}.{places.rstrip('0')}", exponent.lstrip("+").lstrip("0")
                if key in known:
                    continue
                known.add(key)
            value = only(state, text)
            if value is None:
                neutral = "." in mantissa and text[-1].isdigit() and _adds_nothing(state)
                ahead_of.extend(
                    (after, text + char)
                    for char, after in _digits_that_count(following(state), text)
                    if not (neutral and char == "0" and "e" not in text.lower())
                )
                value = bare(text) if state.nullable else None
            if value is not None and value not in seen:
                seen.add(value)
                yield value
        level = ahead_of


@lru_cache(maxsize=4_096)
def _adds_nothing(regex: Regex) -> bool:
    """Tell whether one more zero behind a point and a digit leads to no other number."""
    after = derivative(regex, "0")
    return after == NOTHING or (
        after.nullable <= regex.nullable
        and not any(members & _NONZERO for members, _ in moves(after))
        and all(derivative(after, e) in (NOTHING, derivative(regex, e)) for e in "eE")
        and _adds_nothing(after)
    )


def _digits_that_count(ways: Iterator[tuple[str, Regex]], text: str) -> Iterator[tuple[str, Regex]]:
    """Leave but one digit where all of them are read as the same double."""
    if "." not in text or "e" in text.lower() or float(text + "0") != float(text + _NINES):
        yield from ways
        return
    one = False
    for char, after in ways:
        if not char.isdigit() or not one:
            yield char, after
        one = one or char.isdigit()


@lru_cache(maxsize=16_384)
def ahead(regex: Regex) -> int:
    """Tell what characters there may still be in a number: `ZERO` and others, or none of them."""
    found = 0
    if regex.longest is None:
        return ZERO | NONZERO | POINT | EXPONENT
    for members, after in moves(regex):
        for flag, these in _FLAGS:
            found |= flag if members & these else 0
        found |= ahead(after)
    return found


def is_roomy(regex: Regex, count: int, *, sure: bool) -> bool:
    """Tell whether there is plainly room for more than some numbers behind a text.

    Args:
        regex: what may follow; the text so far is no zero and has no exponent.
        count: that of the numbers.
        sure: whether it is short enough for doubles to differ if their digits do.

    """
    return (sure and _room(regex) > count) or _powers(derivative(regex, "e")) > count


@lru_cache(maxsize=4_096)
def _room(regex: Regex, digits: int = 4) -> int:
    """Count the numbers that some more digits make, none of them equal."""
    count = 0
    for members, after in moves(regex):
        each = members & ASCII_DIGIT
        if each:
            count += after.nullable * len(each & _NONZERO)
            count += len(each) * _room(after, digits - 1) if digits > 1 else 0
    return count


@lru_cache(maxsize=1_024)
def _powers(exponent: Regex) -> int:
    """Count the exponents of one or two digits."""
    if exponent == NOTHING:
        return 0
    found = 0
    for first in "123456789":
        after = derivative(exponent, first)
        found += after.nullable + sum(derivative(after, each).nullable for each in "0123456789")
    return found


@lru_cache(maxsize=4_096)
def firsts(regex: Regex) -> bytes:
    """List the characters that may come next in a number or a word."""
    return bytes(ord(char) for members, _ in moves(regex) for char in members)


@lru_cache(maxsize=16_384)
def stays_roomy(regex: Regex, count: int, digits: int, *, sure: bool) -> bool:
    """Tell whether there is room for more than some numbers after any more digits."""
    if not is_roomy(regex, count, sure=sure):
        return False
    return not digits or all(
        stays_roomy(after, count, digits - 1, sure=sure)
        for members, after in moves(regex)
        if members & ASCII_DIGIT
    )
