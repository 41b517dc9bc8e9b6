"""Flat tables of a grammar, as the kernel reads them.

A *node* is a set of values of which one has to be written; value number `v` of it is bit `v`.

Owns: nodes, their strings, numbers and arrays. Must not know: vocabularies, bytes on a wire.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from enforcer import kernel
from enforcer.errors import UnsupportedSchema
from enforcer.layouts import JSON, LayoutKind, WhiteSpace
from enforcer.machine.cardinality import Counts, why_not_held
from enforcer.machine.layout_subset import LayoutSubset
from enforcer.machine.lengths import FAR_COUNT, Bounded, alternatives
from enforcer.machine.objects import Objects
from enforcer.machine.pairs import Pairs
from enforcer.machine.parts import (
    OF_JSON,
    RAW_ENDING,
    RAW_OPEN,
    Origin,
    TableBuilder,
    check_bits,
    check_words,
)
from enforcer.numbers.languages import number_texts
from enforcer.regex import ANY, NOTHING, either, literal
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.syntax import Literal, Union
from enforcer.schema import compile_schema
from enforcer.schema.grammar import NEVER, ArgumentGrammar, Value, ValueId
from enforcer.schema.lowering.counting import NONE, tallies_of
from enforcer.schema.lowering.distinct import is_remembered, is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from enforcer.layouts import BoundLayout
    from enforcer.machine.lengths import Language
    from enforcer.machine.parts import RawTypes
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ArrayShape

_FORMATS = ("date-time", "date", "time", "email", "uri", "uuid", "ipv4", "hostname")
_USUAL: dict[str, Any] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "count": {"type": "integer", "minimum": 1, "maximum": 100},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "nullable": {"anyOf": [{"type": kind} for kind in ("integer", "null")]},
    "any": {},
    **{name: {"type": "string", "format": name} for name in _FORMATS},
}
MOST_PLACES = 50_000  # of arrays: elements of prefixes
_LEVELS = {each: level for level, each in enumerate(WhiteSpace)}
_UNCOUNTED = (0,) * 6  # the last fields of the record of an array without counts
_NO_ARRAY = (0, -1, -1, *_UNCOUNTED)  # and those behind the first of one that is never complete
_FIELDS: tuple[str, ...] = kernel.NODE.names or ()
_NONE = (
    "string_automaton",
    "string_trie",
    "bare_automaton",
    "name_trie",
    "class_automaton",
    "json_node",
    "unique_values",
)
_NO_VALUE = Value()


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The tables of a grammar; see `kernel.Tables` for the arrays.

    Attributes:
        arrays: them by name.
        wide_rows: how many wide rows it may need, the free ones included.
        white_space: what may stand between two tokens of JSON, as `kernel.Tables` numbers it.
        is_python: whether texts are Python's keyword arguments.

    """

    arrays: Mapping[str, npt.NDArray[np.generic]]
    wide_rows: int
    white_space: int
    is_python: bool = False

    @property
    def is_raw(self) -> bool:
        """Whether some text is raw, so that any token may come."""
        kinds = kernel.as_records(self.arrays["nodes"], kernel.NODE)["raw"]
        return bool(len(self.arrays["pairs"]) or (kinds != OF_JSON).any())


def tables_of(grammar: ArgumentGrammar, layout: BoundLayout | None) -> Tables:
    """Make the tables of a grammar.

    Raises:
        UnsupportedSchema: the machine cannot hold it.

    """
    refusal = why_not_held(grammar)
    if refusal is not None:
        raise refusal
    layout = JSON if layout is None else layout
    unescaped = [chr(code) in layout.unescaped for code in range(128)]
    own = {"unescaped": _int32(unescaped if any(unescaped) else ())}
    white_space = _LEVELS[layout.layout.white_space]
    if layout.layout.kind is LayoutKind.PAIRS:
        pairs = Pairs(grammar, layout, TableBuilder())
        arrays, wide_rows = _Writer(pairs.definitions, OF_JSON, pairs).write(pairs.root)
    elif layout.layout.kind is LayoutKind.PYTHON:
        definitions, root = LayoutSubset(grammar, layout).grammar()
        arrays, wide_rows = _Writer(definitions, is_python=True).write(root)
        return Tables(arrays | own, wide_rows, white_space, is_python=True)
    else:
        arrays, wide_rows = _Writer(grammar.definitions).write(grammar.root)
        white_space += layout.second_space and layout.plain
    return Tables(arrays | own, wide_rows, white_space)


