"""Which sets of numbers can be enforced.

Owns: that question, and what is said of sets that cannot. Must not know: other types, how values
combine.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from enforcer.numbers.languages import MOST_LISTED, number_texts
from enforcer.numbers.multiples import (
    MOST_REMAINDERS,
    MOST_TOGETHER,
    NotSpellableError,
    without_places,
)

if TYPE_CHECKING:
    from enforcer.numbers.sets import NumberSet

_MOST_NAMED = 20  # digits of a divisor that a message has room for


def can_be_written(numbers: NumberSet) -> bool:
    """Return whether a set of numbers has a spelling."""
    try:
        number_texts(numbers)
    except NotSpellableError:
        return False
    return True


def reason(numbers: NumberSet) -> str:
    """Describe what is too much of a set that cannot be enforced, and what would not be."""
    negated = sorted(numbers.not_multiples - {1})
    positive = [] if numbers.multiple is None or numbers.multiple == 1 else [numbers.multiple]
    divisors = [*positive, *negated] or [Fraction(1)]
    named = " and ".join(", ".join(map(_named, divisors)).rsplit(", ", 1))
    if any(each.denominator != 1 for each in divisors):
        cannot = f"the divisor {named} cannot be enforced here"
        can = "with places one must be simpler, as 0.25 and 0.001 are"
    elif len(divisors) > 1:
        cannot = f"the divisors {named} cannot be enforced together"
        can = f"several may have a least common multiple of up to {MOST_TOGETHER}"
    elif negated:
        cannot = f"the divisor {named} cannot be enforced negated"
        can = f"a negated one may be up to {MOST_TOGETHER}"
    else:
        cannot = f"the divisor {named} is too large"
        can = f"one may be up to {MOST_REMAINDERS:,}, and have zeros behind that"
    listed = "list the values in an `enum`"
    if numbers.multiple is not None:
        listed = f"let the bounds leave at most {MOST_LISTED} values, or {listed}"
    return f"{cannot}: {can}; else {listed}"


def _named(divisor: Fraction) -> str:
    number, places = without_places(divisor)
    text = str(number).rjust(places + 1, "0")
    if len(text) > _MOST_NAMED:
        return f"of {len(text)} digits"
    return f"{text[:-places]}.{text[-places:]}" if places else text
