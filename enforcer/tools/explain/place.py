"""Places in an argument text: what is open there and what may come, by the machine's state.

The machine follows the text byte by byte. Its state has the objects and arrays that are open, with
the shapes that still fit, and the values and names that may come; the debug section of its tables
has the parts of the grammar that these bits stand for, and `Provenance` their paths in the schema.
Must not know: words, turns.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache
from os.path import commonprefix
from typing import TYPE_CHECKING, TypeVar, cast

from enforcer.layouts import ID, BoundLayout, LayoutKind, Trim, Types
from enforcer.layouts.declared import ONLY_STRING, STRING, read_value, types_of_properties
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema.grammar import NEVER, NOTHING, ArrayShape, ObjectShape, Value, ValueId
from enforcer.tools.explain.words import quoted, shown, spelled
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from enforcer.layouts.pattern import Piece
    from enforcer.machine.tables import DebugSection
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.provenance import Provenance, Sources

    # With the subschemas that they come from.
    Shapes = list[tuple[ArrayShape | ObjectShape, Sources]]
    Values = list[tuple[Value, Sources]]

_T = TypeVar("_T")
# Those of the kernel.
Phase = IntEnum(
    "Phase",
    "BEGIN OBJECT_OPEN OBJECT_OPEN_SPACED IN_NAME NAMED AFTER OBJECT_COMMA IN_STRING IN_BARE "
    "ARRAY_OPEN ARRAY_OPEN_SPACED DONE IN_ANY IN_WRITTEN IN_ARGUMENT IN_RAW IN_KEY BETWEEN "
    "BEHIND_KEY IN_VALUE BEHIND_NESTED",
    start=0,
)
IN_NAMES = {Phase.IN_NAME, Phase.IN_KEY, Phase.IN_ARGUMENT}
NAMES_DUE = {Phase.OBJECT_OPEN, Phase.OBJECT_COMMA}  # behind `{` and spaces `}` alone may come
VALUES_DUE = {Phase.BEGIN, Phase.ARRAY_OPEN}
IN_VALUES = {Phase.IN_STRING, Phase.IN_BARE, Phase.IN_VALUE}
# The field of a value by the type that a layout writes.
_FIELDS = {"null": "null", "boolean": "booleans", "number": "numbers", STRING: "strings"}
_FIELDS |= {"array": "arrays", "object": "objects"}


_vocabulary = lru_cache(8)(Vocabulary.of_bytes)
_tree = lru_cache(8)(bound_vocabulary)


class Outline:
    """A grammar whose texts are followed byte by byte, with the subschemas of its values.

    Args:
        traced: the grammar, and the sources of its values.
        layout: of the texts.
        names: of all special tokens.

    Raises:
        UnsupportedSchema: the machine cannot hold the grammar.

    """

    def __init__(
        self, traced: tuple[ArgumentGrammar, Provenance], layout: BoundLayout, names: Iterable[str]
    ) -> None:
        grammar, self.provenance = traced
        self.vocabulary = _vocabulary(tuple(names))
        own = layout.layout.bind(self.vocabulary.controls.get, layout.writable)
        self.layout = replace(layout, pair=own.pair, close=own.close)
        self.types = types_of_properties(grammar.schema)
        tables = tables_of(grammar, self.layout, is_explained=True)
        self.debug = cast("DebugSection", tables.debug)
        is_raw, is_python = tables.is_raw and not tables.is_python, tables.is_python
        tree = _tree(self.vocabulary, is_raw=is_raw, is_python=is_python)
        self.machine = MachineGrammar(tables, tree)
        self.spans = tables.arrays["trie_low"], tables.arrays["trie_high"]

    def show(self, symbols: Iterable[int]) -> str:
        """Show symbols in words."""
        return shown(spelled(symbols, self.vocabulary.token_bytes))


class BytewiseText:
    """A text that the machine follows byte by byte; questions leave it as it is."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.machine = outline.machine.matcher()
        self.states = [self._state()]
        self.symbols: list[int] = []

    def _state(self) -> tuple[int, ...]:
        """Return the phase, the depth, whether the text may end, and the machine's own state."""
        state, _, frames = self.machine.open_values()
        return state[0], len(frames), self.machine.is_accepting(), *state

    def extend(self, symbols: Iterable[int]) -> int:
        """Advance by the longest legal prefix of symbols; return its length."""
        before = len(self.symbols)
        for symbol in symbols:
            if not self.machine.accept(symbol if symbol < ID else symbol - ID):
                break
            self.symbols.append(symbol)
            self.states.append(self._state())
        return len(self.symbols) - before

    def become(self, symbols: list[int]) -> bool:
        """Change to the longest legal prefix of symbols; return whether it is all."""
        same = len(commonprefix((self.symbols, symbols)))  # noqa: RUF071 - of numbers
        self._shorten(len(self.symbols) - same)
        return self.extend(symbols[same:]) == len(symbols) - same

    def _shorten(self, count: int) -> None:
        self.machine.rollback(count)
        del self.symbols[len(self.symbols) - count :], self.states[len(self.states) - count :]

    @contextmanager
    def gone_on(self, symbols: Sequence[int]) -> Iterator[bool]:
        """Advance by the longest legal prefix of symbols; yield whether it is all; undo."""
        count = self.extend(symbols)
        try:
            yield count == len(symbols)
        finally:
            self._shorten(count)

    def rest(self, delimiter: Sequence[int], phase: int | None = None) -> Sequence[int]:
        """Return the rest of a delimiter that has perhaps been begun; empty if it may not come.

        Args:
            delimiter: changes the phase, closes an object or array, or ends the text.
            phase: begins behind it; None for any.

        """
        now = self.states[-1][:3]
        for at in reversed(range(len(delimiter))):
            with self.gone_on(delimiter[at:]) as is_legal:
                then = self.states[-1][:3]
                if is_legal and then != now and phase in {None, then[0]}:
                    return delimiter[at:]
        return ()

    def undeclared(self, byte: int) -> int:
        """Return the state of undeclared names behind a byte; -1 if it begins none."""
        with self.gone_on([byte]):
            return self.states[-1][6] if self.states[-1][0] in IN_NAMES else -1


