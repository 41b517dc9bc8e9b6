"""Tables of a grammar as bytes for another process, verified when they are read.

A header, then the arrays one behind the other, those of 64-bit words first, little-endian. The
header has the version, the length of each array, and a digest of all that follows. The kernel
follows the indices of tables as they are, so each one is checked to be in bounds. Tables in bounds
that are wrong otherwise give wrong masks, and nothing worse.

Owns: the form of the bytes; the rules on indices, as lists of fields, and between two records. Must
not know: how tables are made, or what their numbers mean to a text.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from enforcer import kernel
from enforcer.errors import ConfigurationError, EngineFailure
from enforcer.layouts import WhiteSpace
from enforcer.machine.boundary_tokens import OF_MARKER
from enforcer.machine.builder import DTYPES, OF_JSON, OWN_ROWS, RAW_ENDING
from enforcer.machine.pairs import AUTOMATA
from enforcer.machine.tables import CompiledTables

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

# Counts up with the arrays, their order and what their numbers mean.
VERSION = 12

_MAGIC = b"kmtables"
_DIGEST = 16
# Magic, version, the white space, wide rows; the lengths of the arrays; the digest.
_BEGINNING = Struct("<8sHBBI")
_LENGTHS = Struct(f"<{len(DTYPES)}I")
_HEAD = -(-(_BEGINNING.size + _LENGTHS.size + _DIGEST) // 8) * 8

_Column: TypeAlias = "npt.NDArray[np.int64]"

RECORDS = {
    "nodes": kernel.NODE,
    "names": kernel.NAME,
    "item_slots": kernel.ITEM_SLOT,
    "arrays": kernel.ARRAY,
    "limits": kernel.LIMIT,
    "marks": kernel.MARK,
    "counts": kernel.COUNT,
    "needs": kernel.NEED,
    "automata": kernel.AUTOMATON,
    "bounds": kernel.BOUND,
}
_BITS = 63  # bits of a word without its sign
_ANY = 1 << 31
_BYTES = 256
_NO_RECORDS: _Column = np.zeros(0, np.int64)
# For each table its fields: the least and the first that is too large.
_NUMBERS = {
    "nodes": {
        **dict.fromkeys(("values", "string_languages", "bare_languages"), (0, _BITS)),
        **dict.fromkeys(("classes", "class_values", "arrays"), (0, _BITS)),
        "raw": (OF_JSON, RAW_ENDING + 1),
        "names_end": (0, 2),
        "distinct": (0, _ANY),
    },
    "names": {"values": (0, _BITS), "place": (0, _ANY)},
    "marks": {"value": (0, _BITS)},
    "arrays": {"value": (0, _BITS)},
    "automata": {
        "classes": (1, _ANY),
        "ranges": (1, _ANY),
        "kind": (OF_JSON, RAW_ENDING + 1),
        "varied": (0, 9),
        "bounds": (0, _BITS),
    },
}
# The table into which a field is an index, and the least: -1 where there may be none.
_INDICES = {
    "nodes": {
        **dict.fromkeys(("string_automaton", "bare_automaton"), (-1, "automata")),
        **dict.fromkeys(("string_trie", "name_trie"), (-1, "trie_value")),
        "class_automaton": (-1, "automata"),
        "class_node": (0, "nodes"),
        "json_node": (-1, "nodes"),
        "unique_values": (-1, "bits"),
        "many_words": (0, "bits"),
    },
    "names": {"node": (0, "nodes")},
    "item_slots": {"node": (0, "nodes")},
}
# The first of some records of a table, and the field that counts them.
_SPANS = {
    "nodes": {
        "name0": ("names", "names"),
        "class0": ("classes", "classes"),
        "limit0": ("limits", "limits"),
        "mark0": ("marks", "marks"),
        "array0": ("arrays", "arrays"),
        "slot0": ("item_slots", "slots"),
    },
    "automata": {"range0": ("range_low", "ranges"), "bound0": ("bounds", "bounds")},
}
# Arrays with an element for each state of an automaton, or node of a trie.
_OF_STATES = (
    *("accepts", "leads", "safe", "safe_steps", "cjk_steps"),
    *("opens", "many_words", "many_steps", "free_to"),
)
_OF_TRIE_NODES = ("trie_low", "trie_high", "trie_opens")


def write(tables: CompiledTables) -> bytes:
    """Return tables as bytes, which `read` turns back into tables."""
    arrays = [np.ascontiguousarray(tables.arrays[name], kind) for name, kind in DTYPES.items()]
    beginning = _BEGINNING.pack(
        _MAGIC, VERSION, tables.white_space, tables.is_python, tables.wide_rows
    )
    stated = beginning + _LENGTHS.pack(*map(len, arrays))
    body = b"".join([array.tobytes() for array in arrays])
    return (stated + _digest(stated, body)).ljust(_HEAD, b"\0") + body


def read(data: bytes) -> CompiledTables:
    """Return the tables whose bytes `write` has returned.

    Raises:
        ConfigurationError: another version has written them.
        EngineFailure: the bytes are damaged, or an index is out of bounds.

    """
    if len(data) < _HEAD:
        raise EngineFailure("tables of a grammar are cut off")
    magic, version, white_space, is_python, wide_rows = _BEGINNING.unpack_from(data)
    if magic != _MAGIC or version != VERSION:
        raise ConfigurationError(
            f"tables of a grammar have version {version}, and this process reads {VERSION}: run "
            "the same version of kimi-enforcer in all processes"
        )
    stated = data[: _BEGINNING.size + _LENGTHS.size]
    body = bytearray(memoryview(data)[_HEAD:])  # the kernel's records are views that could write
    if not data.startswith(_digest(stated, body), len(stated)):
        raise EngineFailure("tables of a grammar do not have the digest that they state")
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    at = 0
    lengths = _LENGTHS.unpack_from(data, _BEGINNING.size)
    for (name, kind), length in zip(DTYPES.items(), lengths, strict=True):
        if at + length * kind.itemsize > len(body):
            raise EngineFailure("tables of a grammar are cut off")
        arrays[name] = np.frombuffer(body, kind, length, at)
        at += length * kind.itemsize
    if at != len(body) or wide_rows > OWN_ROWS + len(arrays["wide"]):
        raise EngineFailure("tables of a grammar do not have the size that they state")
    tables = CompiledTables(arrays, wide_rows, white_space, bool(is_python))
    verify(tables)
    return tables


def digest_of(data: bytes) -> bytes:
    """Return the digest that written tables state; equal tables have equal digests."""
    at = _BEGINNING.size + _LENGTHS.size
    return data[at : at + _DIGEST]


def _digest(stated: bytes, body: bytes | bytearray) -> bytes:
    digest = blake2b(stated, digest_size=_DIGEST)
    digest.update(body)
    return digest.digest()


def verify(tables: CompiledTables) -> None:
    """Raise `EngineFailure` if an index of the tables is out of bounds."""
    _Verifier(tables).verify()


class _Verifier:
    """Verifies tables, whose records are split into columns of int64 by field."""

    def __init__(self, tables: CompiledTables) -> None:
        self._tables = tables
        self._arrays: Mapping[str, npt.NDArray[Any]] = tables.arrays
        self._sizes = {name: len(array) for name, array in tables.arrays.items()}
        self._columns: dict[str, dict[str, _Column]] = {}
        for name, kind in RECORDS.items():
            fields = kind.names or ()
            count = self._sizes[name] = self._sizes[name] // len(fields)
            rows = self._arrays[name][: count * len(fields)].reshape(-1, len(fields))
            self._columns[name] = dict(zip(fields, rows.T.astype(np.int64), strict=True))

    def verify(self) -> None:
        """Raise `EngineFailure` if an index of the tables is out of bounds."""
        self._require("white space", 0 <= self._tables.white_space <= len(WhiteSpace))
        self._require("escapes", self._sizes["unescaped"] in {0, 128})
        self._require("markers", self._arrays["markers"] >= 0)
        self._require("nodes", self._sizes["nodes"] > 0)
        for name, columns in self._columns.items():
            for field, (least, end) in _NUMBERS.get(name, {}).items():
                self._require(name, columns[field] >= least, columns[field] < end)
            for field, (least, table) in _INDICES.get(name, {}).items():
                self._require(name, columns[field] >= least, columns[field] < self._sizes[table])
        self._automata()
        self._tries()
        self._pairs()
        self._objects()
        self._elements()

    @staticmethod
    def _require(table: str, *rules: Any) -> None:
        """Raise `EngineFailure` unless all rules (truths, or arrays of them) hold."""
        if not all(rule if isinstance(rule, bool) else rule.all() for rule in rules):
            raise EngineFailure(
                f"tables of a grammar are damaged: the table of {table} has an index that is out "
                "of bounds"
            )

    def _spread(
        self, name: str, table: str, first: _Column, count: _Column
    ) -> tuple[_Column, _Column]:
        """Return all indices of some spans of a table, and before them the span that each is in.

        Args:
            name: the table that the spans belong to.
            table: the table into which they are spans, of which no two share a record.
            first: the first index of each span.
            count: the length of each span.

        """
        if not count.any():
            return _NO_RECORDS, _NO_RECORDS
        self._require(name, first >= 0, count >= 0, count <= self._sizes[table] - first)
        self._require(name, int(count.sum()) <= self._sizes[table])
        owner = np.repeat(np.arange(len(count)), count)
        return owner, np.arange(len(owner)) - (np.cumsum(count) - count - first)[owner]

    def _children(self, name: str, field: str) -> tuple[_Column, _Column]:
        """Return the records in a span of each record, and before them the record that has each."""
        table, counted = _SPANS[name][field]
        columns = self._columns[name]
        return self._spread(name, table, columns[field], columns[counted])

    def _bits(self, name: str, first: _Column, sets: Any, words: Any) -> None:
        """Require that sets of bits are in bounds.

        Args:
            name: the table whose records have them.
            first: the first word of each record's sets.
            sets, words: number of sets of a record, and of words of each set.

        """
        if not len(first):
            return
        self._require(name, first >= 0, sets >= 0, sets <= _BITS + 1, words >= 0)
        self._require(name, first <= self._sizes["bits"] - sets * words)

    def _automata(self) -> None:
        automata, arrays = self._columns["automata"], self._arrays
        count = self._sizes["wide"]
        self._require("automata", *(self._sizes[name] == count for name in _OF_STATES))
        self._require("automata", self._sizes["range_class"] == self._sizes["range_low"])
        self._require("automata", arrays["wide"] >= -1, arrays["wide"] < self._tables.wide_rows)
        states = np.diff(automata["states"], append=count)
        self._require("automata", automata["states"] >= 0, states >= 1)
        for table, first, size, end in (
            ("transitions", "transitions", states * automata["classes"], states),
            ("ascii", "ascii", np.full_like(states, 128), automata["classes"]),
            ("range_class", "range0", automata["ranges"], automata["classes"]),
        ):
            owner, at = self._spread("automata", table, automata[first], size)
            self._require("automata", arrays[table][at] >= -1, arrays[table][at] < end[owner])
        self._require("automata", arrays["range_low"][automata["range0"]] == 0)
        owner, at = self._children("automata", "bound0")
        rests = self._columns["bounds"]["rest0"][at]
        fit = (rests >= 0) & (rests <= self._sizes["rests"] - states[owner])
        self._require("automata", (rests == -1) | fit)

    def _tries(self) -> None:
        """Require that edges lead forward within a trie, so that every walk ends.

        And that the nodes of a trie of names have names of the objects that use it.
        """
        arrays, count = self._arrays, self._sizes["trie_value"]
        edges = arrays["trie_edges"].astype(np.int64)
        self._require("tries", *(self._sizes[name] == count for name in _OF_TRIE_NODES))
        self._require("tries", self._sizes["edge_character"] == self._sizes["edge_to"])
        self._require("tries", len(edges) == count + 1)
        self._require("tries", edges[0] == 0, edges[-1] == self._sizes["edge_to"])
        self._require("tries", np.diff(edges) >= 0)
        origin, to = np.repeat(np.arange(count), np.diff(edges)), arrays["edge_to"]
        self._require("tries", origin < to, to < count)
        nodes = self._columns["nodes"]
        named = nodes["name_trie"] >= 0
        if named.any():
            roots = np.union1d(nodes["name_trie"][named], nodes["string_trie"])
            most = np.full(len(roots), _ANY, np.int64)  # names, of each trie
            own = np.searchsorted(roots, nodes["name_trie"][named])
            np.minimum.at(most, own, nodes["names"][named])
            trie = np.searchsorted(roots, np.arange(count), "right") - 1
            self._require("names", trie[origin] == trie[to])
            end = most[trie]
            value, low, high = (arrays[f"trie_{each}"] for each in ("value", "low", "high"))
            fit = (value < end) & (low >= 0) & (low < high) & (high <= end)
            self._require("names", fit | (end == _ANY))

    def _pairs(self) -> None:
        pairs = self._arrays["pairs"]
        if len(pairs):
            self._require("pairs", len(pairs) >= AUTOMATA + 2)  # what is before and behind a key
            around = pairs[AUTOMATA:]
            self._require("pairs", (around == OF_MARKER) | (around >= 0), around < _BYTES)
            self._require("pairs", pairs[:AUTOMATA] >= -1, pairs[[0, 2]] >= 0)
            self._require("pairs", pairs[:AUTOMATA] < self._sizes["automata"])

    def _objects(self) -> None:
        nodes, names, marks = (self._columns[each] for each in ("nodes", "names", "marks"))
        words, name_words = nodes["shape_words"], (nodes["names"] + 63) >> 6
        self._bits("nodes", nodes["strings_of"], nodes["string_languages"], 1)
        self._bits("nodes", nodes["bare_of"], nodes["bare_languages"], 1)
        self._require("nodes", nodes["scalars"] >= 0, nodes["scalars"] <= nodes["string_languages"])
        # A frame has these words even where no value of the node is an object.
        self._bits("nodes", nodes["shapes_of"], np.maximum(nodes["values"], 1), words)
        self._bits("nodes", nodes["required_names"], 1, name_words)
        self._bits("nodes", nodes["witnessed"], nodes["witnesses"], words)
        self._require("nodes", (nodes["classes"] == 0) | (nodes["class_automaton"] >= 0))
        self._require("limits", nodes["limits"] <= words << 6)
        owner, at = self._children("nodes", "name0")
        self._bits("nodes", names["fits"][at], names["values"][at], words[owner])
        self._bits("nodes", names["required"][at], 1, words[owner])
        last = nodes["names"] & 63
        word = self._arrays["bits"][(nodes["required_names"] + name_words - 1)[last > 0]]
        self._require("nodes", word >> last[last > 0] == 0)  # no name behind the last is required
        owner, at = self._children("nodes", "class0")
        fits = self._arrays["classes"][at].astype(np.int64)
        self._bits("nodes", fits, nodes["class_values"][owner], words[owner])
        owner, at = self._children("nodes", "limit0")
        self._bits("limits", self._columns["limits"]["required"][at], 1, name_words[owner])
        owner, at = self._children("nodes", "mark0")
        name, class_ = marks["name"][at], marks["class_"][at]
        is_class = (class_ >= 0) & (class_ < nodes["classes"][owner])
        self._require("marks", name >= -1, name < nodes["names"][owner], (name >= 0) | is_class)
        self._bits("marks", marks["hits"][at], nodes["witnesses"][owner], words[owner])

    def _elements(self) -> None:
        nodes, arrays, places = (self._columns[each] for each in ("nodes", "arrays", "item_slots"))
        self._bits("item_slots", places["fits"], places["values"], 1)
        some = nodes["arrays"] > 0
        self._bits("nodes", nodes["arrays_of"][some], nodes["values"][some], 1)
        self._require("nodes", ~some | (nodes["slots"] > 0))
        self._require("nodes", nodes["tallies"] >= 0, nodes["tallies"] <= nodes["arrays"])
        owner, at = self._children("nodes", "slot0")
        tallied = nodes["tallies"][owner] > 0
        at, owner = at[tallied], owner[tallied]
        self._bits("nodes", places["hits"][at], places["values"][at], nodes["arrays"][owner])
        kept = nodes["distinct"] > 0
        self._require("nodes", nodes["slots"][kept] == 1)
        element = places["node"][nodes["slot0"][kept]]
        self._require("nodes", nodes["string_automaton"][element] >= 0)
        self._require("nodes", nodes["string_trie"][element] < 0)
        owner, at = self._children("nodes", "array0")
        tally = arrays["tally"][at]
        self._require("nodes", tally >= -1, tally < nodes["tallies"][owner])
        self._counts(at[(tally >= 0) & (arrays["counts"][at] != 0)])

    def _counts(self, counted: _Column) -> None:
        """Require that each state of some arrays' counts has an entry in the table of needs."""
        arrays = {field: column[counted] for field, column in self._columns["arrays"].items()}
        self._require("nodes", arrays["counts"] > 0, arrays["slots"] > 0)
        _, at = self._spread("nodes", "counts", arrays["count0"], arrays["counts"])
        counts, needs = self._columns["counts"], self._sizes["needs"]
        digits = iter(zip(counts["step"][at].tolist(), counts["most"][at].tolist(), strict=True))
        fields = (arrays[field].tolist() for field in ("counts", "sums", "slots", "need0"))
        for number, stated, slots, need0 in zip(*fields, strict=True):
            sums = 1
            for step, most in islice(digits, number):
                sums = sums * (most + 1) if step == sums and most >= 0 else 0
                if not 0 < sums <= needs:
                    self._require("nodes", False)
            self._require("nodes", sums == stated and 0 <= need0 <= needs - slots * sums)
