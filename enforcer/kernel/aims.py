"""Aims of a text's shortest end: a shape, a name, a value, a character.

Each answer depends on the present state alone, never on its history. So the end that is found
behind the first byte of an end is the rest of it (`ends`). `Costs` has what is learned of a grammar
once for all texts. No answer has to be the best one: the machine follows what is chosen, and an end
that it takes is valid.
"""

from __future__ import annotations

import cython

from enforcer.kernel.arrays import item_slot_of, may_go_on, need_of, tally_behind
from enforcer.kernel.automata import ended_at, leads_on
from enforcer.kernel.objects import full_at, shapes_with_room
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    counted_at,
    hits_at,
    name_words,
    names_at,
    node_at,
    node_of,
)
from enforcer.kernel.strings import may_escape, symbol_of
from enforcer.kernel.values import complete_values

# Ways to write a value of a node.
TEXT_KIND = cython.declare(cython.int, 0)
BARE_KIND = cython.declare(cython.int, 1)
OBJECT_KIND = cython.declare(cython.int, 2)
ARRAY_KIND = cython.declare(cython.int, 3)
VALUE_KINDS = cython.declare(cython.int, 4)

NO_WAY = cython.declare(cython.int, 1 << 28)  # a cost or distance: there is no end, or none known
NO_END = cython.declare(cython.int, -1)
NO_NAME = cython.declare(cython.int, -1)  # an undeclared name is aimed at

_A_NAME = cython.declare(cython.int, 4)  # what a property costs beside its value
_FRAMES_LOOKED = 8  # around a value; a text may be as deep as it likes
_SHAPES_WEIGHED = cython.declare(cython.int, 64)  # of an object; others are no aim


@cython.final
@cython.cclass
class Costs:
    """What is learned of a grammar; see `ends.learn`.

    Attributes:
        distances: characters from a state of an automaton to the nearest end of a language,
            whatever its lengths; for each automaton those of all states for language 0, then 1.
        distance0: where those of each automaton begin.
        letters: characters that stand for the classes of each automaton, readable ones first.
        letter_classes: the class of each.
        letter0: where those of each automaton begin; then where the last ones end.
        trie_distances: characters from a node of a trie to the nearest listed text or name.
        values: bytes of the shortest instance of each value of each node, for each `VALUE_KINDS`.
        value0: where those of each node begin.
        growth: by how many token ids one byte more can lengthen the end at most; `NO_END` where no
            end is known of some value.
        farthest: the greatest distance of each automaton.
        farthest_listed: the greatest distance in a trie.

    """

    distances: cython.int[::1]
    distance0: cython.longlong[::1]
    letters: cython.int[::1]
    letter_classes: cython.int[::1]
    letter0: cython.longlong[::1]
    trie_distances: cython.int[::1]
    values: cython.int[::1]
    value0: cython.longlong[::1]
    growth: i64
    farthest: cython.int[::1]
    farthest_listed: i64

    def __cinit__(self):
        self.growth = 0
        self.farthest_listed = 0


@cython.cfunc
def costs_of(t: MatcherState) -> Costs:
    """Return what was learned of a text's grammar."""
    return cython.cast(Costs, t.ending.costs)


@cython.cfunc
@cython.exceptval(-9, check=False)
def value_cost(t: MatcherState, number: index, values: i64) -> i64:
    """Return the bytes of the shortest instance of some values of a node."""
    costs = costs_of(t)
    found = cython.cast(cython.longlong, NO_WAY)
    at = costs.value0[number]
    for v in range(node_at(t, number).values):
        if values >> v & 1:
            for kind in range(VALUE_KINDS):
                found = min(found, costs.values[at + v * VALUE_KINDS + kind])
    return found


