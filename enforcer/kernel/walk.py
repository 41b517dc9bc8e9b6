"""Walks over the trie of tokens that set the bits of a row.

A walk skips the subtree of an illegal byte, and sets a subtree at once where an automaton state
takes all its groups of bytes. Inside a string only an automaton's state and a count are followed;
a `State` is made where the string ends. Walks inside a string have these arguments:

    a: the automaton, in which alone the text is.
    first, end: the first sibling, and the node behind the last.
    base: the depth of a state of the same string.
    depth: the bytes before the siblings.
    state: of the automaton, before them.
    count: the characters of the string before them.
    is_looping: whether no byte before them leaves the first state of a wide row.
"""

from __future__ import annotations

import cython

from enforcer.kernel.automata import child_of, leads_on, range_of, room_of
from enforcer.kernel.names import (
    character_of,
    ending_classes,
    in_common,
    keeps_characters,
    length_of,
)
from enforcer.kernel.records import *
from enforcer.kernel.search import lend, rest_is_legal, text_of
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    is_of_pairs,
    state_at,
    trie_node_at,
)
from enforcer.kernel.strings import (
    avoids_stops,
    character_byte,
    ends_name,
    is_quote,
    may_be_raw,
    name_byte,
    quote_of,
    viable,
)
from enforcer.kernel.turn import (
    BEGINS,
    READ,
    TEXT_BEGINS,
    end_call,
    kind_of,
    loops_of,
    turn_at,
    turn_step,
)
from enforcer.kernel.values import legal_groups, step


@cython.cfunc
def clear_ids(t: MatcherState, first: index, end: index) -> cython.bint:
    """Clear the bits of some token ids of the trie."""
    t.work += (end - first) >> 3
    for r in range(first, end):
        token_id = t.ids[r]
        t.row[token_id >> 5] &= ~bit32(token_id & 31)
    return True


@cython.cfunc
def walk(t: MatcherState, first: index, end: index, depth: index) -> cython.bint:
    """Set the bits of the legal tokens at and below some siblings.

    Args:
        first: the first sibling.
        end: the node behind the last sibling.
        depth: the bytes before them, by which `state_at` finds the state.

    """
    s = state_at(t, depth)
    if s.phase == DONE:
        return t.turn is not None and walk_behind(t, first, end, depth)
    is_string: cython.bint = s.phase == IN_STRING or s.phase == IN_NAME or s.phase == IN_ANY
    is_string = is_string or (s.phase >= IN_RAW and s.pending == 0)
    if is_string and s.trie_node < 0 and s.automaton_state >= 0:
        if s.pending != 0:
            return walk_pending(t, first, end, depth, False)
        a = automaton_at(t, automaton_of(t, s))
        return walk_string(t, a, first, end, depth, depth, s.automaton_state, s.count, False)
    groups = legal_groups(t, s)
    safe = cython.cast(cython.longlong, 0)
    room = cython.cast(cython.longlong, 0)
    if s.phase == IN_BARE or (
        s.phase == IN_ARGUMENT and s.trie_node < 0 and s.automaton_state >= 0
    ):
        at = automaton_at(t, automaton_of(t, s)).states + s.automaton_state
        safe = t.tables.safe[at]
        room = t.tables.safe_steps[at]
    for number in range(first, end):
        node = trie_node_at(t, number)
        if groups >> cython.cast(cython.longlong, node.group) & 1 == 0:
            continue
        if node.below & ~safe == 0 and node.height <= room:
            t.work += 1
            set_ids(t, node.rank, node.rank_end)
            continue
        t.states[depth + 1] = t.states[depth]
        t.work += 1
        if step(t, state_at(t, depth + 1), cython.cast(cython.longlong, node.byte)):
            set_own(t, node)
            if node.children != 0:
                walk(t, node.child, node.child + node.children, depth + 1)
                if is_quote(t, node.byte) or t.is_laid_out or t.is_python:
                    clear_written_below(t, node, depth + 1)
    return True


