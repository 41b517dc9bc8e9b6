"""The builder of one grammar's tables: bits, tries, automata, and the numbers of nodes.

Equal parts are stored once. A *trie* holds listed texts: names of properties, or texts of an
enumeration. A node of a trie is a span of the sorted texts and a depth; nodes are numbered breadth
first, so an edge leads to a higher number.

Owns: these arrays, and the limits on their sizes. Must not know: the records of nodes.
"""

from __future__ import annotations

from functools import reduce
from itertools import accumulate, chain
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer.machine.automata import automaton_of
from enforcer.machine.byte_groups import ASCII, GROUP_NUMBERS, groups_beyond_ascii
from enforcer.machine.lengths import FAR_COUNT
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.schema.reading.document import step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from enforcer.machine.automata import Automaton
    from enforcer.machine.lengths import Language
    from enforcer.schema.grammar import ValueId

MOST_VALUES = 62  # a word of bits has one for each value, and its sign is none
MOST_NODES = 5_000
MOST_WORDS = 1 << 20  # of the table of bits
MOST_TRIE_NODES = 1 << 20
MOST_WORK = 5_000_000  # of a grammar's automata, cached or not: about half a second
FREE_ROW = 0  # the wide row of a state in which anything may follow
RAW_FREE_ROW = 1  # the wide row of raw text in which anything may follow
OWN_ROWS = 2  # wide rows that belong to the vocabulary

# The kinds of an automaton's languages: strings, numbers and words of JSON; raw text that may go on
# behind a complete one; raw text that ends as soon as it is complete.
OF_JSON = 0
RAW_OPEN = 1
RAW_ENDING = 2

NO_NAME = -1
_GROUPS = [
    1 << number for number in GROUP_NUMBERS[:ASCII].tolist()
]  # each ASCII byte's group, as a bit

_OF_TRIES = ("trie_value", "trie_low", "trie_high", "trie_opens")
_OF_LANGUAGES = ("accepts", "leads", "rests", "safe", "opens")
_OF_AUTOMATA = (
    *("transitions", "ascii", "range_low", "range_class", "safe_steps", "cjk_steps", "free_to"),
    *_OF_LANGUAGES,
)
# The type of each array of a grammar's tables, in the order in which `wire` writes them.
DTYPES: dict[str, np.dtype[np.generic]] = {
    **dict.fromkeys(("bits", *_OF_TRIES, *_OF_LANGUAGES, "many_words"), np.dtype("<i8")),
    **dict.fromkeys(
        (
            *("nodes", "names", "classes", "item_slots", "arrays", "limits", "marks"),
            *("counts", "needs", "automata", "trie_edges", "edge_character", "edge_to"),
            *("transitions", "ascii", "range_low", "range_class", "bounds", "safe_steps", "wide"),
            *("cjk_steps", "many_steps", "free_to", "pairs", "markers", "unescaped"),
        ),
        np.dtype("<i4"),
    ),
}


class Origin(NamedTuple):
    """The place in the schema that a node comes from.

    Attributes:
        path: the path of an object or array.
        name: a property of the object; None for the whole.

    """

    path: str = "$"
    name: str | None = None

    def __str__(self) -> str:
        return self.path if self.name is None else step(f"{self.path}.properties", self.name)


class RawTypes(NamedTuple):
    """The types by which a raw value is read.

    Attributes:
        types: the declared types; None where the text states the type.

    """

    types: frozenset[str] | None


