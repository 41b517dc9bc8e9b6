"""The state of a matcher: its fields, the arena with the frames of open objects and arrays.

Invariant: what lies in the arena is not changed once a token is accepted. A frame that changes is
copied to the end of the arena, so that rollback only goes back in the list of past states.
Pointers into arrays are checked here: an index out of bounds sets `is_lost`, and the call raises.
"""

from __future__ import annotations

import cython
import numpy as np

from enforcer.kernel.records import *
from enforcer.kernel.tables import Tables
from enforcer.kernel.tokens import Scratch, Tree
from enforcer.kernel.turn import TurnFields

_FIRST_ENDING = 16


@cython.final
@cython.cclass
class Search:
    """Inputs and results of searches among distinct elements; see `search`.

    Attributes:
        tries: steps left to all searches of a row, or of an accepted token id.
        is_far: whether the last search has reached a bound.
        reached: bytes behind which the last search found the end of an element; -1 if none.
        frame: the frame of the state of which a row is made; -1 for none.
        top: where the arena goes on behind that state.
        steady: end of the frames that no state of a row or search changes.
        spent: the frame whose string has been tested, except for the tokens that end it.
        is_ordered: whether a search began the name that ends; searches take names in one order.
        levels: how many objects and arrays are around the string of `note_end`; -1 for none.
        ends: two words for each of these levels: the fingerprint of the name, or the place, of the
            part with the string, and the sum of the fingerprints of the other parts.
        languages: the languages that the string of `note_end` is in.
        outer: the array whose element has the string of `note_end`.

    """

    tries: i64
    is_far: cython.bint
    reached: i64
    frame: i64
    top: i64
    steady: i64
    spent: i64
    is_ordered: cython.bint
    levels: i64
    ends: cython.longlong[::1]
    languages: i64
    outer: i64

    def __cinit__(self, tree: Tree, has_unique_values: cython.bint):
        self.tries = 0
        self.is_far = False
        self.reached = -1
        self.frame = -1
        self.top = 0
        self.steady = 0
        self.spent = -1
        self.is_ordered = False
        self.levels = -1
        self.ends = new_words(2 * ENDING_LEVELS) if has_unique_values else tree.blank_words[:0]
        self.languages = 0
        self.outer = -1


@cython.final
@cython.cclass
class Ending:
    """Room for the search of an end.

    Attributes:
        level: of frames around the one at which the search ends, before its bracket; -1 to end with
            the text.
        fitted: the values, as bits, of which that one has to be.
        most: units of work that the matcher may have done when the search gives up.
        looked: frames that `aims.values_wanted` is looking at.
        aim: the name that a draft is writing; -1 if none is known.
        length: symbols of the end that was found: bytes, or from `ends.FIRST_MARKER` on markers.
        first: the token id that `behind_token` has met last.
        costs: see `aims.Costs`; those of the grammar once all are learned.
        known: the costs of states, and the work that each took, by `fitting.ending_key`.
        start: the one with which the end begins; -1 if nothing is missing.

    """

    states: State[::1]
    tried: cython.int[::1]
    symbols: cython.int[::1]
    length: i64
    first: i64
    start: i64
    costs: object
    known: dict
    level: i64
    fitted: i64
    most: i64
    looked: i64
    aim: i64

    def __cinit__(self):
        self.states = new_states(_FIRST_ENDING)
        self.tried = np.zeros(_FIRST_ENDING, np.int32)
        self.symbols = np.zeros(_FIRST_ENDING, np.int32)
        self.length = 0
        self.first = -1
        self.start = -1
        self.costs = None
        self.known = {}
        self.level = -1
        self.fitted = -1
        self.most = 0
        self.looked = 0
        self.aim = -1


