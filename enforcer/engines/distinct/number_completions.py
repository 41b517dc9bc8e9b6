"""Which numbers and words a text that has been begun may still become, as far as anyone asks.

There are many spellings, and nearly always some number that is not there yet is easy to name. So
answers are tried in the order of their cost: how much room digits and exponents leave, counted once
for a language; a few numbers far from each other; and the list of all. A language is an automaton
that was built beforehand (`regex.minimal_automaton`), so that no derivative is computed while
others wait.

Owns: listing the members of a language of numbers, lower bounds on how many there are, and which
characters may come next. Must not know: values around a number, which elements are there already.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from enforcer.engines.distinct.fuel import STEP, Fuel
from enforcer.engines.distinct.values import bare
from enforcer.errors import EngineFailure
from enforcer.regex.minimal_automaton import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.engines.distinct.values import Number, Word
    from enforcer.regex import Regex

_NONZERO = frozenset("123456789")
_DIGITS = _NONZERO | {"0"}
_K = TypeVar("_K")
_V = TypeVar("_V")
_EXPONENT = frozenset("eE")
_NINES = "9" * 60
_FEW = 64  # numbers of a language that are remembered
_KEPT = 128  # beginnings whose few numbers are
_LISTED = 3_000  # of fuel, before it is given up to list few numbers
_SEEDS = (3, 1, 7, 2, 13, 4, 17, 9)  # by turns to a far end, and to a near one behind so many
_COUNTED = 4  # digits of which room is made
_SAMPLED = 24  # characters that are added to a number


def numbers(regex: Regex, start: str, few: Few, fuel: Fuel) -> Iterator[Number | Word]:
    """List the numbers and words that begin with a text."""
    if not isinstance(regex, State):
        return
    if value := only(regex, start):
        yield value
        return
    known = few.samples(regex, start)
    fuel.burn(STEP)
    yield from known
    listed, whole = few.firsts(regex, start, fuel)
    yield from (each for each in listed if each not in known)
    if whole:
        return
    known = (*known, *listed)
    yield from (each for each in _all_numbers(regex, start, fuel) if each not in known)


def has_exponent(regex: Regex) -> bool:
    """Tell whether an exponent may still follow."""
    return isinstance(regex, State) and not _EXPONENT.isdisjoint(regex.alphabet)


def only(regex: Regex, start: str) -> Number | Word | None:
    """Give the number that a text is whatever follows it, if there is but one."""
    if not isinstance(regex, State):
        return None
    if not regex.after:
        return bare(start)
    if has_exponent(regex) or "e" in start.lower():
        return None
    counts = not _NONZERO.isdisjoint(regex.alphabet)
    if "." in start:
        same = not counts or float(start) == float(start + _NINES)
    else:
        same = not counts and _DIGITS.isdisjoint(regex.after)
    return bare(start + "0" if start[-1:] == "." else start) if same else None


class Few:
    """A few numbers of each beginning, remembered for all texts of a grammar; see `numbers`.

    Any number of threads may ask.
    """

    def __init__(self) -> None:
        self._samples: dict[tuple[State, str], tuple[Number | Word, ...]] = {}
        self._firsts: dict[tuple[State, str], tuple[tuple[Number | Word, ...], bool]] = {}

    def samples(self, state: State, start: str) -> tuple[Number | Word, ...]:
        """List a few numbers far from each other: mostly one of them is not there yet."""
        key = state, start
        found = self._samples.get(key)
        if found is None:
            found = tuple(dict.fromkeys(_samples(state, start)))
            _remember(self._samples, key, found)
        return found

    def firsts(
        self, state: State, start: str, fuel: Fuel
    ) -> tuple[tuple[Number | Word, ...], bool]:
        """List the first few that begin with a text, and tell whether these are all.

        Of an integer there are hundreds of spellings, all of which are one number.
        """
        key = state, start
        known = self._firsts.get(key)
        if known is not None:
            return known
        here = Fuel(_LISTED)
        found: list[Number | Word] = []
        whole = False
        try:
            found.extend(islice(_all_numbers(state, start, here), _FEW))
            whole = len(found) < _FEW
        except EngineFailure:
            pass  # more spellings than can be listed: those that are listed are true
        known = tuple(found), whole
        _remember(self._firsts, key, known)
        fuel.burn(here.burned)
        return known


def _remember(kept: dict[_K, _V], key: _K, found: _V) -> None:
    if len(kept) >= _KEPT:
        kept.clear()
    kept[key] = found


def _samples(state: State, start: str) -> Iterator[Number | Word]:
    for turn, seed in enumerate(_SEEDS):
        here, text, last = state, start, ""
        near = bool(turn % 2)
        for step in range(_SAMPLED if near else _SAMPLED // 2):
            ways = tuple(here.after.items())
            if not ways:
                break
            if near and step >= seed:  # to an end, the shortest way
                least = min(after.shortest for _, after in ways)
                ways = tuple(way for way in ways if way[1].shortest == least)
            char, here = ways[(seed * (step + 1) + step * step) % len(ways)]
            text += char
            last = text if here.nullable else last
            if near and last and step >= seed:
                break
        value = bare(last)
        if value is not None:
            yield value


def _all_numbers(state: State, start: str, fuel: Fuel) -> Iterator[Number | Word]:
    """List all, the shortest first."""
    seen: set[Number | Word] = set()
    known: set[tuple[State, str, str]] = set()
    level = [(state, start)]
    while level:
        ahead: list[tuple[State, str]] = []
        for here, text in level:
            fuel.burn(3)
            mantissa, mark, exponent = text.lower().partition("e")
            if mark:  # however many zeros stand before and in it, what follows is the same
                whole, _, places = mantissa.partition(".")
                key = here, f"{whole}.{places.rstrip('0')}", exponent.lstrip("+").lstrip("0")
                if key in known:
                    continue
                known.add(key)
            value = only(here, text)
            if value is None:
                neutral = "." in mantissa and text[-1].isdigit() and _adds_nothing(here)
                ahead.extend(
                    (after, text + char)
                    for char, after in _digits_that_count(here, text)
                    if not (neutral and char == "0" and not mark)
                )
                value = bare(text) if here.nullable else None
            if value is not None and value not in seen:
                seen.add(value)
                yield value
        level = ahead


def _adds_nothing(state: State) -> bool:
    """Tell whether one more zero behind a point and a digit leads to no other number."""
    found = state.memo.get("zero")
    if found is None:
        here, seen = state, {state}
        while True:
            after = here.after.get("0")
            found = after is None or (
                after.nullable <= here.nullable
                and _NONZERO.isdisjoint(after.after)
                and all(after.after.get(e) in (None, here.after.get(e)) for e in "eE")
            )
            if after is None or not found or after in seen:
                break
            seen.add(after)
            here = after
        state.memo["zero"] = found
    return bool(found)


def _digits_that_count(state: State, text: str) -> Iterator[tuple[str, State]]:
    """Leave but one digit where all of them are read as the same double."""
    ways = state.after.items()
    if "." not in text or "e" in text.lower() or float(text + "0") != float(text + _NINES):
        yield from ways
        return
    one = False
    for char, after in ways:
        if not char.isdigit() or not one:
            yield char, after
        one = one or char.isdigit()


def is_roomy(regex: Regex, count: int, more: int = 0, *, sure: bool) -> bool:
    """Tell whether there is plainly room for more than some numbers behind a text.

    Args:
        regex: what may follow; the text so far is no zero and has no exponent.
        count: that of the numbers.
        more: digits that may have been added, any of them.
        sure: whether it is short enough for doubles to differ if their digits do.

    """
    return isinstance(regex, State) and _least_room(regex, more, sure=sure) > count


def _least_room(state: State, digits: int, *, sure: bool) -> int:
    key = "least", digits, sure
    if key not in state.memo:
        here = max(_room(state, _COUNTED) if sure else 0, _powers(state))
        following = digits_after(state) if digits else ()
        state.memo[key] = min(
            here, *(_least_room(after, digits - 1, sure=sure) for _, after in following), here
        )
    return int(state.memo[key])


def _room(state: State, digits: int) -> int:
    """Count the numbers that some more digits make, none of them equal."""
    key = "room", digits
    if key not in state.memo:
        state.memo[key] = sum(
            (after.nullable and char in _NONZERO) + (_room(after, digits - 1) if digits > 1 else 0)
            for char, after in digits_after(state)
        )
    return int(state.memo[key])


def _powers(state: State) -> int:
    """Count the exponents of one or two digits."""
    exponent = state.after.get("e")
    if exponent is None:
        return 0
    signed = [_of_two_digits(exponent.after.get(sign)) for sign in "+-"]
    return max(_of_two_digits(exponent), signed[0]) + signed[1]


def _of_two_digits(exponent: State | None) -> int:
    if exponent is None:
        return 0
    leading = [after for char, after in digits_after(exponent) if char in _NONZERO]
    return sum(
        first.nullable + sum(second.nullable for _, second in digits_after(first))
        for first in leading
    )


def firsts(regex: Regex) -> bytes:
    """List the characters that may come next in a number or a word."""
    return "".join(regex.after).encode() if isinstance(regex, State) else b""


def digits_after(regex: Regex) -> Iterator[tuple[str, State]]:
    """List the digits that may come next, each with what may follow it."""
    if not isinstance(regex, State):
        return iter(())
    return ((char, after) for char, after in regex.after.items() if char in _DIGITS)
