"""The finished grammar as text for llguidance.

Owns: rules and terminals. Every JSON token (a string, a number, a bracket with the
white space around it) is one terminal, whichever value it belongs to, so all
alternatives that are alive at a point cut the text at the same places, and the lexer's
longest match loses none of them. Must not know: schemas, how values were combined,
vocabularies, matchers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from enforcer.engines.llguidance.framing import JsonFraming, PythonFraming, TaggedFraming
from enforcer.engines.llguidance.lark_arrays import Arrays
from enforcer.engines.llguidance.lark_objects import Objects
from enforcer.engines.llguidance.sheet import Sheet
from enforcer.engines.llguidance.terminals import expression
from enforcer.layouts import BoundLayout, Layout, LayoutKind, WhiteSpace
from enforcer.machine.spellable import Spellable
from enforcer.numbers.division import divided
from enforcer.numbers.languages import spelled_sets
from enforcer.numbers.sets import INTEGERS, REALS
from enforcer.regex import ANY
from enforcer.regex.charset import ALL
from enforcer.regex.syntax import Chars, Repeat
from enforcer.schema.grammar import NEVER, fresh
from enforcer.spelling import JSON, PYTHON, RAW, WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.engines.llguidance.framing import Framing
    from enforcer.numbers.division import Multiples
    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ArgumentGrammar, Value, ValueId

# The engine takes a third of a microsecond to read each symbol, and as much for each blank
# between two, so this is terse.
_SPACES = {
    WhiteSpace.NONE: '""',
    WhiteSpace.USUAL: expression(WHITE_SPACE, RAW),
    WhiteSpace.NO_LINE_BREAKS: '" "',
}
_HEADER = """
OPEN_OBJECT:"{"WS?
CLOSE_OBJECT:WS?"}"
COMMA:WS?","WS?
COLON:WS?":"WS?
"""
# What the words are; parsers of Python's literals know JSON's too.
_JSON = {None: "null", False: "false", True: "true"}
_PYTHON = {None: "None|null", False: "False|false", True: "True|true"}
_USUAL = BoundLayout(Layout())
_LONG = 64  # characters
_ARRAY_HEADER = """OPEN_ARRAY:"["WS?
CLOSE_ARRAY:WS?"]"
"""


class Writer:
    """Writes the values of one grammar.

    Args:
        grammar: a finished one.
        layout: how the text is laid out; None for JSON with the usual white space.

    """

    def __init__(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        self.definitions = dict(grammar.definitions)
        self.root = grammar.root
        self.layout = layout or _USUAL
        kind = self.layout.layout.kind
        self._words = _PYTHON if kind is LayoutKind.PYTHON else _JSON
        self._sheet = Sheet(PYTHON if kind is LayoutKind.PYTHON else (JSON,), self.layout.avoided)
        self._values: dict[ValueId, str] = {}
        self._parts: dict[Value, ValueId] = {}
        self._pending: list[tuple[ValueId, str | None]] = []  # with what `_scalar` gives
        self._objects = Objects(self._sheet, JsonFraming(self._sheet, self.value))
        self._arrays = Arrays(self._sheet, self.value)
        self._spellable = Spellable(grammar, self.layout) if kind is not LayoutKind.JSON else None

    def text(self) -> str:
        """Write the whole grammar.

        Raises:
            UnsupportedSchema: a set of numbers that has no bounded terminal, more properties to
                keep apart than fit, or nothing that the layout can write.

        """
        start = self._start()
        while self._pending:
            self._define(*self._pending.pop())
        header = f"WS:{_SPACES[self.layout.layout.white_space]}{_HEADER}"
        if self._arrays.used:
            header += _ARRAY_HEADER
        if self.layout.layout.kind is LayoutKind.PYTHON:
            header += PythonFraming.header
        return f"start:{start}\n{header}" + "\n".join(self._sheet.lines) + "\n"

    def _start(self) -> str:
        if self._spellable is None:
            top = self.value(self.root)
            return f"{top}|WS {top}"
        self.definitions, self.root = self._spellable.grammar()
        framing: Framing
        if self.layout.layout.kind is LayoutKind.PYTHON:
            framing = PythonFraming(self._sheet, self.value)
        else:
            framing = TaggedFraming(self._sheet, self._spellable, self._part, self._divided)
        whole = self.definitions[self.root]
        return "|".join(Objects(self._sheet, framing).bodies(whole.objects, dict(whole.cells)))

    def _part(self, value: Value) -> str:
        """Return the symbol of a value that is a part of one of the grammar's."""
        if value not in self._parts:
            number = fresh(self.definitions)
            self.definitions[number] = value
            self._parts[value] = number
        return self.value(self._parts[value])

    def _divided(self, sets: Iterable[NumberSet]) -> list[str]:
        """Return the symbols of sets of numbers that have no terminal."""
        return [self._sheet.rule(_multiples(each), "n") for each in sets]

    def value(self, number: ValueId) -> str:
        """Return the symbol of a value, to be defined if it is new."""
        name = self._values.get(number)
        if name is None:
            found = self.definitions[number]
            scalar = self._scalar(found)
            if scalar is not None and not (found.arrays or found.objects):
                name = scalar
            else:
                name = f"v{number}"
                self._pending.append((number, scalar))
            self._values[number] = name
        return name

    def _define(self, number: ValueId, scalar: str | None) -> None:
        value = self.definitions[number]
        options = [] if scalar is None else [scalar]
        options.extend(self._objects.bodies(value.objects, dict(value.cells)))
        options.extend(self._arrays.body(array) for array in value.arrays)
        self._sheet.line(f"v{number}:{'|'.join(options)}")

    def _scalar(self, value: Value) -> str | None:
        """Return the symbol of all that is one terminal long."""
        terminals: list[str] = []
        rules: list[str] = []
        if value.strings is not None:
            first, *rules = self._sheet.strings(value.strings)
            terminals.append(first)
        if value.numbers:
            numbers, hard = spelled_sets(value.numbers)
            if numbers is not None:
                terminals.append(self._sheet.text(numbers))
            rules.extend(self._divided(hard))
        if value.null or value.booleans:
            words = self._words_of(value)
            terminals.append(f"/{words}/" if terminals else self._sheet.terminal(f"/{words}/"))
        if len(terminals) > 1:
            terminals = [self._sheet.terminal("|".join(terminals))]
        options = [*terminals, *rules]
        if not options:
            return None
        return options[0] if len(options) == 1 else self._sheet.rule("|".join(options), "s")

    def _words_of(self, value: Value) -> str:
        words = [self._words[None]] if value.null else []
        words.extend(self._words[each] for each in sorted(value.booleans))
        return "|".join(words)


