"""Sets of numbers: an interval crossed with divisibility.

They express `type`, bounds, `multipleOf`, `const` and their negations, and are closed under
intersection and complement. Must not know: how a number is spelled, schemas, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, lcm

_ENUMERABLE = 1_000  # candidates tried one by one to find out whether a set is empty


@dataclass(frozen=True, slots=True)
class NumberSet:
    """All numbers within bounds, divisible by `multiple` and by none of `not_multiples`.

    Attributes:
        low: lower bound; None for no bound.
        low_open: whether the lower bound itself is excluded.
        high: upper bound; None for no bound.
        high_open: whether the upper bound itself is excluded.
        multiple: divides every member; 1 for integers, None for reals.
        not_multiples: numbers that divide no member; contains 1 for non-integers.
        plain: whether integers must be spelled in digits alone (draft 4, and `Integers.DIGITS`).

    """

    low: Fraction | None = None
    low_open: bool = False
    high: Fraction | None = None
    high_open: bool = False
    multiple: Fraction | None = None
    not_multiples: frozenset[Fraction] = frozenset()
    plain: bool = False
    # Stored, since the hash of a fraction takes a microsecond.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = (
            *(self.low, self.low_open, self.high, self.high_open),
            *(self.multiple, self.not_multiples, self.plain),
        )
        # A frozen dataclass leaves this as the only way to fill a field.
        object.__setattr__(self, "_hash", hash(key))

    def __hash__(self) -> int:
        return self._hash


REALS = NumberSet()
INTEGERS = NumberSet(multiple=Fraction(1))


def single(value: Fraction) -> NumberSet:
    """Return the set of one number."""
    return NumberSet(low=value, high=value)


@lru_cache(maxsize=4096)
def meet(a: NumberSet, b: NumberSet) -> NumberSet | None:
    """Return the intersection; None if it is empty."""
    low, low_open = a.low, a.low_open
    if b.low is not None and (low is None or (b.low, b.low_open) > (low, low_open)):
        low, low_open = b.low, b.low_open
    high, high_open = a.high, a.high_open
    if b.high is not None and (high is None or (b.high, not b.high_open) < (high, not high_open)):
        high, high_open = b.high, b.high_open
    result = NumberSet(
        low,
        low_open,
        high,
        high_open,
        _common_multiple(a.multiple, b.multiple),
        a.not_multiples | b.not_multiples,
        a.plain or b.plain,
    )
    return None if is_empty(result) else result


def complement(a: NumberSet) -> tuple[NumberSet, ...]:
    """Return sets whose union is every number that is not in the set."""
    out: list[NumberSet] = []
    if a.low is not None:
        out.append(NumberSet(high=a.low, high_open=not a.low_open))
    if a.high is not None:
        out.append(NumberSet(low=a.high, low_open=not a.high_open))
    if a.multiple is not None:
        out.append(NumberSet(not_multiples=frozenset({a.multiple})))
    out.extend(NumberSet(multiple=each) for each in sorted(a.not_multiples))
    return tuple(out)


def contains(a: NumberSet, value: Fraction) -> bool:
    """Return whether a number is in the set."""
    return not (
        (a.low is not None and (value < a.low or (a.low_open and value == a.low)))
        or (a.high is not None and (value > a.high or (a.high_open and value == a.high)))
        or (a.multiple is not None and (value / a.multiple).denominator != 1)
        or any((value / each).denominator == 1 for each in a.not_multiples)
    )


def is_empty(a: NumberSet) -> bool:
    """Return whether a set is surely empty; False for some sets emptied by several divisors."""
    if a.multiple is not None and any(
        (a.multiple / each).denominator == 1 for each in a.not_multiples
    ):
        return True
    if a.low is None or a.high is None:
        return False
    if a.low > a.high or (a.low == a.high and (a.low_open or a.high_open)):
        return True
    if a.low == a.high:
        return not contains(a, a.low)
    if a.multiple is None:
        return False
    members = candidates(a, _ENUMERABLE)
    return members is not None and not members


def candidates(a: NumberSet, limit: int) -> tuple[Fraction, ...] | None:
    """Return the members of a set of multiples within two bounds; None if over `limit`."""
    if a.low is None or a.high is None:
        return None
    if a.low == a.high:
        return (a.low,) if contains(a, a.low) else ()
    if a.multiple is None:
        return None
    first, last = ceil(a.low / a.multiple), floor(a.high / a.multiple)
    if last - first >= limit:
        return None
    values = (k * a.multiple for k in range(first, last + 1))
    return tuple(value for value in values if contains(a, value))


def _common_multiple(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    if a is None or b is None:
        return b if a is None else a
    return Fraction(lcm(a.numerator, b.numerator), gcd(a.denominator, b.denominator))
