"""The turn around the texts of arguments: markers, headers, and what a text's end leads to.

Outside of texts a turn is followed by a deterministic automaton over bytes (`Around`), which all
requests of a format share. Its rows are made when they are first needed, by Python. In a header
the names of a request's tools come, a sorted list of which a range agrees in the bytes so far
(`Names`). Then a text begins, which has a matcher of its own; where it ends, the automaton goes on.
So a token may lead from any of them into any other.

Invariant: special tokens lie between the bytes of tokens, never inside; they are the caller's.
"""

from __future__ import annotations

import cython

from enforcer.kernel.records import *

# In `Around.to`: a byte is illegal (any other negative number), or the row has to be made.
UNKNOWN_ROW = cython.declare(cython.int, -2)

# Kinds of places; 0 is any other one.
IN_NAMES = cython.declare(cython.int, 1)
TEXT_BEGINS = cython.declare(cython.int, 2)
IN_CONTENT = cython.declare(cython.int, 3)

# What a byte has done.
REFUSED = cython.declare(cython.int, 0)
READ = cython.declare(cython.int, 1)
BEGINS = cython.declare(cython.int, 2)  # not read: it is a text's first one


@cython.final
@cython.cclass
class Around:
    """The automaton of a format around the texts of arguments.

    Args:
        make: makes the row of a place, by its number; may replace the arrays.

    Attributes:
        to: for each place and byte the place after it; -1 if the byte is illegal, `UNKNOWN_ROW`.
        kinds: the kind of each place.
        falls: for each place the one that reads an illegal byte in its stead; -1 for none. A place
            of names falls only after a whole name.
        behind: for each place of names the one after a whole name; -1 if only the next byte ends
            a name.
        loops: for each place the groups of bytes, as bits, whose bytes all lead back to it.
        taken: for each place the byte that a turn has read there last; -1 for none yet.

    """

    to: cython.int[::1]
    kinds: cython.const_uchar[::1]
    falls: cython.const_int[::1]
    behind: cython.const_int[::1]
    loops: cython.longlong[::1]
    taken: cython.int[::1]
    make: object

    def __cinit__(self, make):
        self.make = make

    def set_arrays(
        self,
        to: cython.int[::1],
        kinds: cython.const_uchar[::1],
        falls: cython.const_int[::1],
        behind: cython.const_int[::1],
        loops: cython.longlong[::1],
        taken: cython.int[::1],
    ):
        """Replace the arrays by longer ones."""
        self.to = to
        self.kinds = kinds
        self.falls = falls
        self.behind = behind
        self.loops = loops
        self.taken = taken


@cython.final
@cython.cclass
class Names:
    """The part of headers that has a tool's name in it, for each header of a request.

    Args:
        text: all of them, one after the other, in ascending order.
        text0: where each begins; then where the last ends.

    """

    text: cython.const_uchar[::1]
    text0: cython.const_int[::1]
    count: i64

    def __cinit__(self, text: cython.const_uchar[::1], text0: cython.const_int[::1]):
        self.text = text
        self.text0 = text0
        self.count = text0.shape[0] - 1


@cython.cclass
class TurnFields:
    """The fields of a turn.

    Attributes:
        states: state `i` is the one after `i` bytes of a token, state 0 the present one.
        after: the place after a text, if another call may follow, and if none may; empty where
            only special tokens end texts.
        most: how many calls a turn may have.
        starts: returns a matcher at the beginning of a header's text, by the header's number.
        texts: by header the matchers that rows and tests of tokens use; None until needed.
        doubtful: the token ids of a row whose names and elements have to be tested exactly.
        has_begun: whether the row depends on the grammar of some text.
        has_named: whether the row depends on names.
        has_said: whether the last token had a byte of content.

    """

    around: Around
    names: Names
    states: TurnState[::1]
    after: cython.int[::1]
    most: i64
    starts: object
    texts: list
    doubtful: list
    has_begun = cython.declare(cython.bint, visibility="public")
    has_named = cython.declare(cython.bint, visibility="public")
    has_said = cython.declare(cython.bint, visibility="public")

    def __cinit__(
        self,
        around: Around,
        names: Names,
        after: cython.int[::1],
        most: i64,
        starts,
    ):
        self.around = around
        self.names = names
        self.states = new_records(LONGEST + 2, TURN_STATE)
        self.after = after
        self.most = most
        self.starts = starts
        self.texts = [None] * names.count
        self.doubtful = []
        self.has_begun = False
        self.has_named = False
        self.has_said = False


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def turn_at(t: TurnFields, depth: index) -> cython.pointer[TurnState]:
    """Return the state behind `depth` bytes of a token."""
    if not cython.compiled:
        return t.states[depth]
    return cython.address(t.states[depth])


