"""Strings of JSON and Python, a byte at a time: UTF-8, escapes, surrogate pairs.

A character that is partly written is a range of code points; it is legal if some character of the
range is. `character_byte` advances a string by a byte, `take` by a whole character, and `symbol_of`
says which byte writes a character next.
"""

from __future__ import annotations

import cython

from enforcer.kernel.automata import (
    answer,
    child_of,
    edge_from,
    leads_on,
    range_of,
    state_behind,
    trie_leads_on,
)
from enforcer.kernel.names import classes_left, keeps_characters, leads_to_name
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    is_of_call,
    is_of_pairs,
    reserve,
    state_at,
)


@cython.cfunc
def viable(t: MatcherState, s: cython.pointer[State], low: i64, high: i64) -> cython.bint:
    """Return whether some character of a range may come next in a string or name."""
    if low > high:
        return False
    if s.phase == IN_WRITTEN:
        return low <= s.values <= high
    if s.automaton_state >= 0 and is_in_automaton(t, s, low, high):
        return True
    if s.trie_node >= 0:
        i = edge_from(t, s.trie_node, low)
        end = t.tables.trie_edges[s.trie_node + 1]
        while i < end and t.tables.edge_character[i] <= high:
            t.work += 1
            if trie_leads_on(t, s, t.tables.edge_to[i]):
                return True
            i += 1
    return False


@cython.cfunc
def is_in_automaton(t: MatcherState, s: cython.pointer[State], low: i64, high: i64) -> cython.bint:
    """Return whether a character of a range may come next in the automaton of a string."""
    a = automaton_at(t, automaton_of(t, s))
    at = a.states + s.automaton_state
    asked = cython.cast(cython.longlong, low) << 21 | high
    # Where the names that are there matter, what is known is of the name or string that the
    # first state is in: another one begins in another frame.
    is_known: cython.bint = t.scratch is not None and not t.is_exact
    if t.is_exact and t.is_masking:
        start = state_at(t, 0)
        is_known = keeps_characters(t, start) and s.frame == start.frame and s.count == start.count
        asked |= EXACT
    if is_known:
        known = answer(t, at, s.languages, s.count, asked)
        if known.found != NOT_ASKED:
            return known.found != 0
    found = False
    first = a.transitions + s.automaton_state * a.classes
    i = range_of(t, a, low)
    while not found and i < a.range0 + a.ranges and t.tables.range_low[i] <= high:
        t.work += 1
        kind = t.tables.range_class[i]
        found = (
            kind >= 0
            and leads_on(t, a, t.tables.transitions[first + kind], s.languages, s.count + 1)
            and leads_to_name(t, s, a, i, low, high)
        )
        i += 1
    if is_known:
        answer(t, at, s.languages, s.count, asked).found = found
    return found


@cython.cfunc
def take(t: MatcherState, s: cython.pointer[State], character: i64) -> cython.bint:
    """Advance a string or name by a whole character."""
    state = s.automaton_state
    trie_node = s.trie_node
    if t.is_exact:
        s.fingerprint = hash_combine(s.fingerprint, character)
    if s.phase == IN_WRITTEN:
        s.pending = 0
        s.count += 1
        return character == s.values
    if state >= 0:
        a = automaton_at(t, automaton_of(t, s))
        is_kept = keeps_characters(t, s)
        if is_kept:
            reserve(t, s.top + 1)
            t.arena[s.top] = character
            s.top += 1
        state = state_behind(t, a, state, character)
        if not leads_on(t, a, state, s.languages, s.count + 1):
            state = -1
        elif is_kept and t.is_exact:
            first = s.top - s.count - 1
            leads = t.tables.leads[a.states + state] & s.languages
            if classes_left(t, s.frame, first, s.count + 1, leads) == 0:
                state = -1
    if trie_node >= 0:
        trie_node = child_of(t, trie_node, character)
        # Beside an automaton a name that may not come is followed, to be known at its end.
        if state < 0 and not trie_leads_on(t, s, trie_node):
            trie_node = -1
    s.automaton_state = state
    s.trie_node = trie_node
    s.pending = 0
    s.count += 1
    return state >= 0 or trie_node >= 0