@cython.cfunc
@cython.exceptval(-9, check=False)
def kind_wanted(t: MatcherState, number: index, values: i64) -> i64:
    """Return in which kind some values of a node are shortest; -1 if none has an instance."""
    costs = costs_of(t)
    best = cython.cast(cython.longlong, NO_WAY)
    found = cython.cast(cython.longlong, -1)
    at = costs.value0[number]
    for v in range(node_at(t, number).values):
        if values >> v & 1:
            for kind in range(VALUE_KINDS):
                if costs.values[at + v * VALUE_KINDS + kind] < best:
                    best = costs.values[at + v * VALUE_KINDS + kind]
                    found = kind
    return found


# What an open object or array is to become.


@cython.cfunc
def values_aimed_at(t: MatcherState, frame: i64) -> i64:
    """Return the values, as bits, of which an open object or array is to become one."""
    node = node_of(t, frame)
    if node.values == 1:
        return 1
    reached = cython.cast(cython.longlong, 0)
    if t.arena[frame + KIND] != OBJECT_FRAME:
        for i in range(node.arrays):
            if t.arena[frame + LIVE] >> i & 1:
                reached |= bit(t.tables.arrays[node.array0 + i].value)
    else:
        for v in range(node.values):
            for w in range(node.shape_words):
                shapes = t.tables.bits[node.shapes_of + v * node.shape_words + w]
                if t.arena[frame + LIVE + w] & shapes != 0:
                    reached |= bit(v)
    wanted = values_wanted(t, t.arena[frame + PARENT]) & reached
    return wanted if wanted != 0 else reached


@cython.cfunc
def is_closable(t: MatcherState, frame: i64) -> cython.bint:
    """Return whether an object or array may end here as what it is to become."""
    return complete_values(t, frame) & values_aimed_at(t, frame) != 0


@cython.cfunc
def values_wanted(t: MatcherState, frame: i64) -> i64:
    """Return the values, as bits, that are wanted of the part which is written in a frame.

    What is wanted depends on what the frame is to become, and so on those around it: on a few.
    """
    e = t.ending
    if frame < 0 or e.looked == _FRAMES_LOOKED or t.arena[frame + LEVEL] < e.level:
        return -1
    e.looked += 1
    found = values_wanted_in(t, frame)
    e.looked -= 1
    return found


@cython.cfunc
def values_wanted_in(t: MatcherState, frame: i64) -> i64:
    """Return what `values_wanted` does, for a frame that is looked at."""
    node = node_of(t, frame)
    if t.arena[frame + KIND] != OBJECT_FRAME:
        return elements_wanted(t, frame, node)
    n = t.arena[frame + CURRENT]
    if node.shapes == 1 and node.marks == 0:
        return -1
    shape = shape_aimed_at(t, frame)
    found = cython.cast(cython.longlong, 0)
    w = shape >> 6
    if n >= 0:
        fits = t.tables.names[node.name0 + n].fits
        for v in range(t.tables.names[node.name0 + n].values):
            if t.tables.bits[fits + v * node.shape_words + w] >> (shape & 63) & 1:
                found |= bit(v)
    else:
        for k in range(node.classes):
            if t.arena[frame + CLASSES] >> k & 1:
                fits = t.tables.classes[node.class0 + k]
                for v in range(node.class_values):
                    if t.tables.bits[fits + v * node.shape_words + w] >> (shape & 63) & 1:
                        found |= bit(v)
    mark = mark_wanted(t, frame, shape)
    if mark >= 0 and t.tables.marks[mark].name == n:
        if n >= 0 or t.arena[frame + CLASSES] >> t.tables.marks[mark].class_ & 1:
            hit = bit(t.tables.marks[mark].value) & found
            found = hit if hit != 0 else found
    return found if found != 0 else -1


