"""Bitmask rows: of the present state, of states inside strings, and the cache of rows.

A row is looked up by its *configuration*: all words of the state and of its frames that the row
depends on (`configuration`), compared as a whole. A row that took much work is kept as differences
from a wide row. Inside a string the wide row of the automaton's state is the base, and only its
exits, the nodes where the string may end, are walked with the text's own state.
"""

from __future__ import annotations

import cython
import numpy as np

from enforcer.kernel.automata import (
    child_of,
    ended_at,
    is_any_length,
    leads_on,
    state_behind,
    too_long,
    trie_leads_on,
    within_bounds,
)
from enforcer.kernel.names import keeps_characters, row_depends_on_names
from enforcer.kernel.records import *
from enforcer.kernel.search import (
    begin_searches,
    can_complete,
    endless_characters,
    ends_anew,
    has_many,
    outer_of,
    takes,
    varies_around,
)
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    counted_at,
    frame_size,
    needs_fingerprint,
    node_of,
    state_at,
    trie_node_at,
)
from enforcer.kernel.strings import quote_of
from enforcer.kernel.tokens import (
    CachedRow,
    Charge,
    Row,
    Scratch,
    WideRow,
    are_equal,
    clear_row,
    differing,
    write_common,
    write_row,
    write_words,
)
from enforcer.kernel.values import legal_groups, step, take_marker
from enforcer.kernel.walk import (
    clear_ids,
    clear_written,
    is_legal_token,
    may_be_longer,
    walk,
    walk_long,
    walk_stops,
    walk_string,
)

_STATE_WORDS = 11  # of a configuration; those of its frames follow

_WORK_OF_EXIT = 100  # units, for each exit of a new wide row and the trie behind it

_WORTH_KEEPING = 16  # units of work; a row of less is made as quickly as it is found

_MANY_DIFFERING = 256

_ROW_BYTES = 1_000  # that a wide row, or one of `ending`, takes beside its arrays


@cython.cfunc
def fill_row(t: MatcherState, row):
    """Write the bitmask row; see `fill`."""
    if row is None or row is not t.target:
        t.target = None
        t.row = row
        if t.row.shape[0] < t.tree.words:
            raise ValueError("the bitmask row is shorter than the vocabulary")
        t.target = row
    t.work = 0
    t.is_exact = False
    scratch = t.tree.borrow()
    t.scratch = scratch
    t.states = scratch.states
    t.states[0] = t.past[t.at]
    scratch.round += 1
    is_naming = keeps_characters(t, state_at(t, 0))
    t.is_masking = True
    if t.turn is not None:
        t.turn.has_begun = False
        t.turn.doubtful = []
    try:
        if t.tables.has_unique_values:
            begin_searches(t)
        words = configuration(t, scratch.key, True)
        if words == 0 or not read_cached(t, scratch.key, words):
            make_row(t)
            if not is_naming:
                retest_spanning_tokens(t)
            if t.has_stops:
                clear_ending(t)
            is_own: cython.bint = t.turn is not None and t.turn.has_begun
            if words != 0 and t.work >= _WORTH_KEEPING and not (t.is_lost or is_own):
                cache_present(t, scratch, words)
        if is_naming and (t.tables.is_open or t.tables.distinct != NOT_UNIQUE):
            retest_name_tokens(t)
        if t.tables.has_unique_values:
            clear_repeated(t)
        if t.turn is not None and t.turn.doubtful:
            retest(t, np.array(t.turn.doubtful, np.int32))
        if t.tree.longer.shape[0] != 0:
            t.work += LONGEST * t.tree.longer.shape[0]
            retest(t, t.tree.longer)
    finally:
        t.is_masking = False
        t.search.steady = 0
        t.scratch = None
        t.tree.spare.append(scratch)
    if t.is_lost:
        raise IndexError(OUT_OF_BOUNDS)


