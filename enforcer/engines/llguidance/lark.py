"""The finished grammar as text for llguidance.

Owns: rules and terminals. Every JSON token (a string, a number, a bracket with the
white space around it) is one terminal, whichever value it belongs to, so all
alternatives that are alive at a point cut the text at the same places, and the lexer's
longest match loses none of them. Must not know: schemas, how values were combined,
vocabularies, matchers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.engines.llguidance.division import division
from enforcer.engines.llguidance.lark_arrays import Arrays
from enforcer.engines.llguidance.lark_objects import Objects
from enforcer.engines.llguidance.sheet import Sheet
from enforcer.engines.llguidance.terminals import expression
from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import NotSpellableError
from enforcer.regex import either
from enforcer.spelling import RAW, WHITE_SPACE

if TYPE_CHECKING:
    from enforcer.numbers.sets import NumberSet
    from enforcer.schema.nodes import ArgumentGrammar, Formula, Value

# The engine takes a third of a microsecond to read each symbol, and as much for each blank
# between two, so this is terse.
_HEADER = rf"""WS:{expression(WHITE_SPACE, RAW)}
OPEN_OBJECT:"{{"WS?
CLOSE_OBJECT:WS?"}}"
COMMA:WS?","WS?
COLON:WS?":"WS?
"""
_ARRAY_HEADER = """OPEN_ARRAY:"["WS?
CLOSE_ARRAY:WS?"]"
"""


class Writer:
    """Writes the values of one grammar."""

    def __init__(self, grammar: ArgumentGrammar) -> None:
        self.grammar = grammar
        self._sheet = Sheet()
        self._values: dict[Formula, str] = {}
        self._pending: list[Formula] = []
        self._objects = Objects(self._sheet, self.value)
        self._arrays = Arrays(self._sheet, self.value)

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
        return f"start:{top}|WS {top}\n{_HEADER}{arrays}" + "\n".join(self._sheet.lines) + "\n"

    def value(self, formula: Formula) -> str:
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

    def _define(self, formula: Formula) -> None:
        value = self.grammar.definitions[formula]
        options = []
        scalar = self._scalar(value)
        if scalar is not None:
            options.append(scalar)
        options.extend(self._objects.bodies(value.objects, dict(value.cells)))
        options.extend(self._arrays.body(array) for array in value.arrays)
        self._sheet.line(f"v{formula}:{'|'.join(options)}")

    def _scalar(self, value: Value) -> str | None:
        """Return the symbol of all that is one terminal long."""
        terminals: list[str] = []
        rules: list[str] = []
        if value.strings is not None:
            terminals.append(self._sheet.string(value.strings))
        if value.numbers:
            numbers, rules = self._numbers(value.numbers)
            terminals.extend(numbers)
        words = _words(value)
        if words:
            terminals.append(f"/{words}/" if terminals else self._sheet.terminal(f"/{words}/"))
        if len(terminals) > 1:
            terminals = [self._sheet.terminal("|".join(terminals))]
        options = [*terminals, *rules]
        if not options:
            return None
        return options[0] if len(options) == 1 else self._sheet.rule("|".join(options), "s")

    def _numbers(self, sets: tuple[NumberSet, ...]) -> tuple[list[str], list[str]]:
        """Return the terminal of sets of numbers, if any, and symbols of those that have none."""
        spelled, symbols = [], []
        for each in sets:
            try:
                spelled.append(number_texts(each))
            except NotSpellableError:
                symbols.append(self._sheet.rule(division(each), "n"))
        return ([self._sheet.text(either(*spelled))] if spelled else []), symbols


def _words(value: Value) -> str:
    words = ["null"] if value.null else []
    words.extend("true" if each else "false" for each in sorted(value.booleans))
    return "|".join(words)


def to_lark(grammar: ArgumentGrammar) -> str:
    """Write a grammar for llguidance; see `Writer.text` for what it raises."""
    return Writer(grammar).text()
