"""The end of a text that is found: what completes it from where it stands, in token ids.

A depth-first search over bytes by `step`. In each state it first tries what `aims` says, then every
byte; nearly always the first is legal to the end. Whatever is found is a valid end, since the
machine takes it. The search behind the first byte of an end finds its rest, and of what is left the
longest token is taken first: so behind the first token of an end one token fewer is missing.
"""

from __future__ import annotations

import cython
import numpy as np

from enforcer.kernel.aims import *
from enforcer.kernel.automata import class_of
from enforcer.kernel.names import is_written, keeps_characters
from enforcer.kernel.objects import open_name
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    bracket_of,
    is_of_call,
    level_of,
    needs_fingerprint,
    node_at,
    node_of,
    state_of_text,
)
from enforcer.kernel.strings import quote_of, symbol_of
from enforcer.kernel.values import (
    close_bare,
    complete_values,
    ended_texts,
    legal_groups,
    step,
    take_marker,
)

_STEP = 16  # units of work of a byte that is tried, beside what its step counts
# Units of work of one search, some 4 ms: rows wait for searches.
MOST_WORK = cython.declare(cython.longlong, 200_000)
# Token ids that a character which has been begun may take beyond its end.
PENDING_IDS = cython.declare(cython.int, 12)

LOST_WAY = cython.declare(cython.int, -2)  # no end is known whatever comes


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def ending_state(t: MatcherState, i: index) -> cython.pointer[State]:
    """Return the state of the search behind `i` symbols."""
    if not cython.compiled:
        return t.ending.states[i]
    return cython.address(t.ending.states[i])


@cython.cfunc
def copy_state(target: cython.pointer[State], s: cython.pointer[State]):
    """Copy a state to where another one is."""
    if cython.compiled:
        target[0] = s[0]
    else:
        for name in s.dtype.names:
            target[name] = s[name]


@cython.cfunc
def widen_ending(t: MatcherState):
    """Double the room of a search."""
    e = t.ending
    count = cython.cast(cython.Py_ssize_t, e.states.shape[0])
    states: State[::1] = new_states(2 * count)
    tried: cython.int[::1] = np.zeros(2 * count, np.int32)
    symbols: cython.int[::1] = np.zeros(2 * count, np.int32)
    for i in range(count):
        states[i] = e.states[i]
        tried[i] = e.tried[i]
        symbols[i] = e.symbols[i]
    e.states = states
    e.tried = tried
    e.symbols = symbols


@cython.cfunc
def find_ending(t: MatcherState) -> cython.bint:
    """Search an end from the first state of the search on; return whether one is found.

    None is where a value has no instance that is known, or the search takes too much work.
    """
    e = t.ending
    order = t.tree.order.shape[0]
    i = cython.cast(cython.Py_ssize_t, 0)
    e.tried[0] = 0
    while True:
        if i + 2 >= e.states.shape[0]:
            widen_ending(t)
        if e.tried[i] == 0 and is_ended(t, i):
            e.length = i
            return True
        symbol = cython.cast(cython.longlong, -1)
        k = cython.cast(cython.Py_ssize_t, e.tried[i])
        while k < order + 2:
            k += 1
            if k == 1:
                symbol = closing_symbol(t, i)
            elif k == 2:
                symbol = guided_symbol(t, i)
                if symbol == LOST_WAY:
                    return False
            else:
                symbol = t.tree.order[k - 3] & 255
                t.work += 1
                if legal_groups(t, ending_state(t, i)) >> (t.tree.order[k - 3] >> 8) & 1 == 0:
                    continue
            if t.work > e.most:
                return False
            if symbol >= 0 and takes_symbol(t, i, symbol):
                break
            symbol = -1
        e.tried[i] = k
        if symbol >= 0:
            e.symbols[i] = symbol
            i += 1
            e.tried[i] = 0
        elif i == 0:
            return False
        else:
            i -= 1