@cython.cfunc
def configuration(t: MatcherState, key: cython.longlong[::1], is_of_row: cython.bint) -> i64:
    """Write all words that the row of the present state depends on; return how many.

    Word 0 is a hash, words 1 to 10 are of the state and the turn, then come those of the frames,
    the innermost first. Returns 0, and nothing is cached, if there are too many words or, of a row,
    if tokens that begin before a name depend on the written names. Other names and distinct
    elements are not in the configuration: after a hit too, `fill_row` clears the tokens that would
    repeat one.
    """
    s = state_at(t, 0)
    count = cython.cast(cython.longlong, 0)
    key[9] = 0
    if s.phase == IN_STRING or s.phase == IN_NAME or s.phase >= IN_ARGUMENT:
        if s.automaton_state >= 0:
            count = relevant_count(t, s)
        if t.has_stops or t.is_python:
            key[9] = s.stop
        key[6] = s.automaton_state
        key[7] = s.trie_node
        key[8] = s.languages
        if s.automaton_state >= 0:
            key[8] &= ~too_long(t, s)
    elif s.phase == IN_BARE:
        key[6] = s.automaton_state
        key[7] = 0
        key[8] = s.languages
    else:
        key[6] = 0
        key[7] = 0
        key[8] = 0
    is_open: cython.bint = s.phase == BEGIN or s.phase == IN_STRING or s.phase == IN_BARE
    is_open = is_open or s.phase == NAMED or s.phase == ARRAY_OPEN
    is_open = is_open or s.phase == IN_RAW or s.phase >= BEHIND_KEY
    key[1] = s.phase
    key[2] = s.node if is_open else 0
    key[3] = s.values if is_open else 0
    key[4] = s.pending
    key[5] = count
    key[10] = t.turn_id
    words = cython.cast(cython.longlong, _STATE_WORDS)
    frame = s.frame
    while frame >= 0:
        size = frame_size(t, frame)
        if words + size > key.shape[0]:
            return 0
        if is_of_row and row_depends_on_names(t, frame):
            return 0
        first = words - KIND
        for i in range(KIND, size):
            key[first + i] = t.arena[frame + i]
        key[first + WRITTEN] = 0
        if t.arena[frame + KIND] != OBJECT_FRAME:
            key[first + CURRENT] = relevant_length(t, frame)
        elif node_of(t, frame).limits != 0:
            counted = counted_at(t, frame)
            key[first + counted - frame] = relevant_properties(t, frame)
        words += size - KIND
        frame = t.arena[frame + PARENT]
    found = cython.cast(cython.ulonglong, words)
    for i in range(1, words):
        found = (found ^ cython.cast(cython.ulonglong, key[i])) * PRIME & ALL_64
        found ^= found >> 29
    key[0] = cython.cast(cython.longlong, found >> 1)
    return words