@cython.cfunc
@cython.exceptval(-9, check=False)
def shape_aimed_at(t: MatcherState, frame: i64) -> i64:
    """Return the number of the live shape that lacks least."""
    node = node_of(t, frame)
    if node.shapes == 1:
        return 0
    aims = values_aimed_at(t, frame)
    best = cython.cast(cython.longlong, LAST_62)
    found = cython.cast(cython.longlong, 0)
    weighed = 0
    for shape in range(node.shapes):
        w = shape >> 6
        if t.arena[frame + LIVE + w] >> (shape & 63) & 1 == 0 or weighed == _SHAPES_WEIGHED:
            continue
        is_aim = False
        for v in range(node.values):
            shapes = t.tables.bits[node.shapes_of + v * node.shape_words + w]
            if aims >> v & shapes >> (shape & 63) & 1:
                is_aim = True
        if is_aim:
            weighed += 1
            cost = cost_of_shape(t, frame, shape)
            if cost < best:
                best = cost
                found = shape
    return found


@cython.cfunc
@cython.exceptval(-9, check=False)
def cost_of_shape(t: MatcherState, frame: i64, shape: i64) -> i64:
    """Weigh what an object lacks to be of a shape."""
    node = node_of(t, frame)
    found = cython.cast(cython.longlong, 0)
    n = next_missing(t, frame, shape, 0, node.names)
    while n >= 0:
        name = node.name0 + n
        values = values_of_name(t, node, n, shape)
        found += _A_NAME + value_cost(t, t.tables.names[name].node, values)
        n = next_missing(t, frame, shape, n + 1, node.names)
    if node.limits != 0:
        least = t.tables.limits[node.limit0 + shape].minimum - t.arena[counted_at(t, frame)]
        found += _A_NAME * max(least, cython.cast(cython.longlong, 0))
    if mark_wanted(t, frame, shape) >= 0:
        found += _A_NAME
    return found


@cython.cfunc
def values_of_name(t: MatcherState, node: cython.pointer[Node], n: i64, shape: i64) -> i64:
    """Return the values, as bits, that a shape allows of a declared name."""
    name = node.name0 + n
    found = cython.cast(cython.longlong, 0)
    for v in range(t.tables.names[name].values):
        fits = t.tables.names[name].fits + v * node.shape_words + (shape >> 6)
        if t.tables.bits[fits] >> (shape & 63) & 1:
            found |= bit(v)
    return found


@cython.cfunc
@cython.exceptval(-9, check=False)
def next_missing(t: MatcherState, frame: i64, shape: i64, first: i64, end: i64) -> i64:
    """Return the first of a range of names that a shape requires and an object lacks; or -1."""
    node = node_of(t, frame)
    seen = names_at(t, frame)
    n = first
    while n < end:
        missing = t.tables.bits[node.required_names + (n >> 6)] & ~t.arena[seen + (n >> 6)]
        if missing >> (n & 63) == 0:
            n = (n | 63) + 1
            continue
        if missing >> (n & 63) & 1:
            required = t.tables.names[node.name0 + n].required + (shape >> 6)
            if t.tables.bits[required] >> (shape & 63) & 1:
                return n
        n += 1
    return -1


@cython.cfunc
@cython.exceptval(-9, check=False)
def mark_wanted(t: MatcherState, frame: i64, shape: i64) -> i64:
    """Return a mark that counts for a witness which a shape requires and lacks; -1 if none is."""
    node = node_of(t, frame)
    w = shape >> 6
    for i in range(node.witnesses):
        at = i * node.shape_words + w
        missing = t.tables.bits[node.witnessed + at] & ~t.arena[hits_at(t, frame) + at]
        if missing >> (shape & 63) & 1 == 0:
            continue
        for mark in range(node.mark0, node.mark0 + node.marks):
            if t.tables.bits[t.tables.marks[mark].hits + at] >> (shape & 63) & 1:
                n = t.tables.marks[mark].name
                if n < 0 or t.arena[names_at(t, frame) + (n >> 6)] >> (n & 63) & 1 == 0:
                    return mark
    return -1


