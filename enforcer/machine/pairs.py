"""Keys and raw values of a layout of pairs, with the text around them, as languages.

All text around keys and values is a regular language over characters, in which a lone surrogate
stands for each marker of the layout (`regex.constructors.marker`). An automaton that accepts ends
its part: the text up to a key; the key with the symbol behind it; the text before a value; the
value with its delimiter. So a partially matched delimiter is never a dead end.

Owns: these languages. Must not know: nodes of JSON, arrays.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.layouts import Escape
from enforcer.layouts.pattern import ID, Space
from enforcer.layouts.texts import OPTIONAL_SPACE, holding, written_key
from enforcer.machine.automata import automaton_of
from enforcer.machine.boundary_tokens import OF_MARKER
from enforcer.machine.builder import RAW_ENDING, RawTypes, TableBuilder
from enforcer.machine.layout_subset import LayoutSubset
from enforcer.machine.lengths import Bounded, apart
from enforcer.machine.objects import Keys
from enforcer.regex import inverse, literal
from enforcer.regex.constructors import EPSILON, concat, marker
from enforcer.regex.syntax import Literal
from enforcer.schema.grammar import NEVER, Value, fresh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from enforcer.layouts import BoundLayout
    from enforcer.layouts.pattern import Piece
    from enforcer.machine.automata import Automaton
    from enforcer.machine.builder import Origin
    from enforcer.machine.layout_subset import ValueForm
    from enforcer.machine.lengths import Language
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ValueId

AUTOMATA = 4  # first entries of `kernel.Tables.pairs`; the symbols around keys follow


@dataclass(frozen=True, slots=True)
class RawLanguages:
    """The texts of a raw value, from its type or first character to the end of its delimiter.

    Attributes:
        scalars: languages of whole values, each with the values that it spells, as bits.
        openings: languages that end with the bracket that opens JSON, each with its values.
        nested: for each value its arrays and objects.

    """

    scalars: defaultdict[Language, int] = field(default_factory=lambda: defaultdict(int))
    openings: defaultdict[Language, int] = field(default_factory=lambda: defaultdict(int))
    nested: list[ValueId] = field(default_factory=list)


class Pairs(Keys):
    """The keys and raw values of one grammar in a layout of pairs.

    Args:
        grammar: a finished one.
        layout: of pairs.

    Attributes:
        builder: of the grammar's tables.
        definitions: the values that the layout can write, JSON within raw values included.
        root: the number of the whole value.
        markers: the token ids of the layout's markers, ascending.

    Raises:
        UnsupportedSchema: a declared name cannot be written, or no value is left.

    """

    def __init__(self, grammar: ArgumentGrammar, layout: BoundLayout) -> None:
        super().__init__(TableBuilder())
        self._subset = LayoutSubset(grammar, layout)
        self._layout = layout
        self.definitions, self.root = self._subset.grammar()
        self._next = fresh(self.definitions)
        self._nested: dict[Value, ValueId] = {}
        self.markers = sorted(layout.ids)
        self._stop = self._text(layout.part("value", None))
        self._first = "type" if self._subset.typed else "value"
        end, *rest = layout.part("key", self._first)
        self._key_end = self._text((end,))
        self._behind_key, self._before = _at_last_symbol(rest)

    def around(self) -> tuple[int, ...]:
        """Return the array `pairs`: the numbers of `AUTOMATA`, and the symbols around keys."""
        before_key = self._layout.part(None, "key")
        number = self._raw_automaton
        behind_key = number(self._text(self._behind_key))[0] if self._behind_key else -1
        around, _ = number(self._text(before_key), self._text(self._layout.close))
        tail, _ = number(concat(OPTIONAL_SPACE, self._stop))
        automata = around, behind_key, tail, self._stops()
        opening = [x for x in before_key if isinstance(x, int)][-1]
        symbols = opening, *self._layout.part("key", self._first)[:1], *self._layout.stop
        return *automata, *(OF_MARKER if x >= ID else x for x in symbols if isinstance(x, int))

    def _stops(self) -> int:
        """Return the number of the automaton of bytes without a delimiter; -1 if none is JSON."""
        if not self._nested:
            return -1
        avoided = (each.encode().decode("latin-1") for each in self._layout.avoided)
        return self._raw_automaton(inverse(holding([*avoided])))[0]

    def text(self, name: str) -> str:
        """Return the characters of a key, with the symbol that ends it."""
        end = self._key_end
        if not isinstance(end, Literal):
            raise TypeError("a key without a symbol behind it")
        return self._layout.layout.key.write(name) + end.text

    def node(self, name: str | None, values: tuple[ValueId, ...], origin: Origin) -> int:
        """Return the number of the node of a property's raw value."""
        types = None if self._subset.typed else self._subset.types_of(name)
        return self.builder.node(values, origin, RawTypes(types))

    def automaton(self, names: tuple[Regex, ...]) -> tuple[int, Automaton]:
        """Return the number of the automaton of undeclared keys, and the automaton."""
        if self._layout.layout.key is Escape.NONE:
            counted = (apart(each, is_alone=False) for each in names)
            return self._raw_automaton(*(x._replace(behind=self._key_end) for x in counted))
        written = (concat(written_key(each, self._layout), self._key_end) for each in names)
        return self._raw_automaton(*written)

    def never_run_out(self, names: tuple[Regex, ...]) -> bool:
        """Return whether each beginning of a key is one of infinitely many of its class."""
        return automaton_of(names).never_runs_out

    def languages(self, raw: RawTypes, values: Sequence[ValueId]) -> RawLanguages:
        """Return the texts of some values.

        Args:
            raw: the types by which they are read.
            values: the numbers of the values.

        Raises:
            TooLargeError: numbers have a divisor that is too large.

        """
        found = RawLanguages()
        for at, value in enumerate(values):
            nested = Value()
            for form in self._subset.forms_of(raw.types, value):
                before = self._before_value(form)
                for part in form.scalars:
                    text = part._replace(before=before, behind=self._stop)
                    found.scalars[text if text.is_counted else text.whole] |= 1 << at
                if form.nested is not None:
                    nested = nested._replace(
                        arrays=nested.arrays + form.nested.arrays,
                        objects=nested.objects + form.nested.objects,
                    )
                    for bracket in _brackets(form.nested):
                        found.openings[concat(before, OPTIONAL_SPACE, bracket)] |= 1 << at
            found.nested.append(self._number(nested) if nested != Value() else NEVER)
        return found

    def _before_value(self, form: ValueForm) -> Regex:
        # White space between the last symbol and a value is read as the value's own.
        if form.type is None:
            return EPSILON
        behind, _ = _at_last_symbol(self._layout.part("type", "value"))
        return concat(self._text(self._before), literal(form.type), self._text(behind))

    def _number(self, nested: Value) -> ValueId:
        if nested not in self._nested:
            self.definitions[self._next] = nested
            self._nested[nested] = self._next
            self._next = fresh({self._next: nested})
        return self._nested[nested]

    def _raw_automaton(self, *languages: Language) -> tuple[int, Automaton]:
        """Return the number of the automaton of raw languages, and it; take out no lengths."""
        followed = (x if isinstance(x, Bounded) else Bounded(x) for x in languages)
        return self.builder.automaton(tuple(followed), RAW_ENDING)

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


def _brackets(nested: Value) -> Iterator[Regex]:
    if nested.arrays:
        yield literal("[")
    if nested.objects:
        yield literal("{")


def _at_last_symbol(pieces: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[Piece]]:
    """Split pieces after the last symbol; trailing optional space is no delimiter."""
    end = max((at + 1 for at, piece in enumerate(pieces) if isinstance(piece, int)), default=0)
    return pieces[:end], pieces[end:]
