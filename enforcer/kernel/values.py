"""One step of a text by a byte: values begin and end, raw text and pairs, white space.

`step` is the whole pushdown automaton. When a value ends, `close_value` tells its parent which of
the node's values it fits. Layouts of pairs have raw text between delimiters in place of strings.
"""

from __future__ import annotations

import cython

from enforcer.kernel.arrays import filter_arrays, has_all, has_element, next_element, open_array
from enforcer.kernel.automata import ended_at, leads_on, trie_leads_on
from enforcer.kernel.names import classes_left, is_written, keeps_characters, write_name
from enforcer.kernel.objects import (
    begin_name,
    close_name,
    declared_name,
    filter_shapes,
    next_name,
    open_classes,
    open_name,
    open_names,
    open_object,
    undeclared_name,
    without_few,
    without_missing,
)
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    bracket_of,
    hits_at,
    is_of_call,
    is_of_pairs,
    needs_fingerprint,
    node_at,
    node_of,
    reserve,
    state_of_text,
)
from enforcer.kernel.strings import avoids_stops, character_byte, is_quote, plain_byte, take


@cython.cfunc
def step(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance a state by a byte, in place; return whether it is legal."""
    if t.has_stops and (s.phase == IN_STRING or s.phase == IN_NAME):
        if not avoids_stops(t, s, byte):
            return False
    if s.phase == IN_STRING:
        kind = character_byte(t, s, byte)
        return close_string(t, s) if kind == QUOTE else kind
    if s.phase == IN_NAME:
        kind = character_byte(t, s, byte)
        return close_name(t, s) if kind == QUOTE else kind
    if s.phase >= IN_RAW:
        return plain_byte(t, s, byte) and (s.pending != 0 or end_raw(t, s, byte))
    if s.phase == IN_BARE:
        if bare_byte(t, s, byte):
            return True
        if not close_bare(t, s):
            return False
    if s.phase == IN_ARGUMENT:
        if is_of_word(byte):
            return take(t, s, byte)
        if not close_name(t, s):
            return False
    if s.phase == DONE:
        return False
    if byte == 32 or byte == 9 or byte == 10 or byte == 13:
        return white_space(t, s, byte)
    if s.pending == CARRIAGE_RETURN:
        return False
    if s.phase == BEGIN:
        return open_value(t, s, byte)
    if s.phase == NAMED:
        s.phase = BEGIN
        s.pending = 0
        return byte == (61 if is_of_call(t, s.frame) else 58)
    if byte == 125 or byte == 93 or (byte == 41 and t.is_python):
        return close_bracket(t, s, byte)
    if s.phase == OBJECT_OPEN or s.phase == OBJECT_COMMA:
        return begin_name(t, s, byte)
    if s.phase == ARRAY_OPEN:
        return s.values != 0 and open_value(t, s, byte)
    if s.phase == AFTER and byte == 44:
        s.pending = 0
        if t.arena[s.frame + KIND] == OBJECT_FRAME:
            return next_name(t, s)
        s.phase = BEGIN
        return next_element(t, s)
    return False


@cython.cfunc
def close_string(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Advance by the quote that closes a string."""
    node = node_at(t, s.node)
    ended = ended_texts(t, s)
    fitted = cython.cast(cython.longlong, 0)
    for k in range(node.string_languages):
        if ended >> k & 1:
            fitted |= t.tables.bits[node.strings_of + k]
    fitted &= s.values
    if fitted == 0 or not (t.is_exact and keeps_characters(t, s)):
        return close_value(t, s, fitted)
    if is_written(t, s.frame, s.top - s.count, s.count):
        return False
    written = 1 + write_name(t, s)
    if not close_value(t, s, fitted):
        return False
    t.arena[s.frame + WRITTEN] = written
    return True


@cython.cfunc
def close_bare(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """End a number or word before the next byte; return whether it may end."""
    node = node_at(t, s.node)
    ended = t.tables.accepts[state_of_text(t, s)] & s.languages
    if ended == 0:
        return False
    fitted = cython.cast(cython.longlong, 0)
    for k in range(node.bare_languages):
        if ended >> k & 1:
            fitted |= t.tables.bits[node.bare_of + k]
    if t.is_exact and needs_fingerprint(t, s.frame):
        s.fingerprint = bare_fingerprint(t, s)
    return close_value(t, s, fitted & s.values)


@cython.cfunc
def bare_fingerprint(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the fingerprint of a number or word; numbers are equal if they are in Python."""
    first = s.top - s.count
    kind = t.arena[first] | 32
    if 97 <= kind <= 122:  # `true` and `True`, `null` and `None`
        return hash_combine(WORD_SEED, kind)
    whole = cython.cast(cython.longlong, 0)
    for i in range(first + 1 if kind == 45 else first, s.top if s.count <= WHOLE_DIGITS else 0):
        digit = t.arena[i] - 48
        whole = 10 * whole + digit if whole >= 0 and 0 <= digit <= 9 else -1
    if whole >= 0 and s.count <= WHOLE_DIGITS:  # its own hash in Python
        return hash_combine(NUMBER_SEED, (-whole if kind == 45 else whole) & LAST_62)
    text = bytes([t.arena[first + i] for i in range(s.count)])
    number = int(text) if text.lstrip(b"-").isdigit() else float(text)
    if number == -1:  # Python gives -1 and -2 the same hash
        return hash_combine(NUMBER_SEED, LAST_62)
    return hash_combine(NUMBER_SEED, cython.cast(cython.longlong, hash(number)) & LAST_62)


@cython.cfunc
def white_space(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance by white space between tokens: one space, or a line break and its indentation.

    Behind a space that is a token of its own a model may want one that begins with another.
    """
    if t.tables.white_space < (1 if byte == 32 else 2):
        return False
    if s.pending == CARRIAGE_RETURN:
        s.pending = LINE_BREAK
        return byte == 10
    if LINE_BREAK <= s.pending < LINE_BREAK + INDENTATION and (byte == 32 or byte == 9):
        s.pending += 1
        return True
    if byte == 9:
        return False
    if s.pending == SPACE and byte == 32 and t.tables.white_space == 3:
        s.pending = SECOND_SPACE
        return True
    if s.pending != 0:
        # An empty object or array may have white space twice: behind `{` and before `}`.
        is_open: cython.bint = s.phase == OBJECT_OPEN or s.phase == ARRAY_OPEN
        if not is_open or complete_values(t, s.frame) == 0:
            return False
        s.phase += 1
    s.pending = SPACE if byte == 32 else CARRIAGE_RETURN if byte == 13 else LINE_BREAK
    return True


@cython.cfunc
def open_value(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance by the first byte of a value."""
    s.pending = 0
    if is_quote(t, byte):
        return open_string(t, s, byte)
    if byte == 123:
        return open_object(t, s)
    if byte == 91:
        return open_array(t, s)
    return open_bare(t, s, byte)


@cython.cfunc
def open_string(t: MatcherState, s: cython.pointer[State], quote: i64) -> cython.bint:
    """Advance by the quote that opens a string."""
    may_come = open_text(t, s, IN_STRING)
    if t.is_python:
        s.stop = quote
    return may_come


@cython.cfunc
def open_bare(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance by the first byte of a number or word."""
    node = node_at(t, s.node)
    if node.bare_automaton < 0:
        return False
    s.languages = 0
    for k in range(node.bare_languages):
        if t.tables.bits[node.bare_of + k] & s.values:
            s.languages |= bit(k)
    s.phase = IN_BARE
    s.automaton_state = 0
    s.count = 0
    s.fingerprint = NUMBER_SEED
    return bare_byte(t, s, byte)


@cython.cfunc
def bare_byte(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance a number or word by a byte of its own."""
    if byte >= 128:
        return False
    a = automaton_at(t, node_at(t, s.node).bare_automaton)
    kind = t.tables.ascii[a.ascii + byte]
    if kind < 0:
        return False
    state = t.tables.transitions[a.transitions + s.automaton_state * a.classes + kind]
    if state < 0 or t.tables.leads[a.states + state] & s.languages == 0:
        return False
    s.automaton_state = state
    if t.is_exact and needs_fingerprint(t, s.frame):
        reserve(t, s.top + 1)
        t.arena[s.top] = byte
        s.fingerprint = hash_combine(s.fingerprint, byte)
        s.top += 1
        s.count += 1
    return True


@cython.cfunc
def close_bracket(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance by the bracket that closes an object or array, or a call of Python's."""
    if s.phase == OBJECT_COMMA or byte != bracket_of(t, s.frame):
        return False
    fitted = complete_values(t, s.frame)
    kind = ARRAY_SEED if t.arena[s.frame + KIND] != OBJECT_FRAME else OBJECT_SEED
    s.fingerprint = (kind + t.arena[s.frame + FINGERPRINT]) & LAST_62
    s.frame = t.arena[s.frame + PARENT]
    s.values = -1  # the parent's shapes tell which values were meant
    return close_value(t, s, fitted)


@cython.cfunc
def open_text(t: MatcherState, s: cython.pointer[State], phase: i64) -> cython.bint:
    """Begin the text of a string, or raw text; return whether there is one."""
    node = node_at(t, s.node)
    languages = cython.cast(cython.longlong, 0)
    for k in range(node.string_languages):
        if t.tables.bits[node.strings_of + k] & s.values:
            languages |= bit(k)
    if languages == 0:
        return False
    s.phase = phase
    if keeps_characters(t, s):
        languages = classes_left(t, s.frame, 0, 0, languages)
    s.languages = languages
    s.pending = 0
    s.count = 0
    s.stop = 0
    s.fingerprint = STRING_SEED
    s.automaton_state = -1
    s.trie_node = -1
    if node.string_automaton >= 0 and leads_on(
        t, automaton_at(t, node.string_automaton), 0, languages, 0
    ):
        s.automaton_state = 0
    if trie_leads_on(t, s, node.string_trie):
        s.trie_node = node.string_trie
    return s.automaton_state >= 0 or s.trie_node >= 0


@cython.cfunc
def ended_texts(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the languages, as bits, that a string or raw text is in."""
    node = node_at(t, s.node)
    ended = cython.cast(cython.longlong, 0)
    if s.automaton_state >= 0:
        a = automaton_at(t, node.string_automaton)
        ended = ended_at(t, a, s.automaton_state, s.languages, s.count)
    if s.trie_node >= 0:
        ended |= t.tables.trie_value[s.trie_node]
    return ended & s.languages


@cython.cfunc
def open_pairs(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Begin the first pair of a text; return whether there may be one."""
    if not open_object(t, s):
        return False
    may_follow: cython.bint = open_names(t, s.frame) or open_classes(t, s.frame) != 0
    return begin_pair(t, s, may_follow)


@cython.cfunc
def marker_of(t: MatcherState, token_id: i64) -> i64:
    """Return the number of the marker that a token id is; -1 if it is none."""
    for k in range(t.tables.markers.shape[0]):
        if t.tables.markers[k] == token_id:
            return k
    return -1


@cython.cfunc
def take_marker(t: MatcherState, s: cython.pointer[State], number: i64) -> cython.bint:
    """Advance a state by a marker, in place; return whether it is legal."""
    return s.phase >= IN_RAW and s.pending == 0 and take_raw(t, s, FIRST_SURROGATE + number)


@cython.cfunc
def take_raw(t: MatcherState, s: cython.pointer[State], character: i64) -> cython.bint:
    """Advance raw text by a whole character."""
    return take(t, s, character) and end_raw(t, s, character)


@cython.cfunc
def end_raw(t: MatcherState, s: cython.pointer[State], character: i64) -> cython.bint:
    """End raw text if it is complete; return whether the text may go on."""
    if s.phase == IN_RAW:
        if node_at(t, s.node).raw == RAW_ENDING and ended_texts(t, s) != 0:
            s.phase = DONE
        return True
    if s.phase == IN_VALUE:
        ended = ended_texts(t, s)
        return ended == 0 or end_raw_value(t, s, ended, character)
    ended = cython.cast(cython.longlong, 0)
    if s.automaton_state >= 0:
        a = automaton_at(t, automaton_of(t, s))
        ended = ended_at(t, a, s.automaton_state, s.languages, s.count)
    if s.phase == IN_KEY:
        return end_key(t, s, ended)
    if s.phase == BETWEEN and t.turn is not None and ended & 2:
        s.phase = DONE
        return True
    if ended & 1 == 0:
        return True
    if s.phase == BETWEEN:
        return open_name(t, s, IN_KEY)
    if s.phase == BEHIND_KEY:
        return open_text(t, s, IN_VALUE)
    return close_value(t, s, s.values)


@cython.cfunc
def end_raw_value(
    t: MatcherState, s: cython.pointer[State], ended: i64, character: i64
) -> cython.bint:
    """End a raw value, or open the JSON that begins with a bracket; return whether that is legal.

    Args:
        s: the state, changed in place.
        ended: the languages that the value's text is in, as bits.
        character: the last one of the text: the bracket, if JSON opens.

    """
    node = node_at(t, s.node)
    fitted = cython.cast(cython.longlong, 0)
    opened = cython.cast(cython.longlong, 0)
    for k in range(node.string_languages):
        if ended >> k & 1:
            if k < node.scalars:
                fitted |= t.tables.bits[node.strings_of + k]
            else:
                opened |= t.tables.bits[node.strings_of + k]
    if opened == 0:
        return close_value(t, s, fitted & s.values)
    if node.json_node < 0:
        return False
    s.values &= opened
    s.node = node.json_node
    return open_array(t, s) if character == 91 else open_object(t, s)


@cython.cfunc
def close_value(t: MatcherState, s: cython.pointer[State], fitted: i64) -> cython.bint:
    """End a value, as the values of its node that it fits; return whether its parent may go on."""
    if fitted == 0:
        return False
    s.pending = 0
    if s.frame < 0:
        s.phase = DONE
        return True
    if is_of_pairs(t, s.frame):
        return close_raw(t, s, fitted)
    s.phase = AFTER
    if t.is_exact and t.arena[s.frame + IS_FINGERPRINTED]:
        return close_fingerprinted(t, s, fitted)
    if t.arena[s.frame + KIND] != OBJECT_FRAME:
        return filter_arrays(t, s, fitted)
    if fitted == s.values and node_of(t, s.frame).marks == 0:
        return True
    return filter_shapes(t, s, fitted)


@cython.cfunc
def close_raw(t: MatcherState, s: cython.pointer[State], fitted: i64) -> cython.bint:
    """End a property's raw value: go on to the delimiter of nested JSON, else to the next key."""
    if s.phase < IN_RAW:
        s.values = fitted
        return begin_part(s, BEHIND_NESTED, 1)
    is_known: cython.bint = (
        fitted == s.values and s.phase == IN_VALUE and node_of(t, s.frame).marks == 0
    )
    if not is_known and not filter_shapes(t, s, fitted):
        return False
    return begin_pair(t, s, next_name(t, s))


@cython.cfunc
def begin_pair(t: MatcherState, s: cython.pointer[State], may_follow: cython.bint) -> cython.bint:
    """Begin what follows a pair: another pair, or the end of the text."""
    languages = cython.cast(cython.longlong, 1 if may_follow else 0)
    if complete_values(t, s.frame) != 0:
        languages |= 2
    return begin_part(s, BETWEEN, languages)


@cython.cfunc
def complete_values(t: MatcherState, frame: i64) -> i64:
    """Return the values, as bits, that are complete if an object or array ends here."""
    node = node_of(t, frame)
    fitted = cython.cast(cython.longlong, 0)
    if t.arena[frame + KIND] != OBJECT_FRAME:
        for i in range(node.arrays):
            if t.arena[frame + LIVE] >> i & 1:
                array = node.array0 + i
                length = t.arena[frame + CURRENT]
                if length >= t.tables.arrays[array].minimum and has_all(t, frame, array):
                    fitted |= bit(t.tables.arrays[array].value)
        return fitted
    t.work += node.values * node.shape_words
    for w in range(node.shape_words):
        shapes = t.arena[frame + LIVE + w]
        if shapes != 0 and node.limits != 0:
            shapes = without_few(t, frame, node, shapes, w)
        for i in range(w, node.witnesses * node.shape_words, node.shape_words):
            shapes &= ~t.tables.bits[node.witnessed + i] | t.arena[hits_at(t, frame) + i]
        if shapes != 0:
            shapes = without_missing(t, frame, node, shapes, w)
        if shapes != 0:
            for v in range(node.values):
                if shapes & t.tables.bits[node.shapes_of + v * node.shape_words + w]:
                    fitted |= bit(v)
    return fitted


@cython.cfunc
def close_fingerprinted(t: MatcherState, s: cython.pointer[State], fitted: i64) -> cython.bint:
    """End a value in an object or array with fingerprints; return whether its parent may go on.

    Args:
        s: the state, whose frame is changed in place.
        fitted: the values of the node that the value fits, as bits.

    """
    value = s.fingerprint
    if t.arena[s.frame + KIND] == OBJECT_FRAME:
        if not filter_shapes(t, s, fitted):
            return False
        member = hash_combine(t.arena[s.frame + NAME_FINGERPRINT], value)
        t.arena[s.frame + FINGERPRINT] = (t.arena[s.frame + FINGERPRINT] + member) & LAST_62
        return True
    written = t.arena[s.frame + WRITTEN]
    is_repeated = False
    if t.arena[s.frame + KIND] == UNIQUE_VALUES:
        is_repeated = has_element(t, s.frame, value)
        if not is_repeated:
            reserve(t, s.top + 2)
            t.arena[s.top] = written | CHARACTERS << LENGTH_AT
            t.arena[s.top + 1] = value
            written = s.top + 1
            s.top += 2
    member = hash_combine(t.arena[s.frame + CURRENT], value)
    if not filter_arrays(t, s, fitted):
        return False
    if is_repeated:
        t.arena[s.frame + LIVE] &= ~t.tables.bits[node_of(t, s.frame).unique_values]
    t.arena[s.frame + WRITTEN] = written
    t.arena[s.frame + FINGERPRINT] = (t.arena[s.frame + FINGERPRINT] + member) & LAST_62
    return t.arena[s.frame + LIVE] != 0


@cython.cfunc
def end_key(t: MatcherState, s: cython.pointer[State], ended: i64) -> cython.bint:
    """Go on to the value if a key has ended, by the languages that it is in."""
    n = t.tables.trie_value[s.trie_node] if s.trie_node >= 0 else -1
    if n >= 0:
        if not declared_name(t, s, n):
            return False
    elif ended == 0:
        return True
    elif not undeclared_name(t, s):
        return False
    if t.tables.pairs[AROUND_VALUES] >= 0:
        return begin_part(s, BEHIND_KEY, 1)
    return open_text(t, s, IN_VALUE)


@cython.cfunc
def begin_part(s: cython.pointer[State], phase: i64, languages: i64) -> cython.bint:
    """Begin a part of a pair that has an automaton of its own; return whether it may."""
    s.phase = phase
    s.languages = languages
    s.automaton_state = 0
    s.trie_node = -1
    s.pending = 0
    s.count = 0
    return languages != 0


@cython.cfunc
def legal_groups(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the groups of bytes, as bits, outside of which no byte is legal."""
    if t.is_python:
        return -1
    if s.phase == IN_STRING or s.phase == IN_NAME or s.phase >= IN_RAW:
        if s.pending != 0:
            return -1
        groups = CONTROL_GROUP if s.phase >= IN_RAW else QUOTE_GROUP | BACKSLASH_GROUP
        if s.automaton_state >= 0:
            groups |= t.tables.opens[state_of_text(t, s)]
        if s.trie_node >= 0:
            groups |= t.tables.trie_opens[s.trie_node]
        return groups
    if s.phase == AFTER:
        return SPACES | COMMA_GROUP | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP
    if s.phase == NAMED:
        return SPACES | COLON_GROUP
    if s.phase == IN_BARE:
        groups = SPACES | COMMA_GROUP | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP
        return groups | t.tables.opens[state_of_text(t, s)]
    if s.phase == BEGIN or s.phase == ARRAY_OPEN:
        groups = SPACES | QUOTE_GROUP | OPENING_GROUPS | CLOSE_ARRAY_GROUP
        bare = node_at(t, s.node).bare_automaton
        return groups if bare < 0 else groups | t.tables.opens[automaton_at(t, bare).states]
    if s.phase == ARRAY_OPEN_SPACED:
        return SPACES | CLOSE_ARRAY_GROUP
    return 0 if s.phase == DONE else SPACES | QUOTE_GROUP | CLOSE_OBJECT_GROUP
