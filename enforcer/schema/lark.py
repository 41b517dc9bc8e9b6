"""The finished grammar as text for llguidance.

Owns: rules and terminals. Every JSON token (a string, a number, a bracket with the
white space around it) is one terminal, whichever value it belongs to, so all
alternatives that are alive at a point cut the text at the same places, and the lexer's
longest match loses none of them. Must not know: schemas, how values were combined,
vocabularies, matchers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.regex import to_json_literal
from enforcer.schema.lark_arrays import Arrays
from enforcer.schema.lark_objects import Objects
from enforcer.schema.number_text import NotSpellableError, spelling

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema.nodes import ArgumentGrammar, Value
    from enforcer.schema.numbers import NumberSet

# One space, or a line break and its indentation: what compact, default and indented
# printers write between two tokens, and nothing endless.
WHITE_SPACE = r" |\r?\n[ \t]{0,64}"
_HEADER = rf"""start: value_root | WS value_root
WS: /{WHITE_SPACE}/
OPEN_OBJECT: "{{" WS?
CLOSE_OBJECT: WS? "}}"
OPEN_ARRAY: "[" WS?
CLOSE_ARRAY: WS? "]"
COMMA: WS? "," WS?
COLON: WS? ":" WS?
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
        return f"{_HEADER}value_root: {top}\n" + "\n".join(self._lines) + "\n"

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
        options.extend(self._objects.rules(value.objects))
        options.extend(self._arrays.rule(array) for array in value.arrays)
        self.line(f"v{formula}: {' | '.join(options)}")

    def line(self, text: str) -> None:
        """Add a line to the grammar."""
        self._lines.append(text)

    def rule(self, body: str, kind: str) -> str:
        """Return the name of the plain rule with this body."""
        name = self._rules.get(body)
        if name is None:
            name = self._rules[body] = f"{kind}{len(self._rules)}"
            self.line(f"{name}: {body}")
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
            self.line(f"{name}: {expression}")
        return name

    def string(self, regex: Regex) -> str:
        """Return the terminal of a string language."""
        return self.terminal(to_json_literal(regex))

    def _scalar(self, value: Value) -> str | None:
        """Return the symbol of all that is one terminal long."""
        options = []
        if value.strings is not None:
            options.append(self.string(value.strings))
        if value.numbers:
            options.append(self.terminal(self._numbers(value.numbers)))
        words = [f'"{word}"' for word in self._words(value)]
        if words:
            options.append(self.terminal(" | ".join(words)))
        if not options:
            return None
        return options[0] if len(options) == 1 else self.rule(" | ".join(options), "s")

    @staticmethod
    def _words(value: Value) -> list[str]:
        words = ["null"] if value.null else []
        words.extend("true" if each else "false" for each in sorted(value.booleans))
        return words

    def _numbers(self, sets: tuple[NumberSet, ...]) -> str:
        try:
            return " | ".join(f"({spelling(each)})" for each in sets)
        except NotSpellableError:
            raise UnsupportedSchema(
                (
                    Problem(
                        "$",
                        "multipleOf",
                        "only divisors that divide a power of ten, whole or decimal, can be "
                        "enforced; list the values in an `enum`",
                    ),
                )
            ) from None


def to_lark(grammar: ArgumentGrammar) -> str:
    """Write a grammar for llguidance; see `Writer.text` for what it raises."""
    return Writer(grammar).text()