@cython.cfunc
def character_byte(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.int:
    """Advance a string or name by a byte: `ILLEGAL`, `INSIDE`, or `QUOTE` for its end."""
    if t.is_python:
        return python_byte(t, s, byte)
    if s.pending == 0:
        if byte == 34:
            return QUOTE
        if byte == 92:
            s.pending = ESCAPE
            return escapable(t, s, 0, LAST_CHARACTER)
        return byte >= 32 and plain_byte(t, s, byte)
    kind = s.pending & 15
    count = s.pending >> 4 & 15
    value = s.pending >> 8
    if kind >= UTF_8_OF_2:
        return plain_byte(t, s, byte)
    if kind == ESCAPE:
        return escape(t, s, byte)
    if kind == SECOND_BACKSLASH:
        s.pending = SECOND_U | value << 8
        return byte == 92
    if kind == SECOND_U:
        s.pending = SECOND_DIGITS | value << 24
        return byte == 117
    digit = hexadecimal(byte)
    if digit < 0:
        return ILLEGAL
    if kind == DIGITS:
        return digits(t, s, count + 1, value << 4 | digit)
    return second_digits(t, s, count + 1, value >> 16, (value & 0xFFFF) << 4 | digit)


@cython.cfunc
def python_byte(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.int:
    """Advance a string or name of Python by a byte; see `character_byte`."""
    kind = s.pending & 15
    if kind == 0:
        if byte == s.stop:
            return QUOTE
        if byte == 92:
            s.pending = ESCAPE
            return escapable(t, s, 0, LAST_CHARACTER)
        return (byte >= 32 or may_be_raw(t, byte)) and plain_byte(t, s, byte)
    if kind == HEXADECIMAL:
        digit = hexadecimal(byte)
        if digit < 0:
            return ILLEGAL
        missing = (s.pending >> 4 & 15) - 1
        return python_digit(t, s, missing, s.pending >> 8 << 4 | digit)
    if kind != ESCAPE:
        return plain_byte(t, s, byte)
    if byte == 120 or byte == 117 or byte == 85:  # x, u, U
        missing = 2 if byte == 120 else 4 if byte == 117 else 8
        s.pending = HEXADECIMAL | missing << 4
        high = 0xFF if byte == 120 else 0xFFFF if byte == 117 else LAST_CHARACTER
        return escapable(t, s, 0, high)
    if byte == 39:
        return take(t, s, 39)
    if byte == 97:
        return take(t, s, 7)
    if byte == 118:
        return take(t, s, 11)
    return byte != 47 and escape(t, s, byte)


@cython.cfunc
def may_be_raw(t: MatcherState, byte: i64) -> cython.bint:
    """Return whether a string may hold a control character as it is."""
    return t.is_python and byte != 0 and byte != 10 and byte != 13


@cython.cfunc
def python_digit(t: MatcherState, s: cython.pointer[State], missing: i64, value: i64) -> cython.int:
    r"""Advance by a digit of `\x..`, `\u....` or `\U........`."""
    if missing == 0:
        return not FIRST_SURROGATE <= value <= LAST_SURROGATE and takes_escaped(t, s, value)
    s.pending = HEXADECIMAL | missing << 4 | value << 8
    low = value << 4 * missing
    high = min(low + bit(4 * missing) - 1, LAST_CHARACTER)
    below = min(high, FIRST_SURROGATE - 1)
    above = max(low, LAST_SURROGATE + 1)
    return escapable(t, s, low, below) or viable(t, s, above, high)


@cython.cfunc
def escape(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.int:
    """Advance by the byte behind a backslash."""
    if byte == 117:
        s.pending = DIGITS
        return INSIDE
    if byte == 34 or byte == 92 or byte == 47:
        return takes_escaped(t, s, byte)
    if byte == 98:
        return take(t, s, 8)
    if byte == 102:
        return take(t, s, 12)
    if byte == 110:
        return take(t, s, 10)
    if byte == 114:
        return take(t, s, 13)
    return byte == 116 and take(t, s, 9)


@cython.cfunc
def digits(t: MatcherState, s: cython.pointer[State], count: i64, value: i64) -> cython.int:
    r"""Advance by a digit of `\u....`, which may be the first half of a surrogate pair."""
    missing = 4 * (4 - count)
    low = value << missing
    high = low + bit(missing) - 1
    if count == 4:
        if not 0xD800 <= value <= 0xDFFF:
            return takes_escaped(t, s, value)
        s.pending = SECOND_BACKSLASH | value << 8
    else:
        s.pending = DIGITS | count << 4 | value << 8
        if escapable(t, s, low, high):
            return INSIDE
    low = max(low, 0xD800)
    high = min(high, 0xDBFF)
    return low <= high and viable(
        t, s, 0x10000 + ((low - 0xD800) << 10), 0x103FF + ((high - 0xD800) << 10)
    )


@cython.cfunc
def takes_escaped(t: MatcherState, s: cython.pointer[State], character: i64) -> cython.bint:
    """Advance a string or name by a whole character that an escape stands for."""
    return may_escape(t, s, character) and take(t, s, character)


@cython.cfunc
def escapable(t: MatcherState, s: cython.pointer[State], low: i64, high: i64) -> cython.bint:
    """Return whether an escape of some character of a range may come next."""
    if t.is_plain:
        for character in range(low, min(high + 1, t.tables.unescaped.shape[0])):
            if not may_escape(t, s, character):
                if viable(t, s, low, character - 1):
                    return True
                low = character + 1
    return viable(t, s, low, high)


@cython.cfunc
def may_escape(t: MatcherState, s: cython.pointer[State], character: i64) -> cython.bint:
    """Return whether an escape may stand for a character in a string or name."""
    if not t.is_plain or character >= t.tables.unescaped.shape[0]:
        return True
    is_listed: cython.bint = s.phase == IN_STRING and s.automaton_state < 0
    return not (is_listed or s.phase == IN_NAME) or not t.tables.unescaped[character]


@cython.cfunc
def second_digits(
    t: MatcherState, s: cython.pointer[State], count: i64, first: i64, value: i64
) -> cython.int:
    """Advance by a digit of the second half of a surrogate pair."""
    missing = 4 * (4 - count)
    low = max(value << missing, 0xDC00)
    high = min((value << missing) + bit(missing) - 1, 0xDFFF)
    if low > high:
        return ILLEGAL
    base = 0x10000 + ((first - 0xD800) << 10) - 0xDC00
    if count == 4:
        return take(t, s, base + value)
    s.pending = SECOND_DIGITS | count << 4 | (first << 16 | value) << 8
    return viable(t, s, base + low, base + high)


@cython.cfunc
def plain_byte(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.int:
    """Advance a text by a byte that neither ends nor escapes anything."""
    if s.pending != 0:
        if byte & 0xC0 != 0x80:
            return ILLEGAL
        missing = (s.pending >> 4 & 15) - 1
        return utf_8(t, s, s.pending & 15, missing, s.pending >> 8 << 6 | byte & 63)
    if byte < 128:
        return take(t, s, byte)
    if byte < 0xC2 or byte > 0xF4:
        return ILLEGAL
    if byte < 0xE0:
        return utf_8(t, s, UTF_8_OF_2, 1, byte & 31)
    if byte < 0xF0:
        return utf_8(t, s, UTF_8_OF_3, 2, byte & 15)
    return utf_8(t, s, UTF_8_OF_4, 3, byte & 7)


@cython.cfunc
def utf_8(
    t: MatcherState, s: cython.pointer[State], kind: i64, missing: i64, value: i64
) -> cython.int:
    """Advance by the byte of a character beyond ASCII."""
    low = value << (6 * missing)
    high = low + bit(6 * missing) - 1
    if kind == UTF_8_OF_3:
        low = max(low, 0x800)
        if low <= LAST_SURROGATE and high >= FIRST_SURROGATE:
            high = FIRST_SURROGATE - 1
    elif kind == UTF_8_OF_4:
        low = max(low, 0x10000)
        high = min(high, LAST_CHARACTER)
    if missing == 0:
        return low <= high and take(t, s, value)
    s.pending = kind | missing << 4 | value << 8
    return viable(t, s, low, high)


@cython.cfunc
def is_quote(t: MatcherState, byte: i64) -> cython.bint:
    """Return whether a byte opens a string."""
    return byte == 34 or (t.is_python and byte == 39)


@cython.cfunc
def quote_of(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the byte that ends a string."""
    return s.stop if t.is_python else 34


@cython.cfunc
def avoids_stops(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Advance a JSON string by a byte; return whether no delimiter ends with it."""
    a = automaton_at(t, t.tables.pairs[STOPS])
    kind = t.tables.range_class[range_of(t, a, byte)]
    if kind < 0:
        return False
    s.stop = t.tables.transitions[a.transitions + s.stop * a.classes + kind]
    return s.stop >= 0


@cython.cfunc
@cython.exceptval(-9, check=False)
def symbol_of(t: MatcherState, s: cython.pointer[State], character: i64) -> i64:
    """Return the next byte of a character, by what of it has been written; -1 if that differs."""
    if character < 0:
        return -1
    if FIRST_SURROGATE <= character <= LAST_SURROGATE:
        return FIRST_MARKER + character - FIRST_SURROGATE
    kind = s.pending & 15
    if UTF_8_OF_2 <= kind <= UTF_8_OF_4:
        missing = s.pending >> 4 & 15
        if s.pending >> 8 != character >> (6 * missing):
            return -1
        return 0x80 | character >> (6 * (missing - 1)) & 63
    is_quoted: cython.bint = s.phase == IN_STRING or s.phase == IN_NAME
    if kind == 0 or not is_quoted:
        if is_quoted and needs_escape(t, s, character):
            return 92
        return first_byte(character)
    unit = character if character < 0x10000 else 0xD800 + ((character - 0x10000) >> 10)
    count = s.pending >> 4 & 15
    value = s.pending >> 8
    if kind == ESCAPE:
        return letter_of(character)
    if kind == SECOND_BACKSLASH:
        return 92
    if kind == SECOND_U:
        return 117
    if kind == HEXADECIMAL:
        return digit_of(character, value, count)
    if kind == DIGITS:
        return digit_of(unit, value, 4 - count)
    unit = 0xDC00 + (character - 0x10000 & 0x3FF)
    return digit_of(unit, value & 0xFFFF, 4 - count)


@cython.cfunc
@cython.exceptval(-9, check=False)
def digit_of(unit: i64, value: i64, missing: i64) -> i64:
    """Return the next hexadecimal digit of a number of which some are written; or -1."""
    if missing < 1 or value != unit >> (4 * missing):
        return -1
    digit = unit >> (4 * (missing - 1)) & 15
    return 48 + digit if digit < 10 else 87 + digit


@cython.cfunc
@cython.exceptval(-9, check=False)
def letter_of(character: i64) -> i64:
    """Return the byte behind a backslash that stands for a character, or begins its number."""
    if character == 34 or character == 39 or character == 92:
        return character
    if character == 8:
        return 98
    if character == 9:
        return 116
    if character == 10:
        return 110
    if character == 12:
        return 102
    return 114 if character == 13 else 117


@cython.cfunc
def needs_escape(t: MatcherState, s: cython.pointer[State], character: i64) -> cython.bint:
    """Return whether a character of a string or name is written as an escape."""
    if character < 32 or character == 92:
        return True
    return character == quote_of(t, s) or t.tree.writes[first_byte(character)] == 0


@cython.cfunc
def name_byte(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.int:
    """Advance a name or string by a byte; see `character_byte`. A key is raw text."""
    if is_of_pairs(t, s.frame) or is_of_call(t, s.frame):
        return plain_byte(t, s, byte)
    return character_byte(t, s, byte)


@cython.cfunc
def ends_name(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Return whether a byte ends a name or string of which it is no character."""
    if is_of_call(t, s.frame):
        return not is_of_word(byte)
    return byte == quote_of(t, s) and not is_of_pairs(t, s.frame)