@cython.cfunc
def walk_behind(t: MatcherState, first: index, end: index, depth: index) -> cython.bint:
    """Walk behind the end of a text; see `walk`."""
    s = turn_at(t.turn, depth)
    s.calls = t.calls
    end_call(t.turn, s)
    t.resting = state_at(t, depth).top
    return walk_turn(t, first, end, depth)


@cython.cfunc
def walk_turn(t: MatcherState, first: index, end: index, depth: index) -> cython.bint:
    """Walk outside of texts, for the row of `t`; see `walk`."""
    turn = t.turn
    s = turn_at(turn, depth)
    if kind_of(turn, s.place) == TEXT_BEGINS:
        return walk_text(t, first, end, depth, s.low, s.calls)
    loops = loops_of(turn, s.place)
    for number in range(first, end):
        node = trie_node_at(t, number)
        t.work += 1
        if node.below & ~loops == 0:
            set_ids(t, node.rank, node.rank_end)
            continue
        turn.states[depth + 1] = turn.states[depth]
        after = turn_at(turn, depth + 1)
        found = turn_step(turn, after, cython.cast(cython.longlong, node.byte))
        if found == BEGINS:
            walk_text(t, number, number + 1, depth, after.low, after.calls)
        elif found == READ:
            set_own(t, node)
            if node.children != 0:
                walk_turn(t, node.child, node.child + node.children, depth + 1)
    return True


@cython.cfunc
def walk_text(
    t: MatcherState, first: index, end: index, depth: index, header: i64, calls: i64
) -> cython.bint:
    """Walk from the beginning of a text, for the row of another matcher.

    Args:
        t: the other one.
        first, end, depth: see `walk`.
        header: the number of the header before the text.
        calls: completed before it.

    """
    t.turn.has_begun = True
    found = text_of(t.turn, header)
    if found is None:
        return False
    m = cython.cast(MatcherState, found)
    outer = m.calls
    m.calls = calls
    is_outermost: cython.bint = m.scratch is None  # else a token holds two calls of the same tool
    if is_outermost:
        m.resting = m.past[0].top
        m.scratch = m.tree.borrow()
        m.scratch.round += 1
        m.states = m.scratch.states
        lend(m, t.turn)
    m.states[depth] = m.past[0]
    state_at(m, depth).top = m.resting  # below are frames of the call before, whose walk goes on
    m.row = t.row
    m.nodes = t.nodes
    m.ids = t.ids
    m.work = 0
    m.is_exact = False
    walk(m, first, end, depth)
    m.calls = outer
    if is_outermost:
        m.tree.spare.append(m.scratch)
        m.scratch = None
        m.turn = None
    t.work += m.work
    if m.is_lost:
        t.is_lost = True
    tables = m.tables
    if tables.is_open or tables.distinct != NOT_UNIQUE or tables.has_unique_values:
        note_doubtful(t, first, end)
    return True


@cython.cfunc
def note_doubtful(t: MatcherState, first: index, end: index) -> cython.bint:
    """Append the set tokens at and below some siblings to those that are to be tested once more.

    A walk does not note the names and elements that end within a token.
    """
    for r in range(trie_node_at(t, first).rank, trie_node_at(t, end - 1).rank_end):
        token_id = t.ids[r]
        if t.row[token_id >> 5] >> (token_id & 31) & 1:
            t.turn.doubtful.append(token_id)
    return True


@cython.cfunc
def clear_written(t: MatcherState, first: index, end: index, depth: index) -> cython.bint:
    """Clear the tokens at and below some siblings that write a name again or lead to none."""
    s = state_at(t, depth)
    if s.automaton_state < 0:
        return True
    classes = ending_classes(t, s.frame)
    written = t.arena[s.frame + WRITTEN]
    while written != 0:
        name = written - 1
        if in_common(t, name, classes, s.top - s.count, s.count) == s.count:
            along = t.tree.longest + 1 + depth
            t.states[along] = t.states[depth]
            state_at(t, along).phase = IN_WRITTEN
            follow(t, first, end, depth, name, classes)
        written = t.arena[name] & LOW_HALF
    return True


