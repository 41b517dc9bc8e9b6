"""Undeclared property names and distinct strings (`uniqueItems`) that may not be written again.

They lie in the arena as a linked list, the last one first; a frame refers to its last one. Where a
class of names can run out (`^[a-c]$` has three), each written name notes how many of its first
characters begin no other name of the class (`exhausted_prefix`), so that a prefix without a name
left is illegal from its first character on.
"""

from __future__ import annotations

import cython

from enforcer.kernel.automata import ended_at, leads_on, next_state, range_end, state_behind
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    frame_size,
    node_at,
    node_of,
    past_state,
    reserve,
    resize_past,
)


@cython.cfunc
def ending_classes(t: MatcherState, frame: i64) -> i64:
    """Return the number of classes (or languages) of a frame; 0 if none can run out of texts."""
    node = node_of(t, frame)
    if t.arena[frame + KIND] == OBJECT_FRAME:
        return node.classes if node.names_end != 0 else 0
    if t.arena[frame + KIND] != UNIQUE_STRINGS or node.distinct == NEVER_ENDING:
        return 0
    return node_at(t, t.tables.item_slots[node.slot0].node).string_languages


@cython.cfunc
def keeps_characters(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Return whether a state is in a name or string that may not be written again.

    A key's characters are kept as written, with the character that ends it.
    """
    if s.phase != IN_STRING or s.frame < 0:
        return s.phase == IN_NAME or s.phase == IN_KEY or s.phase == IN_ARGUMENT
    return t.arena[s.frame + KIND] == UNIQUE_STRINGS


@cython.cfunc
def length_of(t: MatcherState, name: i64) -> i64:
    """Return how many characters a written name has."""
    return t.arena[name] >> LENGTH_AT & LENGTHS


@cython.cfunc
def character_of(t: MatcherState, name: i64, classes: i64, i: i64) -> i64:
    """Return a character of a written name."""
    word = t.arena[name + marks_of(classes) + i // CHARACTERS]
    return word >> (i % CHARACTERS * CHARACTER_BITS) & CHARACTER


@cython.cfunc
def in_common(t: MatcherState, name: i64, classes: i64, first: i64, count: i64) -> i64:
    """Return the length of the common prefix of a written name and characters in the arena."""
    count = min(count, length_of(t, name))
    same = cython.cast(cython.longlong, 0)
    while same < count and t.arena[first + same] == character_of(t, name, classes, same):
        same += 1
    t.work += 1 + (same >> 3)
    return same


@cython.cfunc
def is_written(t: MatcherState, frame: i64, first: i64, count: i64) -> cython.bint:
    """Return whether a frame has the name or string whose characters are in the arena."""
    classes = ending_classes(t, frame)
    written = t.arena[frame + WRITTEN]
    while written != 0:
        name = written - 1
        t.work += 1
        if length_of(t, name) == count and in_common(t, name, classes, first, count) == count:
            return True
        written = t.arena[name] & LOW_HALF
    return False


@cython.cfunc
def write_name(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Append the name that a text has just written to the arena; return where it is."""
    name = s.top
    first = s.top - s.count
    before = t.arena[s.frame + WRITTEN]
    classes = ending_classes(t, s.frame)
    words = (s.count + CHARACTERS - 1) // CHARACTERS
    chars = name + marks_of(classes)
    states = chars + words
    reserve(t, states + s.count + 1)
    t.arena[name] = before | s.count << LENGTH_AT
    for w in range(words):
        word = cython.cast(cython.longlong, 0)
        for i in range(w * CHARACTERS, min(s.count, (w + 1) * CHARACTERS)):
            word |= t.arena[first + i] << (i % CHARACTERS * CHARACTER_BITS)
        t.arena[chars + w] = word
    least = s.count + 1
    if classes != 0:
        note_states(t, s, first, states)
    for k in range(classes):
        t.arena[name + 1 + k] = exhausted_prefix(t, s, k, states)
        least = min(least, t.arena[name + 1 + k])
    if classes != 0:
        t.arena[name + 1 + classes] = marked_before(t, before, classes)
    if least <= s.count or (before != 0 and t.arena[before - 1] & IS_ENDED):
        t.arena[name] |= IS_ENDED
    affects_earlier = t.tables.key_affects_earlier if s.phase == IN_KEY else t.tree.affects_earlier
    if (before != 0 and t.arena[before - 1] & AFFECTS_EARLIER) or affects_earlier_tokens(
        t, affects_earlier, first, s.count, least
    ):
        t.arena[name] |= AFFECTS_EARLIER
    s.top = chars + words
    return name


@cython.cfunc
def note_states(t: MatcherState, s: cython.pointer[State], first: i64, states: i64):
    """Write the automaton's states along a text to the arena, from `states` on."""
    a = automaton_at(t, automaton_in(t, s.frame))
    state = cython.cast(cython.longlong, 0)
    t.arena[states] = state
    for i in range(s.count):
        state = max(state_behind(t, a, state, t.arena[first + i]), 0)
        t.arena[states + 1 + i] = state
    t.work += s.count


@cython.cfunc
def exhausted_prefix(t: MatcherState, s: cython.pointer[State], k: i64, states: i64) -> i64:
    """Return the length of a name's shortest prefix that no unwritten name of class `k` has.

    One more than the name's length if there is none. A prefix is exhausted if it is no unwritten
    name, and each character that may follow leads to an exhausted one; all but one are known.
    """
    a = automaton_at(t, automaton_in(t, s.frame))
    first = s.top - s.count
    found = s.count + 1
    if ended_at(t, a, s.automaton_state, bit(k), s.count) == 0:
        return found
    for n in range(s.count, -1, -1):
        state = t.arena[states + n]
        is_word: cython.bint = ended_at(t, a, state, bit(k), n) != 0
        if n < s.count and is_word and not is_written(t, s.frame, first, n):
            return found
        ended = count_exhausted(t, s.frame, k, first, n) + (1 if n < s.count else 0)
        for i in range(a.range0, a.range0 + a.ranges):
            to = next_state(t, a, state, i)
            if leads_on(t, a, to, bit(k), n + 1):
                ended -= range_end(t, a, i) - t.tables.range_low[i] + 1
        t.work += a.ranges
        if ended < 0:
            return found
        found = n
    return found


@cython.cfunc
def automaton_in(t: MatcherState, frame: i64) -> index:
    """Return the number of the automaton of a frame's undeclared names or distinct strings."""
    node = node_of(t, frame)
    if t.arena[frame + KIND] == OBJECT_FRAME:
        return node.class_automaton
    return node_at(t, t.tables.item_slots[node.slot0].node).string_automaton


@cython.cfunc
def count_exhausted(t: MatcherState, frame: i64, k: i64, first: i64, n: i64) -> i64:
    """Count the characters after a prefix that are known to begin no name of a class."""
    classes = ending_classes(t, frame)
    found = cython.cast(cython.longlong, 0)
    written = marked_before(t, t.arena[frame + WRITTEN], classes)
    while written != 0:
        name = written - 1
        is_used_up: cython.bint = t.arena[name + 1 + k] == n + 1 <= length_of(t, name)
        if is_used_up and in_common(t, name, classes, first, n) == n:
            found += 1
        written = t.arena[name + 1 + classes]
    return found


@cython.cfunc
def affects_earlier_tokens(
    t: MatcherState, affects_earlier, first: i64, count: i64, exhausted: i64
) -> cython.bint:
    """Return whether tokens that begin before a name depend on it."""
    known = min(count, t.tree.longest + 1)
    text = "".join([chr(t.arena[first + i]) for i in range(known)])
    return affects_earlier(text, -1 if exhausted > count else exhausted)


@cython.cfunc
def classes_left(t: MatcherState, frame: i64, first: i64, count: i64, classes: i64) -> i64:
    """Return the classes, of the given ones, with an unwritten name that has a prefix."""
    written = t.arena[frame + WRITTEN]
    noted = ending_classes(t, frame)
    if noted == 0 or written == 0 or t.arena[written - 1] & IS_ENDED == 0:
        return classes
    written = marked_before(t, written, noted)
    while written != 0 and classes != 0:
        name = written - 1
        same = in_common(t, name, noted, first, count)
        for k in range(noted):
            if same >= t.arena[name + 1 + k]:
                classes &= ~bit(k)
        written = t.arena[name + 1 + noted]
    return classes


@cython.cfunc
def leads_to_name(
    t: MatcherState,
    s: cython.pointer[State],
    a: cython.pointer[Automaton],
    i: index,
    low: i64,
    high: i64,
) -> cython.bint:
    """Return whether a character of two ranges leads to a name that is not written yet."""
    if not (t.is_exact and keeps_characters(t, s)):
        return True
    classes = ending_classes(t, s.frame)
    last = t.arena[s.frame + WRITTEN]
    if last == 0 or classes == 0 or t.arena[last - 1] & IS_ENDED == 0:
        return True
    low = max(low, cython.cast(cython.longlong, t.tables.range_low[i]))
    high = min(high, range_end(t, a, i))
    to = next_state(t, a, s.automaton_state, i)
    leads = t.tables.leads[a.states + to] & s.languages
    for k in range(classes):
        if leads >> k & 1 and characters_left(t, s, classes, k, low, high) > 0:
            return True
    return False


@cython.cfunc
def characters_left(
    t: MatcherState, s: cython.pointer[State], classes: i64, k: i64, low: i64, high: i64
) -> i64:
    """Count the characters of a range that lead to an unwritten name of a class.

    A written name whose exhausted prefix ends one character further excludes that one only.
    """
    found = high - low + 1
    first = s.top - s.count
    written = marked_before(t, t.arena[s.frame + WRITTEN], classes)
    while written != 0 and found > 0:
        name = written - 1
        mark = t.arena[name + 1 + k]
        same = in_common(t, name, classes, first, s.count)
        if same >= mark:
            return 0
        if same == s.count and mark == s.count + 1 <= length_of(t, name):
            if low <= character_of(t, name, classes, s.count) <= high:
                found -= 1
        written = t.arena[name + 1 + classes]
    return max(found, cython.cast(cython.longlong, 0))


@cython.cfunc
def marked_before(t: MatcherState, written: i64, classes: i64) -> i64:
    """Return the last name with an exhausted prefix up to a written one; 0 for none."""
    if written == 0 or classes == 0:
        return 0
    name = written - 1
    for k in range(classes):
        if t.arena[name + 1 + k] <= length_of(t, name):
            return written
    return t.arena[name + 1 + classes]


@cython.cfunc
def row_depends_on_names(t: MatcherState, frame: i64) -> cython.bint:
    """Return whether a row depends on the names that a frame has."""
    written = t.arena[frame + WRITTEN]
    if written == 0:
        return False
    return t.arena[written - 1] & AFFECTS_EARLIER != 0


@cython.cfunc
@cython.exceptval(-9, check=False)
def held(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return how many characters of the text being written are at the end of the arena."""
    if s.phase == IN_BARE:
        return s.count
    return s.count if keeps_characters(t, s) and s.automaton_state >= 0 else 0


@cython.cfunc
def let_go(t: MatcherState, count: i64):
    """Forget what only a rollback of more than `count` token ids needs; see `keep`."""
    gone = t.at - count
    if gone > 0:
        for i in range(count + 1):
            t.past[i] = t.past[gone + i]
        t.at = count
        if t.past.shape[0] > 4 * (count + FIRST_STATES):
            resize_past(t, count + FIRST_STATES)
    # Moved anew at each id, the frames of a deep text would take longer than anything else.
    most = max(FIRST_WORDS, t.collected + (t.collected >> 2))
    if past_state(t, t.at).top > most:
        collect(t)


@cython.cfunc
def collect(t: MatcherState):
    """Compact the arena: move the frames and names that some state refers to to its front."""
    sizes = {}
    frames = set()
    for i in range(t.at + 1):
        s = past_state(t, i)
        frame = s.frame
        while frame >= 0 and frame not in frames:
            frames.add(frame)
            sizes[frame] = frame_size(t, frame)
            add_names(t, frame, sizes)
            frame = t.arena[frame + PARENT]
        count = held(t, s)
        if count != 0:
            sizes[s.top - count] = max(sizes.get(s.top - count, 0), count)
    moved = {-1: -1}
    top = 0
    for old in sorted(sizes):  # all that one refers to lies before it
        at = cython.cast(cython.longlong, old)
        size = cython.cast(cython.longlong, sizes[old])
        for i in range(size):
            t.arena[top + i] = t.arena[at + i]
        if old in frames:
            t.arena[top + PARENT] = moved[t.arena[top + PARENT]]
            t.arena[top + WRITTEN] = 1 + moved[t.arena[top + WRITTEN] - 1]
        moved[old] = top
        top += size
    relink(t, frames, moved)
    for i in range(t.at + 1):
        s = past_state(t, i)
        s.frame = moved[s.frame]
        count = held(t, s)
        if count != 0:
            s.top = moved[s.top - count] + count
        else:
            s.top = top
    t.collected = top
    room = 2 * max(top, FIRST_WORDS)
    if t.arena.shape[0] > 2 * room:
        narrower = new_words(room)
        narrower[:] = t.arena[:room]
        t.arena = narrower


@cython.cfunc
def add_names(t: MatcherState, frame: i64, sizes: dict):
    """Add the names of a frame, with their sizes in words."""
    classes = ending_classes(t, frame)
    written = t.arena[frame + WRITTEN]
    while written != 0 and written - 1 not in sizes:
        name = written - 1
        length = length_of(t, name)
        sizes[name] = marks_of(classes) + (length + CHARACTERS - 1) // CHARACTERS
        written = t.arena[name] & LOW_HALF


@cython.cfunc
def marks_of(classes: i64) -> i64:
    """Return the words of a written name before its characters.

    The first word has its length and the name before it. If classes can run out of names, a mark
    for each class follows, then the last name before it with a mark.
    """
    return classes + 2 if classes != 0 else 1


@cython.cfunc
def relink(t: MatcherState, frames: set, moved: dict):
    """Update the links between names that were moved."""
    done = set()
    for old in frames:
        frame = cython.cast(cython.longlong, moved[old])
        classes = ending_classes(t, frame)
        written = t.arena[frame + WRITTEN]
        while written != 0 and written not in done:
            done.add(written)
            before = t.arena[written - 1] & LOW_HALF
            now = 1 + cython.cast(cython.longlong, moved[before - 1])
            t.arena[written - 1] += now - before
            if classes != 0:
                marked = t.arena[written + classes] - 1
                t.arena[written + classes] = 1 + cython.cast(cython.longlong, moved[marked])
            written = now
