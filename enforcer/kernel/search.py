"""Search for an end of an element that differs from all before it (`uniqueItems`).

An element is alive if it can still become one that its array does not have. That is plain where
something in it has very many values left; elsewhere a depth-first search over bytes, bounded in
steps, looks for an end. Invariant: a bound that is reached counts as alive, so that no legal token
is masked; `accept` refuses the repeated element itself.
"""

from __future__ import annotations

import cython

from enforcer.kernel.arrays import has_element, index_elements
from enforcer.kernel.automata import answer, child_of, state_behind
from enforcer.kernel.names import keeps_characters
from enforcer.kernel.objects import open_classes
from enforcer.kernel.records import *
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    frame_size,
    level_of,
    names_at,
    needs_fingerprint,
    node_at,
    node_of,
    past_state,
    state_at,
)
from enforcer.kernel.strings import is_quote, quote_of, viable
from enforcer.kernel.turn import READ, REFUSED, TurnFields, end_call, turn_at, turn_step
from enforcer.kernel.values import close_bare, ended_texts, legal_groups, step

if cython.compiled:
    from cython.cimports.libc.string import memcpy

PLACES = cython.declare(cython.int, 16)  # decimal places that a search looks at

_LEAST_TRIED = 16  # steps of any search: many have a single way on

UNKNOWN = cython.declare(cython.int, 2)  # the answer of a search that has not ended


@cython.cfunc
def takes(t: MatcherState, s: cython.pointer[State], token_id: index) -> cython.bint:
    """Advance a state by the bytes of a token; return whether they are legal."""
    return takes_from(t, s, token_id, t.tree.text0[token_id])


@cython.cfunc
def takes_from(
    t: MatcherState, s: cython.pointer[State], token_id: index, first: index
) -> cython.bint:
    """Advance a state by the bytes of a token from an index of all texts on; see `takes`.

    Where the text ends before the token, `unread` counts the bytes that are left.
    """
    end = cython.cast(cython.Py_ssize_t, t.tree.text0[token_id + 1])
    t.unread = 0
    for i in range(first, end):
        if s.phase == DONE:
            t.unread = end - i
            return rest_is_legal(t, token_id, i)
        if not step(t, s, t.tree.text[i]):
            return False
    return can_complete(t, s)


@cython.cfunc
def rest_is_legal(t: MatcherState, token_id: index, at: index) -> cython.bint:
    """Return whether the bytes of a token from an index on may follow a whole text."""
    if t.turn is None:
        return False
    s = turn_at(t.turn, LONGEST + 1)
    s.calls = t.calls
    end_call(t.turn, s)
    return turn_takes(t, token_id, at)


@cython.cfunc
def turn_takes(t: MatcherState, token_id: index, at: index) -> cython.bint:
    """Return whether bytes of a token may follow the last state of the turn, outside of texts."""
    turn = t.turn
    s = turn_at(turn, LONGEST + 1)
    end = cython.cast(cython.Py_ssize_t, t.tree.text0[token_id + 1])
    while at < end:
        found = turn_step(turn, s, cython.cast(cython.longlong, t.tree.text[at]))
        if found == REFUSED:
            return False
        if found == READ:
            at += 1
            continue
        turn.has_begun = True
        begun = text_of(turn, s.low)
        if begun is None:
            return False
        m = cython.cast(MatcherState, begun)
        m.is_exact = True
        lend(m, turn)
        at = takes_text(m, token_id, at)
        m.turn = None
        m.is_exact = False
        if at < 0:
            return False
        if past_state(m, 1).phase != DONE:
            return True
        end_call(turn, s)
    return True


@cython.cfunc
@cython.exceptval(-9, check=False)
def takes_text(m: MatcherState, token_id: index, at: index) -> index:
    """Read bytes of a token from the beginning of a text on; its state is the second of the past.

    Returns:
        The index behind the last byte of the text; -1 if a byte is illegal.

    """
    m.search.frame = -1
    m.search.top = LAST_63
    m.search.tries = MOST_TRIED
    m.past[1] = m.past[0]
    s = past_state(m, 1)
    end = cython.cast(cython.Py_ssize_t, m.tree.text0[token_id + 1])
    while at < end and s.phase != DONE:
        if not step(m, s, m.tree.text[at]):
            return -1
        at += 1
    if s.phase != DONE and not can_complete(m, s):
        return -1
    return at


