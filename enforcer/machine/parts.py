"""What the tables of one grammar share: bits, tries, automata, and the numbers of nodes.

Owns: one number for equal parts, and the bounds on how many there are. Must not know: what nodes
are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer.machine.automata import automaton_of
from enforcer.machine.lengths import FAR_COUNT
from enforcer.machine.tries import Tries
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
MOST_WORDS = 1 << 20  # of bits
MOST_TRIE_NODES = 1 << 20
MOST_WORK = 5_000_000  # of all automata, also where they are kept: some half a second
FREE_ROW = 0  # the wide row of a state in which anything may follow
RAW_FREE_ROW = 1  # that of raw text
OWN_ROWS = 2  # of the vocabulary

# Of what an automaton's languages are; see `kernel`.
OF_JSON = 0
RAW_OPEN = 1
RAW_ENDING = 2

_KINDS: dict[str, type[np.generic]] = {
    "transitions": np.int32,
    "ascii": np.int32,
    "range_low": np.int32,
    "range_class": np.int32,
    "accepts": np.int64,
    "leads": np.int64,
    "rests": np.int64,
    "safe": np.int64,
    "safe_steps": np.int32,
    "cjk_steps": np.int32,
    "opens": np.int64,
    "free_to": np.int32,
}


class Origin(NamedTuple):
    """Where in the schema a node comes from.

    Attributes:
        path: of an object or array.
        name: a property of it.

    """

    path: str = "$"
    name: str | None = None

    def __str__(self) -> str:
        return self.path if self.name is None else step(f"{self.path}.properties", self.name)


class RawTypes(NamedTuple):
    """How a raw value is read.

    Attributes:
        types: the types that are declared for it; None where they are written.

    """

    types: frozenset[str] | None


class TableBuilder:
    """The parts of one grammar's tables, and the nodes that are still to be written."""

    def __init__(self) -> None:
        self.tries = Tries()
        self.nodes: list[tuple[tuple[ValueId, ...], Origin, RawTypes | None]] = []
        self._numbers: dict[tuple[tuple[ValueId, ...], RawTypes | None], int] = {}
        self._bits = bytearray()
        self._offsets: dict[bytes, int] = {}
        self._automata: dict[tuple[tuple[Language, ...], int], tuple[int, Automaton]] = {}
        self._work = 0

    def node(self, values: tuple[ValueId, ...], origin: Origin, raw: RawTypes | None = None) -> int:
        """Return the number of a node, which is written later if it is new.

        Args:
            values: ascending, one of which has to be written.
            origin: where in the schema they are.
            raw: how their text is read; None for JSON.

        Raises:
            TooLargeError: too many values or nodes.

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
        """Store sets of bits, each of so many words, and return the number of the first word."""
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
        """Return the automaton of some languages of a kind, and its number.

        Raises:
            TooLargeError: it is too large.

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
        """Return the arrays of bits, tries and automata, and how many wide rows there are.

        Args:
            are_counted: whether it is needed which states of automata have a great many words.

        """
        if len(self.tries) > MOST_TRIE_NODES:
            raise TooLargeError("too many listed texts and names")
        arrays = {"bits": np.frombuffer(bytes(self._bits), np.int64), **self.tries.arrays()}
        automata = [each for _, each in self._automata.values()]
        for name, dtype in (("many_words", np.int64), ("many_steps", np.int32)):
            none = [np.zeros(each.states, dtype) for each in automata]
            counted = [getattr(each, name) for each in automata] if are_counted else none
            arrays[name] = _joined(counted, dtype)
        return arrays, self._put_automata(arrays, are_counted=are_counted)

    def _put_automata(
        self, arrays: dict[str, npt.NDArray[np.generic]], *, are_counted: bool
    ) -> int:
        found = [automaton for _, automaton in self._automata.values()]
        kinds = [kind for _, kind in self._automata]
        sizes = dict.fromkeys(_KINDS, 0)
        wide: list[npt.NDArray[np.int32]] = []
        wide_rows = OWN_ROWS
        records: list[int] = []
        bounds: list[tuple[int, ...]] = []
        for each, kind in zip(found, kinds, strict=True):
            free = FREE_ROW if kind == OF_JSON else RAW_FREE_ROW
            numbers = np.where(each.is_free, free, -1)
            (own,) = np.nonzero(each.is_wide & ~each.is_free)
            numbers[own] = np.arange(wide_rows, wide_rows + len(own))
            wide_rows += len(own)
            wide.append(numbers)
            records += (
                *(sizes["transitions"], each.classes, sizes["ascii"], sizes["range_low"]),
                *(len(each.range_low), sizes["accepts"]),
                *(kind, len(bounds), len(each.bounds)),
                *(min(each.minimum, FAR_COUNT), each.steady),
                each.varied if are_counted else 0,
            )
            rests = sizes["rests"]
            for bound in each.bounds:
                at = -1 if bound.rests is None else rests
                ends = min(bound.minimum, FAR_COUNT), min(bound.maximum, FAR_COUNT)
                bounds.append((*ends, at, bound.steady))
                rests += 0 if bound.rests is None else each.states
            for name in _KINDS:
                sizes[name] += len(getattr(each, name))
        arrays["automata"] = np.array(records, np.int32)
        arrays["bounds"] = np.array(bounds, np.int32).reshape(-1)
        for name, dtype in _KINDS.items():
            arrays[name] = _joined([getattr(each, name) for each in found], dtype)
        arrays["wide"] = _joined(wide, np.int32)
        return wide_rows


def check_bits(count: int, kind: str) -> None:
    """Raise `TooLargeError` if there are more of a kind than a word has bits."""
    if count > MOST_VALUES:
        raise TooLargeError(f"more than {MOST_VALUES} {kind} that may stand at one place")


def check_words(are_found: bool) -> None:  # noqa: FBT001 - what is checked
    """Raise `TooLargeError` unless all languages have some text: another one would get stuck.

    The schema's compiler drops what is empty, but looks no further than its limit.
    """
    if not are_found:
        raise TooLargeError("a text that fits several patterns, and there is none")


def _joined(
    arrays: Sequence[npt.NDArray[np.generic]], kind: type[np.generic]
) -> npt.NDArray[np.generic]:
    if not arrays:
        return np.zeros(0, kind)
    joined: npt.NDArray[np.generic] = np.concatenate(arrays).astype(kind, copy=False)
    return joined
