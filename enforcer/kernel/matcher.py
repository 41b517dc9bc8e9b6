"""The matcher of one argument text: `fill`, `accept`, `rollback`, and what is open.

A call marks the matcher as in use, since what it asks of Python lets other threads run, and they
could free memory to which it has pointers.
"""

from __future__ import annotations

import cython
import numpy as np

from enforcer.errors import ConfigurationError
from enforcer.kernel.aims import costs_of
from enforcer.kernel.costs import learn
from enforcer.kernel.drafts import draft_text, is_drafted_whole, style_of
from enforcer.kernel.ends import (
    cost_of,
    growth_around,
    growth_within,
    ids_of_ending,
    is_whole_text,
)
from enforcer.kernel.fitting import tokens_that_fit
from enforcer.kernel.names import character_of, ending_classes, held, length_of, let_go
from enforcer.kernel.objects import full_at, open_object
from enforcer.kernel.records import *
from enforcer.kernel.rows import fill_row, make_wide_row
from enforcer.kernel.search import takes_from
from enforcer.kernel.state import (
    Ending,
    MatcherState,
    hits_at,
    name_words,
    names_at,
    node_at,
    node_of,
    past_state,
    resize_past,
)
from enforcer.kernel.tables import Tables
from enforcer.kernel.tokens import Tree
from enforcer.kernel.values import marker_of, open_pairs, open_text, take_marker

_IN_USE = "a matcher serves one thread at a time, and this one is in a call of another thread"

_OWN_BYTES = 1_500  # that a text takes beside its arrays


