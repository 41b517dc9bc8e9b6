"""The token ids behind which a text can still end within a number of token ids.

Many token ids lead to few states. `ending_key` is a state's configuration with whatever else the
length of its end depends on, so that one search answers for all that share it.
"""

from __future__ import annotations

import cython

from enforcer.kernel.ends import copy_state, cost_of
from enforcer.kernel.names import is_written, keeps_characters
from enforcer.kernel.records import *
from enforcer.kernel.rows import configuration
from enforcer.kernel.search import takes
from enforcer.kernel.state import (
    MatcherState,
    automaton_at,
    automaton_of,
    needs_fingerprint,
    node_of,
    past_state,
    resize_past,
    state_at,
)
from enforcer.kernel.values import marker_of, take_marker

# Units of work of all searches of one call, some 3 ms: a row waits for them.
MOST_FITTING = cython.declare(cython.longlong, 120_000)
_MOST_KNOWN = 4_096  # states of which a text remembers the cost


@cython.cfunc
def tokens_that_fit(t: MatcherState, token_ids, room: i64) -> tuple:
    """Return the legal ones of some token ids; see `TextMatcher.ids_in_time`."""
    ids: cython.const_longlong[::1] = token_ids
    found = []
    leaving = []
    # A row depends on no other row: what is known of a state counts as the work of its search.
    known = t.ending.known
    costs: dict = {}
    work = cython.cast(cython.longlong, 0)
    if t.at + 1 == t.past.shape[0]:
        resize_past(t, 2 * t.past.shape[0])
    scratch = t.tree.borrow()
    t.states = scratch.states
    try:
        for i in range(ids.shape[0]):
            token_id = ids[i]
            t.past[t.at + 1] = t.past[t.at]
            s = past_state(t, t.at + 1)
            marker = marker_of(t, token_id)
            if not (take_marker(t, s, marker) if marker >= 0 else takes(t, s, token_id)):
                continue
            if t.unread != 0:
                leaving.append(token_id)
                continue
            key = ending_key(t, s, scratch.key)
            cost = costs.get(key) if key != 0 else None
            if cost is None:
                if work > MOST_FITTING:
                    continue
                noted = known.get(key) if key != 0 else None
                if noted is None:
                    before = t.work
                    cost = cost_of(t, s)
                    noted = cost, t.work - before
                    if key != 0 and len(known) < _MOST_KNOWN:
                        known[key] = noted
                cost, searched = noted
                work += searched
                if key != 0:
                    costs[key] = cost
            if 0 <= cost <= room:
                found.append(token_id)
    finally:
        t.tree.spare.append(scratch)
    return found, leaving


@cython.cfunc
@cython.exceptval(-9, check=False)
def ending_key(
    t: MatcherState, s: cython.pointer[State], words: cython.longlong[::1]
) -> cython.longlong:
    """Return a hash of what the length of a state's end depends on.

    0 if it depends on names or elements that were written, which a configuration does not have.
    """
    is_kept: cython.bint = keeps_characters(t, s)
    if needs_fingerprint(t, s.frame) or (is_kept and s.phase == IN_STRING):
        return 0
    if is_kept and is_written(t, s.frame, s.top - s.count, s.count):
        return 0
    count = s.count if s.phase == IN_BARE else -1
    is_text: cython.bint = s.phase == IN_STRING or s.phase == IN_NAME or s.phase >= IN_ARGUMENT
    if is_text and s.automaton_state >= 0 and automaton_at(t, automaton_of(t, s)).bounds != 0:
        count = s.count
    frame = s.frame
    while frame >= 0:
        if t.arena[frame + WRITTEN] != 0:
            node = node_of(t, frame)
            is_array: cython.bint = t.arena[frame + KIND] != OBJECT_FRAME
            if is_array or node.names_end != 0 or node.limits != 0 or node.witnesses != 0:
                return 0
        frame = t.arena[frame + PARENT]
    copy_state(state_at(t, 0), s)
    if configuration(t, words, False) == 0:
        return 0
    return hash_combine(words[0], count)
