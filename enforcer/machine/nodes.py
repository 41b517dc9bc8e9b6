"""Records of a grammar's nodes: strings, numbers and words, arrays.

A *node* is a set of values of which one has to be written; value number `v` is bit `v`.
Records of objects are written by `objects`.

Owns: the records, and which elements of arrays are kept distinct. Must not know: layouts'
properties, vocabularies.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, cast

from enforcer import kernel
from enforcer.errors import UnsupportedSchema
from enforcer.machine.builder import (
    OF_JSON,
    RAW_ENDING,
    Origin,
    TableBuilder,
    check_bits,
    check_words,
    int32_array,
)
from enforcer.machine.cardinality import Counts
from enforcer.machine.lengths import FAR_COUNT, Bounded, alternatives
from enforcer.machine.objects import ObjectWriter
from enforcer.numbers.languages import number_texts
from enforcer.regex import NOTHING, either, literal
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.syntax import Literal, Union
from enforcer.schema.grammar import NEVER, Value
from enforcer.schema.lowering.counting import NONE, tallies_of
from enforcer.schema.lowering.distinct import is_remembered, is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer.machine.builder import RawTypes
    from enforcer.machine.lengths import Language
    from enforcer.machine.pairs import Pairs
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ArrayShape, ValueId

MOST_ITEM_SLOTS = 50_000  # elements of arrays with values of their own
_UNCOUNTED = (0,) * 6  # the last fields of an array's record, if it has no counts
_NO_ARRAY = (0, -1, -1, *_UNCOUNTED)  # the fields behind the value of an array that cannot complete
_FIELDS: tuple[str, ...] = kernel.NODE.names or ()
# Fields that are -1 where there is none.
_OPTIONAL = (
    *("string_automaton", "string_trie", "bare_automaton", "name_trie"),
    *("class_automaton", "json_node", "unique_values"),
)
_NO_VALUE = Value()


class NodeWriter:
    """Writes the records of a grammar's nodes.

    Args:
        definitions: the values of a finished grammar.
        kind: the kind of its strings; `OF_JSON`, or raw text.
        pairs: keys and raw values, for a layout of pairs.
        is_python: whether texts are Python's keyword arguments.

    """

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
        self._builder = TableBuilder() if pairs is None else pairs.builder
        self._pairs = pairs
        self._objects = ObjectWriter(self._builder)
        self._item_slots: list[tuple[int, ...]] = []
        self._arrays: list[tuple[int, ...]] = []
        self._counts: list[tuple[int, ...]] = []
        self._needs: list[tuple[int, ...]] = []

    def write(self, *root: ValueId) -> tuple[dict[str, npt.NDArray[np.generic]], int]:
        """Return all arrays of the tables but `unescaped`, and the number of wide rows.

        Args:
            root: the values of which one is the whole text.

        Raises:
            UnsupportedSchema: a limit of the tables is exceeded.

        """
        builder = self._builder
        nodes: list[Iterable[int]] = []
        origin = Origin()
        try:
            builder.node(root, origin)
            for values, origin, raw in builder.nodes:  # noqa: B007 - read where it failed
                nodes.append(self._node(values) if raw is None else self._raw(values, raw))
            around = () if self._pairs is None else self._pairs.around()
            found, wide_rows = builder.arrays(are_counted=self._are_printed)
        except TooLargeError as error:
            raise UnsupportedSchema.of(str(origin), "", f"it needs {error}") from error
        records: dict[str, Sequence[Iterable[int]]] = {
            "nodes": nodes,
            "names": self._objects.names,
            "limits": self._objects.limits,
            "marks": self._objects.marks,
            "item_slots": self._item_slots,
            "arrays": self._arrays,
            "counts": self._counts,
            "needs": self._needs,
        }
        arrays = {name: int32_array(chain.from_iterable(rows)) for name, rows in records.items()}
        markers = () if self._pairs is None else self._pairs.markers
        arrays["classes"] = int32_array(self._objects.classes)
        arrays |= {"pairs": int32_array(around), "markers": int32_array(markers)}
        return {**arrays, **found}, wide_rows

    def parts(
        self, nodes: npt.NDArray[np.generic]
    ) -> Iterator[tuple[tuple[ValueId, ...], tuple[str, ...]]]:
        """Yield for each node of some records its values, and its names as they are written."""
        names = self._builder.tries.names
        roots = kernel.as_records(nodes, kernel.NODE)["name_trie"].tolist()
        for (values, *_), root in zip(self._builder.nodes, roots, strict=True):
            yield values, names.get(root, ())

    def _raw(self, numbers: Sequence[ValueId], raw: RawTypes) -> Iterable[int]:
        """Return the record of a raw value: languages of its texts, and a node of its JSON."""
        record = empty_record(len(numbers))
        found = cast("Pairs", self._pairs).languages(raw, numbers)
        self._texts(record, {**found.scalars, **found.openings}, RAW_ENDING)
        record["scalars"] = len(found.scalars)
        if found.openings:
            record["json_node"] = self._builder.node(tuple(found.nested), Origin())
        return record.values()

    def _node(self, numbers: Sequence[ValueId]) -> Iterable[int]:
        values = [self._definitions.get(number, _NO_VALUE) for number in numbers]
        record = empty_record(len(values))
        record["many_words"] = self._builder.put([_bits(at in self._many for at in numbers)])
        may_list = self._distinct.isdisjoint(numbers)
        self._texts(record, _languages(values), self._kind, may_list=may_list)
        self._bare(record, values)
        shapes = [(at, shape) for at, value in enumerate(values) for shape in value.objects]
        if shapes:
            is_whole = self._pairs is not None and numbers == (self._pairs.root,)
            self._objects.write(record, len(values), shapes, self._pairs if is_whole else None)
        arrays = [(at, array) for at, value in enumerate(values) for array in value.arrays]
        if arrays:
            self._of_arrays(record, len(values), arrays)
        return record.values()

    def _texts(
        self,
        record: dict[str, int],
        languages: Mapping[Language, int],
        kind: int,
        *,
        may_list: bool = True,
    ) -> None:
        """Set the fields of strings: listed texts go into a trie, other languages together.

        Args:
            record: the node's fields.
            languages: each with the values that it spells, as bits.
            kind: of the languages' automaton.
            may_list: whether texts may be listed.

        """
        record["raw"] = kind
        record["strings_of"] = self._builder.put(languages.values())
        record["string_languages"] = len(languages)
        texts = defaultdict[str, int](int)
        rest: list[Language] = []
        for k, language in enumerate(languages):
            if isinstance(language, Bounded):
                rest.append(language)
                continue
            others = []
            for part in language.parts if isinstance(language, Union) else (language,):
                if isinstance(part, Literal) and may_list:
                    texts[part.text] |= 1 << k
                else:
                    others.append(part)
            rest.append(either(*others))
        if any(each != NOTHING for each in rest):
            record["string_automaton"], automaton = self._builder.automaton(tuple(rest), kind)
            bits = languages.values()
            held = [
                each for k, each in enumerate(bits) if rest[k] == NOTHING or automaton.has_word(k)
            ]
            check_words(reduce(or_, held, 0) == reduce(or_, bits))
        if texts:
            check_bits(len(languages), "kinds of strings")
            record["string_trie"] = self._builder.tries.of_texts(texts)

    def _bare(self, record: dict[str, int], values: Sequence[Value]) -> None:
        """Set the fields of numbers, booleans and null."""
        languages = defaultdict["Regex", int](int)
        for at, value in enumerate(values):
            texts: list[Regex] = [literal(word) for word in value.words]
            if self._is_python:  # whose reader knows JSON's words as well
                texts += [literal(word.capitalize()) for word in value.words if word != "null"]
                texts += [literal("None")] if value.null else []
            texts += [number_texts(each) for each in value.numbers]
            if texts:
                languages[either(*texts)] |= 1 << at
        record["bare_of"] = self._builder.put(languages.values())
        record["bare_languages"] = len(languages)
        if languages:
            followed = tuple(map(Bounded, languages))
            record["bare_automaton"], _ = self._builder.automaton(followed)

    def _of_arrays(
        self, record: dict[str, int], values: int, arrays: Sequence[tuple[int, ArrayShape]]
    ) -> None:
        """Set the fields of arrays, each of which has the index of its value."""
        check_bits(len(arrays), "kinds of arrays")
        record["arrays"], record["array0"] = len(arrays), len(self._arrays)
        of_values = [0] * values
        for i, (at, array) in enumerate(arrays):
            own = self._array(record, at, array)
            if own is not None:
                of_values[at] |= 1 << i
            self._arrays.append(own or (at, *_NO_ARRAY))
        record["arrays_of"] = self._builder.put(of_values)
        record |= self._keeping([array for _, array in arrays])
        count = max(max(len(array.prefix) + 1, len(array.choices)) for _, array in arrays)
        record["slot0"], record["slots"] = len(self._item_slots), count
        if len(self._item_slots) + count > MOST_ITEM_SLOTS:
            raise TooLargeError("too many elements with values of their own")
        origin = Origin(arrays[0][1].path)
        for place in range(count):
            fits = defaultdict["ValueId", int](int)
            hits = defaultdict["ValueId", "list[int]"](lambda: [0] * len(arrays))
            for i, (_, array) in enumerate(arrays):
                for child, hit in _elements(array, place):
                    fits[child] |= 1 << i
                    hits[child][i] |= hit
            children = tuple(sorted(fits))
            node = self._builder.node(children, origin) if children else 0
            masks = self._builder.put([fits[child] for child in children])
            counted = 0
            if record["tallies"]:
                counted = self._builder.put(chain.from_iterable(hits[child] for child in children))
            self._item_slots.append((node, len(children), masks, counted))

    def _keeping(self, arrays: Sequence[ArrayShape]) -> dict[str, int]:
        """Return the fields of a node that state which elements are distinct; see `kernel.NODE`.

        `distinct` is 0, or one more than a lower bound on the number of strings to keep distinct,
        or `FAR_COUNT` if there are always more. `unique_values` are the bits of the arrays that
        have other elements to keep distinct.
        """
        elements = {array.rest for array in arrays if is_remembered(array)}
        if not elements:
            return {}
        others = [array for array in arrays if not is_remembered(array)]
        is_mixed = any(array.maximum is None or array.maximum > 1 for array in others)
        is_mixed |= len(elements) > 1 or any(x.prefix or x.choices[1:] for x in arrays)
        if is_mixed or not all(is_text(self._definitions[each]) for each in elements):
            self._are_printed = True
            return {"unique_values": self._builder.put([_bits(map(is_remembered, arrays))])}
        values = sorted({child for array in arrays for child, _ in _elements(array, 0)})
        strings = _languages([self._definitions[child] for child in values])
        _, automaton = self._builder.automaton(tuple(strings))
        if automaton.never_runs_out:
            return {"distinct": FAR_COUNT}
        return {"distinct": 1 + min(map(automaton.count_words, range(len(strings))))}

    def _array(
        self, record: dict[str, int], value: int, array: ArrayShape
    ) -> tuple[int, ...] | None:
        """Return the record of an array, with its counts; None if no such array can complete."""
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
    """Return the languages of the values' strings, each with the values it spells, as bits."""
    found = defaultdict["Language", int](int)
    for at, value in enumerate(values):
        for language in () if value.strings is None else alternatives(value.strings):
            found[language] |= 1 << at
    return found


def _elements(array: ArrayShape, place: int) -> Iterator[tuple[ValueId, int]]:
    """Yield the values that an element may have, each with the counts it adds to, as bits."""
    if array.choices:
        for choice in array.choices[min(place, len(array.choices) - 1)]:
            of = choice.counted if choice.distinct is None else (choice.distinct,)
            yield choice.value, sum(1 << number for number in of)
        return
    child = array.prefix[place] if place < len(array.prefix) else array.rest
    if child != NEVER:
        yield child, 0


def _bits(truths: Iterable[bool]) -> int:
    """Return the union of the bits whose truths hold."""
    return sum(1 << at for at, each in enumerate(truths) if each)


def empty_record(values: int) -> dict[str, int]:
    """Return the fields of the record of a node that has no texts, by name."""
    return {**dict.fromkeys(_FIELDS, 0), **dict.fromkeys(_OPTIONAL, -1), "values": values}