@cython.cfunc
def elements_wanted(t: MatcherState, frame: i64, node: cython.pointer[Node]) -> i64:
    """Return the values, as bits, that are wanted of an array's next element."""
    if node.arrays == 1 and node.tallies == 0:
        return -1
    aims = values_aimed_at(t, frame)
    i = cython.cast(cython.longlong, -1)
    best = cython.cast(cython.longlong, LAST_62)
    for k in range(node.arrays):
        if may_go_on(t, frame, node, k) and aims >> t.tables.arrays[node.array0 + k].value & 1:
            lack = elements_lacking(t, frame, node.array0 + k)
            if lack < best:
                best = lack
                i = k
    if i < 0:
        return -1
    place = item_slot_of(t, frame, node)
    array = node.array0 + i
    found = cython.cast(cython.longlong, 0)
    counting = cython.cast(cython.longlong, 0)
    for v in range(t.tables.item_slots[place].values):
        if t.tables.bits[t.tables.item_slots[place].fits + v] >> i & 1 == 0:
            continue
        hits = cython.cast(cython.longlong, 0)
        if t.tables.arrays[array].tally >= 0:  # else the slot has none
            hits = t.tables.bits[t.tables.item_slots[place].hits + v * node.arrays + i]
        tally = tally_behind(t, frame, array, hits)
        if tally < 0:
            continue
        found |= bit(v)
        if t.tables.arrays[array].counts != 0:
            need = need_of(t, array, t.arena[frame + CURRENT] + 1, tally)
            before = t.arena[frame + LIVE + 1 + t.tables.arrays[array].tally]
            now = need_of(t, array, t.arena[frame + CURRENT], before)
            if t.tables.needs[need].least < t.tables.needs[now].least:
                counting |= bit(v)
    if counting != 0:
        return counting
    return found if found != 0 else -1


@cython.cfunc
@cython.exceptval(-9, check=False)
def elements_lacking(t: MatcherState, frame: i64, array: index) -> i64:
    """Return how many elements an array lacks."""
    found = t.tables.arrays[array].minimum - t.arena[frame + CURRENT]
    number = t.tables.arrays[array].tally
    if number >= 0 and t.tables.arrays[array].counts != 0:
        tally = t.arena[frame + LIVE + 1 + number]
        need = need_of(t, array, t.arena[frame + CURRENT], tally)
        found = max(found, cython.cast(cython.longlong, t.tables.needs[need].least))
    return max(found, cython.cast(cython.longlong, 0))


# What a text is to become.