@cython.cfunc
def walk_stops(t: MatcherState, first: index, end: index, stop: i64) -> cython.bint:
    """Set the bits of the tokens at and below some siblings in which a delimiter ends."""
    at = automaton_at(t, t.tables.pairs[STOPS]).states + stop
    safe = t.tables.safe[at]
    room = cython.cast(cython.longlong, t.tables.safe_steps[at])
    for number in range(first, end):
        node = trie_node_at(t, number)
        if node.below & ~safe == 0 and room >= FAR_STEPS:
            continue
        t.work += 1
        s = state_at(t, 1)
        s.stop = stop
        if not avoids_stops(t, s, node.byte):
            set_ids(t, node.rank, node.rank_end)
        elif node.children != 0:
            child = cython.cast(cython.Py_ssize_t, node.child)
            walk_stops(t, child, child + node.children, s.stop)
    return True


@cython.cfunc
def walk_long(t: MatcherState, near: i64) -> cython.bint:
    """Set the bits of the legal tokens inside a string that have more than `near` characters.

    Without its exits, which are set already: so nothing is missed where the limit leaves out
    tokens behind them.
    """
    s = state_at(t, 0)
    trie_node = s.trie_node
    s.trie_node = -1
    t.limit = s.count + near
    walk(t, 0, t.tree.trie.roots, 0)
    t.limit = -LAST_62
    s.trie_node = trie_node
    return True


@cython.cfunc
def may_be_longer(
    t: MatcherState, a: cython.pointer[Automaton], languages: i64, count: i64
) -> cython.bint:
    """Return whether a word of some language may have more than `count` characters."""
    for k in range(a.bounds):
        most = t.tables.bounds[a.bound0 + k].maximum
        if languages >> k & 1 and (most < 0 or most > count):
            return True
    return False


@cython.cfunc
def is_legal_token(t: MatcherState, token_id: index) -> cython.bint:
    """Return whether a token may follow the present state."""
    t.states[1] = t.states[0]
    s = state_at(t, 1)
    for i in range(t.tree.text0[token_id], t.tree.text0[token_id + 1]):
        t.work += 1
        if s.phase == DONE:
            return rest_is_legal(t, token_id, i)
        if not step(t, s, t.tree.text[i]):
            return False
    return True


@cython.cfunc
def set_ids(t: MatcherState, first: index, end: index) -> cython.bint:
    """Set the bits of some token ids of the trie."""
    t.work += (end - first) >> 3
    for r in range(first, end):
        token_id = t.ids[r]
        t.row[token_id >> 5] |= bit32(token_id & 31)
    return True


@cython.cfunc
def set_own(t: MatcherState, node: cython.pointer[TrieNode]) -> cython.bint:
    """Set the bits of the token ids that end at a node."""
    if node.own == 1:
        t.row[node.token >> 5] |= bit32(node.token & 31)
    elif node.own != 0:
        set_ids(t, node.rank, node.rank + node.own)
    return True


@cython.cfunc
def set_text(t: MatcherState, node: cython.pointer[TrieNode], count: i64) -> cython.bint:
    """Set the bits of the token ids that end at a node inside a string of `count` characters."""
    set_own(t, node)
    if t.is_counted:
        count_characters(t, node, count)
    return True


@cython.cfunc
def count_characters(t: MatcherState, node: cython.pointer[TrieNode], count: i64):
    """Write to `added` how many characters the tokens that end at a node add."""
    for r in range(node.rank, node.rank + node.own):
        t.added[t.ids[r]] = count + FAR