class TextPlace:
    """The present place in a text.

    Attributes:
        phase: of the machine.
        is_complete: whether the text may end.
        keys: the present member of each open object and array, the outermost first.
        shapes: those that the innermost one may still have.
        values: those of which one is due or has been begun.
        names: the declared names that may come, or be the one that has been begun.
        is_open: whether an undeclared one may.
        begun: what has been begun, as it is written.
        typed: the whole characters of a string or name, as they are read; None if it is neither.
        word: those of a number or word; None if it is neither.
        part: the bytes of a character that has been begun.
        is_typed: whether the type of a value has been written, if it is.

    """

    def __init__(self, text: BytewiseText) -> None:
        self._outline, self._machine = text.outline, text.machine
        self.phase, depth, is_complete = text.states[-1][:3]
        self.is_complete = bool(is_complete)
        self.keys: list[str | int] = []
        self.shapes: Shapes = []
        _, _, frames = self._machine.open_values()
        self._open(frames)
        self.begun, self.part, self.is_typed = "", b"", True
        self.typed: str | None = ""
        self.word: str | None = ""
        self._types = frozenset(_FIELDS)
        self._declared: frozenset[str] | None = None
        if self.phase in IN_NAMES | IN_VALUES:
            self._begin(text)
        self.names, self.is_open = set[str](), False
        if depth and not frames[0][0]:
            self._name_due(text, frames[0])

    @property
    def path(self) -> list[str | int]:
        """Names and indices that lead to the value that is due or has been begun, if one is."""
        is_inside = self.phase in VALUES_DUE | IN_VALUES | {Phase.BEHIND_KEY, Phase.BEHIND_NESTED}
        return self.keys if is_inside else self.keys[:-1]

    def readable(self, value: Value) -> Value:
        """Return a value without the types that the text is not read as."""
        return Value(**{_FIELDS[each]: getattr(value, _FIELDS[each]) for each in self._types})

    def is_read(self, value: str) -> bool:
        """Return whether a string, number or word, as JSON, can be written and is read as it is."""
        data = json.loads(value)
        if isinstance(data, str) and not self._goes_on(data):
            return False
        if self.phase != Phase.IN_VALUE:
            return True
        raw = data if isinstance(data, str) else value
        read = data if self._declared is None else read_value(raw, self._declared)
        is_same = json.dumps(read) == json.dumps(data)
        return is_same and not any(each in raw for each in self._outline.layout.avoided)

    def _goes_on(self, whole: str) -> bool:
        """Return whether a string or name may go on with the character that has been begun."""
        character = whole[len(self.typed or "") :][:1]
        units = character.encode("utf-16-be").hex(" ", 2).split()
        ways = character, quoted(character)[1:-1], "".join(rf"\u{unit}" for unit in units)
        return any(way.encode().lower().startswith(self.part.lower()) for way in ways)

    def _open(self, frames: Sequence[tuple[int, ...]]) -> None:
        """Find the shapes that are open, and the values of which one is due."""
        debug, provenance = self._outline.debug, self._outline.provenance
        (_, node, bits, *_), *_ = self._machine.open_values()
        found: dict[tuple[ValueId, tuple[str, ...]], Sources] = {(debug.root, ()): provenance.root}
        for level, frame in reversed([*enumerate(frames)]):
            kind = "arrays" if frame[0] else "objects"
            every = (debug.definitions.get(number, NOTHING) for number in debug.nodes[frame[1]][0])
            shapes = [shape for value in every for shape in getattr(value, kind)]
            live = {*_members(shapes, frame[3 if frame[0] else 4])}
            self.shapes = [
                (shape, sources)
                for (number, _), sources in found.items()
                for shape in getattr(debug.definitions[number], kind)
                if shape in live
            ]
            key = frame[2] if frame[0] else self._name(level, frame)
            self.keys.append(key)
            found = {}
            for shape, sources in self.shapes:
                for number in _children(shape, key):
                    below = provenance.below(sources, key, (number,))
                    found.setdefault((number, below.paths), below)
        legal = {*_members(debug.nodes[node][0], bits)}
        items = found.items()
        self.values = [(debug.definitions[x], sources) for (x, _), sources in items if x in legal]

    def _name(self, level: int, frame: tuple[int, ...]) -> str:
        """Return the name that an open object had last; empty for none."""
        names: Sequence[str] = self._outline.debug.nodes[frame[1]][1]
        if frame[2] < 0:
            names = self._machine.undeclared_names(level)[:1]
        name = names[frame[2]] if names[frame[2] :] else ""
        return name if self.keys else self._key(name)

    def _key(self, written: str) -> str:
        """Return a name of the whole object as it is read; a key has the symbol that ends it."""
        layout = self._outline.layout.layout
        return layout.key.read(written[:-1]) if layout.kind is LayoutKind.PAIRS else written

    def _name_due(self, text: BytewiseText, frame: tuple[int, ...]) -> None:
        """Find the names that may come."""
        *_, state, trie_node = text.states[-1][:8]
        names = self._outline.debug.nodes[frame[1]][1]
        legal = {*_members(names, frame[6])}
        if self.phase in IN_NAMES:
            low, high = (each[trie_node] if trie_node >= 0 else 0 for each in self._outline.spans)
            legal.intersection_update(names[low:high])
        elif self.phase in NAMES_DUE:
            state = max(map(text.undeclared, range(256)))
        read = map(self._key, legal) if len(self.keys) == 1 else legal
        self.names = {*filter(self._goes_on, read)}
        self.is_open = state >= 0

    def _begin(self, text: BytewiseText) -> None:
        """Find what has been begun."""
        layout, states, phase = self._outline.layout, text.states, self.phase
        first = last = len(states) - 1
        while states[first - 1][:2] == states[last][:2]:
            first -= 1
        while states[last][8]:
            last -= 1
        begins = first - (phase not in {Phase.IN_KEY, Phase.IN_VALUE})
        self.begun, whole = (characters(text.symbols[begins:end]) for end in (None, last))
        self.part = bytes(text.symbols[last:])
        self.word = None
        if phase == Phase.IN_VALUE:
            self._begin_raw(text.symbols[begins:last])
        elif phase == Phase.IN_BARE:
            self.typed, self.word = None, whole
        elif phase in {Phase.IN_KEY, Phase.IN_ARGUMENT}:
            self.typed = layout.layout.key.read(whole)
        else:
            read = ast.literal_eval if layout.layout.kind is LayoutKind.PYTHON else json.loads
            self.typed = read(whole + whole[0])

    def _begin_raw(self, held: list[int]) -> None:
        """Find what has been begun of a raw value."""
        layout = self._outline.layout
        if layout.layout.types is Types.WRITTEN:
            behind = fixed(layout.part("type", "value"))
            at = held.index(behind[0]) if behind[0] in held else len(held)
            kind, self.is_typed = characters(held[:at]), at + len(behind) <= len(held)
            kinds = (x for x in _FIELDS if x == kind or (at == len(held) and x.startswith(kind)))
            self._types, held = frozenset(kinds), held[at + len(behind) :]
        else:
            self._declared = self._outline.types.get(str(self.keys[0]), ONLY_STRING)
            kinds = ("number" if x == "integer" else x for x in self._declared)
            is_json = STRING not in self._declared or self._declared & {"array", "object"}
            self._types = frozenset(_FIELDS if is_json else kinds)
        text = characters(held)
        if layout.layout.trim is Trim.NEWLINE:
            text = text.removeprefix("\n")
        self.begun = text if self.is_typed else self.begun
        is_over = any(symbol >= ID for symbol in held)  # a special token ends it
        is_string = STRING in self._types and not is_over
        self.typed = text if is_string else None
        is_word = self._types != ONLY_STRING and not is_over
        self.word = characters(held).strip() if is_word else None


def _members(items: Iterable[_T], bits: int) -> Iterator[_T]:
    """Yield the items whose bits are set."""
    return (item for at, item in enumerate(items) if bits >> at & 1)


def _children(shape: ArrayShape | ObjectShape, key: str | int) -> Iterable[ValueId]:
    if isinstance(shape, ArrayShape) and shape.choices:
        return {choice.value: 0 for choice in shape.choices[min(int(key), len(shape.choices) - 1)]}
    child = shape.child(int(key)) if isinstance(shape, ArrayShape) else shape.child(str(key))
    return () if child == NEVER else (child,)


def fixed(pieces: Iterable[Piece]) -> tuple[int, ...]:
    """Return the symbols of pieces, without optional white space and fields."""
    return tuple(piece for piece in pieces if isinstance(piece, int))


def characters(symbols: Iterable[int]) -> str:
    """Return the whole characters of symbols, without special tokens."""
    return bytes(symbol for symbol in symbols if symbol < ID).decode("utf-8", "replace")