@cython.cfunc
def relevant_count(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return a string's length if a token can reach a bound on it.

    Else the complement of the languages, as bits, that are too short for any token to end.
    """
    a = automaton_at(t, automaton_of(t, s))
    short = cython.cast(cython.longlong, 0)
    if a.bounds == 0:
        return -1
    leads = within_bounds(t, a, s.automaton_state, s.languages, s.count)
    for k in range(a.bounds):
        if leads >> k & 1:
            bound = t.tables.bounds[a.bound0 + k]
            if bound.steady - s.count <= t.tree.longest:
                return s.count
            if s.count < bound.minimum:
                # The delimiter of raw text, which the bound counts, may begin earlier.
                if bound.minimum - s.count <= t.tree.longest + MOST_RESTS:
                    return s.count
                short |= bit(k)
    return ~short


@cython.cfunc
def relevant_length(t: MatcherState, frame: i64) -> i64:
    """Return an array's length, at most the one from which on nothing depends on it."""
    node = node_of(t, frame)
    length = t.arena[frame + CURRENT]
    far = cython.cast(cython.longlong, node.slots)
    for i in range(node.arrays):
        array = node.array0 + i
        left = cython.cast(cython.longlong, t.tables.arrays[array].maximum) - length
        near = t.tree.longest + t.tables.arrays[array].farthest
        if 0 <= left <= near:
            return length
        far = max(far, t.tables.arrays[array].minimum)
    return min(length, far)


@cython.cfunc
def relevant_properties(t: MatcherState, frame: i64) -> i64:
    """Return an object's number of properties; -1 if no token comes near a bound."""
    node = node_of(t, frame)
    count = t.arena[counted_at(t, frame)]
    if count >= node.least and (node.room < 0 or node.room - count > t.tree.longest):
        return -1
    return count


@cython.cfunc
def read_cached(t: MatcherState, key: cython.longlong[::1], words: i64) -> cython.bint:
    """Write the cached row of a configuration; return whether there is one."""
    slot = key[0] & (SLOTS - 1)
    for i in range(2):
        found = t.tables.cached[slot ^ i]
        if found is None:
            continue
        kept = cython.cast(CachedRow, found)
        if kept.words == words and are_equal(kept.data, key, words):
            if kept.base == WHOLE_ROW:
                write_row(t.row, kept.row, t.tree.words)
                return True
            if kept.base == NO_BASE:
                clear_row(t.row, t.tree.words)
            else:
                base = base_row(t, kept.base)
                if base is None:  # it is made anew
                    return False
                write_row(t.row, base.row, t.tree.words)
            write_words(t.row, kept.data, words)
            return True
    return False


@cython.cfunc
def make_row(t: MatcherState) -> cython.bint:
    """Compute the row of the present state."""
    s = state_at(t, 0)
    number: cython.Py_ssize_t = -1
    near = cython.cast(cython.longlong, FAR)
    are_longer = False  # whether tokens of more characters than that may be legal
    is_raw: cython.bint = s.phase >= IN_RAW
    is_string: cython.bint = is_raw or s.phase == IN_STRING or s.phase == IN_NAME
    is_apostrophe: cython.bint = t.is_python and s.stop == 39
    is_second: cython.bint = is_raw or is_apostrophe
    is_short: cython.bint = False  # whether a least length may decide
    shorter_rows = t.tree.raw_shorter_rows if is_second else t.tree.shorter_rows
    if is_string and s.pending == 0 and s.automaton_state >= 0:
        a = automaton_at(t, automaton_of(t, s))
        leads = t.tables.leads[a.states + s.automaton_state]
        is_finite: cython.bint = False
        if a.bounds != 0:
            free_to = cython.cast(cython.longlong, t.tables.free_to[a.states + s.automaton_state])
            is_finite = free_to < 0
            near = (~free_to if is_finite else free_to) - s.count
            are_longer = may_be_longer(t, a, leads, near + s.count)
        is_short = s.count < a.minimum
        if near >= 0 and not (is_short and is_finite) and leads & ~s.languages == 0:
            number = t.tables.wide[a.states + s.automaton_state]
            if t.is_python and number >= 0:
                number = 2 * number + is_apostrophe
    t.nodes = t.tree.trie.nodes
    t.ids = t.tree.trie.ids
    t.base = NO_BASE
    if number < 0:
        clear_row(t.row, t.tree.words)
        walk(t, 0, t.tree.trie.roots, 0)
        return retest_markers(t)
    wide = wide_row(t, automaton_of(t, s), s.automaton_state, number, quote_of(t, s))
    first = cython.cast(cython.Py_ssize_t, 0)
    words = t.tree.words
    if near < shorter_rows and is_second:
        write_common(t.row, wide.row, t.tree.raw_shorter, near * words, words)
    elif near < shorter_rows:
        write_common(t.row, wide.row, t.tree.shorter, near * words, words)
    else:
        write_row(t.row, wide.row, words)
        t.base = number
    if is_short:
        clear_finite(t, automaton_at(t, automaton_of(t, s)), wide)
    if near >= shorter_rows and wide.looping != 0 and is_any_length(t, s):
        fill_shared_exits(t, wide)
        first = wide.looping
    for e in range(first, wide.exits.shape[0]):
        fill_exit(t, wide.exits[e], wide.depths[e])
    if near < shorter_rows and are_longer:
        walk_long(t, near)
    if s.trie_node >= 0 and trie_leads_on(t, s, s.trie_node):
        state = s.automaton_state
        s.automaton_state = -1
        walk(t, 0, t.tree.trie.roots, 0)
        s.automaton_state = state
    if t.is_plain and s.phase == IN_NAME:
        clear_escapes(t)
    return retest_markers(t)


@cython.cfunc
def wide_row(t: MatcherState, automaton: index, state: i64, number: index, quote: i64) -> WideRow:
    """Return the wide row of an automaton's state, from a cache or made anew."""
    found = t.tables.row_of(number)
    if found is None:
        key = (t.tables.digest_of(automaton), state, quote)
        found = t.tree.shared.get(key)
        if found is None:
            found = make_wide_row(t, automaton, state, quote, None)
            t.tree.shared[key] = found
        t.tables.hold_row(number, cython.cast(Row, found))
    return cython.cast(WideRow, found)


@cython.cfunc
def make_wide_row(t: MatcherState, automaton: index, state: i64, quote: i64, added) -> WideRow:
    """Make a wide row.

    Args:
        automaton: number of the automaton.
        state: its state.
        quote: the byte that ends a string.
        added: is set to the characters that each token id adds (int32); or None.

    """
    maker = MatcherState(t.tree, t.tables)
    scratch = t.tree.borrow()
    row = np.zeros(t.tree.words, np.int32)
    exits = np.zeros((2, t.tree.trie.nodes.shape[0]), np.int32)
    begin_wide(maker, automaton, state, quote, scratch, row, exits[0], exits[1])
    maker.added = added
    maker.is_counted = added is not None
    a = automaton_at(maker, automaton)
    if a.minimum > 0 and t.tables.free_to[a.states + state] >= 0:
        maker.finite_ids = np.zeros(t.tree.trie.ids.shape[0], np.int32)
        maker.finite_keys = np.zeros(t.tree.trie.ids.shape[0], np.int64)
        maker.finite_count = 0
    try:
        walk_string(maker, a, 0, t.tree.trie.roots, 0, 0, state, -FAR, True)
    finally:
        t.tree.spare.append(scratch)
    if maker.is_lost:
        raise IndexError(OUT_OF_BOUNDS)
    t.work += maker.work + maker.count * _WORK_OF_EXIT + max(maker.finite_count, 0)
    nodes, depths = exits[:, : maker.count]
    loops = depths < 0  # marked by `leave_string`
    order = np.argsort(~loops, kind="stable")
    nodes = nodes[order]
    depths = np.where(loops, ~depths, depths)[order].astype(np.int32)
    looping = int(loops.sum())
    behind = t.tree.behind(nodes[:looping], depths[:looping]) if looping else t.tree.trie
    groups = first_groups(t, nodes, depths)
    finite = finite_groups(maker)
    size = row.nbytes + nodes.nbytes + depths.nbytes + groups.nbytes
    size += sum([each.nbytes for each in finite])
    charge = Charge(t.tree.memory, _ROW_BYTES + size)
    return WideRow(row, nodes, depths, groups, looping, behind, *finite, charge)


@cython.cfunc
def first_groups(t: MatcherState, exits: cython.int[::1], depths: cython.int[::1]):
    """Return the groups of the first bytes before exits, `ALWAYS` where there is none."""
    found = np.full(exits.shape[0], ALWAYS, np.uint8)
    groups: cython.uchar[::1] = found
    for e in range(exits.shape[0]):
        if depths[e] != 0:
            token_id = t.tree.trie.ids[t.tree.trie.nodes[exits[e]].rank]
            byte = t.tree.text[t.tree.text0[token_id]]
            for root in range(t.tree.trie.roots):
                if t.tree.trie.nodes[root].byte == byte:
                    groups[e] = t.tree.trie.nodes[root].group
    return found


@cython.cfunc
def clear_finite(t: MatcherState, a: cython.pointer[Automaton], wide: WideRow) -> cython.bint:
    """Clear the tokens of a wide row that lead to no text of a legal length."""
    s = state_at(t, 0)
    first = cython.cast(cython.Py_ssize_t, 0)
    for group in range(wide.finite_ends.shape[0]):
        end = cython.cast(cython.Py_ssize_t, wide.finite_ends[group])
        key = wide.finite_keys[group]
        if key < 0 or not leads_on(t, a, key >> 32, s.languages, s.count + (key & LOW_HALF)):
            t.work += (end - first) >> 3
            for i in range(first, end):
                token_id = wide.finite_ids[i]
                if key >= 0 or not is_legal_token(t, token_id):
                    t.row[token_id >> 5] &= ~bit32(token_id & 31)
        first = end
    return True


@cython.cfunc
def fill_shared_exits(t: MatcherState, wide: WideRow) -> cython.bint:
    """Set the bits of the legal tokens of all looping exits of a wide row."""
    s = state_at(t, 0)
    trie_node = s.trie_node
    t.nodes = wide.behind.nodes
    t.ids = wide.behind.ids
    s.trie_node = -1
    walk(t, 0, wide.behind.roots, 0)
    s.trie_node = trie_node
    t.nodes = t.tree.trie.nodes
    t.ids = t.tree.trie.ids
    if trie_node < 0:
        return True
    groups = t.tables.trie_opens[trie_node] | BACKSLASH_GROUP | bit(ALWAYS)
    t.work += wide.looping
    for e in range(wide.looping):  # the text before the quote may be one of the trie
        if groups >> cython.cast(cython.longlong, wide.groups[e]) & 1 == 0:
            continue
        exit_ = wide.exits[e]
        if is_listed(t, s, exit_, wide.depths[e]):
            node = trie_node_at(t, exit_)
            clear_ids(t, node.rank, node.rank_end)
            fill_exit(t, exit_, wide.depths[e])
    return True


@cython.cfunc
def is_listed(t: MatcherState, s: cython.pointer[State], exit_: index, depth: i64) -> cython.bint:
    """Return whether the bytes before an exit may complete a listed text or declared name."""
    trie_node = s.trie_node
    first = t.tree.text0[t.ids[trie_node_at(t, exit_).rank]]
    is_raw: cython.bint = s.phase >= IN_RAW  # then the byte of the exit is one of the text
    for i in range(depth + 1 if is_raw else depth):
        byte = t.tree.text[first + i]
        if byte >= 128:  # compared with characters only where there are such edges
            return t.tables.trie_opens[trie_node] & BEYOND_ASCII_GROUPS != 0
        if byte == 92 and not is_raw:  # an escape may spell any character
            return True
        trie_node = child_of(t, trie_node, byte)
        if trie_node < 0:
            return False
    value = t.tables.trie_value[trie_node]
    return value >= 0 if s.phase == IN_NAME or s.phase == IN_KEY else value != 0


@cython.cfunc
def fill_exit(t: MatcherState, exit_: index, depth: i64) -> cython.bint:
    """Set the bits of the legal tokens of an exit."""
    if reach(t, exit_, depth):
        walk(t, exit_, exit_ + 1, depth)
    return True


@cython.cfunc
def reach(t: MatcherState, exit_: index, depth: i64) -> cython.bint:
    """Advance the first state by the bytes before an exit; return whether that is legal."""
    first = t.tree.text0[t.ids[trie_node_at(t, exit_).rank]]
    for i in range(depth):
        t.states[i + 1] = t.states[i]
        t.work += 1
        if not step(t, state_at(t, i + 1), t.tree.text[first + i]):
            return False
    return True


@cython.cfunc
def clear_escapes(t: MatcherState):
    """Clear the tokens with needless escapes, which the wide row of a name has."""
    for k in range(t.tree.escaping.shape[0]):
        token_id = t.tree.escaping[k]
        if t.row[token_id >> 5] >> (token_id & 31) & 1 and not is_legal_token(t, token_id):
            t.row[token_id >> 5] &= ~bit32(token_id & 31)


@cython.cfunc
def clear_ending(t: MatcherState):
    """Clear the tokens in which a delimiter ends within a JSON string."""
    s = state_at(t, 0)
    stop = s.stop if s.phase == IN_STRING or s.phase == IN_NAME else 0
    ending = ending_row(t, stop)
    if ending is None:
        return
    tokens = cython.cast(Row, ending).row
    for w in range(t.tree.words):
        both = t.row[w] & tokens[w]
        if both == 0:
            continue
        for b in range(32):
            if both >> b & 1 and not is_legal_token(t, w << 5 | b):
                t.row[w] &= ~bit32(b)


@cython.cfunc
def ending_row(t: MatcherState, stop: index):
    """Return the row of the tokens in which a delimiter ends; None if there are none."""
    found = t.tables.ending[stop]
    if found is None:
        key = (t.tables.digest_of(t.tables.pairs[STOPS]), stop)
        found = t.tables.ending[stop] = t.tree.shared.get(key)
    if found is None:
        row = np.zeros(t.tree.words, np.int32)
        whole = t.row
        t.row = row
        walk_stops(t, 0, t.tree.trie.roots, stop)
        t.row = whole
        found = False
        if row.any():
            charge = Charge(t.tree.memory, _ROW_BYTES + 4 * t.tree.words)
            found = t.tree.shared.setdefault(key, Row(row, charge))
        t.tables.ending[stop] = found
    return None if found is False else found


@cython.cfunc
def cache_present(t: MatcherState, scratch: Scratch, words: i64):
    """Cache the present row under its configuration: as differences if they are few, or whole."""
    count = differences(t, scratch)
    if t.base == NO_BASE and count > _MANY_DIFFERING:
        t.base = DIGITS_BASE
        of_digits = differences(t, scratch)
        if of_digits > count:
            t.base = NO_BASE
            differences(t, scratch)
        else:
            count = of_digits
    is_whole: cython.bint = count > MOST_DIFFERING
    if is_whole:
        count = 0
    kept = CachedRow(WHOLE_ROW if is_whole else t.base, words, count)
    if is_whole:
        kept.row = t.row[: t.tree.words].copy()
        kept.size += 4 * t.tree.words
    for i in range(words):
        kept.data[i] = scratch.key[i]
    for i in range(count):
        place = cython.cast(cython.longlong, scratch.places[i])
        word = cython.cast(cython.longlong, t.row[place]) & LOW_HALF
        kept.data[words + i] = place << 32 | word
    t.tables.cache_row(scratch.key[0] & (SLOTS - 1), kept)


@cython.cfunc
def differences(t: MatcherState, scratch: Scratch) -> index:
    """Write where the present row differs from its base; return in how many words."""
    base = base_row(t, t.base)
    if base is None:
        return MOST_DIFFERING + 1
    return differing(t.row, base.row, t.tree.words, scratch.places, MOST_DIFFERING)


@cython.cfunc
def base_row(t: MatcherState, number: index) -> Row:
    """Return a base row by its number; None if it is no longer held."""
    if number == NO_BASE:
        return t.tree.nothing
    if number == DIGITS_BASE:
        return t.tree.digits
    return cython.cast(Row, t.tables.row_of(number))


@cython.cfunc
def retest_name_tokens(t: MatcherState) -> cython.bint:
    """Test anew the tokens in which the name of the present state ends.

    All else of a row may be kept for other names.
    """
    t.nodes = t.tree.trie.nodes
    t.ids = t.tree.trie.ids
    clear_written(t, 0, t.tree.trie.roots, 0)
    if state_at(t, 0).phase == IN_KEY:
        t.is_exact = True
        retest_markers(t)
        t.is_exact = False
    return retest_spanning_tokens(t)


@cython.cfunc
def retest_markers(t: MatcherState) -> cython.bint:
    """Test anew the markers that are characters of raw text."""
    for k in range(t.tables.markers.shape[0]):
        token_id = t.tables.markers[k]
        t.states[1] = t.states[0]
        word = t.row[token_id >> 5] & ~bit32(token_id & 31)
        if take_marker(t, state_at(t, 1), k):
            word |= bit32(token_id & 31)
        t.row[token_id >> 5] = word
    return True


@cython.cfunc
def retest_spanning_tokens(t: MatcherState) -> cython.bint:
    """Test anew the tokens in which an undeclared name may end and another one begin.

    A walk does not note the names that end within a token.
    """
    if t.tables.is_open:
        retest(t, t.tree.spanning)
        if t.is_laid_out:
            retest(t, t.tables.key_spanning)
    if t.tables.distinct != NOT_UNIQUE:
        retest(t, t.tree.listing)
        if may_be_last(t):
            retest(t, t.tree.commas)
    return True


@cython.cfunc
def retest(t: MatcherState, token_ids: cython.const_int[::1]) -> cython.bint:
    """Set or clear the bits of some token ids as `accept` would take them."""
    t.is_exact = True
    for i in range(token_ids.shape[0]):
        token_id = token_ids[i]
        t.states[1] = t.states[0]
        word = t.row[token_id >> 5] & ~bit32(token_id & 31)
        if takes(t, state_at(t, 1), token_id):
            word |= bit32(token_id & 31)
        t.row[token_id >> 5] = word
    t.is_exact = False
    return True


@cython.cfunc
def may_be_last(t: MatcherState) -> cython.bint:
    """Return whether a token may use up the distinct strings of an array."""
    if t.tables.distinct <= t.tree.most_commas + 1:
        return True
    frame = state_at(t, 0).frame
    if frame < 0 or t.arena[frame + KIND] != UNIQUE_STRINGS:
        return False
    ending = node_of(t, frame).distinct
    return ending <= t.arena[frame + CURRENT] + t.tree.most_commas + 1


@cython.cfunc
def clear_repeated(t: MatcherState) -> cython.bint:
    """Clear the tokens behind which an element repeats another one or has no other end."""
    t.nodes = t.tree.trie.nodes
    t.ids = t.tree.trie.ids
    t.is_exact = True
    if needs_fingerprint(t, t.search.frame):
        clear_dead_strings(t)
        clear_dead_ends(t, 0, t.tree.trie.roots, 0)
        t.search.spent = -1
    else:
        for i in range(t.tree.opening.shape[0]):
            token_id = t.tree.opening[i]
            t.states[1] = t.states[0]
            if t.row[token_id >> 5] >> (token_id & 31) & 1:
                if not takes(t, state_at(t, 1), token_id):
                    t.row[token_id >> 5] &= ~bit32(token_id & 31)
    t.is_exact = False
    return True


@cython.cfunc
def clear_dead_strings(t: MatcherState) -> cython.bint:
    """Clear tokens that stay in the present string and leave its element without an end."""
    s = state_at(t, 0)
    if s.phase != IN_STRING or s.pending != 0 or s.trie_node >= 0 or varies_around(t, s):
        return False
    room = endless_characters(t, s)
    is_second: cython.bint = t.is_python and s.stop == 39
    shorter = t.tree.raw_shorter if is_second else t.tree.shorter
    words = t.tree.words
    if outer_of(t, s, False) < 0 or room >= shorter.shape[0] // words:
        t.search.spent = s.frame
        return True
    inside = cython.cast(Row, t.tree.raw_free if is_second else t.tree.free).row
    for w in range(words):
        left = t.row[w] & inside[w]
        if room >= 0:
            left &= ~shorter[room * words + w]
        if left == 0:
            continue
        for b in range(32):
            if left >> b & 1 and not keeps_alive(t, w << 5 | b):
                t.row[w] &= ~bit32(b)
    t.search.spent = s.frame
    return True


@cython.cfunc
def keeps_alive(t: MatcherState, token_id: index) -> cython.bint:
    """Return whether an element is alive behind a token that stays within its string."""
    s = state_at(t, 0)
    a = automaton_at(t, automaton_of(t, s))
    state = s.automaton_state
    count = s.count
    found = s.fingerprint
    at = t.tree.text0[token_id]
    end = t.tree.text0[token_id + 1]
    t.work += 1
    while at < end:
        byte = cython.cast(cython.longlong, t.tree.text[at])
        if byte == 92:
            break
        more = 0 if byte < 128 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        character = byte if more == 0 else byte & (63 >> more)
        for i in range(at + 1, at + 1 + more):
            character = character << 6 | (t.tree.text[i] & 63 if i < end else 0)
        if more > 1:  # half a character may become this one
            character = max(character, 0x800 if more == 2 else 0x10000)
        state = state_behind(t, a, state, character)
        if state < 0:
            break
        found = hash_combine(found, character)
        count += 1
        at += 1 + more
    if at >= end:
        if has_many(t, a, state, s.languages, count):
            return True
        if ends_anew(t, ended_at(t, a, state, s.languages, count), found, t.search.outer):
            return True
    t.states[1] = t.states[0]
    return takes(t, state_at(t, 1), token_id)


@cython.cfunc
def finite_groups(t: MatcherState):
    """Return the finite tokens of the wide row that is made, grouped; see `WideRow`."""
    if t.finite_count <= 0:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)
    keys = np.asarray(t.finite_keys)[: t.finite_count]
    order = np.argsort(keys, kind="stable")
    finite_keys, counts = np.unique(keys, return_counts=True)
    finite_ids = np.asarray(t.finite_ids)[: t.finite_count][order]
    return finite_ids, np.cumsum(counts).astype(np.int32), finite_keys


