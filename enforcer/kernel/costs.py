"""Costs of a grammar's values, learned once, by which the ends of its texts are found (`ends`).

Distances in automata and tries, a character for each class, and the shortest instance of each value
of each node: of an object or array it is the end that is found from its bracket on, again and again
until none gets shorter.
"""

from __future__ import annotations

import cython
import numpy as np

from enforcer.kernel.aims import *
from enforcer.kernel.arrays import next_element, open_array
from enforcer.kernel.ends import (
    MOST_WORK,
    PENDING_IDS,
    ending_state,
    find_ending,
    tokens_of_ending,
)
from enforcer.kernel.objects import open_names, open_object
from enforcer.kernel.records import *
from enforcer.kernel.state import MatcherState, level_of, node_at, past_state, reserve
from enforcer.kernel.tables import Tables
from enforcer.kernel.values import begin_pair, open_pairs

_ROUNDS = 8  # in which costs are made smaller by each other
_SHAPES_LEARNED = 64
_MOST_LEARNED = 8_000_000  # units of work in all, some 150 ms; what is left has no cost

# Characters that stand for others, the readable ones first; those that need an escape last.
_READABLE = [
    *range(97, 123), *range(48, 58), *range(65, 91), *range(32, 34), *range(35, 48),
    *range(58, 65), 91, *range(93, 97), *range(123, 127), 34, 92, 127, 10, 9, 13, *range(32),
]  # fmt: skip


@cython.cfunc
def learn(t: MatcherState):
    """Learn the costs of a text's grammar, for all of its texts."""
    tables = t.tables
    costs = Costs()
    count = cython.cast(cython.Py_ssize_t, tables.automata.shape[0])
    costs.distance0 = new_words(count + 1)
    costs.letter0 = new_words(count + 1)
    costs.farthest = np.zeros(count, np.int32)
    sizes = 0
    for number in range(count):
        costs.distance0[number] = sizes
        sizes += languages_of(tables, number) * tables.states_of(number)
    costs.distances = np.full(sizes, NO_WAY, np.int32)
    letters: list = []
    classes: list = []
    for number in range(count):
        find_distances(tables, costs, number)
        costs.letter0[number] = len(letters)
        find_letters(tables, number, letters, classes)
    costs.letter0[count] = len(letters)
    costs.letters = np.array(letters, np.int32)
    costs.letter_classes = np.array(classes, np.int32)
    find_trie_distances(tables, costs)
    nodes = cython.cast(cython.Py_ssize_t, tables.nodes.shape[0])
    costs.value0 = new_words(nodes + 1)
    for number in range(nodes):
        more = tables.nodes[number].values * VALUE_KINDS
        costs.value0[number + 1] = costs.value0[number] + more
    costs.values = np.full(costs.value0[nodes], NO_WAY, np.int32)
    t.ending.costs = costs
    t.ending.looked = 0
    for number in range(nodes):
        learn_texts(t, number)
    costs.growth += costs.farthest_listed
    for number in range(count):
        costs.growth = max(costs.growth, cython.cast(cython.longlong, costs.farthest[number]))
    for _ in range(_ROUNDS):
        is_changed = False
        for number in range(nodes - 1, -1, -1):
            if learn_composed(t, number):
                is_changed = True
        if not is_changed:
            break
    costs.growth = costs.growth + PENDING_IDS if are_all_known(t) else NO_END
    tables.costs = costs  # last: from here on other threads take them
    tables.add_weight(
        4 * (sizes + 2 * len(letters) + costs.values.shape[0] + costs.trie_distances.shape[0])
    )


@cython.cfunc
def are_all_known(t: MatcherState) -> cython.bint:
    """Return whether an instance of each value is known: a text may begin any of them."""
    for number in range(t.tables.nodes.shape[0]):
        for v in range(t.tables.nodes[number].values):
            if value_cost(t, number, bit(v)) >= NO_WAY:
                return False
    return True


@cython.cfunc
def languages_of(tables: Tables, number: index) -> i64:
    """Return how many languages an automaton has."""
    every = cython.cast(cython.longlong, 0)
    a = tables.automata[number]
    for state in range(tables.states_of(number)):
        every |= tables.accepts[a.states + state]
    found = 0
    while every != 0:
        every = every >> 1 & LAST_63
        found += 1
    return found