@cython.cclass
class MatcherState:
    """The fields of a matcher of one argument text.

    Args:
        tree: the vocabulary.
        tables: the grammar, bound to it.

    Attributes:
        work: units of work of the last `fill` or `accept`; see the package.

    """

    work = cython.declare(cython.longlong, visibility="readonly")
    tree: Tree
    tables = cython.declare(Tables, visibility="readonly")
    is_laid_out: cython.bint  # the text is pairs, rather than JSON
    is_python: cython.bint  # the text is Python's keyword arguments
    has_stops: cython.bint  # a JSON string may hold no delimiter
    is_plain: cython.bint  # names and listed strings have no needless escapes
    turn: TurnFields  # that goes on where the text ends; None where a special token ends it
    turn_id: i64  # rows of texts with the same one may be the same
    calls: i64  # completed before this text
    resting: i64  # where the arena goes on behind the text that a walk has left last
    unread: i64  # bytes of the last token id behind the end of the text

    # Of the whole text.
    arena: cython.longlong[::1]  # frames, and characters that matter later
    past: State[::1]  # the state before each token id that can be taken back, and the present one
    at: i64  # the index of the present one
    accepted: cython.int[::1]  # token ids of the whole text
    length: i64  # how many
    skipped: i64  # bytes of the first one before the text
    collected: i64  # words of the arena when it was collected last

    # Of one call.
    is_lost: cython.bint  # an index was out of bounds
    is_in_use: cython.bint  # set by a call, which clears it when it ends
    is_exact: cython.bint  # names and elements that were written matter, as they do for `accept`
    is_masking: cython.bint  # a row is made
    search: Search
    scratch: Scratch  # room for a row or a search; None between calls
    ending: Ending  # room for the search of an end; None until it is asked for
    states: State[::1]  # of a walk: state `i` is behind `i` bytes of a token
    row: cython.int[::1]  # the row that is filled
    target: object  # whose view `row` is; a view takes half as long as a cached row
    base: index  # number of the wide row that `row` was made from; `NO_BASE` for none
    nodes: TrieNode[::1]  # nodes of the trie that is walked
    ids: cython.const_int[::1]  # token ids of that trie
    last_range: index  # number of a range of characters; see `is_in_range`
    limit: i64  # characters up to which tokens of a string are set already; less than 0 for none

    # Of a wide row that is made.
    exits: cython.int[::1]  # see `WideRow`, as for the next four
    depths: cython.int[::1]
    count: i64  # number of exits
    finite_ids: cython.int[::1]
    finite_keys: cython.longlong[::1]
    finite_count: i64  # -1 where finite tokens are not noted
    is_counted: cython.bint  # `added` is wanted
    added: object  # int32; the characters that each token id adds

    def __cinit__(self, tree: Tree, tables: Tables):
        self.tree = tree
        self.tables = tables
        self.turn = None
        self.turn_id = 0
        self.calls = 0
        self.resting = 0
        self.unread = 0
        self.skipped = 0
        self.arena = tree.blank_words.copy() if cython.compiled else new_words(FIRST_WORDS)
        self.past = tree.blank_states.copy()
        self.accepted = tree.blank_ids.copy()
        self.target = None
        self.length = 0
        self.collected = 0
        self.at = 0
        self.work = 0
        self.count = 0
        self.finite_count = -1
        self.last_range = -1
        self.limit = -LAST_62
        self.is_counted = False
        self.is_lost = False
        self.is_in_use = False
        self.is_exact = False
        self.scratch = None
        self.ending = None
        self.is_masking = False
        self.search = Search(tree, tables.has_unique_values)
        self.is_laid_out = tables.pairs.shape[0] != 0
        self.is_python = tables.is_python
        self.has_stops = len(tables.ending) != 0
        self.is_plain = tables.unescaped.shape[0] != 0


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def past_state(t: MatcherState, i: index) -> cython.pointer[State]:
    """Return the state behind `i` of the token ids that can be rolled back."""
    if i < 0 or i >= t.past.shape[0]:
        t.is_lost = True
        i = 0
    if not cython.compiled:
        return t.past[i]
    return cython.address(t.past[i])


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def state_at(t: MatcherState, depth: index) -> cython.pointer[State]:
    """Return the state of a walk behind `depth` bytes of a token."""
    if depth < 0 or depth >= t.states.shape[0]:
        t.is_lost = True
        depth = 0
    if not cython.compiled:
        return t.states[depth]
    return cython.address(t.states[depth])


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def node_at(t: MatcherState, number: index) -> cython.pointer[Node]:
    """Return a node of the grammar."""
    if number < 0 or number >= t.tables.nodes.shape[0]:
        t.is_lost = True
        number = 0
    if not cython.compiled:
        return t.tables.nodes[number]
    return cython.address(t.tables.nodes[number])


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def node_of(t: MatcherState, frame: index) -> cython.pointer[Node]:
    """Return the node of a frame's object or array."""
    if frame < 0 or frame + NODE_OF >= t.arena.shape[0]:
        t.is_lost = True
        return node_at(t, 0)
    return node_at(t, t.arena[frame + NODE_OF])


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def automaton_at(t: MatcherState, number: index) -> cython.pointer[Automaton]:
    """Return an automaton of the grammar."""
    if number < 0 or number >= t.tables.automata.shape[0]:
        t.is_lost = True
        number = 0
    if not cython.compiled:
        return t.tables.automata[number]
    return cython.address(t.tables.automata[number])


@cython.cfunc
@cython.exceptval(-9, check=False)
def automaton_of(t: MatcherState, s: cython.pointer[State]) -> index:
    """Return the number of the automaton of the string, name or word that a state is in."""
    if s.phase == IN_STRING or s.phase == IN_RAW or s.phase == IN_VALUE:
        return node_at(t, s.node).string_automaton
    if s.phase == IN_NAME or s.phase == IN_KEY or s.phase == IN_ARGUMENT:
        return node_of(t, s.frame).class_automaton
    if s.phase == IN_ANY:
        return s.node
    if s.phase == BETWEEN:
        return t.tables.pairs[AROUND_PAIRS]
    if s.phase == BEHIND_KEY:
        return t.tables.pairs[AROUND_VALUES]
    if s.phase == BEHIND_NESTED:
        return t.tables.pairs[AROUND_NESTED]
    return node_at(t, s.node).bare_automaton


