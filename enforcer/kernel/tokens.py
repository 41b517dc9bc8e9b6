"""A vocabulary's text tokens as a trie of bytes, bitmask rows over it, and memory for walks.

Independent of grammars: one `Tree` serves all matchers of a vocabulary. A `WideRow` is the row of
one automaton state inside a string, where nearly all tokens are legal; a `CachedRow` is the row of
one configuration, as its differences from another row. Rows never change; a `Charge` counts the
bytes of each for as long as it lives.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

import cython
import numpy as np

from enforcer.kernel.records import *

if cython.compiled:
    from cython.cimports.libc.string import memcpy

_KEY_WORDS = 128

_SEARCHED = 2_048  # bytes of an element that is searched for

_MOST_TRIES = 64  # tries behind exits; 15 KB each for Kimi's vocabulary


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def write_row(target: cython.int[::1], row: cython.const_int[::1], words: index) -> cython.void:
    """Write a row."""
    if cython.compiled:
        memcpy(cython.address(target[0]), cython.address(row[0]), 4 * words)
    else:
        target[:words] = row[:words]


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def write_common(
    target: cython.int[::1],
    row: cython.const_int[::1],
    other: cython.const_int[::1],
    first: index,
    words: index,
) -> cython.void:
    """Write the intersection of two rows; the second begins at word `first` of its view."""
    for i in range(words):
        target[i] = row[i] & other[first + i]


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def differing(
    row: cython.int[::1],
    base: cython.const_int[::1],
    words: index,
    places: cython.int[::1],
    most: index,
) -> index:
    """Write the words in which two rows differ; return how many, `most + 1` if more than `most`."""
    count = cython.cast(cython.Py_ssize_t, 0)
    for block in range((words + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        end = min(first + BLOCK, words)
        different = cython.cast(cython.int, 0)
        for i in range(first, end):
            different |= row[i] ^ base[i]
        if different == 0:
            continue
        for i in range(first, end):
            if row[i] != base[i]:
                if count == most:
                    return count + 1
                places[count] = i
                count += 1
    return count


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def write_words(target: cython.int[::1], words: cython.longlong[::1], first: index) -> cython.void:
    """Write words into a row; the upper half of each says where."""
    for i in range(first, words.shape[0]):
        target[words[i] >> 32] = low_half(words[i])


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def are_equal(one: cython.longlong[::1], other: cython.longlong[::1], words: index) -> cython.bint:
    """Return whether two arrays begin with the same words."""
    for i in range(words):
        if one[i] != other[i]:
            return False
    return True


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def clear_row(target: cython.int[::1], words: index) -> cython.void:
    """Write a row without a bit."""
    for i in range(words):
        target[i] = 0


@cython.final
@cython.cclass
class Scratch:
    """Room for one walk.

    Attributes:
        states: the state behind each byte of a token; then as many along a written name.
        key: words of a configuration.
        places: words in which two rows differ.
        search: states behind each byte of an element that is searched for; none until needed.
        tried: how many bytes have been tried behind each state of `search`.
        asked: for each state of `search` the key under which `memo` gets its answer; 0 for none.
        fingerprints: a hash table of the fingerprints of an array's elements; 0 for an empty slot.
        indexed: the last element in `fingerprints`, as `WRITTEN` has it.
        memo: fingerprints of searched states, each with whether the element can end from there.
        round: a number that no other mask or accepted token id has.
        answers: see `Answer`.

    """

    states: State[::1]
    answers: Answer[::1]
    key: cython.longlong[::1]
    places: cython.int[::1]
    search: State[::1]
    tried: cython.longlong[::1]
    asked: cython.longlong[::1]
    fingerprints: cython.longlong[::1]
    indexed: i64
    memo: cython.longlong[::1]
    round: i64

    def __cinit__(self, longest: index):
        self.states = new_states(2 * longest + 2)
        self.key = new_words(_KEY_WORDS)
        self.places = np.zeros(MOST_DIFFERING, np.int32)
        self.search = new_states(0)
        self.indexed = 0
        self.round = 0
        self.answers = new_records(ANSWERS, ANSWER)

    @cython.cfunc
    def begin(self):
        """Reset what was found for another row or token id."""
        self.round += 1
        self.indexed = 0
        if self.search.shape[0] == 0:
            self.search = new_states(_SEARCHED)
            self.tried = new_words(_SEARCHED)
            self.asked = new_words(_SEARCHED)
            self.fingerprints = new_words(FINGERPRINT_SLOTS)
            self.memo = new_words(FINGERPRINT_SLOTS)


@cython.final
@cython.cclass
class Trie:
    """A trie of tokens.

    Attributes:
        nodes: the nodes, the roots first.
        ids: the token ids in preorder.
        roots: how many roots there are.

    """

    nodes: TrieNode[::1]
    ids: cython.const_int[::1]
    roots: i64
    charge: Charge  # the bytes of a trie behind exits

    def __cinit__(self, nodes: TrieNode[::1], ids: cython.const_int[::1], roots: i64):
        self.nodes = nodes
        self.ids = ids
        self.roots = roots
        self.charge = None


@cython.final
@cython.cclass
class MemoryCounter:
    """Counts the bytes that texts of an engine's grammars have made: bitmask rows above all.

    Attributes:
        bytes: those of all living rows, whichever grammars share them.
        most: bytes beyond which a grammar that makes rows drops nearly all of its others.

    """

    bytes = cython.declare(cython.longlong, visibility="readonly")
    most = cython.declare(cython.longlong, visibility="public")

    def __cinit__(self):
        self.bytes = 0
        self.most = LAST_62


@cython.final
@cython.no_gc  # its counter is there until the end
@cython.cclass
class Charge:
    """The bytes that one object adds to a counter, for as long as it lives."""

    counter: MemoryCounter
    bytes: i64

    def __cinit__(self, counter: MemoryCounter, count: i64):
        self.counter = counter
        self.bytes = 0
        self.add(count)

    @cython.cfunc
    @cython.exceptval(check=False)
    def add(self, count: i64) -> cython.void:
        """Count more bytes, or fewer."""
        self.bytes += count
        self.counter.bytes += count

    def __dealloc__(self):
        if self.bytes != 0:
            self.counter.bytes -= self.bytes


@cython.cclass
class Row:
    """A base row; other rows are stored as their differences from it."""

    row = cython.declare(cython.int[::1], visibility="readonly")
    charge: Charge
    __weakref__: object

    def __cinit__(self, row: cython.int[::1], *more):
        self.row = row
        self.charge = more[len(more) - 1]  # a wide row's last argument is its charge, too


@cython.final
@cython.cclass
class WideRow(Row):
    """The tokens that stay inside a string from one state of its automaton on.

    Attributes:
        exits: trie nodes whose byte is a quote that may end the string.
        depths: the bytes before each.
        groups: the group of the first of these, `ALWAYS` where there is none.
        looping: how many of the exits, the first ones, have nothing before them but characters that
            leave the state as it is.
        behind: the trie of what follows these, the quote included: for all of them the same state.
        finite_ids: the tokens of the row behind which texts of a few lengths are left, in groups.
        finite_ends: where each group ends.
        finite_keys: the state behind its tokens, and in the lower half their characters; -1 where
            a character or an escape is unfinished.

    """

    exits: cython.const_int[::1]
    depths: cython.const_int[::1]
    groups: cython.const_uchar[::1]
    looping: i64
    behind: Trie
    finite_ids: cython.const_int[::1]
    finite_ends: cython.const_int[::1]
    finite_keys: cython.const_longlong[::1]

    def __cinit__(
        self,
        row: cython.int[::1],
        exits: cython.const_int[::1],
        depths: cython.const_int[::1],
        groups: cython.const_uchar[::1],
        looping: i64,
        behind: Trie,
        finite_ids: cython.const_int[::1],
        finite_ends: cython.const_int[::1],
        finite_keys: cython.const_longlong[::1],
        charge: Charge,
    ):
        self.row = row
        self.charge = charge
        self.exits = exits
        self.depths = depths
        self.groups = groups
        self.looping = looping
        self.behind = behind
        self.finite_ids = finite_ids
        self.finite_ends = finite_ends
        self.finite_keys = finite_keys


@cython.final
@cython.cclass
class CachedRow:
    """A bitmask row of a configuration, as what differs from another row, or whole.

    Args:
        count: how many words differ.

    Attributes:
        base: the number of the other row, a wide one; or `NO_BASE` (without a bit), `DIGITS_BASE`,
            `WHOLE_ROW` for none.
        words: how many words the configuration has; see `rows.configuration`.
        data: them; then each word of the row that differs, and its place in the upper half.
        row: a whole row; None for differences.
        size: bytes of `data` and `row`.

    """

    base: index
    words: i64
    data: cython.longlong[::1]
    row: cython.int[::1]
    size: i64

    def __cinit__(self, base: index, words: i64, count: i64):
        self.base = base
        self.words = words
        self.data = new_words(words + count)
        self.row = None
        self.size = 8 * (words + count)


@cython.final
@cython.cclass
class Tree:
    """The text tokens of a vocabulary, shared by all texts.

    Args:
        trie: of the tokens that some text may have, but for those of more than `LONGEST` bytes.
        text0: int32; the bytes of token id `i` are `text[text0[i] : text0[i + 1]]`, none if it is
            no text.
        text: uint8.
        words: of a bitmask row.
        memory: counts what texts make.
        make_trie: makes a `Trie` of texts and token ids.
        affects_earlier: returns for a name or string (str), and how many of its first characters
            begin no other one (-1: all do), whether tokens that begin before it depend on it; see
            `boundary_tokens`.
        key_tokens: makes `boundary_tokens.KeyTokens` of what is around the keys of a layout.
        spanning: int32; the token ids in which a name may end and another name begin.
        listing: int32; the token ids in which a string may end, and another one of an array begin.
        commas: int32; the token ids in which a string may end before another element of an array.
        opening: int32; the token ids in which an array may open and one of its elements end.
        escaping: int32; the token ids with a backslash.
        order: int32; the bytes in the order in which a search tries them, and their groups above.

    Attributes:
        free: the wide row of a string that may be anything.
        raw_free: that of raw text; of Python's strings, that of one between apostrophes.
        digits: the row of the tokens that are digits.
        writes: for each byte whether it is a token of the trie.
        blank_words, blank_states, blank_ids: arrays that a new text copies, which takes half as
            long as to make them, since the format of their elements is checked but once.

    """

    trie: Trie
    blank_words: cython.longlong[::1]
    blank_states: State[::1]
    blank_ids: cython.int[::1]
    writes: cython.uchar[::1]
    text0: cython.const_int[::1]
    text: cython.const_uchar[::1]
    shorter: cython.const_int[::1]  # rows of the tokens that add at most 0, 1, ... characters
    shorter_rows: i64
    raw_shorter: cython.const_int[::1]  # as `shorter`, for the texts of `raw_free`
    raw_shorter_rows: i64
    nothing: Row  # a row without a bit
    tokens = cython.declare(cython.longlong, visibility="readonly")
    words = cython.declare(cython.longlong, visibility="readonly")
    free = cython.declare(object, visibility="readonly")
    raw_free = cython.declare(object, visibility="readonly")
    digits: Row
    longest: i64  # bytes of a token of the trie
    longer: cython.const_int[::1]  # the token ids of more bytes
    spare: list  # `Scratch` objects that no call uses
    make_trie: object
    affects_earlier: object
    spanning: cython.const_int[::1]
    listing: cython.const_int[::1]
    commas: cython.const_int[::1]
    opening: cython.const_int[::1]
    escaping: cython.const_int[::1]
    order: cython.const_int[::1]
    most_commas: i64  # most commas in a token of `commas`
    key_tokens = cython.declare(object, visibility="readonly")
    tries = cython.declare(dict, visibility="readonly")  # what follows some exits, by their nodes
    shared: object  # rows that some grammar holds, by the content of an automaton and its state
    memory = cython.declare(MemoryCounter, visibility="readonly")

    def __cinit__(
        self,
        trie: Trie,
        text0: cython.const_int[::1],
        text: cython.const_uchar[::1],
        words: i64,
        memory: MemoryCounter,
        make_trie,
        affects_earlier,
        key_tokens,
        spanning: cython.const_int[::1],
        listing: cython.const_int[::1],
        commas: cython.const_int[::1],
        opening: cython.const_int[::1],
        escaping: cython.const_int[::1],
        order: cython.const_int[::1],
    ):
        self.trie = trie
        self.blank_words = new_words(FIRST_WORDS)
        self.blank_states = new_states(FIRST_STATES)
        self.blank_ids = np.zeros(FIRST_IDS, np.int32)
        self.text0 = text0
        self.text = text
        self.words = words
        self.make_trie = make_trie
        self.affects_earlier = affects_earlier
        self.spanning = spanning
        self.listing = listing
        self.commas = commas
        self.opening = opening
        self.escaping = escaping
        self.order = order
        self.key_tokens = key_tokens
        self.most_commas = 0
        for k in range(commas.shape[0]):
            token_id = commas[k]
            count = cython.cast(cython.longlong, 0)
            for i in range(text0[token_id], text0[token_id + 1]):
                if text[i] == 44:
                    count += 1
            self.most_commas = max(self.most_commas, count)
        self.writes = np.zeros(256, np.uint8)
        for i in range(trie.roots):
            if trie.nodes[i].own != 0:
                self.writes[trie.nodes[i].byte] = 1
        self.tokens = text0.shape[0] - 1
        self.longest = 0
        longer = []
        for token_id in range(self.tokens):
            length = text0[token_id + 1] - text0[token_id]
            if length > LONGEST:
                longer.append(token_id)
            else:
                self.longest = max(self.longest, length)
        self.longer = np.array(longer, np.int32)
        self.shorter = np.zeros(1, np.int32)
        self.nothing = Row(np.zeros(words, np.int32), Charge(memory, 4 * words))
        self.shorter_rows = 0
        self.raw_shorter = self.shorter
        self.raw_shorter_rows = 0
        self.free = None
        self.raw_free = None
        self.digits = None
        self.spare = []
        self.tries = {}
        self.shared = WeakValueDictionary()
        self.memory = memory

    @cython.cfunc
    def borrow(self) -> Scratch:
        """Take a `Scratch` out of `spare`, or make one."""
        return self.spare.pop() if self.spare else Scratch(self.longest)

    def set_rows(self, free: WideRow, shorter: cython.const_int[::1], digits: cython.int[::1]):
        """Set the rows of strings that may be anything, and of digits."""
        self.free = free
        self.digits = Row(digits, Charge(self.memory, 4 * self.words))
        self.shorter = shorter
        self.shorter_rows = shorter.shape[0] // self.words

    def set_raw_rows(self, free: WideRow, shorter: cython.const_int[::1]):
        """Set the rows of raw text, or of strings between apostrophes, that may be anything."""
        self.raw_free = free
        self.raw_shorter = shorter
        self.raw_shorter_rows = shorter.shape[0] // self.words

    @cython.cfunc
    def behind(self, exits, depths) -> Trie:
        """Return the trie of the rests of tokens from some exits on, their quote included."""
        key = exits.tobytes()
        found = self.tries.get(key)
        if found is None:
            pairs = []
            for node, depth in zip(exits.tolist(), depths.tolist(), strict=True):
                at = cython.cast(cython.Py_ssize_t, node)
                for r in range(self.trie.nodes[at].rank, self.trie.nodes[at].rank_end):
                    token_id = self.trie.ids[r]
                    text = self.text[self.text0[token_id] + depth : self.text0[token_id + 1]]
                    pairs.append((bytes(text), token_id))
            pairs.sort()
            found = self.make_trie([text for text, _ in pairs], [i for _, i in pairs])
            trie = cython.cast(Trie, found)
            size = TRIE_NODE.itemsize * trie.nodes.shape[0] + 4 * trie.ids.shape[0]
            trie.charge = Charge(self.memory, size)
            self.tries[key] = found
            if len(self.tries) > _MOST_TRIES:  # clients choose the patterns
                self.tries.pop(next(iter(self.tries)), None)
        return cython.cast(Trie, found)


def fill_trie(
    data: cython.const_uchar[::1],
    starts: cython.const_int[::1],
    bits: cython.const_longlong[::1],
    left: cython.uchar[::1],
    below: cython.longlong[::1],
    child: cython.int[::1],
    rank: cython.int[::1],
    rank_end: cython.int[::1],
    children: cython.int[::1],
    own: cython.int[::1],
    height: cython.int[::1],
    byte: cython.uchar[::1],
) -> cython.int:
    """Write the nodes of a trie level by level, and return how many there are.

    Args:
        data, starts: the bytes of all tokens in ascending order; where each begins, and ends.
        bits: the group of each byte that begins a character.
        left: room for how many bytes each node's character lacks; then columns of `TRIE_NODE`.

    """
    count: cython.int = 0
    parent: cython.int = -1  # the parent of the roots
    depth: cython.int = 0  # of the parent's children
    level_end: cython.int = 0
    while parent < count:
        low = 0
        high = cython.cast(cython.int, starts.shape[0] - 1)
        missing = 0
        lead = 0
        first = count
        if parent >= 0:
            low = rank[parent] + own[parent]
            high = rank_end[parent]
            missing = left[parent]
            lead = byte[parent]  # a continuation byte is none of the lead bytes in `group_of`
        while low < high:
            b = data[starts[low] + depth]
            following = end_of_run(data, starts, low, high, depth)
            group = group_of(b, missing, lead, bits)
            if missing > 0 and group == BEYOND_ASCII_GROUP:
                group = below[parent]  # nothing but its own group so far
            left[count] = missing_behind(b, missing) if group != CONTROL_GROUP else 0
            below[count] = group
            rank[count] = low
            rank_end[count] = following
            own[count] = ending_here(starts, low, following, depth + 1)
            byte[count] = b
            count += 1
            low = following
        if parent >= 0:
            children[parent] = count - first
            child[parent] = first if count > first else 0
        parent += 1
        if parent == level_end:
            depth += 1
            level_end = count
    sum_up(count, below, child, children, height, byte)
    return count


@cython.cfunc
@cython.inline
@cython.exceptval(-1, check=False)
def end_of_run(
    data: cython.const_uchar[::1],
    starts: cython.const_int[::1],
    low: cython.int,
    high: cython.int,
    depth: cython.int,
) -> cython.int:
    """Return the end of the run of tokens that have the same byte at a depth."""
    b = data[starts[low] + depth]
    while low < high and data[starts[low] + depth] == b:
        low += 1
    return low


@cython.cfunc
@cython.inline
@cython.exceptval(-1, check=False)
def ending_here(
    starts: cython.const_int[::1], low: cython.int, high: cython.int, length: cython.int
) -> cython.int:
    """Return how many tokens, from the first on, have a given length."""
    count: cython.int = 0
    while low + count < high and starts[low + count + 1] - starts[low + count] == length:
        count += 1
    return count


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def group_of(
    b: cython.int, missing: cython.int, lead: cython.int, bits: cython.const_longlong[::1]
) -> cython.longlong:
    """Return the group of a byte; `missing` and `lead` are of the character before it."""
    if missing > 0:
        is_wrong = (
            b < 0x80
            or b > 0xBF
            or (lead == 0xE0 and b < 0xA0)
            or (lead == 0xED and b > 0x9F)
            or (lead == 0xF0 and b < 0x90)
            or (lead == 0xF4 and b > 0x8F)
        )
        return CONTROL_GROUP if is_wrong else BEYOND_ASCII_GROUP
    return bits[b]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def missing_behind(b: cython.int, missing: cython.int) -> cython.int:
    """Return how many bytes a character lacks behind a legal byte of it."""
    if missing > 0:
        return missing - 1
    if b < 0x80:
        return 0
    return 1 if b < 0xE0 else (2 if b < 0xF0 else 3)


@cython.cfunc
def sum_up(
    count: cython.int,
    below: cython.longlong[::1],
    child: cython.int[::1],
    children: cython.int[::1],
    height: cython.int[::1],
    byte: cython.uchar[::1],
):
    """Add to each node the groups of bytes and the most characters below it."""
    node = count
    while node > 0:
        node -= 1
        begins = 0 if byte[node] & 0xC0 == 0x80 else 1
        height[node] = begins
        for inner in range(child[node], child[node] + children[node]):
            below[node] |= below[inner]
            height[node] = max(height[node], height[inner] + begins)


if not cython.compiled:
    for _class in (Scratch, Trie, MemoryCounter, Charge, Row, WideRow, CachedRow, Tree):
        _class.__init__ = run_cinits
