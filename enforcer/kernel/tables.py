"""tables."""

from __future__ import annotations

from hashlib import blake2b

import cython
import numpy as np

from enforcer.kernel.records import *
from enforcer.kernel.tokens import Charge, KeptRow, MemoryCounter, Row

_KEPT_BYTES = 500  # of a kept row, beside its words

# Bytes of a grammar's rows of configurations, and of half of its wide rows. Of 4,530 schemas of
# MaskBench none needs as many; 20 to 35 KB is a wide row of Kimi's vocabulary.
_MOST_ROWS = cython.declare(cython.longlong, 2 << 20)

_FEW_ROWS = cython.declare(cython.longlong, 128 << 10)  # where the process is over its bound


@cython.final
@cython.cclass
class Tables:
    """The tables of one grammar; see `tables`. Independent of the vocabulary but for `rows`.

    Attributes:
        wide: for each automaton state the number of its wide row; -1 where it has none.
        rows: wide rows by their number, the first two being the tree's own; None until needed. Of
            Python's strings there are two for each number: between quotes, and apostrophes.
        older_rows: those that were held when half of the bound had been used last.
        digests: of each automaton that of its content; None until it is needed.
        pairs: numbers of the automata of a layout of pairs: of the text up to a key (language 0) or
            to the end (language 1), of what is between a key and its value (-1: nothing), of what
            ends a value that is JSON, and of the bytes of a JSON string that hold no delimiter (-1:
            there is no JSON); then what `key_tokens` is made of; empty for JSON.
        markers: the token ids that are characters of raw text, from `FIRST_SURROGATE` on.
        unescaped: for each character of ASCII whether no escape stands for it in names and listed
            strings; empty where one may for all.
        vast: for each automaton state the languages that have many words from there.
        free_to: the characters of a text up to which no greatest length decides behind it.
        vast_steps: how many characters, any that are legal, leave all its languages vast.
        key_bears: for keys of pairs what `Tree.bears` is for names in JSON.
        key_spanning: the token ids in which such a key and its value end.
        ending: for each state of the last automaton of `pairs` the row of the tokens in which a
            delimiter ends; None until it is needed.

    """

    nodes: Node[::1]
    names: Name[::1]
    classes: cython.const_int[::1]
    places: Place[::1]
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
    vast: cython.const_longlong[::1]
    vast_steps: cython.const_int[::1]
    free_to: cython.const_int[::1]
    pairs: cython.const_int[::1]
    markers: cython.const_int[::1]
    unescaped: cython.const_int[::1]
    white_space: cython.int  # 0: none; 1: no line breaks; 2: the usual; 3: and a second space
    is_python: cython.bint  # whether texts are Python's keyword arguments
    is_open: cython.bint  # whether some object may have undeclared names
    distinct: cython.int  # the least of all nodes that have it
    has_prints: cython.bint  # whether elements of some array are distinct that are no strings
    key_bears: object
    key_spanning: cython.const_int[::1]
    ending: list
    rows = cython.declare(list, visibility="readonly")
    older_rows: list
    row_bytes: i64  # of `rows`
    digests: list
    kept: list  # rows of configurations, in one of two slots by the hash of these
    kept_bytes: i64
    charge: Charge  # for these, and for `shortest`
    arrays_by_name = cython.declare(dict, visibility="readonly")
    shortest = cython.declare(object, visibility="readonly")  # see `enforcer.budget`

    def __cinit__(
        self,
        arrays: dict,
        white_space: cython.int,
        is_python: cython.bint,
        rows: list,
        key_bears,
        key_spanning: cython.const_int[::1],
        memory: MemoryCounter,
    ):
        self.nodes = arrays["nodes"]
        self.names = arrays["names"]
        self.classes = arrays["classes"]
        self.places = arrays["places"]
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
        self.key_bears = key_bears
        self.key_spanning = key_spanning
        self.kept = [None] * SLOTS
        self.kept_bytes = 0
        self.charge = Charge(memory, 0)
        self.arrays_by_name = arrays
        self.shortest = None
        self.is_open = False
        self.distinct = NOT_KEPT
        self.has_prints = False
        for k in range(self.nodes.shape[0]):
            if self.nodes[k].distinct != NOT_KEPT:
                least = self.distinct if self.distinct != NOT_KEPT else NEVER_ENDING
                self.distinct = min(least, self.nodes[k].distinct)
            if self.nodes[k].classes != 0:
                self.is_open = True
            if self.nodes[k].printed >= 0:
                self.has_prints = True
        damaged = self.damaged()
        if damaged:
            raise ValueError(f"the table of {damaged} has an index that is out of bounds")
        has_stops = self.pairs.shape[0] != 0 and self.pairs[STOPS] >= 0
        self.ending = [None] * self.states_of(self.pairs[STOPS]) if has_stops else []

    @cython.cfunc
    def read_automata(self, arrays: dict):
        """Take the arrays of automata."""
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
        self.vast = arrays["vast"]
        self.vast_steps = arrays["vast_steps"]
        self.free_to = arrays["free_to"]

    # Every index that a text may follow is checked here, once: the tables come from another
    # process. What is in bounds but wrong gives wrong masks, and nothing worse.

    @cython.cfunc
    def damaged(self) -> object:
        """Return which table has an index that is out of bounds; None if none has."""
        if not 0 <= self.white_space <= 3:
            return "white space"
        if self.unescaped.shape[0] != 0 and self.unescaped.shape[0] != 128:
            return "escapes"
        if not self.automata_fit():
            return "automata"
        if not self.tries_fit():
            return "tries"
        if not self.places_fit():
            return "elements"
        for i in range(self.markers.shape[0]):
            if self.markers[i] < 0:
                return "markers"
        if not self.pairs_fit():
            return "pairs"
        if self.nodes.shape[0] == 0:
            return "nodes"
        for k in range(self.nodes.shape[0]):
            if not (self.scalars_fit(k) and self.objects_fit(k) and self.arrays_fit(k)):
                return "nodes"
            if not self.limits_fit(k):
                return "limits"
            if not self.marks_fit(k):
                return "marks"
        return None if self.name_tries_fit() else "names"

    @cython.cfunc
    def has_bits(self, first: i64, sets: i64, words: i64) -> cython.bint:
        """Return whether there are so many sets of bits, of so many words each."""
        return 0 <= sets <= 64 and within(first, sets * words, self.bits.shape[0])

    @cython.cfunc
    def automata_fit(self) -> cython.bint:
        """Return whether every automaton is in bounds."""
        count = self.wide.shape[0]
        if (
            self.accepts.shape[0] != count
            or self.leads.shape[0] != count
            or self.safe.shape[0] != count
            or self.safe_steps.shape[0] != count
            or self.cjk_steps.shape[0] != count
            or self.opens.shape[0] != count
            or self.vast.shape[0] != count
            or self.vast_steps.shape[0] != count
            or self.free_to.shape[0] != count
            or self.range_class.shape[0] != self.range_low.shape[0]
        ):
            return False
        wide_rows = len(self.rows) >> 1 if self.is_python else len(self.rows)
        for i in range(count):
            if not -1 <= self.wide[i] < wide_rows:
                return False
        for k in range(self.automata.shape[0]):
            if not self.automaton_fits(k):
                return False
        return True

    @cython.cfunc
    def automaton_fits(self, number: index) -> cython.bint:
        """Return whether an automaton leads to states, classes and rows of its own."""
        a = self.automata[number]
        if number + 1 < self.automata.shape[0] and self.automata[number + 1].states < 0:
            return False
        states = self.states_of(number)
        classes = cython.cast(cython.longlong, a.classes)
        if states < 1 or classes < 1 or a.ranges < 1:
            return False
        if not (OF_JSON <= a.kind <= RAW_ENDING and 0 <= a.varied <= 8):
            return False
        if not (
            within(a.states, states, self.wide.shape[0])
            and within(a.transitions, states * classes, self.transitions.shape[0])
            and within(a.ascii, 128, self.ascii.shape[0])
            and within(a.range0, a.ranges, self.range_low.shape[0])
        ):
            return False
        for i in range(a.transitions, a.transitions + states * classes):
            if not -1 <= self.transitions[i] < states:
                return False
        for i in range(a.ascii, a.ascii + 128):
            if not -1 <= self.ascii[i] < classes:
                return False
        if not (0 <= a.bounds < 63 and within(a.bound0, a.bounds, self.bounds.shape[0])):
            return False
        for i in range(a.bound0, a.bound0 + a.bounds):
            rest0 = self.bounds[i].rest0
            if rest0 != -1 and not within(rest0, states, self.rests.shape[0]):
                return False
        if self.range_low[a.range0] != 0:
            return False
        for i in range(a.range0, a.range0 + a.ranges):
            if not -1 <= self.range_class[i] < classes:
                return False
        return True

    @cython.cfunc
    def tries_fit(self) -> cython.bint:
        """Return whether edges lead forward, which also ends every walk."""
        count = self.trie_value.shape[0]
        edges = self.edge_to.shape[0]
        if (
            self.trie_edges.shape[0] != count + 1
            or self.trie_low.shape[0] != count
            or self.trie_high.shape[0] != count
            or self.trie_opens.shape[0] != count
            or self.edge_character.shape[0] != edges
            or self.trie_edges[0] != 0
            or self.trie_edges[count] != edges
        ):
            return False
        for t in range(count):
            if self.trie_edges[t] > self.trie_edges[t + 1]:
                return False
        for t in range(count):
            for i in range(self.trie_edges[t], self.trie_edges[t + 1]):
                if not t < self.edge_to[i] < count:
                    return False
        return True

    @cython.cfunc
    def places_fit(self) -> cython.bint:
        """Return whether the values of elements are nodes."""
        for i in range(self.places.shape[0]):
            place = self.places[i]
            if not (
                0 <= place.node < self.nodes.shape[0] and self.has_bits(place.fits, place.values, 1)
            ):
                return False
        return True

    @cython.cfunc
    def pairs_fit(self) -> cython.bint:
        """Return whether a layout of pairs has its automata."""
        if self.pairs.shape[0] == 0:
            return True
        if self.pairs.shape[0] <= STOPS:
            return False
        for i in range(STOPS + 1):
            if not -1 <= self.pairs[i] < self.automata.shape[0]:
                return False
        return self.pairs[AROUND_PAIRS] >= 0 and self.pairs[AROUND_NESTED] >= 0

    @cython.cfunc
    def scalars_fit(self, number: index) -> cython.bint:
        """Return whether the strings and numbers of a node are in bounds."""
        node = self.nodes[number]
        automata = self.automata.shape[0]
        return (
            0 <= node.values < 63
            and -1 <= node.string_automaton < automata
            and -1 <= node.string_trie < self.trie_value.shape[0]
            and -1 <= node.bare_automaton < automata
            and OF_JSON <= node.raw <= RAW_ENDING
            and node.string_languages < 63
            and self.has_bits(node.strings_of, node.string_languages, 1)
            and node.bare_languages < 63
            and self.has_bits(node.bare_of, node.bare_languages, 1)
            and 0 <= node.scalars <= node.string_languages
            and -1 <= node.json_node < self.nodes.shape[0]
            and self.has_bits(node.vast, 1, 1)
            and (node.printed == -1 or self.has_bits(node.printed, 1, 1))
        )

    @cython.cfunc
    def objects_fit(self, number: index) -> cython.bint:
        """Return whether the objects of a node are in bounds."""
        node = self.nodes[number]
        words = cython.cast(cython.longlong, node.shape_words)
        if not (
            # A frame has these words even where no value of the node is an object.
            self.has_bits(node.shapes_of, max(node.values, 1), words)
            and within(node.name0, node.names, self.names.shape[0])
            and -1 <= node.name_trie < self.trie_value.shape[0]
            and self.has_bits(node.required_names, 1, (node.names + 63) >> 6)
            and within(node.class0, node.classes, self.classes.shape[0])
            and node.classes < 63
            and node.class_values < 63
            and 0 <= node.names_end <= 1
        ):
            return False
        if node.names & 63 and self.bits[node.required_names + (node.names >> 6)] >> (
            node.names & 63
        ):
            return False  # a name behind the last one is required
        for i in range(node.name0, node.name0 + node.names):
            name = self.names[i]
            if not (
                0 <= name.node < self.nodes.shape[0]
                and name.values < 63
                and self.has_bits(name.fits, name.values, words)
                and self.has_bits(name.required, 1, words)
            ):
                return False
        for i in range(node.class0, node.class0 + node.classes):
            if not self.has_bits(self.classes[i], node.class_values, words):
                return False
        return node.classes == 0 or (
            0 <= node.class_automaton < self.automata.shape[0]
            and 0 <= node.class_node < self.nodes.shape[0]
        )

    @cython.cfunc
    def limits_fit(self, number: index) -> cython.bint:
        """Return whether the counts of properties of a node are in bounds."""
        node = self.nodes[number]
        if not (
            within(node.limit0, node.limits, self.limits.shape[0])
            and node.limits <= cython.cast(cython.longlong, node.shape_words) << 6
        ):
            return False
        for i in range(node.limit0, node.limit0 + node.limits):
            if not self.has_bits(self.limits[i].required, 1, (node.names + 63) >> 6):
                return False
        return True

    @cython.cfunc
    def marks_fit(self, number: index) -> cython.bint:
        """Return whether the undeclared properties that count in a node are in bounds."""
        node = self.nodes[number]
        words = cython.cast(cython.longlong, node.shape_words)
        if not (
            within(node.mark0, node.marks, self.marks.shape[0])
            and self.has_bits(node.witnessed, node.witnesses, words)
        ):
            return False
        for i in range(node.mark0, node.mark0 + node.marks):
            mark = self.marks[i]
            if not (
                -1 <= mark.name < node.names
                and (mark.name >= 0 or 0 <= mark.class_ < node.classes)
                and 0 <= mark.value < 63
                and self.has_bits(mark.hits, node.witnesses, words)
            ):
                return False
        return True

    @cython.cfunc
    def arrays_fit(self, number: index) -> cython.bint:
        """Return whether the arrays of a node are in bounds."""
        node = self.nodes[number]
        if not (
            within(node.array0, node.arrays, self.arrays.shape[0])
            and node.arrays < 63
            and (node.arrays == 0 or self.has_bits(node.arrays_of, node.values, 1))
            and within(node.place0, node.places, self.places.shape[0])
            and (node.places > 0 or node.arrays == 0)
            and 0 <= node.tallies <= node.arrays
            and node.distinct >= NOT_KEPT
        ):
            return False
        if node.distinct != NOT_KEPT:
            if node.places != 1:
                return False
            element = self.nodes[self.places[node.place0].node]
            if element.string_automaton < 0 or element.string_trie >= 0:
                return False
        for i in range(node.array0, node.array0 + node.arrays):
            if not 0 <= self.arrays[i].value < 63:
                return False
            if not (-1 <= self.arrays[i].tally < node.tallies and self.counts_fit(i)):
                return False
        if node.tallies != 0:
            for i in range(node.place0, node.place0 + node.places):
                if not self.has_bits(self.places[i].hits, self.places[i].values, node.arrays):
                    return False
        return True

    @cython.cfunc
    def counts_fit(self, number: index) -> cython.bint:
        """Return whether every tally of an array has an entry in the table of needs."""
        array = self.arrays[number]
        sums = cython.cast(cython.longlong, 1)
        if array.tally < 0 or array.counts == 0:
            return True
        if not within(array.count0, array.counts, self.counts.shape[0]) or array.places < 1:
            return False
        for k in range(array.count0, array.count0 + array.counts):
            if self.counts[k].step != sums or self.counts[k].most < 0:
                return False
            sums *= self.counts[k].most + cython.cast(cython.longlong, 1)
            if sums > self.needs.shape[0]:
                return False
        return sums == array.sums and within(array.need0, array.places * sums, self.needs.shape[0])

    @cython.cfunc
    def name_tries_fit(self) -> cython.bint:
        """Return whether each trie of names has names that all its nodes have."""
        count = self.trie_value.shape[0]
        names: cython.longlong[::1] = np.full(max(count, 1), LAST_63, np.int64)
        for k in range(self.nodes.shape[0]):
            root = self.nodes[k].name_trie
            if root >= 0:
                names[root] = min(names[root], self.nodes[k].names)
        for t in range(count):
            most = names[t]
            if most == LAST_63:
                continue
            if not (
                self.trie_value[t] < most and 0 <= self.trie_low[t] < self.trie_high[t] <= most
            ):
                return False
            for i in range(self.trie_edges[t], self.trie_edges[t + 1]):
                to = self.edge_to[i]
                names[to] = min(names[to], most)
        return True

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
        """Return a wide row that is held; None if it is not."""
        found = self.rows[number]
        if found is None and self.older_rows is not None:
            found = self.older_rows[number]
            if found is not None:
                self.hold_row(number, cython.cast(Row, found))
        return found

    @cython.cfunc
    def hold_row(self, number: index, row: Row):
        """Hold a wide row; let go of those that were not used while half of the bound filled."""
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
    def keep(self, slot: index, row: KeptRow):
        """Keep the row of a configuration; forget all others where they take too much."""
        size = _KEPT_BYTES + 8 * row.data.shape[0]
        if self.kept_bytes + size > self.most_rows():
            self.charge.add(-self.kept_bytes)
            self.kept = [None] * SLOTS
            self.kept_bytes = 0
        # The one that was there before moves to the other slot.
        before = self.kept[slot]
        gone = self.kept[slot ^ 1] if before is not None else None
        if before is not None:
            self.kept[slot ^ 1] = before
        self.kept[slot] = row
        if gone is not None:
            size -= _KEPT_BYTES + 8 * cython.cast(KeptRow, gone).data.shape[0]
        self.kept_bytes += size
        self.charge.add(size)

    def set_shortest(self, shortest, size: i64):
        """Set what `enforcer.budget` has found, which takes so many bytes."""
        if self.shortest is None:
            self.charge.add(size)
        self.shortest = shortest

    @cython.cfunc
    def states_of(self, number: index) -> index:
        """Return how many states an automaton has."""
        is_last: cython.bint = number + 1 == self.automata.shape[0]
        end = self.wide.shape[0] if is_last else self.automata[number + 1].states
        return end - self.automata[number].states


if not cython.compiled:
    for _class in (Tables,):
        _class.__init__ = run_cinits