def raw_tables(
    languages: Sequence[Regex], *, ends: bool = False, markers: Sequence[int] = ()
) -> Tables:
    """Make the tables of raw text that is in one of some languages.

    Args:
        languages: none of them empty; of markers as `enforcer.regex.marker` makes them.
        ends: whether nothing follows as soon as a text is complete; else it may go on.
        markers: the token id of each marker.

    Raises:
        UnsupportedSchema: the automaton is too large.

    """
    values = {ValueId(at): Value(strings=each) for at, each in enumerate(languages, NEVER + 1)}
    writer = _Writer(values, RAW_ENDING if ends else RAW_OPEN)
    arrays, wide_rows = writer.write(*values)
    own = {"markers": _int32(markers), "unescaped": _int32(())}
    return Tables(arrays | own, wide_rows, _LEVELS[WhiteSpace.USUAL])


def free_tables(*, is_raw: bool = False, is_python: bool = False) -> Tables:
    """Return tables of any string or raw text, whose only automaton has one state."""
    if is_raw:
        return raw_tables([ANY])
    root = ValueId(NEVER)
    tables = tables_of(ArgumentGrammar({root: Value(strings=ANY)}, root, ()), None)
    return replace(tables, is_python=is_python)


def make_usual(layout: BoundLayout | None = None) -> Tables:
    """Make the automata that most grammars share, which takes 0.1 s of the first of them."""
    usual = {
        name: schema for name, schema in _USUAL.items() if layout is None or name not in _FORMATS
    }
    return tables_of(compile_schema({"type": "object", "properties": usual}), layout)


