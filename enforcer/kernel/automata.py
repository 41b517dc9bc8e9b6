"""Automata over characters with bounds of length, and tries of listed strings.

An automaton follows several *languages* at once, a bit each. `leads_on` is the question of every
step: whether a word of some live language, of a legal length, is reached from a state.
"""

from __future__ import annotations

import cython

from enforcer.kernel.records import *
from enforcer.kernel.state import MatcherState, automaton_at, automaton_of, name_words, names_at

MANY_BOUNDS = cython.declare(cython.int, 4)  # of an automaton, from which on answers are remembered
BOUNDS_OF_UNIT = cython.declare(cython.int, 4)  # bounds that take as long as a trie node


@cython.cfunc
def leads_on(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
) -> cython.bint:
    """Return whether a word of some language, of a legal length, is reached from a state."""
    if state < 0 or t.tables.leads[a.states + state] & languages == 0:
        return False
    if a.bounds == 0:
        return True
    if count <= a.steady and (count >= a.minimum or count < 0):  # less than 0 in wide rows
        return True
    if a.bounds < MANY_BOUNDS or t.scratch is None:
        return within_bounds(t, a, state, languages, count) != 0
    known = answer(t, a.states + state, languages, count, LEADS_ON)
    if known.found == NOT_ASKED:
        known.found = within_bounds(t, a, state, languages, count) != 0
    return known.found != 0


@cython.cfunc
@cython.exceptval(check=False)
def answer(
    t: MatcherState, at: i64, languages: i64, count: i64, asked: i64
) -> cython.pointer[Answer]:
    """Return the memo of a question about an automaton's state; `NOT_ASKED` in a new one.

    Args:
        at: where the state of an automaton stands in the tables.
        languages: that are followed.
        count: the characters of the string.
        asked: see `LEADS_ON`.

    """
    place = cython.cast(cython.longlong, at) << 32 | (count & LOW_HALF)
    slot = hash_combine(hash_combine(place, asked), languages) & (ANSWERS - 1)
    found = answer_in(t, slot)
    if (
        found.turn != t.scratch.round
        or found.place != place
        or found.languages != languages
        or found.asked != asked
    ):
        found.turn = t.scratch.round
        found.place = place
        found.languages = languages
        found.asked = asked
        found.found = NOT_ASKED
    return found


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def answer_in(t: MatcherState, slot: index) -> cython.pointer[Answer]:
    """Return an entry of the table of memos."""
    if not cython.compiled:
        return t.scratch.answers[slot]
    return cython.address(t.scratch.answers[slot])


@cython.cfunc
def within_bounds(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
) -> i64:
    """Return the languages of which a word of a legal length is reached from a state."""
    languages &= t.tables.leads[a.states + state]
    t.work += a.bounds // BOUNDS_OF_UNIT
    for k in range(a.bounds):
        if languages >> k & 1 and not is_within(t, a.bound0 + k, state, count):
            languages &= ~bit(k)
    return languages


@cython.cfunc
def is_within(t: MatcherState, number: index, state: i64, count: i64) -> cython.bint:
    """Return whether a word is reached from a state whose length is within a bound."""
    bound = t.tables.bounds[number]
    if bound.rest0 < 0:
        return True
    rest = t.tables.rests[bound.rest0 + state]
    left: cython.longlong = FAR
    if bound.maximum >= 0:
        left = cython.cast(cython.longlong, bound.maximum) - count
    if bound.minimum == 0:
        return rest <= left
    if left >= MOST_RESTS and rest >> MOST_RESTS & 1:
        return True
    least = cython.cast(cython.longlong, 0)
    if count < bound.minimum:
        least = cython.cast(cython.longlong, bound.minimum) - count
    left = min(left, cython.cast(cython.longlong, MOST_RESTS - 1))
    if least > left:
        return False
    return rest >> least & (bit(left - least + 1) - 1) != 0


