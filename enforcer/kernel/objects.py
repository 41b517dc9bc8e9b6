"""Objects: which names may come, required and counted properties, witnesses.

A frame has the live *shapes* of its object as bits. A shape is one way to be an object of the node
(an alternative of a union); it stays live as long as every name and value written so far fits it.
"""

from __future__ import annotations

import cython

from enforcer.kernel.automata import ended_at, trie_leads_on
from enforcer.kernel.names import classes_left, is_written, write_name
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    copy_frame,
    counted_at,
    hits_at,
    is_of_call,
    name_words,
    names_at,
    new_frame,
    node_at,
    node_of,
)
from enforcer.kernel.strings import is_quote, take


@cython.cfunc
def open_names(t: MatcherState, frame: i64) -> cython.bint:
    """Write the declared names that may come into a frame; return whether there are any."""
    node = node_of(t, frame)
    seen = names_at(t, frame)
    words = name_words(t, frame)
    full = note_full(t, frame)
    t.work += node.names
    found = False
    for w in range(words):
        word = cython.cast(cython.longlong, 0)
        for n in range(w << 6, min(node.names, (w + 1) << 6)):
            is_seen = t.arena[seen + w] >> (n & 63) & 1
            if not is_seen and may_come(t, frame, node, n, full):
                word |= bit(n & 63)
        t.arena[seen + words + w] = word
        if word != 0:
            found = True
    return found


@cython.cfunc
def note_full(t: MatcherState, frame: i64) -> i64:
    """Write the live shapes with room for required properties only.

    Returns where they are; -1 if properties are not counted.
    """
    node = node_of(t, frame)
    if node.limits == 0:
        return -1
    counted = counted_at(t, frame)
    full = counted + 1
    for w in range(node.shape_words):
        t.arena[full + w] = 0
    if node.room < 0 or t.arena[counted] < node.room:
        return full
    for shape in range(node.limits):
        limit = node.limit0 + shape
        most = t.tables.limits[limit].maximum
        if most < 0 or t.arena[frame + LIVE + (shape >> 6)] >> (shape & 63) & 1 == 0:
            continue
        count = t.arena[counted]
        for i in range(name_words(t, frame)):
            missing = t.tables.bits[t.tables.limits[limit].required + i]
            count += count_bits(missing & ~t.arena[names_at(t, frame) + i])
        t.work += 1 + name_words(t, frame)
        if count >= most:
            t.arena[full + (shape >> 6)] |= bit(shape & 63)
    return full


@cython.cfunc
def may_come(
    t: MatcherState, frame: i64, node: cython.pointer[Node], n: i64, full: i64
) -> cython.bint:
    """Return whether some live shape may have a declared name.

    See `note_full` for `full`.
    """
    name = node.name0 + n
    for w in range(node.shape_words):
        shapes = shapes_with_room(t, frame, name, w, full)
        for v in range(t.tables.names[name].values):
            if shapes & t.tables.bits[t.tables.names[name].fits + v * node.shape_words + w]:
                return True
    t.work += t.tables.names[name].values * node.shape_words
    return False


@cython.cfunc
@cython.exceptval(-9, check=False)
def full_at(t: MatcherState, frame: i64) -> i64:
    """Return where a frame has the shapes of `note_full`; -1 where properties are not counted."""
    return -1 if node_of(t, frame).limits == 0 else counted_at(t, frame) + 1


@cython.cfunc
def open_classes(t: MatcherState, frame: i64) -> i64:
    """Return the classes of undeclared names that may come, as bits."""
    node = node_of(t, frame)
    full = full_at(t, frame)
    found = cython.cast(cython.longlong, 0)
    t.work += node.classes * node.class_values * node.shape_words
    for k in range(node.classes):
        fits = t.tables.classes[node.class0 + k]
        for w in range(node.shape_words):
            shapes = t.arena[frame + LIVE + w]
            if full >= 0:
                shapes &= ~t.arena[full + w]
            for v in range(node.class_values):
                if shapes & t.tables.bits[fits + v * node.shape_words + w] != 0:
                    found |= bit(k)
    return classes_left(t, frame, 0, 0, found)


