"""Rules in xgrammar's notation.

Owns: xgrammar's EBNF, and writing regular languages in it: plainly, or, where they are
made of intersections and complements, as one rule for each state of their automaton.
Must not know: JSON values, matchers, vocabularies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.engines import _rules as rules
from enforcer.regex.constructors import NOTHING
from enforcer.regex.plain import automaton
from enforcer.regex.syntax import Chars, Concat, Literal, Repeat, Union, quantifier
from enforcer.spelling import spelled

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.spelling import Spelling

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _,:{}.+")
_FOUR_DIGITS = 0xFFFF


def to_ebnf(grammar: rules.Rules, states: int) -> str:
    """Write a grammar; its start rule is `root`.

    Args:
        grammar: the rules.
        states: greatest number of states of one language that has intersections or
            complements.

    Raises:
        RegexBudget: a language with more states.
        UnsupportedSchema: one that has no text.

    """
    writer = _Writer(states)
    writer.line("root", writer.expression(grammar.start))
    for name, body in grammar.bodies.items():
        writer.line(name, writer.expression(body))
    return "\n".join(writer.lines) + "\n"


class _Writer:
    def __init__(self, states: int) -> None:
        self.lines: list[str] = []
        self._states = states
        self._texts: dict[rules.Text, str] = {}
        self._machines: dict[tuple[Regex, Spelling], str | None] = {}

    def line(self, name: str, body: str) -> None:
        self.lines.append(f"{name} ::= {body}")

    def expression(self, node: rules.Expression) -> str:
        if isinstance(node, rules.Name):
            return node.rule
        if isinstance(node, rules.Text):
            return self._text(node)
        if isinstance(node, rules.Sequence):
            return _group(" ".join(map(self.expression, node.parts)) or '""')
        if isinstance(node, rules.Alternatives):
            return _group(" | ".join(map(self.expression, node.parts)))
        return _counted(self.expression(node.part), node.minimum, node.maximum)

    def _text(self, node: rules.Text) -> str:
        """Give a language a rule of its own, so that equal ones are compiled once."""
        name = self._texts.get(node)
        if name is None:
            name = self._texts[node] = f"t{len(self._texts)}"
            body = self._regex(node.regex, node.spelling)
            if body is None:
                raise rules.no_text()
            if node.spelling.opening:
                body = f"{_text(node.spelling.opening)} {body} {_text(node.spelling.closing)}"
            self.line(name, body)
        return name

    def _regex(self, regex: Regex, spelling: Spelling) -> str | None:
        """Write a language; None for the empty one.

        An intersection may turn out to be empty only here, as its states are found, and must not
        be written: a rule without any way through it is read as one that takes no character.
        """
        if regex == NOTHING:
            return None
        if not regex.boolean:
            return _plain(spelled(regex, spelling))
        if isinstance(regex, Repeat):
            part = self._regex(regex.part, spelling)
            if part is None:
                return None if regex.minimum else '""'
            return _counted(part, regex.minimum, regex.maximum)
        if isinstance(regex, Concat | Union):
            parts = [self._regex(part, spelling) for part in regex.parts]
            some = [part for part in parts if part is not None]
            if not some or (isinstance(regex, Concat) and len(some) < len(parts)):
                return None
            return _group((" " if isinstance(regex, Concat) else " | ").join(some))
        return self._machine(regex, spelling)

    def _machine(self, regex: Regex, spelling: Spelling) -> str | None:
        key = (regex, spelling)
        if key in self._machines:
            return self._machines[key]
        states = automaton(regex, self._states)
        if not states[0].accepting and not states[0].moves:
            self._machines[key] = None
            return None
        prefix = f"m{len(self._machines)}"
        found = self._machines[key] = f"{prefix}s0"
        for number, state in enumerate(states):
            # A state's moves to itself are a loop, not a recursion as deep as the text.
            loops, options = [], []
            for members, to in state.moves:
                written = _plain(spelling.of_chars(members))
                if to == number:
                    loops.append(written)
                else:
                    options.append(f"{written} {prefix}s{to}")
            if state.accepting:
                options.append('""')
            loop = f"{_group(' | '.join(loops))}* " if loops else ""
            self.line(f"{prefix}s{number}", f"{loop}{_group(' | '.join(options))}")
        return found


def _plain(regex: Regex) -> str:
    """Write a language without intersections and complements; quantifiers may follow."""
    if isinstance(regex, Literal):
        return _text(regex.text)
    if isinstance(regex, Chars):
        return f"[{''.join(_span(low, high) for low, high in regex.chars.ranges)}]"
    if isinstance(regex, Concat):
        return _group(" ".join(map(_plain, regex.parts)))
    if isinstance(regex, Union):
        return _group(" | ".join(map(_plain, regex.parts)))
    if isinstance(regex, Repeat):
        return _counted(_plain(regex.part), regex.minimum, regex.maximum)
    raise TypeError(f"not expressible without operators: {regex!r}")


def _text(text: str) -> str:
    return f'"{"".join(map(_char, text))}"'


def _group(body: str) -> str:
    return f"({body})"


def _counted(part: str, minimum: int, maximum: int | None) -> str:
    return f"({part}){quantifier(minimum, maximum)}"


def _span(low: int, high: int) -> str:
    return _char(chr(low)) + (f"-{_char(chr(high))}" if high > low else "")


def _char(char: str) -> str:
    if char in _SAFE:
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= _FOUR_DIGITS else f"\\U{code:08x}"
