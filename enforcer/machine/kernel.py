# cython: language_level=3, wraparound=False, initializedcheck=False, cdivision=True
# cython: infer_types=True
"""A pushdown automaton for the text of a JSON value, and bitmask rows of a vocabulary for it.

*Theory.* A grammar is a finite set of *nodes*; a node is a set of values of which one has to be
written. Reading a text is running a bottom-up tree automaton over it (Comon et al., Tree Automata
Techniques and Applications, 2008, chapter 8: unranked trees): a finished child reports which values
of its node it fits, and that leaves those shapes of its parent that allow one of them. All readings
of a text are followed at once, as sets of bits in the *frames* of the open objects and arrays.
Strings, numbers and names run through deterministic automata over characters, or through tries
where they are listed. A character that is partly written (UTF-8, an escape, half of a surrogate
pair) is a range of code points; the text is a viable prefix if some character of the range is.

*State.* A `State` is ten numbers. Frames are immutable and lie in an arena; a new one is put on
top, so an earlier state needs no restoring, and rollback is going back in a list of states.

*Rows.* The tokens are a tree of bytes in preorder (`Tree`). A bitmask row is a walk over it that
skips what is below an illegal byte. In a string nearly everything is legal, so each automaton state
of that kind has a *wide row*: the tokens that stay inside the string, and the tree nodes where a
quote may end it, from which alone the walk goes on in the context of the text.

*Rules of this file.* Compiled by Cython, or interpreted (slowly) for tests. Tables are attributes
of one class and are never passed to an inner function: a view is a structure of 200 bytes. Local
variables have no declared types, since `infer_types` finds them. `-2` tells an exception of an
inner function. Bits 31 and 63 are set by `bit32` and `bit`, because Python's integers do not wrap.
"""

from __future__ import annotations

import cython
import numpy as np

i32 = cython.typedef(cython.int)
i64 = cython.typedef(cython.longlong)
index = cython.typedef(cython.Py_ssize_t)

# `pending` is the unfinished character of a string, and the white space before a token elsewhere.
# `values` has a bit for each value of the node that may still be meant, `languages` one for each
# language of the automaton or trie, `count` the characters of the string, `top` the arena's end.
State = cython.struct(
    frame=cython.longlong,
    phase=cython.longlong,
    node=cython.longlong,
    values=cython.longlong,
    automaton_state=cython.longlong,
    trie_node=cython.longlong,
    pending=cython.longlong,
    count=cython.longlong,
    languages=cython.longlong,
    top=cython.longlong,
)
STATE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "frame", "phase", "node", "values", "automaton_state", "trie_node", "pending",
            "count", "languages", "top",
        )
    ]
)  # fmt: skip

# The records of tables; `tables` says what their fields are.
Node = cython.struct(
    string_automaton=cython.int,
    string_trie=cython.int,
    bare_automaton=cython.int,
    values=cython.int,
    shape_words=cython.int,
    shapes=cython.int,
    shapes_of=cython.int,
    name_trie=cython.int,
    names=cython.int,
    name0=cython.int,
    class_automaton=cython.int,
    classes=cython.int,
    class0=cython.int,
    class_node=cython.int,
    class_values=cython.int,
    arrays=cython.int,
    array0=cython.int,
    arrays_of=cython.int,
    place0=cython.int,
    places=cython.int,
    strings_of=cython.int,
    string_languages=cython.int,
    bare_of=cython.int,
    bare_languages=cython.int,
)
NODE = np.dtype(
    [
        (name, np.int32)
        for name in (
            "string_automaton", "string_trie", "bare_automaton", "values", "shape_words", "shapes",
            "shapes_of", "name_trie", "names", "name0", "class_automaton", "classes", "class0",
            "class_node", "class_values", "arrays", "array0", "arrays_of", "place0", "places",
            "strings_of", "string_languages", "bare_of", "bare_languages",
        )
    ]
)  # fmt: skip
Name = cython.struct(
    node=cython.int, values=cython.int, fits=cython.int, declared=cython.int, required=cython.int
)
NAME = np.dtype([(name, np.int32) for name in ("node", "values", "fits", "declared", "required")])
Place = cython.struct(node=cython.int, values=cython.int, fits=cython.int)
PLACE = np.dtype([(name, np.int32) for name in ("node", "values", "fits")])
Array = cython.struct(value=cython.int, minimum=cython.int, maximum=cython.int)
ARRAY = np.dtype([(name, np.int32) for name in ("value", "minimum", "maximum")])
Automaton = cython.struct(
    transitions=cython.int,
    classes=cython.int,
    ascii=cython.int,
    range0=cython.int,
    ranges=cython.int,
    states=cython.int,
    minimum=cython.int,
    maximum=cython.int,
    is_pattern=cython.int,
)
AUTOMATON = np.dtype(
    [
        (name, np.int32)
        for name in (
            "transitions", "classes", "ascii", "range0", "ranges", "states", "minimum", "maximum",
            "is_pattern",
        )
    ]
)  # fmt: skip

# Phases of a text.
BEGIN = cython.declare(cython.int, 0)
OBJECT_OPEN = cython.declare(cython.int, 1)
OBJECT_OPEN_SPACED = cython.declare(cython.int, 2)
IN_NAME = cython.declare(cython.int, 3)
NAMED = cython.declare(cython.int, 4)
AFTER = cython.declare(cython.int, 5)
OBJECT_COMMA = cython.declare(cython.int, 6)
IN_STRING = cython.declare(cython.int, 7)
IN_BARE = cython.declare(cython.int, 8)
ARRAY_OPEN = cython.declare(cython.int, 9)
ARRAY_OPEN_SPACED = cython.declare(cython.int, 10)
DONE = cython.declare(cython.int, 11)

# Words of a frame. Behind them words of bits: of an array its live shapes (one word); of an object
# its live shapes, the names that it has, and those that may come.
PARENT = cython.declare(cython.int, 0)
IS_ARRAY = cython.declare(cython.int, 1)
NODE_OF = cython.declare(cython.int, 2)
CURRENT = cython.declare(cython.int, 3)  # the name being written (-1: undeclared); the elements
CLASSES = cython.declare(cython.int, 4)  # the classes of an undeclared name
LIVE = cython.declare(cython.int, 5)