@cython.cfunc
def takes_symbol(t: MatcherState, i: index, symbol: i64) -> cython.bint:
    """Write the state behind a symbol; return whether the symbol is legal."""
    t.ending.states[i + 1] = t.ending.states[i]
    s = ending_state(t, i + 1)
    t.work += _STEP
    if symbol >= FIRST_MARKER:
        return take_marker(t, s, symbol - FIRST_MARKER)
    return t.tree.writes[symbol] != 0 and step(t, s, cython.cast(cython.longlong, symbol))


@cython.cfunc
def is_whole_text(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Return whether a text is complete."""
    if s.phase == IN_RAW:
        return s.pending == 0 and ended_texts(t, s) != 0
    if s.phase == BETWEEN and s.pending == 0:
        return (t.tables.accepts[state_of_text(t, s)] & s.languages & 2) != 0
    if s.frame >= 0 or s.phase != IN_BARE:
        return s.phase == DONE
    return (t.tables.accepts[state_of_text(t, s)] & s.languages) != 0


@cython.cfunc
def is_ended(t: MatcherState, i: index) -> cython.bint:
    """Return whether a search ends in a state."""
    s = ending_state(t, i)
    if t.ending.level < 0:
        return is_whole_text(t, s)
    if level_of(t, s.frame) != t.ending.level:
        return False
    if s.phase == IN_BARE:
        t.ending.states[i + 1] = t.ending.states[i]
        s = ending_state(t, i + 1)
        if not close_bare(t, s):
            return False
    is_between: cython.bint = s.phase == AFTER or s.phase == OBJECT_OPEN or s.phase == ARRAY_OPEN
    return is_between and complete_values(t, s.frame) & t.ending.fitted != 0


@cython.cfunc
@cython.exceptval(-9, check=False)
def closing_symbol(t: MatcherState, i: index) -> i64:
    """Return the symbol that ends what is being written, where it is to end; -1 if none does."""
    s = ending_state(t, i)
    if s.phase == IN_STRING:
        if s.pending != 0 or ended_texts(t, s) & languages_wanted(t, s) == 0:
            return -1
        return quote_of(t, s)
    if s.phase == IN_NAME or s.phase == IN_ARGUMENT:
        if s.pending != 0 or not is_name_whole(t, s):
            return -1
        return quote_of(t, s) if s.phase == IN_NAME else 61
    if s.phase == IN_BARE:
        if t.tables.accepts[state_of_text(t, s)] & languages_wanted(t, s) == 0:
            return -1
        t.ending.states[i + 1] = t.ending.states[i]
        s = ending_state(t, i + 1)
        if not close_bare(t, s):
            return -1
    if s.phase >= IN_RAW or s.phase == DONE:
        return -1
    if s.pending == CARRIAGE_RETURN:
        return 10
    if s.phase == NAMED:
        return 61 if is_of_call(t, s.frame) else 58
    if s.phase == BEGIN or s.phase == OBJECT_COMMA:
        return -1
    is_open: cython.bint = s.phase == OBJECT_OPEN or s.phase == ARRAY_OPEN
    if s.phase == OBJECT_OPEN_SPACED or s.phase == ARRAY_OPEN_SPACED or is_closable(t, s.frame):
        return bracket_of(t, s.frame)
    return -1 if is_open else 44


@cython.cfunc
@cython.exceptval(-9, check=False)
def guided_symbol(t: MatcherState, i: index) -> i64:
    """Return the symbol that leads towards an end; -1 if none is known, `LOST_WAY` for none."""
    s = ending_state(t, i)
    if s.phase == BEGIN or s.phase == ARRAY_OPEN:
        return value_symbol(t, s)
    if s.phase == OBJECT_OPEN or s.phase == OBJECT_COMMA:
        if not is_of_call(t, s.frame):
            return 34
        t.ending.states[i + 1] = t.ending.states[i]
        s = ending_state(t, i + 1)
        return character_wanted(t, s) if open_name(t, s, IN_ARGUMENT) else -1
    is_text: cython.bint = s.phase == IN_STRING or s.phase == IN_NAME or s.phase == IN_ARGUMENT
    if s.phase == IN_BARE:
        languages = languages_wanted(t, s)
        return nearest_character(t, s, s.automaton_state, -1, languages, 0)
    if not is_text and s.phase < IN_RAW:
        return -1
    return symbol_of(t, s, other_character(t, s, character_wanted(t, s)))


@cython.cfunc
@cython.exceptval(-9, check=False)
def other_character(t: MatcherState, s: cython.pointer[State], character: i64) -> i64:
    """Return another character of the same class where a text is whole, but written already.

    It depends on what has been written, so that many texts which differ are short.
    """
    if character < 0 or s.pending != 0 or not keeps_characters(t, s) or s.automaton_state < 0:
        return character
    if s.phase != IN_STRING and name_wanted(t, s) >= 0:
        return character
    if not is_written(t, s.frame, s.top - s.count, s.count):
        return character
    a = automaton_at(t, automaton_of(t, s))
    is_array: cython.bint = t.arena[s.frame + KIND] != OBJECT_FRAME
    drawn = hash_combine(t.arena[s.frame + (CURRENT if is_array else NAME_FINGERPRINT)], s.count)
    found = 97 + drawn % 26
    return found if class_of(t, a, found) == class_of(t, a, character) else character


@cython.cfunc
@cython.exceptval(-9, check=False)
def value_symbol(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the first byte of the shortest value that is wanted."""
    wanted = values_wanted(t, s.frame) & s.values
    if wanted == 0:
        wanted = s.values
    kind = kind_wanted(t, s.node, wanted)
    if kind == TEXT_KIND:
        return 34
    if kind == OBJECT_KIND:
        return 123
    if kind == ARRAY_KIND:
        return 91
    if kind < 0:
        return LOST_WAY
    node = node_at(t, s.node)
    languages = cython.cast(cython.longlong, 0)
    for k in range(node.bare_languages):
        if t.tables.bits[node.bare_of + k] & wanted:
            languages |= bit(k)
    return nearest_bare(t, s, languages)


@cython.cfunc
@cython.exceptval(-9, check=False)
def nearest_bare(t: MatcherState, s: cython.pointer[State], languages: i64) -> i64:
    """Return the first character of the shortest number or word of some languages."""
    phase = s.phase
    s.phase = IN_BARE  # so that its automaton is that of numbers and words
    found = nearest_character(t, s, 0, -1, languages, 0)
    s.phase = phase
    return found


# Tokens.


@cython.cfunc
@cython.exceptval(-9, check=False)
def tokens_of_ending(t: MatcherState) -> i64:
    """Count the token ids of the end that was found, the longest first."""
    at = cython.cast(cython.longlong, 0)
    found = cython.cast(cython.longlong, 0)
    t.ending.start = -1
    while at < t.ending.length:
        at = behind_token(t, at)
        if found == 0:
            t.ending.start = t.ending.first
        found += 1
    return found


@cython.cfunc
@cython.exceptval(-9, check=False)
def behind_token(t: MatcherState, at: i64) -> i64:
    """Return where the longest token ends that begins at a symbol of the end."""
    e = t.ending
    e.first = -1
    if e.symbols[at] >= FIRST_MARKER:
        marker = cython.cast(cython.Py_ssize_t, e.symbols[at] - FIRST_MARKER)
        e.first = t.tables.markers[marker]
        return at + 1
    trie = t.tree.trie
    first = cython.cast(cython.Py_ssize_t, 0)
    end = cython.cast(cython.Py_ssize_t, trie.roots)
    found = at
    i = at
    while i < e.length and e.symbols[i] < FIRST_MARKER:
        byte = e.symbols[i]
        low = first
        high = end
        while low < high:
            middle = (low + high) >> 1
            if trie.nodes[middle].byte < byte:
                low = middle + 1
            else:
                high = middle
        if low >= end or trie.nodes[low].byte != byte:
            break
        i += 1
        if trie.nodes[low].own != 0:
            found = i
            e.first = trie.nodes[low].token
        first = trie.nodes[low].child
        end = first + trie.nodes[low].children
    if found == at:
        raise IndexError(OUT_OF_BOUNDS)  # `Tree.writes` has only bytes that are tokens
    return found


@cython.cfunc
@cython.exceptval(-9, check=False)
def cost_of(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return how many token ids the end of a text takes from a state on; -1 if none is found."""
    t.ending.most = t.work + MOST_WORK
    t.ending.looked = 0
    copy_state(ending_state(t, 0), s)
    found = tokens_of_ending(t) if find_ending(t) else -1
    if t.is_lost:
        raise IndexError(OUT_OF_BOUNDS)
    return found


@cython.cfunc
def ids_of_ending(t: MatcherState) -> list:
    """Return the token ids of the end that was found."""
    found = []
    at = cython.cast(cython.longlong, 0)
    while at < t.ending.length:
        at = behind_token(t, at)
        found.append(t.ending.first)
    return found


@cython.cfunc
@cython.exceptval(-9, check=False)
def growth_within(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Bound by how many token ids the end grows behind more of what is being written.

    `Costs.growth` where more may begin another value; and `growth_around`, where what is written
    may be of several values.
    """
    costs = costs_of(t)
    found = cython.cast(cython.longlong, 0)
    is_text: cython.bint = s.phase == IN_STRING or s.phase == IN_VALUE or s.phase == IN_RAW
    if not is_text and s.phase != IN_BARE:
        return costs.growth + growth_around(t, s, False)
    if is_text and s.trie_node >= 0:
        found = costs.farthest_listed
    if s.automaton_state >= 0:
        found = max(found, cython.cast(cython.longlong, costs.farthest[automaton_of(t, s)]))
    if needs_fingerprint(t, s.frame) or keeps_characters(t, s):
        found += PENDING_IDS  # one that was written before has to become another one
    return found if s.values & (s.values - 1) == 0 else found + growth_around(t, s, False)


@cython.cfunc
@cython.exceptval(-9, check=False)
def growth_around(t: MatcherState, s: cython.pointer[State], is_beyond: cython.bint) -> i64:
    """Bound by how many token ids the end grows if what is written decides what is around it.

    A word, such as a discriminator's, may leave the object around it only the shape that lacks
    most. If that object may be of several values, it may do the same to what is around itself, and
    so on. With `is_beyond`, what is farther out counts too: a token that closes all between decides
    it.
    """
    found = cython.cast(cython.longlong, 0)
    growth = max(cython.cast(cython.longlong, costs_of(t).growth), 0)
    is_decided = True
    frame = s.frame
    while frame >= 0 and (is_decided or is_beyond):
        is_open: cython.bint = is_undecided(t, frame)
        if is_decided and is_open:
            found += growth
        is_decided = is_open and node_of(t, frame).values > 1
        frame = t.arena[frame + PARENT]
    return found


@cython.cfunc
def is_undecided(t: MatcherState, frame: i64) -> cython.bint:
    """Return whether an object or array may still be of several kinds, or counts its values."""
    node = node_of(t, frame)
    words = cython.cast(cython.Py_ssize_t, 1)
    if t.arena[frame + KIND] == OBJECT_FRAME:
        words = node.shape_words
        if node.witnesses != 0:
            return True
    elif node.tallies != 0:
        return True
    is_any = False
    for w in range(words):
        live = t.arena[frame + LIVE + w]
        if live & (live - 1) != 0 or (is_any and live != 0):
            return True
        if live != 0:
            is_any = True
    return False