@cython.final
@cython.cclass
class TextMatcher(MatcherState):
    """The state of one argument text; see `enforcer.engines.ArgumentMatcher`.

    Args:
        tree: the vocabulary.
        tables: the grammar, bound to it.

    """

    def __cinit__(self, tree: Tree, tables: Tables):
        begin_text(self)

    def fill(self, row):
        """Write the bitmask row of the token ids that may come next.

        Args:
            row: int32, as many words as the vocabulary's rows have, or more.

        """
        begin_call(self)
        try:
            fill_row(self, row)
        finally:
            self.is_in_use = False

    def accept(self, token_id: i64) -> bool:
        """Advance by one token id; False if it is illegal, the state being unchanged then."""
        begin_call(self)
        try:
            return advance(self, token_id, 0)
        finally:
            self.is_in_use = False

    def accept_rest(self, token_id: i64, start: i64) -> bool:
        """Advance by the bytes of a token id from the byte number `start` on; see `accept`."""
        begin_call(self)
        try:
            return advance(self, token_id, start)
        finally:
            self.is_in_use = False

    @property
    def is_done(self) -> bool:
        """Whether the text has ended by itself, so that no byte may follow in it."""
        return past_state(self, self.at).phase == DONE

    @property
    def left(self) -> int:
        """Bytes of the last token id behind the end of the text."""
        return self.unread

    def rollback(self, count: i64):
        """Take back the last `count` accepted ids.

        Raises:
            ValueError: fewer are kept.

        """
        if self.is_in_use:
            raise ConfigurationError(_IN_USE)
        if count < 0 or count > self.at:
            raise ValueError(f"cannot take back {count} token ids of {self.at}")
        self.at -= count
        self.length -= count

    def token_ids(self) -> list:
        """Return the accepted token ids of the whole text."""
        return [self.accepted[i] for i in range(self.length)]

    def fingerprint(self, behind: i64) -> int:
        """Return a hash of the text's bytes, and special tokens; see `records.hash_combine`.

        Args:
            behind: bytes of the last token id behind the end of the text.

        """
        found = cython.cast(cython.longlong, 0)
        for i in range(self.length):
            first = self.tree.text0[self.accepted[i]]
            end = self.tree.text0[self.accepted[i] + 1]
            if first == end:
                found = hash_combine(found, 256 + self.accepted[i])
            if i == 0:
                first += self.skipped
            if i == self.length - 1:
                end -= behind
            for at in range(first, end):
                found = hash_combine(found, self.tree.text[at])
        return found

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete."""
        return is_whole_text(self, past_state(self, self.at))

    def keep(self, count: i64):
        """Forget what only a rollback of more than the last `count` token ids would need."""
        begin_call(self)
        try:
            let_go(self, count)
        finally:
            self.is_in_use = False

    @property
    def weight(self) -> int:
        """Bytes of this text alone."""
        own = _OWN_BYTES + 4 * self.accepted.shape[0]
        return own + 8 * self.arena.shape[0] + STATE.itemsize * self.past.shape[0]

    def end_cost(self) -> int:
        """Return how many token ids complete the text; -1 if no end is found."""
        begin_call(self)
        try:
            begin_ends(self)
            return cost_of(self, past_state(self, self.at))
        finally:
            self.is_in_use = False

    @property
    def end_start(self) -> int:
        """The token id with which the end begins that `end_cost` has found; -1 if there is none."""
        return -1 if self.ending is None else self.ending.start

    def end_ids(self) -> list:
        """Return the token ids that complete the text; raises `ValueError` if none are found."""
        begin_call(self)
        try:
            begin_ends(self)
            if cost_of(self, past_state(self, self.at)) < 0:
                raise ValueError("no end is known")
            return ids_of_ending(self)
        finally:
            self.is_in_use = False

    def ids_in_time(self, token_ids, room: i64) -> tuple:
        """Return the legal ones of some token ids behind which an end takes at most `room` ids.

        Args:
            token_ids: int64; those which matter most first: when the work is used up, those behind
                which no end has been found yet are left out.
            room: how many ids.

        Returns:
            They, and the legal ones within which the text ends.

        """
        begin_call(self)
        try:
            begin_ends(self)
            return tokens_that_fit(self, token_ids, room)
        finally:
            self.is_in_use = False

    def end_growth(self) -> tuple:
        """Bound by how many token ids the end grows.

        Returns:
            Behind more of what is being written; behind each byte that begins or ends something, -1
            if some value has no end that is known, which a text may begin all the same; once, if
            what is written decides what is around it; and what is being written: 1 for a string, 2
            for raw text, 0 for anything else.

        """
        begin_call(self)
        try:
            begin_ends(self)
            s = past_state(self, self.at)
            is_raw: cython.bint = s.phase == IN_VALUE or s.phase == IN_RAW
            kind = 1 if s.phase == IN_STRING else 2 if is_raw else 0
            growth = costs_of(self).growth
            return growth_within(self, s), growth, growth_around(self, s, True), kind
        finally:
            self.is_in_use = False

    def draft(self, most: i64, style: i64, is_likely: cython.bint) -> tuple:
        """Return the likely continuation of the text; see `enforcer.kernel.drafts`.

        Args:
            most: how many symbols.
            style: of the texts before, see the first line of what is returned.
            is_likely: whether likely names and closing brackets are taken, or only what is forced.

        Returns:
            The style, as bits (`enforcer.kernel.drafts`); what is likely, as bytes with the ids of
            special tokens between them; and whether the text is complete behind it.

        """
        begin_call(self)
        try:
            begin_exact(self)
            if self.is_laid_out:
                begin_ends(self)
            elif self.ending is None:
                self.ending = Ending()
            style = style_of(self, style)
            found = draft_text(self, most, style, is_likely)
            return style, found, is_drafted_whole(self, is_likely)
        finally:
            self.is_in_use = False

    def open_values(self) -> tuple:
        """Return the present state and the objects and arrays around it, the innermost first.

        Returns:
            state: phase, node, values, automaton state, trie node, pending, count, languages.
            text: str, the characters of an undeclared name that is being written.
            frames: a tuple of whole numbers each; sets are bits. An object: 0, node, present name,
                its classes, live shapes, names that are there, names that may come, shapes that are
                full, witnesses. An array: 1, node, length, live arrays, tallies.

        """
        begin_call(self)
        try:
            return describe(self)
        finally:
            self.is_in_use = False

    def undeclared_names(self, level: i64) -> list:
        """Return the undeclared names of the open object that is `level` levels further out."""
        frame = past_state(self, self.at).frame
        for _ in range(level):
            frame = self.arena[frame + PARENT]
        classes = ending_classes(self, frame)
        written = self.arena[frame + WRITTEN]
        found = []
        while written != 0:
            name = written - 1
            length = length_of(self, name)
            found.append(
                "".join([chr(character_of(self, name, classes, i)) for i in range(length)])
            )
            written = self.arena[name] & LOW_HALF
        return found

    def free_row(self, quote: i64):
        """Make the wide row of the first automaton's first state.

        Args:
            quote: the byte that ends a string.

        Returns:
            It, and for each token id the characters that it adds (int32).

        """
        added = np.zeros(self.tree.words * 32, np.int32)
        return make_wide_row(self, 0, 0, quote, added), added


@cython.cfunc
def begin_text(t: MatcherState):
    """Set the state before the first byte; see `TextMatcher`."""
    s = past_state(t, 0)
    s.frame = -1
    s.phase = BEGIN
    s.values = 1
    node = node_at(t, 0)
    if t.is_python:
        if not open_object(t, s):
            s.phase = DONE
    elif t.is_laid_out:
        if not open_pairs(t, s):
            s.phase = DONE
    elif node.raw != OF_JSON:
        s.values = bit(node.values) - 1
        open_text(t, s, IN_RAW)


@cython.cfunc
def begin_call(t: MatcherState) -> cython.int:
    """Raise `ConfigurationError` in the middle of another call; see `is_in_use`."""
    if t.is_in_use:
        raise ConfigurationError(_IN_USE)
    t.is_in_use = True
    return 0


@cython.cfunc
def begin_exact(t: MatcherState):
    """Prepare steps for which names and elements that were written matter."""
    t.work = 0
    t.is_exact = True
    t.search.frame = -1
    t.search.top = LAST_63
    t.search.tries = MOST_TRIED


@cython.cfunc
def begin_ends(t: MatcherState):
    """Prepare searches of ends."""
    begin_exact(t)
    if t.ending is None:
        t.ending = Ending()
    if t.tables.costs is None:
        learn(t)
        t.work = 0
    t.ending.costs = t.tables.costs


@cython.cfunc
def advance(t: MatcherState, token_id: i64, start: i64) -> cython.bint:
    """Advance by one token id; see `accept` and `accept_rest`."""
    begin_exact(t)
    if token_id < 0 or token_id >= t.tree.tokens:
        return False
    first = cython.cast(cython.Py_ssize_t, t.tree.text0[token_id])
    end = t.tree.text0[token_id + 1]
    marker = marker_of(t, token_id)
    if first == end and marker < 0:
        return False
    if t.at + 1 == t.past.shape[0]:
        resize_past(t, 2 * t.past.shape[0])
    t.past[t.at + 1] = t.past[t.at]
    s = past_state(t, t.at + 1)
    if marker >= 0:
        if not take_marker(t, s, marker):
            return False
    elif not takes_from(t, s, token_id, first + start):
        return False
    if t.is_lost:
        raise IndexError(OUT_OF_BOUNDS)
    if t.length == t.accepted.shape[0]:
        wider = np.zeros(2 * t.length, np.int32)
        wider[: t.length] = t.accepted
        t.accepted = wider
    if t.length == 0:
        t.skipped = start
    t.accepted[t.length] = token_id
    t.length += 1
    t.at += 1
    return True


@cython.cfunc
def describe(t: MatcherState) -> tuple:
    """Return what `open_values` returns."""
    s = past_state(t, t.at)
    count = held(t, s)
    typed = "".join([chr(t.arena[s.top - count + i]) for i in range(count)])
    frames = []
    frame = s.frame
    while frame >= 0:
        is_array = t.arena[frame + KIND] != OBJECT_FRAME
        frames.append(open_array_at(t, frame) if is_array else open_object_at(t, frame))
        frame = t.arena[frame + PARENT]
    state = [s.phase, s.node, s.values, s.automaton_state, s.trie_node, s.pending]
    return (*state, s.count, s.languages), typed, frames


@cython.cfunc
def open_array_at(t: MatcherState, frame: i64) -> tuple:
    """Return the entry of `open_values` for an array's frame."""
    words = [1, t.arena[frame + NODE_OF], t.arena[frame + CURRENT]]
    size = LIVE + 1 + node_of(t, frame).tallies
    return (*words, *[t.arena[frame + i] for i in range(LIVE, size)])


@cython.cfunc
def open_object_at(t: MatcherState, frame: i64) -> tuple:
    """Return the entry of `open_values` for an object's frame."""
    node = node_of(t, frame)
    shapes = cython.cast(cython.longlong, node.shape_words)
    seen = names_at(t, frame)
    words = name_words(t, frame)
    full = full_at(t, frame)
    return (
        *(0, t.arena[frame + NODE_OF], t.arena[frame + CURRENT]),
        *(t.arena[frame + CLASSES], bits_at(t, frame + LIVE, shapes)),
        *(bits_at(t, seen, words), bits_at(t, seen + words, words)),
        bits_at(t, full, shapes) if full >= 0 else 0,
        bits_at(t, hits_at(t, frame), node.witnesses * shapes),
    )


@cython.cfunc
def bits_at(t: MatcherState, at: i64, words: i64) -> object:
    """Return words of bits as one number."""
    return int.from_bytes(np.asarray(t.arena[at : at + words]).tobytes(), "little")


if not cython.compiled:
    for _class in (TextMatcher,):
        _class.__init__ = run_cinits