def _multiples(numbers: NumberSet) -> str:
    """Write multiples of a large number as a rule: llguidance's own arithmetic follows them.

    Raises:
        UnsupportedSchema: neither the divisor nor the bounds are such that this is exact.

    """
    # llguidance knows no negative multiples, so those are a sign and their opposite.
    signs = {False: "", True: '"-" '}
    return " | ".join(f"{signs[x.negative]}%json {_json_schema(x)}" for x in divided(numbers))


def _json_schema(numbers: Multiples) -> str:
    return json.dumps(
        {
            "type": "integer" if numbers.whole else "number",
            "exclusiveMinimum" if numbers.low_open else "minimum": numbers.low,
            "exclusiveMaximum" if numbers.high_open else "maximum": numbers.high,
            "multipleOf": numbers.multiple,
            "x-guidance": {"whitespace_flexible": False},
        }
    )


def to_lark(grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> str:
    """Write a grammar for llguidance; see `Writer.text` for what it raises."""
    return Writer(grammar, layout).text()


def write_usual() -> None:
    """Write what most grammars have: some 9 ms, once, for which the first call need not wait."""
    sheet = Sheet()
    sheet.strings(ANY, ("a",))
    for each in (INTEGERS, REALS):
        texts, _ = spelled_sets((each,))
        if texts is not None:
            sheet.text(texts)


def has_patterns(grammar: ArgumentGrammar) -> bool:
    """Tell whether strings or names may go on for long, and not with any character."""
    return any(map(_is_patterned, _languages(grammar)))


def has_bounds(grammar: ArgumentGrammar) -> bool:
    """Tell whether strings or names may hold any character, and have a greatest length."""
    return any(map(_is_bounded, _languages(grammar)))


def _languages(grammar: ArgumentGrammar) -> set[Regex]:
    """List those of strings and of names that are not declared."""
    values = grammar.definitions.values()
    found = {value.strings for value in values if value.strings is not None}
    shapes = (shape for value in values for shape in value.objects)
    found.update(names for shape in shapes for names, child in shape.classes if child != NEVER)
    return found


def has_divisors(grammar: ArgumentGrammar) -> bool:
    """Tell whether numbers must or must not be multiples of others than 1."""
    sets = (each for value in grammar.definitions.values() for each in value.numbers)
    return any({each.multiple, *each.not_multiples} - {None, 1} for each in sets)


def _is_patterned(language: Regex) -> bool:
    is_long = language.longest is None or language.longest > _LONG
    return is_long and not _holds_any(language)


def _is_bounded(language: Regex) -> bool:
    return language.longest is not None and _holds_any(language)


def _holds_any(language: Regex) -> bool:
    """Tell whether all that is asked of a text is its length."""
    return isinstance(language, Repeat) and language.part == Chars(ALL)