@cython.cfunc
def begin_wide(
    t: MatcherState,
    automaton: index,
    state: i64,
    quote: i64,
    scratch: Scratch,
    row: cython.int[::1],
    exits: cython.int[::1],
    depths: cython.int[::1],
):
    """Set up the walk of a wide row."""
    t.states = scratch.states
    t.row = row
    t.exits = exits
    t.depths = depths
    t.nodes = t.tree.trie.nodes
    t.ids = t.tree.trie.ids
    s = state_at(t, 0)
    s.phase = IN_ANY
    s.node = automaton
    s.automaton_state = state
    s.trie_node = -1
    s.pending = 0
    s.count = -FAR  # far from every greatest length
    s.languages = -1
    s.frame = -1
    s.stop = quote


@cython.cfunc
def clear_dead_ends(t: MatcherState, first: index, end: index, depth: index) -> cython.bint:
    """Clear tokens at and below some siblings that leave an element without an end."""
    s = state_at(t, depth)
    if s.phase == DONE:
        return True
    groups = legal_groups(t, s)
    varies = varies_around(t, s)
    ending = COLON_GROUP | OPENING_GROUPS | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP
    if s.phase == OBJECT_OPEN or s.phase == ARRAY_OPEN:
        ending |= SPACES  # behind two spaces only the end may follow
    quotes = cython.cast(cython.longlong, -1)
    room = cython.cast(cython.longlong, FAR)
    if (s.phase == IN_STRING or s.phase == IN_NAME) and s.pending == 0:
        if not varies and s.frame != t.search.spent:
            room = endless_characters(t, s)
        quotes = QUOTE_GROUP | APOSTROPHE_GROUP if t.is_python else QUOTE_GROUP
    elif not varies:
        room = -1
    for number in range(first, end):
        node = trie_node_at(t, number)
        if groups >> cython.cast(cython.longlong, node.group) & 1 == 0:
            continue
        stays: cython.bint = node.below & quotes == 0 if quotes >= 0 else False
        if (stays or (varies and node.below & ending == 0)) and node.height <= room:
            continue
        t.work += 1
        t.states[depth + 1] = t.states[depth]
        if not step(t, state_at(t, depth + 1), cython.cast(cython.longlong, node.byte)):
            clear_ids(t, node.rank, node.rank_end)
            continue
        if node.own != 0 and not can_complete(t, state_at(t, depth + 1)):
            clear_ids(t, node.rank, node.rank_end)
        elif node.children != 0:
            clear_dead_ends(t, node.child, node.child + node.children, depth + 1)
    return True