@cython.cfunc
def find_distances(tables: Tables, costs: Costs, number: index):
    """Find how far each state of an automaton is from the ends of its languages."""
    a = tables.automata[number]
    states = tables.states_of(number)
    # For each state those that lead to it, one after the other.
    first: cython.int[::1] = np.zeros(states + 2, np.int32)
    for i in range(states * a.classes):
        to = tables.transitions[a.transitions + i]
        if to >= 0:
            first[to + 2] += 1
    for state in range(states):
        first[state + 2] += first[state + 1]
    sources: cython.int[::1] = np.zeros(max(first[states + 1], 1), np.int32)
    for state in range(states):
        for kind in range(a.classes):
            to = tables.transitions[a.transitions + state * a.classes + kind]
            if to >= 0:
                sources[first[to + 1]] = state
                first[to + 1] += 1
    queue: cython.int[::1] = np.zeros(max(states, 1), np.int32)
    for k in range(languages_of(tables, number)):
        base = costs.distance0[number] + k * states
        end = cython.cast(cython.Py_ssize_t, 0)
        for state in range(states):
            if tables.accepts[a.states + state] >> k & 1:
                costs.distances[base + state] = 0
                queue[end] = state
                end += 1
        at = cython.cast(cython.Py_ssize_t, 0)
        while at < end:
            state = queue[at]
            at += 1
            further = costs.distances[base + state] + 1
            for i in range(first[state], first[state + 1]):
                if costs.distances[base + sources[i]] == NO_WAY:
                    costs.distances[base + sources[i]] = further
                    costs.farthest[number] = max(costs.farthest[number], further)
                    queue[end] = sources[i]
                    end += 1


@cython.cfunc
def find_letters(tables: Tables, number: index, letters: list, classes: list):
    """Append a character for each class of an automaton."""
    a = tables.automata[number]
    seen = set()
    for character in _READABLE:
        kind = tables.ascii[a.ascii + cython.cast(cython.Py_ssize_t, character)]
        if kind >= 0 and kind not in seen:
            seen.add(kind)
            letters.append(character)
            classes.append(kind)
    for i in range(a.range0, a.range0 + a.ranges):
        kind = tables.range_class[i]
        low = max(cython.cast(cython.longlong, tables.range_low[i]), 128)
        end = LAST_CHARACTER + 1
        if i + 1 < a.range0 + a.ranges:
            end = tables.range_low[i + 1]
        if kind >= 0 and kind not in seen and low < end:
            if FIRST_SURROGATE <= low <= LAST_SURROGATE:
                if low - FIRST_SURROGATE >= tables.markers.shape[0]:
                    continue
            seen.add(kind)
            letters.append(low)
            classes.append(kind)


@cython.cfunc
def find_trie_distances(tables: Tables, costs: Costs):
    """Find how far each node of a trie is from the nearest text; edges lead to later nodes."""
    count = cython.cast(cython.Py_ssize_t, tables.trie_value.shape[0])
    costs.trie_distances = np.full(count, NO_WAY, np.int32)
    depths: cython.int[::1] = np.zeros(count, np.int32)
    costs.farthest_listed = 0
    for node in range(count):
        for edge in range(tables.trie_edges[node], tables.trie_edges[node + 1]):
            depths[tables.edge_to[edge]] = depths[node] + 1
        costs.farthest_listed = max(
            costs.farthest_listed, cython.cast(cython.longlong, depths[node])
        )
    for node in range(count - 1, -1, -1):
        is_name: cython.bint = tables.trie_high[node] != 0
        value = tables.trie_value[node]
        best = cython.cast(cython.int, NO_WAY)
        if value >= 0 if is_name else value != 0:
            best = 0
        for edge in range(tables.trie_edges[node], tables.trie_edges[node + 1]):
            best = min(best, costs.trie_distances[tables.edge_to[edge]] + 1)
        costs.trie_distances[node] = best


@cython.cfunc
def learn_texts(t: MatcherState, number: index):
    """Learn what the strings, numbers and words of a node cost, or its raw texts."""
    costs = costs_of(t)
    node = node_at(t, number)
    s = ending_state(t, 0)
    s.frame = -1
    s.node = number
    quotes = 2 if node.raw == OF_JSON else 0
    for v in range(node.values):
        at = costs.value0[number] + v * VALUE_KINDS
        languages = cython.cast(cython.longlong, 0)
        for k in range(node.string_languages):
            if t.tables.bits[node.strings_of + k] >> v & 1:
                languages |= bit(k)
        best = cython.cast(cython.longlong, NO_WAY)
        s.phase = IN_STRING
        s.values = bit(v)
        if node.string_automaton >= 0:
            best = distance(t, s, node.string_automaton, 0, languages, 0)
        if node.string_trie >= 0 and t.tables.trie_low[node.string_trie] & languages:
            nearest = cython.cast(cython.longlong, costs.trie_distances[node.string_trie])
            best = min(best, nearest)
        note_cost(costs, at + TEXT_KIND, best + quotes, best + quotes)
        languages = 0
        for k in range(node.bare_languages):
            if t.tables.bits[node.bare_of + k] >> v & 1:
                languages |= bit(k)
        if node.bare_automaton >= 0:
            s.phase = IN_BARE
            best = distance(t, s, node.bare_automaton, 0, languages, 0)
            note_cost(costs, at + BARE_KIND, best, best)


