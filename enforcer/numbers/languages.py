"""The spellings of numbers as languages of texts.

Owns: reading the terminal expressions that `enforcer.numbers.text` writes
(regular expressions between slashes, joined by `|`, `&`, `~` and juxtaposition) back
into one `Regex`, so that every engine accepts the same digits, exponents and zeros.
Must not know: how numbers are spelled, grammars.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.numbers.text import spelling
from enforcer.regex import Regex, both, either, inverse, parse
from enforcer.regex.constructors import concat

if TYPE_CHECKING:
    from enforcer.numbers.sets import NumberSet

_TOKEN = re.compile(r"\s*(/(?:[^/\\]|\\.)*/|[()|&~])")


@lru_cache(maxsize=4096)
def number_texts(numbers: NumberSet) -> Regex:
    """Build the language of the spellings of the members of a set.

    Raises:
        NotSpellableError: the set has no regular spelling of bearable size.

    """
    return _Expression(spelling(numbers)).read()


class _Expression:
    """Recursive descent over one terminal expression: `|` binds least, `~` most."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        if "".join(self._tokens) != re.sub(r"\s+(?=[/()|&~]|$)", "", text):
            raise ValueError(f"not a terminal expression: {text!r}")
        self._at = 0

    def read(self) -> Regex:
        found = self._union()
        if self._at != len(self._tokens):
            raise ValueError(f"unbalanced terminal expression: {self._tokens[self._at :]}")
        return found

    def _next_is(self, *tokens: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at] in tokens

    def _take(self) -> str:
        self._at += 1
        return str(self._tokens[self._at - 1])

    def _union(self) -> Regex:
        parts = [self._intersection()]
        while self._next_is("|"):
            self._take()
            parts.append(self._intersection())
        return either(*parts)

    def _intersection(self) -> Regex:
        parts = [self._sequence()]
        while self._next_is("&"):
            self._take()
            parts.append(self._sequence())
        return both(*parts)

    def _sequence(self) -> Regex:
        parts = [self._atom()]
        while self._at < len(self._tokens) and not self._next_is("|", "&", ")"):
            parts.append(self._atom())
        return concat(*parts)

    def _atom(self) -> Regex:
        token = self._take()
        if token == "~":  # noqa: S105 - an operator
            return inverse(self._atom())
        if token == "(":  # noqa: S105
            inner = self._union()
            self._take()
            return inner
        return parse(f"^(?:{token[1:-1]})$")
