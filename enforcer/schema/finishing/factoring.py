"""Alternatives of conditions, written short.

Owns: sums of products as nested `and` and `or`, by algebraic division ("quick factoring",
Brayton 1987): what a `oneOf` of objects multiplies out comes back as the product it was.
Must not know: what the conditions say.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_Terms = tuple[frozenset[str], ...]


def factored(terms: Iterable[frozenset[str]]) -> str:
    """Write that all conditions of some term hold; an empty text if that is always so."""
    return _factor(tuple(dict.fromkeys(terms)))


def _factor(terms: _Terms) -> str:
    if not all(terms):
        return ""
    shared = frozenset[str].intersection(*terms)
    if shared:
        return nested("and", [*sorted(shared), _factor(tuple(t - shared for t in terms))])
    counts = Counter(condition for term in terms for condition in sorted(term))
    if not counts or counts.most_common(1)[0][1] == 1:
        return nested("or", [nested("and", sorted(term)) for term in terms])
    quotient, divisor = _divided(terms, counts.most_common(1)[0][0])
    product = {a | b for a in quotient for b in divisor}
    factors = nested("and", [_factor(divisor), _factor(quotient)])
    rest = tuple(term for term in terms if term not in product)
    return nested("or", [factors, _factor(rest)]) if rest and factors else factors


def _divided(terms: _Terms, condition: str) -> tuple[_Terms, _Terms]:
    """Return two sums whose product is among the terms and holds those with the condition."""
    quotient = tuple(term - {condition} for term in terms if condition in term)
    shared = frozenset[str].intersection(*quotient)
    quotient = tuple(term - shared for term in quotient)
    known = set(terms)
    divisor = tuple(term - quotient[0] for term in terms if quotient[0] <= term)
    for part in quotient[1:]:
        divisor = tuple(each for each in divisor if each.isdisjoint(part) and each | part in known)
    return quotient, divisor


def nested(operator: str, conditions: Iterable[str]) -> str:
    """Join conditions by an operator of two operands, balanced to stay shallow.

    Empty ones always hold.
    """
    listed = list(dict.fromkeys(conditions))
    if "" in listed:
        if operator == "or":
            return ""
        listed.remove("")
    if len(listed) <= 1:
        return listed[0] if listed else ""
    half = len(listed) // 2
    left, right = nested(operator, listed[:half]), nested(operator, listed[half:])
    return f"{operator}({left},{right})"
