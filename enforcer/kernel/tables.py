"""The tables of one compiled grammar, with its cached rows.

Trusted: tables of another process are verified before (`enforcer.machine.wire`).
"""

from __future__ import annotations

from hashlib import blake2b

import cython
import numpy as np

from enforcer.kernel.records import *
from enforcer.kernel.tokens import CachedRow, Charge, MemoryCounter, Row

_KEPT_BYTES = 500  # that a cached row takes beside its words

# Bytes of a grammar's rows of configurations, and of half of its wide rows. Of 4,530 schemas of
# MaskBench none needs as many; 20 to 35 KB is a wide row of Kimi's vocabulary.
_MOST_ROWS = cython.declare(cython.longlong, 2 << 20)

_FEW_ROWS = cython.declare(cython.longlong, 128 << 10)  # the bytes if the process is over its bound


@cython.final
@cython.cclass
class Tables:
    """The tables of one grammar; see `enforcer.machine.tables`.

    Only the rows, and what is about keys and markers, depend on the vocabulary.

    Attributes:
        cached: rows by their configurations; see `rows.configuration`.
        wide: for each automaton state the number of its wide row; -1 where it has none.
        rows: wide rows by their number, the first two being the tree's own; None until needed. Of
            Python's strings there are two for each number: between quotes, and apostrophes.
        older_rows: the wide rows that were held when half of the bound had been used last.
        digests: the digest of each automaton's content; None until needed.
        pairs: numbers of the automata of a layout of pairs: of the text up to a key (language 0) or
            to the end (language 1), of what is between a key and its value (-1: nothing), of what
            ends a value that is JSON, and of the bytes of a JSON string that hold no delimiter (-1:
            there is no JSON); then what `key_tokens` is made of; empty for JSON.
        markers: the token ids that are characters of raw text, from `FIRST_SURROGATE` on.
        unescaped: for each character of ASCII whether no escape stands for it in names and listed
            strings; empty where one may for all.
        many_words: for each automaton state the languages that have many words from there.
        free_to: the characters of a text up to which no maximum length restricts what may follow;
            `~` of them where a minimum length matters.
        many_steps: how many legal characters, whichever they are, leave languages with many words.
        key_affects_earlier: for keys of pairs what `Tree.affects_earlier` is for names in JSON.
        key_spanning: the token ids in which such a key and its value end.
        ending: for each state of the last automaton of `pairs` the row of the tokens in which a
            delimiter ends; None until it is needed.

    """

    nodes: Node[::1]
    names: Name[::1]
    classes: cython.const_int[::1]
    item_slots: ItemSlot[::1]
    arrays: Array[::1]
    limits: Limit[::1]
    marks: Mark[::1]
    counts: Count[::1]
    needs: Need[::1]
    bits: cython.const_longlong[::1]
    trie_edges: cython.const_int[::1]
    edge_character: cython.const_int[::1]
    edge_to: cython.const_int[::1]
    trie_value: cython.const_longlong[::1]
    trie_low: cython.const_longlong[::1]
    trie_high: cython.const_longlong[::1]
    automata: Automaton[::1]
    transitions: cython.const_int[::1]
    ascii: cython.const_int[::1]
    range_low: cython.const_int[::1]
    range_class: cython.const_int[::1]
    accepts: cython.const_longlong[::1]
    leads: cython.const_longlong[::1]
    bounds: Bound[::1]
    rests: cython.const_longlong[::1]
    wide: cython.const_int[::1]
    safe: cython.const_longlong[::1]
    safe_steps: cython.const_int[::1]
    cjk_steps: cython.const_int[::1]
    opens: cython.const_longlong[::1]
    trie_opens: cython.const_longlong[::1]
    many_words: cython.const_longlong[::1]
    many_steps: cython.const_int[::1]
    free_to: cython.const_int[::1]
    pairs: cython.const_int[::1]
    markers: cython.const_int[::1]
    unescaped: cython.const_int[::1]
    white_space: cython.int  # 0: none; 1: no line breaks; 2: the usual; 3: and a second space
    is_python: cython.bint  # whether texts are Python's keyword arguments
    is_open: cython.bint  # whether some object may have undeclared names
    distinct: cython.int  # the least of all nodes that have it
    has_unique_values: (
        cython.bint
    )  # whether elements of some array are distinct that are no strings
    key_affects_earlier: object
    key_spanning: cython.const_int[::1]
    ending: list
    rows = cython.declare(list, visibility="readonly")
    older_rows: list
    row_bytes: i64  # bytes of `rows`
    digests: list
    cached: list  # rows by configuration; a configuration's hash gives two slots
    cached_bytes: i64
    charge: Charge  # for the bytes of `cached` and `costs`
    arrays_by_name = cython.declare(dict, visibility="readonly")
    costs: object  # see `aims.Costs`; None until they are learned

    def __cinit__(
        self,
        arrays: dict,
        white_space: cython.int,
        is_python: cython.bint,
        rows: list,
        key_affects_earlier,
        key_spanning: cython.const_int[::1],
        memory: MemoryCounter,
    ):
        self.nodes = arrays["nodes"]
        self.names = arrays["names"]
        self.classes = arrays["classes"]
        self.item_slots = arrays["item_slots"]
        self.arrays = arrays["arrays"]
        self.limits = arrays["limits"]
        self.marks = arrays["marks"]
        self.counts = arrays["counts"]
        self.needs = arrays["needs"]
        self.bits = arrays["bits"]
        self.trie_edges = arrays["trie_edges"]
        self.edge_character = arrays["edge_character"]
        self.edge_to = arrays["edge_to"]
        self.trie_value = arrays["trie_value"]
        self.trie_low = arrays["trie_low"]
        self.trie_high = arrays["trie_high"]
        self.trie_opens = arrays["trie_opens"]
        self.read_automata(arrays)
        self.pairs = arrays["pairs"]
        self.markers = arrays["markers"]
        self.unescaped = arrays["unescaped"]
        self.white_space = white_space
        self.is_python = is_python
        self.rows = rows
        self.older_rows = None
        self.row_bytes = 0
        self.digests = [None] * self.automata.shape[0]
        self.key_affects_earlier = key_affects_earlier
        self.key_spanning = key_spanning
        self.cached = [None] * SLOTS
        self.cached_bytes = 0
        self.charge = Charge(memory, 0)
        self.arrays_by_name = arrays
        self.costs = None
        self.is_open = False
        self.distinct = NOT_UNIQUE
        self.has_unique_values = False
        for k in range(self.nodes.shape[0]):
            if self.nodes[k].distinct != NOT_UNIQUE:
                least = self.distinct if self.distinct != NOT_UNIQUE else NEVER_ENDING
                self.distinct = min(least, self.nodes[k].distinct)
            if self.nodes[k].classes != 0:
                self.is_open = True
            if self.nodes[k].unique_values >= 0:
                self.has_unique_values = True
        has_stops = self.pairs.shape[0] != 0 and self.pairs[STOPS] >= 0
        self.ending = [None] * self.states_of(self.pairs[STOPS]) if has_stops else []

    @cython.cfunc
    def read_automata(self, arrays: dict):
        """Set the arrays of automata."""
        self.automata = arrays["automata"]
        self.transitions = arrays["transitions"]
        self.ascii = arrays["ascii"]
        self.range_low = arrays["range_low"]
        self.range_class = arrays["range_class"]
        self.accepts = arrays["accepts"]
        self.leads = arrays["leads"]
        self.bounds = arrays["bounds"]
        self.rests = arrays["rests"]
        self.wide = arrays["wide"]
        self.safe = arrays["safe"]
        self.safe_steps = arrays["safe_steps"]
        self.cjk_steps = arrays["cjk_steps"]
        self.opens = arrays["opens"]
        self.many_words = arrays["many_words"]
        self.many_steps = arrays["many_steps"]
        self.free_to = arrays["free_to"]

    @cython.cfunc
    def digest_of(self, number: index):
        """Return a digest of all that the rows of an automaton's states depend on."""
        found = self.digests[number]
        if found is None:
            a = self.automata[number]
            states = self.states_of(number)
            end = a.transitions + states * a.classes
            ranges = a.range0 + a.ranges
            sizes = np.array([a.kind, states, a.classes, a.ranges, a.minimum > 0], np.int64)
            hashed = blake2b(sizes.tobytes(), digest_size=32)
            hashed.update(np.asarray(self.transitions[a.transitions : end]))
            hashed.update(np.asarray(self.ascii[a.ascii : a.ascii + 128]))
            hashed.update(np.asarray(self.range_low[a.range0 : ranges]))
            hashed.update(np.asarray(self.range_class[a.range0 : ranges]))
            hashed.update(np.asarray(self.accepts[a.states : a.states + states]))
            hashed.update(np.asarray(self.leads[a.states : a.states + states]))
            hashed.update(np.asarray(self.free_to[a.states : a.states + states]) < 0)
            hashed.update(np.asarray(self.safe[a.states : a.states + states]))
            hashed.update(np.asarray(self.safe_steps[a.states : a.states + states]))
            hashed.update(np.asarray(self.cjk_steps[a.states : a.states + states]))
            found = self.digests[number] = hashed.digest()
        return found

    # A row never changes: one that is let go of serves whoever has it still.

    @cython.cfunc
    def most_rows(self) -> i64:
        """Return the bytes that rows of one kind may take."""
        memory = self.charge.counter
        return _MOST_ROWS if memory.bytes <= memory.most else _FEW_ROWS

    @cython.cfunc
    def row_of(self, number: index):
        """Return a cached wide row; None if there is none."""
        found = self.rows[number]
        if found is None and self.older_rows is not None:
            found = self.older_rows[number]
            if found is not None:
                self.hold_row(number, cython.cast(Row, found))
        return found

    @cython.cfunc
    def hold_row(self, number: index, row: Row):
        """Cache a wide row; drop the rows that were not used while half of the bound filled."""
        gone = None
        if self.row_bytes + row.charge.bytes > self.most_rows():
            gone = self.older_rows
            self.older_rows = self.rows
            self.rows = self.rows[:2] + [None] * (len(self.rows) - 2)
            self.row_bytes = 0
        self.rows[number] = row
        self.row_bytes += row.charge.bytes
        del gone  # last: where a row is freed, other threads may run

    @cython.cfunc
    def cache_row(self, slot: index, row: CachedRow):
        """Cache the row of a configuration; drop all others if they take too much."""
        size = _KEPT_BYTES + row.size
        if self.cached_bytes + size > self.most_rows():
            self.charge.add(-self.cached_bytes)
            self.cached = [None] * SLOTS
            self.cached_bytes = 0
        # The row that was there before moves to the other slot.
        before = self.cached[slot]
        gone = self.cached[slot ^ 1] if before is not None else None
        if before is not None:
            self.cached[slot ^ 1] = before
        self.cached[slot] = row
        if gone is not None:
            size -= _KEPT_BYTES + cython.cast(CachedRow, gone).size
        self.cached_bytes += size
        self.charge.add(size)

    @cython.cfunc
    def add_weight(self, size: i64):
        """Count the bytes of learned costs."""
        self.charge.add(size)

    @cython.cfunc
    def states_of(self, number: index) -> index:
        """Return how many states an automaton has."""
        is_last: cython.bint = number + 1 == self.automata.shape[0]
        end = self.wide.shape[0] if is_last else self.automata[number + 1].states
        return end - self.automata[number].states


if not cython.compiled:
    for _class in (Tables,):
        _class.__init__ = run_cinits
