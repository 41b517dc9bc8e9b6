"""What tables have for a layout of pairs: keys, raw values, and the text around them.

All text around keys and values is a regular language over characters, in which a lone surrogate
stands for each marker of the layout (`regex.constructors.marker`). An automaton that accepts ends
its part: the text up to a key, the key with the symbol behind it, what stands before the value, the
value with all that ends it. So a delimiter that has begun never leads nowhere.

Owns: these languages, and which of them a value has. Must not know: nodes of JSON, arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.layouts import Escape
from enforcer.layouts.pattern import ID, Space
from enforcer.layouts.texts import OPTIONAL_SPACE, holding, written_key
from enforcer.machine.automata import automaton_of
from enforcer.machine.key_tokens import OF_MARKER
from enforcer.machine.layout_subset import LayoutSubset
from enforcer.machine.lengths import Bounded, apart
from enforcer.machine.parts import RAW_ENDING, RawTypes
from enforcer.regex import inverse, literal
from enforcer.regex.constructors import EPSILON, concat, marker
from enforcer.regex.syntax import Literal
from enforcer.schema.grammar import NEVER, Value, fresh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from enforcer.layouts import BoundLayout
    from enforcer.layouts.pattern import Piece
    from enforcer.machine.automata import Automaton
    from enforcer.machine.layout_subset import Option
    from enforcer.machine.lengths import Language
    from enforcer.machine.parts import Origin, TableBuilder
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ValueId

AUTOMATA = 4  # in `kernel.Tables.pairs`; the symbols around keys follow


@dataclass(frozen=True, slots=True)
class RawLanguages:
    """The texts of a raw value, from its type or first character to the end of its delimiter.

    Attributes:
        scalars: languages of whole values, each with the values that it spells, as bits.
        openings: languages that end with the bracket that opens JSON, in the same way.
        nested: for each value its arrays and objects.

    """

    scalars: dict[Language, int] = field(default_factory=dict)
    openings: dict[Language, int] = field(default_factory=dict)
    nested: list[ValueId] = field(default_factory=list)


class Pairs:
    """Writes keys and raw values of one grammar.

    Args:
        grammar: a finished one.
        layout: of pairs.
        parts: of its tables.

    Attributes:
        definitions: of the values that the layout can write.
        root: the number of the whole value.
        parts: of the tables.

    Raises:
        UnsupportedSchema: a declared name that cannot be written, or nothing is left.

    """

    def __init__(self, grammar: ArgumentGrammar, layout: BoundLayout, parts: TableBuilder) -> None:
        self._spellable = LayoutSubset(grammar, layout)
        self._layout = layout
        self.parts = parts
        self.definitions, self.root = self._spellable.grammar()
        self._next = fresh(self.definitions)
        self._nested: dict[Value, ValueId] = {}
        self.markers = sorted(layout.ids)
        self._stop = self._text(layout.part("value", None))
        self._first = "type" if self._spellable.typed else "value"
        end, *rest = layout.part("key", self._first)
        self._key_end = self._text((end,))
        self._behind_key, self._before = _at_last_symbol(rest)

    def around(self) -> tuple[int, ...]:
        """Return what `kernel.Tables.pairs` has: automata, and the symbols next to keys."""
        around = self._text(self._layout.part(None, "key")), self._text(self._layout.close)
        number = self._raw_automaton
        behind_key = -1
        if self._behind_key:
            behind_key, _ = number(self._text(self._behind_key))
        tail = concat(OPTIONAL_SPACE, self._stop)
        automata = number(*around)[0], behind_key, number(tail)[0], self._stops()
        opening = [x for x in self._layout.part(None, "key") if isinstance(x, int)][-1]
        symbols = opening, *self._layout.part("key", self._first)[:1], *self._layout.stop
        return *automata, *(OF_MARKER if x >= ID else x for x in symbols if isinstance(x, int))

    def _stops(self) -> int:
        """Return the number of the automaton of bytes without a delimiter; -1 without JSON."""
        if not self._nested:
            return -1
        avoided = (each.encode().decode("latin-1") for each in self._layout.avoided)
        return self._raw_automaton(inverse(holding([*avoided])))[0]

    # Keys, as `objects` asks for them

    def text(self, name: str) -> str:
        """Return the characters of a key, with the symbol that ends it."""
        end = self._key_end
        if not isinstance(end, Literal):
            raise TypeError("a key without a symbol behind it")
        return self._layout.layout.key.write(name) + end.text

    def node(self, name: str | None, values: tuple[ValueId, ...], origin: Origin) -> int:
        """Return the number of the node of a property's raw value."""
        types = None if self._spellable.typed else self._spellable.types_of(name)
        return self.parts.node(values, origin, RawTypes(types))

    def automaton(self, names: tuple[Regex, ...]) -> tuple[int, Automaton]:
        """Return the automaton of undeclared keys, and its number."""
        if self._layout.layout.key is Escape.NONE:
            counted = (apart(each, is_alone=False) for each in names)
            return self._raw_automaton(*(x._replace(behind=self._key_end) for x in counted))
        written = (concat(written_key(each, self._layout), self._key_end) for each in names)
        return self._raw_automaton(*written)

    def never_run_out(self, names: tuple[Regex, ...]) -> bool:
        """Return whether whatever a key begins with, infinitely many keys of its kind do."""
        return automaton_of(names).never_runs_out

    # Values

    def languages(self, raw: RawTypes, values: Sequence[ValueId]) -> RawLanguages:
        """Return the texts of some values.

        Raises:
            TooLargeError: numbers have a divisor that is too large.

        """
        found = RawLanguages()
        for at, value in enumerate(values):
            nested = Value()
            for option in self._spellable.options_of(raw.types, value):
                before = self._before_value(option)
                for part in option.scalars:
                    _add(found.scalars, part._replace(before=before, behind=self._stop), at)
                if option.nested is not None:
                    nested = nested._replace(
                        arrays=nested.arrays + option.nested.arrays,
                        objects=nested.objects + option.nested.objects,
                    )
                    for bracket in _brackets(option.nested):
                        opening = concat(before, OPTIONAL_SPACE, bracket)
                        found.openings[opening] = found.openings.get(opening, 0) | 1 << at
            found.nested.append(self._number(nested) if nested != Value() else NEVER)
        return found

    def _before_value(self, option: Option) -> Regex:
        # White space between the last symbol and a value is read as the value's own.
        if option.type is None:
            return EPSILON
        behind, _ = _at_last_symbol(self._layout.part("type", "value"))
        return concat(self._text(self._before), literal(option.type), self._text(behind))

    def _number(self, nested: Value) -> ValueId:
        if nested not in self._nested:
            self.definitions[self._next] = nested
            self._nested[nested] = self._next
            self._next = fresh({self._next: nested})
        return self._nested[nested]

    def _raw_automaton(self, *languages: Language) -> tuple[int, Automaton]:
        """Return the automaton of some languages, and its number; lengths are as they are."""
        followed = (x if isinstance(x, Bounded) else Bounded(x) for x in languages)
        return self.parts.automaton(tuple(followed), RAW_ENDING)

    def _text(self, pieces: Iterable[Piece]) -> Regex:
        return concat(*self._regexes(pieces))

    def _regexes(self, pieces: Iterable[Piece]) -> Iterator[Regex]:
        data = bytearray()
        for piece in pieces:
            if isinstance(piece, int) and piece < ID:
                data.append(piece)
                continue
            yield literal(data.decode())
            data.clear()
            if isinstance(piece, int):
                yield marker(self.markers.index(piece - ID))
            elif isinstance(piece, Space):
                yield OPTIONAL_SPACE
            else:
                raise TypeError("a field or one of some words where one text should be")
        yield literal(data.decode())


def _add(languages: dict[Language, int], part: Bounded, at: int) -> None:
    language = part if part.is_counted else part.whole
    languages[language] = languages.get(language, 0) | 1 << at


def _brackets(nested: Value) -> Iterator[Regex]:
    if nested.arrays:
        yield literal("[")
    if nested.objects:
        yield literal("{")


def _at_last_symbol(pieces: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[Piece]]:
    """Split pieces behind the last symbol: what follows has no end that shows."""
    end = max((at + 1 for at, piece in enumerate(pieces) if isinstance(piece, int)), default=0)
    return pieces[:end], pieces[end:]
