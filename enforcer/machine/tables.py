"""Flat tables of a grammar, as the kernel reads them.

A *node* is a set of values of which one has to be written; value number `v` of it is bit `v`.
Owns: nodes, frames' shapes and names, tries, and which grammars can be held at all. Must not know:
vocabularies, bytes on a wire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from enforcer.layouts import LayoutKind, WhiteSpace
from enforcer.machine import kernel
from enforcer.machine.automata import TooManyStates, automaton_of
from enforcer.numbers.languages import spelled_sets
from enforcer.regex import ANY, NOTHING, both, either, inverse, literal
from enforcer.regex.syntax import Literal, Union
from enforcer.schema import Root
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from enforcer.layouts import BoundLayout
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId

_MOST_VALUES = 62  # of a node, and arrays of a node
_MOST_NODES = 5_000
_LISTED = 300  # names that undeclared ones are kept apart from by their automaton


class NotHeld(Exception):  # noqa: N818 - no error: another engine holds it
    """The machine cannot hold this grammar; the message says why."""


@dataclass(slots=True)
class Tables:
    """The tables of a grammar; see `kernel.Tables` for the arrays.

    Attributes:
        arrays: them by name, in the order of the kernel's arguments.
        wide_rows: how many wide rows it may need, the free one included.
        has_line_breaks: whether white space may have line breaks.

    """

    arrays: dict[str, npt.NDArray[np.generic]]
    wide_rows: int
    has_line_breaks: bool


def why_not_held(grammar: ArgumentGrammar, layout: BoundLayout | None) -> str | None:
    """Return why the machine cannot hold texts of a grammar; None if it can, as far as is plain."""
    if layout is not None and layout.layout.kind is not LayoutKind.JSON:
        return "arguments are no JSON"
    for value in grammar.definitions.values():
        for shape in value.objects:
            if shape.some or shape.minimum or shape.maximum is not None:
                return "properties are counted"
            if shape.witnesses or shape.marks:
                return "undeclared properties are counted"
            if shape.distinct_names:
                return "names are kept distinct"
        for array in value.arrays:
            if array.choices or array.contains:
                return "elements are counted"
            if array.unique:
                return "elements are kept distinct"
    return None


def tables_of(grammar: ArgumentGrammar, layout: BoundLayout | None) -> Tables:
    """Make the tables of a grammar.

    Raises:
        NotHeld: the machine cannot hold it.

    """
    why = why_not_held(grammar, layout)
    if why is not None:
        raise NotHeld(why)
    white_space = WhiteSpace.USUAL if layout is None else layout.layout.white_space
    try:
        return _Writer(grammar).tables(has_line_breaks=white_space is WhiteSpace.USUAL)
    except TooManyStates:
        raise NotHeld("the automaton of a language has too many states") from None


@dataclass(slots=True)
class _Trie:
    edges: list[int] = field(default_factory=list)
    edge_character: list[int] = field(default_factory=list)
    edge_to: list[int] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)


class _Writer:
    def __init__(self, grammar: ArgumentGrammar) -> None:
        self._definitions = grammar.definitions
        self._numbers: dict[tuple[ValueId, ...], int] = {}
        self._queue: list[tuple[ValueId, ...]] = []
        self._nodes: list[list[int]] = []
        self._names: list[list[int]] = []
        self._classes: list[int] = []
        self._places: list[list[int]] = []
        self._arrays: list[list[int]] = []
        self._bits: list[int] = []
        self._trie = _Trie()
        self._tries: dict[object, int] = {}
        self._automata: dict[tuple[Regex, ...], int] = {}
        self._node((grammar.root,))
        for values in self._queue:
            self._fill(values)
        self._trie.edges.append(len(self._trie.edge_character))

    def tables(self, *, has_line_breaks: bool) -> Tables:
        """Return the tables."""
        trie = self._trie
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "nodes": _int32(x for row in self._nodes for x in row),
            "names": _int32(x for row in self._names for x in row),
            "classes": _int32(self._classes),
            "places": _int32(x for row in self._places for x in row),
            "arrays": _int32(x for row in self._arrays for x in row),
            "bits": np.array(self._bits, np.uint64).view(np.int64),
            "trie_edges": _int32(trie.edges),
            "edge_character": _int32(trie.edge_character),
            "edge_to": _int32(trie.edge_to),
            "trie_value": np.array(trie.value, np.int64),
            "trie_low": np.array(trie.low, np.int64),
            "trie_high": np.array(trie.high, np.int64),
        }
        wide_rows = self._put_automata(arrays)
        return Tables(arrays, wide_rows, has_line_breaks)

    def _put_automata(self, arrays: dict[str, npt.NDArray[np.generic]]) -> int:
        found = [automaton_of(languages) for languages in self._automata]
        kinds = {"transitions": np.int32, "ascii": np.int32, "range_low": np.int32,
                 "range_class": np.int32, "accepts": np.int64, "leads": np.int64,
                 "distance": np.int32, "wide": np.int32, "loops": np.int64}  # fmt: skip
        parts: dict[str, list[npt.NDArray[np.generic]]] = {name: [] for name in kinds}
        sizes = dict.fromkeys(kinds, 0)
        records: list[int] = []
        wide_rows = 1
        for each in found:
            wide = np.full(each.states, -1, np.int32)
            own = np.flatnonzero(each.is_wide & ~each.is_free)
            wide[own] = np.arange(wide_rows, wide_rows + len(own))
            wide[each.is_free] = 0
            wide_rows += len(own)
            records += [
                sizes["transitions"], each.classes, sizes["ascii"], sizes["range_low"],
                len(each.range_low), sizes["accepts"], each.minimum, each.maximum,
                int(each.is_pattern),
            ]  # fmt: skip
            for name in kinds:
                part = wide if name == "wide" else getattr(each, name)
                parts[name].append(part)
                sizes[name] += len(part)
        arrays["automata"] = _int32(records)
        for name, kind in kinds.items():
            arrays[name] = np.concatenate(parts[name]) if found else np.zeros(0, kind)
        return wide_rows

    def _automaton(self, languages: tuple[Regex, ...]) -> int:
        if languages not in self._automata:
            automaton_of(languages)
            self._automata[languages] = len(self._automata)
        return self._automata[languages]

    def _node(self, values: tuple[ValueId, ...]) -> int:
        if values not in self._numbers:
            if len(values) > _MOST_VALUES:
                raise NotHeld("too many values may stand at one place")
            if len(self._numbers) >= _MOST_NODES:
                raise NotHeld("too many nodes")
            self._numbers[values] = len(self._numbers)
            self._queue.append(values)
        return self._numbers[values]

    def _put(self, words: Iterable[int]) -> int:
        at = len(self._bits)
        self._bits += words
        return at

    def _fill(self, values: tuple[ValueId, ...]) -> None:
        record = dict.fromkeys(kernel.NODE.names or (), 0)
        found = [self._definitions[value] for value in values]
        record["values"] = len(found)
        self._strings(record, found)
        self._bare(record, found)
        record["name_trie"] = record["class_automaton"] = -1
        shapes = [(at, shape) for at, value in enumerate(found) for shape in value.objects]
        if shapes:
            self._objects(record, len(found), shapes)
        arrays = [(at, array) for at, value in enumerate(found) for array in value.arrays]
        if arrays:
            self._put_arrays(record, len(found), arrays)
        self._nodes.append(list(record.values()))

    def _strings(self, record: dict[str, int], values: Sequence[Value]) -> None:
        record["string_automaton"] = record["string_trie"] = -1
        languages = list(dict.fromkeys(x.strings for x in values if x.strings is not None))
        record["strings_of"] = self._put(
            sum(1 << at for at, value in enumerate(values) if value.strings == language)
            for language in languages
        )
        record["string_languages"] = len(languages)
        if len(languages) > _MOST_VALUES:
            raise NotHeld("too many values may stand at one place")
        texts: dict[str, int] = {}
        rest = []
        for k, language in enumerate(languages):
            parts = language.parts if isinstance(language, Union) else (language,)
            for part in parts:
                if isinstance(part, Literal):
                    texts[part.text] = texts.get(part.text, 0) | 1 << k
            others = [part for part in parts if not isinstance(part, Literal)]
            rest.append(either(*others) if others else NOTHING)
        if any(each != NOTHING for each in rest):
            record["string_automaton"] = self._automaton(tuple(rest))
        if texts:
            record["string_trie"] = self._put_trie(texts, is_names=False)

    def _bare(self, record: dict[str, int], values: Sequence[Value]) -> None:
        languages: dict[Regex, int] = {}
        for at, value in enumerate(values):
            texts = [literal(word) for word in value.words]
            if value.numbers:
                numbers, hard = spelled_sets(value.numbers)
                if hard:
                    raise NotHeld("multiples of large numbers")
                if numbers is not None:
                    texts.append(numbers)
            if texts:
                language = either(*texts)
                languages[language] = languages.get(language, 0) | 1 << at
        record["bare_of"] = self._put(languages.values())
        record["bare_languages"] = len(languages)
        record["bare_automaton"] = self._automaton(tuple(languages)) if languages else -1

    def _objects(
        self, record: dict[str, int], values: int, shapes: Sequence[tuple[int, ObjectShape]]
    ) -> None:
        words = record["shape_words"] = (len(shapes) + 63) // 64
        record["shapes"] = len(shapes)
        record["shapes_of"] = self._put(
            word
            for value in range(values)
            for word in _bits((i for i, (x, _) in enumerate(shapes) if x == value), words)
        )
        declared = [dict(shape.names) for _, shape in shapes]
        order = list(dict.fromkeys(name for each in declared for name in each))
        is_closed = all(child == NEVER for _, child in shapes[0][1].classes)
        if len(shapes) == 1 and is_closed:
            order = [name for name in order if declared[0][name] != NEVER]
        order.sort()
        rows = self._named(order, declared, shapes, words)
        record["names"], record["name0"] = len(order), len(self._names)
        self._names += rows
        required = {name for _, shape in shapes for name in shape.required}
        record["required_names"] = self._put(
            _bits((at for at, name in enumerate(order) if name in required), -(-len(order) // 64))
        )
        if order:
            record["name_trie"] = self._put_trie(
                {name: at for at, name in enumerate(order)}, is_names=True
            )
        self._undeclared(record, order, shapes, words)

    def _named(
        self,
        order: Sequence[str],
        declared: Sequence[dict[str, ValueId]],
        shapes: Sequence[tuple[int, ObjectShape]],
        words: int,
    ) -> list[list[int]]:
        rows = []
        if len(shapes) == 1:
            (_, shape), known = shapes[0], declared[0]
            one, none = self._put([1]), self._put([0])
            for name in order:
                child = known[name]
                is_possible = child != NEVER
                node = self._node((child,)) if is_possible else 0
                required = one if name in shape.required else none
                rows.append([node, int(is_possible), one, one, required])
            return rows
        for name in order:
            per = [
                known[name] if name in known else shape.child(name)
                for known, (_, shape) in zip(declared, shapes, strict=True)
            ]
            children = tuple(sorted({child for child in per if child != NEVER}))
            fits = self._put(
                word
                for child in children
                for word in _bits((i for i, x in enumerate(per) if x == child), words)
            )
            has = self._put(_bits((i for i, known in enumerate(declared) if name in known), words))
            needs = self._put(
                _bits((i for i, (_, shape) in enumerate(shapes) if name in shape.required), words)
            )
            rows.append([self._node(children) if children else 0, len(children), fits, has, needs])
        return rows

    def _undeclared(
        self,
        record: dict[str, int],
        order: Sequence[str],
        shapes: Sequence[tuple[int, ObjectShape]],
        words: int,
    ) -> None:
        found: dict[Regex, list[tuple[int, ValueId]]] = {}
        for at, (_, shape) in enumerate(shapes):
            for language, child in shape.classes:
                if child != NEVER:
                    found.setdefault(language, []).append((at, child))
        if not found:
            return
        if len(found) > _MOST_VALUES:
            raise NotHeld("too many classes of undeclared names")
        children = tuple(sorted({child for each in found.values() for _, child in each}))
        record["class_node"], record["class_values"] = self._node(children), len(children)
        record["classes"], record["class0"] = len(found), len(self._classes)
        for each in found.values():
            self._classes.append(
                self._put(
                    word
                    for child in children
                    for word in _bits((i for i, y in each if y == child), words)
                )
            )
        is_listed = 0 < len(order) <= _LISTED
        without = inverse(either(*map(literal, order))) if is_listed else ANY
        record["class_automaton"] = self._automaton(
            tuple(language if language == ANY else both(language, without) for language in found)
        )

    def _put_arrays(
        self, record: dict[str, int], values: int, arrays: Sequence[tuple[int, ArrayShape]]
    ) -> None:
        if len(arrays) > _MOST_VALUES:
            raise NotHeld("too many arrays may stand at one place")
        record["arrays"], record["array0"] = len(arrays), len(self._arrays)
        record["arrays_of"] = self._put(
            sum(1 << i for i, (x, _) in enumerate(arrays) if x == value) for value in range(values)
        )
        for at, array in arrays:
            most = -1 if array.maximum is None else array.maximum
            self._arrays.append([at, array.minimum, most])
        count = max(len(array.prefix) for _, array in arrays) + 1
        rows = []
        for place in range(count):
            per = [
                array.prefix[place] if place < len(array.prefix) else array.rest
                for _, array in arrays
            ]
            children = tuple(sorted({child for child in per if child != NEVER}))
            fits = self._put(sum(1 << i for i, x in enumerate(per) if x == c) for c in children)
            rows.append([self._node(children) if children else 0, len(children), fits])
        record["place0"], record["places"] = len(self._places), count
        self._places += rows

    def _put_trie(self, texts: dict[str, int], *, is_names: bool) -> int:
        """Append a trie, breadth first: a node is a span of the sorted texts and a depth.

        Of names a node has its span, of strings the union of the values below it.
        """
        key = (is_names, tuple(texts.items()))
        if key in self._tries:
            return self._tries[key]
        words = sorted(texts)
        trie = self._trie
        root = self._tries[key] = len(trie.value)
        spans = [(0, len(words), 0)]
        for low, high, depth in spans:
            value = -1 if is_names else 0
            first = low
            if len(words[low]) == depth:
                value = texts[words[low]]
                first += 1
            if is_names:
                trie.low.append(low)
                trie.high.append(high)
            else:
                every = 0
                for word in words[low:high]:
                    every |= texts[word]
                trie.low.append(every)
                trie.high.append(0)
            trie.value.append(value)
            trie.edges.append(len(trie.edge_character))
            while first < high:
                character = words[first][depth]
                end = first + 1
                if words[high - 1][depth] == character:
                    end = high
                while end < high and words[end][depth] == character:
                    end += 1
                trie.edge_character.append(ord(character))
                trie.edge_to.append(root + len(spans))
                spans.append((first, end, depth + 1))
                first = end
        return root


def _int32(values: Iterable[int]) -> npt.NDArray[np.int32]:
    return np.array(list(values), np.int32)


def _bits(members: Iterable[int], words: int) -> list[int]:
    found = [0] * words
    for each in members:
        found[each >> 6] |= 1 << (each & 63)
    return found


def free_tables() -> Tables:
    """Return tables of any string, whose first automaton has one state."""
    from enforcer.schema import compile_schema

    grammar: ArgumentGrammar = compile_schema({"type": "string"}, root=Root.ANY)
    return tables_of(grammar, None)