class _Writer:
    def __init__(
        self,
        definitions: Mapping[ValueId, Value],
        kind: int = OF_JSON,
        pairs: Pairs | None = None,
        *,
        is_python: bool = False,
    ) -> None:
        self._definitions = definitions
        self._kind = kind
        self._is_python = is_python
        arrays = [x for value in definitions.values() for x in value.arrays if is_remembered(x)]
        self._distinct = {child for array in arrays for child in (*array.prefix, array.rest)}
        are_texts = all(is_text(definitions[x.rest]) and not x.prefix for x in arrays)
        self._many: set[ValueId] = set() if are_texts else Counts(definitions).many_words
        self._are_printed = False
        self._parts = TableBuilder() if pairs is None else pairs.parts
        self._pairs = pairs
        self._objects = Objects(self._parts)
        self._places: list[tuple[int, ...]] = []
        self._arrays: list[tuple[int, ...]] = []
        self._counts: list[tuple[int, ...]] = []
        self._needs: list[tuple[int, ...]] = []

    def write(self, *root: ValueId) -> tuple[dict[str, npt.NDArray[np.generic]], int]:
        parts = self._parts
        nodes: list[Iterable[int]] = []
        origin = Origin()
        try:
            parts.node(root, origin)
            for values, origin, raw in parts.nodes:  # noqa: B007 - read where it failed
                nodes.append(self._node(values) if raw is None else self._raw(values, raw))
            around = () if self._pairs is None else self._pairs.around()
            found, wide_rows = parts.arrays(are_counted=self._are_printed)
        except TooLargeError as error:
            raise UnsupportedSchema.of(str(origin), "", f"it needs {error}") from error
        records: dict[str, Sequence[Iterable[int]]] = {
            "nodes": nodes,
            "names": self._objects.names,
            "limits": self._objects.limits,
            "marks": self._objects.marks,
            "item_slots": self._places,
            "arrays": self._arrays,
            "counts": self._counts,
            "needs": self._needs,
        }
        arrays = {name: _int32(chain.from_iterable(rows)) for name, rows in records.items()}
        markers = () if self._pairs is None else self._pairs.markers
        arrays["classes"] = _int32(self._objects.classes)
        arrays |= {"pairs": _int32(around), "markers": _int32(markers)}
        return {**arrays, **found}, wide_rows

    def _raw(self, numbers: Sequence[ValueId], raw: RawTypes) -> Iterable[int]:
        """Return the record of a raw value: languages of texts, and what is JSON in them."""
        record = _record(len(numbers))
        found = cast("Pairs", self._pairs).languages(raw, numbers)
        self._texts(record, {**found.scalars, **found.openings}, RAW_ENDING)
        record["scalars"] = len(found.scalars)
        if found.openings:
            record["json_node"] = self._parts.node(tuple(found.nested), Origin())
        return record.values()

    def _node(self, numbers: Sequence[ValueId]) -> Iterable[int]:
        values = [self._definitions.get(number, _NO_VALUE) for number in numbers]
        record = _record(len(values))
        record["many_words"] = self._parts.put([_bits(at in self._many for at in numbers)])
        self._strings(record, values, may_list=self._distinct.isdisjoint(numbers))
        self._bare(record, values)
        shapes = [(at, shape) for at, value in enumerate(values) for shape in value.objects]
        if shapes:
            is_whole = self._pairs is not None and numbers == (self._pairs.root,)
            self._objects.write(record, len(values), shapes, self._pairs if is_whole else None)
        arrays = [(at, array) for at, value in enumerate(values) for array in value.arrays]
        if arrays:
            self._of_arrays(record, len(values), arrays)
        return record.values()

    def _strings(self, record: dict[str, int], values: Sequence[Value], *, may_list: bool) -> None:
        """Set the fields of strings: listed texts go into a trie, other languages together."""
        self._texts(record, _languages(values), self._kind, may_list=may_list)

    def _texts(
        self,
        record: dict[str, int],
        languages: Mapping[Language, int],
        kind: int,
        *,
        may_list: bool = True,
    ) -> None:
        """Set the fields of texts of some languages, each with the values that it spells."""
        record["raw"] = kind
        record["strings_of"] = self._parts.put(languages.values())
        record["string_languages"] = len(languages)
        texts: dict[str, int] = {}
        rest: list[Language] = []
        for k, language in enumerate(languages):
            if isinstance(language, Bounded):
                rest.append(language)
                continue
            others = []
            for part in language.parts if isinstance(language, Union) else (language,):
                if isinstance(part, Literal) and may_list:
                    texts[part.text] = texts.get(part.text, 0) | 1 << k
                else:
                    others.append(part)
            rest.append(either(*others))
        if any(each != NOTHING for each in rest):
            record["string_automaton"], automaton = self._parts.automaton(tuple(rest), kind)
            bits = languages.values()
            held = [
                each for k, each in enumerate(bits) if rest[k] == NOTHING or automaton.has_word(k)
            ]
            check_words(reduce(or_, held, 0) == reduce(or_, bits))
        if texts:
            check_bits(len(languages), "kinds of strings")
            record["string_trie"] = self._parts.tries.of_texts(texts)

    def _bare(self, record: dict[str, int], values: Sequence[Value]) -> None:
        """Set the fields of numbers, booleans and null."""
        languages: dict[Regex, int] = {}
        for at, value in enumerate(values):
            texts: list[Regex] = [literal(word) for word in value.words]
            if self._is_python:  # whose reader knows JSON's words as well
                texts += [literal(word.capitalize()) for word in value.words if word != "null"]
                texts += [literal("None")] if value.null else []
            texts += [number_texts(each) for each in value.numbers]
            if texts:
                language = either(*texts)
                languages[language] = languages.get(language, 0) | 1 << at
        record["bare_of"] = self._parts.put(languages.values())
        record["bare_languages"] = len(languages)
        if languages:
            followed = tuple(map(Bounded, languages))
            record["bare_automaton"], _ = self._parts.automaton(followed)

    def _of_arrays(
        self, record: dict[str, int], values: int, arrays: Sequence[tuple[int, ArrayShape]]
    ) -> None:
        check_bits(len(arrays), "kinds of arrays")
        record["arrays"], record["array0"] = len(arrays), len(self._arrays)
        of_values = [0] * values
        for i, (at, array) in enumerate(arrays):
            own = self._array(record, at, array)
            if own is not None:
                of_values[at] |= 1 << i
            self._arrays.append(own or (at, *_NO_ARRAY))
        record["arrays_of"] = self._parts.put(of_values)
        record |= self._keeping([array for _, array in arrays])
        count = max(max(len(array.prefix) + 1, len(array.choices)) for _, array in arrays)
        record["slot0"], record["slots"] = len(self._places), count
        if len(self._places) + count > MOST_PLACES:
            raise TooLargeError("too many elements with values of their own")
        origin = Origin(arrays[0][1].path)
        for place in range(count):
            fits: dict[ValueId, int] = {}
            hits: dict[ValueId, list[int]] = {}
            for i, (_, array) in enumerate(arrays):
                for child, hit in _elements(array, place):
                    fits[child] = fits.get(child, 0) | 1 << i
                    hits.setdefault(child, [0] * len(arrays))[i] |= hit
            children = tuple(sorted(fits))
            node = self._parts.node(children, origin) if children else 0
            masks = self._parts.put([fits[child] for child in children])
            counted = 0
            if record["tallies"]:
                counted = self._parts.put(chain.from_iterable(hits[child] for child in children))
            self._places.append((node, len(children), masks, counted))

    def _keeping(self, arrays: Sequence[ArrayShape]) -> dict[str, int]:
        """Return the fields of a node that say which elements are distinct.

        `distinct` is 0, or one more than there are strings to keep distinct; of many strings it is
        less, and `FAR_COUNT` if there are always more. `unique_values` is which arrays have other
        elements to keep distinct.
        """
        elements = {array.rest for array in arrays if is_remembered(array)}
        if not elements:
            return {}
        others = [array for array in arrays if not is_remembered(array)]
        is_mixed = any(array.maximum is None or array.maximum > 1 for array in others)
        is_mixed |= len(elements) > 1 or any(x.prefix or x.choices[1:] for x in arrays)
        if is_mixed or not all(is_text(self._definitions[each]) for each in elements):
            self._are_printed = True
            return {"unique_values": self._parts.put([_bits(map(is_remembered, arrays))])}
        values = sorted({child for array in arrays for child, _ in _elements(array, 0)})
        strings = _languages([self._definitions[child] for child in values])
        _, automaton = self._parts.automaton(tuple(strings))
        if automaton.never_runs_out:
            return {"distinct": FAR_COUNT}
        return {"distinct": 1 + min(map(automaton.count_words, range(len(strings))))}

    def _array(
        self, record: dict[str, int], value: int, array: ArrayShape
    ) -> tuple[int, ...] | None:
        """Return the record of an array; None if no array is complete."""
        most = -1 if array.maximum is None else min(array.maximum, FAR_COUNT)
        bounds = value, min(array.minimum, FAR_COUNT), most
        if not array.choices:
            return *bounds, -1, *_UNCOUNTED
        tally = record["tallies"]
        record["tallies"] += 1
        if array.unique:
            return *bounds, tally, *_UNCOUNTED
        found = tallies_of(array)
        counts, needs = len(self._counts), len(self._needs)
        self._counts += found.kinds
        self._needs += found.needs
        if found.needs[0][0] == NONE:
            return None
        return (
            *(*bounds, tally, len(found.kinds), counts),
            *(len(array.choices), found.sums, needs, found.farthest),
        )