@cython.cfunc
def open_object(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Advance by the bracket that opens an object."""
    node = node_at(t, s.node)
    if node.shapes == 0:
        return False
    some = False
    frame = new_frame(t, s, s.node, OBJECT_FRAME)
    for w in range(node.shape_words):
        shapes = cython.cast(cython.longlong, 0)
        for v in range(node.values):
            if s.values >> v & 1:
                shapes |= t.tables.bits[node.shapes_of + v * node.shape_words + w]
        t.arena[frame + LIVE + w] = shapes
        if shapes != 0:
            some = True
    s.phase = OBJECT_OPEN
    if some:
        open_names(t, frame)
    return some


@cython.cfunc
def next_name(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Advance by the comma between two properties."""
    frame = copy_frame(t, s)
    s.phase = OBJECT_COMMA
    some = False
    node = node_of(t, frame)
    if node.shapes == 1 and node.limits == 0:
        seen = names_at(t, frame)
        words = name_words(t, frame)
        for w in range(words):
            word = t.arena[seen + words + w] & ~t.arena[seen + w]
            t.arena[seen + words + w] = word
            if word != 0:
                some = True
    else:
        some = open_names(t, frame)
    return some or open_classes(t, frame) != 0


@cython.cfunc
def open_name(t: MatcherState, s: cython.pointer[State], phase: i64) -> cython.bint:
    """Begin a name behind its quote, or a key; return whether there is one."""
    trie_node = node_of(t, s.frame).name_trie
    s.phase = phase
    s.stop = 0
    s.fingerprint = STRING_SEED
    s.languages = open_classes(t, s.frame)
    s.count = 0
    s.pending = 0
    s.automaton_state = 0 if s.languages != 0 else -1
    s.trie_node = -1
    if s.automaton_state >= 0 or trie_leads_on(t, s, trie_node):
        s.trie_node = trie_node
    return s.automaton_state >= 0 or s.trie_node >= 0


@cython.cfunc
def begin_name(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance by the byte that begins a name: a quote, or the first of an argument's."""
    if is_of_call(t, s.frame):
        return open_argument(t, s, byte)
    if not is_quote(t, byte) or not open_name(t, s, IN_NAME):
        return False
    if t.is_python:
        s.stop = byte
    return True


@cython.cfunc
def open_argument(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance by the first byte of an argument's name."""
    if not is_of_word(byte) or not open_name(t, s, IN_ARGUMENT):
        return False
    is_exact = t.is_exact
    t.is_exact = True  # since `clear_written` begins behind it
    is_legal = take(t, s, byte)
    t.is_exact = is_exact
    return is_legal


@cython.cfunc
def close_name(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Advance by the quote that closes a name, or end one that has none."""
    n = t.tables.trie_value[s.trie_node] if s.trie_node >= 0 else -1
    s.phase = NAMED
    s.pending = 0
    if n >= 0:
        return declared_name(t, s, n)
    return s.automaton_state >= 0 and undeclared_name(t, s)


@cython.cfunc
def declared_name(t: MatcherState, s: cython.pointer[State], n: i64) -> cython.bint:
    """Note a declared name, and begin its value; return whether it has one."""
    possible = names_at(t, s.frame) + name_words(t, s.frame)
    if t.arena[possible + (n >> 6)] >> (n & 63) & 1 == 0:
        return False
    frame = copy_frame(t, s)
    node = node_of(t, frame)
    name = node.name0 + n
    full = full_at(t, frame)
    if full >= 0:
        t.arena[full - 1] += 1
    t.arena[names_at(t, frame) + (n >> 6)] |= bit(n & 63)
    t.arena[frame + CURRENT] = n
    t.arena[frame + NAME_FINGERPRINT] = s.fingerprint
    if t.search.is_ordered:
        forbid_earlier(t, frame, n)
    values = cython.cast(cython.longlong, 0)
    t.work += t.tables.names[name].values * node.shape_words
    for w in range(node.shape_words):
        shapes = shapes_with_room(t, frame, name, w, full)
        left = cython.cast(cython.longlong, 0)
        for v in range(t.tables.names[name].values):
            fits = t.tables.names[name].fits + v * node.shape_words
            some = shapes & t.tables.bits[fits + w]
            if some != 0:
                values |= bit(v)
            left |= some
        t.arena[frame + LIVE + w] = left
    s.node = t.tables.names[name].node
    s.values = values
    return values != 0


@cython.cfunc
def forbid_earlier(t: MatcherState, frame: i64, n: i64) -> cython.bint:
    """Forbid the names declared before one, and the shapes that require them."""
    node = node_of(t, frame)
    seen = names_at(t, frame)
    possible = seen + name_words(t, frame)
    t.work += n * node.shape_words
    for k in range(n):
        if t.arena[seen + (k >> 6)] >> (k & 63) & 1:
            continue
        t.arena[possible + (k >> 6)] &= ~bit(k & 63)
        required = t.tables.names[node.name0 + k].required
        for w in range(node.shape_words):
            t.arena[frame + LIVE + w] &= ~t.tables.bits[required + w]
    return True


@cython.cfunc
def shapes_with_room(t: MatcherState, frame: i64, name: index, w: index, full: i64) -> i64:
    """Return a word of the live shapes in which a declared name may come."""
    shapes = t.arena[frame + LIVE + w]
    if full >= 0:
        shapes &= ~t.arena[full + w] | t.tables.bits[t.tables.names[name].required + w]
    return shapes


@cython.cfunc
def undeclared_name(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Note an undeclared name, and begin its value, by the classes that it is in."""
    a = automaton_at(t, node_of(t, s.frame).class_automaton)
    classes = ended_at(t, a, s.automaton_state, s.languages, s.count)
    if classes == 0:
        return False
    written = t.arena[s.frame + WRITTEN]
    if t.is_exact:
        if is_written(t, s.frame, s.top - s.count, s.count):
            return False
        written = 1 + write_name(t, s)
    frame = copy_frame(t, s)
    node = node_of(t, frame)
    t.arena[frame + WRITTEN] = written
    t.arena[frame + CURRENT] = -1
    t.arena[frame + NAME_FINGERPRINT] = s.fingerprint
    t.arena[frame + CLASSES] = classes
    full = full_at(t, frame)
    if full >= 0:
        t.arena[full - 1] += 1
    values = cython.cast(cython.longlong, 0)
    t.work += node.classes * node.class_values * node.shape_words
    for w in range(node.shape_words):
        left = cython.cast(cython.longlong, 0)
        shapes = t.arena[frame + LIVE + w]
        if full >= 0:
            shapes &= ~t.arena[full + w]
        for k in range(node.classes):
            if classes >> k & 1:
                fits = t.tables.classes[node.class0 + k]
                for v in range(node.class_values):
                    some = shapes & t.tables.bits[fits + v * node.shape_words + w]
                    if some != 0:
                        values |= bit(v)
                    left |= some
        t.arena[frame + LIVE + w] = left
    s.node = node.class_node
    s.values = values
    return values != 0


@cython.cfunc
def filter_shapes(t: MatcherState, s: cython.pointer[State], fitted: i64) -> cython.bint:
    """Restrict the live shapes of an object to the shapes that its last property's value fits."""
    frame = copy_frame(t, s)
    node = node_of(t, frame)
    n = t.arena[frame + CURRENT]
    some = False
    alternatives = node.classes * node.class_values
    if n >= 0:
        alternatives = t.tables.names[node.name0 + n].values
    t.work += alternatives * node.shape_words
    for w in range(node.shape_words):
        left = cython.cast(cython.longlong, 0)
        if n >= 0:
            fits = t.tables.names[node.name0 + n].fits
            for v in range(t.tables.names[node.name0 + n].values):
                if fitted >> v & 1:
                    left |= t.tables.bits[fits + v * node.shape_words + w]
        else:
            for k in range(node.classes):
                if t.arena[frame + CLASSES] >> k & 1:
                    fits = t.tables.classes[node.class0 + k]
                    for v in range(node.class_values):
                        if fitted >> v & 1:
                            left |= t.tables.bits[fits + v * node.shape_words + w]
        left &= t.arena[frame + LIVE + w]
        t.arena[frame + LIVE + w] = left
        if left != 0:
            some = True
    if node.marks != 0:
        note_hits(t, frame, fitted)
    return some


@cython.cfunc
def note_hits(t: MatcherState, frame: i64, fitted: i64) -> cython.bint:
    """Note which witnesses the last property is.

    A name that one shape declares is undeclared in another.
    """
    node = node_of(t, frame)
    hits = hits_at(t, frame)
    for i in range(node.mark0, node.mark0 + node.marks):
        if t.tables.marks[i].name != t.arena[frame + CURRENT]:
            continue
        is_hit = fitted >> t.tables.marks[i].value & 1
        if t.tables.marks[i].name < 0:
            is_hit &= t.arena[frame + CLASSES] >> t.tables.marks[i].class_
        if is_hit:
            for w in range(node.witnesses * node.shape_words):
                t.arena[hits + w] |= t.tables.bits[t.tables.marks[i].hits + w]
    t.work += node.marks * node.witnesses * node.shape_words
    return True


@cython.cfunc
def without_missing(
    t: MatcherState, frame: i64, node: cython.pointer[Node], shapes: i64, w: i64
) -> i64:
    """Return the shapes of a word of bits whose required names are all there."""
    seen = names_at(t, frame)
    for i in range((node.names + 63) >> 6):
        missing = t.tables.bits[node.required_names + i] & ~t.arena[seen + i]
        n = i << 6
        while missing != 0 and shapes != 0:
            if missing & 1:
                name = node.name0 + n
                shapes &= ~t.tables.bits[t.tables.names[name].required + w]
            missing = missing >> 1 & LAST_63
            n += 1
            t.work += 1
    return shapes


@cython.cfunc
def without_few(
    t: MatcherState, frame: i64, node: cython.pointer[Node], shapes: i64, w: i64
) -> i64:
    """Return the shapes of a word of bits whose least number of properties is reached."""
    count = t.arena[counted_at(t, frame)]
    if count >= node.least:
        return shapes
    for shape in range(w << 6, min(node.limits, (w + 1) << 6)):
        if t.tables.limits[node.limit0 + shape].minimum > count:
            shapes &= ~bit(shape & 63)
        t.work += 1
    return shapes