# What a byte does to a string.
ILLEGAL = cython.declare(cython.int, 0)
INSIDE = cython.declare(cython.int, 1)
QUOTE = cython.declare(cython.int, 2)

LAST_CHARACTER = cython.declare(cython.int, 0x10FFFF)
FAR = cython.declare(cython.int, 1 << 30)
INDENTATION = cython.declare(cython.int, 64)
_DEPTH = 512  # bytes of the longest token, at most
_FIRST_WORDS = 256  # of an arena
_FIRST_STATES = 16


def records(table: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a flat table as records, whose fields are attributes."""
    flat = table.reshape(-1)
    whole = flat.nbytes // dtype.itemsize * dtype.itemsize // flat.itemsize
    return flat[:whole].view(dtype).view(np.recarray)


def _states(count: int) -> np.ndarray:
    return records(np.zeros(count * len(STATE), np.int64), STATE)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def bit(n: i64) -> i64:
    """Return a word with one bit."""
    if not cython.compiled and n == 63:
        return -(1 << 63)
    return cython.cast(cython.longlong, 1) << n


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def bit32(n: i32) -> i32:
    """Return a word of a bitmask row with one bit."""
    if not cython.compiled and n == 31:
        return -(1 << 31)
    return cython.cast(cython.int, cython.cast(cython.uint, 1) << n)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def hexadecimal(byte: i64) -> i64:
    """Return the value of a hexadecimal digit; -1 for any other byte."""
    if 48 <= byte <= 57:
        return byte - 48
    if 97 <= byte <= 102:
        return byte - 87
    if 65 <= byte <= 70:
        return byte - 55
    return -1


@cython.final
@cython.cclass
class WideRow:
    """The tokens that stay inside a string from one state of its automaton on.

    Attributes:
        row: their bitmask row.
        exits: tree nodes whose byte is a quote that may end the string.

    """

    row = cython.declare(cython.int[::1], visibility="readonly")
    exits = cython.declare(cython.int[::1], visibility="readonly")

    def __init__(self, row: cython.int[::1], exits: cython.int[::1]):
        self.row = row
        self.exits = exits


@cython.final
@cython.cclass
class Tree:
    """The text tokens of a vocabulary, shared by all texts; the arrays of `tree.VocabularyTree`.

    Attributes:
        text0, text: the bytes of token id `i` are `text[text0[i]:text0[i + 1]]`.
        words: of a bitmask row.
        shorter: bitmask rows of the tokens that add at most 0, 1, ... characters to a string.
        free: the wide row of a string that may be anything.

    """

    byte: cython.const_uchar[::1]
    skip: cython.const_int[::1]
    token: cython.const_int[::1]
    depth: cython.const_int[::1]
    parent: cython.const_int[::1]
    below: cython.const_longlong[::1]
    rank: cython.const_int[::1]
    height: cython.const_int[::1]
    way: cython.const_longlong[::1]
    ids: cython.const_int[::1]
    text0: cython.const_int[::1]
    text: cython.const_uchar[::1]
    shorter: cython.const_int[::1]
    size: i64
    tokens: i64
    words = cython.declare(cython.longlong, visibility="readonly")
    shorter_rows: i64
    free = cython.declare(object, visibility="readonly")
    spare: list

    def __init__(
        self,
        byte: cython.const_uchar[::1],
        skip: cython.const_int[::1],
        token: cython.const_int[::1],
        depth: cython.const_int[::1],
        parent: cython.const_int[::1],
        below: cython.const_longlong[::1],
        rank: cython.const_int[::1],
        height: cython.const_int[::1],
        way: cython.const_longlong[::1],
        ids: cython.const_int[::1],
        text0: cython.const_int[::1],
        text: cython.const_uchar[::1],
        words: i64,
    ):
        self.byte = byte
        self.skip = skip
        self.token = token
        self.depth = depth
        self.parent = parent
        self.below = below
        self.way = way
        self.rank = rank
        self.ids = ids
        self.height = height
        self.text0 = text0
        self.text = text
        self.words = words
        self.size = byte.shape[0]
        self.tokens = text0.shape[0] - 1
        self.shorter = np.zeros(1, np.int32)
        self.shorter_rows = 0
        self.free = None
        self.spare = []  # states of walks; a text takes one and puts it back

    def set_free(self, free, shorter: cython.const_int[::1]):
        """Set the rows of strings that may be anything."""
        self.free = free
        self.shorter = shorter
        self.shorter_rows = shorter.shape[0] // self.words


@cython.final
@cython.cclass
class Tables:
    """The tables of one grammar; see `tables`. Independent of the vocabulary but for `rows`.

    Attributes:
        wide: for each automaton state the number of its wide row; -1 where it has none.
        rows: wide rows by their number, the first being the tree's own; None until it is needed.

    """

    nodes: Node[::1]
    names: Name[::1]
    classes: cython.const_int[::1]
    places: Place[::1]
    arrays: Array[::1]
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
    distance: cython.const_int[::1]
    wide: cython.const_int[::1]
    loops: cython.const_longlong[::1]
    has_line_breaks: cython.bint
    rows = cython.declare(list, visibility="readonly")

    def __init__(
        self,
        nodes: Node[::1],
        names: Name[::1],
        classes: cython.const_int[::1],
        places: Place[::1],
        arrays: Array[::1],
        bits: cython.const_longlong[::1],
        trie_edges: cython.const_int[::1],
        edge_character: cython.const_int[::1],
        edge_to: cython.const_int[::1],
        trie_value: cython.const_longlong[::1],
        trie_low: cython.const_longlong[::1],
        trie_high: cython.const_longlong[::1],
        automata: Automaton[::1],
        transitions: cython.const_int[::1],
        ascii_: cython.const_int[::1],
        range_low: cython.const_int[::1],
        range_class: cython.const_int[::1],
        accepts: cython.const_longlong[::1],
        leads: cython.const_longlong[::1],
        distance: cython.const_int[::1],
        wide: cython.const_int[::1],
        loops: cython.const_longlong[::1],
        has_line_breaks: cython.bint,
        rows: list,
    ):
        self.nodes = nodes
        self.names = names
        self.classes = classes
        self.places = places
        self.arrays = arrays
        self.bits = bits
        self.trie_edges = trie_edges
        self.edge_character = edge_character
        self.edge_to = edge_to
        self.trie_value = trie_value
        self.trie_low = trie_low
        self.trie_high = trie_high
        self.automata = automata
        self.transitions = transitions
        self.ascii = ascii_
        self.range_low = range_low
        self.range_class = range_class
        self.accepts = accepts
        self.leads = leads
        self.distance = distance
        self.wide = wide
        self.loops = loops
        self.has_line_breaks = has_line_breaks
        self.rows = rows


@cython.final
@cython.cclass
class Text:
    """The state of one argument text; see `enforcer.engines.ArgumentMatcher`.

    Args:
        tree: the vocabulary.
        tables: the grammar, bound to it.

    Attributes:
        work: tree nodes that the last mask visited.

    """

    work = cython.declare(cython.longlong, visibility="readonly")
    tree: Tree
    tables: Tables
    arena: cython.longlong[::1]
    past: State[::1]
    at: i64
    states: State[::1]
    row: cython.int[::1]

    def __init__(self, tree: Tree, tables: Tables):
        self.tree = tree
        self.tables = tables
        self.arena = np.zeros(_FIRST_WORDS, np.int64)
        self.past = _states(_FIRST_STATES)
        self.at = 0
        self.work = 0
        s = self.past_state(0)
        s.frame = -1
        s.phase = BEGIN
        s.values = 1

    # As a matcher

    def fill(self, row: cython.int[::1]):
        """Write the bitmask row of the token ids that may come next."""
        scratch = self.borrow()
        self.row = row
        self.states[0] = self.past[self.at]
        try:
            self.work = self.mask()
        finally:
            self.give_back(scratch)

    def accept(self, token_id: i64):
        """Advance by one token id; False if it is illegal, the state being unchanged then."""
        if token_id < 0 or token_id >= self.tree.tokens:
            return False
        first = self.tree.text0[token_id]
        end = self.tree.text0[token_id + 1]
        if first == end:
            return False
        if self.at + 1 == self.past.shape[0]:
            self.grow_past()
        self.past[self.at + 1] = self.past[self.at]
        for i in range(first, end):
            if not self.step(self.past_state(self.at + 1), self.tree.text[i]):
                return False
        self.at += 1
        return True

    def rollback(self, count: i64):
        """Take back the last `count` accepted ids."""
        if count < 0 or count > self.at:
            raise ValueError(f"cannot take back {count} of {self.at} ids")
        self.at -= count

    def is_accepting(self):
        """Return whether the text so far is complete."""
        s = self.past_state(self.at)
        if s.phase == DONE:
            return True
        if s.phase != IN_BARE or s.frame >= 0:
            return False
        automaton = self.tables.nodes[s.node].bare_automaton
        state = self.tables.automata[automaton].states + s.automaton_state
        return (self.tables.accepts[state] & s.languages) != 0

    @property
    def weight(self):
        """Bytes of this text alone."""
        return 1_000 + 8 * self.arena.shape[0] + 80 * self.past.shape[0]

    @cython.cfunc
    def borrow(self):
        spare = self.tree.spare
        scratch = spare.pop() if spare else _states(_DEPTH)
        self.states = scratch
        return scratch

    @cython.cfunc
    def give_back(self, scratch):
        self.tree.spare.append(scratch)

    @cython.cfunc
    def grow_past(self):
        """Make room for twice as many states."""
        past = _states(2 * self.past.shape[0])
        wider: State[::1] = past
        for i in range(self.past.shape[0]):
            wider[i] = self.past[i]
        self.past = past

    @cython.cfunc
    def grow_arena(self, size: i64):
        """Make room for so many words at least."""
        arena = np.zeros(max(size, 2 * self.arena.shape[0]), np.int64)
        arena[: self.arena.shape[0]] = self.arena
        self.arena = arena

    # Strings

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def open_state(self, automaton: index, q: i64, languages: i64, count: i64) -> cython.bint:
        """Whether an automaton's state leads to the end of a language, within its length."""
        if q < 0:
            return False
        at = self.tables.automata[automaton].states + q
        if self.tables.leads[at] & languages == 0:
            return False
        most = self.tables.automata[automaton].maximum
        return most < 0 or count + self.tables.distance[at] <= most

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def open_trie(self, frame: i64, name: cython.bint, languages: i64, t: i64) -> cython.bint:
        """Whether some text below a node of a trie may come."""
        if t < 0:
            return False
        if not name:
            return (self.tables.trie_low[t] & languages) != 0
        available = self.names_at(frame) + self.name_words(frame)
        low = self.tables.trie_low[t]
        high = self.tables.trie_high[t]
        w = low >> 6
        last = (high - 1) >> 6
        while w <= last:
            v = self.arena[available + w]
            if v != 0:
                if w == (low >> 6):
                    v &= -bit(low & 63)
                if w == last and (high & 63) != 0:
                    v &= bit(high & 63) - 1
                if v != 0:
                    return True
            w += 1
        return False

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def range_at(self, automaton: index, char: i64) -> index:
        """The range of characters that holds one."""
        low = self.tables.automata[automaton].range0
        high = low + self.tables.automata[automaton].ranges
        while low < high:
            middle = (low + high) >> 1
            if self.tables.range_low[middle] <= char:
                low = middle + 1
            else:
                high = middle
        return low - 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def edge_at(self, t: index, char: i64) -> index:
        """The first edge of a trie's node with this character or a later one."""
        low = self.tables.trie_edges[t]
        high = self.tables.trie_edges[t + 1]
        while low < high:
            middle = (low + high) >> 1
            if self.tables.edge_character[middle] < char:
                low = middle + 1
            else:
                high = middle
        return low

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def viable(
        self, s: cython.pointer[State], automaton: index, name: cython.bint, low: i64, high: i64
    ) -> cython.bint:
        """Whether some character of a range may come next."""
        if low > high:
            return False
        if s.automaton_state >= 0:
            end = self.tables.automata[automaton].range0 + self.tables.automata[automaton].ranges
            i = self.range_at(automaton, low)
            while i < end and self.tables.range_low[i] <= high:
                c = self.tables.range_class[i]
                if c >= 0 and self.open_state(
                    automaton,
                    self.tables.transitions[
                        self.tables.automata[automaton].transitions
                        + s.automaton_state * self.tables.automata[automaton].classes
                        + c
                    ],
                    s.languages,
                    s.count + 1,
                ):
                    return True
                i += 1
        if s.trie_node >= 0:
            end = self.tables.trie_edges[s.trie_node + 1]
            i = self.edge_at(s.trie_node, low)
            while i < end and self.tables.edge_character[i] <= high:
                if self.open_trie(s.frame, name, s.languages, self.tables.edge_to[i]):
                    return True
                i += 1
        return False

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def take(
        self, s: cython.pointer[State], automaton: index, name: cython.bint, char: i64
    ) -> cython.bint:
        """Take a whole character."""
        q = s.automaton_state
        t = s.trie_node
        if q >= 0:
            if char < 128:
                c = self.tables.ascii[self.tables.automata[automaton].ascii + char]
            else:
                c = self.tables.range_class[self.range_at(automaton, char)]
            q = (
                self.tables.transitions[
                    self.tables.automata[automaton].transitions
                    + q * self.tables.automata[automaton].classes
                    + c
                ]
                if c >= 0
                else -1
            )
            if not self.open_state(automaton, q, s.languages, s.count + 1):
                q = -1
        if t >= 0:
            e = self.edge_at(t, char)
            t = (
                self.tables.edge_to[e]
                if e < self.tables.trie_edges[t + 1] and self.tables.edge_character[e] == char
                else -1
            )
            if q < 0 and not self.open_trie(s.frame, name, s.languages, t):
                t = -1
        s.automaton_state = q
        s.trie_node = t
        s.pending = 0
        s.count += 1
        return q >= 0 or t >= 0

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def text(
        self, s: cython.pointer[State], automaton: index, name: cython.bint, b: i64
    ) -> cython.int:
        """A byte within a string or a name: 0 dead, 1 goes on, 2 a quote that ends it."""
        if s.pending == 0:
            if b == 34:
                return 2
            if b < 32:
                return 0
            if b == 92:
                s.pending = 1
                return self.viable(s, automaton, name, 0, LAST_CHARACTER)
            if b < 128:
                return self.take(s, automaton, name, b)
            if b < 0xC2 or b > 0xF4:
                return 0
            if b < 0xE0:
                kind = 6
                val = b & 31
            elif b < 0xF0:
                kind = 7
                val = b & 15
            else:
                kind = 8
                val = b & 7
            k = kind - 5
        else:
            kind = s.pending & 15
            k = s.pending >> 4 & 15
            val = s.pending >> 8
            if kind == 1:
                if b == 117:
                    s.pending = 2
                    return 1
                c = -1
                if b == 34 or b == 92 or b == 47:
                    c = b
                elif b == 98:
                    c = 8
                elif b == 102:
                    c = 12
                elif b == 110:
                    c = 10
                elif b == 114:
                    c = 13
                elif b == 116:
                    c = 9
                return c >= 0 and self.take(s, automaton, name, c)
            if kind == 3:
                s.pending = 4 | (val << 8)
                return b == 92
            if kind == 4:
                s.pending = 5 | (val << 24)
                return b == 117
            if kind == 2 or kind == 5:
                h = hexadecimal(b)
                if h < 0:
                    return 0
                first = val >> 16
                v = (val & 0xFFFF) << 4 | h
                k += 1
                low = v << (4 * (4 - k))
                high = low + (bit(4 * (4 - k))) - 1
                if kind == 2:
                    if k == 4:
                        if 0xDC00 <= v <= 0xDFFF:
                            return 0
                        if not 0xD800 <= v <= 0xDBFF:
                            return self.take(s, automaton, name, v)
                        s.pending = 3 | (v << 8)
                    else:
                        s.pending = 2 | k << 4 | v << 8
                    if self.viable(s, automaton, name, low, high):
                        return 1
                    low = max(low, 0xD800)
                    last = min(high, 0xDBFF)
                    if low > last:
                        return 0
                    return self.viable(
                        s,
                        automaton,
                        name,
                        0x10000 + ((low - 0xD800) << 10),
                        0x103FF + ((last - 0xD800) << 10),
                    )
                low = max(low, 0xDC00)
                last = min(high, 0xDFFF)
                if low > last:
                    return 0
                base = 0x10000 + ((first - 0xD800) << 10) - 0xDC00
                if k == 4:
                    return self.take(s, automaton, name, base + v)
                s.pending = 5 | k << 4 | (first << 16 | v) << 8
                return self.viable(s, automaton, name, base + low, base + last)
            if b & 0xC0 != 0x80:
                return 0
            val = val << 6 | b & 63
            k -= 1
            if k == 0:
                if (kind == 7 and val < 0x800) or (
                    kind == 8 and (val < 0x10000 or val > LAST_CHARACTER)
                ):
                    return 0
                return self.take(s, automaton, name, val)
        s.pending = kind | k << 4 | val << 8
        low = val << (6 * k)
        high = low + bit(6 * k) - 1
        if kind == 7:
            low = max(low, 0x800)
        if kind == 8:
            low = max(low, 0x10000)
            high = min(high, LAST_CHARACTER)
        return self.viable(s, automaton, name, low, high)

    # Frames

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def names_at(self, f: i64) -> i64:
        """Where an object frame has the names that it has had."""
        return f + LIVE + self.tables.nodes[self.arena[f + NODE_OF]].shape_words

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def name_words(self, f: i64) -> i64:
        return (self.tables.nodes[self.arena[f + NODE_OF]].names + 63) >> 6

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def frame_size(self, f: i64) -> i64:
        if self.arena[f + IS_ARRAY]:
            return LIVE + 1
        return self.names_at(f) - f + 2 * self.name_words(f)

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def copy_frame(self, s: cython.pointer[State], old: i64) -> i64:
        """Put a copy of a frame on the arena."""
        size = self.frame_size(old)
        at = s.top
        if at + size > self.arena.shape[0]:
            self.grow_arena(at + size)
        for i in range(size):
            self.arena[at + i] = self.arena[old + i]
        s.top = at + size
        s.frame = at
        return at

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def new_frame(self, s: cython.pointer[State], node: i64, is_array: i64) -> i64:
        """Put an empty frame on the arena."""
        at = s.top
        if at + LIVE > self.arena.shape[0]:
            self.grow_arena(at + LIVE)
        self.arena[at + PARENT] = s.frame
        self.arena[at + IS_ARRAY] = is_array
        self.arena[at + NODE_OF] = node
        size = self.frame_size(at)
        if at + size > self.arena.shape[0]:
            self.grow_arena(at + size)
        for i in range(CURRENT, size):
            self.arena[at + i] = 0
        s.top = at + size
        s.frame = at
        return at

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def open_names(self, f: i64) -> cython.bint:
        """Find the names that may come, in the frame itself, and tell whether any may."""
        node = self.arena[f + NODE_OF]
        live_words = self.tables.nodes[node].shape_words
        live = f + LIVE
        seen = live + live_words
        available = seen + self.name_words(f)
        name0 = self.tables.nodes[node].name0
        count = self.tables.nodes[node].names
        found = False
        for w in range((count + 63) >> 6):
            word = 0
            for n in range(w << 6, min(count, (w + 1) << 6)):
                at = name0 + n
                was = self.arena[seen + w] >> (n & 63) & 1
                ok = False
                for v in range(self.tables.names[at].values):
                    fits = self.tables.names[at].fits + v * live_words
                    for j in range(live_words):
                        y = self.arena[live + j] & self.tables.bits[fits + j]
                        if was:
                            y &= ~self.tables.bits[self.tables.names[at].declared + j]
                        if y != 0:
                            ok = True
                            break
                    if ok:
                        break
                if ok:
                    word |= bit(n & 63)
            self.arena[available + w] = word
            if word != 0:
                found = True
        return found

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def open_classes(self, f: i64) -> i64:
        """The classes of undeclared names that may come."""
        node = self.arena[f + NODE_OF]
        live_words = self.tables.nodes[node].shape_words
        found = 0
        for k in range(self.tables.nodes[node].classes):
            at = self.tables.classes[self.tables.nodes[node].class0 + k]
            for v in range(self.tables.nodes[node].class_values):
                for j in range(live_words):
                    if self.arena[f + LIVE + j] & self.tables.bits[at + v * live_words + j] != 0:
                        found |= bit(k)
        return found

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def can_take(self, f: i64, node: index, i: i64) -> cython.bint:
        """Whether one of the arrays of a frame may have another element."""
        most = self.tables.arrays[self.tables.nodes[node].array0 + i].maximum
        return self.arena[f + LIVE] >> i & 1 and (most < 0 or self.arena[f + CURRENT] < most)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def place(self, f: i64, node: index) -> index:
        """The place of an array's next element."""
        return self.tables.nodes[node].place0 + min(
            self.arena[f + CURRENT], self.tables.nodes[node].places - 1
        )

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def element(self, s: cython.pointer[State], f: i64) -> cython.bint:
        """Set up the element that comes next; False if none may."""
        node = self.arena[f + NODE_OF]
        p = self.place(f, node)
        can = 0
        active = 0
        for i in range(self.tables.nodes[node].arrays):
            if self.can_take(f, node, i):
                can |= bit(i)
        for v in range(self.tables.places[p].values):
            if self.tables.bits[self.tables.places[p].fits + v] & can != 0:
                active |= bit(v)
        s.node = self.tables.places[p].node
        s.values = active
        return active != 0

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def value_done(self, s: cython.pointer[State], fitted: i64) -> cython.bint:
        """A value is complete: those of its shapes or arrays go on that it fits."""
        if fitted == 0:
            return False
        f = s.frame
        s.pending = 0
        if f < 0:
            s.phase = DONE
            return True
        s.phase = AFTER
        node = self.arena[f + NODE_OF]
        live = 0
        some = False
        if self.arena[f + IS_ARRAY]:
            p = self.place(f, node)
            for i in range(self.tables.nodes[node].arrays):
                if self.can_take(f, node, i):
                    for v in range(self.tables.places[p].values):
                        if (
                            fitted >> v & 1
                            and self.tables.bits[self.tables.places[p].fits + v] >> i & 1
                        ):
                            live |= bit(i)
            f = self.copy_frame(s, f)
            self.arena[f + LIVE] = live
            self.arena[f + CURRENT] += 1
            return live != 0
        if fitted == s.values:
            return True
        live_words = self.tables.nodes[node].shape_words
        f = self.copy_frame(s, f)
        for j in range(live_words):
            m = 0
            if self.arena[f + CURRENT] >= 0:
                at = self.tables.nodes[node].name0 + self.arena[f + CURRENT]
                for v in range(self.tables.names[at].values):
                    if fitted >> v & 1:
                        m |= self.tables.bits[self.tables.names[at].fits + v * live_words + j]
            else:
                for k in range(self.tables.nodes[node].classes):
                    if self.arena[f + CLASSES] >> k & 1:
                        at = self.tables.classes[self.tables.nodes[node].class0 + k]
                        for v in range(self.tables.nodes[node].class_values):
                            if fitted >> v & 1:
                                m |= self.tables.bits[at + v * live_words + j]
            m &= self.arena[f + LIVE + j]
            self.arena[f + LIVE + j] = m
            if m != 0:
                some = True
        return some

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def named(self, s: cython.pointer[State]) -> cython.bint:
        """A name is complete."""
        f = s.frame
        node = self.arena[f + NODE_OF]
        live_words = self.tables.nodes[node].shape_words
        n = self.tables.trie_value[s.trie_node] if s.trie_node >= 0 else -1
        seen = LIVE + live_words
        active = 0
        if n >= 0:
            if self.arena[f + seen + self.name_words(f) + (n >> 6)] >> (n & 63) & 1 == 0:
                return False
            f = self.copy_frame(s, f)
            was = self.arena[f + seen + (n >> 6)] >> (n & 63) & 1
            self.arena[f + seen + (n >> 6)] |= bit(n & 63)
            at = self.tables.nodes[node].name0 + n
            for j in range(live_words):
                m = 0
                y = self.arena[f + LIVE + j]
                if was:
                    y &= ~self.tables.bits[self.tables.names[at].declared + j]
                for v in range(self.tables.names[at].values):
                    z = y & self.tables.bits[self.tables.names[at].fits + v * live_words + j]
                    if z != 0:
                        active |= bit(v)
                    m |= z
                self.arena[f + LIVE + j] = m
            s.node = self.tables.names[at].node
            self.arena[f + CURRENT] = n
        else:
            if s.automaton_state < 0:
                return False
            at = self.tables.nodes[node].class_automaton
            classes = (
                self.tables.accepts[self.tables.automata[at].states + s.automaton_state]
                & s.languages
            )
            if classes == 0 or s.count < self.tables.automata[at].minimum:
                return False
            f = self.copy_frame(s, f)
            self.arena[f + CURRENT] = -1
            self.arena[f + CLASSES] = classes
            for j in range(live_words):
                m = 0
                for k in range(self.tables.nodes[node].classes):
                    if classes >> k & 1:
                        at = self.tables.classes[self.tables.nodes[node].class0 + k]
                        for v in range(self.tables.nodes[node].class_values):
                            z = self.arena[f + LIVE + j] & self.tables.bits[at + v * live_words + j]
                            if z != 0:
                                active |= bit(v)
                            m |= z
                self.arena[f + LIVE + j] = m
            s.node = self.tables.nodes[node].class_node
        s.values = active
        s.phase = NAMED
        s.pending = 0
        return active != 0

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def close(self, f: i64) -> i64:
        """The values that are complete if an object or an array ends here."""
        node = self.arena[f + NODE_OF]
        fitted = 0
        live_words = self.tables.nodes[node].shape_words
        seen = f + LIVE + live_words
        name0 = self.tables.nodes[node].name0
        if self.arena[f + IS_ARRAY]:
            for i in range(self.tables.nodes[node].arrays):
                a = self.tables.nodes[node].array0 + i
                if (
                    self.arena[f + LIVE] >> i & 1
                    and self.arena[f + CURRENT] >= self.tables.arrays[a].minimum
                ):
                    fitted |= bit(self.tables.arrays[a].value)
            return fitted
        for j in range(live_words):
            m = self.arena[f + LIVE + j]
            if m == 0:
                continue
            for n in range(self.tables.nodes[node].names):
                if self.arena[seen + (n >> 6)] >> (n & 63) & 1 == 0:
                    m &= ~self.tables.bits[self.tables.names[name0 + n].required + j]
                    if m == 0:
                        break
            if m != 0:
                for v in range(self.tables.nodes[node].values):
                    if m & self.tables.bits[self.tables.nodes[node].shapes_of + v * live_words + j]:
                        fitted |= bit(v)
        return fitted

    # Bytes

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def begin(self, s: cython.pointer[State], b: i64) -> cython.bint:
        """The first byte of a value."""
        node = s.node
        active = s.values
        up = s.frame
        languages = 0
        m = 0
        some = False
        s.pending = 0
        if b == 34:
            automaton = self.tables.nodes[node].string_automaton
            for k in range(self.tables.nodes[node].string_languages):
                if self.tables.bits[self.tables.nodes[node].strings_of + k] & active:
                    languages |= bit(k)
            if languages == 0:
                return False
            s.languages = languages
            s.count = 0
            s.automaton_state = (
                0 if automaton >= 0 and self.open_state(automaton, 0, languages, 0) else -1
            )
            s.trie_node = (
                self.tables.nodes[node].string_trie
                if self.open_trie(up, False, languages, self.tables.nodes[node].string_trie)
                else -1
            )
            s.phase = IN_STRING
            return s.automaton_state >= 0 or s.trie_node >= 0
        if b == 123:
            if self.tables.nodes[node].shapes == 0:
                return False
            f = self.new_frame(s, node, 0)
            live_words = self.tables.nodes[node].shape_words
            for j in range(live_words):
                m = 0
                for v in range(self.tables.nodes[node].values):
                    if active >> v & 1:
                        m |= self.tables.bits[
                            self.tables.nodes[node].shapes_of + v * live_words + j
                        ]
                self.arena[f + LIVE + j] = m
                if m != 0:
                    some = True
            s.phase = OBJECT_OPEN
            if some:
                self.open_names(f)
            return some
        if b == 91:
            if self.tables.nodes[node].arrays == 0:
                return False
            for v in range(self.tables.nodes[node].values):
                if active >> v & 1:
                    m |= self.tables.bits[self.tables.nodes[node].arrays_of + v]
            if m == 0:
                return False
            f = self.new_frame(s, node, 1)
            self.arena[f + LIVE] = m
            s.phase = ARRAY_OPEN
            self.element(s, f)
            return True
        automaton = self.tables.nodes[node].bare_automaton
        if automaton < 0 or b >= 128:
            return False
        for k in range(self.tables.nodes[node].bare_languages):
            if self.tables.bits[self.tables.nodes[node].bare_of + k] & active:
                languages |= bit(k)
        s.languages = languages
        c = self.tables.ascii[self.tables.automata[automaton].ascii + b]
        if c < 0:
            return False
        q = self.tables.transitions[self.tables.automata[automaton].transitions + c]
        if q < 0 or self.tables.leads[self.tables.automata[automaton].states + q] & languages == 0:
            return False
        s.automaton_state = q
        s.phase = IN_BARE
        return True

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def begin_name(self, s: cython.pointer[State]) -> cython.bint:
        """The quote before a name."""
        f = s.frame
        t = self.tables.nodes[self.arena[f + NODE_OF]].name_trie
        s.languages = self.open_classes(f)
        s.count = 0
        s.pending = 0
        s.automaton_state = 0 if s.languages != 0 else -1
        s.trie_node = t if s.automaton_state >= 0 or self.open_trie(f, True, 0, t) else -1
        s.phase = IN_NAME
        return s.automaton_state >= 0 or s.trie_node >= 0

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def step(self, s: cython.pointer[State], b: i64) -> cython.bint:
        """Take a state one byte further, in place; False if nothing is like that."""
        phase = s.phase
        fitted = 0
        ended = 0
        if phase == IN_STRING:
            node = s.node
            automaton = self.tables.nodes[node].string_automaton
            r = self.text(s, automaton, False, b)
            if r < 2:
                return r == 1
            if s.automaton_state >= 0 and s.count >= self.tables.automata[automaton].minimum:
                ended = self.tables.accepts[
                    self.tables.automata[automaton].states + s.automaton_state
                ]
            if s.trie_node >= 0:
                ended |= self.tables.trie_value[s.trie_node]
            ended &= s.languages
            for k in range(self.tables.nodes[node].string_languages):
                if ended >> k & 1:
                    fitted |= self.tables.bits[self.tables.nodes[node].strings_of + k]
            return self.value_done(s, fitted & s.values)
        if phase == IN_NAME:
            r = self.text(
                s, self.tables.nodes[self.arena[s.frame + NODE_OF]].class_automaton, True, b
            )
            if r < 2:
                return r == 1
            return self.named(s)
        if phase == IN_BARE:
            node = s.node
            automaton = self.tables.nodes[node].bare_automaton
            at = self.tables.automata[automaton].states
            if b < 128:
                c = self.tables.ascii[self.tables.automata[automaton].ascii + b]
                if c >= 0:
                    q = self.tables.transitions[
                        self.tables.automata[automaton].transitions
                        + s.automaton_state * self.tables.automata[automaton].classes
                        + c
                    ]
                    if q >= 0 and self.tables.leads[at + q] & s.languages:
                        s.automaton_state = q
                        return True
            ended = self.tables.accepts[at + s.automaton_state] & s.languages
            if ended == 0:
                return False
            for k in range(self.tables.nodes[node].bare_languages):
                if ended >> k & 1:
                    fitted |= self.tables.bits[self.tables.nodes[node].bare_of + k]
            if not self.value_done(s, fitted & s.values):
                return False
            phase = s.phase
        if phase == DONE:
            return False
        x = s.pending
        f = s.frame
        if b == 32 or b == 9 or b == 10 or b == 13:
            if b != 32 and not self.tables.has_line_breaks:
                return False
            if x == 0:
                if b == 9:
                    return False
                s.pending = 1 if b == 32 else (2 if b == 13 else 3)
                return True
            if x == 2:
                s.pending = 3
                return b == 10
            if x >= 3 and x < 3 + INDENTATION and (b == 32 or b == 9):
                s.pending = x + 1
                return True
            if (phase == OBJECT_OPEN or phase == ARRAY_OPEN) and b != 9 and self.close(f) != 0:
                s.phase = phase + 1
                s.pending = 1 if b == 32 else (2 if b == 13 else 3)
                return True
            return False
        if x == 2:
            return False
        if phase == BEGIN:
            return self.begin(s, b)
        if phase == NAMED:
            s.phase = BEGIN
            s.pending = 0
            return b == 58
        if b == 125 or b == 93:
            if phase == OBJECT_COMMA or self.arena[f + IS_ARRAY] != (1 if b == 93 else 0):
                return False
            fitted = self.close(f)
            if fitted == 0:
                return False
            s.frame = self.arena[f + PARENT]
            s.values = -1
            return self.value_done(s, fitted)
        if phase == OBJECT_OPEN or phase == OBJECT_COMMA:
            return b == 34 and self.begin_name(s)
        if phase == ARRAY_OPEN:
            return s.values != 0 and self.begin(s, b)
        if phase == AFTER and b == 44:
            s.pending = 0
            if self.arena[f + IS_ARRAY]:
                s.phase = BEGIN
                return self.element(s, f)
            s.phase = OBJECT_COMMA
            f = self.copy_frame(s, f)
            return self.open_names(f) or self.open_classes(f) != 0
        return False

    # The vocabulary

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def past_state(self, at: index) -> cython.pointer[State]:
        return cython.address(self.past[at]) if cython.compiled else self.past[at]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def state(self, d: index) -> cython.pointer[State]:
        """The state behind `d` bytes."""
        return cython.address(self.states[d]) if cython.compiled else self.states[d]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2, check=False)
    def loops_of(self, s: cython.pointer[State], deep: i64) -> i64:
        """The groups of bytes that leave a state as it is; 0 where they do not, or it is not text."""
        if s.pending != 0 or s.automaton_state < 0 or s.trie_node >= 0 or s.phase != IN_STRING:
            return 0
        automaton = self.tables.nodes[s.node].string_automaton
        most = self.tables.automata[automaton].maximum
        at = self.tables.automata[automaton].states + s.automaton_state
        if most >= 0 and s.count + deep + self.tables.distance[at] > most:
            return 0
        return self.tables.loops[at]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def all_below(self, i: index) -> cython.void:
        """Set the bits of a node and of all below it."""
        for r in range(self.tree.rank[i], self.tree.rank[self.tree.skip[i]]):
            t = self.tree.ids[r]
            self.row[t >> 5] |= bit32(t & 31)

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def walk(self, i: index, end: index) -> i64:
        """Set the bits of all that may come below the nodes from `i` to `end`; gives the nodes visited."""
        visited = 0
        while i < end:
            d = self.tree.depth[i]
            if self.tree.below[i] & ~self.loops_of(self.state(d), self.tree.height[i]) == 0:
                self.all_below(i)
                i = self.tree.skip[i]
                continue
            self.states[d + 1] = self.states[d]
            visited += 1
            if self.step(self.state(d + 1), self.tree.byte[i]):
                t = self.tree.token[i]
                if t >= 0:
                    self.row[t >> 5] |= bit32(t & 31)
                i += 1
            else:
                i = self.tree.skip[i]
        return visited

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def reach(self, node: index, depth: index) -> cython.bint:
        """Take the first state along the way to a node of the tree."""
        for k in range(depth):
            y = node
            while self.tree.depth[y] > k:
                y = self.tree.parent[y]
            self.states[k + 1] = self.states[k]
            if not self.step(self.state(k + 1), self.tree.byte[y]):
                return False
        return True

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def mask(self) -> i64:
        """Write the row of the first state; return how many tree nodes were visited."""
        s = self.state(0)
        visited = 0
        n = self.tree.words
        left = FAR
        number = -1
        if (
            (s.phase == IN_STRING or s.phase == IN_NAME)
            and s.pending == 0
            and s.automaton_state >= 0
        ):
            if s.phase == IN_STRING:
                automaton = self.tables.nodes[s.node].string_automaton
            else:
                automaton = self.tables.nodes[self.arena[s.frame + NODE_OF]].class_automaton
            at = self.tables.automata[automaton].states + s.automaton_state
            number = self.tables.wide[at]
            if self.tables.automata[automaton].maximum >= 0:
                left = self.tables.automata[automaton].maximum - s.count
                if (
                    left < self.tree.shorter_rows + 64
                    and self.tables.automata[automaton].is_pattern
                ):
                    number = -1
            if self.tables.leads[at] & ~s.languages != 0:
                number = -1
        if number < 0:
            for j in range(n):
                self.row[j] = 0
            visited = self.walk(0, self.tree.size)
        else:
            wide = self.wide_row(automaton, s.automaton_state, number)
            if left < self.tree.shorter_rows:
                shorter = left * n
                for j in range(n):
                    self.row[j] = wide.row[j] & self.tree.shorter[shorter + j]
            else:
                for j in range(n):
                    self.row[j] = wide.row[j]
            same = 0
            if left == FAR and s.count >= self.tables.automata[automaton].minimum:
                same = self.loops_of(s, 0)
            for e in range(wide.exits.shape[0]):
                node = wide.exits[e]
                depth = self.tree.depth[node]
                if self.tree.way[node] & ~same == 0:  # the bytes before it change nothing
                    self.states[depth] = self.states[0]
                    depth = 0
                if self.reach(node, depth):
                    visited += self.walk(node, self.tree.skip[node])
            if s.trie_node >= 0:
                q = s.automaton_state
                s.automaton_state = -1
                if self.open_trie(s.frame, s.phase == IN_NAME, s.languages, s.trie_node):
                    visited += self.walk(0, self.tree.size)
                s.automaton_state = q
        return visited

    @cython.cfunc
    def wide_row(self, automaton: index, state: i64, number: i64) -> WideRow:
        """Return a wide row; make it if it is needed for the first time."""
        found = self.tables.rows[number]
        if found is None:
            found = self.make_wide_row(automaton, state, None)
            self.tables.rows[number] = found
        return cython.cast(WideRow, found)

    @cython.cfunc
    def make_wide_row(self, automaton: index, state: i64, added) -> WideRow:
        kept = self.row
        row = np.zeros(self.tree.words, np.int32)
        exits = np.zeros(self.tree.size + 1, np.int32)
        needs_count = added is not None
        need = added if needs_count else np.zeros(1, np.int32)
        first = _states(1)
        first_state: State[::1] = first
        first_state[0] = self.states[0]
        found = self.stay(automaton, state, row, exits, need, needs_count)
        self.states[0] = first_state[0]
        self.row = kept
        return WideRow(row, exits[:found].copy())

    def free_row(self, automaton: index):
        """Return the wide row of a string that may be anything, and what each token adds to it.

        Returns:
            The row, and for each token id the characters that it adds at least (int32).

        """
        added = np.zeros(self.tree.words * 32, np.int32)
        scratch = self.borrow()
        try:
            row = self.make_wide_row(automaton, 0, added)
        finally:
            self.give_back(scratch)
        return row, added

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def stay(
        self,
        automaton: index,
        first: i64,
        row: cython.int[::1],
        exits: cython.int[::1],
        need: cython.int[::1],
        wants: cython.bint,
    ) -> cython.longlong:
        """Walk the whole vocabulary within a string: what stays in it, and where a quote may end it."""
        s = self.state(0)
        n = 0
        i = 0
        self.row = row
        s.automaton_state = first
        s.trie_node = -1
        s.pending = 0
        s.count = 0 if wants else -FAR
        s.languages = -1
        s.frame = -1
        while i < self.tree.size:
            d = self.tree.depth[i]
            s = self.state(d)
            if (
                not wants
                and s.pending == 0
                and self.tree.below[i]
                & ~self.tables.loops[self.tables.automata[automaton].states + s.automaton_state]
                == 0
            ):
                self.all_below(i)
                i = self.tree.skip[i]
                continue
            self.states[d + 1] = self.states[d]
            s = self.state(d + 1)
            r = self.text(s, automaton, False, self.tree.byte[i])
            if r == 1:
                t = self.tree.token[i]
                if t >= 0:
                    row[t >> 5] |= bit32(t & 31)
                    if wants:
                        need[t] = s.count + (1 if s.pending != 0 else 0)
                i += 1
                continue
            if (
                r == 2
                and self.tables.accepts[self.tables.automata[automaton].states + s.automaton_state]
                != 0
            ):
                exits[n] = i
                n += 1
            i = self.tree.skip[i]
        return n