@cython.cfunc
def walk_string(
    t: MatcherState,
    a: cython.pointer[Automaton],
    first: index,
    end: index,
    base: index,
    depth: index,
    state: i64,
    count: i64,
    is_looping: cython.bint,
) -> cython.bint:
    """Walk within a string or raw text; a `State` is written where it ends."""
    at = a.states + state
    languages = state_at(t, base).languages
    is_json: cython.bint = a.kind == OF_JSON
    quote = quote_of(t, state_at(t, base))
    groups = t.tables.opens[at] | ending_groups(t, is_json)
    # What is safe may lead to an end that comes too early.
    safe = 0 if t.is_counted or has_few_lengths(t, at) else safe_groups(t, at)
    left_out = safe if is_done(t, a, state, languages) else 0
    room = safe_room(t, a, state, languages, count) if safe != 0 else 0
    is_same: cython.bint = is_looping and state == state_at(t, 0).automaton_state
    last = cython.cast(cython.longlong, -1)  # siblings often lead to one state
    does_lead = False
    for number in range(first, end):
        node = trie_node_at(t, number)
        if groups >> cython.cast(cython.longlong, node.group) & 1 == 0:
            continue
        height = cython.cast(cython.longlong, node.height)
        if count + height <= t.limit or node.below & ~left_out == 0:
            continue
        if node.below & ~safe == 0 and height <= room:
            set_ids(t, node.rank, node.rank_end)
            continue
        byte = cython.cast(cython.longlong, node.byte)
        if byte >= 128:
            walk_beyond(t, a, number, base, depth, state, count, is_same)
            continue
        t.work += 1
        if is_json and (byte == quote or byte == 92):
            leave_string(t, number, base, depth, state, count, is_same)
            continue
        class_ = t.tables.ascii[a.ascii + byte]
        if class_ < 0 or (byte < 32 and is_json and not may_be_raw(t, byte)):
            continue
        to = t.tables.transitions[a.transitions + state * a.classes + class_]
        if to != last:
            last = to
            does_lead = leads_on(t, a, to, languages, count + 1)
        if not does_lead:
            continue
        if a.kind == RAW_ENDING and t.tables.accepts[a.states + to] & languages != 0:
            leave_raw(t, number, base, depth, state, count, 0, is_same)
            continue
        set_text(t, node, count + 1)
        note_finite(t, a, node, to, count + 1)
        if node.children != 0:
            below = node.child + node.children
            walk_string(t, a, node.child, below, base, depth + 1, to, count + 1, is_same)
    return True


@cython.cfunc
def safe_room(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
) -> i64:
    """Return how many safe characters may follow, by the state and by lengths."""
    steps = cython.cast(cython.longlong, t.tables.safe_steps[a.states + state])
    return min(steps, room_of(t, a, state, languages, count))


@cython.cfunc
def is_done(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64
) -> cython.bint:
    """Return whether tokens that only stay in a state are set already, or too long."""
    if t.limit < 0 or t.tables.safe_steps[a.states + state] < FAR_STEPS:
        return False
    return not leads_beyond(t, a, state, languages)


@cython.cfunc
def ending_groups(t: MatcherState, is_json: cython.bint) -> i64:
    """Return the groups of bytes that are looked at in each state of a string or raw text."""
    groups = QUOTE_GROUP | BACKSLASH_GROUP if is_json else CONTROL_GROUP
    return groups | APOSTROPHE_GROUP | CONTROL_GROUP if t.is_python else groups


@cython.cfunc
def leads_beyond(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64
) -> cython.bint:
    """Return whether a text longer than `limit` characters may go on from a state."""
    languages &= t.tables.leads[a.states + state]
    for k in range(a.bounds):
        if languages >> k & 1 == 0:
            continue
        bound = t.tables.bounds[a.bound0 + k]
        left = cython.cast(cython.longlong, bound.maximum) - t.limit - 1
        if bound.maximum < 0 or bound.rest0 < 0:
            return True
        if left < 0:
            continue
        rest = t.tables.rests[bound.rest0 + state]
        if bound.minimum == 0:
            if rest <= left:
                return True
        elif left >= MOST_RESTS or rest & (bit(left + 1) - 1) != 0:
            return True
    return False


