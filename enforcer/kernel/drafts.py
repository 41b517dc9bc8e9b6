"""The likely continuation of a text, as a drafter proposes it for speculative decoding.

A walk by `step` from the present state, one symbol at a time, as long as the next one is likely:
punctuation, declared names in the schema's order, closing brackets, and what is left of values that
are listed. It stops where the model chooses: in free strings and numbers, between alternatives.
The machine takes each symbol, so that a continuation is legal; whether it comes is a guess.
"""

from __future__ import annotations

import cython

from enforcer.kernel.aims import distance, fits_pending, nearest_character, toward_name
from enforcer.kernel.automata import trie_leads_on
from enforcer.kernel.ends import copy_state, ending_state, is_whole_text, takes_symbol
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_of,
    is_of_call,
    name_words,
    names_at,
    node_of,
    past_state,
    state_of_text,
)
from enforcer.kernel.strings import quote_of, symbol_of
from enforcer.kernel.values import close_bare, ended_texts, legal_groups, step

# The style of a text, as bits: a space before a value of an object, behind a comma, and before the
# text (a line break in a layout of pairs); a line break between pairs, and before a raw value.
SPACED_VALUES = cython.declare(cython.int, 1)
SPACED_ITEMS = cython.declare(cython.int, 2)
SPACED_TEXT = cython.declare(cython.int, 4)
BROKEN_LINES = cython.declare(cython.int, 8)
BROKEN_VALUES = cython.declare(cython.int, 16)

_FREE = cython.declare(cython.int, 8)  # groups of bytes, from which on a text is free
_BEGUN = cython.declare(cython.int, 2)  # characters after which a delimiter is taken for begun
_NULL = cython.declare(cython.int, 110)  # the first byte of `null`
_SEVERAL = cython.declare(cython.int, -2)  # symbols, of which one is wanted


@cython.cfunc
def draft_text(t: MatcherState, most: i64, style: i64, is_likely: cython.bint) -> list:
    """Return what likely follows a text; see `TextMatcher.draft`.

    The state behind it is the first one of the text's `ending`.
    """
    found: list = []
    data = bytearray()
    copy_state(ending_state(t, 0), past_state(t, t.at))
    t.ending.aim = -1
    for _ in range(most):
        symbol = likely_symbol(t, ending_state(t, 0), style, is_likely)
        if symbol < 0 or not takes_symbol(t, 0, symbol):
            break
        copy_state(ending_state(t, 0), ending_state(t, 1))
        if symbol < FIRST_MARKER:
            data.append(symbol)
        else:
            found += [bytes(data), t.tables.markers[symbol - FIRST_MARKER]]
            data = bytearray()
    found.append(bytes(data))
    return found


@cython.cfunc
def style_of(t: MatcherState, style: i64) -> i64:
    """Return the style of a text by its last token; as before where that shows none."""
    if t.at == 0:
        return style
    copy_state(ending_state(t, 0), past_state(t, t.at - 1))
    s = ending_state(t, 0)
    s.top = past_state(t, t.at).top  # what lies below is in use, also what was written last
    t.is_exact = False
    token = t.accepted[t.length - 1]
    first = t.tree.text0[token] + (t.skipped if t.length == 1 else 0)
    for at in range(first, t.tree.text0[token + 1]):
        byte = cython.cast(cython.longlong, t.tree.text[at])
        bit = style_bit(t, s)
        if bit != 0 and takes_symbol(t, 0, blank_of(t, bit)):
            style = style | bit if byte == blank_of(t, bit) else style & ~bit
        if not step(t, s, byte):
            break
    t.is_exact = True
    return style