def _languages(values: Sequence[Value]) -> dict[Language, int]:
    """Return the languages of strings, each with the values that it spells, as bits."""
    found: dict[Language, int] = {}
    for at, value in enumerate(values):
        for language in () if value.strings is None else alternatives(value.strings):
            found[language] = found.get(language, 0) | 1 << at
    return found


def _elements(array: ArrayShape, place: int) -> Iterator[tuple[ValueId, int]]:
    """Yield the values that an element may have, each with what it counts for, as bits."""
    if array.choices:
        for choice in array.choices[min(place, len(array.choices) - 1)]:
            of = choice.counted if choice.distinct is None else (choice.distinct,)
            yield choice.value, sum(1 << number for number in of)
        return
    child = array.prefix[place] if place < len(array.prefix) else array.rest
    if child != NEVER:
        yield child, 0


def _bits(truths: Iterable[bool]) -> int:
    """Return a bit for each of some truths."""
    return sum(1 << at for at, each in enumerate(truths) if each)


def _record(values: int) -> dict[str, int]:
    record = dict.fromkeys(_FIELDS, 0)
    for field in _NONE:
        record[field] = -1
    record["values"] = values
    return record


def _int32(values: Iterable[int]) -> npt.NDArray[np.int32]:
    return np.array([*values], np.int32)
