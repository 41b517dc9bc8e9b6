"""The finished grammar as text for llguidance.

Owns: rules and terminals. Every JSON token (a string, a number, a bracket with the
white space around it) is one terminal, whichever value it belongs to, so all
alternatives that are alive at a point cut the text at the same places, and the lexer's
longest match loses none of them. Must not know: schemas, how values were combined,
vocabularies, matchers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex import ANY, either, literal, to_json_literal
from enforcer.regex.syntax import Complement, Intersection
from enforcer.schema.division_text import divided
from enforcer.schema.lark_arrays import Arrays
from enforcer.schema.lark_objects import Objects
from enforcer.schema.multiple_text import NotSpellableError
from enforcer.schema.number_text import spelling
from enforcer.schema.remainder_text import definitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.regex import Regex
    from enforcer.schema.nodes import ArgumentGrammar, Value
    from enforcer.schema.numbers import NumberSet

# One space, or a line break and its indentation: what compact, default and indented
# printers write between two tokens, and nothing endless.
WHITE_SPACE = r" |\r?\n[ \t]{0,64}"
# The engine takes a third of a microsecond to read each symbol, and as much for each blank
# between two, so this is terse.
_HEADER = rf"""WS:/{WHITE_SPACE}/
OPEN_OBJECT:"{{"WS?
CLOSE_OBJECT:WS?"}}"
COMMA:WS?","WS?
COLON:WS?":"WS?
"""
_ARRAY_HEADER = """OPEN_ARRAY:"["WS?
CLOSE_ARRAY:WS?"]"
"""


class Writer:
    """Collects rules and terminals; equal ones are written once."""

    def __init__(self, grammar: ArgumentGrammar) -> None:
        self.grammar = grammar
        self._lines: list[str] = []
        self._terminals: dict[str, str] = {}
        self._rules: dict[str, str] = {}
        self._values: dict[int, str] = {}
        self._pending: list[int] = []
        self._shared: set[str] = set()
        self._objects = Objects(self)
        self._arrays = Arrays(self)

    def text(self) -> str:
        """Write the whole grammar.

        Raises:
            UnsupportedSchema: a set of numbers that has no bounded terminal, or more
                properties to keep apart than fit.

        """
        top = self.value(self.grammar.root)
        while self._pending:
            self._define(self._pending.pop())
        arrays = _ARRAY_HEADER if self._arrays.used else ""
        return f"start:{top}|WS {top}\n{_HEADER}{arrays}" + "\n".join(self._lines) + "\n"

    def value(self, formula: int) -> str:
        """Return the symbol of a value grammar, to be defined if it is new."""
        name = self._values.get(formula)
        if name is None:
            found = self.grammar.definitions[formula]
            scalar = self._scalar(found)
            if scalar is not None and not (found.arrays or found.objects):
                name = scalar
            else:
                name = f"v{formula}"
                self._pending.append(formula)
            self._values[formula] = name
        return name

    def _define(self, formula: int) -> None:
        value = self.grammar.definitions[formula]
        options = []
        scalar = self._scalar(value)
        if scalar is not None:
            options.append(scalar)
        options.extend(self._objects.bodies(value.objects, dict(value.cells)))
        options.extend(self._arrays.body(array) for array in value.arrays)
        self.line(f"v{formula}:{'|'.join(options)}")

    def line(self, text: str) -> None:
        """Add a line to the grammar."""
        self._lines.append(text)

    def rule(self, body: str, kind: str) -> str:
        """Return the name of the plain rule with this body."""
        name = self._rules.get(body)
        if name is None:
            name = self._rules[body] = f"{kind}{len(self._rules)}"
            self.line(f"{name}:{body}")
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
            self.line(f"{name}:{expression}")
        return name

    def string(self, regex: Regex) -> str:
        """Return the terminal of a string language."""
        return self.terminal(_literals(regex))

    def name(self, name: str) -> str:
        """Return the terminal of one string."""
        return self.terminal(_name(name))

    def any_name(self, names: Sequence[str]) -> str:
        """Return the terminal of one of some strings."""
        return self.string(either(*map(literal, names)))

    def string_but(self, regex: Regex, names: Sequence[str]) -> str:
        """Return the terminal of a string language without some names."""
        return self.terminal(f"{self.string(regex)}&~{self.any_name(names)}")

    def _scalar(self, value: Value) -> str | None:
        """Return the symbol of all that is one terminal long."""
        terminals: list[str] = []
        rules: list[str] = []
        if value.strings is not None:
            terminals.append(self.string(value.strings))
        if value.numbers:
            spelled, rules = self._numbers(value.numbers)
            if spelled:
                terminals.append(self.terminal(spelled))
        words = _words(value)
        if words:
            terminals.append(f"/{words}/" if terminals else self.terminal(f"/{words}/"))
        if len(terminals) > 1:
            terminals = [self.terminal("|".join(terminals))]
        options = [*terminals, *rules]
        if not options:
            return None
        return options[0] if len(options) == 1 else self.rule("|".join(options), "s")

    def _numbers(self, sets: tuple[NumberSet, ...]) -> tuple[str, list[str]]:
        """Return the terminal expression, and further symbols, of sets of numbers."""
        spelled, symbols = [], []
        for each in sets:
            try:
                spelled.append(spelling(each, shared=True))
            except NotSpellableError:
                symbols.append(self.rule(divided(each), "n"))
        expression = spelled[0] if len(spelled) == 1 else "|".join(f"({x})" for x in spelled)
        for line in definitions(expression) if "_" in expression else ():
            if line not in self._shared:
                self._shared.add(line)
                self.line(line)
        return expression, symbols


def _words(value: Value) -> str:
    words = ["null"] if value.null else []
    words.extend("true" if each else "false" for each in sorted(value.booleans))
    return "|".join(words)


@lru_cache(maxsize=8192)
def _name(name: str) -> str:
    return _literals(literal(name))


@lru_cache(maxsize=1024)
def _literals(regex: Regex) -> str:
    """Write a string language with its quotes inside every operand.

    Only then does llguidance see that most tokens are prefixes of a member, and takes them
    from its tables instead of trying each: 1,300 against 35 microseconds a mask.
    """
    if isinstance(regex, Complement):
        return f"({to_json_literal(ANY)}) & ~({_literals(regex.part)})"
    if isinstance(regex, Intersection):
        return " & ".join(f"({_literals(part)})" for part in regex.parts)
    return to_json_literal(regex)


def to_lark(grammar: ArgumentGrammar) -> str:
    """Write a grammar for llguidance; see `Writer.text` for what it raises."""
    return Writer(grammar).text()
