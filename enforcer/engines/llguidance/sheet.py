"""The rules and terminals of one grammar in llguidance's Lark, as they are collected.

Owns: that equal ones are written once, under names that are not taken, and how strings are spelled.
Must not know: which rules a value needs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.engines.llguidance.terminals import definitions, expression
from enforcer.layouts.texts import holding, quick, without
from enforcer.regex import literal
from enforcer.regex.caching import cached
from enforcer.regex.syntax import names_in
from enforcer.spelling import JSON, RAW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.regex import Regex
    from enforcer.spelling import Spelling


class Sheet:
    """Collects rules and terminals; equal ones are written once.

    Args:
        strings: how strings and names of properties are spelled; one of these ways.
        avoided: what no string may hold as it is written, for it would end what is around it.

    """

    def __init__(self, strings: Sequence[Spelling] = (JSON,), avoided: Sequence[str] = ()) -> None:
        self.lines: list[str] = []
        self._spellings = strings
        self._avoided = avoided
        self._holding = holding(avoided)
        self._only = strings[0] if len(strings) == 1 and not avoided else None
        self._terminals: dict[str, str] = {}
        self._rules: dict[str, str] = {}
        self._named: set[str] = set()

    def line(self, text: str) -> None:
        """Add a line to the grammar."""
        self.lines.append(text)

    def rule(self, body: str, kind: str) -> str:
        """Return the name of the plain rule with this body."""
        name = self._rules.get(body)
        if name is None:
            name = self._rules[body] = f"{kind}{len(self._rules)}"
            self.lines.append(f"{name}:{body}")
        return name

    def fresh(self, kind: str) -> str:
        """Return a rule name that is not taken."""
        name = f"{kind}{len(self._rules)}"
        self._rules[name] = name
        return name

    def terminal(self, expression: str) -> str:
        """Return the name of the terminal with this expression."""
        name = self._terminals.get(expression)
        if name is None:
            name = self._terminals[expression] = f"T{len(self._terminals)}"
            self.lines.append(f"{name}:{expression}")
        return name

    def text(self, regex: Regex) -> str:
        """Return the terminal of a language of texts that stand as they are."""
        return self.terminal(self._expression(regex, RAW))

    def strings(self, regex: Regex, but: Sequence[str] = ()) -> tuple[str, ...]:
        """Return terminals that together are a string language, two where that is faster.

        Args:
            regex: the language.
            but: strings that are left out of it.

        """
        found = [regex]
        if self._avoided and len(self._spellings) == 1:
            some = quick(regex, self._avoided)
            found += [] if some is None else [some]
        return tuple(self.string_but(x, but) if but else self.string(x) for x in found)

    def name(self, *names: str) -> str:
        """Return the terminal of one of some strings.

        It is made of theirs, which properties have anyway: to read a name takes the engine far
        longer than to look one up.
        """
        if len(names) == 1:
            return self._name(names[0])
        return self.terminal("|".join([self._name(each) for each in names]))

    def _name(self, name: str) -> str:
        if self._only is not None:
            return self.terminal(_written_name(name, self._only))
        if len(self._spellings) > 1 or any(each in name for each in self._avoided):
            return self.string(literal(name))
        return self.terminal(_written_name(name, *self._spellings))

    def string_but(self, regex: Regex, names: Sequence[str]) -> str:
        """Return the terminal of a string language without some names."""
        return self.terminal(f"{self.string(regex)}&~{self.name(*names)}")

    def string(self, regex: Regex) -> str:
        """Return the terminal of a string language."""
        if len(self._spellings) == 1:
            text = self._expression(regex, *self._spellings)
        else:
            text = "|".join(f"({self._expression(regex, each)})" for each in self._spellings)
        if self._avoided and without(regex, self._holding) is not regex:
            text = f"({text})&~{expression(self._holding, RAW)}"
        return self.terminal(text)

    def _expression(self, regex: Regex, spelling: Spelling) -> str:
        for language in names_in(regex) if regex.boolean else ():
            for name, line in definitions(language, spelling).items():
                if name not in self._named:
                    self._named.add(name)
                    self.line(line)
        return _cached(regex, spelling)


@lru_cache(maxsize=8192)
def _written_name(name: str, spelling: Spelling) -> str:
    return expression(literal(name), spelling)


@cached
def _cached(regex: Regex, spelling: Spelling) -> str:
    return expression(regex, spelling)
