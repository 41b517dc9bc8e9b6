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
    automaton_at,
    automaton_of,
    bracket_of,
    is_of_call,
    name_words,
    names_at,
    node_at,
    node_of,
    past_state,
)
from enforcer.kernel.strings import quote_of, symbol_of
from enforcer.kernel.values import close_bare, ended_texts, step

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
_NO_SYMBOL = cython.declare(cython.int, -1)
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
        if s.automaton_state != 0:
            return 0
        return BROKEN_LINES if has_declared(t, s.frame) else SPACED_TEXT
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
def has_declared(t: MatcherState, frame: i64) -> cython.bint:
    """Return whether an object has a declared name."""
    seen = names_at(t, frame)
    for w in range(name_words(t, frame)):
        if t.arena[seen + w] != 0:
            return True
    return False


@cython.cfunc
def likely_symbol(
    t: MatcherState, s: cython.pointer[State], style: i64, is_likely: cython.bint
) -> i64:
    """Return the likely next symbol at the state of the walk; -1 if there is none."""
    bit = style_bit(t, s)
    if bit & style and takes_symbol(t, 0, blank_of(t, bit)):
        return blank_of(t, bit)
    if s.phase == IN_NAME or s.phase == IN_KEY or s.phase == IN_ARGUMENT:
        return name_symbol(t, s, is_likely)
    if s.phase == IN_STRING or s.phase == IN_RAW:
        return only_symbol(t, s)
    if s.phase == IN_VALUE:
        return raw_symbol(t, s)
    if s.phase >= IN_RAW:
        return delimiter_symbol(t, s, is_likely)
    if s.phase == IN_BARE:
        if t.tables.opens[automaton_at(t, automaton_of(t, s)).states + s.automaton_state] != 0:
            return only_symbol(t, s)
        if not close_bare(t, s):
            return _NO_SYMBOL
    if s.phase == DONE:
        return _NO_SYMBOL
    if s.pending == CARRIAGE_RETURN:
        return 10
    if s.phase == NAMED:
        return 61 if is_of_call(t, s.frame) else 58
    if s.phase == AFTER or s.phase == OBJECT_OPEN:
        return part_symbol(t, s, is_likely)
    if s.phase == OBJECT_OPEN_SPACED or s.phase == ARRAY_OPEN_SPACED:
        return bracket_of(t, s.frame)
    if s.phase == OBJECT_COMMA:
        t.ending.aim = -1  # with the comma, fewer names may be possible
        return first_of_name(t, s, is_likely)
    if s.phase == ARRAY_OPEN and not is_likely and takes_symbol(t, 0, 93):
        return _NO_SYMBOL
    return first_of_value(t, s, is_likely)