@cython.cfunc
def walk_beyond(
    t: MatcherState,
    a: cython.pointer[Automaton],
    number: index,
    base: index,
    depth: index,
    state: i64,
    count: i64,
    is_looping: cython.bint,
) -> cython.bint:
    """Walk at and below a node with the first byte of a character; see `walk_string`."""
    node = trie_node_at(t, number)
    byte = cython.cast(cython.longlong, node.byte)
    if byte < 0xC2 or byte > 0xF4:
        return False
    if takes_all(t, a, node, base, state, count, node.height):
        return set_ids(t, node.rank, node.rank_end)
    missing = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
    kind = UTF_8_OF_2 + missing - 1
    return walk_character(
        t, a, number, number + 1, base, depth, state, count, is_looping, kind, missing, 0, -1
    )


@cython.cfunc
def leave_string(
    t: MatcherState,
    number: index,
    base: index,
    depth: index,
    state: i64,
    count: i64,
    is_same: cython.bint,
) -> cython.bint:
    """Walk a node whose byte is a quote or a backslash; see `walk_string`."""
    node = trie_node_at(t, number)
    put_state(t, base, depth, state, count)
    s = state_at(t, depth + 1)
    child = cython.cast(cython.Py_ssize_t, node.child)
    end = child + node.children
    if node.byte == 92:
        if character_byte(t, s, 92) != INSIDE:
            return False
        set_text(t, node, count + 1)
        note_finite(t, automaton_at(t, automaton_of(t, s)), node, -1, count + 1)
        return walk_pending(t, child, end, depth + 1, is_same)
    if s.phase == IN_ANY:
        if t.tables.accepts[automaton_at(t, s.node).states + state] != 0:
            note_exit(t, number, depth, is_same)
        return True
    if not step(t, s, cython.cast(cython.longlong, node.byte)):
        return False
    set_own(t, node)
    return child < end and walk(t, child, end, depth + 1)


@cython.cfunc
def safe_groups(t: MatcherState, at: index) -> i64:
    """Return the safe groups of a state of an automaton, which stands there in the tables."""
    safe = t.tables.safe[at]
    return safe & ~APOSTROPHE_GROUP if t.is_python else safe


@cython.cfunc
def walk_character(
    t: MatcherState,
    a: cython.pointer[Automaton],
    first: index,
    end: index,
    base: index,
    depth: index,
    state: i64,
    count: i64,
    is_looping: cython.bint,
    kind: i64,
    missing: i64,
    value: i64,
    to: i64,
) -> cython.bint:
    """Walk inside a character beyond ASCII of a string; `missing` bytes follow the siblings.

    `kind` and `value` are the character's kind and bits before the siblings, as in `pending`; `to`
    is the state that all characters with these bits lead to, -1 if they lead to several.
    """
    is_first: cython.bint = kind == UTF_8_OF_2 + missing - 1
    for number in range(first, end):
        node = trie_node_at(t, number)
        byte = cython.cast(cython.longlong, node.byte)
        bits = byte & 63
        if is_first:
            bits = byte & (63 >> missing)
        elif byte & 0xC0 != 0x80:
            continue
        bits |= value << 6
        t.work += 1
        after = to
        if after < 0:
            after = state_of_all(t, a, base, depth, state, count, kind, missing, bits)
            if after == ILLEGAL_CHARACTER:
                continue
        if missing == 0 and a.kind == RAW_ENDING and t.tables.accepts[a.states + after] != 0:
            pending = kind | 1 << 4 | value << 8
            leave_raw(t, number, base, depth, state, count, pending, False)
            continue
        height = cython.cast(cython.longlong, node.height) - is_first
        may_take_all: cython.bint = node.children != 0 and after >= 0
        if may_take_all and takes_all(t, a, node, base, after, count + 1, height):
            set_ids(t, node.rank, node.rank_end)
            continue
        set_text(t, node, count + 1)
        note_finite(t, a, node, after, count + 1)
        if node.children == 0:
            continue
        child = cython.cast(cython.Py_ssize_t, node.child)
        below = child + node.children
        if missing == 0:
            walk_string(t, a, child, below, base, depth + 1, after, count + 1, is_looping)
            continue
        rest = missing - 1
        walk_character(
            t, a, child, below, base, depth + 1, state, count, is_looping, kind, rest, bits, after
        )
    return True