@cython.cfunc
def note_cost(costs: Costs, at: index, cost: i64, token_ids: i64) -> cython.bint:
    """Note a cost in bytes if it is smaller; return whether it is. `growth` is of token ids."""
    if cost >= NO_WAY:
        return False
    costs.growth = max(costs.growth, token_ids)
    if cost >= costs.values[at]:
        return False
    costs.values[at] = cost
    return True


@cython.cfunc
def learn_composed(t: MatcherState, number: index) -> cython.bint:
    """Learn what the objects and arrays of a node cost; return whether something was changed."""
    costs = costs_of(t)
    node = node_at(t, number)
    is_changed = False
    for shape in range(node.shapes):
        if shape < _SHAPES_LEARNED and begin_shape(t, number, shape):
            if is_learned(t):
                cost = t.ending.length + 2
                token_ids = tokens_of_ending(t) + 2
                for v in range(node.values):
                    shapes = t.tables.bits[node.shapes_of + v * node.shape_words + (shape >> 6)]
                    at = costs.value0[number] + v * VALUE_KINDS + OBJECT_KIND
                    if shapes >> (shape & 63) & 1 and note_cost(costs, at, cost, token_ids):
                        is_changed = True
    for i in range(node.arrays):
        begin_array(t, number, i)
        if is_learned(t):
            v = t.tables.arrays[node.array0 + i].value
            at = costs.value0[number] + v * VALUE_KINDS + ARRAY_KIND
            if note_cost(costs, at, t.ending.length + 2, tokens_of_ending(t) + 2):
                is_changed = True
    t.ending.level = -1
    t.ending.fitted = -1
    return is_changed


@cython.cfunc
def is_learned(t: MatcherState) -> cython.bint:
    """Return whether an end is found of an object or array that has begun."""
    t.ending.most = min(t.work + MOST_WORK, cython.cast(cython.longlong, _MOST_LEARNED))
    return find_ending(t)


@cython.cfunc
def begin_inside(t: MatcherState, number: index, is_root: cython.bint):
    """Begin a value of a node in the first state of the search, with nothing around it.

    Frames without another around them are those of pairs and of calls of Python's; two more are
    around any other one.
    """
    s = ending_state(t, 0)
    before = past_state(t, t.at)
    e = t.ending
    t.ending.states[0] = t.past[t.at]
    s.top = before.top
    s.frame = -1
    s.pending = 0
    s.stop = 0
    s.phase = BEGIN
    s.node = number
    s.values = bit(node_at(t, number).values) - 1
    if node_at(t, number).values == 64:
        s.values = -1
    e.fitted = s.values
    e.level = -1
    if is_root:
        return
    for _ in range(2):
        at = s.top
        reserve(t, at + LIVE + 1)
        for i in range(LIVE + 1):
            t.arena[at + i] = 0
        t.arena[at + PARENT] = s.frame
        t.arena[at + LEVEL] = level_of(t, s.frame) + 1
        t.arena[at + KIND] = ARRAY_FRAME
        s.top = at + LIVE + 1
        s.frame = at
    e.level = 2


@cython.cfunc
def begin_shape(t: MatcherState, number: index, shape: i64) -> cython.bint:
    """Begin an object of one shape; return whether it may have that."""
    is_root: cython.bint = number == 0 and (t.is_laid_out or t.is_python)
    begin_inside(t, number, is_root)
    s = ending_state(t, 0)
    if not (open_pairs(t, s) if is_root and t.is_laid_out else open_object(t, s)):
        return False
    node = node_at(t, number)
    some = False
    for w in range(node.shape_words):
        t.arena[s.frame + LIVE + w] &= bit(shape & 63) if w == shape >> 6 else 0
        if t.arena[s.frame + LIVE + w] != 0:
            some = True
    if not some:
        return False
    may_follow = open_names(t, s.frame)
    if is_root and t.is_laid_out:
        return begin_pair(t, s, may_follow or node.classes != 0)
    return True


@cython.cfunc
def begin_array(t: MatcherState, number: index, i: i64):
    """Begin an array of one alternative."""
    begin_inside(t, number, False)
    s = ending_state(t, 0)
    open_array(t, s)
    t.arena[s.frame + LIVE] &= bit(i)
    next_element(t, s)
