"""Numbers and words, found by how their spelling begins.

Owns: numbers, sorted by sign and first digits, and words. What is found for a text that has been
begun may be too many, never too few. Must not know: texts around them, shapes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import inf
from typing import TYPE_CHECKING

from enforcer.engines.distinct.values import Number, Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from enforcer.engines.distinct.values import Json

    Sorted = tuple[list[int], list[Number]]  # first digits, and whose they are

_SURE = 15  # digits of a decimal that no double of another one shares
_DIGITS = 17  # that tell all doubles apart
_SMALLEST = 10 ** (_DIGITS - 1)
_SLACK = 100
_LEAST = 1e-290  # above which doubles keep their digits
_NINES = "9" * 60


class NumberIndex:
    """Immutable; iterates over its numbers and words, `len` is how many they are.

    Args:
        above: those above zero, by their first digits.
        below: those below zero.
        zeros: those without digits.
        others: numbers whose digits say nothing, for doubles lose them.
        words: `null`, `true` and `false`.

    """

    __slots__ = ("_above", "_below", "_length", "_others", "_words", "_zeros")

    def __init__(
        self,
        above: Sorted = ([], []),
        below: Sorted = ([], []),
        zeros: list[Number] | None = None,
        others: list[Number] | None = None,
        words: list[Word] | None = None,
    ) -> None:
        self._above, self._below = above, below
        self._zeros, self._others, self._words = zeros or [], others or [], words or []
        numbers = len(above[0]) + len(below[0]) + len(self._zeros) + len(self._others)
        self._length = numbers + len(self._words)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Json]:
        for part in (self._above[1], self._below[1], self._zeros, self._others, self._words):
            yield from part

    @classmethod
    def of(cls, values: Iterable[Json]) -> NumberIndex:
        """Index the numbers and words among some values."""
        above: list[tuple[int, Number]] = []
        below: list[tuple[int, Number]] = []
        zeros: list[Number] = []
        others: list[Number] = []
        words: list[Word] = []
        for each in values:
            if isinstance(each, Number):
                negative, first = each.first or _first_digits(each)
                if first is not None:
                    (below if negative else above).append((first, each))
                else:
                    (others if negative else zeros).append(each)
            elif isinstance(each, Word):
                words.append(each)
        return cls(_sorted(above), _sorted(below), zeros, others, words)

    def among(self, text: str) -> NumberIndex:
        """Select those that a text which begins so may be when it is complete."""
        if text[:1] in "tfn":
            return NumberIndex(words=[x for x in self._words if x.text.startswith(text)])
        mantissa, mark, exponent = text.lower().partition("e")
        digits = mantissa.lstrip("-").replace(".", "").lstrip("0")[:_SURE]
        if not digits and mark:
            return NumberIndex(zeros=self._zeros)
        if not digits:
            return NumberIndex(self._above, self._below, self._zeros, self._others)
        if not (digits.isascii() and digits.isdigit()):
            return NumberIndex()  # no number begins so
        if mark:
            return self._powers(mantissa, exponent)
        low, high = _between(digits)
        small = "." in text or "e" in text.lower()  # so that a double may be rounded away
        zeros = self._zeros if small else []
        if text.startswith("-"):
            return NumberIndex(
                below=_within(self._below, low, high), zeros=zeros, others=self._others
            )
        return NumberIndex(_within(self._above, low, high), zeros=zeros, others=self._others)

    def _powers(self, mantissa: str, exponent: str) -> NumberIndex:
        """Select those that a number may be whose exponent has begun."""
        low = int(mantissa.lstrip("-").replace(".", "").lstrip("0")[:_DIGITS].ljust(_DIGITS, "0"))
        negative = mantissa.startswith("-")
        keys, values = _within(self._below if negative else self._above, low - _SLACK, low + _SLACK)
        point = _point(mantissa)
        kept = [i for i, each in enumerate(values) if _fits(_point_of(each) - point, exponent)]
        found = [keys[i] for i in kept], [values[i] for i in kept]
        if negative:
            return NumberIndex(below=found, zeros=self._zeros, others=self._others)
        return NumberIndex(found, zeros=self._zeros, others=self._others)

    def count(self, text: str) -> int:
        """Tell how many of them a number may be that begins so, a few more at most.

        Args:
            text: digits, with a sign or without, not all of them zero.

        """
        negative = text.startswith("-")
        keys, _ = self._below if negative else self._above
        low, high = _between(text.lstrip("-").lstrip("0")[:_SURE])
        found = bisect_right(keys, high) - bisect_left(keys, low) + len(self._others)
        return found if high // 10 < _SMALLEST else found + bisect_right(keys, high // 10)

    def plus(self, value: Json) -> NumberIndex:
        """Return the index with one more."""
        if isinstance(value, Word):
            words = [*self._words, value]
            return NumberIndex(self._above, self._below, self._zeros, self._others, words)
        if not isinstance(value, Number):
            return self
        negative, first = value.first or _first_digits(value)
        above, below, zeros, others = self._above, self._below, self._zeros, self._others
        if first is None:
            zeros, others = (zeros, [*others, value]) if negative else ([*zeros, value], others)
        elif negative:
            below = _inserted(below, first, value)
        else:
            above = _inserted(above, first, value)
        return NumberIndex(above, below, zeros, others, self._words)

    def minus(self, value: Json) -> NumberIndex:
        """Return the index without one of them."""
        first = value.first[1] if isinstance(value, Number) and value.first else None
        if first is None:
            return NumberIndex.of(each for each in self if each != value)
        above, below = _removed(self._above, first, value), _removed(self._below, first, value)
        return NumberIndex(above, below, self._zeros, self._others, self._words)

    def becoming(self, text: str) -> NumberIndex:
        """Select those that more digits can make of a text with a point, without an exponent."""
        # What is read as a double grows with what is written.
        ends = sorted((float(text), float(text + _NINES)))
        found = [
            each
            for each in self
            if isinstance(each, Number)
            and (isinstance(each.value, str) or ends[0] <= each.value <= ends[1])
        ]
        return NumberIndex.of(found)


def _sorted(pairs: list[tuple[int, Number]]) -> Sorted:
    pairs.sort(key=_first_of)
    return [first for first, _ in pairs], [number for _, number in pairs]


def _first_of(pair: tuple[int, Number]) -> int:
    return pair[0]


def _inserted(numbers: Sorted, first: int, value: Number) -> Sorted:
    keys, values = numbers[0].copy(), numbers[1].copy()
    at = bisect_right(keys, first)
    keys.insert(at, first)
    values.insert(at, value)
    return keys, values


def _removed(numbers: Sorted, first: int, value: Json) -> Sorted:
    for at in range(bisect_left(numbers[0], first), bisect_right(numbers[0], first)):
        if numbers[1][at] == value:
            keys, values = numbers[0].copy(), numbers[1].copy()
            del keys[at], values[at]
            return keys, values
    return numbers


def _between(digits: str) -> tuple[int, int]:
    """Bound the first digits of the numbers that begin so.

    They may also be the double next to it: 0.2999… is 0.3.
    """
    unit = 10 ** (_DIGITS - len(digits))
    return int(digits) * unit - _SLACK, (int(digits) + 1) * unit + _SLACK


def _within(numbers: Sorted, low: int, high: int) -> Sorted:
    """Leave those whose first digits are between two, or would be with a zero behind them."""
    keys, values = numbers
    first, last = bisect_left(keys, low), bisect_right(keys, high)
    if high // 10 < _SMALLEST:
        return keys[first:last], values[first:last]
    end = bisect_right(keys, high // 10)  # from the first on: 999… may be 1000…
    return keys[:end] + keys[first:last], values[:end] + values[first:last]


def _point(decimal: str) -> int:
    """Give the place of the point behind the first digit of a decimal that is no zero."""
    whole, _, places = decimal.lstrip("-").partition(".")
    whole = whole.lstrip("0")
    return len(whole) if whole else len(places.lstrip("0")) - len(places)


def _point_of(number: Number) -> int:
    """Give that of a number whose digits are known."""
    mantissa, _, exponent = repr(number.value).partition("e")
    return _point(mantissa) + int(exponent or "0")


def _fits(power: int, exponent: str) -> bool:
    """Tell whether an exponent that has begun may become this power of ten, or the next to it.

    Doubles round: what begins with 0.999… may be 1.
    """
    digits = exponent.lstrip("+-").lstrip("0")
    sign = -1 if exponent.startswith("-") else 1
    around = (power - 1, power, power + 1)
    if not digits:
        return not exponent or any(sign * each >= 0 for each in around)
    return any(sign * each > 0 and str(abs(each)).startswith(digits) for each in around)


def _first_digits(number: Number) -> tuple[bool, int | None]:
    """Give whether a number is below zero, and its first digits; None where there are none.

    With None the first tells whether it may be anything.
    """
    value = number.value
    if isinstance(value, str) or (value and not _LEAST <= abs(value) < inf):
        number.first = True, None
    elif not value:
        number.first = False, None
    else:
        text = str(abs(value)) if isinstance(value, int) else repr(abs(value))
        digits = text.partition("e")[0].replace(".", "").lstrip("0")
        number.first = value < 0, int(digits[:_DIGITS].ljust(_DIGITS, "0"))
    return number.first