@cython.cfunc
def languages_wanted(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the languages, as bits, of which a string, number, word or raw text is to be one."""
    if s.phase == BETWEEN:
        return 2 if s.languages & 2 and is_closable(t, s.frame) else 1
    if s.phase == BEHIND_KEY or s.phase == BEHIND_NESTED:
        return 1
    node = node_at(t, s.node)
    wanted = values_wanted(t, s.frame) & s.values
    if s.phase == IN_RAW or wanted == 0 or node.values == 1:
        return s.languages
    found = cython.cast(cython.longlong, 0)
    is_bare: cython.bint = s.phase == IN_BARE
    first = node.bare_of if is_bare else node.strings_of
    for k in range(node.bare_languages if is_bare else node.string_languages):
        if t.tables.bits[first + k] & wanted:
            found |= bit(k)
    found &= s.languages
    return found if found != 0 else s.languages


@cython.cfunc
@cython.exceptval(-9, check=False)
def distance(
    t: MatcherState,
    s: cython.pointer[State],
    number: index,
    state: i64,
    languages: i64,
    count: i64,
) -> i64:
    """Return how many characters are missing to the nearest end of some languages.

    Args:
        s: the state of the text, whose kind of value some languages begin.
        number: of the automaton.
        state: of the automaton.
        languages: as bits.
        count: characters so far.

    """
    costs = costs_of(t)
    a = automaton_at(t, number)
    found = cython.cast(cython.longlong, NO_WAY)
    languages &= t.tables.leads[a.states + state]
    states = t.tables.states_of(number)
    k = 0
    while languages != 0:
        if languages & 1:
            rest = cython.cast(
                cython.longlong, costs.distances[costs.distance0[number] + k * states + state]
            )
            if k < a.bounds:
                rest = max(rest, rest_within(t, a.bound0 + k, state, count, rest))
            if s.phase == IN_VALUE and k >= node_at(t, s.node).scalars:
                node = node_at(t, s.node)
                if node.json_node >= 0:
                    rest += value_cost(
                        t, node.json_node, t.tables.bits[node.strings_of + k] & s.values
                    )
            found = min(found, rest)
        languages = languages >> 1 & LAST_63
        k += 1
    return found


@cython.cfunc
@cython.exceptval(-9, check=False)
def rest_within(t: MatcherState, number: index, state: i64, count: i64, nearest: i64) -> i64:
    """Return the length of the shortest completion of a legal length; `NO_WAY` if none is."""
    bound = t.tables.bounds[number]
    if 0 <= bound.maximum < count + nearest:
        return NO_WAY
    least = cython.cast(cython.longlong, bound.minimum) - count
    if least <= nearest:
        return nearest
    if bound.rest0 < 0:
        return least
    rest = t.tables.rests[bound.rest0 + state]
    for length in range(least, MOST_RESTS):
        if rest >> length & 1:
            return length
    return max(least, MOST_RESTS) if rest >> MOST_RESTS & 1 else NO_WAY


@cython.cfunc
@cython.exceptval(-9, check=False)
def character_wanted(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the character that brings a text nearest to its end; -1 if there is none."""
    if s.phase == IN_NAME or s.phase == IN_KEY or s.phase == IN_ARGUMENT:
        n = name_wanted(t, s)
        if n >= 0:
            return toward_name(t, s.trie_node, n)
        return nearest_character(t, s, s.automaton_state, -1, classes_wanted(t, s), s.count)
    languages = languages_wanted(t, s)
    return nearest_character(t, s, s.automaton_state, s.trie_node, languages, s.count)


@cython.cfunc
@cython.exceptval(-9, check=False)
def nearest_character(
    t: MatcherState,
    s: cython.pointer[State],
    state: i64,
    trie_node: i64,
    languages: i64,
    count: i64,
) -> i64:
    """Return the character that leads nearest to an end; -1 if there is none.

    Args:
        s: the state of the text.
        state: of its automaton; -1 if no word of it is left.
        trie_node: in the trie of listed strings; -1 if none is left.
        languages: to reach, as bits.
        count: characters so far.

    """
    costs = costs_of(t)
    best = cython.cast(cython.longlong, NO_WAY)
    found = cython.cast(cython.longlong, -1)
    if state >= 0:
        number = automaton_of(t, s)
        a = automaton_at(t, number)
        for i in range(costs.letter0[number], costs.letter0[number + 1]):
            class_ = costs.letter_classes[i]
            to = cython.cast(
                cython.longlong, t.tables.transitions[a.transitions + state * a.classes + class_]
            )
            if not fits_pending(t, s, costs.letters[i]):
                continue
            if leads_on(t, a, to, languages, count + 1):
                rest = distance(t, s, number, to, languages, count + 1)
                if rest < best:
                    best = rest
                    found = costs.letters[i]
    if trie_node >= 0:
        for i in range(t.tables.trie_edges[trie_node], t.tables.trie_edges[trie_node + 1]):
            to_node = t.tables.edge_to[i]
            if not fits_pending(t, s, t.tables.edge_character[i]):
                continue
            if t.tables.trie_low[to_node] & languages and costs.trie_distances[to_node] < best:
                best = costs.trie_distances[to_node]
                found = t.tables.edge_character[i]
    return found


@cython.cfunc
def fits_pending(t: MatcherState, s: cython.pointer[State], character: i64) -> cython.bint:
    """Return whether what has been written of a character may become this one."""
    kind = s.pending & 15
    if kind == 0:
        return True
    if symbol_of(t, s, character) < 0:
        return False
    return UTF_8_OF_2 <= kind <= UTF_8_OF_4 or may_escape(t, s, character)


@cython.cfunc
@cython.exceptval(-9, check=False)
def toward_name(t: MatcherState, trie_node: i64, n: i64) -> i64:
    """Return the character behind a node of a trie of names that leads to a name; or -1."""
    for i in range(t.tables.trie_edges[trie_node], t.tables.trie_edges[trie_node + 1]):
        to = t.tables.edge_to[i]
        if t.tables.trie_low[to] <= n < t.tables.trie_high[to]:
            return t.tables.edge_character[i]
    return -1


@cython.cfunc
@cython.exceptval(-9, check=False)
def name_wanted(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the number of the declared name that is aimed at; `NO_NAME` for an undeclared one."""
    if s.trie_node < 0:
        return NO_NAME
    node = node_of(t, s.frame)
    low = t.tables.trie_low[s.trie_node]
    high = t.tables.trie_high[s.trie_node]
    shape = shape_aimed_at(t, s.frame)
    possible = names_at(t, s.frame) + name_words(t, s.frame)
    n = next_missing(t, s.frame, shape, low, high)
    while n >= 0:
        if t.arena[possible + (n >> 6)] >> (n & 63) & 1:
            return n
        n = next_missing(t, s.frame, shape, n + 1, high)
    mark = mark_wanted(t, s.frame, shape)
    if mark >= 0:
        n = t.tables.marks[mark].name
        if low <= n < high and t.arena[possible + (n >> 6)] >> (n & 63) & 1:
            return n
        if n < 0 and s.automaton_state >= 0:
            return NO_NAME
    return cheapest_name(t, s, node, shape)


@cython.cfunc
@cython.exceptval(-9, check=False)
def cheapest_name(
    t: MatcherState, s: cython.pointer[State], node: cython.pointer[Node], shape: i64
) -> i64:
    """Return the declared name whose value is shortest; `NO_NAME` where an undeclared one is."""
    found = cython.cast(cython.longlong, NO_NAME)
    best = cython.cast(cython.longlong, NO_WAY)
    if s.automaton_state >= 0:
        best = value_cost(t, node.class_node, -1)
    full = full_at(t, s.frame)
    possible = names_at(t, s.frame) + name_words(t, s.frame)
    for n in range(t.tables.trie_low[s.trie_node], t.tables.trie_high[s.trie_node]):
        if t.arena[possible + (n >> 6)] >> (n & 63) & 1 == 0:
            continue
        w = shape >> 6
        fits = shapes_with_room(t, s.frame, node.name0 + n, w, full) >> (shape & 63) & 1
        values = values_of_name(t, node, n, shape) if fits else -1
        cost = value_cost(t, t.tables.names[node.name0 + n].node, values)
        if cost < best:
            best = cost
            found = n
    return found


@cython.cfunc
def is_name_whole(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Return whether the name that is aimed at has been written."""
    n = name_wanted(t, s)
    if n >= 0:
        return t.tables.trie_value[s.trie_node] == n
    if s.automaton_state < 0:
        return False
    a = automaton_at(t, automaton_of(t, s))
    return ended_at(t, a, s.automaton_state, classes_wanted(t, s), s.count) != 0


@cython.cfunc
def classes_wanted(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the classes, as bits, of which an undeclared name is to be one."""
    mark = mark_wanted(t, s.frame, shape_aimed_at(t, s.frame))
    if mark < 0 or t.tables.marks[mark].name >= 0:
        return s.languages
    found = bit(t.tables.marks[mark].class_) & s.languages
    if found == 0 or s.automaton_state < 0:
        return s.languages
    a = automaton_at(t, automaton_of(t, s))
    return found if leads_on(t, a, s.automaton_state, found, s.count) else s.languages


if not cython.compiled:
    for _class in (Costs,):
        _class.__init__ = run_cinits