@cython.cfunc
def style_bit(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the style, as a bit, that decides on white space at a state; 0 if none does."""
    if s.phase == IN_VALUE or s.phase == BEHIND_NESTED:
        return BROKEN_VALUES if s.count == 0 else 0
    if s.phase == BETWEEN or s.phase == BEHIND_KEY:
        lines = BROKEN_LINES if t.arena[s.frame + NAME_FINGERPRINT] != 0 else SPACED_TEXT
        return lines if s.automaton_state == 0 else 0
    if s.pending != 0 or (s.phase != BEGIN and s.phase != OBJECT_COMMA):
        return 0
    if s.frame < 0:
        return SPACED_TEXT
    if s.phase == OBJECT_COMMA or t.arena[s.frame + KIND] != OBJECT_FRAME:
        return SPACED_ITEMS
    return 0 if is_of_call(t, s.frame) else SPACED_VALUES


@cython.cfunc
def blank_of(t: MatcherState, bit: i64) -> i64:
    """Return the white space on which a style decides."""
    return 10 if bit >= BROKEN_LINES or (t.is_laid_out and bit == SPACED_TEXT) else 32


@cython.cfunc
def likely_symbol(
    t: MatcherState, s: cython.pointer[State], style: i64, is_likely: cython.bint
) -> i64:
    """Return the likely next symbol at the state of the walk; less than 0 if there is none."""
    bit = style_bit(t, s)
    if bit & style and takes_symbol(t, 0, blank_of(t, bit)):
        return blank_of(t, bit)
    if s.phase == IN_NAME or s.phase == IN_KEY or s.phase == IN_ARGUMENT:
        return name_symbol(t, s, is_likely)
    if s.phase == IN_VALUE:
        return raw_symbol(t, s)
    if s.phase > IN_RAW:
        return delimiter_symbol(t, s, is_likely)
    if s.phase == IN_BARE and t.tables.opens[state_of_text(t, s)] == 0 and not close_bare(t, s):
        return -1
    t.ending.aim = -1  # with each comma fewer names may be possible
    if is_likely and s.frame >= 0 and t.arena[s.frame + KIND] == OBJECT_FRAME:
        if s.phase == OBJECT_OPEN or s.phase == OBJECT_COMMA or s.phase == AFTER:
            return part_symbol(t, s)
    return only_symbol(t, s, is_likely)


@cython.cfunc
def part_symbol(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the likely symbol behind `{`, a property of an object, or a comma."""
    aim = next_aim(t, s.frame)
    if s.phase == AFTER and aim >= 0 and takes_symbol(t, 0, 44):
        return 44
    if s.phase != AFTER and aim >= 0:
        return toward_name(t, node_of(t, s.frame).name_trie, aim) if is_of_call(t, s.frame) else 34
    found = only_but(t, s, COMMA_GROUP | QUOTE_GROUP, -1)
    return found if found >= 0 else only_but(t, s, 0, -1)


@cython.cfunc
def only_symbol(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return the only legal symbol but for white space and escapes; less than 0 for another number.

    With `is_likely` an array is not empty, and a value not null.
    """
    is_text: cython.bint = s.phase == IN_STRING or s.phase == IN_RAW or s.phase == IN_VALUE
    if is_text and s.automaton_state < 0 and s.trie_node >= 0 and ended_texts(t, s) == 0:
        return only_listed(t, s)
    if is_likely and (s.phase == BEGIN or s.phase == ARRAY_OPEN):
        found = only_but(t, s, CLOSE_ARRAY_GROUP, _NULL)
        if found != -1:
            return found
    return only_but(t, s, 0, -1)


@cython.cfunc
def only_but(t: MatcherState, s: cython.pointer[State], groups: i64, left_out: i64) -> i64:
    """Return the only legal byte but for white space, escapes, some groups of bytes and a byte."""
    groups = legal_groups(t, s) & ~(groups | SPACES | BACKSLASH_GROUP)
    if t.is_python and s.phase != IN_STRING:
        groups &= ~APOSTROPHE_GROUP  # of two quotes, the usual one
    found = cython.cast(cython.longlong, -1)
    for k in range(t.tree.order.shape[0]):
        byte = t.tree.order[k] & 255
        if groups >> (t.tree.order[k] >> 8) & 1 and byte != left_out and takes_symbol(t, 0, byte):
            if found != -1:
                return _SEVERAL
            found = byte
    return found


@cython.cfunc
def only_listed(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the next symbol of the only listed text that is left; -1 if several are."""
    found = cython.cast(cython.longlong, -1)
    for i in range(t.tables.trie_edges[s.trie_node], t.tables.trie_edges[s.trie_node + 1]):
        character = t.tables.edge_character[i]
        if trie_leads_on(t, s, t.tables.edge_to[i]) and fits_pending(t, s, character):
            if found >= 0:
                return -1
            found = character
    return symbol_of(t, s, found)


@cython.cfunc
def raw_symbol(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the next symbol of a raw value, or of its delimiter that has begun; or -1."""
    if s.automaton_state < 0 or s.trie_node >= 0 or s.pending != 0:
        return only_symbol(t, s, False)
    number = automaton_of(t, s)
    groups = t.tables.opens[state_of_text(t, s)] & ~SPACES
    if count_bits(groups) > 1:
        if count_bits(groups) < _FREE or not takes_symbol(t, 0, 32):
            return -1
        free = ending_state(t, 1)  # where no delimiter has begun
        most = distance(t, free, number, free.automaton_state, free.languages, free.count)
        if distance(t, s, number, s.automaton_state, s.languages, s.count) > most - _BEGUN:
            return -1
    return nearest_symbol(t, s, s.languages)


@cython.cfunc
def delimiter_symbol(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return the next symbol of the text around a pair's key and value; -1 if there is none."""
    t.ending.aim = -1
    if s.phase != BETWEEN:
        return nearest_symbol(t, s, 1)
    is_whole: cython.bint = is_whole_text(t, s)
    pair = nearest_symbol(t, s, s.languages & 1)
    end = -1 if is_whole else nearest_symbol(t, s, s.languages & 2)
    if pair < 0 or pair == end or (end < 0 and not is_whole):
        return max(pair, end)
    if not is_likely:
        return -1
    return pair if next_aim(t, s.frame) >= 0 else end


@cython.cfunc
def nearest_symbol(t: MatcherState, s: cython.pointer[State], languages: i64) -> i64:
    """Return the next symbol towards the nearest end of some languages; -1 if there is none."""
    return symbol_of(t, s, nearest_character(t, s, s.automaton_state, -1, languages, s.count))


@cython.cfunc
def name_symbol(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return the next byte of a name that is being written; -1 if no declared one is likely."""
    if s.trie_node < 0 or (s.automaton_state >= 0 and not is_likely):
        return -1
    low = t.tables.trie_low[s.trie_node]
    high = t.tables.trie_high[s.trie_node]
    aim = t.ending.aim
    if not low <= aim < high:
        aim = aim_of(t, s.frame, low, high, is_likely)
    if aim < 0:
        return -1
    t.ending.aim = aim
    if t.tables.trie_value[s.trie_node] == aim:
        return 61 if s.phase == IN_ARGUMENT else quote_of(t, s)
    return symbol_of(t, s, toward_name(t, s.trie_node, aim))


@cython.cfunc
def next_aim(t: MatcherState, frame: i64) -> i64:
    """Return the declared name that likely comes next in an object; -1 if none does."""
    t.ending.aim = aim_of(t, frame, 0, node_of(t, frame).names, True)
    return t.ending.aim


@cython.cfunc
def aim_of(t: MatcherState, frame: i64, low: i64, high: i64, is_likely: cython.bint) -> i64:
    """Return the declared name of a range that is likely next in an object; -1 if there is none.

    It is the first one in the schema's order behind the last one that was written, then from the
    first one on; where an optional one was left out, a required one. Without `is_likely`, it is the
    only one.
    """
    node = node_of(t, frame)
    seen = names_at(t, frame)
    words = name_words(t, frame)
    last = cython.cast(cython.longlong, -1)
    if t.arena[frame + NAME_FINGERPRINT] != 0 and t.arena[frame + CURRENT] >= 0:
        last = t.tables.names[node.name0 + t.arena[frame + CURRENT]].place
    found = cython.cast(cython.longlong, -1)
    required = cython.cast(cython.longlong, -1)
    nearest = nearest_required = cython.cast(cython.longlong, LAST_62)
    count = 0
    has_left_out = False
    for n in range(node.names):
        is_there = t.arena[seen + (n >> 6)] >> (n & 63) & 1
        if is_there or t.arena[seen + words + (n >> 6)] >> (n & 63) & 1 == 0:
            continue
        place = cython.cast(cython.longlong, t.tables.names[node.name0 + n].place)
        is_required: cython.bint = t.tables.bits[node.required_names + (n >> 6)] >> (n & 63) & 1
        if place < last:
            has_left_out = has_left_out or not is_required
            place += FAR
        if n < low or n >= high:
            continue
        count += 1
        if place < nearest:
            nearest = place
            found = n
        if is_required and place < nearest_required:
            nearest_required = place
            required = n
    if not is_likely:
        return found if count == 1 else -1
    is_begun: cython.bint = low > 0 or high < node.names
    return required if has_left_out and (required >= 0 or not is_begun) else found


@cython.cfunc
def is_drafted_whole(t: MatcherState, is_likely: cython.bint) -> cython.bint:
    """Return whether the text is complete behind a draft, and likely ends there."""
    s = ending_state(t, 0)
    may_go_on: cython.bint = s.phase == BETWEEN and nearest_symbol(t, s, s.languages & 1) >= 0
    return is_whole_text(t, s) and (is_likely or not may_go_on)