@cython.cfunc
def first_of_value(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return the first symbol of a value, if all values of a kind begin with it."""
    found = cython.cast(cython.longlong, _NO_SYMBOL)
    for symbol in (34, 91, 123):
        if takes_symbol(t, 0, symbol):
            found = symbol if found == _NO_SYMBOL else _SEVERAL
    node = node_at(t, s.node)
    if node.bare_automaton < 0:
        return found
    bare = byte_of_groups(t, t.tables.opens[automaton_at(t, node.bare_automaton).states])
    if bare == _NO_SYMBOL or (is_likely and bare == _NULL and found != _NO_SYMBOL):
        return found
    return bare if found == _NO_SYMBOL else _SEVERAL


@cython.cfunc
def byte_of_groups(t: MatcherState, groups: i64) -> i64:
    """Return the legal byte of some groups, given as bits; `_SEVERAL` if it is not the only one."""
    found = cython.cast(cython.longlong, _NO_SYMBOL)
    for k in range(t.tree.order.shape[0]):
        if groups >> (t.tree.order[k] >> 8) & 1 and takes_symbol(t, 0, t.tree.order[k] & 255):
            if found != _NO_SYMBOL:
                return _SEVERAL
            found = t.tree.order[k] & 255
    return found


@cython.cfunc
def only_symbol(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the only symbol that goes on with a text or word, or ends it, up to escapes; or -1."""
    if s.automaton_state < 0 and s.trie_node >= 0 and ended_texts(t, s) == 0:
        return only_listed(t, s)
    if s.pending != 0:
        return byte_of_groups(t, -1) if UTF_8_OF_2 <= s.pending & 15 <= UTF_8_OF_4 else _NO_SYMBOL
    groups = cython.cast(cython.longlong, 0)
    ended = cython.cast(cython.longlong, 0)
    if s.automaton_state >= 0:
        a = automaton_at(t, automaton_of(t, s))
        groups = t.tables.opens[a.states + s.automaton_state]
        ended = t.tables.accepts[a.states + s.automaton_state] & s.languages
    if s.phase != IN_BARE:
        ended = ended_texts(t, s)
        if s.trie_node >= 0:
            groups |= t.tables.trie_opens[s.trie_node]
    if groups == 0 and s.phase == IN_STRING and ended != 0:
        return quote_of(t, s)
    if ended != 0 or count_bits(groups) > 2:
        return _NO_SYMBOL
    return byte_of_groups(t, groups & ~BACKSLASH_GROUP)


@cython.cfunc
def only_listed(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the next symbol of the only listed text that is left; -1 if several are."""
    found = cython.cast(cython.longlong, _NO_SYMBOL)
    for i in range(t.tables.trie_edges[s.trie_node], t.tables.trie_edges[s.trie_node + 1]):
        character = t.tables.edge_character[i]
        if trie_leads_on(t, s, t.tables.edge_to[i]) and fits_pending(t, s, character):
            if found >= 0:
                return _NO_SYMBOL
            found = character
    return symbol_of(t, s, found)


@cython.cfunc
def raw_symbol(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return the next symbol of a raw value, or of its delimiter that has begun; or -1."""
    if s.automaton_state < 0 or s.trie_node >= 0 or s.pending != 0:
        return only_symbol(t, s)
    number = automaton_of(t, s)
    groups = t.tables.opens[automaton_at(t, number).states + s.automaton_state] & ~SPACES
    if count_bits(groups) > 1:
        if count_bits(groups) < _FREE or not takes_symbol(t, 0, 32):
            return _NO_SYMBOL
        free = ending_state(t, 1)  # where no delimiter has begun
        most = distance(t, free, number, free.automaton_state, free.languages, free.count)
        if distance(t, s, number, s.automaton_state, s.languages, s.count) > most - _BEGUN:
            return _NO_SYMBOL
    return nearest_symbol(t, s, s.languages)


@cython.cfunc
def delimiter_symbol(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return the next symbol of the text around a pair's key and value; -1 if there is none."""
    t.ending.aim = -1
    if s.phase == IN_ANY or s.phase == IN_WRITTEN:
        return _NO_SYMBOL
    if s.phase != BETWEEN:
        return nearest_symbol(t, s, 1)
    is_whole: cython.bint = is_whole_text(t, s)
    pair = nearest_symbol(t, s, s.languages & 1)
    end = -1 if is_whole else nearest_symbol(t, s, s.languages & 2)
    if pair < 0 or pair == end or (end < 0 and not is_whole):
        return max(pair, end)
    if not is_likely:
        return _NO_SYMBOL
    return pair if next_aim(t, s.frame, True) >= 0 else end


@cython.cfunc
def nearest_symbol(t: MatcherState, s: cython.pointer[State], languages: i64) -> i64:
    """Return the next symbol towards the nearest end of some languages; -1 if there is none."""
    return symbol_of(t, s, nearest_character(t, s, s.automaton_state, -1, languages, s.count))


@cython.cfunc
def part_symbol(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return what follows `{`, or a part of an object or array: another part or the bracket."""
    t.ending.aim = -1
    is_open: cython.bint = s.phase == OBJECT_OPEN
    bracket = bracket_of(t, s.frame)
    may_close: cython.bint = takes_symbol(t, 0, bracket)
    if is_likely and t.arena[s.frame + KIND] == OBJECT_FRAME:
        if next_aim(t, s.frame, True) >= 0 and (is_open or takes_symbol(t, 0, 44)):
            may_close = False
    elif may_close:
        node = node_of(t, s.frame)
        may_follow: cython.bint = node.names != 0 or node.classes != 0
        if may_follow if is_open else takes_symbol(t, 0, 44):
            return _NO_SYMBOL
    if may_close:
        return bracket
    return first_of_name(t, s, is_likely) if is_open else 44


@cython.cfunc
def first_of_name(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return the first byte of the next name: a quote, or its first letter; -1 if that is open."""
    if not is_of_call(t, s.frame):
        return 34
    aim = next_aim(t, s.frame, is_likely)
    return _NO_SYMBOL if aim < 0 else toward_name(t, node_of(t, s.frame).name_trie, aim)


@cython.cfunc
def name_symbol(t: MatcherState, s: cython.pointer[State], is_likely: cython.bint) -> i64:
    """Return the next byte of a name that is being written; -1 if no declared one is likely."""
    if s.trie_node < 0 or (s.automaton_state >= 0 and not is_likely):
        return _NO_SYMBOL
    low = t.tables.trie_low[s.trie_node]
    high = t.tables.trie_high[s.trie_node]
    aim = t.ending.aim
    if not low <= aim < high:
        aim = aim_of(t, s.frame, low, high, is_likely)
    if aim < 0:
        return _NO_SYMBOL
    t.ending.aim = aim
    if t.tables.trie_value[s.trie_node] == aim:
        return 61 if s.phase == IN_ARGUMENT else quote_of(t, s)
    return symbol_of(t, s, toward_name(t, s.trie_node, aim))


@cython.cfunc
def next_aim(t: MatcherState, frame: i64, is_likely: cython.bint) -> i64:
    """Return the declared name that likely comes next in an object; -1 if none does."""
    t.ending.aim = aim_of(t, frame, 0, node_of(t, frame).names, is_likely)
    return t.ending.aim


@cython.cfunc
def aim_of(t: MatcherState, frame: i64, low: i64, high: i64, is_likely: cython.bint) -> i64:
    """Return the declared name of a range that is likely next in an object; -1 if there is none.

    It is the first one in the schema's order behind the last one that was written; where an
    optional one was left out, the first required one. Without `is_likely`, it is the only one.
    """
    node = node_of(t, frame)
    seen = names_at(t, frame)
    words = name_words(t, frame)
    last = cython.cast(cython.longlong, -1)
    if t.arena[frame + CURRENT] >= 0 and has_declared(t, frame):
        last = t.tables.names[node.name0 + t.arena[frame + CURRENT]].place
    following = cython.cast(cython.longlong, -1)
    required = cython.cast(cython.longlong, -1)
    first = cython.cast(cython.longlong, -1)
    count = 0
    has_left_out = False
    for n in range(node.names):
        is_there = t.arena[seen + (n >> 6)] >> (n & 63) & 1
        if is_there or t.arena[seen + words + (n >> 6)] >> (n & 63) & 1 == 0:
            continue
        place = t.tables.names[node.name0 + n].place
        is_required: cython.bint = t.tables.bits[node.required_names + (n >> 6)] >> (n & 63) & 1
        if place < last and not is_required:
            has_left_out = True
        if n < low or n >= high:
            continue
        count += 1
        first = n if first < 0 else first
        if is_required and (required < 0 or place < t.tables.names[node.name0 + required].place):
            required = n
        if place > last and (following < 0 or place < t.tables.names[node.name0 + following].place):
            following = n
    if not is_likely:
        return first if count == 1 else -1
    is_begun: cython.bint = low > 0 or high < node.names
    if following >= 0 and (not has_left_out or (is_begun and required < 0)):
        return following
    return first if is_begun and required < 0 else required


@cython.cfunc
def is_drafted_whole(t: MatcherState, is_likely: cython.bint) -> cython.bint:
    """Return whether the text is complete behind a draft, and likely ends there."""
    s = ending_state(t, 0)
    may_go_on: cython.bint = s.phase == BETWEEN and nearest_symbol(t, s, s.languages & 1) >= 0
    return is_whole_text(t, s) and (is_likely or not may_go_on)
