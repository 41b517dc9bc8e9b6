"""Cached answers to questions about languages, bounded by weight.

`functools.lru_cache` counts its entries. A language may be a union of thousands of texts, and
thousands of such entries are gigabytes; here they are weighed as well.

Owns: which answers are kept between questions, by what they and the languages weigh. Must not
know: what is asked.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, cast

from enforcer.regex.syntax import Regex

if TYPE_CHECKING:
    from collections.abc import Callable

_Rest = TypeVarTuple("_Rest")
_T = TypeVar("_T")

_MOST = 16_384  # a schema may ask of thousands of values, again at every step of a text
_HEAVIEST = 32 << 20  # bytes, for each question
_ENTRY = 100


def cached(ask: Callable[[Regex, *_Rest], _T]) -> Callable[[Regex, *_Rest], _T]:
    """Cache the answers of a function whose first argument is a language; all are positional.

    When what was added is too heavy, the whole cache is dropped at once, so that a known answer
    costs no more than a lookup of `functools.lru_cache`.
    """
    weight = 0

    @wraps(ask)
    def weighed(regex: Regex, *rest: *_Rest) -> _T:
        nonlocal weight
        found = ask(regex, *rest)
        weight += regex.weight + _weight(rest) + _weight(found)
        if weight > _HEAVIEST:
            weight = 0
            known.cache_clear()
        return found

    known = lru_cache(maxsize=_MOST)(weighed)
    return cast("Callable[[Regex, *_Rest], _T]", known)


def _weight(value: object) -> int:
    if isinstance(value, Regex):
        return value.weight
    if isinstance(value, tuple | frozenset):
        return _ENTRY + sum(map(_weight, value))
    return _ENTRY + (len(value) if isinstance(value, str) else 0)