@cython.cfunc
def lend(m: MatcherState, turn: TurnFields):
    """Let a turn go on where a text ends that is only tried; the caller takes the turn back.

    The turn has the text, and a circle would keep both until the collector of Python runs.
    """
    if turn.after.shape[0] != 0:
        m.turn = turn


@cython.cfunc
def text_of(turn: TurnFields, header: index):
    """Return the matcher at the beginning of the text behind a header; None if none can begin."""
    found = turn.texts[header]
    if found is None:
        found = turn.starts(header)
        if found is not None:
            if not isinstance(found, MatcherState):
                raise TypeError("a text around which tokens cross borders is one of the kernel")
            turn.texts[header] = found
    return found


@cython.cfunc
def can_complete(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Return whether each open element of a distinct array can become one that it lacks."""
    if not needs_fingerprint(t, s.frame):
        return True
    outer = outer_of(t, s, has_many_completions(t, s))
    if outer < 0:
        return True
    if s.phase == IN_STRING and s.pending == 0 and s.frame == t.search.frame:
        if ends_anew(t, ended_texts(t, s), s.fingerprint, outer):
            return True
    return search_end(t, s, outer)


@cython.cfunc
def outer_of(t: MatcherState, s: cython.pointer[State], is_varied: cython.bint) -> i64:
    """Return the outermost array whose open element is not certainly alive; -1 for none.

    Args:
        s: in the element.
        is_varied: whether the value at hand has a great many ways to go on.

    """
    is_begun: cython.bint = (
        s.phase != AFTER and s.phase != ARRAY_OPEN and s.phase != ARRAY_OPEN_SPACED
    )
    outer = cython.cast(cython.longlong, -1)
    inner = outer
    noted = outer
    asked = outer
    frame = s.frame
    while needs_fingerprint(t, frame):
        if noted < 0 and frame != s.frame and frame < t.search.steady:
            asked = 1 if is_varied else 0
            known = answer(t, frame, 0, asked, OUTER)
            if known.found != NOT_ASKED:
                return known.found if known.found >= 0 else outer
            noted = frame
            inner = outer
            outer = -1
        t.work += 1
        if t.arena[frame + KIND] == UNIQUE_VALUES and t.arena[frame + WRITTEN] != 0:
            if is_begun and not is_varied:
                outer = frame
        if not (is_varied or (frame == s.frame and is_empty(s))):
            is_varied = can_vary(t, frame, is_begun, False)
        is_begun = True
        frame = t.arena[frame + PARENT]
    if noted < 0:
        return outer
    answer(t, noted, 0, asked, OUTER).found = outer
    return outer if outer >= 0 else inner


@cython.cfunc
def has_many_completions(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Return whether the value being written has very many ways to go on."""
    if s.phase == BEGIN or s.phase == NAMED:
        return t.tables.bits[node_at(t, s.node).many_words] & s.values != 0
    if s.phase == IN_BARE:
        if s.count > SURE_DIGITS:
            return False
    elif (s.phase != IN_STRING and s.phase != IN_NAME) or s.automaton_state < 0:
        return False
    elif s.pending != 0:
        return endless_characters(t, s) >= 1
    a = automaton_at(t, automaton_of(t, s))
    return has_many(t, a, s.automaton_state, s.languages, s.count)


@cython.cfunc
def endless_characters(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Return how many legal characters leave a string very many ways to go on; -1 for none."""
    if s.automaton_state < 0:
        return -1
    a = automaton_at(t, automaton_of(t, s))
    leads = t.tables.leads[a.states + s.automaton_state] & s.languages
    room = cython.cast(cython.longlong, t.tables.many_steps[a.states + s.automaton_state])
    for k in range(a.bounds):
        bound = t.tables.bounds[a.bound0 + k]
        if leads >> k & 1 and bound.maximum >= 0:
            room = min(room, bound.maximum - a.varied - s.count)
    return max(room, -1)


@cython.cfunc
def has_many(
    t: MatcherState, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
) -> cython.bint:
    """Return whether a text of `count` characters in a state has very many ways to go on."""
    languages &= t.tables.many_words[a.states + state]
    for k in range(a.bounds):
        maximum = t.tables.bounds[a.bound0 + k].maximum
        if 0 <= maximum < count + a.varied:
            languages &= ~bit(k)
    return languages != 0


@cython.cfunc
def ends_anew(t: MatcherState, ended: i64, found: i64, outer: i64) -> cython.bint:
    """Return whether an array lacks the element that ends as `note_end` has found.

    Args:
        ended: the languages that the string is in.
        found: the fingerprint of the string.
        outer: the array.

    """
    if t.search.levels < 0 or ended != t.search.languages or outer != t.search.outer:
        return False
    for k in range(t.search.levels):
        found = (t.search.ends[2 * k + 1] + hash_combine(t.search.ends[2 * k], found)) & LAST_62
    return not has_element(t, outer, found)


@cython.cfunc
def search_end(t: MatcherState, s: cython.pointer[State], outer: i64) -> cython.bint:
    """Return whether the open element of an array has an end that the array lacks.

    True also if a bound is reached: `accept` refuses the repeated element itself.
    """
    is_alone: cython.bint = t.scratch is None
    if is_alone:
        t.scratch = t.tree.borrow()
        t.scratch.begin()
        t.search.steady = s.top
    index_elements(t, outer)
    if cython.compiled:
        memcpy(cython.address(t.scratch.search[0]), s, cython.sizeof(State))
    else:
        t.scratch.search[0] = s
    start = searched_state(t, 0)
    is_text: cython.bint = start.phase == IN_STRING or start.phase == IN_NAME or start.phase > DONE
    if start.pending == CARRIAGE_RETURN and not is_text:
        start.pending = LINE_BREAK
    if not is_text:
        t.search.tries = max(t.search.tries, _LEAST_TRIED)
    t.search.is_far = False
    t.search.reached = -1
    found = seek(t, level_of(t, outer))
    t.search.is_ordered = False
    if t.scratch.indexed > t.search.top:  # other tokens have other elements there
        t.scratch.indexed = 0
    if t.search.reached > 0 and start.frame == t.search.frame:
        note_end(t, outer)
    if is_alone:
        t.tree.spare.append(t.scratch)
        t.scratch = None
        t.search.steady = 0
    return found or t.search.is_far


@cython.cfunc
def seek(t: MatcherState, level: i64) -> cython.bint:
    """Return whether a depth-first search over bytes ends the open element of an array.

    It begins at the first searched state. A recursion would take 400 bytes of stack for each byte.

    Args:
        level: of the array's frame.

    """
    i = cython.cast(cython.Py_ssize_t, 0)
    found = known_end(t, i, level)
    while True:
        if found == UNKNOWN:
            found = seek_on(t, i, level)
            if found == UNKNOWN:
                i += 1
                found = known_end(t, i, level)
                continue
        asked = t.scratch.asked[i]
        if asked != 0 and (found or not t.search.is_far):
            t.scratch.memo[asked & (FINGERPRINT_SLOTS - 1)] = asked << 1 | found
        if i == 0:
            return found
        i -= 1
        if not found:
            found = UNKNOWN


@cython.cfunc
def known_end(t: MatcherState, i: index, level: i64) -> cython.int:
    """Return whether a search ends from its state number `i` on, if that is known.

    Else note that none of its bytes has been tried, and under which fingerprint to note the answer.
    """
    t.scratch.tried[i] = 0
    t.scratch.asked[i] = 0
    s = searched_state(t, i)
    is_text: cython.bint = s.phase == IN_STRING and s.pending == 0
    is_text |= (
        s.phase == IN_BARE and level_of(t, s.frame) == level
    )  # deeper, there would be too many to remember
    if s.phase == BEGIN or is_text:
        found = search_fingerprint(t, s, level)
        if is_text:
            found = hash_combine(
                hash_combine(hash_combine(found, s.fingerprint), s.languages), s.phase
            )
        known = t.scratch.memo[found & (FINGERPRINT_SLOTS - 1)]
        if known >> 1 == found:
            return known & 1
        t.scratch.asked[i] = found
    if i + 2 > t.scratch.search.shape[0]:
        t.search.is_far = True
        return False
    return UNKNOWN


@cython.cfunc
def search_fingerprint(t: MatcherState, s: cython.pointer[State], level: i64) -> i64:
    """Return a fingerprint of all that an element's ends depend on."""
    found = hash_combine(hash_combine(hash_combine(t.scratch.round, level), s.node), s.values)
    frame = s.frame
    while frame >= t.search.steady and level_of(t, frame) >= level:
        found = with_frame(t, found, frame)
        frame = t.arena[frame + PARENT]
    if level_of(t, frame) < level:
        return found
    known = answer(t, frame, 0, level, AROUND)
    if known.found == NOT_ASKED:
        around = cython.cast(cython.longlong, 0)
        outer = frame
        while level_of(t, outer) >= level:
            around = with_frame(t, around, outer)
            outer = t.arena[outer + PARENT]
        answer(t, frame, 0, level, AROUND).found = around
        return hash_combine(found, around)
    return hash_combine(found, known.found)


@cython.cfunc
def with_frame(t: MatcherState, found: i64, frame: i64) -> i64:
    """Combine a frame with a fingerprint."""
    size = frame_size(t, frame)
    t.work += size >> 2
    for i in range(FINGERPRINT, size):
        found = hash_combine(found, t.arena[frame + i])
    return found


@cython.cfunc
def seek_on(t: MatcherState, i: index, level: i64) -> cython.int:
    """Try the next byte behind state number `i`, no white space and no needless escape.

    Returns whether the element has ended, `UNKNOWN` where there is a state behind that byte.
    """
    s = searched_state(t, i)
    first = t.scratch.tried[i]
    is_last: cython.bint = s.phase == IN_BARE and level_of(t, s.frame) == level
    if is_last and first == 0:
        t.scratch.search[i + 1] = t.scratch.search[i]
        if close_bare(t, searched_state(t, i + 1)):
            return True
    is_text: cython.bint = s.phase == IN_STRING or s.phase == IN_NAME
    is_escape: cython.bint = is_text and i > 0 and s.pending & 15 == ESCAPE
    # The members of an object are as different in one order as in any.
    is_own: cython.bint = s.phase == IN_NAME and i > 0 and began_name(t, i)
    groups = legal_groups(t, s)
    if is_last:
        groups &= ~(COMMA_GROUP | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP)
    for k in range(first, t.tree.order.shape[0]):
        byte = cython.cast(cython.longlong, t.tree.order[k] & 255)
        if groups >> (t.tree.order[k] >> 8) & 1 == 0 or (byte == 32 and not is_text):
            continue
        if not is_worth_trying(t, s, byte):
            continue
        if is_escape and (byte == 47 or byte == 85):
            continue  # /, U
        if is_escape and (byte == 117 or byte == 120) and not viable(t, s, 0, 31):
            continue  # u, x
        if t.search.tries <= 0:
            t.search.is_far = True
            return False
        t.search.tries -= 1
        t.work += 4
        t.scratch.search[i + 1] = t.scratch.search[i]
        following = searched_state(t, i + 1)
        t.search.is_ordered = is_own
        if not step(t, following, byte) or (is_last and following.phase != IN_BARE):
            continue
        left = level_of(t, following.frame)
        if left < level or (left == level and following.phase == AFTER):
            t.search.reached = i + 1
            return True
        t.scratch.tried[i] = k + 1
        return UNKNOWN
    return False


@cython.cfunc
def began_name(t: MatcherState, i: index) -> cython.bint:
    """Return whether a search has begun the name that it is in."""
    for k in range(i):
        if searched_state(t, k).phase != IN_NAME:
            return True
    return False


@cython.cfunc
def is_worth_trying(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Return whether a byte is worth a step of a search."""
    if s.phase == IN_BARE:
        return is_needed(t, s, byte)
    if s.phase == BEGIN or s.phase == ARRAY_OPEN:
        if is_quote(t, byte) or byte == 91 or byte == 93 or byte == 123:
            return True
        bare = node_at(t, s.node).bare_automaton
        return bare >= 0 and state_behind(t, automaton_at(t, bare), 0, byte) >= 0
    kind = s.pending & 15
    if (s.phase != IN_STRING and s.phase != IN_NAME) or byte == quote_of(t, s):
        return True
    if byte == 92 and kind == 0:  # an escape, for characters without another spelling
        quote = quote_of(t, s)
        is_control = viable(t, s, 0, 31)
        return is_control or viable(t, s, quote, quote) or viable(t, s, 92, 92)
    if UTF_8_OF_2 <= kind <= UTF_8_OF_4:
        return byte >= 128
    if kind == SECOND_BACKSLASH:
        return byte == 92
    if kind != 0:
        return kind == ESCAPE or byte == 117 or hexadecimal(byte) >= 0
    if byte >= 128:
        missing = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        low = (byte & (63 >> missing)) << (6 * missing)
        return viable(t, s, low, low + bit(6 * missing) - 1)
    if s.trie_node >= 0 and child_of(t, s.trie_node, byte) >= 0:
        return True
    if s.automaton_state < 0:
        return False
    return state_behind(t, automaton_at(t, automaton_of(t, s)), s.automaton_state, byte) >= 0


@cython.cfunc
def is_needed(t: MatcherState, s: cython.pointer[State], byte: i64) -> cython.bint:
    """Return whether a search tries a byte of a number or word."""
    a = automaton_at(t, node_at(t, s.node).bare_automaton)
    state = state_behind(t, a, s.automaton_state, byte)
    if state < 0:
        is_end: cython.bint = byte == 44 or byte == 93 or byte == 125 or byte == 41  # , ] } )
        return is_end and t.tables.accepts[a.states + s.automaton_state] & s.languages != 0
    if t.arena[s.top - s.count] >= 65:  # a word
        return True
    if byte == 101 or byte == 69:  # e, E
        return byte == 101 and s.count > DOUBLE_DIGITS
    if byte == 46:  # a point, behind which there is more than zeros
        for _ in range(PLACES):
            for digit in range(49, 58):
                to = state_behind(t, a, state, digit)
                if to >= 0 and t.tables.leads[a.states + to] & s.languages != 0:
                    return True
            before = state
            state = state_behind(t, a, state, 48)
            if state < 0 or state == before:
                return False
        return False
    if byte == 48 and state == s.automaton_state:  # behind a point, where any number may come
        for i in range(s.top - s.count, s.top):
            if t.arena[i] == 46:
                return False
    return True


@cython.cfunc
def note_end(t: MatcherState, outer: i64) -> cython.bint:
    """Remember the end found for an element whose string ended where the search began.

    Write for each object and array around the string two words of `Search.ends`.
    """
    s = searched_state(t, 0)
    depth = level_of(t, s.frame)
    levels = cython.cast(cython.longlong, 0)
    frame = s.frame
    found = s.fingerprint
    if s.phase != IN_STRING or s.pending != 0 or searched_state(t, 1).phase == IN_STRING:
        return False
    if (keeps_characters(t, s) and t.arena[s.frame + WRITTEN] != 0) or depth - level_of(
        t, outer
    ) > ENDING_LEVELS:
        return False
    for i in range(1, t.search.reached + 1):
        following = searched_state(t, i)
        if level_of(t, following.frame) < depth:
            kind = t.arena[frame + KIND]
            if kind == UNIQUE_VALUES:
                return False
            part = NAME_FINGERPRINT if kind == OBJECT_FRAME else CURRENT
            t.search.ends[2 * levels] = t.arena[frame + part]
            member = hash_combine(t.search.ends[2 * levels], found)
            found = following.fingerprint
            t.search.ends[2 * levels + 1] = found - member
            frame = t.arena[frame + PARENT]
            levels += 1
            depth -= 1
    t.search.levels = levels
    t.search.languages = ended_texts(t, s)
    t.search.outer = outer
    return True


@cython.cfunc
@cython.exceptval(check=False)
def searched_state(t: MatcherState, i: index) -> cython.pointer[State]:
    """Return the state of a search behind `i` bytes."""
    if not cython.compiled:
        return t.scratch.search[i]
    return cython.address(t.scratch.search[i])


@cython.cfunc
def begin_searches(t: MatcherState):
    """Reset searches before a row is made."""
    t.search.tries = MOST_TRIED
    t.search.levels = -1
    t.search.frame = state_at(t, 0).frame
    t.search.top = state_at(t, 0).top
    t.search.steady = t.search.top
    t.scratch.begin()


@cython.cfunc
def varies_around(t: MatcherState, s: cython.pointer[State]) -> cython.bint:
    """Return whether what surrounds the present value has very many ways to go on."""
    frame = s.frame
    may_vary = not is_empty(s)
    noted = cython.cast(cython.longlong, -1)
    found = False
    while not found and frame >= 0 and t.arena[frame + KIND] != UNIQUE_VALUES:
        if may_vary and noted < 0 and frame < t.search.steady:
            known = answer(t, frame, 0, 0, VARIES)
            if known.found != NOT_ASKED:
                return known.found != 0
            noted = frame
        found = may_vary and can_vary(t, frame, 1, True)
        may_vary = True
        frame = t.arena[frame + PARENT]
        t.work += 1
    if noted >= 0:
        answer(t, noted, 0, 0, VARIES).found = found
    return found


@cython.cfunc
def is_empty(s: cython.pointer[State]) -> cython.bint:
    """Return whether nothing may follow in an object or array but its end."""
    return s.phase == OBJECT_OPEN_SPACED or s.phase == ARRAY_OPEN_SPACED


@cython.cfunc
def can_vary(t: MatcherState, frame: i64, begun: i64, lasting: cython.bint) -> cython.bint:
    """Return whether an object or array has very many ways to go on with further parts.

    Args:
        frame: of the object or array.
        begun: how many elements have been begun, 0 or 1.
        lasting: whether very many ways have to be left also behind a part that has few.

    """
    node = node_of(t, frame)
    if t.arena[frame + KIND] != OBJECT_FRAME:
        if node.tallies != 0:
            return False
        length = t.arena[frame + CURRENT] + begun
        place = node.slot0 + min(length, cython.cast(cython.longlong, node.slots) - 1)
        child = node_at(t, t.tables.item_slots[place].node)
        for i in range(node.arrays):
            maximum = t.tables.arrays[node.array0 + i].maximum
            is_endless: cython.bint = maximum < 0
            if not (t.arena[frame + LIVE] >> i & 1 and (is_endless or length < maximum)):
                continue
            for v in range(t.tables.item_slots[place].values):
                if t.tables.bits[t.tables.item_slots[place].fits + v] >> i & 1 == 0:
                    continue
                if is_endless and t.arena[frame + KIND] == ARRAY_FRAME:
                    return True
                if not lasting and t.tables.bits[child.many_words] >> v & 1:
                    return True
        return False
    if node.limits != 0:
        return False
    if node.names_end == 0 and node.classes != 0 and open_classes(t, frame) != 0:
        return True
    for n in range(node.names):
        if t.arena[names_at(t, frame) + (n >> 6)] >> (n & 63) & 1:
            continue
        name = node.name0 + n
        many = t.tables.bits[node_at(t, t.tables.names[name].node).many_words]
        for v in range(t.tables.names[name].values):
            if many >> v & 1:
                fits = t.tables.names[name].fits + v * node.shape_words
                for w in range(node.shape_words):
                    if t.arena[frame + LIVE + w] & t.tables.bits[fits + w]:
                        return True
    t.work += node.names
    return False