class Tries:
    """The tries of one grammar, one behind the other.

    Attributes:
        names: those of each trie of names, by its root.

    """

    def __init__(self) -> None:
        self.names: dict[int, tuple[str, ...]] = {}
        self._roots: dict[object, int] = {}
        self._edges: list[int] = []
        self._edge_character: list[int] = []
        self._edge_to: list[int] = []
        self._value: list[int] = []
        self._low: list[int] = []
        self._high: list[int] = []
        self._opens: list[int] = []

    def __len__(self) -> int:
        return len(self._value)

    def of_names(self, names: Sequence[str]) -> int:
        """Append the trie of ascending names and return its root.

        The value of a node is the index of the name that ends there, or `NO_NAME`; its `low` and
        `high` are the span of the names below it.
        """
        key = tuple(names)
        if key not in self._roots:
            self._roots[key] = self._append(names, [*range(len(names))], None)
            self.names[self._roots[key]] = key
        return self._roots[key]

    def of_texts(self, texts: dict[str, int]) -> int:
        """Append the trie of texts and return its root.

        The value of a node is that of the text that ends there, or 0; its `low` is the union of the
        values of all texts below it.

        Args:
            texts: each with its value, a set of bits.

        """
        key = tuple(texts.items())
        if key not in self._roots:
            words = sorted(texts)
            self._roots[key] = self._append(words, [texts[word] for word in words], 0)
        return self._roots[key]

    def _append(self, words: Sequence[str], values: Sequence[int], nothing: int | None) -> int:
        """Append a trie and return its root.

        Args:
            words: ascending.
            values: the value of each.
            nothing: the value of a node at which no text ends; None for names.

        """
        root = len(self._value)
        spans = [(0, len(words), 0)]
        for low, high, depth in spans:
            first = low
            value = NO_NAME if nothing is None else nothing
            if len(words[low]) == depth:
                value = values[low]
                first += 1
            self._value.append(value)
            if nothing is None:
                self._low.append(low)
                self._high.append(high)
            else:
                self._low.append(reduce(or_, values[low:high]))
                self._high.append(0)
            self._edges.append(len(self._edge_to))
            opens = 0
            while first < high:
                character = words[first][depth]
                end = high if words[high - 1][depth] == character else first + 1
                while end < high and words[end][depth] == character:
                    end += 1
                code = ord(character)
                self._edge_character.append(code)
                opens |= _GROUPS[code] if code < ASCII else groups_beyond_ascii(code, code)
                self._edge_to.append(root + len(spans))
                spans.append((first, end, depth + 1))
                first = end
            self._opens.append(opens)
        return root

    def arrays(self) -> dict[str, Sequence[int]]:
        """Return the arrays; `trie_edges` has one entry more than there are nodes."""
        return {
            "trie_edges": [*self._edges, len(self._edge_to)],
            "edge_character": self._edge_character,
            "edge_to": self._edge_to,
            "trie_value": self._value,
            "trie_low": self._low,
            "trie_high": self._high,
            "trie_opens": self._opens,
        }