@cython.cfunc
@cython.exceptval(-9, check=False)
def state_of_all(
    t: MatcherState,
    a: cython.pointer[Automaton],
    base: index,
    depth: index,
    state: i64,
    count: i64,
    kind: i64,
    missing: i64,
    value: i64,
) -> i64:
    """Return the state to which every character leads that begins with some bits.

    Returns -1 if it is not the same for all, `ILLEGAL_CHARACTER` if none leads on.
    """
    least = value << (6 * missing)
    greatest = least + bit(6 * missing) - 1
    low = least
    high = greatest
    if kind == UTF_8_OF_3:
        low = max(low, 0x800)
        if low <= LAST_SURROGATE and high >= FIRST_SURROGATE:
            high = FIRST_SURROGATE - 1
    elif kind == UTF_8_OF_4:
        low = max(low, 0x10000)
        high = min(high, LAST_CHARACTER)
    if low > high:
        return ILLEGAL_CHARACTER
    if not is_in_range(t, a, low):
        t.last_range += 1
        if not is_in_range(t, a, low):
            t.last_range = range_of(t, a, low)
    if is_in_range(t, a, high):
        class_ = t.tables.range_class[t.last_range]
        to = cython.cast(cython.longlong, -1)
        if class_ >= 0:
            to = t.tables.transitions[a.transitions + state * a.classes + class_]
        if not leads_on(t, a, to, state_at(t, base).languages, count + 1):
            return ILLEGAL_CHARACTER
        return to if low == least and high == greatest else -1
    put_state(t, base, depth, state, count)
    return -1 if viable(t, state_at(t, depth + 1), low, high) else ILLEGAL_CHARACTER


@cython.cfunc
def is_in_range(t: MatcherState, a: cython.pointer[Automaton], character: i64) -> cython.bint:
    """Return whether a character is in the range of the last one."""
    end = a.range0 + a.ranges
    if not a.range0 <= t.last_range < end or t.tables.range_low[t.last_range] > character:
        return False
    return t.last_range + 1 == end or character < t.tables.range_low[t.last_range + 1]


@cython.cfunc
def leave_raw(
    t: MatcherState,
    number: index,
    base: index,
    depth: index,
    state: i64,
    count: i64,
    pending: i64,
    is_same: cython.bint,
) -> cython.bint:
    """Walk a node whose byte may end raw text; `pending` is before it. See `walk_string`."""
    node = trie_node_at(t, number)
    put_state(t, base, depth, state, count)
    s = state_at(t, depth + 1)
    s.pending = pending
    if s.phase == IN_ANY:
        return note_exit(t, number, depth, is_same)
    if not step(t, s, cython.cast(cython.longlong, node.byte)):
        return False
    set_own(t, node)
    if node.children == 0:
        return False
    child = cython.cast(cython.Py_ssize_t, node.child)
    walk(t, child, child + node.children, depth + 1)
    return clear_written_below(t, node, depth + 1)


@cython.cfunc
def put_state(t: MatcherState, base: index, depth: index, state: i64, count: i64) -> cython.bint:
    """Write the state one byte deeper, in the string of another state."""
    t.states[depth + 1] = t.states[base]
    s = state_at(t, depth + 1)
    s.automaton_state = state
    s.count = count
    s.pending = 0
    return True


