"""Rules as one regular expression, in the syntax of Rust's `regex` crate.

Owns: that syntax, putting the rules into one another until none is left, which works where no
rule leads back to itself, and the character before and behind every text. Must not know: JSON
values, matchers, vocabularies.

A text that is whole may begin another one, as `a` begins `abc`, and not every reader of such an
expression goes on from where a match may end. So there is a `BORDER` behind each text, and that
character itself is written as two others, as is the first of these. There is one before it too,
since a reader may make of an expression an automaton for matches that begin anywhere, which has up
to two to the power of n states for up to n digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.engines import _rules as rules
from enforcer.errors import EnforcerError
from enforcer.regex import literal
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import NOTHING
from enforcer.regex.plain import plain
from enforcer.regex.syntax import Chars, Concat, Literal, Repeat, Union, quantifier
from enforcer.spelling import framed, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.regex import Regex

BORDER = "\0"
_ESCAPE = "\1"
_ESCAPED = {BORDER: _ESCAPE + "\1", _ESCAPE: _ESCAPE + "\2"}
_RESERVED = CharSet.span(BORDER, _ESCAPE)
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_\"',:;=<>@%! ")


class PatternSizeError(EnforcerError):
    """The regular expression, or one of its parts, is over the budget."""


def to_pattern(grammar: rules.Rules, budget: int, states: int) -> str:
    """Write a grammar as a regular expression that matches the text, escaped and within borders.

    Args:
        grammar: rules none of which leads back to itself.
        budget: greatest number of characters.
        states: greatest number of states of one language that has intersections, complements
            or names.

    Raises:
        PatternSizeError: over the budget.
        RegexBudget: a language that cannot be written without complements so briefly.
        UnsupportedSchema: a language that has no text.

    """
    border = _char(BORDER)
    return f"{border}{_Writer(grammar, budget, states).expression(grammar.start)}{border}"


def escaped(data: bytes) -> bytes:
    """Give the bytes of a token as the expression has them; none of them is `BORDER`."""
    first, second = BORDER.encode(), _ESCAPE.encode()
    if first not in data and second not in data:
        return data
    data = data.replace(second, _ESCAPED[_ESCAPE].encode())
    return data.replace(first, _ESCAPED[BORDER].encode())


class _Writer:
    def __init__(self, grammar: rules.Rules, budget: int, states: int) -> None:
        self._states = states
        self._bodies = grammar.bodies
        self._budget = budget
        self._written: dict[str, str] = {}
        self._texts: dict[rules.Text, str] = {}

    def expression(self, node: rules.Expression) -> str:
        if isinstance(node, rules.Name):
            if node.rule not in self._written:
                self._written[node.rule] = self.expression(self._bodies[node.rule])
            return self._written[node.rule]
        if isinstance(node, rules.Text):
            return self._text(node)
        if isinstance(node, rules.Repetition):
            return _counted(self.expression(node.part), node.minimum, node.maximum)
        parts = map(self.expression, node.parts)
        if isinstance(node, rules.Sequence):
            return self._within_budget(parts, "")
        return f"(?:{self._within_budget(parts, '|')})"

    def _within_budget(self, parts: Iterable[str], between: str) -> str:
        taken, size = [], 0
        for part in parts:
            size += len(part) + len(between)
            if size > self._budget:
                raise PatternSizeError(f"more than {self._budget} characters")
            taken.append(part)
        return between.join(taken)

    def _text(self, node: rules.Text) -> str:
        found = self._texts.get(node)
        if found is None:
            body = spelled(plain(node.regex, self._budget, states=self._states), node.spelling)
            if body == NOTHING:
                raise rules.no_text()
            found = _plain(framed(body, node.spelling))
            self._texts[node] = found
        return found


def _plain(regex: Regex) -> str:
    """Write a language without intersections and complements; text may stand beside it."""
    if isinstance(regex, Literal):
        return "".join(_char(each) for char in regex.text for each in _ESCAPED.get(char, char))
    if isinstance(regex, Chars):
        return _class(regex.chars)
    if isinstance(regex, Concat):
        return "".join(map(_plain, regex.parts))
    if isinstance(regex, Union):
        return f"(?:{'|'.join(map(_plain, regex.parts))})"
    if isinstance(regex, Repeat):
        return _counted(_plain(regex.part), regex.minimum, regex.maximum)
    raise TypeError(f"not expressible without operators: {regex!r}")


def _class(members: CharSet) -> str:
    others = members & ~_RESERVED
    options = [_plain(literal(char)) for char in _ESCAPED if char in members]
    if others or not options:
        options.append(f"[{''.join(_span(low, high) for low, high in others.ranges)}]")
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _counted(part: str, minimum: int, maximum: int | None) -> str:
    if (minimum, maximum) == (1, 1):
        return part
    return f"(?:{part}){quantifier(minimum, maximum)}"


def _span(low: int, high: int) -> str:
    return _char(chr(low)) + (f"-{_char(chr(high))}" if high > low else "")


def _char(char: str) -> str:
    return char if char in _SAFE else rf"\x{{{ord(char):x}}}"
