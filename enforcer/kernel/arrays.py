"""Arrays: lengths, tuples, counted elements (`contains`), distinct elements (`uniqueItems`).

A frame has its live arrays as bits of one word, then a tally for each array that counts its
elements or keeps them distinct. Distinct strings are in `names`; of other distinct values a frame
has fingerprints. `accept` refuses a repeated element here (`tally_behind`) or where its value is
closed (`values`); `rows` clears the tokens that lead to one, with `search`.
"""

from __future__ import annotations

import cython

from enforcer.kernel.names import classes_left
from enforcer.kernel.records import *
from enforcer.kernel.state import MatcherState, copy_frame, new_frame, node_at, node_of


@cython.cfunc
def has_all(t: MatcherState, frame: i64, array: index) -> cython.bint:
    """Return whether an array has enough elements of each kind that is counted."""
    number = t.tables.arrays[array].tally
    if number < 0 or t.tables.arrays[array].counts == 0:
        return True
    tally = t.arena[frame + LIVE + 1 + number]
    need = need_of(t, array, t.arena[frame + CURRENT], tally)
    return t.tables.needs[need].least == 0


@cython.cfunc
def open_array(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Advance by the bracket that opens an array."""
    node = node_at(t, s.node)
    arrays = cython.cast(cython.longlong, 0)
    if node.arrays != 0:
        for v in range(node.values):
            if s.values >> v & 1:
                arrays |= t.tables.bits[node.arrays_of + v]
    if arrays == 0:
        return False
    kind = (
        UNIQUE_STRINGS
        if node.distinct != NOT_UNIQUE
        else UNIQUE_VALUES
        if node.unique_values >= 0
        else ARRAY_FRAME
    )
    frame = new_frame(t, s, s.node, kind)
    t.arena[frame + LIVE] = arrays
    s.phase = ARRAY_OPEN
    next_element(t, s)
    return True


@cython.cfunc
def next_element(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Set the node and values of an array's next element; return whether one may follow."""
    node = node_of(t, s.frame)
    place = item_slot_of(t, s.frame, node)
    arrays = cython.cast(cython.longlong, 0)
    values = cython.cast(cython.longlong, 0)
    for i in range(node.arrays):
        if may_go_on(t, s.frame, node, i):
            arrays |= bit(i)
    for v in range(t.tables.item_slots[place].values):
        some = t.tables.bits[t.tables.item_slots[place].fits + v] & arrays
        if countable(t, s.frame, node, place, v, some) != 0:
            values |= bit(v)
    s.node = t.tables.item_slots[place].node
    if t.arena[s.frame + WRITTEN] != 0 and t.arena[s.frame + KIND] == UNIQUE_STRINGS:
        values &= values_left(t, s.frame, s.node)
    s.values = values
    return values != 0


@cython.cfunc
def values_left(t: MatcherState, frame: i64, number: index) -> i64:
    """Return the values of distinct strings of which some are not in an array yet."""
    node = node_at(t, number)
    languages = classes_left(t, frame, 0, 0, bit(node.string_languages) - 1)
    found = cython.cast(cython.longlong, 0)
    for k in range(node.string_languages):
        if languages >> k & 1:
            found |= t.tables.bits[node.strings_of + k]
    return found


@cython.cfunc
def filter_arrays(t: MatcherState, s: cython.pointer[State], fitted: i64) -> cython.bint:
    """Restrict the live arrays of a frame to the ones that the last element fits; count it."""
    before = s.frame
    node = node_of(t, before)
    place = item_slot_of(t, before, node)
    going = cython.cast(cython.longlong, 0)
    left = cython.cast(cython.longlong, 0)
    for i in range(node.arrays):
        if may_go_on(t, before, node, i):
            going |= bit(i)
    frame = copy_frame(t, s)
    for v in range(t.tables.item_slots[place].values):
        if fitted >> v & 1:
            some = t.tables.bits[t.tables.item_slots[place].fits + v] & going
            left |= countable(t, before, node, place, v, some)
    if node.tallies != 0:
        left = count_element(t, before, frame, place, fitted, left)
    t.arena[frame + LIVE] = left
    t.arena[frame + CURRENT] += 1
    return left != 0


@cython.cfunc
def item_slot_of(t: MatcherState, frame: i64, node: cython.pointer[Node]) -> index:
    """Return the item slot of an array's next element."""
    return node.slot0 + min(t.arena[frame + CURRENT], node.slots - 1)


@cython.cfunc
def may_go_on(t: MatcherState, frame: i64, node: cython.pointer[Node], i: i64) -> cython.bint:
    """Return whether array number `i` of a node is live in a frame and may be longer."""
    maximum = t.tables.arrays[node.array0 + i].maximum
    is_live = t.arena[frame + LIVE] >> i & 1
    return is_live and (maximum < 0 or t.arena[frame + CURRENT] < maximum)


@cython.cfunc
def countable(
    t: MatcherState, frame: i64, node: cython.pointer[Node], place: index, v: i64, arrays: i64
) -> i64:
    """Return the arrays, of the given ones, that can be completed behind value number `v`."""
    if node.tallies == 0:
        return arrays
    hits = t.tables.item_slots[place].hits + v * node.arrays
    for i in range(node.arrays):
        if arrays >> i & 1:
            if tally_behind(t, frame, node.array0 + i, t.tables.bits[hits + i]) < 0:
                arrays &= ~bit(i)
    return arrays


@cython.cfunc
def count_element(
    t: MatcherState, before: i64, frame: i64, place: index, fitted: i64, left: i64
) -> i64:
    """Write the tallies behind an element; return the arrays that remain live."""
    node = node_of(t, before)
    for i in range(node.arrays):
        array = node.array0 + i
        if left >> i & 1 == 0 or t.tables.arrays[array].tally < 0:
            continue
        hits = cython.cast(cython.longlong, 0)
        for v in range(t.tables.item_slots[place].values):
            fits = t.tables.bits[t.tables.item_slots[place].fits + v] >> i & 1
            if fitted >> v & fits:
                hits |= t.tables.bits[t.tables.item_slots[place].hits + v * node.arrays + i]
        tally = tally_behind(t, before, array, hits)
        if tally < 0:
            left &= ~bit(i)
        else:
            t.arena[frame + LIVE + 1 + t.tables.arrays[array].tally] = tally
    return left


@cython.cfunc
def tally_behind(t: MatcherState, frame: i64, array: index, hits: i64) -> i64:
    """Return the tally of an array behind one more element.

    A tally is the elements that it has, as bits, where they have to be distinct; else the
    numbers of each kind that is counted, as digits of one number.

    Args:
        frame: before that element.
        array: its number.
        hits: which element it is, or the kinds that it is of, as bits.

    Returns:
        -1 if no array that goes on so is complete.

    """
    number = t.tables.arrays[array].tally
    if number < 0:
        return 0
    tally = t.arena[frame + LIVE + 1 + number]
    if t.tables.arrays[array].counts == 0:
        return -1 if tally & hits else tally | hits
    count0 = cython.cast(cython.Py_ssize_t, t.tables.arrays[array].count0)
    t.work += t.tables.arrays[array].counts
    for k in range(t.tables.arrays[array].counts):
        if hits >> k & 1:
            step = t.tables.counts[count0 + k].step
            most = t.tables.counts[count0 + k].most
            if tally // step % (most + 1) < most:
                tally += step
            elif t.tables.counts[count0 + k].is_bounded:
                return -1
    length = t.arena[frame + CURRENT] + 1
    need = need_of(t, array, length, tally)
    maximum = t.tables.arrays[array].maximum
    if t.tables.needs[need].least == FAR:
        return -1
    if maximum >= 0 and length + t.tables.needs[need].least > maximum:
        return -1
    if length + t.tables.needs[need].most < t.tables.arrays[array].minimum:
        return -1 if t.tables.needs[need].most < FAR else tally
    return tally


@cython.cfunc
def need_of(t: MatcherState, array: index, length: i64, tally: i64) -> index:
    """Return the index in `Tables.needs` for an array of a length with a tally."""
    place = min(length, t.tables.arrays[array].slots - 1)
    return t.tables.arrays[array].need0 + place * t.tables.arrays[array].sums + tally


@cython.cfunc
def has_element(t: MatcherState, frame: i64, value: i64) -> cython.bint:
    """Return whether an array has an element with a fingerprint."""
    written = t.arena[frame + WRITTEN]
    if t.scratch is not None and written != 0 and t.scratch.indexed == written:
        return t.scratch.fingerprints[slot_of(t, value)] != 0
    while written != 0:
        t.work += 1
        if t.arena[written] == value:
            return True
        written = t.arena[written - 1] & LOW_HALF
    return False


@cython.cfunc
def index_elements(t: MatcherState, frame: i64) -> cython.bint:
    """Put the fingerprints of an array's elements into the hash table of `Scratch`."""
    count = t.arena[frame + CURRENT]
    written = t.arena[frame + WRITTEN]
    if t.scratch.indexed == written:
        return False
    t.work += count
    if t.scratch.fingerprints.shape[0] < 2 * count:
        t.scratch.fingerprints = new_words(2 * count)
    for i in range(t.scratch.fingerprints.shape[0]):
        t.scratch.fingerprints[i] = 0
    t.scratch.indexed = written
    while written != 0:
        value = t.arena[written]
        t.scratch.fingerprints[slot_of(t, value)] = value
        written = t.arena[written - 1] & LOW_HALF
    return True


@cython.cfunc
def slot_of(t: MatcherState, value: i64) -> index:
    """Return the slot of a fingerprint in the hash table of `Scratch`, or the empty one for it."""
    slots = t.scratch.fingerprints.shape[0]
    slot = value % slots
    while t.scratch.fingerprints[slot] != 0 and t.scratch.fingerprints[slot] != value:
        slot = slot + 1 if slot + 1 < slots else 0
    return slot