@cython.cfunc
def note_exit(t: MatcherState, number: index, depth: index, is_same: cython.bint) -> cython.bint:
    """Append an exit of the wide row that is made."""
    t.exits[t.count] = number
    t.depths[t.count] = ~depth if is_same else depth
    t.count += 1
    return True


@cython.cfunc
def clear_written_below(
    t: MatcherState, node: cython.pointer[TrieNode], depth: index
) -> cython.bint:
    """Apply `clear_written` below a node, if a name or string begins after it."""
    s = state_at(t, depth)
    before = s.phase == IN_ARGUMENT
    if s.pending != 0 or s.count != before or not keeps_characters(t, s):
        return True
    return clear_written(t, node.child, node.child + node.children, depth)


@cython.cfunc
def takes_all(
    t: MatcherState,
    a: cython.pointer[Automaton],
    node: cython.pointer[TrieNode],
    base: index,
    state: i64,
    count: i64,
    height: i64,
) -> cython.bint:
    """Return whether all tokens at and below a node stay inside the string.

    Args:
        a: the automaton.
        node: of a byte of a character beyond ASCII.
        base: where a state of the same string is.
        state: before the character, or that it leads to whatever its other bytes are.
        count: the characters of the string there.
        height: the most characters from there on.

    """
    at = a.states + state
    if t.is_counted or has_few_lengths(t, at):
        return False
    if a.kind == RAW_ENDING and t.tables.accepts[at] != 0:
        return False
    if height == 0:
        return node.below & CONTROL_GROUP == 0
    steps = t.tables.cjk_steps[at]
    if node.below & ~CJK_GROUP != 0:
        steps = t.tables.safe_steps[at]
        if node.below & ~safe_groups(t, at) != 0:
            return False
    if height > steps:
        return False
    return height <= room_of(t, a, state, state_at(t, base).languages, count)


@cython.cfunc
def has_few_lengths(t: MatcherState, at: index) -> cython.bint:
    """Return whether texts of finitely many lengths are left in the state at an index."""
    return t.finite_count >= 0 and t.tables.free_to[at] < 0


@cython.cfunc
def note_finite(
    t: MatcherState,
    a: cython.pointer[Automaton],
    node: cython.pointer[TrieNode],
    state: i64,
    count: i64,
) -> cython.bint:
    """Append the tokens that end at a node to the finite ones; see `WideRow`.

    Args:
        a: the automaton.
        node: of the trie.
        state: behind the tokens; -1 if a character or an escape is unfinished.
        count: as the walk counts the characters.

    """
    if node.own == 0 or t.finite_count < 0:
        return False
    key = cython.cast(cython.longlong, -1)
    if state >= 0:
        if not has_few_lengths(t, a.states + state):
            return False
        key = state << 32 | (count + FAR)
    for r in range(node.rank, node.rank + node.own):
        t.finite_ids[t.finite_count] = t.ids[r]
        t.finite_keys[t.finite_count] = key
        t.finite_count += 1
    return True


@cython.cfunc
def walk_pending(
    t: MatcherState, first: index, end: index, depth: index, is_looping: cython.bint
) -> cython.bint:
    """Walk on within an unfinished character of a string; see `walk_string`."""
    for number in range(first, end):
        node = trie_node_at(t, number)
        t.states[depth + 1] = t.states[depth]
        s = state_at(t, depth + 1)
        t.work += 1
        if character_byte(t, s, cython.cast(cython.longlong, node.byte)) != INSIDE:
            continue
        set_text(t, node, state_at(t, depth).count + 1)
        a = automaton_at(t, automaton_of(t, s))
        to = -1 if s.pending != 0 else cython.cast(cython.longlong, s.automaton_state)
        note_finite(t, a, node, to, s.count)
        child = cython.cast(cython.Py_ssize_t, node.child)
        below = child + node.children
        if s.pending != 0:
            walk_pending(t, child, below, depth + 1, is_looping)
        else:
            walk_string(t, a, child, below, depth + 1, depth + 1, to, s.count, is_looping)
    return True