@cython.cfunc
def too_long(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the languages of a string's automaton of which no word has a legal length."""
    a = automaton_at(t, automaton_of(t, s))
    leads = t.tables.leads[a.states + s.automaton_state]
    return leads & ~within_bounds(t, a, s.automaton_state, leads, s.count)


@cython.cfunc
def ended_at(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
) -> i64:
    """Return the languages of which a text of `count` characters in a state is a word."""
    languages &= t.tables.accepts[a.states + state]
    if languages == 0:
        return 0
    for k in range(a.bounds):
        bound = t.tables.bounds[a.bound0 + k]
        if count < bound.minimum or 0 <= bound.maximum < count:
            languages &= ~bit(k)
    return languages


@cython.cfunc
def room_of(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
) -> i64:
    """Return how many safe characters may follow with a word of legal length after each of them.

    Safe as `Tables.safe` has them. Less than 0 if none may.
    """
    if a.bounds == 0 or count < 0:
        return FAR
    if a.bounds < MANY_BOUNDS or t.scratch is None:
        return room_within(t, a, state, languages, count)
    known = answer(t, a.states + state, languages, count, ROOM)
    if known.found == NOT_ASKED:
        known.found = room_within(t, a, state, languages, count)
    return known.found


@cython.cfunc
@cython.exceptval(-9, check=False)
def room_within(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
) -> i64:
    """Compute `room_of`: the most of all languages that no least length bounds."""
    room = cython.cast(cython.longlong, -1)
    languages &= t.tables.leads[a.states + state]
    t.work += a.bounds // BOUNDS_OF_UNIT
    for k in range(a.bounds):
        if languages >> k & 1:
            bound = t.tables.bounds[a.bound0 + k]
            if (
                bound.minimum != 0
                and bound.rest0 >= 0
                and t.tables.rests[bound.rest0 + state] >> MOST_RESTS & 1 == 0
            ):
                continue
            room = max(room, cython.cast(cython.longlong, bound.steady) - count)
    return room


@cython.cfunc
def is_any_length(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Return whether no token, however many characters it has, ends a language by its length."""
    a = automaton_at(t, automaton_of(t, s))
    leads = t.tables.leads[a.states + s.automaton_state]
    for k in range(a.bounds):
        if leads >> k & 1:
            bound = t.tables.bounds[a.bound0 + k]
            if s.count < bound.minimum or bound.steady - s.count < t.tree.longest:
                return False
    return True


@cython.cfunc
def trie_leads_on(t: MatcherState, s: cython.pointer[State], trie_node: i64) -> cython.bint:
    """Return whether a listed text, or a declared name that may come, is below a trie's node."""
    if trie_node < 0:
        return False
    low = t.tables.trie_low[trie_node]
    if s.phase != IN_NAME and s.phase != IN_KEY and s.phase != IN_ARGUMENT:
        return low & s.languages != 0
    high = t.tables.trie_high[trie_node]
    possible = names_at(t, s.frame) + name_words(t, s.frame)
    last = (high - 1) >> 6
    for i in range(low >> 6, last + 1):
        word = t.arena[possible + i]
        if i == low >> 6:
            word &= -bit(low & 63)
        if i == last and high & 63 != 0:
            word &= LAST_63 >> (63 - (high & 63))
        if word != 0:
            return True
    return False


@cython.cfunc
@cython.exceptval(-9, check=False)
def range_of(t: MatcherState, a: cython.pointer[Automaton], character: i64) -> index:
    """Return the number of the range of characters that holds one."""
    low = cython.cast(cython.Py_ssize_t, a.range0)
    high = low + a.ranges
    while low < high:
        middle = (low + high) >> 1
        if t.tables.range_low[middle] <= character:
            low = middle + 1
        else:
            high = middle
    return low - 1


@cython.cfunc
@cython.exceptval(-9, check=False)
def state_behind(t: MatcherState, a: cython.pointer[Automaton], state: i64, character: i64) -> i64:
    """Return the state that a character leads to, -1 for none."""
    kind = class_of(t, a, character)
    return -1 if kind < 0 else t.tables.transitions[a.transitions + state * a.classes + kind]


@cython.cfunc
@cython.exceptval(-9, check=False)
def class_of(t: MatcherState, a: cython.pointer[Automaton], character: i64) -> i64:
    """Return the class of a character, -1 for none."""
    if character < 128:
        return t.tables.ascii[a.ascii + character]
    return t.tables.range_class[range_of(t, a, character)]


@cython.cfunc
@cython.exceptval(-9, check=False)
def edge_from(t: MatcherState, trie_node: index, character: i64) -> index:
    """Return the number of the first edge with this character or a later one."""
    low = cython.cast(cython.Py_ssize_t, t.tables.trie_edges[trie_node])
    high = cython.cast(cython.Py_ssize_t, t.tables.trie_edges[trie_node + 1])
    while low < high:
        middle = (low + high) >> 1
        if t.tables.edge_character[middle] < character:
            low = middle + 1
        else:
            high = middle
    return low


@cython.cfunc
@cython.exceptval(-9, check=False)
def child_of(t: MatcherState, trie_node: index, character: i64) -> i64:
    """Return the node that a character leads to in a trie, -1 for none."""
    edge = edge_from(t, trie_node, character)
    if edge >= t.tables.trie_edges[trie_node + 1]:
        return -1
    return t.tables.edge_to[edge] if t.tables.edge_character[edge] == character else -1


@cython.cfunc
def range_end(t: MatcherState, a: cython.pointer[Automaton], i: index) -> i64:
    """Return the last character of a range."""
    if i + 1 == a.range0 + a.ranges:
        return LAST_CHARACTER
    return t.tables.range_low[i + 1] - 1


@cython.cfunc
def next_state(t: MatcherState, a: cython.pointer[Automaton], state: i64, i: index) -> i64:
    """Return the state that the characters of a range lead to, -1 for none."""
    kind = t.tables.range_class[i]
    return -1 if kind < 0 else t.tables.transitions[a.transitions + state * a.classes + kind]