@cython.cfunc
def state_of_text(t: MatcherState, s: cython.pointer[State]) -> index:
    """Return the number of the automaton's state that a string, word or name is in."""
    return automaton_at(t, automaton_of(t, s)).states + s.automaton_state


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def trie_node_at(t: MatcherState, number: index) -> cython.pointer[TrieNode]:
    """Return a node of the trie that is walked."""
    if number < 0 or number >= t.nodes.shape[0]:
        t.is_lost = True
        number = 0
    if not cython.compiled:
        return t.nodes[number]
    return cython.address(t.nodes[number])


@cython.cfunc
def names_at(t: MatcherState, frame: i64) -> i64:
    """Return where an object's frame has the bits of declared names that it has."""
    return frame + LIVE + node_of(t, frame).shape_words


@cython.cfunc
def name_words(t: MatcherState, frame: i64) -> i64:
    """Return how many words of bits an object's frame has for names."""
    return (node_of(t, frame).names + 63) >> 6


@cython.cfunc
def frame_size(t: MatcherState, frame: i64) -> i64:
    """Return how many words a frame has."""
    if t.arena[frame + KIND] != OBJECT_FRAME:
        return LIVE + 1 + node_of(t, frame).tallies
    node = node_of(t, frame)
    return hits_at(t, frame) - frame + node.witnesses * node.shape_words


@cython.cfunc
def hits_at(t: MatcherState, frame: i64) -> i64:
    """Return where an object's frame has the witnesses found for each shape."""
    node = node_of(t, frame)
    counted = counted_at(t, frame)
    return counted if node.limits == 0 else counted + 1 + node.shape_words


@cython.cfunc
def counted_at(t: MatcherState, frame: i64) -> i64:
    """Return where an object's frame has the number of its properties, if it has that."""
    return names_at(t, frame) + 2 * name_words(t, frame)


@cython.cfunc
def new_frame(t: MatcherState, s: cython.pointer[State], node: i64, kind: i64) -> i64:
    """Append an empty frame to the arena and make it a state's; return where the frame is."""
    at = s.top
    reserve(t, at + LIVE)
    t.arena[at + PARENT] = s.frame
    t.arena[at + FINGERPRINT] = 0
    t.arena[at + NAME_FINGERPRINT] = 0
    t.arena[at + IS_FINGERPRINTED] = (
        1 if kind == UNIQUE_VALUES or needs_fingerprint(t, s.frame) else 0
    )
    t.arena[at + LEVEL] = level_of(t, s.frame) + 1
    t.arena[at + KIND] = kind
    t.arena[at + NODE_OF] = node
    size = frame_size(t, at)
    reserve(t, at + size)
    for i in range(CURRENT, size):
        t.arena[at + i] = 0
    s.top = at + size
    s.frame = at
    return at


@cython.cfunc
def needs_fingerprint(t: MatcherState, frame: i64) -> cython.bint:
    """Return whether fingerprints are needed of what is inside a frame."""
    return frame >= 0 and t.arena[frame + IS_FINGERPRINTED] != 0


@cython.cfunc
def level_of(t: MatcherState, frame: i64) -> i64:
    """Return how many frames are around one."""
    return -1 if frame < 0 else t.arena[frame + LEVEL]


@cython.cfunc
def copy_frame(t: MatcherState, s: cython.pointer[State]) -> i64:
    """Append a copy of a state's frame to the arena and make it the state's; return where it is."""
    size = frame_size(t, s.frame)
    t.work += size >> 2
    at = s.top
    reserve(t, at + size)
    for i in range(size):
        t.arena[at + i] = t.arena[s.frame + i]
    s.top = at + size
    s.frame = at
    return at


@cython.cfunc
def reserve(t: MatcherState, end: i64) -> i64:
    """Grow the arena to at least `end` words."""
    if end > t.arena.shape[0]:
        wider = new_words(max(end, 2 * t.arena.shape[0]))
        wider[: t.arena.shape[0]] = t.arena
        t.arena = wider
    return 0


@cython.cfunc
def is_of_pairs(t: MatcherState, frame: i64) -> cython.bint:
    """Return whether a frame is the outermost one of a layout of pairs."""
    return t.is_laid_out and t.arena[frame + PARENT] < 0


@cython.cfunc
def is_of_call(t: MatcherState, frame: i64) -> cython.bint:
    """Return whether a frame is the outermost one of Python's keyword arguments."""
    return t.is_python and t.arena[frame + PARENT] < 0


@cython.cfunc
def bracket_of(t: MatcherState, frame: i64) -> i64:
    """Return the byte that closes a frame."""
    if t.arena[frame + KIND] != OBJECT_FRAME:
        return 93
    return 41 if is_of_call(t, frame) else 125


@cython.cfunc
def resize_past(t: MatcherState, count: index):
    """Resize the list of past states."""
    states = new_states(count)
    past: State[::1] = states
    for i in range(t.at + 1):
        past[i] = t.past[i]
    t.past = states


if not cython.compiled:
    for _class in (Search, Ending, MatcherState):
        _class.__init__ = run_cinits