@cython.cfunc
def kind_of(t: TurnFields, place: i64) -> cython.int:
    """Return the kind of a place."""
    return t.around.kinds[place]


@cython.cfunc
def loops_of(t: TurnFields, place: i64) -> i64:
    """Return the groups of bytes, as bits, whose bytes all leave a place as it is."""
    if t.around.to[place << 8] == UNKNOWN_ROW:
        t.around.make(place)
    return t.around.loops[place]


@cython.cfunc
def is_whole_name(t: TurnFields, s: cython.pointer[TurnState]) -> cython.bint:
    """Return whether a name has been read in full."""
    names = t.names
    return s.low < s.high and names.text0[s.low + 1] - names.text0[s.low] == s.depth


@cython.cfunc
def read_name(t: TurnFields, s: cython.pointer[TurnState], byte: i64) -> cython.bint:
    """Advance by a byte of a name; return whether there is such a name, else change nothing."""
    names = t.names
    low = s.low + 1 if is_whole_name(t, s) else s.low
    low = first_above(names, low, s.high, s.depth, byte - 1)
    high = first_above(names, low, s.high, s.depth, byte)
    if low >= high:
        return False
    s.low = low
    s.high = high
    s.depth += 1
    return True


@cython.cfunc
def first_above(names: Names, low: i64, high: i64, depth: i64, byte: i64) -> i64:
    """Return the first of a range of names with a byte above a given one at a depth."""
    while low < high:
        middle = (low + high) >> 1
        if names.text[names.text0[middle] + depth] <= byte:
            low = middle + 1
        else:
            high = middle
    return low


@cython.cfunc
def go_to(t: TurnFields, s: cython.pointer[TurnState], place: i64):
    """Go to a place; names begin there with all of them."""
    s.place = place
    if t.around.kinds[place] == IN_NAMES:
        s.low = 0
        s.high = t.names.count
        s.depth = 0


@cython.cfunc
def place_after(t: TurnFields, place: i64, byte: i64) -> i64:
    """Return the place to which a byte leads, by the automaton alone."""
    found = cython.cast(cython.longlong, t.around.to[(place << 8) + byte])
    if found == UNKNOWN_ROW:
        t.around.make(place)
        found = t.around.to[(place << 8) + byte]
    return found


@cython.cfunc
def turn_step(t: TurnFields, s: cython.pointer[TurnState], byte: i64) -> cython.int:
    """Advance by a byte, in place; return what it has done."""
    while True:
        kind = t.around.kinds[s.place]
        if kind == TEXT_BEGINS:
            return BEGINS
        if kind == IN_NAMES:
            t.has_named = True
            if read_name(t, s, byte):
                behind = t.around.behind[s.place]
                if behind >= 0 and is_whole_name(t, s):
                    s.place = behind
                return READ
            if not is_whole_name(t, s):
                return REFUSED
        to = place_after(t, s.place, byte)
        if to >= 0:
            go_to(t, s, to)
            if t.around.kinds[to] == IN_CONTENT:
                t.has_said = True
            return READ
        falls = t.around.falls[s.place]
        if falls < 0:
            return REFUSED
        go_to(t, s, falls)


@cython.cfunc
def end_call(t: TurnFields, s: cython.pointer[TurnState]):
    """Go to the place behind the end of a text."""
    s.calls += 1
    s.place = t.after[1 if s.calls >= t.most else 0]


if not cython.compiled:
    for _class in (Around, Names, TurnFields):
        _class.__init__ = run_cinits