class TableBuilder:
    """Collects the parts of one grammar's tables.

    Attributes:
        tries: the tries of names and of listed texts.
        nodes: the nodes by number, each with its values, its origin, and the types by which it is
            read, None for JSON; their records are made elsewhere.

    """

    def __init__(self) -> None:
        self.tries = Tries()
        self.nodes: list[tuple[tuple[ValueId, ...], Origin, RawTypes | None]] = []
        self._numbers: dict[tuple[tuple[ValueId, ...], RawTypes | None], int] = {}
        self._bits = bytearray()
        self._offsets: dict[bytes, int] = {}
        self._automata: dict[tuple[tuple[Language, ...], int], tuple[int, Automaton]] = {}
        self._work = 0

    def node(self, values: tuple[ValueId, ...], origin: Origin, raw: RawTypes | None = None) -> int:
        """Return the number of a node; append it to `nodes` if it is new.

        Args:
            values: ascending, one of which has to be written.
            origin: their place in the schema.
            raw: the types by which their text is read; None for JSON.

        Raises:
            TooLargeError: there are too many values or nodes.

        """
        found = self._numbers.get((values, raw))
        if found is None:
            check_bits(len(values), "values")
            found = self._numbers[values, raw] = len(self.nodes)
            if found >= MOST_NODES:
                raise TooLargeError(f"more than {MOST_NODES:,} different values")
            self.nodes.append((values, origin, raw))
        return found

    def put(self, masks: Iterable[int], words: int = 1) -> int:
        """Store sets of bits and return the number of their first word.

        Args:
            masks: the sets.
            words: number of 64-bit words of each.

        Raises:
            TooLargeError: there are too many words in all.

        """
        data = b"".join([mask.to_bytes(8 * words, "little") for mask in masks])
        found = self._offsets.get(data)
        if found is None:
            found = self._offsets[data] = len(self._bits) >> 3
            self._bits += data
            if len(self._bits) > 8 * MOST_WORDS:
                raise TooLargeError("too many alternatives for objects of too many properties")
        return found

    def automaton(
        self, languages: tuple[Language, ...], kind: int = OF_JSON
    ) -> tuple[int, Automaton]:
        """Return the number of the automaton of some languages, and the automaton.

        Args:
            languages: to be followed together.
            kind: `OF_JSON`, `RAW_OPEN` or `RAW_ENDING`.

        Raises:
            TooLargeError: the automaton is too large, or all of them take too much work.

        """
        found = self._automata.get((languages, kind))
        if found is None:
            check_bits(len(languages), "kinds of strings")
            automaton = automaton_of(languages, is_raw=kind != OF_JSON)
            self._work += automaton.work
            if self._work > MOST_WORK:
                raise TooLargeError("too many patterns and ranges that take much to work out")
            found = self._automata[languages, kind] = (len(self._automata), automaton)
        return found

    def arrays(
        self, *, are_counted: bool = False
    ) -> tuple[dict[str, npt.NDArray[np.generic]], int]:
        """Return the arrays of bits, tries and automata, and the number of wide rows.

        Args:
            are_counted: whether to state where automata have a great many words.

        Raises:
            TooLargeError: there are too many listed texts.

        """
        if len(self.tries) > MOST_TRIE_NODES:
            raise TooLargeError("too many listed texts and names")
        automata = [each for _, each in self._automata.values()]
        columns = {
            name: [getattr(each, name).ravel() for each in automata] for name in _OF_AUTOMATA
        }
        for name in ("many_words", "many_steps"):
            none = [np.zeros(each.states, np.int32) for each in automata]
            columns[name] = [getattr(each, name) for each in automata] if are_counted else none
        columns["wide"], wide_rows = self._wide()
        firsts = {name: [0, *accumulate(map(len, found))] for name, found in columns.items()}
        records: list[int] = []
        bounds: list[tuple[int, ...]] = []
        rest = 0
        for n, ((_, kind), each) in enumerate(zip(self._automata, automata, strict=True)):
            records += (
                *(firsts["transitions"][n], each.classes, firsts["ascii"][n]),
                *(firsts["range_low"][n], len(each.range_low), firsts["accepts"][n]),
                *(kind, len(bounds), len(each.bounds)),
                *(min(each.minimum, FAR_COUNT), each.steady, each.varied if are_counted else 0),
            )
            for bound in each.bounds:
                lengths = min(bound.minimum, FAR_COUNT), min(bound.maximum, FAR_COUNT)
                bounds.append((*lengths, -1 if bound.rests is None else rest, bound.steady))
                rest += 0 if bound.rests is None else each.states
        arrays: dict[str, Iterable[int]] = {"automata": records, "bounds": chain(*bounds)}
        arrays |= self.tries.arrays()
        return {
            "bits": np.frombuffer(bytes(self._bits), np.int64),
            **{name: np.array([*numbers], DTYPES[name]) for name, numbers in arrays.items()},
            **{name: _joined(found, DTYPES[name]) for name, found in columns.items()},
        }, wide_rows

    def _wide(self) -> tuple[list[npt.NDArray[np.int64]], int]:
        """Return for each automaton the wide row of each state, -1 for none; and their number."""
        count = OWN_ROWS
        found = []
        for (_, kind), (_, each) in self._automata.items():
            free = np.where(each.is_free, FREE_ROW if kind == OF_JSON else RAW_FREE_ROW, -1)
            is_own = each.is_wide & ~each.is_free
            found.append(np.where(is_own, count - 1 + np.cumsum(is_own), free))
            count += int(np.count_nonzero(is_own))
        return found, count


def word_count(bits: int) -> int:
    """Return the number of 64-bit words that hold some bits."""
    return (bits + 63) >> 6


def int32_array(values: Iterable[int]) -> npt.NDArray[np.int32]:
    """Return numbers as an array of 32-bit ones."""
    return np.array([*values], np.int32)


def check_bits(count: int, kind: str) -> None:
    """Raise `TooLargeError` if there are more of a kind than a word has bits."""
    if count > MOST_VALUES:
        raise TooLargeError(f"more than {MOST_VALUES} {kind} that may stand at one place")


def check_words(are_found: bool) -> None:  # noqa: FBT001 - what is checked
    """Raise `TooLargeError` unless all languages have some text: an empty one is a dead end.

    The schema's compiler drops empty languages that it finds within its limit of work.
    """
    if not are_found:
        raise TooLargeError("a text that fits several patterns, and there is none")


def _joined(
    arrays: Sequence[npt.NDArray[np.generic]], dtype: np.dtype[np.generic]
) -> npt.NDArray[np.generic]:
    joined: npt.NDArray[np.generic] = np.concatenate([np.zeros(0, dtype), *arrays])
    return joined.astype(dtype, copy=False)