@cython.cfunc
def follow(
    t: MatcherState, first: index, end: index, depth: index, name: i64, classes: i64
) -> cython.bint:
    """Walk along all spellings of the rest of a written name; see `clear_written`."""
    s = state_at(t, t.tree.longest + 1 + depth)
    is_whole: cython.bint = s.count == length_of(t, name)
    character = -1 if is_whole else character_of(t, name, classes, s.count)
    if s.pending != 0 or t.is_python or is_of_pairs(t, s.frame):
        for number in range(first, end):
            follow_at(t, number, depth, name, classes, character)
    elif is_whole:
        number = sibling(t, first, end, 34)
        if number >= 0:
            node = trie_node_at(t, number)
            clear_ids(t, node.rank, node.rank_end)
    else:
        for byte in (first_byte(character), 92):
            number = sibling(t, first, end, byte)
            if number >= 0:
                follow_at(t, number, depth, name, classes, character)
    return True


@cython.cfunc
def follow_at(
    t: MatcherState, number: index, depth: index, name: i64, classes: i64, character: i64
) -> cython.bint:
    """Walk on at and below a node; see `follow`.

    Args:
        number: of the node.
        depth: where the state before it is.
        name: the written name.
        classes: see `ending_classes`.
        character: the next one of the name; -1 for none.

    """
    along = t.tree.longest + 1 + depth
    s = state_at(t, along)
    node = trie_node_at(t, number)
    byte = cython.cast(cython.longlong, node.byte)
    if s.pending == 0 and ends_name(t, s, byte):
        if character < 0:
            clear_ids(t, node.rank, node.rank_end)
        return True
    if character < 0 or (s.pending == 0 and byte != first_byte(character) and byte != 92):
        return True
    is_key = is_of_pairs(t, s.frame)
    # Where names never run out, it matters only in which tokens this one ends.
    if classes == 0 and not is_key and not t.is_python and node.below & QUOTE_GROUP == 0:
        return True
    t.work += 1
    t.states[along + 1] = t.states[along]
    following = state_at(t, along + 1)
    following.values = character
    if name_byte(t, following, byte) != INSIDE:
        return True
    if is_key and following.count == length_of(t, name):
        clear_ids(t, node.rank, node.rank_end)
        return True
    if classes == 1 and following.pending == 0 and t.arena[name + 1] == following.count:
        declared = state_at(t, depth).trie_node
        if declared < 0 or child_of(t, declared, character) < 0:
            clear_ids(t, node.rank, node.rank_end)
            return True
    # Of one class no name is left from the mark on; of several, one may be left over.
    may_end: cython.bint = classes > 1 or t.arena[name + 1] == s.count + 1
    if classes != 0 and not begins_name(t, depth, byte, may_end):
        clear_ids(t, node.rank, node.rank_end)
    elif node.children != 0:
        follow(t, node.child, node.child + node.children, depth + 1, name, classes)
    return True


@cython.cfunc
def begins_name(t: MatcherState, depth: index, byte: i64, is_exact: cython.bint) -> cython.bint:
    """Write the state after a byte to `depth + 1`; return whether it is still inside a name.

    Args:
        depth: index of the state before the byte, which stays unchanged.
        byte: of the name.
        is_exact: whether to require that a name is left that begins so; reset afterwards.

    """
    t.states[depth + 1] = t.states[depth]
    t.is_exact = is_exact
    found = name_byte(t, state_at(t, depth + 1), byte)
    t.is_exact = False
    return found == INSIDE


@cython.cfunc
@cython.exceptval(-9, check=False)
def sibling(t: MatcherState, first: index, end: index, byte: i64) -> index:
    """Return the sibling with a byte; -1 for none."""
    last = end
    while first < last:
        middle = (first + last) >> 1
        if trie_node_at(t, middle).byte < byte:
            first = middle + 1
        else:
            last = middle
    return first if first < end and trie_node_at(t, first).byte == byte else -1
