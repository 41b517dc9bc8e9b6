# cython: language_level=3, infer_types=True
# cython: wraparound=False, initializedcheck=False, cdivision=True
"""A pushdown automaton for the text of a JSON value, and bitmask rows of a vocabulary for it.

*Theory.* A grammar is a finite set of *nodes*; a node is a set of values of which one has to be
written. Reading a text runs a bottom-up tree automaton over it (Comon et al., Tree Automata
Techniques and Applications, 2008, chapter 8: unranked trees): a finished child reports which values
of its node it fits, and only those shapes of its parent stay live that allow one of them. All
readings of a text are followed at once, as bit sets in the *frames* of the open objects and arrays.
Strings, numbers and names run through deterministic automata over characters, or through tries
where they are listed. A character that is partly written (UTF-8, an escape, half of a surrogate
pair) is a range of code points; the text is a viable prefix if some character of the range is one.

*State.* A `State` is twelve numbers. Frames lie in an arena and are never changed once a token is
accepted; a new one is put on top. So rollback only goes back in a list of states.

*Rows.* The tokens are a trie of bytes (`tree`). A bitmask row is one
walk over it that skips the subtree of an illegal byte. In a string nearly all tokens are legal, so
each automaton state of that kind has a *wide row*: the tokens that stay inside the string, and the
trie nodes where a quote may end it; only from these the walk goes on with the text's own state.
Rows that took much work are kept by *configuration*: all words of the state and of its frames that
a row depends on, compared as a whole. Each grammar holds its rows within a bound in bytes, wide
rows in two generations of which the older goes first; equal wide rows of several grammars are the
same.

*Work* is counted in trie nodes, in ranges of characters that are looked at, and in words of bit
sets where a frame is copied or compared with its shapes.

*Rules of this file.* Compiled by Cython, or interpreted (slowly) for tests. Tables are attributes
of one class and are not passed to an inner function: a view is a structure of 200 bytes. Local
variables have no declared types, since `infer_types` finds them. No `exceptval` of a number that an
inner function may return, unless it raises nothing: the caller would return without an error. Bits
31 and 63 are set by `bit32` and `bit`, because Python's integers do not wrap. Objects are made by
`__cinit__`, which `cls.__new__(cls)` cannot leave out. Recursion goes as deep as a token of a trie
has bytes, and no deeper.
"""

from __future__ import annotations

from hashlib import blake2b
from weakref import WeakValueDictionary

import cython
import numpy as np

from enforcer.errors import ConfigurationError

if cython.compiled:
    from cython.cimports.libc.string import memcpy

i32 = cython.typedef(cython.int)
i64 = cython.typedef(cython.longlong)
index = cython.typedef(cython.Py_ssize_t)


def dtype_of(names: str, kind: type[np.generic]) -> np.dtype:
    """Return the type of records whose fields are all of one kind."""
    return np.dtype([(name, kind) for name in names.split()])


# `pending` is the unfinished character of a string, and the white space before a token elsewhere.
# `values` has a bit for each value of the node that may still be meant, `languages` one for each
# language of the automaton or trie, `count` the characters of the string, `top` the arena's end,
# `stop` how far a delimiter of raw values has been written in a JSON string, or the quote that ends
# one of Python's, `print` of the text that is being written (see `mixed`).
State = cython.struct(
    frame=cython.longlong,
    phase=cython.longlong,
    node=cython.longlong,
    values=cython.longlong,
    automaton_state=cython.longlong,
    trie_node=cython.longlong,
    pending=cython.longlong,
    count=cython.longlong,
    languages=cython.longlong,
    top=cython.longlong,
    stop=cython.longlong,
    print=cython.longlong,
)
STATE = dtype_of(
    "frame phase node values automaton_state trie_node pending count languages top stop print",
    np.int64,
)

# A node of a trie of tokens, in 32 bytes, since a walk meets most nodes in no cache. Siblings lie
# side by side; `ids[rank : rank_end]` are the token ids at and below it, the first `own` at it.
# `height` characters begin from it on.
TrieNode = cython.struct(
    below=cython.longlong,
    child=cython.int,
    rank=cython.int,
    rank_end=cython.int,
    token=cython.int,
    children=cython.ushort,
    own=cython.ushort,
    height=cython.ushort,
    byte=cython.uchar,
    group=cython.uchar,
)
TRIE_NODE = np.dtype(
    [
        ("below", np.int64),
        *((name, np.int32) for name in ("child", "rank", "rank_end", "token")),
        *((name, np.uint16) for name in ("children", "own", "height")),
        *((name, np.uint8) for name in ("byte", "group")),
    ]
)

# The records of tables; `tables` says what their fields are.
Node = cython.struct(
    string_automaton=cython.int,
    string_trie=cython.int,
    bare_automaton=cython.int,
    values=cython.int,
    shape_words=cython.int,
    shapes=cython.int,
    shapes_of=cython.int,
    required_names=cython.int,
    name_trie=cython.int,
    names=cython.int,
    name0=cython.int,
    class_automaton=cython.int,
    classes=cython.int,
    class0=cython.int,
    class_node=cython.int,
    class_values=cython.int,
    arrays=cython.int,
    array0=cython.int,
    arrays_of=cython.int,
    place0=cython.int,
    places=cython.int,
    strings_of=cython.int,
    string_languages=cython.int,
    bare_of=cython.int,
    bare_languages=cython.int,
    limits=cython.int,
    limit0=cython.int,
    least=cython.int,
    room=cython.int,
    tallies=cython.int,
    marks=cython.int,
    mark0=cython.int,
    witnesses=cython.int,
    witnessed=cython.int,
    raw=cython.int,
    names_end=cython.int,
    distinct=cython.int,
    scalars=cython.int,
    json_node=cython.int,
    printed=cython.int,
    vast=cython.int,
)
NODE = dtype_of(
    "string_automaton string_trie bare_automaton values shape_words shapes shapes_of "
    "required_names name_trie names name0 class_automaton classes class0 class_node "
    "class_values arrays array0 arrays_of place0 places strings_of string_languages "
    "bare_of bare_languages limits limit0 least room tallies "
    "marks mark0 witnesses witnessed raw names_end distinct scalars json_node "
    "printed vast",
    np.int32,
)
Name = cython.struct(node=cython.int, values=cython.int, fits=cython.int, required=cython.int)
NAME = dtype_of("node values fits required", np.int32)
Limit = cython.struct(minimum=cython.int, maximum=cython.int, required=cython.int)
LIMIT = dtype_of("minimum maximum required", np.int32)
Mark = cython.struct(name=cython.int, class_=cython.int, value=cython.int, hits=cython.int)
MARK = dtype_of("name class_ value hits", np.int32)
Place = cython.struct(node=cython.int, values=cython.int, fits=cython.int, hits=cython.int)
PLACE = dtype_of("node values fits hits", np.int32)
Array = cython.struct(
    value=cython.int,
    minimum=cython.int,
    maximum=cython.int,
    tally=cython.int,
    counts=cython.int,
    count0=cython.int,
    places=cython.int,
    sums=cython.int,
    need0=cython.int,
    farthest=cython.int,
)
ARRAY = dtype_of(
    "value minimum maximum tally counts count0 places sums need0 farthest",
    np.int32,
)
Count = cython.struct(step=cython.int, most=cython.int, is_bounded=cython.int)
COUNT = dtype_of("step most is_bounded", np.int32)
Need = cython.struct(least=cython.int, most=cython.int)
NEED = dtype_of("least most", np.int32)
Automaton = cython.struct(
    transitions=cython.int,
    classes=cython.int,
    ascii=cython.int,
    range0=cython.int,
    ranges=cython.int,
    states=cython.int,
    kind=cython.int,
    bound0=cython.int,
    bounds=cython.int,
    minimum=cython.int,
    steady=cython.int,
    varied=cython.int,
)
AUTOMATON = dtype_of(
    "transitions classes ascii range0 ranges states kind bound0 bounds minimum steady varied",
    np.int32,
)
Bound = cython.struct(
    minimum=cython.int,
    maximum=cython.int,
    rest0=cython.int,
    steady=cython.int,
)
BOUND = dtype_of("minimum maximum rest0 steady", np.int32)

# What a walk has found of a place within a string, so that it is looked at once a row.
Answer = cython.struct(
    turn=cython.longlong,
    place=cython.longlong,
    languages=cython.longlong,
    asked=cython.longlong,
    found=cython.longlong,
)
ANSWER = dtype_of("turn place languages asked found", np.int64)

# Phases of a text.
BEGIN = cython.declare(cython.int, 0)
OBJECT_OPEN = cython.declare(cython.int, 1)
OBJECT_OPEN_SPACED = cython.declare(cython.int, 2)
IN_NAME = cython.declare(cython.int, 3)
NAMED = cython.declare(cython.int, 4)
AFTER = cython.declare(cython.int, 5)
OBJECT_COMMA = cython.declare(cython.int, 6)
IN_STRING = cython.declare(cython.int, 7)
IN_BARE = cython.declare(cython.int, 8)
ARRAY_OPEN = cython.declare(cython.int, 9)
ARRAY_OPEN_SPACED = cython.declare(cython.int, 10)
DONE = cython.declare(cython.int, 11)
IN_ANY = cython.declare(cython.int, 12)  # a string of the automaton number `node`, in no context
IN_WRITTEN = cython.declare(cython.int, 13)  # a name whose next character is `values`
IN_ARGUMENT = cython.declare(cython.int, 14)  # the name of one of Python's keyword arguments
# Of text as it is, without quotes or escapes; the first one has to stay first.
IN_RAW = cython.declare(cython.int, 15)
IN_KEY = cython.declare(cython.int, 16)  # a name in a layout of pairs
BETWEEN = cython.declare(cython.int, 17)  # pairs: up to a key, or to the end of the text
BEHIND_KEY = cython.declare(cython.int, 18)
IN_VALUE = cython.declare(cython.int, 19)
BEHIND_NESTED = cython.declare(cython.int, 20)  # JSON, up to the end of the delimiter

# Automata of `Tables.pairs`.
AROUND_PAIRS = cython.declare(cython.int, 0)
AROUND_VALUES = cython.declare(cython.int, 1)
AROUND_NESTED = cython.declare(cython.int, 2)
STOPS = cython.declare(cython.int, 3)

# Kinds of automata: of JSON; of raw text that may go on where it is complete; of raw text that ends
# as soon as it is.
OF_JSON = cython.declare(cython.int, 0)
RAW_OPEN = cython.declare(cython.int, 1)
RAW_ENDING = cython.declare(cython.int, 2)

# The unfinished character of a string: its kind, in the next four bits a count, then its bits.
ESCAPE = cython.declare(cython.int, 1)
DIGITS = cython.declare(cython.int, 2)
SECOND_BACKSLASH = cython.declare(cython.int, 3)
SECOND_U = cython.declare(cython.int, 4)
SECOND_DIGITS = cython.declare(cython.int, 5)
UTF_8_OF_2 = cython.declare(cython.int, 6)
UTF_8_OF_3 = cython.declare(cython.int, 7)
UTF_8_OF_4 = cython.declare(cython.int, 8)
HEXADECIMAL = cython.declare(cython.int, 9)  # Python's: the count is of digits that are missing

# White space before a token: a space, a carriage return that a line break must follow, or a line
# break and as many characters of indentation.
SPACE = cython.declare(cython.int, 1)
CARRIAGE_RETURN = cython.declare(cython.int, 2)
LINE_BREAK = cython.declare(cython.int, 3)
INDENTATION = cython.declare(cython.int, 64)
SECOND_SPACE = cython.declare(cython.int, 68)

# Words of a frame. Behind them words of bits: of an array its live shapes (one word), then for each
# that counts its elements or keeps them distinct a word (see `tally_behind`); of an object
# its live shapes, the names that it has, and those that may come; where properties are counted,
# then their count, and the live shapes that have room for nothing but what they require; and for
# each undeclared property that some shape wants (a witness), the shapes that have it.
# No row that is kept depends on the words before `IS_ARRAY`.
PARENT = cython.declare(cython.int, 0)
PRINT = cython.declare(cython.int, 1)  # of what an object or array has so far; see `mixed`
NAME_PRINT = cython.declare(cython.int, 2)  # of the name that was written last
IS_PRINTED = cython.declare(cython.int, 3)  # whether prints are needed of what is in it
LEVEL = cython.declare(cython.int, 4)  # how many frames are around
IS_ARRAY = cython.declare(cython.int, 5)
NODE_OF = cython.declare(cython.int, 6)
CURRENT = cython.declare(cython.int, 7)  # the name being written (-1: undeclared); the elements
CLASSES = cython.declare(cython.int, 8)  # the classes of an undeclared name
WRITTEN = cython.declare(cython.int, 9)  # the last undeclared name or distinct element, and one
LIVE = cython.declare(cython.int, 10)

# What `IS_ARRAY` has where elements are distinct: strings, which are kept themselves; any values,
# of which prints are.
KEEPS = cython.declare(cython.int, 2)
PRINTS = cython.declare(cython.int, 3)

# What is asked of a place; else the range of characters of which one has to lead on.
LEADS_ON = cython.declare(cython.longlong, -1)
ROOM = cython.declare(cython.longlong, -2)
VARIES = cython.declare(cython.longlong, -3)  # these three of a frame that is steady
OUTER = cython.declare(cython.longlong, -4)
AROUND = cython.declare(cython.longlong, -5)
EXACT = cython.declare(cython.longlong, 1 << 60)  # beside a range
NOT_ASKED = cython.declare(cython.longlong, -(1 << 62))
ANSWERS = cython.declare(cython.int, 2048)

# Where prints begin, by the kind of value.
STRING_PRINT = cython.declare(cython.int, 1)
NUMBER_PRINT = cython.declare(cython.int, 2)
WORD_PRINT = cython.declare(cython.int, 3)
ARRAY_PRINT = cython.declare(cython.int, 4)
OBJECT_PRINT = cython.declare(cython.int, 5)
LAST_62 = cython.declare(cython.longlong, (1 << 62) - 1)
SURE_DIGITS = cython.declare(cython.int, 8)  # behind which doubles may be equal
DOUBLE_DIGITS = cython.declare(cython.int, 17)  # behind which all are
WHOLE_DIGITS = cython.declare(cython.int, 18)  # of a number, with its sign, that is its own hash

# `distinct` of a node whose arrays keep no strings distinct, and of one with always more of them.
NOT_KEPT = cython.declare(cython.int, 0)
NEVER_ENDING = cython.declare(cython.int, 0x7FFFFFFF)

# A written name or string: a word with the one before it, the number of its characters and whether
# rows depend on one of both (see `Tree.bears`); where they may run out, for each class or language
# how many of its first characters begin no other one of these, one more than it has if they do; its
# characters.
LENGTH_AT = cython.declare(cython.int, 32)
LENGTHS = cython.declare(cython.longlong, (1 << 29) - 1)
BEARS = cython.declare(cython.longlong, 1 << 62)
IS_ENDED = cython.declare(cython.longlong, 1 << 61)  # of some beginning no name is left
CHARACTERS = cython.declare(cython.longlong, 3)  # in a word
CHARACTER_BITS = cython.declare(cython.longlong, 21)
CHARACTER = cython.declare(cython.longlong, (1 << 21) - 1)

# What a byte does to a string.
ILLEGAL = cython.declare(cython.int, 0)
INSIDE = cython.declare(cython.int, 1)
QUOTE = cython.declare(cython.int, 2)
ILLEGAL_CHARACTER = cython.declare(cython.int, -3)  # in place of an automaton's state

# Groups of bytes (`tree.ASCII_GROUPS`), as bits: white space and the characters of structure.
SPACES = cython.declare(cython.longlong, 1 << 5 | 1 << 62)
QUOTE_GROUP = cython.declare(cython.longlong, 1 << 7)
APOSTROPHE_GROUP = cython.declare(cython.longlong, 1 << 12)
COMMA_GROUP = cython.declare(cython.longlong, 1 << 17)
COLON_GROUP = cython.declare(cython.longlong, 1 << 21)
OPENING_GROUPS = cython.declare(cython.longlong, 1 << 28 | 1 << 34)
BACKSLASH_GROUP = cython.declare(cython.longlong, 1 << 29)
CLOSE_ARRAY_GROUP = cython.declare(cython.longlong, 1 << 30)
CJK_GROUP = cython.declare(cython.longlong, 1 << 58)
BEYOND_ASCII_GROUPS = cython.declare(cython.longlong, 15 << 58)
CLOSE_OBJECT_GROUP = cython.declare(cython.longlong, 1 << 36)
CONTROL_GROUP = cython.declare(cython.longlong, 1 << 62)

LAST_CHARACTER = cython.declare(cython.int, 0x10FFFF)
FIRST_SURROGATE = cython.declare(cython.int, 0xD800)  # in automata the characters of markers
LAST_SURROGATE = cython.declare(cython.int, 0xDFFF)
ALWAYS = cython.declare(cython.int, 63)  # no group of bytes has this number
PRIME = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
ALL_64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
ODD_BITS = cython.declare(cython.ulonglong, 0x5555555555555555)
PAIRS = cython.declare(cython.ulonglong, 0x3333333333333333)
NIBBLES = cython.declare(cython.ulonglong, 0x0F0F0F0F0F0F0F0F)
BYTES = cython.declare(cython.ulonglong, 0x0101010101010101)
LOW_HALF = cython.declare(cython.longlong, 0xFFFFFFFF)
LAST_63 = cython.declare(cython.longlong, 0x7FFFFFFFFFFFFFFF)
FAR = cython.declare(cython.int, 1 << 30)
FAR_STEPS = cython.declare(cython.int, 1 << 28)  # of what is safe for ever
MOST_RESTS = cython.declare(cython.int, 62)  # from which on a bit stands for all lengths
SLOTS = cython.declare(cython.int, 512)  # for kept rows of one grammar
BLOCK = cython.declare(cython.Py_ssize_t, 16)  # words that are compared at once
_LOST = "an index of the kernel is out of bounds"
_IN_USE = "a matcher serves one thread at a time, and this one is in a call of another thread"
LONGEST = 256  # bytes of a token in a trie; a walk takes up to 600 bytes of stack for each
_FIRST_WORDS = 384  # of an arena
_FIRST_STATES = 40
_FIRST_IDS = 128
_STATE_WORDS = 10  # of a configuration; those of its frames follow
_KEY_WORDS = 128
PLACES = cython.declare(cython.int, 16)  # behind a point, that a search looks at
_SEARCHED = 2_048  # bytes of an element that is searched for
_MOST_TRIED = 50_000  # steps of all searches for a row, or for an id
_LEAST_TRIED = 16  # of each of them all the same: many have no way on but one
UNKNOWN = cython.declare(cython.int, 2)  # in place of whether a search has ended
# Of a table of states, and at least of one of prints.
PRINT_SLOTS = cython.declare(cython.longlong, 16_384)
_ENDING = cython.declare(cython.int, 8)  # objects and arrays in one another that end an element

MANY_BOUNDS = cython.declare(cython.int, 4)  # from which on each place is looked at once
BOUNDS_OF_UNIT = cython.declare(cython.int, 4)  # that take as long as a node

_WORK_OF_EXIT = 100  # of a wide row that is made, for the trie of what follows it
_WORTH_KEEPING = 16  # units of work; a row of less is made as quickly as it is found
_MOST_DIFFERING = 1_536  # words
_MANY_DIFFERING = 256
_MOST_TRIES = 64  # behind exits; 15 KB each for Kimi's vocabulary
_KEPT_BYTES = 500  # of a kept row, beside its words
_ROW_BYTES = 1_000  # of another row, beside its arrays
# Bytes of a grammar's rows of configurations, and of half of its wide rows. Of 4,530 schemas of
# MaskBench none needs as many; 20 to 35 KB is a wide row of Kimi's vocabulary.
_MOST_ROWS = cython.declare(cython.longlong, 2 << 20)
_FEW_ROWS = cython.declare(cython.longlong, 128 << 10)  # where the process is over its bound
# What a kept row differs from, where that is no wide row.
NO_BASE = cython.declare(cython.Py_ssize_t, -1)
DIGITS_BASE = cython.declare(cython.Py_ssize_t, -2)
_OWN_BYTES = 1_500  # of a text, beside its arrays


def records(table: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a flat table as records, whose fields are attributes."""
    flat = table.reshape(-1)
    whole = flat.nbytes // dtype.itemsize * dtype.itemsize // flat.itemsize
    return flat[:whole].view(dtype).view(np.recarray)


def new_words(count: int) -> np.ndarray | memoryview:
    """Return so many words of 64 bits, all zero, whose elements are Python's own integers."""
    words = np.zeros(count, np.int64)
    return words if cython.compiled else memoryview(words)


def new_records(count: int, dtype: np.dtype) -> np.ndarray:
    """Return so many records of words of 64 bits, all zero."""
    words = np.zeros(count * len(dtype), np.int64)
    return words.view(dtype) if cython.compiled else records(words, dtype)


def new_states(count: int) -> np.ndarray:
    """Return so many states, all zero."""
    return new_records(count, STATE)


@cython.cfunc
@cython.exceptval(check=False)
def bit(n: i64) -> i64:
    """Return a word with one bit."""
    if not cython.compiled and n == 63:
        return -(1 << 63)
    return cython.cast(cython.longlong, 1) << n


@cython.cfunc
@cython.exceptval(check=False)
def bit32(n: i32) -> i32:
    """Return a word of a bitmask row with one bit."""
    if not cython.compiled and n == 31:
        return -(1 << 31)
    return cython.cast(cython.int, cython.cast(cython.uint, 1) << n)


@cython.cfunc
@cython.exceptval(check=False)
def count_bits(word: i64) -> i64:
    """Return how many bits of a word are set."""
    n = cython.cast(cython.ulonglong, word) & ALL_64
    n -= n >> 1 & ODD_BITS
    n = (n & PAIRS) + (n >> 2 & PAIRS)
    n = n + (n >> 4) & NIBBLES
    return cython.cast(cython.longlong, n * BYTES & ALL_64) >> 56


@cython.cfunc
@cython.exceptval(check=False)
def mixed(found: i64, word: i64) -> i64:
    """Return the print of a sequence with one word more.

    A *print* is a hash of 62 bits. Equal values have equal ones; of others the chance is that of a
    hash, and the error is that a value is illegal as if it were repeated.
    """
    n = cython.cast(cython.ulonglong, found) * PRIME & ALL_64
    n = ((n ^ n >> 32) + cython.cast(cython.ulonglong, word)) * PRIME & ALL_64
    n ^= n >> 29
    n = n * PRIME & ALL_64
    return cython.cast(cython.longlong, n >> 2)


@cython.cfunc
@cython.exceptval(check=False)
def within(first: i64, count: i64, size: i64) -> cython.bint:
    """Return whether so many entries from the first one on are in a table of that size."""
    return first >= 0 and 0 <= count <= size - first


@cython.cfunc
@cython.exceptval(check=False)
def low_half(word: i64) -> i32:
    """Return the lower half of a word, with its sign."""
    if not cython.compiled:
        half = word & LOW_HALF
        return half - (1 << 32) if half >> 31 else half
    return cython.cast(cython.int, word & LOW_HALF)


@cython.cfunc
@cython.exceptval(check=False)
def hexadecimal(byte: i64) -> i64:
    """Return the value of a hexadecimal digit; -1 for any other byte."""
    if 48 <= byte <= 57:
        return byte - 48
    if 97 <= byte <= 102:
        return byte - 87
    if 65 <= byte <= 70:
        return byte - 55
    return -1


@cython.cfunc
@cython.exceptval(check=False)
def is_of_word(byte: i64) -> cython.bint:
    """Return whether a byte may stand in a name of Python's, which are in ASCII here."""
    return 97 <= (byte | 32) <= 122 or 48 <= byte <= 57 or byte == 95


@cython.cfunc
@cython.exceptval(check=False)
def first_byte(character: i64) -> i64:
    """Return the first byte of a character in UTF-8."""
    if character < 0x80:
        return character
    if character < 0x800:
        return 0xC0 | character >> 6
    return 0xE0 | character >> 12 if character < 0x10000 else 0xF0 | character >> 18


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def write_row(target: cython.int[::1], row: cython.const_int[::1], words: index) -> cython.void:
    """Write a row."""
    if cython.compiled:
        memcpy(cython.address(target[0]), cython.address(row[0]), 4 * words)
    else:
        target[:words] = row[:words]


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def write_common(
    target: cython.int[::1],
    row: cython.const_int[::1],
    other: cython.const_int[::1],
    first: index,
    words: index,
) -> cython.void:
    """Write what two rows have in common; the second begins at a word of its view."""
    for i in range(words):
        target[i] = row[i] & other[first + i]


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def differing(
    row: cython.int[::1],
    base: cython.const_int[::1],
    words: index,
    places: cython.int[::1],
    most: index,
) -> index:
    """Write where two rows differ; return in how many words, one more than `most` if in more."""
    count = cython.cast(cython.Py_ssize_t, 0)
    for block in range((words + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        end = min(first + BLOCK, words)
        different = cython.cast(cython.int, 0)
        for i in range(first, end):
            different |= row[i] ^ base[i]
        if different == 0:
            continue
        for i in range(first, end):
            if row[i] != base[i]:
                if count == most:
                    return count + 1
                places[count] = i
                count += 1
    return count


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def write_words(target: cython.int[::1], words: cython.longlong[::1], first: index) -> cython.void:
    """Write words of a row, each with its place in the upper half, from the first one on."""
    for i in range(first, words.shape[0]):
        target[words[i] >> 32] = low_half(words[i])


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def are_equal(one: cython.longlong[::1], other: cython.longlong[::1], words: index) -> cython.bint:
    """Return whether two arrays begin with the same words."""
    for i in range(words):
        if one[i] != other[i]:
            return False
    return True


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(check=False)
def clear_row(target: cython.int[::1], words: index) -> cython.void:
    """Write a row without a bit."""
    for i in range(words):
        target[i] = 0


@cython.final
@cython.cclass
class Scratch:
    """Room for one walk.

    Attributes:
        states: one behind each byte of a token; then as many along a name that was written.
        key: words of a configuration.
        places: words in which two rows differ.
        search: states behind each byte of an element that is searched for; none until needed.
        tried: how many bytes have been tried behind each.
        asked: the print of each under which `told` is to have the answer; 0 for none.
        prints: those of an array's elements, from the slot of its last bits on; 0 for none.
        noted: the last of these elements, as `WRITTEN` has it.
        told: prints of states from which it is known whether an element ends, and the answer.
        round: a number that no other mask or accepted id has.
        answers: see `Answer`.

    """

    states: State[::1]
    answers: Answer[::1]
    key: cython.longlong[::1]
    places: cython.int[::1]
    search: State[::1]
    tried: cython.longlong[::1]
    asked: cython.longlong[::1]
    prints: cython.longlong[::1]
    noted: i64
    told: cython.longlong[::1]
    round: i64

    def __cinit__(self, longest: index):
        self.states = new_states(2 * longest + 2)
        self.key = new_words(_KEY_WORDS)
        self.places = np.zeros(_MOST_DIFFERING, np.int32)
        self.search = new_states(0)
        self.noted = 0
        self.round = 0
        self.answers = new_records(ANSWERS, ANSWER)

    @cython.cfunc
    def begin(self):
        """Forget what was found for another mask or id."""
        self.round += 1
        self.noted = 0
        if self.search.shape[0] == 0:
            self.search = new_states(_SEARCHED)
            self.tried = new_words(_SEARCHED)
            self.asked = new_words(_SEARCHED)
            self.prints = new_words(PRINT_SLOTS)
            self.told = new_words(PRINT_SLOTS)


@cython.final
@cython.cclass
class Trie:
    """A trie of tokens.

    Attributes:
        nodes: them, the roots first.
        ids: the token ids in preorder.
        roots: how many roots there are.

    """

    nodes: TrieNode[::1]
    ids: cython.const_int[::1]
    roots: i64
    charge: Charge  # of one behind exits

    def __cinit__(self, nodes: TrieNode[::1], ids: cython.const_int[::1], roots: i64):
        self.nodes = nodes
        self.ids = ids
        self.roots = roots
        self.charge = None


@cython.final
@cython.cclass
class MemoryCounter:
    """Counts the bytes that texts of an engine's grammars have made: bitmask rows above all.

    Attributes:
        bytes: of all that are alive, whichever grammars share them.
        most: bytes from which on a grammar that makes more rows lets go of nearly all others.

    """

    bytes = cython.declare(cython.longlong, visibility="readonly")
    most = cython.declare(cython.longlong, visibility="public")

    def __cinit__(self):
        self.bytes = 0
        self.most = LAST_62


@cython.final
@cython.no_gc  # its counter is there until the end
@cython.cclass
class Charge:
    """The bytes that one object adds to a counter, for as long as it lives."""

    counter: MemoryCounter
    bytes: i64

    def __cinit__(self, counter: MemoryCounter, count: i64):
        self.counter = counter
        self.bytes = 0
        self.add(count)

    @cython.cfunc
    @cython.exceptval(check=False)
    def add(self, count: i64) -> cython.void:
        """Count more bytes, or fewer."""
        self.bytes += count
        self.counter.bytes += count

    def __dealloc__(self):
        if self.bytes != 0:
            self.counter.bytes -= self.bytes


@cython.cclass
class Row:
    """A bitmask row from which others differ little."""

    row = cython.declare(cython.int[::1], visibility="readonly")
    charge: Charge
    __weakref__: object

    def __cinit__(self, row: cython.int[::1], *more):
        self.row = row
        self.charge = more[len(more) - 1]  # of a wide row the last argument, too


@cython.final
@cython.cclass
class WideRow(Row):
    """The tokens that stay inside a string from one state of its automaton on.

    Attributes:
        exits: trie nodes whose byte is a quote that may end the string.
        depths: the bytes before each.
        groups: the group of the first of these, `ALWAYS` where there is none.
        looping: how many of the exits, the first ones, have nothing before them but characters that
            leave the state as it is.
        behind: the trie of what follows these, the quote included: for all of them the same state.
        finite_ids: the tokens of the row behind which texts of a few lengths are left, in groups.
        finite_ends: where each group ends.
        finite_keys: the state behind its tokens, and in the lower half their characters; -1 where
            a character or an escape is unfinished.

    """

    exits: cython.const_int[::1]
    depths: cython.const_int[::1]
    groups: cython.const_uchar[::1]
    looping: i64
    behind: Trie
    finite_ids: cython.const_int[::1]
    finite_ends: cython.const_int[::1]
    finite_keys: cython.const_longlong[::1]

    def __cinit__(
        self,
        row: cython.int[::1],
        exits: cython.const_int[::1],
        depths: cython.const_int[::1],
        groups: cython.const_uchar[::1],
        looping: i64,
        behind: Trie,
        finite_ids: cython.const_int[::1],
        finite_ends: cython.const_int[::1],
        finite_keys: cython.const_longlong[::1],
        charge: Charge,
    ):
        self.row = row
        self.charge = charge
        self.exits = exits
        self.depths = depths
        self.groups = groups
        self.looping = looping
        self.behind = behind
        self.finite_ids = finite_ids
        self.finite_ends = finite_ends
        self.finite_keys = finite_keys


@cython.final
@cython.cclass
class KeptRow:
    """A bitmask row of a configuration, as what differs from another row.

    Attributes:
        base: the number of the other row, a wide one; or `NO_BASE` (without a bit), `DIGITS_BASE`.
        words: how many words the configuration has; see `Text.configuration`.
        data: them; then each word of the row that differs, and its place in the upper half.

    """

    base: index
    words: i64
    data: cython.longlong[::1]

    def __cinit__(self, base: index, words: i64, count: i64):
        self.base = base
        self.words = words
        self.data = new_words(words + count)


@cython.final
@cython.cclass
class Tree:
    """The text tokens of a vocabulary, shared by all texts.

    Args:
        trie: of the tokens that some text may have, but for those of more than `LONGEST` bytes.
        text0: int32; the bytes of token id `i` are `text[text0[i] : text0[i + 1]]`, none if it is
            no text.
        text: uint8.
        words: of a bitmask row.
        memory: counts what texts make.
        make_trie: makes a `Trie` of texts and token ids.
        bears: tells of a name or string (str), and how many of its first characters begin no other
            one (-1: all do), whether it bears on tokens that begin before it; see `json_text`.
        key_tokens: makes `key_tokens.KeyTokens` of what is around the keys of a layout.
        spanning: int32; the token ids in which a name may end and another one begin.
        listing: int32; those in which a string may end, and another one of an array begin.
        commas: int32; those in which a string of an array may end before another element.
        opening: int32; those in which an array may open, and an element of it end.
        escaping: int32; those with a backslash.
        order: int32; the bytes in the order in which a search tries them, and their groups above.

    Attributes:
        free: the wide row of a string that may be anything.
        raw_free: that of raw text; of Python's strings, that of one between apostrophes.
        digits: the row of the tokens that are digits.

    """

    trie: Trie
    text0: cython.const_int[::1]
    text: cython.const_uchar[::1]
    shorter: cython.const_int[::1]  # rows of the tokens that add at most 0, 1, ... characters
    shorter_rows: i64
    raw_shorter: cython.const_int[::1]  # the same of what `raw_free` is of
    raw_shorter_rows: i64
    nothing: Row  # without a bit
    tokens = cython.declare(cython.longlong, visibility="readonly")
    words = cython.declare(cython.longlong, visibility="readonly")
    free = cython.declare(object, visibility="readonly")
    raw_free = cython.declare(object, visibility="readonly")
    digits: Row
    longest: i64  # bytes of a token of the trie
    longer: cython.const_int[::1]  # the token ids of more bytes
    spare: list  # of states for walks
    make_trie: object
    bears: object
    spanning: cython.const_int[::1]
    listing: cython.const_int[::1]
    commas: cython.const_int[::1]
    opening: cython.const_int[::1]
    escaping: cython.const_int[::1]
    order: cython.const_int[::1]
    most_commas: i64  # in one of these
    key_tokens = cython.declare(object, visibility="readonly")
    tries = cython.declare(dict, visibility="readonly")  # what follows some exits, by their nodes
    shared: object  # rows that some grammar holds, by the content of an automaton and its state
    memory = cython.declare(MemoryCounter, visibility="readonly")

    def __cinit__(
        self,
        trie: Trie,
        text0: cython.const_int[::1],
        text: cython.const_uchar[::1],
        words: i64,
        memory: MemoryCounter,
        make_trie,
        bears,
        key_tokens,
        spanning: cython.const_int[::1],
        listing: cython.const_int[::1],
        commas: cython.const_int[::1],
        opening: cython.const_int[::1],
        escaping: cython.const_int[::1],
        order: cython.const_int[::1],
    ):
        self.trie = trie
        self.text0 = text0
        self.text = text
        self.words = words
        self.make_trie = make_trie
        self.bears = bears
        self.spanning = spanning
        self.listing = listing
        self.commas = commas
        self.opening = opening
        self.escaping = escaping
        self.order = order
        self.key_tokens = key_tokens
        self.most_commas = 0
        for k in range(commas.shape[0]):
            token_id = commas[k]
            count = cython.cast(cython.longlong, 0)
            for i in range(text0[token_id], text0[token_id + 1]):
                if text[i] == 44:
                    count += 1
            self.most_commas = max(self.most_commas, count)
        self.tokens = text0.shape[0] - 1
        self.longest = 0
        longer = []
        for token_id in range(self.tokens):
            length = text0[token_id + 1] - text0[token_id]
            if length > LONGEST:
                longer.append(token_id)
            else:
                self.longest = max(self.longest, length)
        self.longer = np.array(longer, np.int32)
        self.shorter = np.zeros(1, np.int32)
        self.nothing = Row(np.zeros(words, np.int32), Charge(memory, 4 * words))
        self.shorter_rows = 0
        self.raw_shorter = self.shorter
        self.raw_shorter_rows = 0
        self.free = None
        self.raw_free = None
        self.digits = None
        self.spare = []
        self.tries = {}
        self.shared = WeakValueDictionary()
        self.memory = memory

    @cython.cfunc
    def borrow(self) -> Scratch:
        """Return states for a walk, which nobody else uses until they are back in `spare`."""
        return self.spare.pop() if self.spare else Scratch(self.longest)

    def set_rows(self, free: WideRow, shorter: cython.const_int[::1], digits: cython.int[::1]):
        """Set the rows of strings that may be anything, and of digits."""
        self.free = free
        self.digits = Row(digits, Charge(self.memory, 4 * self.words))
        self.shorter = shorter
        self.shorter_rows = shorter.shape[0] // self.words

    def set_raw_rows(self, free: WideRow, shorter: cython.const_int[::1]):
        """Set the rows of raw text, or of strings between apostrophes, that may be anything."""
        self.raw_free = free
        self.raw_shorter = shorter
        self.raw_shorter_rows = shorter.shape[0] // self.words

    @cython.cfunc
    def behind(self, exits, depths) -> Trie:
        """Return the trie of what follows some exits, the quote included."""
        key = exits.tobytes()
        found = self.tries.get(key)
        if found is None:
            pairs = []
            for node, depth in zip(exits.tolist(), depths.tolist(), strict=True):
                at = cython.cast(cython.Py_ssize_t, node)
                for r in range(self.trie.nodes[at].rank, self.trie.nodes[at].rank_end):
                    token_id = self.trie.ids[r]
                    text = self.text[self.text0[token_id] + depth : self.text0[token_id + 1]]
                    pairs.append((bytes(text), token_id))
            pairs.sort()
            found = self.make_trie([text for text, _ in pairs], [i for _, i in pairs])
            trie = cython.cast(Trie, found)
            size = TRIE_NODE.itemsize * trie.nodes.shape[0] + 4 * trie.ids.shape[0]
            trie.charge = Charge(self.memory, size)
            self.tries[key] = found
            if len(self.tries) > _MOST_TRIES:  # clients choose the patterns
                self.tries.pop(next(iter(self.tries)), None)
        return cython.cast(Trie, found)


@cython.final
@cython.cclass
class Tables:
    """The tables of one grammar; see `tables`. Independent of the vocabulary but for `rows`.

    Attributes:
        wide: for each automaton state the number of its wide row; -1 where it has none.
        rows: wide rows by their number, the first two being the tree's own; None until needed. Of
            Python's strings there are two for each number: between quotes, and apostrophes.
        older_rows: those that were held when half of the bound had been used last.
        digests: of each automaton that of its content; None until it is needed.
        pairs: numbers of the automata of a layout of pairs: of the text up to a key (language 0) or
            to the end (language 1), of what is between a key and its value (-1: nothing), of what
            ends a value that is JSON, and of the bytes of a JSON string that hold no delimiter (-1:
            there is no JSON); then what `key_tokens` is made of; empty for JSON.
        markers: the token ids that are characters of raw text, from `FIRST_SURROGATE` on.
        unescaped: for each character of ASCII whether no escape stands for it in names and listed
            strings; empty where one may for all.
        vast: for each automaton state the languages that have many words from there.
        free_to: the characters of a text up to which no greatest length decides behind it.
        vast_steps: how many characters, any that are legal, leave all its languages vast.
        key_bears: for keys of pairs what `Tree.bears` is for names in JSON.
        key_spanning: the token ids in which such a key and its value end.
        ending: for each state of the last automaton of `pairs` the row of the tokens in which a
            delimiter ends; None until it is needed.

    """

    nodes: Node[::1]
    names: Name[::1]
    classes: cython.const_int[::1]
    places: Place[::1]
    arrays: Array[::1]
    limits: Limit[::1]
    marks: Mark[::1]
    counts: Count[::1]
    needs: Need[::1]
    bits: cython.const_longlong[::1]
    trie_edges: cython.const_int[::1]
    edge_character: cython.const_int[::1]
    edge_to: cython.const_int[::1]
    trie_value: cython.const_longlong[::1]
    trie_low: cython.const_longlong[::1]
    trie_high: cython.const_longlong[::1]
    automata: Automaton[::1]
    transitions: cython.const_int[::1]
    ascii: cython.const_int[::1]
    range_low: cython.const_int[::1]
    range_class: cython.const_int[::1]
    accepts: cython.const_longlong[::1]
    leads: cython.const_longlong[::1]
    bounds: Bound[::1]
    rests: cython.const_longlong[::1]
    wide: cython.const_int[::1]
    safe: cython.const_longlong[::1]
    safe_steps: cython.const_int[::1]
    cjk_steps: cython.const_int[::1]
    opens: cython.const_longlong[::1]
    trie_opens: cython.const_longlong[::1]
    vast: cython.const_longlong[::1]
    vast_steps: cython.const_int[::1]
    free_to: cython.const_int[::1]
    pairs: cython.const_int[::1]
    markers: cython.const_int[::1]
    unescaped: cython.const_int[::1]
    white_space: cython.int  # 0: none; 1: no line breaks; 2: the usual; 3: and a second space
    is_python: cython.bint  # whether texts are Python's keyword arguments
    is_open: cython.bint  # whether some object may have undeclared names
    distinct: cython.int  # the least of all nodes that have it
    has_prints: cython.bint  # whether elements of some array are distinct that are no strings
    key_bears: object
    key_spanning: cython.const_int[::1]
    ending: list
    rows = cython.declare(list, visibility="readonly")
    older_rows: list
    row_bytes: i64  # of `rows`
    digests: list
    kept: list  # rows of configurations, in one of two slots by the hash of these
    kept_bytes: i64
    charge: Charge  # for these, and for `shortest`
    arrays_by_name = cython.declare(dict, visibility="readonly")
    shortest = cython.declare(object, visibility="readonly")  # see `enforcer.budget`

    def __cinit__(
        self,
        arrays: dict,
        white_space: cython.int,
        is_python: cython.bint,
        rows: list,
        key_bears,
        key_spanning: cython.const_int[::1],
        memory: MemoryCounter,
    ):
        self.nodes = arrays["nodes"]
        self.names = arrays["names"]
        self.classes = arrays["classes"]
        self.places = arrays["places"]
        self.arrays = arrays["arrays"]
        self.limits = arrays["limits"]
        self.marks = arrays["marks"]
        self.counts = arrays["counts"]
        self.needs = arrays["needs"]
        self.bits = arrays["bits"]
        self.trie_edges = arrays["trie_edges"]
        self.edge_character = arrays["edge_character"]
        self.edge_to = arrays["edge_to"]
        self.trie_value = arrays["trie_value"]
        self.trie_low = arrays["trie_low"]
        self.trie_high = arrays["trie_high"]
        self.trie_opens = arrays["trie_opens"]
        self.read_automata(arrays)
        self.pairs = arrays["pairs"]
        self.markers = arrays["markers"]
        self.unescaped = arrays["unescaped"]
        self.white_space = white_space
        self.is_python = is_python
        self.rows = rows
        self.older_rows = None
        self.row_bytes = 0
        self.digests = [None] * self.automata.shape[0]
        self.key_bears = key_bears
        self.key_spanning = key_spanning
        self.kept = [None] * SLOTS
        self.kept_bytes = 0
        self.charge = Charge(memory, 0)
        self.arrays_by_name = arrays
        self.shortest = None
        self.is_open = False
        self.distinct = NOT_KEPT
        self.has_prints = False
        for k in range(self.nodes.shape[0]):
            if self.nodes[k].distinct != NOT_KEPT:
                least = self.distinct if self.distinct != NOT_KEPT else NEVER_ENDING
                self.distinct = min(least, self.nodes[k].distinct)
            if self.nodes[k].classes != 0:
                self.is_open = True
            if self.nodes[k].printed >= 0:
                self.has_prints = True
        damaged = self.damaged()
        if damaged:
            raise ValueError(f"the table of {damaged} has an index that is out of bounds")
        has_stops = self.pairs.shape[0] != 0 and self.pairs[STOPS] >= 0
        self.ending = [None] * self.states_of(self.pairs[STOPS]) if has_stops else []

    @cython.cfunc
    def read_automata(self, arrays: dict):
        """Take the arrays of automata."""
        self.automata = arrays["automata"]
        self.transitions = arrays["transitions"]
        self.ascii = arrays["ascii"]
        self.range_low = arrays["range_low"]
        self.range_class = arrays["range_class"]
        self.accepts = arrays["accepts"]
        self.leads = arrays["leads"]
        self.bounds = arrays["bounds"]
        self.rests = arrays["rests"]
        self.wide = arrays["wide"]
        self.safe = arrays["safe"]
        self.safe_steps = arrays["safe_steps"]
        self.cjk_steps = arrays["cjk_steps"]
        self.opens = arrays["opens"]
        self.vast = arrays["vast"]
        self.vast_steps = arrays["vast_steps"]
        self.free_to = arrays["free_to"]

    # Every index that a text may follow is checked here, once: the tables come from another
    # process. What is in bounds but wrong gives wrong masks, and nothing worse.

    @cython.cfunc
    def damaged(self) -> object:
        """Return which table has an index that is out of bounds; None if none has."""
        if not 0 <= self.white_space <= 3:
            return "white space"
        if self.unescaped.shape[0] != 0 and self.unescaped.shape[0] != 128:
            return "escapes"
        if not self.automata_fit():
            return "automata"
        if not self.tries_fit():
            return "tries"
        if not self.places_fit():
            return "elements"
        for i in range(self.markers.shape[0]):
            if self.markers[i] < 0:
                return "markers"
        if not self.pairs_fit():
            return "pairs"
        if self.nodes.shape[0] == 0:
            return "nodes"
        for k in range(self.nodes.shape[0]):
            if not (self.scalars_fit(k) and self.objects_fit(k) and self.arrays_fit(k)):
                return "nodes"
            if not self.limits_fit(k):
                return "limits"
            if not self.marks_fit(k):
                return "marks"
        return None if self.name_tries_fit() else "names"

    @cython.cfunc
    def has_bits(self, first: i64, sets: i64, words: i64) -> cython.bint:
        """Return whether there are so many sets of bits, of so many words each."""
        return 0 <= sets <= 64 and within(first, sets * words, self.bits.shape[0])

    @cython.cfunc
    def automata_fit(self) -> cython.bint:
        """Return whether every automaton is in bounds."""
        count = self.wide.shape[0]
        if (
            self.accepts.shape[0] != count
            or self.leads.shape[0] != count
            or self.safe.shape[0] != count
            or self.safe_steps.shape[0] != count
            or self.cjk_steps.shape[0] != count
            or self.opens.shape[0] != count
            or self.vast.shape[0] != count
            or self.vast_steps.shape[0] != count
            or self.free_to.shape[0] != count
            or self.range_class.shape[0] != self.range_low.shape[0]
        ):
            return False
        wide_rows = len(self.rows) >> 1 if self.is_python else len(self.rows)
        for i in range(count):
            if not -1 <= self.wide[i] < wide_rows:
                return False
        for k in range(self.automata.shape[0]):
            if not self.automaton_fits(k):
                return False
        return True

    @cython.cfunc
    def automaton_fits(self, number: index) -> cython.bint:
        """Return whether an automaton leads to states, classes and rows of its own."""
        a = self.automata[number]
        if number + 1 < self.automata.shape[0] and self.automata[number + 1].states < 0:
            return False
        states = self.states_of(number)
        classes = cython.cast(cython.longlong, a.classes)
        if states < 1 or classes < 1 or a.ranges < 1:
            return False
        if not (OF_JSON <= a.kind <= RAW_ENDING and 0 <= a.varied <= 8):
            return False
        if not (
            within(a.states, states, self.wide.shape[0])
            and within(a.transitions, states * classes, self.transitions.shape[0])
            and within(a.ascii, 128, self.ascii.shape[0])
            and within(a.range0, a.ranges, self.range_low.shape[0])
        ):
            return False
        for i in range(a.transitions, a.transitions + states * classes):
            if not -1 <= self.transitions[i] < states:
                return False
        for i in range(a.ascii, a.ascii + 128):
            if not -1 <= self.ascii[i] < classes:
                return False
        if not (0 <= a.bounds < 63 and within(a.bound0, a.bounds, self.bounds.shape[0])):
            return False
        for i in range(a.bound0, a.bound0 + a.bounds):
            rest0 = self.bounds[i].rest0
            if rest0 != -1 and not within(rest0, states, self.rests.shape[0]):
                return False
        if self.range_low[a.range0] != 0:
            return False
        for i in range(a.range0, a.range0 + a.ranges):
            if not -1 <= self.range_class[i] < classes:
                return False
        return True

    @cython.cfunc
    def tries_fit(self) -> cython.bint:
        """Return whether edges lead forward, which also ends every walk."""
        count = self.trie_value.shape[0]
        edges = self.edge_to.shape[0]
        if (
            self.trie_edges.shape[0] != count + 1
            or self.trie_low.shape[0] != count
            or self.trie_high.shape[0] != count
            or self.trie_opens.shape[0] != count
            or self.edge_character.shape[0] != edges
            or self.trie_edges[0] != 0
            or self.trie_edges[count] != edges
        ):
            return False
        for t in range(count):
            if self.trie_edges[t] > self.trie_edges[t + 1]:
                return False
        for t in range(count):
            for i in range(self.trie_edges[t], self.trie_edges[t + 1]):
                if not t < self.edge_to[i] < count:
                    return False
        return True

    @cython.cfunc
    def places_fit(self) -> cython.bint:
        """Return whether the values of elements are nodes."""
        for i in range(self.places.shape[0]):
            place = self.places[i]
            if not (
                0 <= place.node < self.nodes.shape[0] and self.has_bits(place.fits, place.values, 1)
            ):
                return False
        return True

    @cython.cfunc
    def pairs_fit(self) -> cython.bint:
        """Return whether a layout of pairs has its automata."""
        if self.pairs.shape[0] == 0:
            return True
        if self.pairs.shape[0] <= STOPS:
            return False
        for i in range(STOPS + 1):
            if not -1 <= self.pairs[i] < self.automata.shape[0]:
                return False
        return self.pairs[AROUND_PAIRS] >= 0 and self.pairs[AROUND_NESTED] >= 0

    @cython.cfunc
    def scalars_fit(self, number: index) -> cython.bint:
        """Return whether the strings and numbers of a node are in bounds."""
        node = self.nodes[number]
        automata = self.automata.shape[0]
        return (
            0 <= node.values < 63
            and -1 <= node.string_automaton < automata
            and -1 <= node.string_trie < self.trie_value.shape[0]
            and -1 <= node.bare_automaton < automata
            and OF_JSON <= node.raw <= RAW_ENDING
            and node.string_languages < 63
            and self.has_bits(node.strings_of, node.string_languages, 1)
            and node.bare_languages < 63
            and self.has_bits(node.bare_of, node.bare_languages, 1)
            and 0 <= node.scalars <= node.string_languages
            and -1 <= node.json_node < self.nodes.shape[0]
            and self.has_bits(node.vast, 1, 1)
            and (node.printed == -1 or self.has_bits(node.printed, 1, 1))
        )

    @cython.cfunc
    def objects_fit(self, number: index) -> cython.bint:
        """Return whether the objects of a node are in bounds."""
        node = self.nodes[number]
        words = cython.cast(cython.longlong, node.shape_words)
        if not (
            # A frame has these words even where no value of the node is an object.
            self.has_bits(node.shapes_of, max(node.values, 1), words)
            and within(node.name0, node.names, self.names.shape[0])
            and -1 <= node.name_trie < self.trie_value.shape[0]
            and self.has_bits(node.required_names, 1, (node.names + 63) >> 6)
            and within(node.class0, node.classes, self.classes.shape[0])
            and node.classes < 63
            and node.class_values < 63
            and 0 <= node.names_end <= 1
        ):
            return False
        if node.names & 63 and self.bits[node.required_names + (node.names >> 6)] >> (
            node.names & 63
        ):
            return False  # a name behind the last one is required
        for i in range(node.name0, node.name0 + node.names):
            name = self.names[i]
            if not (
                0 <= name.node < self.nodes.shape[0]
                and name.values < 63
                and self.has_bits(name.fits, name.values, words)
                and self.has_bits(name.required, 1, words)
            ):
                return False
        for i in range(node.class0, node.class0 + node.classes):
            if not self.has_bits(self.classes[i], node.class_values, words):
                return False
        return node.classes == 0 or (
            0 <= node.class_automaton < self.automata.shape[0]
            and 0 <= node.class_node < self.nodes.shape[0]
        )

    @cython.cfunc
    def limits_fit(self, number: index) -> cython.bint:
        """Return whether the counts of properties of a node are in bounds."""
        node = self.nodes[number]
        if not (
            within(node.limit0, node.limits, self.limits.shape[0])
            and node.limits <= cython.cast(cython.longlong, node.shape_words) << 6
        ):
            return False
        for i in range(node.limit0, node.limit0 + node.limits):
            if not self.has_bits(self.limits[i].required, 1, (node.names + 63) >> 6):
                return False
        return True

    @cython.cfunc
    def marks_fit(self, number: index) -> cython.bint:
        """Return whether the undeclared properties that count in a node are in bounds."""
        node = self.nodes[number]
        words = cython.cast(cython.longlong, node.shape_words)
        if not (
            within(node.mark0, node.marks, self.marks.shape[0])
            and self.has_bits(node.witnessed, node.witnesses, words)
        ):
            return False
        for i in range(node.mark0, node.mark0 + node.marks):
            mark = self.marks[i]
            if not (
                -1 <= mark.name < node.names
                and (mark.name >= 0 or 0 <= mark.class_ < node.classes)
                and 0 <= mark.value < 63
                and self.has_bits(mark.hits, node.witnesses, words)
            ):
                return False
        return True

    @cython.cfunc
    def arrays_fit(self, number: index) -> cython.bint:
        """Return whether the arrays of a node are in bounds."""
        node = self.nodes[number]
        if not (
            within(node.array0, node.arrays, self.arrays.shape[0])
            and node.arrays < 63
            and (node.arrays == 0 or self.has_bits(node.arrays_of, node.values, 1))
            and within(node.place0, node.places, self.places.shape[0])
            and (node.places > 0 or node.arrays == 0)
            and 0 <= node.tallies <= node.arrays
            and node.distinct >= NOT_KEPT
        ):
            return False
        if node.distinct != NOT_KEPT:
            if node.places != 1:
                return False
            element = self.nodes[self.places[node.place0].node]
            if element.string_automaton < 0 or element.string_trie >= 0:
                return False
        for i in range(node.array0, node.array0 + node.arrays):
            if not 0 <= self.arrays[i].value < 63:
                return False
            if not (-1 <= self.arrays[i].tally < node.tallies and self.counts_fit(i)):
                return False
        if node.tallies != 0:
            for i in range(node.place0, node.place0 + node.places):
                if not self.has_bits(self.places[i].hits, self.places[i].values, node.arrays):
                    return False
        return True

    @cython.cfunc
    def counts_fit(self, number: index) -> cython.bint:
        """Return whether every tally of an array has an entry in the table of needs."""
        array = self.arrays[number]
        sums = cython.cast(cython.longlong, 1)
        if array.tally < 0 or array.counts == 0:
            return True
        if not within(array.count0, array.counts, self.counts.shape[0]) or array.places < 1:
            return False
        for k in range(array.count0, array.count0 + array.counts):
            if self.counts[k].step != sums or self.counts[k].most < 0:
                return False
            sums *= self.counts[k].most + cython.cast(cython.longlong, 1)
            if sums > self.needs.shape[0]:
                return False
        return sums == array.sums and within(array.need0, array.places * sums, self.needs.shape[0])

    @cython.cfunc
    def name_tries_fit(self) -> cython.bint:
        """Return whether each trie of names has names that all its nodes have."""
        count = self.trie_value.shape[0]
        names: cython.longlong[::1] = np.full(max(count, 1), LAST_63, np.int64)
        for k in range(self.nodes.shape[0]):
            root = self.nodes[k].name_trie
            if root >= 0:
                names[root] = min(names[root], self.nodes[k].names)
        for t in range(count):
            most = names[t]
            if most == LAST_63:
                continue
            if not (
                self.trie_value[t] < most and 0 <= self.trie_low[t] < self.trie_high[t] <= most
            ):
                return False
            for i in range(self.trie_edges[t], self.trie_edges[t + 1]):
                to = self.edge_to[i]
                names[to] = min(names[to], most)
        return True

    @cython.cfunc
    def digest_of(self, number: index):
        """Return a digest of all that the rows of an automaton's states depend on."""
        found = self.digests[number]
        if found is None:
            a = self.automata[number]
            states = self.states_of(number)
            end = a.transitions + states * a.classes
            ranges = a.range0 + a.ranges
            sizes = np.array([a.kind, states, a.classes, a.ranges, a.minimum > 0], np.int64)
            hashed = blake2b(sizes.tobytes(), digest_size=32)
            hashed.update(np.asarray(self.transitions[a.transitions : end]))
            hashed.update(np.asarray(self.ascii[a.ascii : a.ascii + 128]))
            hashed.update(np.asarray(self.range_low[a.range0 : ranges]))
            hashed.update(np.asarray(self.range_class[a.range0 : ranges]))
            hashed.update(np.asarray(self.accepts[a.states : a.states + states]))
            hashed.update(np.asarray(self.leads[a.states : a.states + states]))
            hashed.update(np.asarray(self.free_to[a.states : a.states + states]) < 0)
            hashed.update(np.asarray(self.safe[a.states : a.states + states]))
            hashed.update(np.asarray(self.safe_steps[a.states : a.states + states]))
            hashed.update(np.asarray(self.cjk_steps[a.states : a.states + states]))
            found = self.digests[number] = hashed.digest()
        return found

    # A row never changes: one that is let go of serves whoever has it still.

    @cython.cfunc
    def most_rows(self) -> i64:
        """Return the bytes that rows of one kind may take."""
        memory = self.charge.counter
        return _MOST_ROWS if memory.bytes <= memory.most else _FEW_ROWS

    @cython.cfunc
    def row_of(self, number: index):
        """Return a wide row that is held; None if it is not."""
        found = self.rows[number]
        if found is None and self.older_rows is not None:
            found = self.older_rows[number]
            if found is not None:
                self.hold_row(number, cython.cast(Row, found))
        return found

    @cython.cfunc
    def hold_row(self, number: index, row: Row):
        """Hold a wide row; let go of those that were not used while half of the bound filled."""
        gone = None
        if self.row_bytes + row.charge.bytes > self.most_rows():
            gone = self.older_rows
            self.older_rows = self.rows
            self.rows = self.rows[:2] + [None] * (len(self.rows) - 2)
            self.row_bytes = 0
        self.rows[number] = row
        self.row_bytes += row.charge.bytes
        del gone  # last: where a row is freed, other threads may run

    @cython.cfunc
    def keep(self, slot: index, row: KeptRow):
        """Keep the row of a configuration; forget all others where they take too much."""
        size = _KEPT_BYTES + 8 * row.data.shape[0]
        if self.kept_bytes + size > self.most_rows():
            self.charge.add(-self.kept_bytes)
            self.kept = [None] * SLOTS
            self.kept_bytes = 0
        # The one that was there before moves to the other slot.
        before = self.kept[slot]
        gone = self.kept[slot ^ 1] if before is not None else None
        if before is not None:
            self.kept[slot ^ 1] = before
        self.kept[slot] = row
        if gone is not None:
            size -= _KEPT_BYTES + 8 * cython.cast(KeptRow, gone).data.shape[0]
        self.kept_bytes += size
        self.charge.add(size)

    def set_shortest(self, shortest, size: i64):
        """Set what `enforcer.budget` has found, which takes so many bytes."""
        if self.shortest is None:
            self.charge.add(size)
        self.shortest = shortest

    @cython.cfunc
    def states_of(self, number: index) -> index:
        """Return how many states an automaton has."""
        is_last: cython.bint = number + 1 == self.automata.shape[0]
        end = self.wide.shape[0] if is_last else self.automata[number + 1].states
        return end - self.automata[number].states


@cython.final
@cython.cclass
class Text:
    """The state of one argument text; see `enforcer.engines.ArgumentMatcher`.

    Args:
        tree: the vocabulary.
        tables: the grammar, bound to it.

    Attributes:
        work: units of work of the last `fill` or `accept`; see the module.

    """

    work = cython.declare(cython.longlong, visibility="readonly")
    tree: Tree
    tables = cython.declare(Tables, visibility="readonly")
    arena: cython.longlong[::1]
    past: State[
        ::1
    ]  # the state before each accepted id that can be taken back, and the present one
    at: i64  # the present one
    accepted: cython.int[::1]  # token ids of the whole text
    length: i64  # how many
    collected: i64  # words of frames that were left when they were moved last
    states: State[::1]  # of a walk: the state behind so many bytes of a token
    row: cython.int[::1]
    target: object  # whose view the row is; a view takes half as long as a kept row
    base: index  # the number of the wide row that the row was made from; `NO_BASE` for none
    nodes: TrieNode[::1]  # of the trie that is walked
    ids: cython.const_int[::1]
    exits: cython.int[::1]  # of a wide row that is made, as are those below
    depths: cython.int[::1]
    count: i64
    finite_ids: cython.int[::1]  # see `WideRow`
    finite_keys: cython.longlong[::1]
    finite_count: i64  # -1 where they are not noted
    is_counted: cython.bint
    last_range: index  # of characters; see `is_in_range`
    limit: i64  # characters up to which tokens of a string are set already; less than 0 for none
    is_lost: cython.bint  # whether an index was out of bounds
    is_in_use: cython.bint  # by a call, which clears it when it ends
    is_exact: cython.bint  # whether names that were written matter; see `leave_out` for rows
    scratch: Scratch  # of a mask or search
    tries: i64  # that are left of all searches
    is_far: cython.bint  # whether a search has reached a bound
    reached: i64  # behind so many bytes a search found the end of an element
    shared: i64  # the frame of the first state of a mask, and where the arena goes on behind it
    top: i64
    steady: i64  # where frames end that no state of a mask or search changes
    is_masking: cython.bint  # whether a mask is made
    listed: i64  # the frame in whose string only tokens that end it are left to look at
    ends: cython.longlong[::1]  # of what a string is in, to the end of the element; see `note_end`
    levels: i64
    ended: i64
    around: i64
    is_ordered: cython.bint  # whether a search began the name that ends: it takes them in one order
    is_laid_out: cython.bint  # in pairs, rather than as JSON
    is_python: cython.bint
    has_stops: cython.bint  # whether strings of JSON may hold no delimiter
    is_plain: cython.bint  # whether names and listed strings have no needless escapes
    added: object

    def __cinit__(self, tree: Tree, tables: Tables):
        self.tree = tree
        self.tables = tables
        self.arena = new_words(_FIRST_WORDS)
        self.past = new_states(_FIRST_STATES)
        self.accepted = np.zeros(_FIRST_IDS, np.int32)
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
        self.tries = 0
        self.is_far = False
        self.reached = -1
        self.shared = -1
        self.top = 0
        self.steady = 0
        self.is_masking = False
        self.listed = -1
        self.ends = new_words(2 * _ENDING if tables.has_prints else 0)
        self.levels = -1
        self.ended = 0
        self.around = -1
        self.is_ordered = False
        s = self.past_state(0)
        s.frame = -1
        s.phase = BEGIN
        s.values = 1
        self.is_laid_out = tables.pairs.shape[0] != 0
        self.is_python = tables.is_python
        self.has_stops = len(tables.ending) != 0
        self.is_plain = tables.unescaped.shape[0] != 0
        node = self.node(0)
        if self.is_python:
            if not self.open_object(s):
                s.phase = DONE
        elif self.is_laid_out:
            if not self.open_pairs(s):
                s.phase = DONE
        elif node.raw != OF_JSON:
            s.values = bit(node.values) - 1
            self.open_text(s, IN_RAW)

    # As a matcher. What a call asks of Python lets other threads run, and they could free memory to
    # which the call has pointers. Methods without a guard have none then.

    @cython.cfunc
    @cython.exceptval(-1)
    def begin_call(self) -> cython.int:
        """Raise `ConfigurationError` in the middle of another call; see `is_in_use`."""
        if self.is_in_use:
            raise ConfigurationError(_IN_USE)
        self.is_in_use = True
        return 0

    def fill(self, row):
        """Write the bitmask row of the token ids that may come next.

        Args:
            row: int32, as many words as the vocabulary's rows have, or more.

        """
        self.begin_call()
        try:
            self.fill_row(row)
        finally:
            self.is_in_use = False

    @cython.cfunc
    def fill_row(self, row):
        """Write the bitmask row; see `fill`."""
        if row is None or row is not self.target:
            self.target = None
            self.row = row
            if self.row.shape[0] < self.tree.words:
                raise ValueError("the bitmask row is shorter than the vocabulary")
            self.target = row
        self.work = 0
        self.is_exact = False
        scratch = self.tree.borrow()
        self.scratch = scratch
        self.states = scratch.states
        self.states[0] = self.past[self.at]
        scratch.round += 1
        is_naming = self.is_kept(self.state(0))
        self.is_masking = True
        try:
            if self.tables.has_prints:
                self.begin_searches()
            words = self.configuration(scratch.key)
            if words == 0 or not self.recall(scratch.key, words):
                self.mask()
                if not is_naming:
                    self.decide_spanning()
                if self.has_stops:
                    self.clear_ending()
                if words != 0 and self.work >= _WORTH_KEEPING and not self.is_lost:
                    self.remember(scratch, words)
            if is_naming and (self.tables.is_open or self.tables.distinct != NOT_KEPT):
                self.decide_naming()
            if self.tables.has_prints:
                self.leave_out_repeated()
            if self.tree.longer.shape[0] != 0:
                self.work += LONGEST * self.tree.longer.shape[0]
                self.decide(self.tree.longer)
        finally:
            self.is_masking = False
            self.steady = 0
            self.scratch = None
            self.tree.spare.append(scratch)
        if self.is_lost:
            raise IndexError(_LOST)

    def accept(self, token_id: i64) -> bool:
        """Advance by one token id; False if it is illegal, the state being unchanged then."""
        self.begin_call()
        try:
            return self.advance(token_id)
        finally:
            self.is_in_use = False

    @cython.cfunc
    @cython.exceptval(-1)
    def advance(self, token_id: i64) -> cython.bint:
        """Advance by one token id; see `accept`."""
        self.work = 0
        self.is_exact = True
        self.shared = -1
        self.top = LAST_63
        self.tries = _MOST_TRIED
        if token_id < 0 or token_id >= self.tree.tokens:
            return False
        first = self.tree.text0[token_id]
        end = self.tree.text0[token_id + 1]
        marker = self.marker_of(token_id)
        if first == end and marker < 0:
            return False
        if self.at + 1 == self.past.shape[0]:
            self.resize_past(2 * self.past.shape[0])
        self.past[self.at + 1] = self.past[self.at]
        s = self.past_state(self.at + 1)
        if marker >= 0:
            if not self.take_marker(s, marker):
                return False
        elif not self.takes(s, token_id):
            return False
        if self.is_lost:
            raise IndexError(_LOST)
        if self.length == self.accepted.shape[0]:
            wider = np.zeros(2 * self.length, np.int32)
            wider[: self.length] = self.accepted
            self.accepted = wider
        self.accepted[self.length] = token_id
        self.length += 1
        self.at += 1
        return True

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

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete."""
        s = self.past_state(self.at)
        if s.phase == IN_RAW:
            return s.pending == 0 and self.ended_texts(s) != 0
        if s.phase == BETWEEN and s.pending == 0:
            a = self.automaton(self.automaton_of(s))
            return (self.tables.accepts[a.states + s.automaton_state] & s.languages & 2) != 0
        if s.frame >= 0 or s.phase != IN_BARE:
            return s.phase == DONE
        a = self.automaton(self.automaton_of(s))
        return (self.tables.accepts[a.states + s.automaton_state] & s.languages) != 0

    def keep(self, count: i64):
        """Let go of all that only taking back more than the last `count` ids would need."""
        self.begin_call()
        try:
            self.let_go(count)
        finally:
            self.is_in_use = False

    @cython.cfunc
    def let_go(self, count: i64):
        """Let go of what only more than the last `count` ids need; see `keep`."""
        gone = self.at - count
        if gone > 0:
            for i in range(count + 1):
                self.past[i] = self.past[gone + i]
            self.at = count
            if self.past.shape[0] > 4 * (count + _FIRST_STATES):
                self.resize_past(count + _FIRST_STATES)
        # Moved anew at each id, the frames of a deep text would take longer than anything else.
        most = max(_FIRST_WORDS, self.collected + (self.collected >> 2))
        if self.past_state(self.at).top > most:
            self.collect()

    @property
    def weight(self) -> int:
        """Bytes of this text alone."""
        own = _OWN_BYTES + 4 * self.accepted.shape[0]
        return own + 8 * self.arena.shape[0] + STATE.itemsize * self.past.shape[0]

    # What is open, for the search of the shortest end (`enforcer.budget`)

    def open_values(self) -> tuple:
        """Return the present state and the objects and arrays around it, the innermost first.

        Returns:
            Phase, node, values, automaton state, trie node, unfinished character, count and
            languages; the characters of an undeclared name that is being written; of each object 0,
            its node, the present name, the classes of that, live shapes, names that it has, names
            that may come, shapes that have room for nothing else than they require, and witnesses;
            of each array 1, its node, length and live arrays, and its tallies.

        """
        self.begin_call()
        try:
            return self.opened()
        finally:
            self.is_in_use = False

    @cython.cfunc
    def opened(self) -> tuple:
        """Return the present state and what is open; see `open_values`."""
        s = self.past_state(self.at)
        count = self.held(s)
        typed = "".join([chr(self.arena[s.top - count + i]) for i in range(count)])
        frames = []
        frame = s.frame
        while frame >= 0:
            is_array = self.arena[frame + IS_ARRAY] != 0
            frames.append(self.open_array_at(frame) if is_array else self.open_object_at(frame))
            frame = self.arena[frame + PARENT]
        state = [s.phase, s.node, s.values, s.automaton_state, s.trie_node, s.pending]
        return (*state, s.count, s.languages), typed, frames

    def undeclared_names(self, level: i64) -> list:
        """Return the undeclared names of an object that is open, so many levels further out."""
        frame = self.past_state(self.at).frame
        for _ in range(level):
            frame = self.arena[frame + PARENT]
        classes = self.ending_classes(frame)
        written = self.arena[frame + WRITTEN]
        found = []
        while written != 0:
            name = written - 1
            length = self.length_of(name)
            found.append("".join([chr(self.character_of(name, classes, i)) for i in range(length)]))
            written = self.arena[name] & LOW_HALF
        return found

    @cython.cfunc
    def open_object_at(self, frame: i64) -> tuple:
        """Return what `open_values` has of an object."""
        node = self.node_of(frame)
        shapes = cython.cast(cython.longlong, node.shape_words)
        seen = self.names_at(frame)
        words = self.name_words(frame)
        full = self.full_at(frame)
        return (
            *(0, self.arena[frame + NODE_OF], self.arena[frame + CURRENT]),
            *(self.arena[frame + CLASSES], self.bits_at(frame + LIVE, shapes)),
            *(self.bits_at(seen, words), self.bits_at(seen + words, words)),
            self.bits_at(full, shapes) if full >= 0 else 0,
            self.bits_at(self.hits_at(frame), node.witnesses * shapes),
        )

    @cython.cfunc
    def open_array_at(self, frame: i64) -> tuple:
        """Return what `open_values` has of an array."""
        words = [1, self.arena[frame + NODE_OF], self.arena[frame + CURRENT]]
        size = LIVE + 1 + self.node_of(frame).tallies
        return (*words, *[self.arena[frame + i] for i in range(LIVE, size)])

    @cython.cfunc
    def bits_at(self, at: i64, words: i64) -> object:
        """Return words of bits as one number."""
        return int.from_bytes(np.asarray(self.arena[at : at + words]).tobytes(), "little")

    # Kept rows

    @cython.cfunc
    @cython.exceptval(-1)
    def configuration(self, key: cython.longlong[::1]) -> i64:
        """Write all that the row of the first state depends on, and return how many words it has.

        Returns 0 where there are too many.
        """
        s = self.state(0)
        count = cython.cast(cython.longlong, 0)
        key[9] = 0
        if s.phase == IN_STRING or s.phase == IN_NAME or s.phase >= IN_ARGUMENT:
            if s.automaton_state >= 0:
                count = self.relevant_count(s)
            if self.has_stops or self.is_python:
                key[9] = s.stop
            key[6] = s.automaton_state
            key[7] = s.trie_node
            key[8] = s.languages
            if s.automaton_state >= 0:
                key[8] &= ~self.too_long(s)
        elif s.phase == IN_BARE:
            key[6] = s.automaton_state
            key[7] = 0
            key[8] = s.languages
        else:
            key[6] = 0
            key[7] = 0
            key[8] = 0
        is_open: cython.bint = s.phase == BEGIN or s.phase == IN_STRING or s.phase == IN_BARE
        is_open = is_open or s.phase == NAMED or s.phase == ARRAY_OPEN
        is_open = is_open or s.phase == IN_RAW or s.phase >= BEHIND_KEY
        key[1] = s.phase
        key[2] = s.node if is_open else 0
        key[3] = s.values if is_open else 0
        key[4] = s.pending
        key[5] = count
        words = cython.cast(cython.longlong, _STATE_WORDS)
        frame = s.frame
        while frame >= 0:
            size = self.frame_size(frame)
            if words + size > key.shape[0]:
                return 0
            if self.bears_on_tokens(frame):
                return 0
            first = words - IS_ARRAY
            for i in range(IS_ARRAY, size):
                key[first + i] = self.arena[frame + i]
            key[first + WRITTEN] = 0
            if self.arena[frame + IS_ARRAY]:
                key[first + CURRENT] = self.relevant_length(frame)
            elif self.node_of(frame).limits != 0:
                counted = self.counted_at(frame)
                key[first + counted - frame] = self.relevant_properties(frame)
            words += size - IS_ARRAY
            frame = self.arena[frame + PARENT]
        found = cython.cast(cython.ulonglong, words)
        for i in range(1, words):
            found = (found ^ cython.cast(cython.ulonglong, key[i])) * PRIME & ALL_64
            found ^= found >> 29
        key[0] = cython.cast(cython.longlong, found >> 1)
        return words

    @cython.cfunc
    def relevant_count(self, s: cython.pointer[State]) -> i64:
        """Return how many characters a string has, or less than 0 where no token nears a bound.

        Then which of the languages are still too short for any token to end them.
        """
        a = self.automaton(self.automaton_of(s))
        short = cython.cast(cython.longlong, 0)
        if a.bounds == 0:
            return -1
        leads = self.within_bounds(a, s.automaton_state, s.languages, s.count)
        for k in range(a.bounds):
            if leads >> k & 1:
                bound = self.tables.bounds[a.bound0 + k]
                if bound.steady - s.count <= self.tree.longest:
                    return s.count
                if s.count < bound.minimum:
                    # The delimiter of raw text, which the bound counts, may begin earlier.
                    if bound.minimum - s.count <= self.tree.longest + MOST_RESTS:
                        return s.count
                    short |= bit(k)
        return ~short

    @cython.cfunc
    def relevant_length(self, frame: i64) -> i64:
        """Return how many elements an array has, at most so many that more change nothing."""
        node = self.node_of(frame)
        length = self.arena[frame + CURRENT]
        far = cython.cast(cython.longlong, node.places)
        for i in range(node.arrays):
            array = node.array0 + i
            left = cython.cast(cython.longlong, self.tables.arrays[array].maximum) - length
            near = self.tree.longest + self.tables.arrays[array].farthest
            if 0 <= left <= near:
                return length
            far = max(far, self.tables.arrays[array].minimum)
        return min(length, far)

    @cython.cfunc
    def relevant_properties(self, frame: i64) -> i64:
        """Return how many properties an object has, or -1 where no token comes near a bound."""
        node = self.node_of(frame)
        count = self.arena[self.counted_at(frame)]
        if count >= node.least and (node.room < 0 or node.room - count > self.tree.longest):
            return -1
        return count

    @cython.cfunc
    @cython.exceptval(-1)
    def recall(self, key: cython.longlong[::1], words: i64) -> cython.bint:
        """Write the kept row of a configuration, if there is one."""
        slot = key[0] & (SLOTS - 1)
        for i in range(2):
            found = self.tables.kept[slot ^ i]
            if found is None:
                continue
            kept = cython.cast(KeptRow, found)
            if kept.words == words and are_equal(kept.data, key, words):
                if kept.base == NO_BASE:
                    clear_row(self.row, self.tree.words)
                else:
                    base = self.base_row(kept.base)
                    if base is None:  # it is made anew
                        return False
                    write_row(self.row, base.row, self.tree.words)
                write_words(self.row, kept.data, words)
                return True
        return False

    @cython.cfunc
    def base_row(self, number: index) -> Row:
        """Return the row from which one differs; None if it is not held any more."""
        if number == NO_BASE:
            return self.tree.nothing
        if number == DIGITS_BASE:
            return self.tree.digits
        return cython.cast(Row, self.tables.row_of(number))

    @cython.cfunc
    def differences(self, scratch: Scratch) -> index:
        """Write where a row differs from its base, and return in how many words."""
        base = self.base_row(self.base)
        if base is None:
            return _MOST_DIFFERING + 1
        return differing(self.row, base.row, self.tree.words, scratch.places, _MOST_DIFFERING)

    @cython.cfunc
    def remember(self, scratch: Scratch, words: i64):
        """Keep the row of a configuration, unless it differs much from each other one."""
        count = self.differences(scratch)
        if self.base == NO_BASE and count > _MANY_DIFFERING:
            self.base = DIGITS_BASE
            of_digits = self.differences(scratch)
            if of_digits > count:
                self.base = NO_BASE
                self.differences(scratch)
            else:
                count = of_digits
        if count > _MOST_DIFFERING:
            return
        kept = KeptRow(self.base, words, count)
        for i in range(words):
            kept.data[i] = scratch.key[i]
        for i in range(count):
            place = cython.cast(cython.longlong, scratch.places[i])
            word = cython.cast(cython.longlong, self.row[place]) & LOW_HALF
            kept.data[words + i] = place << 32 | word
        self.tables.keep(scratch.key[0] & (SLOTS - 1), kept)

    # Memory

    @cython.cfunc
    def resize_past(self, count: index):
        """Make room for so many states."""
        states = new_states(count)
        past: State[::1] = states
        for i in range(self.at + 1):
            past[i] = self.past[i]
        self.past = states

    @cython.cfunc
    @cython.exceptval(-1)
    def reserve(self, end: i64) -> i64:
        """Make room for so many words of frames."""
        if end > self.arena.shape[0]:
            wider = new_words(max(end, 2 * self.arena.shape[0]))
            wider[: self.arena.shape[0]] = self.arena
            self.arena = wider
        return 0

    @cython.cfunc
    def collect(self):
        """Move the frames and names that some state has to the front of the arena."""
        sizes = {}
        frames = set()
        for i in range(self.at + 1):
            s = self.past_state(i)
            frame = s.frame
            while frame >= 0 and frame not in frames:
                frames.add(frame)
                sizes[frame] = self.frame_size(frame)
                self.add_names(frame, sizes)
                frame = self.arena[frame + PARENT]
            count = self.held(s)
            if count != 0:
                sizes[s.top - count] = max(sizes.get(s.top - count, 0), count)
        moved = {-1: -1}
        top = 0
        for old in sorted(sizes):  # all that one refers to lies before it
            at = cython.cast(cython.longlong, old)
            size = cython.cast(cython.longlong, sizes[old])
            for i in range(size):
                self.arena[top + i] = self.arena[at + i]
            if old in frames:
                self.arena[top + PARENT] = moved[self.arena[top + PARENT]]
                self.arena[top + WRITTEN] = 1 + moved[self.arena[top + WRITTEN] - 1]
            moved[old] = top
            top += size
        self.relink(frames, moved)
        for i in range(self.at + 1):
            s = self.past_state(i)
            s.frame = moved[s.frame]
            count = self.held(s)
            if count != 0:
                s.top = moved[s.top - count] + count
            else:
                s.top = top
        self.collected = top
        room = 2 * max(top, _FIRST_WORDS)
        if self.arena.shape[0] > 2 * room:
            narrower = new_words(room)
            narrower[:] = self.arena[:room]
            self.arena = narrower

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def held(self, s: cython.pointer[State]) -> i64:
        """Return how many characters of a text that is being written end the arena."""
        if s.phase == IN_BARE:
            return s.count
        return s.count if self.is_kept(s) and s.automaton_state >= 0 else 0

    @cython.cfunc
    def add_names(self, frame: i64, sizes: dict):
        """Add the names that a frame has, and how many words each takes."""
        classes = self.ending_classes(frame)
        written = self.arena[frame + WRITTEN]
        while written != 0 and written - 1 not in sizes:
            name = written - 1
            length = self.length_of(name)
            sizes[name] = self.marks_of(classes) + (length + CHARACTERS - 1) // CHARACTERS
            written = self.arena[name] & LOW_HALF

    @cython.cfunc
    def relink(self, frames: set, moved: dict):
        """Set, in the names that were moved, where the one before each is."""
        done = set()
        for old in frames:
            frame = cython.cast(cython.longlong, moved[old])
            classes = self.ending_classes(frame)
            written = self.arena[frame + WRITTEN]
            while written != 0 and written not in done:
                done.add(written)
                before = self.arena[written - 1] & LOW_HALF
                now = 1 + cython.cast(cython.longlong, moved[before - 1])
                self.arena[written - 1] += now - before
                if classes != 0:
                    marked = self.arena[written + classes] - 1
                    self.arena[written + classes] = 1 + cython.cast(cython.longlong, moved[marked])
                written = now

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def past_state(self, i: index) -> cython.pointer[State]:
        """Return the state behind so many of the ids that can be taken back."""
        if i < 0 or i >= self.past.shape[0]:
            self.is_lost = True
            i = 0
        if not cython.compiled:
            return self.past[i]
        return cython.address(self.past[i])

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def state(self, depth: index) -> cython.pointer[State]:
        """Return the state of a walk behind so many bytes."""
        if depth < 0 or depth >= self.states.shape[0]:
            self.is_lost = True
            depth = 0
        if not cython.compiled:
            return self.states[depth]
        return cython.address(self.states[depth])

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def node(self, number: index) -> cython.pointer[Node]:
        """Return a node of the grammar."""
        if number < 0 or number >= self.tables.nodes.shape[0]:
            self.is_lost = True
            number = 0
        if not cython.compiled:
            return self.tables.nodes[number]
        return cython.address(self.tables.nodes[number])

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def node_of(self, frame: index) -> cython.pointer[Node]:
        """Return the node of which a frame's object or array is a value."""
        if frame < 0 or frame + NODE_OF >= self.arena.shape[0]:
            self.is_lost = True
            return self.node(0)
        return self.node(self.arena[frame + NODE_OF])

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def automaton(self, number: index) -> cython.pointer[Automaton]:
        """Return an automaton of the grammar."""
        if number < 0 or number >= self.tables.automata.shape[0]:
            self.is_lost = True
            number = 0
        if not cython.compiled:
            return self.tables.automata[number]
        return cython.address(self.tables.automata[number])

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def automaton_of(self, s: cython.pointer[State]) -> index:
        """Return the number of the automaton of the string, name or word that a state is in."""
        if s.phase == IN_STRING or s.phase == IN_RAW or s.phase == IN_VALUE:
            return self.node(s.node).string_automaton
        if s.phase == IN_NAME or s.phase == IN_KEY or s.phase == IN_ARGUMENT:
            return self.node_of(s.frame).class_automaton
        if s.phase == IN_ANY:
            return s.node
        if s.phase == BETWEEN:
            return self.tables.pairs[AROUND_PAIRS]
        if s.phase == BEHIND_KEY:
            return self.tables.pairs[AROUND_VALUES]
        if s.phase == BEHIND_NESTED:
            return self.tables.pairs[AROUND_NESTED]
        return self.node(s.node).bare_automaton

    # Automata and tries

    @cython.cfunc
    @cython.exceptval(-1)
    def leads_on(
        self, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
    ) -> cython.bint:
        """Return whether a word is reached from an automaton's state, within its length."""
        if state < 0 or self.tables.leads[a.states + state] & languages == 0:
            return False
        if a.bounds == 0:
            return True
        if count <= a.steady and (count >= a.minimum or count < 0):  # of wide rows it is
            return True
        if a.bounds < MANY_BOUNDS or self.scratch is None:
            return self.within_bounds(a, state, languages, count) != 0
        known = self.answer(a.states + state, languages, count, LEADS_ON)
        if known.found == NOT_ASKED:
            known.found = self.within_bounds(a, state, languages, count) != 0
        return known.found != 0

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def answer_in(self, slot: index) -> cython.pointer[Answer]:
        """Return what is known in a slot."""
        if not cython.compiled:
            return self.scratch.answers[slot]
        return cython.address(self.scratch.answers[slot])

    @cython.cfunc
    @cython.exceptval(check=False)
    def answer(self, at: i64, languages: i64, count: i64, asked: i64) -> cython.pointer[Answer]:
        """Return what this walk knows of a place, `NOT_ASKED` if it was not asked before.

        Args:
            at: where the state of an automaton stands in the tables.
            languages: that are followed.
            count: the characters of the string.
            asked: see `LEADS_ON`.

        """
        place = cython.cast(cython.longlong, at) << 32 | (count & LOW_HALF)
        slot = mixed(mixed(place, asked), languages) & (ANSWERS - 1)
        found = self.answer_in(slot)
        if (
            found.turn != self.scratch.round
            or found.place != place
            or found.languages != languages
            or found.asked != asked
        ):
            found.turn = self.scratch.round
            found.place = place
            found.languages = languages
            found.asked = asked
            found.found = NOT_ASKED
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def within_bounds(
        self, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
    ) -> i64:
        """Return the languages of which a word is reached from a state, within its length."""
        languages &= self.tables.leads[a.states + state]
        self.work += a.bounds // BOUNDS_OF_UNIT
        for k in range(a.bounds):
            if languages >> k & 1 and not self.is_within(a.bound0 + k, state, count):
                languages &= ~bit(k)
        return languages

    @cython.cfunc
    @cython.exceptval(-1)
    def is_within(self, number: index, state: i64, count: i64) -> cython.bint:
        """Return whether a word of a length within a bound is reached from a state."""
        bound = self.tables.bounds[number]
        if bound.rest0 < 0:
            return True
        rest = self.tables.rests[bound.rest0 + state]
        left: cython.longlong = FAR
        if bound.maximum >= 0:
            left = cython.cast(cython.longlong, bound.maximum) - count
        if bound.minimum == 0:
            return rest <= left
        if left >= MOST_RESTS and rest >> MOST_RESTS & 1:
            return True
        least = cython.cast(cython.longlong, 0)
        if count < bound.minimum:
            least = cython.cast(cython.longlong, bound.minimum) - count
        left = min(left, cython.cast(cython.longlong, MOST_RESTS - 1))
        if least > left:
            return False
        return rest >> least & (bit(left - least + 1) - 1) != 0

    @cython.cfunc
    def too_long(self, s: cython.pointer[State]) -> i64:
        """Return the languages of a string's automaton that its length has ended."""
        a = self.automaton(self.automaton_of(s))
        leads = self.tables.leads[a.states + s.automaton_state]
        return leads & ~self.within_bounds(a, s.automaton_state, leads, s.count)

    @cython.cfunc
    @cython.exceptval(-1)
    def ended_at(self, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64) -> i64:
        """Return the languages that a text of so many characters is in."""
        languages &= self.tables.accepts[a.states + state]
        if languages == 0:
            return 0
        for k in range(a.bounds):
            bound = self.tables.bounds[a.bound0 + k]
            if count < bound.minimum or 0 <= bound.maximum < count:
                languages &= ~bit(k)
        return languages

    @cython.cfunc
    @cython.exceptval(-1)
    def room_of(self, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64) -> i64:
        """Return how many characters may follow whose number certainly leads to a word.

        Of characters that are safe, as `Automaton.safe` has them. Less than 0 where none may.
        """
        if a.bounds == 0 or count < 0:
            return FAR
        if a.bounds < MANY_BOUNDS or self.scratch is None:
            return self.room_within(a, state, languages, count)
        known = self.answer(a.states + state, languages, count, ROOM)
        if known.found == NOT_ASKED:
            known.found = self.room_within(a, state, languages, count)
        return known.found

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def room_within(
        self, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
    ) -> i64:
        """Return the room of the language with the most, of those that are safe for ever."""
        room = cython.cast(cython.longlong, -1)
        languages &= self.tables.leads[a.states + state]
        self.work += a.bounds // BOUNDS_OF_UNIT
        for k in range(a.bounds):
            if languages >> k & 1:
                bound = self.tables.bounds[a.bound0 + k]
                if (
                    bound.minimum != 0
                    and bound.rest0 >= 0
                    and self.tables.rests[bound.rest0 + state] >> MOST_RESTS & 1 == 0
                ):
                    continue
                room = max(room, cython.cast(cython.longlong, bound.steady) - count)
        return room

    @cython.cfunc
    def is_any_length(self, s: cython.pointer[State]) -> cython.bint:
        """Return whether it decides over no language how many characters of a token follow."""
        a = self.automaton(self.automaton_of(s))
        leads = self.tables.leads[a.states + s.automaton_state]
        for k in range(a.bounds):
            if leads >> k & 1:
                bound = self.tables.bounds[a.bound0 + k]
                if s.count < bound.minimum or bound.steady - s.count < self.tree.longest:
                    return False
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def trie_leads_on(self, s: cython.pointer[State], trie_node: i64) -> cython.bint:
        """Return whether a text below a trie's node may come: of a name, one that may come."""
        if trie_node < 0:
            return False
        low = self.tables.trie_low[trie_node]
        if s.phase != IN_NAME and s.phase != IN_KEY and s.phase != IN_ARGUMENT:
            return low & s.languages != 0
        high = self.tables.trie_high[trie_node]
        possible = self.names_at(s.frame) + self.name_words(s.frame)
        last = (high - 1) >> 6
        for i in range(low >> 6, last + 1):
            word = self.arena[possible + i]
            if i == low >> 6:
                word &= -bit(low & 63)
            if i == last and high & 63 != 0:
                word &= LAST_63 >> (63 - (high & 63))
            if word != 0:
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def range_of(self, a: cython.pointer[Automaton], character: i64) -> index:
        """Return the number of the range of characters that holds one."""
        low = cython.cast(cython.Py_ssize_t, a.range0)
        high = low + a.ranges
        while low < high:
            middle = (low + high) >> 1
            if self.tables.range_low[middle] <= character:
                low = middle + 1
            else:
                high = middle
        return low - 1

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def class_of(self, a: cython.pointer[Automaton], character: i64) -> i64:
        """Return the class of a character, -1 for none."""
        if character < 128:
            return self.tables.ascii[a.ascii + character]
        return self.tables.range_class[self.range_of(a, character)]

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def state_behind(self, a: cython.pointer[Automaton], state: i64, character: i64) -> i64:
        """Return the state that a character leads to, -1 for none."""
        kind = self.class_of(a, character)
        return -1 if kind < 0 else self.tables.transitions[a.transitions + state * a.classes + kind]

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def edge_from(self, trie_node: index, character: i64) -> index:
        """Return the number of the first edge with this character or a later one."""
        low = cython.cast(cython.Py_ssize_t, self.tables.trie_edges[trie_node])
        high = cython.cast(cython.Py_ssize_t, self.tables.trie_edges[trie_node + 1])
        while low < high:
            middle = (low + high) >> 1
            if self.tables.edge_character[middle] < character:
                low = middle + 1
            else:
                high = middle
        return low

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def child_of(self, trie_node: index, character: i64) -> i64:
        """Return the node that a character leads to in a trie, -1 for none."""
        edge = self.edge_from(trie_node, character)
        if edge >= self.tables.trie_edges[trie_node + 1]:
            return -1
        return self.tables.edge_to[edge] if self.tables.edge_character[edge] == character else -1

    @cython.cfunc
    @cython.exceptval(-1)
    def may_escape(self, s: cython.pointer[State], character: i64) -> cython.bint:
        """Return whether an escape may stand for a character in a string or name."""
        if not self.is_plain or character >= self.tables.unescaped.shape[0]:
            return True
        is_listed: cython.bint = s.phase == IN_STRING and s.automaton_state < 0
        return not (is_listed or s.phase == IN_NAME) or not self.tables.unescaped[character]

    @cython.cfunc
    @cython.exceptval(-1)
    def takes_escaped(self, s: cython.pointer[State], character: i64) -> cython.bint:
        """Advance a string or name by a whole character that an escape stands for."""
        return self.may_escape(s, character) and self.take(s, character)

    @cython.cfunc
    @cython.exceptval(-1)
    def escapable(self, s: cython.pointer[State], low: i64, high: i64) -> cython.bint:
        """Return whether an escape of some character of a range may come next."""
        if self.is_plain:
            for character in range(low, min(high + 1, self.tables.unescaped.shape[0])):
                if not self.may_escape(s, character):
                    if self.viable(s, low, character - 1):
                        return True
                    low = character + 1
        return self.viable(s, low, high)

    @cython.cfunc
    @cython.exceptval(-1)
    def viable(self, s: cython.pointer[State], low: i64, high: i64) -> cython.bint:
        """Return whether some character of a range may come next in a string or name."""
        if low > high:
            return False
        if s.phase == IN_WRITTEN:
            return low <= s.values <= high
        if s.automaton_state >= 0 and self.is_in_automaton(s, low, high):
            return True
        if s.trie_node >= 0:
            i = self.edge_from(s.trie_node, low)
            end = self.tables.trie_edges[s.trie_node + 1]
            while i < end and self.tables.edge_character[i] <= high:
                self.work += 1
                if self.trie_leads_on(s, self.tables.edge_to[i]):
                    return True
                i += 1
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def is_in_automaton(self, s: cython.pointer[State], low: i64, high: i64) -> cython.bint:
        """Return whether a character of a range may come next in the automaton of a string."""
        a = self.automaton(self.automaton_of(s))
        at = a.states + s.automaton_state
        asked = cython.cast(cython.longlong, low) << 21 | high
        # Where the names that are there matter, what is known is of the name or string that the
        # first state is in: another one begins in another frame.
        is_known: cython.bint = self.scratch is not None and not self.is_exact
        if self.is_exact and self.is_masking:
            start = self.state(0)
            is_known = self.is_kept(start) and s.frame == start.frame and s.count == start.count
            asked |= EXACT
        if is_known:
            known = self.answer(at, s.languages, s.count, asked)
            if known.found != NOT_ASKED:
                return known.found != 0
        found = False
        first = a.transitions + s.automaton_state * a.classes
        i = self.range_of(a, low)
        while not found and i < a.range0 + a.ranges and self.tables.range_low[i] <= high:
            self.work += 1
            kind = self.tables.range_class[i]
            found = (
                kind >= 0
                and self.leads_on(
                    a, self.tables.transitions[first + kind], s.languages, s.count + 1
                )
                and self.leads_to_name(s, a, i, low, high)
            )
            i += 1
        if is_known:
            self.answer(at, s.languages, s.count, asked).found = found
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def take(self, s: cython.pointer[State], character: i64) -> cython.bint:
        """Advance a string or name by a whole character."""
        state = s.automaton_state
        trie_node = s.trie_node
        if self.is_exact:
            s.print = mixed(s.print, character)
        if s.phase == IN_WRITTEN:
            s.pending = 0
            s.count += 1
            return character == s.values
        if state >= 0:
            a = self.automaton(self.automaton_of(s))
            is_kept = self.is_kept(s)
            if is_kept:
                self.reserve(s.top + 1)
                self.arena[s.top] = character
                s.top += 1
            state = self.state_behind(a, state, character)
            if not self.leads_on(a, state, s.languages, s.count + 1):
                state = -1
            elif is_kept and self.is_exact:
                first = s.top - s.count - 1
                leads = self.tables.leads[a.states + state] & s.languages
                if self.classes_left(s.frame, first, s.count + 1, leads) == 0:
                    state = -1
        if trie_node >= 0:
            trie_node = self.child_of(trie_node, character)
            # Beside an automaton a name that may not come is followed, to be known at its end.
            if state < 0 and not self.trie_leads_on(s, trie_node):
                trie_node = -1
        s.automaton_state = state
        s.trie_node = trie_node
        s.pending = 0
        s.count += 1
        return state >= 0 or trie_node >= 0

    # Strings

    @cython.cfunc
    @cython.exceptval(-1)
    def character_byte(self, s: cython.pointer[State], byte: i64) -> cython.int:
        """Advance a string or name by a byte: `ILLEGAL`, `INSIDE`, or `QUOTE` for its end."""
        if self.is_python:
            return self.python_byte(s, byte)
        if s.pending == 0:
            if byte == 34:
                return QUOTE
            if byte == 92:
                s.pending = ESCAPE
                return self.escapable(s, 0, LAST_CHARACTER)
            return byte >= 32 and self.plain_byte(s, byte)
        kind = s.pending & 15
        count = s.pending >> 4 & 15
        value = s.pending >> 8
        if kind >= UTF_8_OF_2:
            return self.plain_byte(s, byte)
        if kind == ESCAPE:
            return self.escape(s, byte)
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
            return self.digits(s, count + 1, value << 4 | digit)
        return self.second_digits(s, count + 1, value >> 16, (value & 0xFFFF) << 4 | digit)

    @cython.cfunc
    @cython.exceptval(-1)
    def plain_byte(self, s: cython.pointer[State], byte: i64) -> cython.int:
        """Advance a text by a byte that neither ends nor escapes anything."""
        if s.pending != 0:
            if byte & 0xC0 != 0x80:
                return ILLEGAL
            missing = (s.pending >> 4 & 15) - 1
            return self.utf_8(s, s.pending & 15, missing, s.pending >> 8 << 6 | byte & 63)
        if byte < 128:
            return self.take(s, byte)
        if byte < 0xC2 or byte > 0xF4:
            return ILLEGAL
        if byte < 0xE0:
            return self.utf_8(s, UTF_8_OF_2, 1, byte & 31)
        if byte < 0xF0:
            return self.utf_8(s, UTF_8_OF_3, 2, byte & 15)
        return self.utf_8(s, UTF_8_OF_4, 3, byte & 7)

    @cython.cfunc
    @cython.exceptval(-1)
    def utf_8(self, s: cython.pointer[State], kind: i64, missing: i64, value: i64) -> cython.int:
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
            return low <= high and self.take(s, value)
        s.pending = kind | missing << 4 | value << 8
        return self.viable(s, low, high)

    @cython.cfunc
    @cython.exceptval(-1)
    def escape(self, s: cython.pointer[State], byte: i64) -> cython.int:
        """Advance by the byte behind a backslash."""
        if byte == 117:
            s.pending = DIGITS
            return INSIDE
        if byte == 34 or byte == 92 or byte == 47:
            return self.takes_escaped(s, byte)
        if byte == 98:
            return self.take(s, 8)
        if byte == 102:
            return self.take(s, 12)
        if byte == 110:
            return self.take(s, 10)
        if byte == 114:
            return self.take(s, 13)
        return byte == 116 and self.take(s, 9)

    @cython.cfunc
    @cython.exceptval(-1)
    def digits(self, s: cython.pointer[State], count: i64, value: i64) -> cython.int:
        r"""Advance by a digit of `\u....`, which may be the first half of a surrogate pair."""
        missing = 4 * (4 - count)
        low = value << missing
        high = low + bit(missing) - 1
        if count == 4:
            if not 0xD800 <= value <= 0xDFFF:
                return self.takes_escaped(s, value)
            s.pending = SECOND_BACKSLASH | value << 8
        else:
            s.pending = DIGITS | count << 4 | value << 8
            if self.escapable(s, low, high):
                return INSIDE
        low = max(low, 0xD800)
        high = min(high, 0xDBFF)
        return low <= high and self.viable(
            s, 0x10000 + ((low - 0xD800) << 10), 0x103FF + ((high - 0xD800) << 10)
        )

    @cython.cfunc
    def second_digits(
        self, s: cython.pointer[State], count: i64, first: i64, value: i64
    ) -> cython.int:
        """Advance by a digit of the second half of a surrogate pair."""
        missing = 4 * (4 - count)
        low = max(value << missing, 0xDC00)
        high = min((value << missing) + bit(missing) - 1, 0xDFFF)
        if low > high:
            return ILLEGAL
        base = 0x10000 + ((first - 0xD800) << 10) - 0xDC00
        if count == 4:
            return self.take(s, base + value)
        s.pending = SECOND_DIGITS | count << 4 | (first << 16 | value) << 8
        return self.viable(s, base + low, base + high)

    # Strings of Python

    @cython.cfunc
    @cython.exceptval(-1)
    def is_quote(self, byte: i64) -> cython.bint:
        """Return whether a byte opens a string."""
        return byte == 34 or (self.is_python and byte == 39)

    @cython.cfunc
    @cython.exceptval(-1)
    def quote_of(self, s: cython.pointer[State]) -> i64:
        """Return the byte that ends a string."""
        return s.stop if self.is_python else 34

    @cython.cfunc
    @cython.exceptval(-1)
    def python_byte(self, s: cython.pointer[State], byte: i64) -> cython.int:
        """Advance a string or name of Python by a byte; see `character_byte`."""
        kind = s.pending & 15
        if kind == 0:
            if byte == s.stop:
                return QUOTE
            if byte == 92:
                s.pending = ESCAPE
                return self.escapable(s, 0, LAST_CHARACTER)
            return (byte >= 32 or self.may_be_raw(byte)) and self.plain_byte(s, byte)
        if kind == HEXADECIMAL:
            digit = hexadecimal(byte)
            if digit < 0:
                return ILLEGAL
            missing = (s.pending >> 4 & 15) - 1
            return self.python_digit(s, missing, s.pending >> 8 << 4 | digit)
        if kind != ESCAPE:
            return self.plain_byte(s, byte)
        if byte == 120 or byte == 117 or byte == 85:  # x, u, U
            missing = 2 if byte == 120 else 4 if byte == 117 else 8
            s.pending = HEXADECIMAL | missing << 4
            high = 0xFF if byte == 120 else 0xFFFF if byte == 117 else LAST_CHARACTER
            return self.escapable(s, 0, high)
        if byte == 39:
            return self.take(s, 39)
        if byte == 97:
            return self.take(s, 7)
        if byte == 118:
            return self.take(s, 11)
        return byte != 47 and self.escape(s, byte)

    @cython.cfunc
    def python_digit(self, s: cython.pointer[State], missing: i64, value: i64) -> cython.int:
        r"""Advance by a digit of `\x..`, `\u....` or `\U........`."""
        if missing == 0:
            return not FIRST_SURROGATE <= value <= LAST_SURROGATE and self.takes_escaped(s, value)
        s.pending = HEXADECIMAL | missing << 4 | value << 8
        low = value << 4 * missing
        high = min(low + bit(4 * missing) - 1, LAST_CHARACTER)
        below = min(high, FIRST_SURROGATE - 1)
        above = max(low, LAST_SURROGATE + 1)
        return self.escapable(s, low, below) or self.viable(s, above, high)

    # Keyword arguments of Python

    @cython.cfunc
    def is_of_call(self, frame: i64) -> cython.bint:
        """Return whether a frame is of Python's keyword arguments, rather than of an object."""
        return self.is_python and self.arena[frame + PARENT] < 0

    @cython.cfunc
    @cython.exceptval(-1)
    def may_be_raw(self, byte: i64) -> cython.bint:
        """Return whether a string may hold a control character as it is."""
        return self.is_python and byte != 0 and byte != 10 and byte != 13

    @cython.cfunc
    def open_argument(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance by the first byte of an argument's name."""
        if not is_of_word(byte) or not self.open_name(s, IN_ARGUMENT):
            return False
        is_exact = self.is_exact
        self.is_exact = True  # since `leave_out` begins behind it
        is_legal = self.take(s, byte)
        self.is_exact = is_exact
        return is_legal

    # Raw text

    @cython.cfunc
    def take_raw(self, s: cython.pointer[State], character: i64) -> cython.bint:
        """Advance raw text by a whole character."""
        return self.take(s, character) and self.end_raw(s, character)

    @cython.cfunc
    def end_raw(self, s: cython.pointer[State], character: i64) -> cython.bint:
        """Leave raw text that ends behind the character that was taken; return whether it may."""
        if s.phase == IN_RAW:
            if self.node(s.node).raw == RAW_ENDING and self.ended_texts(s) != 0:
                s.phase = DONE
            return True
        if s.phase == IN_VALUE:
            ended = self.ended_texts(s)
            return ended == 0 or self.end_raw_value(s, ended, character)
        ended = cython.cast(cython.longlong, 0)
        if s.automaton_state >= 0:
            a = self.automaton(self.automaton_of(s))
            ended = self.ended_at(a, s.automaton_state, s.languages, s.count)
        if s.phase == IN_KEY:
            return self.end_key(s, ended)
        if ended & 1 == 0:
            return True
        if s.phase == BETWEEN:
            return self.open_name(s, IN_KEY)
        if s.phase == BEHIND_KEY:
            return self.open_text(s, IN_VALUE)
        return self.close_value(s, s.values)

    @cython.cfunc
    def begin_part(self, s: cython.pointer[State], phase: i64, languages: i64) -> cython.bint:
        """Begin a part of a pair that has an automaton of its own; return whether it may."""
        s.phase = phase
        s.languages = languages
        s.automaton_state = 0
        s.trie_node = -1
        s.pending = 0
        s.count = 0
        return languages != 0

    @cython.cfunc
    def begin_pair(self, s: cython.pointer[State], may_follow: cython.bint) -> cython.bint:
        """Go on behind a pair, or to the first one: another one may follow, or the end."""
        languages = cython.cast(cython.longlong, 1 if may_follow else 0)
        if self.complete_values(s.frame) != 0:
            languages |= 2
        return self.begin_part(s, BETWEEN, languages)

    @cython.cfunc
    def open_pairs(self, s: cython.pointer[State]) -> cython.bint:
        """Set up the first pair of a text."""
        if not self.open_object(s):
            return False
        may_follow: cython.bint = self.open_names(s.frame) or self.open_classes(s.frame) != 0
        return self.begin_pair(s, may_follow)

    @cython.cfunc
    def end_key(self, s: cython.pointer[State], ended: i64) -> cython.bint:
        """Go on to the value if a key has ended, by the languages that it is in."""
        n = self.tables.trie_value[s.trie_node] if s.trie_node >= 0 else -1
        if n >= 0:
            if not self.declared_name(s, n):
                return False
        elif ended == 0:
            return True
        elif not self.undeclared_name(s):
            return False
        if self.tables.pairs[AROUND_VALUES] >= 0:
            return self.begin_part(s, BEHIND_KEY, 1)
        return self.open_text(s, IN_VALUE)

    @cython.cfunc
    def end_raw_value(self, s: cython.pointer[State], ended: i64, character: i64) -> cython.bint:
        """End a raw value, or open JSON in it, by the languages that its text is in."""
        node = self.node(s.node)
        fitted = cython.cast(cython.longlong, 0)
        opened = cython.cast(cython.longlong, 0)
        for k in range(node.string_languages):
            if ended >> k & 1:
                if k < node.scalars:
                    fitted |= self.tables.bits[node.strings_of + k]
                else:
                    opened |= self.tables.bits[node.strings_of + k]
        if opened == 0:
            return self.close_value(s, fitted & s.values)
        if node.json_node < 0:
            return False
        s.values &= opened
        s.node = node.json_node
        return self.open_array(s) if character == 91 else self.open_object(s)

    @cython.cfunc
    @cython.exceptval(-1)
    def avoids_stops(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance a JSON string by a byte; return whether no delimiter ends with it."""
        a = self.automaton(self.tables.pairs[STOPS])
        kind = self.tables.range_class[self.range_of(a, byte)]
        if kind < 0:
            return False
        s.stop = self.tables.transitions[a.transitions + s.stop * a.classes + kind]
        return s.stop >= 0

    @cython.cfunc
    def marker_of(self, token_id: i64) -> i64:
        """Return the number of the marker that a token id is; -1 if it is none."""
        for k in range(self.tables.markers.shape[0]):
            if self.tables.markers[k] == token_id:
                return k
        return -1

    @cython.cfunc
    def take_marker(self, s: cython.pointer[State], number: i64) -> cython.bint:
        """Advance a state by a marker, in place; return whether it is legal."""
        return s.phase >= IN_RAW and s.pending == 0 and self.take_raw(s, FIRST_SURROGATE + number)

    @cython.cfunc
    def set_markers(self) -> cython.bint:
        """Decide over the bits of the markers: which may follow the first state."""
        for k in range(self.tables.markers.shape[0]):
            token_id = self.tables.markers[k]
            self.states[1] = self.states[0]
            word = self.row[token_id >> 5] & ~bit32(token_id & 31)
            if self.take_marker(self.state(1), k):
                word |= bit32(token_id & 31)
            self.row[token_id >> 5] = word
        return True

    # Frames

    @cython.cfunc
    @cython.exceptval(-1)
    def names_at(self, frame: i64) -> i64:
        """Return where an object's frame has the names that it has had."""
        return frame + LIVE + self.node_of(frame).shape_words

    @cython.cfunc
    @cython.exceptval(-1)
    def name_words(self, frame: i64) -> i64:
        """Return how many words of bits an object's frame has for names."""
        return (self.node_of(frame).names + 63) >> 6

    @cython.cfunc
    @cython.exceptval(-1)
    def frame_size(self, frame: i64) -> i64:
        """Return how many words a frame has."""
        if self.arena[frame + IS_ARRAY]:
            return LIVE + 1 + self.node_of(frame).tallies
        node = self.node_of(frame)
        return self.hits_at(frame) - frame + node.witnesses * node.shape_words

    @cython.cfunc
    @cython.exceptval(-1)
    def counted_at(self, frame: i64) -> i64:
        """Return where an object's frame has the number of its properties, if it has that."""
        return self.names_at(frame) + 2 * self.name_words(frame)

    @cython.cfunc
    @cython.exceptval(-1)
    def hits_at(self, frame: i64) -> i64:
        """Return where an object's frame has the shapes whose witnesses it has had."""
        node = self.node_of(frame)
        counted = self.counted_at(frame)
        return counted if node.limits == 0 else counted + 1 + node.shape_words

    @cython.cfunc
    def new_frame(self, s: cython.pointer[State], node: i64, is_array: i64) -> i64:
        """Put an empty frame on the arena, for an object or array that opens."""
        at = s.top
        self.reserve(at + LIVE)
        self.arena[at + PARENT] = s.frame
        self.arena[at + PRINT] = 0
        self.arena[at + NAME_PRINT] = 0
        self.arena[at + IS_PRINTED] = 1 if is_array == PRINTS or self.is_printed(s.frame) else 0
        self.arena[at + LEVEL] = self.level_of(s.frame) + 1
        self.arena[at + IS_ARRAY] = is_array
        self.arena[at + NODE_OF] = node
        size = self.frame_size(at)
        self.reserve(at + size)
        for i in range(CURRENT, size):
            self.arena[at + i] = 0
        s.top = at + size
        s.frame = at
        return at

    @cython.cfunc
    @cython.exceptval(-1)
    def copy_frame(self, s: cython.pointer[State]) -> i64:
        """Put a copy of a state's frame on the arena, to be changed."""
        size = self.frame_size(s.frame)
        self.work += size >> 2
        at = s.top
        self.reserve(at + size)
        for i in range(size):
            self.arena[at + i] = self.arena[s.frame + i]
        s.top = at + size
        s.frame = at
        return at

    # Objects

    @cython.cfunc
    def open_names(self, frame: i64) -> cython.bint:
        """Write the declared names that may come into a frame; return whether there are any."""
        node = self.node_of(frame)
        seen = self.names_at(frame)
        words = self.name_words(frame)
        full = self.note_full(frame)
        self.work += node.names
        found = False
        for w in range(words):
            word = cython.cast(cython.longlong, 0)
            for n in range(w << 6, min(node.names, (w + 1) << 6)):
                is_seen = self.arena[seen + w] >> (n & 63) & 1
                if not is_seen and self.may_come(frame, node, n, full):
                    word |= bit(n & 63)
            self.arena[seen + words + w] = word
            if word != 0:
                found = True
        return found

    @cython.cfunc
    def may_come(self, frame: i64, node: cython.pointer[Node], n: i64, full: i64) -> cython.bint:
        """Return whether some live shape has a value for a name, and room for it.

        See `note_full` for `full`.
        """
        name = node.name0 + n
        for w in range(node.shape_words):
            shapes = self.shapes_with_room(frame, name, w, full)
            for v in range(self.tables.names[name].values):
                if (
                    shapes
                    & self.tables.bits[self.tables.names[name].fits + v * node.shape_words + w]
                ):
                    return True
        self.work += self.tables.names[name].values * node.shape_words
        return False

    @cython.cfunc
    def shapes_with_room(self, frame: i64, name: index, w: index, full: i64) -> i64:
        """Return a word of the live shapes in which a declared name may come."""
        shapes = self.arena[frame + LIVE + w]
        if full >= 0:
            shapes &= ~self.arena[full + w] | self.tables.bits[self.tables.names[name].required + w]
        return shapes

    @cython.cfunc
    def note_full(self, frame: i64) -> i64:
        """Write which live shapes have room for nothing but the names that they require.

        Returns where they are, -1 where properties are not counted.
        """
        node = self.node_of(frame)
        if node.limits == 0:
            return -1
        counted = self.counted_at(frame)
        full = counted + 1
        for w in range(node.shape_words):
            self.arena[full + w] = 0
        if node.room < 0 or self.arena[counted] < node.room:
            return full
        for shape in range(node.limits):
            limit = node.limit0 + shape
            most = self.tables.limits[limit].maximum
            if most < 0 or self.arena[frame + LIVE + (shape >> 6)] >> (shape & 63) & 1 == 0:
                continue
            count = self.arena[counted]
            for i in range(self.name_words(frame)):
                missing = self.tables.bits[self.tables.limits[limit].required + i]
                count += count_bits(missing & ~self.arena[self.names_at(frame) + i])
            self.work += 1 + self.name_words(frame)
            if count >= most:
                self.arena[full + (shape >> 6)] |= bit(shape & 63)
        return full

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def full_at(self, frame: i64) -> i64:
        """Return where `note_full` has written; -1 where properties are not counted."""
        return -1 if self.node_of(frame).limits == 0 else self.counted_at(frame) + 1

    @cython.cfunc
    def open_classes(self, frame: i64) -> i64:
        """Return the classes of undeclared names that may come, as bits."""
        node = self.node_of(frame)
        full = self.full_at(frame)
        found = cython.cast(cython.longlong, 0)
        self.work += node.classes * node.class_values * node.shape_words
        for k in range(node.classes):
            fits = self.tables.classes[node.class0 + k]
            for w in range(node.shape_words):
                shapes = self.arena[frame + LIVE + w]
                if full >= 0:
                    shapes &= ~self.arena[full + w]
                for v in range(node.class_values):
                    if shapes & self.tables.bits[fits + v * node.shape_words + w] != 0:
                        found |= bit(k)
        return self.classes_left(frame, 0, 0, found)

    @cython.cfunc
    def open_object(self, s: cython.pointer[State]) -> cython.bint:
        """Advance by the bracket that opens an object."""
        node = self.node(s.node)
        if node.shapes == 0:
            return False
        some = False
        frame = self.new_frame(s, s.node, 0)
        for w in range(node.shape_words):
            shapes = cython.cast(cython.longlong, 0)
            for v in range(node.values):
                if s.values >> v & 1:
                    shapes |= self.tables.bits[node.shapes_of + v * node.shape_words + w]
            self.arena[frame + LIVE + w] = shapes
            if shapes != 0:
                some = True
        s.phase = OBJECT_OPEN
        if some:
            self.open_names(frame)
        return some

    @cython.cfunc
    def next_name(self, s: cython.pointer[State]) -> cython.bint:
        """Advance by the comma between two properties."""
        frame = self.copy_frame(s)
        s.phase = OBJECT_COMMA
        some = False
        node = self.node_of(frame)
        if node.shapes == 1 and node.limits == 0:
            seen = self.names_at(frame)
            words = self.name_words(frame)
            for w in range(words):
                word = self.arena[seen + words + w] & ~self.arena[seen + w]
                self.arena[seen + words + w] = word
                if word != 0:
                    some = True
        else:
            some = self.open_names(frame)
        return some or self.open_classes(frame) != 0

    @cython.cfunc
    def open_name(self, s: cython.pointer[State], phase: i64) -> cython.bint:
        """Set up a name: behind the quote of one in JSON, or a key."""
        trie_node = self.node_of(s.frame).name_trie
        s.phase = phase
        s.stop = 0
        s.print = STRING_PRINT
        s.languages = self.open_classes(s.frame)
        s.count = 0
        s.pending = 0
        s.automaton_state = 0 if s.languages != 0 else -1
        s.trie_node = -1
        if s.automaton_state >= 0 or self.trie_leads_on(s, trie_node):
            s.trie_node = trie_node
        return s.automaton_state >= 0 or s.trie_node >= 0

    @cython.cfunc
    def begin_name(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance by the byte that begins a name: a quote, or the first of an argument's."""
        if self.is_of_call(s.frame):
            return self.open_argument(s, byte)
        if not self.is_quote(byte) or not self.open_name(s, IN_NAME):
            return False
        if self.is_python:
            s.stop = byte
        return True

    @cython.cfunc
    def close_name(self, s: cython.pointer[State]) -> cython.bint:
        """Advance by the quote that closes a name, or end one that has none."""
        n = self.tables.trie_value[s.trie_node] if s.trie_node >= 0 else -1
        s.phase = NAMED
        s.pending = 0
        if n >= 0:
            return self.declared_name(s, n)
        return s.automaton_state >= 0 and self.undeclared_name(s)

    @cython.cfunc
    def declared_name(self, s: cython.pointer[State], n: i64) -> cython.bint:
        """Set up the value of a declared name."""
        possible = self.names_at(s.frame) + self.name_words(s.frame)
        if self.arena[possible + (n >> 6)] >> (n & 63) & 1 == 0:
            return False
        frame = self.copy_frame(s)
        node = self.node_of(frame)
        name = node.name0 + n
        full = self.full_at(frame)
        if full >= 0:
            self.arena[full - 1] += 1
        self.arena[self.names_at(frame) + (n >> 6)] |= bit(n & 63)
        self.arena[frame + CURRENT] = n
        self.arena[frame + NAME_PRINT] = s.print
        if self.is_ordered:
            self.leave_earlier(frame, n)
        values = cython.cast(cython.longlong, 0)
        self.work += self.tables.names[name].values * node.shape_words
        for w in range(node.shape_words):
            shapes = self.shapes_with_room(frame, name, w, full)
            left = cython.cast(cython.longlong, 0)
            for v in range(self.tables.names[name].values):
                fits = self.tables.names[name].fits + v * node.shape_words
                some = shapes & self.tables.bits[fits + w]
                if some != 0:
                    values |= bit(v)
                left |= some
            self.arena[frame + LIVE + w] = left
        s.node = self.tables.names[name].node
        s.values = values
        return values != 0

    @cython.cfunc
    def leave_earlier(self, frame: i64, n: i64) -> cython.bint:
        """Let no name come any more that is declared before one, nor what shapes require there."""
        node = self.node_of(frame)
        seen = self.names_at(frame)
        possible = seen + self.name_words(frame)
        self.work += n * node.shape_words
        for k in range(n):
            if self.arena[seen + (k >> 6)] >> (k & 63) & 1:
                continue
            self.arena[possible + (k >> 6)] &= ~bit(k & 63)
            required = self.tables.names[node.name0 + k].required
            for w in range(node.shape_words):
                self.arena[frame + LIVE + w] &= ~self.tables.bits[required + w]
        return True

    @cython.cfunc
    def undeclared_name(self, s: cython.pointer[State]) -> cython.bint:
        """Set up the value of an undeclared name, by the classes that it is in."""
        a = self.automaton(self.node_of(s.frame).class_automaton)
        classes = self.ended_at(a, s.automaton_state, s.languages, s.count)
        if classes == 0:
            return False
        written = self.arena[s.frame + WRITTEN]
        if self.is_exact:
            if self.is_written(s.frame, s.top - s.count, s.count):
                return False
            written = 1 + self.write_name(s)
        frame = self.copy_frame(s)
        node = self.node_of(frame)
        self.arena[frame + WRITTEN] = written
        self.arena[frame + CURRENT] = -1
        self.arena[frame + NAME_PRINT] = s.print
        self.arena[frame + CLASSES] = classes
        full = self.full_at(frame)
        if full >= 0:
            self.arena[full - 1] += 1
        values = cython.cast(cython.longlong, 0)
        self.work += node.classes * node.class_values * node.shape_words
        for w in range(node.shape_words):
            left = cython.cast(cython.longlong, 0)
            shapes = self.arena[frame + LIVE + w]
            if full >= 0:
                shapes &= ~self.arena[full + w]
            for k in range(node.classes):
                if classes >> k & 1:
                    fits = self.tables.classes[node.class0 + k]
                    for v in range(node.class_values):
                        some = shapes & self.tables.bits[fits + v * node.shape_words + w]
                        if some != 0:
                            values |= bit(v)
                        left |= some
            self.arena[frame + LIVE + w] = left
        s.node = node.class_node
        s.values = values
        return values != 0

    # Undeclared names that an object has

    @cython.cfunc
    @cython.exceptval(-1)
    def ending_classes(self, frame: i64) -> i64:
        """Return how many classes a frame's names note of which they may be the last ones."""
        node = self.node_of(frame)
        if self.arena[frame + IS_ARRAY] == 0:
            return node.classes if node.names_end != 0 else 0
        if self.arena[frame + IS_ARRAY] != KEEPS or node.distinct == NEVER_ENDING:
            return 0
        return self.node(self.tables.places[node.place0].node).string_languages

    @cython.cfunc
    @cython.exceptval(-1)
    def is_kept(self, s: cython.pointer[State]) -> cython.bint:
        """Return whether a state is in a name or string that may not be written again.

        A key's characters are those that are written, with the one that ends it.
        """
        if s.phase != IN_STRING or s.frame < 0:
            return s.phase == IN_NAME or s.phase == IN_KEY or s.phase == IN_ARGUMENT
        return self.arena[s.frame + IS_ARRAY] == KEEPS

    @cython.cfunc
    def automaton_in(self, frame: i64) -> index:
        """Return the number of the automaton of a frame's undeclared names or distinct strings."""
        node = self.node_of(frame)
        if self.arena[frame + IS_ARRAY] == 0:
            return node.class_automaton
        return self.node(self.tables.places[node.place0].node).string_automaton

    @cython.cfunc
    @cython.exceptval(-1)
    def length_of(self, name: i64) -> i64:
        """Return how many characters a written name has."""
        return self.arena[name] >> LENGTH_AT & LENGTHS

    @cython.cfunc
    def marks_of(self, classes: i64) -> i64:
        """Return how many words a written name has before its characters.

        Its length and the name before it; and where there are classes of which it may be the last
        name, a mark for each of them, and the last name before it that has one.
        """
        return classes + 2 if classes != 0 else 1

    @cython.cfunc
    def marked_before(self, written: i64, classes: i64) -> i64:
        """Return the last name with a mark that is no later than a written one, 0 for none."""
        if written == 0 or classes == 0:
            return 0
        name = written - 1
        for k in range(classes):
            if self.arena[name + 1 + k] <= self.length_of(name):
                return written
        return self.arena[name + 1 + classes]

    @cython.cfunc
    def character_of(self, name: i64, classes: i64, i: i64) -> i64:
        """Return a character of a written name."""
        word = self.arena[name + self.marks_of(classes) + i // CHARACTERS]
        return word >> (i % CHARACTERS * CHARACTER_BITS) & CHARACTER

    @cython.cfunc
    def in_common(self, name: i64, classes: i64, first: i64, count: i64) -> i64:
        """Return with how many of some characters of the arena a written name begins."""
        count = min(count, self.length_of(name))
        same = cython.cast(cython.longlong, 0)
        while same < count and self.arena[first + same] == self.character_of(name, classes, same):
            same += 1
        self.work += 1 + (same >> 3)
        return same

    @cython.cfunc
    def is_written(self, frame: i64, first: i64, count: i64) -> cython.bint:
        """Return whether an object has the name whose characters are on the arena."""
        classes = self.ending_classes(frame)
        written = self.arena[frame + WRITTEN]
        while written != 0:
            name = written - 1
            self.work += 1
            if (
                self.length_of(name) == count
                and self.in_common(name, classes, first, count) == count
            ):
                return True
            written = self.arena[name] & LOW_HALF
        return False

    @cython.cfunc
    def write_name(self, s: cython.pointer[State]) -> i64:
        """Put the name that a text has just written on the arena, for its object."""
        name = s.top
        first = s.top - s.count
        before = self.arena[s.frame + WRITTEN]
        classes = self.ending_classes(s.frame)
        words = (s.count + CHARACTERS - 1) // CHARACTERS
        chars = name + self.marks_of(classes)
        states = chars + words
        self.reserve(states + s.count + 1)
        self.arena[name] = before | s.count << LENGTH_AT
        for w in range(words):
            word = cython.cast(cython.longlong, 0)
            for i in range(w * CHARACTERS, min(s.count, (w + 1) * CHARACTERS)):
                word |= self.arena[first + i] << (i % CHARACTERS * CHARACTER_BITS)
            self.arena[chars + w] = word
        least = s.count + 1
        if classes != 0:
            self.note_states(s, first, states)
        for k in range(classes):
            self.arena[name + 1 + k] = self.used_up(s, k, states)
            least = min(least, self.arena[name + 1 + k])
        if classes != 0:
            self.arena[name + 1 + classes] = self.marked_before(before, classes)
        if least <= s.count or (before != 0 and self.arena[before - 1] & IS_ENDED):
            self.arena[name] |= IS_ENDED
        bears = self.tables.key_bears if s.phase == IN_KEY else self.tree.bears
        if (before != 0 and self.arena[before - 1] & BEARS) or self.bears(
            bears, first, s.count, least
        ):
            self.arena[name] |= BEARS
        s.top = chars + words
        return name

    @cython.cfunc
    def bears(self, bears, first: i64, count: i64, used_up: i64) -> cython.bint:
        """Return whether tokens that begin before a name depend on it; `used_up` is its mark."""
        known = min(count, self.tree.longest + 1)
        text = "".join([chr(self.arena[first + i]) for i in range(known)])
        return bears(text, -1 if used_up > count else used_up)

    @cython.cfunc
    def used_up(self, s: cython.pointer[State], k: i64, states: i64) -> i64:
        """Return how many first characters of a name begin no name of a class that is not written.

        One more than it has where they do. Characters begin no further name if neither they nor
        what each further character leads to is left; of these all but one were noted before.
        """
        a = self.automaton(self.automaton_in(s.frame))
        first = s.top - s.count
        found = s.count + 1
        if self.ended_at(a, s.automaton_state, bit(k), s.count) == 0:
            return found
        for n in range(s.count, -1, -1):
            state = self.arena[states + n]
            is_word: cython.bint = self.ended_at(a, state, bit(k), n) != 0
            if n < s.count and is_word and not self.is_written(s.frame, first, n):
                return found
            ended = self.noted(s.frame, k, first, n) + (1 if n < s.count else 0)
            for i in range(a.range0, a.range0 + a.ranges):
                to = self.next_state(a, state, i)
                if self.leads_on(a, to, bit(k), n + 1):
                    ended -= self.range_end(a, i) - self.tables.range_low[i] + 1
            self.work += a.ranges
            if ended < 0:
                return found
            found = n
        return found

    @cython.cfunc
    def noted(self, frame: i64, k: i64, first: i64, n: i64) -> i64:
        """Return how many characters behind some others are noted to begin no name of a class."""
        classes = self.ending_classes(frame)
        found = cython.cast(cython.longlong, 0)
        written = self.marked_before(self.arena[frame + WRITTEN], classes)
        while written != 0:
            name = written - 1
            is_used_up: cython.bint = self.arena[name + 1 + k] == n + 1 <= self.length_of(name)
            if is_used_up and self.in_common(name, classes, first, n) == n:
                found += 1
            written = self.arena[name + 1 + classes]
        return found

    @cython.cfunc
    def range_end(self, a: cython.pointer[Automaton], i: index) -> i64:
        """Return the last character of a range."""
        if i + 1 == a.range0 + a.ranges:
            return LAST_CHARACTER
        return self.tables.range_low[i + 1] - 1

    @cython.cfunc
    def next_state(self, a: cython.pointer[Automaton], state: i64, i: index) -> i64:
        """Return the state that the characters of a range lead to, -1 for none."""
        kind = self.tables.range_class[i]
        return -1 if kind < 0 else self.tables.transitions[a.transitions + state * a.classes + kind]

    @cython.cfunc
    def note_states(self, s: cython.pointer[State], first: i64, states: i64):
        """Write the states behind the characters of a text, all of which lead on, to the arena."""
        a = self.automaton(self.automaton_in(s.frame))
        state = cython.cast(cython.longlong, 0)
        self.arena[states] = state
        for i in range(s.count):
            state = max(self.state_behind(a, state, self.arena[first + i]), 0)
            self.arena[states + 1 + i] = state
        self.work += s.count

    @cython.cfunc
    @cython.exceptval(-1)
    def classes_left(self, frame: i64, first: i64, count: i64, classes: i64) -> i64:
        """Leave out the classes of which no name is left that begins with some characters."""
        written = self.arena[frame + WRITTEN]
        noted = self.ending_classes(frame)
        if noted == 0 or written == 0 or self.arena[written - 1] & IS_ENDED == 0:
            return classes
        written = self.marked_before(written, noted)
        while written != 0 and classes != 0:
            name = written - 1
            same = self.in_common(name, noted, first, count)
            for k in range(noted):
                if same >= self.arena[name + 1 + k]:
                    classes &= ~bit(k)
            written = self.arena[name + 1 + noted]
        return classes

    @cython.cfunc
    @cython.exceptval(-1)
    def leads_to_name(
        self, s: cython.pointer[State], a: cython.pointer[Automaton], i: index, low: i64, high: i64
    ) -> cython.bint:
        """Return whether some character of a range is in another one and begins a name left."""
        if not (self.is_exact and self.is_kept(s)):
            return True
        classes = self.ending_classes(s.frame)
        last = self.arena[s.frame + WRITTEN]
        if last == 0 or classes == 0 or self.arena[last - 1] & IS_ENDED == 0:
            return True
        low = max(low, cython.cast(cython.longlong, self.tables.range_low[i]))
        high = min(high, self.range_end(a, i))
        to = self.next_state(a, s.automaton_state, i)
        leads = self.tables.leads[a.states + to] & s.languages
        for k in range(classes):
            if leads >> k & 1 and self.characters_left(s, classes, k, low, high) > 0:
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def characters_left(
        self, s: cython.pointer[State], classes: i64, k: i64, low: i64, high: i64
    ) -> i64:
        """Count the characters of a range behind which a name of a class is left.

        A name with a mark behind the next character is in the way of that one, and no other is.
        """
        found = high - low + 1
        first = s.top - s.count
        written = self.marked_before(self.arena[s.frame + WRITTEN], classes)
        while written != 0 and found > 0:
            name = written - 1
            mark = self.arena[name + 1 + k]
            same = self.in_common(name, classes, first, s.count)
            if same >= mark:
                return 0
            if same == s.count and mark == s.count + 1 <= self.length_of(name):
                if low <= self.character_of(name, classes, s.count) <= high:
                    found -= 1
            written = self.arena[name + 1 + classes]
        return max(found, cython.cast(cython.longlong, 0))

    @cython.cfunc
    def bears_on_tokens(self, frame: i64) -> cython.bint:
        """Return whether a row depends on a frame's names, beside the one that is being written."""
        written = self.arena[frame + WRITTEN]
        if written == 0:
            return False
        return self.arena[written - 1] & BEARS != 0

    @cython.cfunc
    def decide_naming(self) -> cython.bint:
        """Decide over the tokens in which the name of the first state ends, or can no longer.

        All else of a row may be kept for other names.
        """
        self.nodes = self.tree.trie.nodes
        self.ids = self.tree.trie.ids
        self.leave_out(0, self.tree.trie.roots, 0)
        if self.state(0).phase == IN_KEY:
            self.is_exact = True
            self.set_markers()
            self.is_exact = False
        return self.decide_spanning()

    @cython.cfunc
    def decide_spanning(self) -> cython.bint:
        """Decide over the tokens in which an undeclared name may end and another one begin.

        A walk does not note the names that end within a token.
        """
        if self.tables.is_open:
            self.decide(self.tree.spanning)
            if self.is_laid_out:
                self.decide(self.tables.key_spanning)
        if self.tables.distinct != NOT_KEPT:
            self.decide(self.tree.listing)
            if self.may_be_last():
                self.decide(self.tree.commas)
        return True

    @cython.cfunc
    def may_be_last(self) -> cython.bint:
        """Return whether an array may have its last distinct string within a token."""
        if self.tables.distinct <= self.tree.most_commas + 1:
            return True
        frame = self.state(0).frame
        if frame < 0 or self.arena[frame + IS_ARRAY] != KEEPS:
            return False
        ending = self.node_of(frame).distinct
        return ending <= self.arena[frame + CURRENT] + self.tree.most_commas + 1

    @cython.cfunc
    def decide(self, token_ids: cython.const_int[::1]) -> cython.bint:
        """Set the bits of those of some token ids that `accept` takes."""
        self.is_exact = True
        for i in range(token_ids.shape[0]):
            token_id = token_ids[i]
            self.states[1] = self.states[0]
            word = self.row[token_id >> 5] & ~bit32(token_id & 31)
            if self.takes(self.state(1), token_id):
                word |= bit32(token_id & 31)
            self.row[token_id >> 5] = word
        self.is_exact = False
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def takes(self, s: cython.pointer[State], token_id: index) -> cython.bint:
        """Advance a state by the bytes of a token; return whether they are legal."""
        for i in range(self.tree.text0[token_id], self.tree.text0[token_id + 1]):
            if not self.step(s, self.tree.text[i]):
                return False
        return self.lives(s)

    @cython.cfunc
    def leave_out(self, first: index, end: index, depth: index) -> cython.bint:
        """Clear the tokens at and below some siblings that write a name again, or begin none."""
        s = self.state(depth)
        if s.automaton_state < 0:
            return True
        classes = self.ending_classes(s.frame)
        written = self.arena[s.frame + WRITTEN]
        while written != 0:
            name = written - 1
            if self.in_common(name, classes, s.top - s.count, s.count) == s.count:
                along = self.tree.longest + 1 + depth
                self.states[along] = self.states[depth]
                self.state(along).phase = IN_WRITTEN
                self.follow(first, end, depth, name, classes)
            written = self.arena[name] & LOW_HALF
        return True

    @cython.cfunc
    def leave_out_from(self, node: cython.pointer[TrieNode], depth: index) -> cython.bint:
        """Do the same below a node, if a name or string begins behind it."""
        s = self.state(depth)
        before = s.phase == IN_ARGUMENT
        if s.pending != 0 or s.count != before or not self.is_kept(s):
            return True
        return self.leave_out(node.child, node.child + node.children, depth)

    @cython.cfunc
    def follow(
        self, first: index, end: index, depth: index, name: i64, classes: i64
    ) -> cython.bint:
        """Walk along the ways to spell the rest of a written name; see `leave_out`."""
        s = self.state(self.tree.longest + 1 + depth)
        is_whole: cython.bint = s.count == self.length_of(name)
        character = -1 if is_whole else self.character_of(name, classes, s.count)
        if s.pending != 0 or self.is_python or self.is_of_pairs(s.frame):
            for number in range(first, end):
                self.follow_at(number, depth, name, classes, character)
        elif is_whole:
            number = self.sibling(first, end, 34)
            if number >= 0:
                node = self.trie_node(number)
                self.clear_ids(node.rank, node.rank_end)
        else:
            for byte in (first_byte(character), 92):
                number = self.sibling(first, end, byte)
                if number >= 0:
                    self.follow_at(number, depth, name, classes, character)
        return True

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def sibling(self, first: index, end: index, byte: i64) -> index:
        """Return the one of some siblings that has a byte, -1 for none."""
        last = end
        while first < last:
            middle = (first + last) >> 1
            if self.trie_node(middle).byte < byte:
                first = middle + 1
            else:
                last = middle
        return first if first < end and self.trie_node(first).byte == byte else -1

    @cython.cfunc
    def follow_at(
        self, number: index, depth: index, name: i64, classes: i64, character: i64
    ) -> cython.bint:
        """Walk on at and below a node; see `follow`.

        Args:
            number: of the node.
            depth: where the state before it is.
            name: the written name.
            classes: see `ending_classes`.
            character: the next one of the name; -1 for none.

        """
        along = self.tree.longest + 1 + depth
        s = self.state(along)
        node = self.trie_node(number)
        byte = cython.cast(cython.longlong, node.byte)
        if s.pending == 0 and self.ends_name(s, byte):
            if character < 0:
                self.clear_ids(node.rank, node.rank_end)
            return True
        if character < 0 or (s.pending == 0 and byte != first_byte(character) and byte != 92):
            return True
        is_key = self.is_of_pairs(s.frame)
        # Where names never run out, it matters only in which tokens this one ends.
        if classes == 0 and not is_key and not self.is_python and node.below & QUOTE_GROUP == 0:
            return True
        self.work += 1
        self.states[along + 1] = self.states[along]
        following = self.state(along + 1)
        following.values = character
        if self.name_byte(following, byte) != INSIDE:
            return True
        if is_key and following.count == self.length_of(name):
            self.clear_ids(node.rank, node.rank_end)
            return True
        if classes == 1 and following.pending == 0 and self.arena[name + 1] == following.count:
            declared = self.state(depth).trie_node
            if declared < 0 or self.child_of(declared, character) < 0:
                self.clear_ids(node.rank, node.rank_end)
                return True
        # Of one class no name is left from the mark on; of several, one may be left over.
        may_end: cython.bint = classes > 1 or self.arena[name + 1] == s.count + 1
        if classes != 0 and not self.begins_name(depth, byte, may_end):
            self.clear_ids(node.rank, node.rank_end)
        elif node.children != 0:
            self.follow(node.child, node.child + node.children, depth + 1, name, classes)
        return True

    @cython.cfunc
    def begins_name(self, depth: index, byte: i64, is_exact: cython.bint) -> cython.bint:
        """Advance a state, on the next one's place, by a byte of a name; exactly as `accept` does.

        Args:
            depth: where the state is.
            byte: of the name.
            is_exact: whether to ask if a name is left that begins so.

        """
        self.states[depth + 1] = self.states[depth]
        self.is_exact = is_exact
        found = self.name_byte(self.state(depth + 1), byte)
        self.is_exact = False
        return found == INSIDE

    @cython.cfunc
    def name_byte(self, s: cython.pointer[State], byte: i64) -> cython.int:
        """Advance a name or string by a byte; see `character_byte`. A key is raw text."""
        if self.is_of_pairs(s.frame) or self.is_of_call(s.frame):
            return self.plain_byte(s, byte)
        return self.character_byte(s, byte)

    @cython.cfunc
    def ends_name(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Return whether a byte ends a name or string of which it is no character."""
        if self.is_of_call(s.frame):
            return not is_of_word(byte)
        return byte == self.quote_of(s) and not self.is_of_pairs(s.frame)

    @cython.cfunc
    def is_of_pairs(self, frame: i64) -> cython.bint:
        """Return whether a frame is of pairs, rather than of an object or array in one."""
        return self.is_laid_out and self.arena[frame + PARENT] < 0

    # Values of properties

    @cython.cfunc
    def filter_shapes(self, s: cython.pointer[State], fitted: i64) -> cython.bint:
        """Leave those shapes of an object live that the value of its last name fits."""
        frame = self.copy_frame(s)
        node = self.node_of(frame)
        n = self.arena[frame + CURRENT]
        some = False
        alternatives = node.classes * node.class_values
        if n >= 0:
            alternatives = self.tables.names[node.name0 + n].values
        self.work += alternatives * node.shape_words
        for w in range(node.shape_words):
            left = cython.cast(cython.longlong, 0)
            if n >= 0:
                fits = self.tables.names[node.name0 + n].fits
                for v in range(self.tables.names[node.name0 + n].values):
                    if fitted >> v & 1:
                        left |= self.tables.bits[fits + v * node.shape_words + w]
            else:
                for k in range(node.classes):
                    if self.arena[frame + CLASSES] >> k & 1:
                        fits = self.tables.classes[node.class0 + k]
                        for v in range(node.class_values):
                            if fitted >> v & 1:
                                left |= self.tables.bits[fits + v * node.shape_words + w]
            left &= self.arena[frame + LIVE + w]
            self.arena[frame + LIVE + w] = left
            if left != 0:
                some = True
        if node.marks != 0:
            self.note_hits(frame, fitted)
        return some

    @cython.cfunc
    def note_hits(self, frame: i64, fitted: i64) -> cython.bint:
        """Write which witnesses the last property is, whose value fits some values.

        A name that one shape declares is undeclared in another.
        """
        node = self.node_of(frame)
        hits = self.hits_at(frame)
        for i in range(node.mark0, node.mark0 + node.marks):
            if self.tables.marks[i].name != self.arena[frame + CURRENT]:
                continue
            is_hit = fitted >> self.tables.marks[i].value & 1
            if self.tables.marks[i].name < 0:
                is_hit &= self.arena[frame + CLASSES] >> self.tables.marks[i].class_
            if is_hit:
                for w in range(node.witnesses * node.shape_words):
                    self.arena[hits + w] |= self.tables.bits[self.tables.marks[i].hits + w]
        self.work += node.marks * node.witnesses * node.shape_words
        return True

    @cython.cfunc
    def complete_values(self, frame: i64) -> i64:
        """Return the values, as bits, that are complete if an object or array ends here."""
        node = self.node_of(frame)
        fitted = cython.cast(cython.longlong, 0)
        if self.arena[frame + IS_ARRAY]:
            for i in range(node.arrays):
                if self.arena[frame + LIVE] >> i & 1:
                    array = node.array0 + i
                    length = self.arena[frame + CURRENT]
                    if length >= self.tables.arrays[array].minimum and self.has_all(frame, array):
                        fitted |= bit(self.tables.arrays[array].value)
            return fitted
        self.work += node.values * node.shape_words
        for w in range(node.shape_words):
            shapes = self.arena[frame + LIVE + w]
            if shapes != 0 and node.limits != 0:
                shapes = self.without_few(frame, node, shapes, w)
            for i in range(w, node.witnesses * node.shape_words, node.shape_words):
                shapes &= (
                    ~self.tables.bits[node.witnessed + i] | self.arena[self.hits_at(frame) + i]
                )
            if shapes != 0:
                shapes = self.without_missing(frame, node, shapes, w)
            if shapes != 0:
                for v in range(node.values):
                    if shapes & self.tables.bits[node.shapes_of + v * node.shape_words + w]:
                        fitted |= bit(v)
        return fitted

    @cython.cfunc
    def without_missing(self, frame: i64, node: cython.pointer[Node], shapes: i64, w: i64) -> i64:
        """Leave out the shapes of a word of bits that require a name which is missing."""
        seen = self.names_at(frame)
        for i in range((node.names + 63) >> 6):
            missing = self.tables.bits[node.required_names + i] & ~self.arena[seen + i]
            n = i << 6
            while missing != 0 and shapes != 0:
                if missing & 1:
                    name = node.name0 + n
                    shapes &= ~self.tables.bits[self.tables.names[name].required + w]
                missing = missing >> 1 & LAST_63
                n += 1
                self.work += 1
        return shapes

    @cython.cfunc
    def without_few(self, frame: i64, node: cython.pointer[Node], shapes: i64, w: i64) -> i64:
        """Leave out the shapes of a word of bits that want more properties than there are."""
        count = self.arena[self.counted_at(frame)]
        if count >= node.least:
            return shapes
        for shape in range(w << 6, min(node.limits, (w + 1) << 6)):
            if self.tables.limits[node.limit0 + shape].minimum > count:
                shapes &= ~bit(shape & 63)
            self.work += 1
        return shapes

    # Arrays

    @cython.cfunc
    def may_go_on(self, frame: i64, node: cython.pointer[Node], i: i64) -> cython.bint:
        """Return whether one of the arrays that a frame may be can have another element."""
        maximum = self.tables.arrays[node.array0 + i].maximum
        is_live = self.arena[frame + LIVE] >> i & 1
        return is_live and (maximum < 0 or self.arena[frame + CURRENT] < maximum)

    @cython.cfunc
    def place_of(self, frame: i64, node: cython.pointer[Node]) -> index:
        """Return the place of an array's next element."""
        return node.place0 + min(self.arena[frame + CURRENT], node.places - 1)

    @cython.cfunc
    def tally_behind(self, frame: i64, array: index, hits: i64) -> i64:
        """Return the tally of an array behind one more element.

        A tally is the elements that it has, as bits, where they have to be distinct; else the
        numbers of each kind that is counted, as digits of one number.

        Args:
            frame: before that element.
            array: its number.
            hits: which element it is, or the kinds that it is of, as bits.

        Returns:
            -1 if no array that goes on so is complete.

        """
        number = self.tables.arrays[array].tally
        if number < 0:
            return 0
        tally = self.arena[frame + LIVE + 1 + number]
        if self.tables.arrays[array].counts == 0:
            return -1 if tally & hits else tally | hits
        count0 = cython.cast(cython.Py_ssize_t, self.tables.arrays[array].count0)
        self.work += self.tables.arrays[array].counts
        for k in range(self.tables.arrays[array].counts):
            if hits >> k & 1:
                step = self.tables.counts[count0 + k].step
                most = self.tables.counts[count0 + k].most
                if tally // step % (most + 1) < most:
                    tally += step
                elif self.tables.counts[count0 + k].is_bounded:
                    return -1
        length = self.arena[frame + CURRENT] + 1
        need = self.need_of(array, length, tally)
        maximum = self.tables.arrays[array].maximum
        if self.tables.needs[need].least == FAR:
            return -1
        if maximum >= 0 and length + self.tables.needs[need].least > maximum:
            return -1
        if length + self.tables.needs[need].most < self.tables.arrays[array].minimum:
            return -1 if self.tables.needs[need].most < FAR else tally
        return tally

    @cython.cfunc
    def need_of(self, array: index, length: i64, tally: i64) -> index:
        """Return the number of what an array still needs behind so many elements."""
        place = min(length, self.tables.arrays[array].places - 1)
        return self.tables.arrays[array].need0 + place * self.tables.arrays[array].sums + tally

    @cython.cfunc
    def has_all(self, frame: i64, array: index) -> cython.bint:
        """Return whether an array has enough elements of each kind that is counted."""
        number = self.tables.arrays[array].tally
        if number < 0 or self.tables.arrays[array].counts == 0:
            return True
        tally = self.arena[frame + LIVE + 1 + number]
        need = self.need_of(array, self.arena[frame + CURRENT], tally)
        return self.tables.needs[need].least == 0

    @cython.cfunc
    def countable(
        self, frame: i64, node: cython.pointer[Node], place: index, v: i64, arrays: i64
    ) -> i64:
        """Leave those of some arrays that can be completed behind an element with a value."""
        if node.tallies == 0:
            return arrays
        hits = self.tables.places[place].hits + v * node.arrays
        for i in range(node.arrays):
            if arrays >> i & 1:
                if self.tally_behind(frame, node.array0 + i, self.tables.bits[hits + i]) < 0:
                    arrays &= ~bit(i)
        return arrays

    @cython.cfunc
    def open_array(self, s: cython.pointer[State]) -> cython.bint:
        """Advance by the bracket that opens an array."""
        node = self.node(s.node)
        arrays = cython.cast(cython.longlong, 0)
        if node.arrays != 0:
            for v in range(node.values):
                if s.values >> v & 1:
                    arrays |= self.tables.bits[node.arrays_of + v]
        if arrays == 0:
            return False
        kind = KEEPS if node.distinct != NOT_KEPT else PRINTS if node.printed >= 0 else 1
        frame = self.new_frame(s, s.node, kind)
        self.arena[frame + LIVE] = arrays
        s.phase = ARRAY_OPEN
        self.next_element(s)
        return True

    @cython.cfunc
    def next_element(self, s: cython.pointer[State]) -> cython.bint:
        """Set up the element that comes next; return whether one may."""
        node = self.node_of(s.frame)
        place = self.place_of(s.frame, node)
        arrays = cython.cast(cython.longlong, 0)
        values = cython.cast(cython.longlong, 0)
        for i in range(node.arrays):
            if self.may_go_on(s.frame, node, i):
                arrays |= bit(i)
        for v in range(self.tables.places[place].values):
            some = self.tables.bits[self.tables.places[place].fits + v] & arrays
            if self.countable(s.frame, node, place, v, some) != 0:
                values |= bit(v)
        s.node = self.tables.places[place].node
        if self.arena[s.frame + WRITTEN] != 0 and self.arena[s.frame + IS_ARRAY] == KEEPS:
            values &= self.values_left(s.frame, s.node)
        s.values = values
        return values != 0

    @cython.cfunc
    def values_left(self, frame: i64, number: index) -> i64:
        """Return the values of distinct strings of which an array has not had every one yet."""
        node = self.node(number)
        languages = self.classes_left(frame, 0, 0, bit(node.string_languages) - 1)
        found = cython.cast(cython.longlong, 0)
        for k in range(node.string_languages):
            if languages >> k & 1:
                found |= self.tables.bits[node.strings_of + k]
        return found

    @cython.cfunc
    def filter_arrays(self, s: cython.pointer[State], fitted: i64) -> cython.bint:
        """Leave those arrays live that the last element fits, and count it."""
        before = s.frame
        node = self.node_of(before)
        place = self.place_of(before, node)
        going = cython.cast(cython.longlong, 0)
        left = cython.cast(cython.longlong, 0)
        for i in range(node.arrays):
            if self.may_go_on(before, node, i):
                going |= bit(i)
        frame = self.copy_frame(s)
        for v in range(self.tables.places[place].values):
            if fitted >> v & 1:
                some = self.tables.bits[self.tables.places[place].fits + v] & going
                left |= self.countable(before, node, place, v, some)
        if node.tallies != 0:
            left = self.count_element(before, frame, place, fitted, left)
        self.arena[frame + LIVE] = left
        self.arena[frame + CURRENT] += 1
        return left != 0

    @cython.cfunc
    def count_element(self, before: i64, frame: i64, place: index, fitted: i64, left: i64) -> i64:
        """Write the tallies behind an element; return the arrays that are left."""
        node = self.node_of(before)
        for i in range(node.arrays):
            array = node.array0 + i
            if left >> i & 1 == 0 or self.tables.arrays[array].tally < 0:
                continue
            hits = cython.cast(cython.longlong, 0)
            for v in range(self.tables.places[place].values):
                fits = self.tables.bits[self.tables.places[place].fits + v] >> i & 1
                if fitted >> v & fits:
                    hits |= self.tables.bits[self.tables.places[place].hits + v * node.arrays + i]
            tally = self.tally_behind(before, array, hits)
            if tally < 0:
                left &= ~bit(i)
            else:
                self.arena[frame + LIVE + 1 + self.tables.arrays[array].tally] = tally
        return left

    # Values

    @cython.cfunc
    @cython.exceptval(-1)
    def open_value(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance by the first byte of a value."""
        s.pending = 0
        if self.is_quote(byte):
            return self.open_string(s, byte)
        if byte == 123:
            return self.open_object(s)
        if byte == 91:
            return self.open_array(s)
        return self.open_bare(s, byte)

    @cython.cfunc
    def open_string(self, s: cython.pointer[State], quote: i64) -> cython.bint:
        """Advance by the quote that opens a string."""
        may_come = self.open_text(s, IN_STRING)
        if self.is_python:
            s.stop = quote
        return may_come

    @cython.cfunc
    def open_text(self, s: cython.pointer[State], phase: i64) -> cython.bint:
        """Set up the text of a string, or raw text; return whether some may come."""
        node = self.node(s.node)
        languages = cython.cast(cython.longlong, 0)
        for k in range(node.string_languages):
            if self.tables.bits[node.strings_of + k] & s.values:
                languages |= bit(k)
        if languages == 0:
            return False
        s.phase = phase
        if self.is_kept(s):
            languages = self.classes_left(s.frame, 0, 0, languages)
        s.languages = languages
        s.pending = 0
        s.count = 0
        s.stop = 0
        s.print = STRING_PRINT
        s.automaton_state = -1
        s.trie_node = -1
        if node.string_automaton >= 0 and self.leads_on(
            self.automaton(node.string_automaton), 0, languages, 0
        ):
            s.automaton_state = 0
        if self.trie_leads_on(s, node.string_trie):
            s.trie_node = node.string_trie
        return s.automaton_state >= 0 or s.trie_node >= 0

    @cython.cfunc
    def ended_texts(self, s: cython.pointer[State]) -> i64:
        """Return the languages, as bits, that a string or raw text is in."""
        node = self.node(s.node)
        ended = cython.cast(cython.longlong, 0)
        if s.automaton_state >= 0:
            a = self.automaton(node.string_automaton)
            ended = self.ended_at(a, s.automaton_state, s.languages, s.count)
        if s.trie_node >= 0:
            ended |= self.tables.trie_value[s.trie_node]
        return ended & s.languages

    @cython.cfunc
    def close_string(self, s: cython.pointer[State]) -> cython.bint:
        """Advance by the quote that closes a string."""
        node = self.node(s.node)
        ended = self.ended_texts(s)
        fitted = cython.cast(cython.longlong, 0)
        for k in range(node.string_languages):
            if ended >> k & 1:
                fitted |= self.tables.bits[node.strings_of + k]
        fitted &= s.values
        if fitted == 0 or not (self.is_exact and self.is_kept(s)):
            return self.close_value(s, fitted)
        if self.is_written(s.frame, s.top - s.count, s.count):
            return False
        written = 1 + self.write_name(s)
        if not self.close_value(s, fitted):
            return False
        self.arena[s.frame + WRITTEN] = written
        return True

    @cython.cfunc
    def open_bare(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance by the first byte of a number or word."""
        node = self.node(s.node)
        if node.bare_automaton < 0:
            return False
        s.languages = 0
        for k in range(node.bare_languages):
            if self.tables.bits[node.bare_of + k] & s.values:
                s.languages |= bit(k)
        s.phase = IN_BARE
        s.automaton_state = 0
        s.count = 0
        s.print = NUMBER_PRINT
        return self.bare_byte(s, byte)

    @cython.cfunc
    @cython.exceptval(-1)
    def bare_byte(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance a number or word by a byte of its own."""
        if byte >= 128:
            return False
        a = self.automaton(self.node(s.node).bare_automaton)
        kind = self.tables.ascii[a.ascii + byte]
        if kind < 0:
            return False
        state = self.tables.transitions[a.transitions + s.automaton_state * a.classes + kind]
        if state < 0 or self.tables.leads[a.states + state] & s.languages == 0:
            return False
        s.automaton_state = state
        if self.is_exact and self.is_printed(s.frame):
            self.reserve(s.top + 1)
            self.arena[s.top] = byte
            s.print = mixed(s.print, byte)
            s.top += 1
            s.count += 1
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def close_bare(self, s: cython.pointer[State]) -> cython.bint:
        """End a number or word before the byte that comes next."""
        node = self.node(s.node)
        a = self.automaton(node.bare_automaton)
        ended = self.tables.accepts[a.states + s.automaton_state] & s.languages
        if ended == 0:
            return False
        fitted = cython.cast(cython.longlong, 0)
        for k in range(node.bare_languages):
            if ended >> k & 1:
                fitted |= self.tables.bits[node.bare_of + k]
        if self.is_exact and self.is_printed(s.frame):
            s.print = self.bare_print(s)
        return self.close_value(s, fitted & s.values)

    @cython.cfunc
    @cython.exceptval(-1)
    def close_value(self, s: cython.pointer[State], fitted: i64) -> cython.bint:
        """Go on behind a value that fits some values of its node."""
        if fitted == 0:
            return False
        s.pending = 0
        if s.frame < 0:
            s.phase = DONE
            return True
        if self.is_of_pairs(s.frame):
            return self.close_raw(s, fitted)
        s.phase = AFTER
        if self.is_exact and self.arena[s.frame + IS_PRINTED]:
            return self.close_printed(s, fitted)
        if self.arena[s.frame + IS_ARRAY]:
            return self.filter_arrays(s, fitted)
        if fitted == s.values and self.node_of(s.frame).marks == 0:
            return True
        return self.filter_shapes(s, fitted)

    @cython.cfunc
    def close_raw(self, s: cython.pointer[State], fitted: i64) -> cython.bint:
        """Go on behind a property's value: to its delimiter if it is JSON, else to the next key."""
        if s.phase < IN_RAW:
            s.values = fitted
            return self.begin_part(s, BEHIND_NESTED, 1)
        is_known: cython.bint = (
            fitted == s.values and s.phase == IN_VALUE and self.node_of(s.frame).marks == 0
        )
        if not is_known and not self.filter_shapes(s, fitted):
            return False
        return self.begin_pair(s, self.next_name(s))

    @cython.cfunc
    def close_bracket(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance by the bracket that closes an object or array, or a call of Python's."""
        wanted = 93 if self.arena[s.frame + IS_ARRAY] else 41 if self.is_of_call(s.frame) else 125
        if s.phase == OBJECT_COMMA or byte != wanted:
            return False
        fitted = self.complete_values(s.frame)
        kind = ARRAY_PRINT if self.arena[s.frame + IS_ARRAY] else OBJECT_PRINT
        s.print = (kind + self.arena[s.frame + PRINT]) & LAST_62
        s.frame = self.arena[s.frame + PARENT]
        s.values = -1  # which of its values were meant, the shapes of the parent tell
        return self.close_value(s, fitted)

    # Elements of any kind that are distinct: an array has the prints of those before it. An element
    # is alive if it can still become another one: that is plain where something in it has a great
    # many values left, and is searched for elsewhere.

    @cython.cfunc
    @cython.exceptval(-1)
    def is_printed(self, frame: i64) -> cython.bint:
        """Return whether prints are needed of what is in a frame's object or array."""
        return frame >= 0 and self.arena[frame + IS_PRINTED] != 0

    @cython.cfunc
    def bare_print(self, s: cython.pointer[State]) -> i64:
        """Return the print of a number or word; numbers are equal if they are in Python."""
        first = s.top - s.count
        kind = self.arena[first] | 32
        if 97 <= kind <= 122:  # `true` and `True`, `null` and `None`
            return mixed(WORD_PRINT, kind)
        whole = cython.cast(cython.longlong, 0)
        for i in range(first + 1 if kind == 45 else first, s.top if s.count <= WHOLE_DIGITS else 0):
            digit = self.arena[i] - 48
            whole = 10 * whole + digit if whole >= 0 and 0 <= digit <= 9 else -1
        if whole >= 0 and s.count <= WHOLE_DIGITS:  # which is its own hash
            return mixed(NUMBER_PRINT, (-whole if kind == 45 else whole) & LAST_62)
        text = bytes([self.arena[first + i] for i in range(s.count)])
        number = int(text) if text.lstrip(b"-").isdigit() else float(text)
        if number == -1:  # whose hash is that of -2
            return mixed(NUMBER_PRINT, LAST_62)
        return mixed(NUMBER_PRINT, cython.cast(cython.longlong, hash(number)) & LAST_62)

    @cython.cfunc
    def close_printed(self, s: cython.pointer[State], fitted: i64) -> cython.bint:
        """Go on behind a value of an object or array of which prints are needed."""
        value = s.print
        if not self.arena[s.frame + IS_ARRAY]:
            if not self.filter_shapes(s, fitted):
                return False
            member = mixed(self.arena[s.frame + NAME_PRINT], value)
            self.arena[s.frame + PRINT] = (self.arena[s.frame + PRINT] + member) & LAST_62
            return True
        written = self.arena[s.frame + WRITTEN]
        is_repeated = False
        if self.arena[s.frame + IS_ARRAY] == PRINTS:
            is_repeated = self.has_print(s.frame, value)
            if not is_repeated:
                self.reserve(s.top + 2)
                self.arena[s.top] = written | CHARACTERS << LENGTH_AT
                self.arena[s.top + 1] = value
                written = s.top + 1
                s.top += 2
        member = mixed(self.arena[s.frame + CURRENT], value)
        if not self.filter_arrays(s, fitted):
            return False
        if is_repeated:
            self.arena[s.frame + LIVE] &= ~self.tables.bits[self.node_of(s.frame).printed]
        self.arena[s.frame + WRITTEN] = written
        self.arena[s.frame + PRINT] = (self.arena[s.frame + PRINT] + member) & LAST_62
        return self.arena[s.frame + LIVE] != 0

    @cython.cfunc
    @cython.exceptval(-1)
    def has_print(self, frame: i64, value: i64) -> cython.bint:
        """Return whether an array has an element with a print."""
        written = self.arena[frame + WRITTEN]
        if self.scratch is not None and written != 0 and self.scratch.noted == written:
            return self.scratch.prints[self.slot_of(value)] != 0
        while written != 0:
            self.work += 1
            if self.arena[written] == value:
                return True
            written = self.arena[written - 1] & LOW_HALF
        return False

    @cython.cfunc
    def note_prints(self, frame: i64) -> cython.bint:
        """Note the elements of an array, so that each is found at once."""
        count = self.arena[frame + CURRENT]
        written = self.arena[frame + WRITTEN]
        if self.scratch.noted == written:
            return False
        self.work += count
        if self.scratch.prints.shape[0] < 2 * count:
            self.scratch.prints = new_words(2 * count)
        for i in range(self.scratch.prints.shape[0]):
            self.scratch.prints[i] = 0
        self.scratch.noted = written
        while written != 0:
            value = self.arena[written]
            self.scratch.prints[self.slot_of(value)] = value
            written = self.arena[written - 1] & LOW_HALF
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def slot_of(self, value: i64) -> index:
        """Return where a print is among those that were noted, or the empty slot for it."""
        slots = self.scratch.prints.shape[0]
        slot = value % slots
        while self.scratch.prints[slot] != 0 and self.scratch.prints[slot] != value:
            slot = slot + 1 if slot + 1 < slots else 0
        return slot

    @cython.cfunc
    def begin_searches(self):
        """Forget what was found for another mask, maybe another text's."""
        self.tries = _MOST_TRIED
        self.levels = -1
        self.shared = self.state(0).frame
        self.top = self.state(0).top
        self.steady = self.top
        self.scratch.begin()

    @cython.cfunc
    def leave_out_repeated(self) -> cython.bint:
        """Clear the tokens behind which an element repeats another one, or can only do so."""
        self.nodes = self.tree.trie.nodes
        self.ids = self.tree.trie.ids
        self.is_exact = True
        if self.is_printed(self.shared):
            self.leave_out_long()
            self.leave_out_dead(0, self.tree.trie.roots, 0)
            self.listed = -1
        else:
            for i in range(self.tree.opening.shape[0]):
                token_id = self.tree.opening[i]
                self.states[1] = self.states[0]
                if self.row[token_id >> 5] >> (token_id & 31) & 1:
                    if not self.takes(self.state(1), token_id):
                        self.row[token_id >> 5] &= ~bit32(token_id & 31)
        self.is_exact = False
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def leave_out_dead(self, first: index, end: index, depth: index) -> cython.bint:
        """Do the same at and below some siblings, but where all that is legal is alive."""
        s = self.state(depth)
        groups = self.legal_groups(s)
        varies = self.varies_around(s)
        ending = COLON_GROUP | OPENING_GROUPS | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP
        if s.phase == OBJECT_OPEN or s.phase == ARRAY_OPEN:
            ending |= SPACES  # behind two of which only the end follows
        quotes = cython.cast(cython.longlong, -1)
        room = cython.cast(cython.longlong, FAR)
        if (s.phase == IN_STRING or s.phase == IN_NAME) and s.pending == 0:
            if not varies and s.frame != self.listed:
                room = self.endless_characters(s)
            quotes = QUOTE_GROUP | APOSTROPHE_GROUP if self.is_python else QUOTE_GROUP
        elif not varies:
            room = -1
        for number in range(first, end):
            node = self.trie_node(number)
            if groups >> cython.cast(cython.longlong, node.group) & 1 == 0:
                continue
            stays: cython.bint = node.below & quotes == 0 if quotes >= 0 else False
            if (stays or (varies and node.below & ending == 0)) and node.height <= room:
                continue
            self.work += 1
            self.states[depth + 1] = self.states[depth]
            if not self.step(self.state(depth + 1), cython.cast(cython.longlong, node.byte)):
                self.clear_ids(node.rank, node.rank_end)
                continue
            if node.own != 0 and not self.lives(self.state(depth + 1)):
                self.clear_ids(node.rank, node.rank_end)
            elif node.children != 0:
                self.leave_out_dead(node.child, node.child + node.children, depth + 1)
        return True

    @cython.cfunc
    def leave_out_long(self) -> cython.bint:
        """Do the same with the tokens that stay within the string of the first state."""
        s = self.state(0)
        if s.phase != IN_STRING or s.pending != 0 or s.trie_node >= 0 or self.varies_around(s):
            return False
        room = self.endless_characters(s)
        is_second: cython.bint = self.is_python and s.stop == 39
        shorter = self.tree.raw_shorter if is_second else self.tree.shorter
        words = self.tree.words
        if self.outer_of(s, False) < 0 or room >= shorter.shape[0] // words:
            self.listed = s.frame
            return True
        inside = cython.cast(Row, self.tree.raw_free if is_second else self.tree.free).row
        for w in range(words):
            left = self.row[w] & inside[w]
            if room >= 0:
                left &= ~shorter[room * words + w]
            if left == 0:
                continue
            for b in range(32):
                if left >> b & 1 and not self.keeps_alive(w << 5 | b):
                    self.row[w] &= ~bit32(b)
        self.listed = s.frame
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def keeps_alive(self, token_id: index) -> cython.bint:
        """Return whether an element is alive behind a token that stays within its string."""
        s = self.state(0)
        a = self.automaton(self.automaton_of(s))
        state = s.automaton_state
        count = s.count
        found = s.print
        at = self.tree.text0[token_id]
        end = self.tree.text0[token_id + 1]
        self.work += 1
        while at < end:
            byte = cython.cast(cython.longlong, self.tree.text[at])
            if byte == 92:
                break
            more = 0 if byte < 128 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            character = byte if more == 0 else byte & (63 >> more)
            for i in range(at + 1, at + 1 + more):
                character = character << 6 | (self.tree.text[i] & 63 if i < end else 0)
            if more > 1:  # half a character may become this one
                character = max(character, 0x800 if more == 2 else 0x10000)
            state = self.state_behind(a, state, character)
            if state < 0:
                break
            found = mixed(found, character)
            count += 1
            at += 1 + more
        if at >= end:
            if self.has_many(a, state, s.languages, count):
                return True
            if self.ends_anew(self.ended_at(a, state, s.languages, count), found, self.around):
                return True
        self.states[1] = self.states[0]
        return self.takes(self.state(1), token_id)

    @cython.cfunc
    @cython.exceptval(-1)
    def has_many(
        self, a: cython.pointer[Automaton], state: i64, languages: i64, count: i64
    ) -> cython.bint:
        """Return whether a text of so many characters has a great many ways to go on."""
        languages &= self.tables.vast[a.states + state]
        for k in range(a.bounds):
            maximum = self.tables.bounds[a.bound0 + k].maximum
            if 0 <= maximum < count + a.varied:
                languages &= ~bit(k)
        return languages != 0

    @cython.cfunc
    @cython.exceptval(-1)
    def varies_around(self, s: cython.pointer[State]) -> cython.bint:
        """Return whether there is more to write in an element, whatever the value at hand is."""
        frame = s.frame
        may_vary = not self.is_empty(s)
        noted = cython.cast(cython.longlong, -1)
        found = False
        while not found and frame >= 0 and self.arena[frame + IS_ARRAY] != PRINTS:
            if may_vary and noted < 0 and frame < self.steady:
                known = self.answer(frame, 0, 0, VARIES)
                if known.found != NOT_ASKED:
                    return known.found != 0
                noted = frame
            found = may_vary and self.may_vary(frame, 1, True)
            may_vary = True
            frame = self.arena[frame + PARENT]
            self.work += 1
        if noted >= 0:
            self.answer(noted, 0, 0, VARIES).found = found
        return found

    @cython.cfunc
    def is_empty(self, s: cython.pointer[State]) -> cython.bint:
        """Return whether nothing may follow in an object or array but its end."""
        return s.phase == OBJECT_OPEN_SPACED or s.phase == ARRAY_OPEN_SPACED

    @cython.cfunc
    def may_vary(self, frame: i64, begun: i64, lasting: cython.bint) -> cython.bint:
        """Return whether an object or array has a great many ways to go on with further parts.

        Args:
            frame: of it.
            begun: how many elements have been begun, 0 or 1.
            lasting: whether it has to have them also behind parts that are few.

        """
        node = self.node_of(frame)
        if self.arena[frame + IS_ARRAY]:
            if node.tallies != 0:
                return False
            length = self.arena[frame + CURRENT] + begun
            place = node.place0 + min(length, cython.cast(cython.longlong, node.places) - 1)
            child = self.node(self.tables.places[place].node)
            for i in range(node.arrays):
                maximum = self.tables.arrays[node.array0 + i].maximum
                is_endless: cython.bint = maximum < 0
                if not (self.arena[frame + LIVE] >> i & 1 and (is_endless or length < maximum)):
                    continue
                for v in range(self.tables.places[place].values):
                    if self.tables.bits[self.tables.places[place].fits + v] >> i & 1 == 0:
                        continue
                    if is_endless and self.arena[frame + IS_ARRAY] == 1:
                        return True
                    if not lasting and self.tables.bits[child.vast] >> v & 1:
                        return True
            return False
        if node.limits != 0:
            return False
        if node.names_end == 0 and node.classes != 0 and self.open_classes(frame) != 0:
            return True
        for n in range(node.names):
            if self.arena[self.names_at(frame) + (n >> 6)] >> (n & 63) & 1:
                continue
            name = node.name0 + n
            vast = self.tables.bits[self.node(self.tables.names[name].node).vast]
            for v in range(self.tables.names[name].values):
                if vast >> v & 1:
                    fits = self.tables.names[name].fits + v * node.shape_words
                    for w in range(node.shape_words):
                        if self.arena[frame + LIVE + w] & self.tables.bits[fits + w]:
                            return True
        self.work += node.names
        return False

    @cython.cfunc
    def is_vast(self, s: cython.pointer[State]) -> cython.bint:
        """Return whether the value at hand has a great many ways to go on."""
        if s.phase == BEGIN or s.phase == NAMED:
            return self.tables.bits[self.node(s.node).vast] & s.values != 0
        if s.phase == IN_BARE:
            if s.count > SURE_DIGITS:
                return False
        elif (s.phase != IN_STRING and s.phase != IN_NAME) or s.automaton_state < 0:
            return False
        elif s.pending != 0:
            return self.endless_characters(s) >= 1
        a = self.automaton(self.automaton_of(s))
        return self.has_many(a, s.automaton_state, s.languages, s.count)

    @cython.cfunc
    @cython.exceptval(-1)
    def endless_characters(self, s: cython.pointer[State]) -> i64:
        """Return how many characters, any that are legal, leave a string many ways; -1 if none."""
        if s.automaton_state < 0:
            return -1
        a = self.automaton(self.automaton_of(s))
        leads = self.tables.leads[a.states + s.automaton_state] & s.languages
        room = cython.cast(cython.longlong, self.tables.vast_steps[a.states + s.automaton_state])
        for k in range(a.bounds):
            bound = self.tables.bounds[a.bound0 + k]
            if leads >> k & 1 and bound.maximum >= 0:
                room = min(room, bound.maximum - a.varied - s.count)
        return max(room, -1)

    @cython.cfunc
    @cython.exceptval(-1)
    def lives(self, s: cython.pointer[State]) -> cython.bint:
        """Return whether each element that is being written can become one that is not there."""
        if not self.is_printed(s.frame):
            return True
        outer = self.outer_of(s, self.is_vast(s))
        if outer < 0:
            return True
        if s.phase == IN_STRING and s.pending == 0 and s.frame == self.shared:
            if self.ends_anew(self.ended_texts(s), s.print, outer):
                return True
        return self.search(s, outer)

    @cython.cfunc
    def outer_of(self, s: cython.pointer[State], is_varied: cython.bint) -> i64:
        """Return the outermost array of which an element is not surely alive; -1 for none.

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
        while self.is_printed(frame):
            if noted < 0 and frame != s.frame and frame < self.steady:
                asked = 1 if is_varied else 0
                known = self.answer(frame, 0, asked, OUTER)
                if known.found != NOT_ASKED:
                    return known.found if known.found >= 0 else outer
                noted = frame
                inner = outer
                outer = -1
            self.work += 1
            if self.arena[frame + IS_ARRAY] == PRINTS and self.arena[frame + WRITTEN] != 0:
                if is_begun and not is_varied:
                    outer = frame
            if not (is_varied or (frame == s.frame and self.is_empty(s))):
                is_varied = self.may_vary(frame, is_begun, False)
            is_begun = True
            frame = self.arena[frame + PARENT]
        if noted < 0:
            return outer
        self.answer(noted, 0, asked, OUTER).found = outer
        return outer if outer >= 0 else inner

    @cython.cfunc
    @cython.exceptval(-1)
    def level_of(self, frame: i64) -> i64:
        """Return how many frames are around one."""
        return -1 if frame < 0 else self.arena[frame + LEVEL]

    @cython.cfunc
    def search(self, s: cython.pointer[State], outer: i64) -> cython.bint:
        """Return whether some text ends the element of an array.

        True where that takes long to tell: an element is repeated in no case, and the text would
        end by an error where nothing else is left.
        """
        is_alone: cython.bint = self.scratch is None
        if is_alone:
            self.scratch = self.tree.borrow()
            self.scratch.begin()
            self.steady = s.top
        self.note_prints(outer)
        if cython.compiled:
            memcpy(cython.address(self.scratch.search[0]), s, cython.sizeof(State))
        else:
            self.scratch.search[0] = s
        start = self.searched_state(0)
        is_text: cython.bint = (
            start.phase == IN_STRING or start.phase == IN_NAME or start.phase > DONE
        )
        if start.pending == CARRIAGE_RETURN and not is_text:
            start.pending = LINE_BREAK
        if not is_text:
            self.tries = max(self.tries, _LEAST_TRIED)
        self.is_far = False
        self.reached = -1
        found = self.seek(self.level_of(outer))
        self.is_ordered = False
        if self.scratch.noted > self.top:  # other tokens have other elements there
            self.scratch.noted = 0
        if self.reached > 0 and start.frame == self.shared:
            self.note_end(outer)
        if is_alone:
            self.tree.spare.append(self.scratch)
            self.scratch = None
            self.steady = 0
        return found or self.is_far

    @cython.cfunc
    @cython.exceptval(check=False)
    def searched_state(self, i: index) -> cython.pointer[State]:
        """Return the state of a search behind so many bytes."""
        if not cython.compiled:
            return self.scratch.search[i]
        return cython.address(self.scratch.search[i])

    @cython.cfunc
    def seek(self, level: i64) -> cython.bint:
        """Search depth first, from the first state on; no recursion, which takes 400 bytes a byte.

        Args:
            level: of the array, one of whose elements has to end.

        """
        i = cython.cast(cython.Py_ssize_t, 0)
        found = self.known(i, level)
        while True:
            if found == UNKNOWN:
                found = self.seek_on(i, level)
                if found == UNKNOWN:
                    i += 1
                    found = self.known(i, level)
                    continue
            asked = self.scratch.asked[i]
            if asked != 0 and (found or not self.is_far):
                self.scratch.told[asked & (PRINT_SLOTS - 1)] = asked << 1 | found
            if i == 0:
                return found
            i -= 1
            if not found:
                found = UNKNOWN

    @cython.cfunc
    def known(self, i: index, level: i64) -> cython.int:
        """Return whether a search that has come to so many bytes ends, if it is known from there.

        Else note that none of its bytes has been tried, and under which print to note the answer.
        """
        self.scratch.tried[i] = 0
        self.scratch.asked[i] = 0
        s = self.searched_state(i)
        is_text: cython.bint = s.phase == IN_STRING and s.pending == 0
        is_text |= s.phase == IN_BARE and self.level_of(s.frame) == level  # else there are many
        if s.phase == BEGIN or is_text:
            found = self.print_of(s, level)
            if is_text:
                found = mixed(mixed(mixed(found, s.print), s.languages), s.phase)
            told = self.scratch.told[found & (PRINT_SLOTS - 1)]
            if told >> 1 == found:
                return told & 1
            self.scratch.asked[i] = found
        if i + 2 > self.scratch.search.shape[0]:
            self.is_far = True
            return False
        return UNKNOWN

    @cython.cfunc
    @cython.exceptval(-1)
    def print_of(self, s: cython.pointer[State], level: i64) -> i64:
        """Return a print of all that it depends on how a value may go on, up to an array."""
        found = mixed(mixed(mixed(self.scratch.round, level), s.node), s.values)
        frame = s.frame
        while frame >= self.steady and self.level_of(frame) >= level:
            found = self.with_frame(found, frame)
            frame = self.arena[frame + PARENT]
        if self.level_of(frame) < level:
            return found
        known = self.answer(frame, 0, level, AROUND)
        if known.found == NOT_ASKED:
            around = cython.cast(cython.longlong, 0)
            outer = frame
            while self.level_of(outer) >= level:
                around = self.with_frame(around, outer)
                outer = self.arena[outer + PARENT]
            self.answer(frame, 0, level, AROUND).found = around
            return mixed(found, around)
        return mixed(found, known.found)

    @cython.cfunc
    @cython.exceptval(-1)
    def with_frame(self, found: i64, frame: i64) -> i64:
        """Mix what a frame has into a print."""
        size = self.frame_size(frame)
        self.work += size >> 2
        for i in range(PRINT, size):
            found = mixed(found, self.arena[frame + i])
        return found

    @cython.cfunc
    def seek_on(self, i: index, level: i64) -> cython.int:
        """Try the next byte behind so many; white space and needless escapes are left out.

        Returns whether the element has ended, `UNKNOWN` where there is a state behind that byte.
        """
        s = self.searched_state(i)
        first = self.scratch.tried[i]
        is_last: cython.bint = s.phase == IN_BARE and self.level_of(s.frame) == level
        if is_last and first == 0:
            self.scratch.search[i + 1] = self.scratch.search[i]
            if self.close_bare(self.searched_state(i + 1)):
                return True
        is_text: cython.bint = s.phase == IN_STRING or s.phase == IN_NAME
        is_escape: cython.bint = is_text and i > 0 and s.pending & 15 == ESCAPE
        # The members of an object are as different in one order as in any.
        is_own: cython.bint = s.phase == IN_NAME and i > 0 and self.began_name(i)
        groups = self.legal_groups(s)
        if is_last:
            groups &= ~(COMMA_GROUP | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP)
        for k in range(first, self.tree.order.shape[0]):
            byte = cython.cast(cython.longlong, self.tree.order[k] & 255)
            if groups >> (self.tree.order[k] >> 8) & 1 == 0 or (byte == 32 and not is_text):
                continue
            if not self.is_worth_trying(s, byte):
                continue
            if is_escape and (byte == 47 or byte == 85):
                continue  # /, U
            if is_escape and (byte == 117 or byte == 120) and not self.viable(s, 0, 31):
                continue  # u, x
            if self.tries <= 0:
                self.is_far = True
                return False
            self.tries -= 1
            self.work += 4
            self.scratch.search[i + 1] = self.scratch.search[i]
            following = self.searched_state(i + 1)
            self.is_ordered = is_own
            if not self.step(following, byte) or (is_last and following.phase != IN_BARE):
                continue
            left = self.level_of(following.frame)
            if left < level or (left == level and following.phase == AFTER):
                self.reached = i + 1
                return True
            self.scratch.tried[i] = k + 1
            return UNKNOWN
        return False

    # Behind a string that ends, an element goes on to its end in one way as behind any other: each
    # object or array around it has a sum of prints, to which only the string's adds another one.

    @cython.cfunc
    def note_end(self, outer: i64) -> cython.bint:
        """Note the end that was found for an element whose string ends where a search began.

        Of each object and array around the string: the print of the name, or the place, of what is
        in it; and what it has beside.
        """
        s = self.searched_state(0)
        depth = self.level_of(s.frame)
        levels = cython.cast(cython.longlong, 0)
        frame = s.frame
        found = s.print
        if s.phase != IN_STRING or s.pending != 0 or self.searched_state(1).phase == IN_STRING:
            return False
        if (self.is_kept(s) and self.arena[s.frame + WRITTEN] != 0) or depth - self.level_of(
            outer
        ) > _ENDING:
            return False
        for i in range(1, self.reached + 1):
            following = self.searched_state(i)
            if self.level_of(following.frame) < depth:
                kind = self.arena[frame + IS_ARRAY]
                if kind == PRINTS:
                    return False
                self.ends[2 * levels] = self.arena[frame + (CURRENT if kind else NAME_PRINT)]
                member = mixed(self.ends[2 * levels], found)
                found = following.print
                self.ends[2 * levels + 1] = found - member
                frame = self.arena[frame + PARENT]
                levels += 1
                depth -= 1
        self.levels = levels
        self.ended = self.ended_texts(s)
        self.around = outer
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def ends_anew(self, ended: i64, found: i64, outer: i64) -> cython.bint:
        """Return whether an element is not there that ends as noted, behind a string.

        Args:
            ended: the languages that the string is in.
            found: the print of the string.
            outer: the array.

        """
        if self.levels < 0 or ended != self.ended or outer != self.around:
            return False
        for k in range(self.levels):
            found = (self.ends[2 * k + 1] + mixed(self.ends[2 * k], found)) & LAST_62
        return not self.has_print(outer, found)

    @cython.cfunc
    def began_name(self, i: index) -> cython.bint:
        """Return whether a search has begun the name that it is in."""
        for k in range(i):
            if self.searched_state(k).phase != IN_NAME:
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def is_worth_trying(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Return whether a byte may lead on in a search, where that is told without a step."""
        if s.phase == IN_BARE:
            return self.is_needed(s, byte)
        if s.phase == BEGIN or s.phase == ARRAY_OPEN:
            if self.is_quote(byte) or byte == 91 or byte == 93 or byte == 123:
                return True
            bare = self.node(s.node).bare_automaton
            return bare >= 0 and self.state_behind(self.automaton(bare), 0, byte) >= 0
        kind = s.pending & 15
        if (s.phase != IN_STRING and s.phase != IN_NAME) or byte == self.quote_of(s):
            return True
        if byte == 92 and kind == 0:  # for characters that are written in no other way
            quote = self.quote_of(s)
            is_control = self.viable(s, 0, 31)
            return is_control or self.viable(s, quote, quote) or self.viable(s, 92, 92)
        if UTF_8_OF_2 <= kind <= UTF_8_OF_4:
            return byte >= 128
        if kind == SECOND_BACKSLASH:
            return byte == 92
        if kind != 0:
            return kind == ESCAPE or byte == 117 or hexadecimal(byte) >= 0
        if byte >= 128:
            missing = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            low = (byte & (63 >> missing)) << (6 * missing)
            return self.viable(s, low, low + bit(6 * missing) - 1)
        if s.trie_node >= 0 and self.child_of(s.trie_node, byte) >= 0:
            return True
        if s.automaton_state < 0:
            return False
        return self.state_behind(self.automaton(self.automaton_of(s)), s.automaton_state, byte) >= 0

    @cython.cfunc
    def is_needed(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Return whether a number or word goes on by a byte: few are spelled in two ways."""
        a = self.automaton(self.node(s.node).bare_automaton)
        state = self.state_behind(a, s.automaton_state, byte)
        if state < 0:
            is_end: cython.bint = byte == 44 or byte == 93 or byte == 125 or byte == 41  # , ] } )
            return is_end and self.tables.accepts[a.states + s.automaton_state] & s.languages != 0
        if self.arena[s.top - s.count] >= 65:  # a word
            return True
        if byte == 101 or byte == 69:  # e, E
            return byte == 101 and s.count > DOUBLE_DIGITS
        if byte == 46:  # a point, behind which there is more than zeros
            for _ in range(PLACES):
                for digit in range(49, 58):
                    to = self.state_behind(a, state, digit)
                    if to >= 0 and self.tables.leads[a.states + to] & s.languages != 0:
                        return True
                before = state
                state = self.state_behind(a, state, 48)
                if state < 0 or state == before:
                    return False
            return False
        if byte == 48 and state == s.automaton_state:  # behind a point, where any number may come
            for i in range(s.top - s.count, s.top):
                if self.arena[i] == 46:
                    return False
        return True

    # Bytes

    @cython.cfunc
    @cython.exceptval(-1)
    def step(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance a state by a byte, in place; return whether it is legal."""
        if self.has_stops and (s.phase == IN_STRING or s.phase == IN_NAME):
            if not self.avoids_stops(s, byte):
                return False
        if s.phase == IN_STRING:
            kind = self.character_byte(s, byte)
            return self.close_string(s) if kind == QUOTE else kind
        if s.phase == IN_NAME:
            kind = self.character_byte(s, byte)
            return self.close_name(s) if kind == QUOTE else kind
        if s.phase >= IN_RAW:
            return self.plain_byte(s, byte) and (s.pending != 0 or self.end_raw(s, byte))
        if s.phase == IN_BARE:
            if self.bare_byte(s, byte):
                return True
            if not self.close_bare(s):
                return False
        if s.phase == IN_ARGUMENT:
            if is_of_word(byte):
                return self.take(s, byte)
            if not self.close_name(s):
                return False
        if s.phase == DONE:
            return False
        if byte == 32 or byte == 9 or byte == 10 or byte == 13:
            return self.white_space(s, byte)
        if s.pending == CARRIAGE_RETURN:
            return False
        if s.phase == BEGIN:
            return self.open_value(s, byte)
        if s.phase == NAMED:
            s.phase = BEGIN
            s.pending = 0
            return byte == (61 if self.is_of_call(s.frame) else 58)
        if byte == 125 or byte == 93 or (byte == 41 and self.is_python):
            return self.close_bracket(s, byte)
        if s.phase == OBJECT_OPEN or s.phase == OBJECT_COMMA:
            return self.begin_name(s, byte)
        if s.phase == ARRAY_OPEN:
            return s.values != 0 and self.open_value(s, byte)
        if s.phase == AFTER and byte == 44:
            s.pending = 0
            if not self.arena[s.frame + IS_ARRAY]:
                return self.next_name(s)
            s.phase = BEGIN
            return self.next_element(s)
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def white_space(self, s: cython.pointer[State], byte: i64) -> cython.bint:
        """Advance by white space between tokens: one space, or a line break and its indentation.

        Behind a space that is a token of its own a model may want one that begins with another.
        """
        if self.tables.white_space < (1 if byte == 32 else 2):
            return False
        if s.pending == CARRIAGE_RETURN:
            s.pending = LINE_BREAK
            return byte == 10
        if LINE_BREAK <= s.pending < LINE_BREAK + INDENTATION and (byte == 32 or byte == 9):
            s.pending += 1
            return True
        if byte == 9:
            return False
        if s.pending == SPACE and byte == 32 and self.tables.white_space == 3:
            s.pending = SECOND_SPACE
            return True
        if s.pending != 0:
            # An empty object or array may have white space twice: behind `{` and before `}`.
            is_open: cython.bint = s.phase == OBJECT_OPEN or s.phase == ARRAY_OPEN
            if not is_open or self.complete_values(s.frame) == 0:
                return False
            s.phase += 1
        s.pending = SPACE if byte == 32 else CARRIAGE_RETURN if byte == 13 else LINE_BREAK
        return True

    # Rows

    @cython.cfunc
    @cython.exceptval(-1)
    def legal_groups(self, s: cython.pointer[State]) -> i64:
        """Return the groups of bytes of which some may be legal."""
        if self.is_python:
            return -1
        if s.phase == IN_STRING or s.phase == IN_NAME or s.phase >= IN_RAW:
            if s.pending != 0:
                return -1
            groups = CONTROL_GROUP if s.phase >= IN_RAW else QUOTE_GROUP | BACKSLASH_GROUP
            if s.automaton_state >= 0:
                a = self.automaton(self.automaton_of(s))
                groups |= self.tables.opens[a.states + s.automaton_state]
            if s.trie_node >= 0:
                groups |= self.tables.trie_opens[s.trie_node]
            return groups
        if s.phase == AFTER:
            return SPACES | COMMA_GROUP | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP
        if s.phase == NAMED:
            return SPACES | COLON_GROUP
        if s.phase == IN_BARE:
            a = self.automaton(self.node(s.node).bare_automaton)
            groups = SPACES | COMMA_GROUP | CLOSE_OBJECT_GROUP | CLOSE_ARRAY_GROUP
            return groups | self.tables.opens[a.states + s.automaton_state]
        if s.phase == BEGIN or s.phase == ARRAY_OPEN:
            groups = SPACES | QUOTE_GROUP | OPENING_GROUPS | CLOSE_ARRAY_GROUP
            bare = self.node(s.node).bare_automaton
            return groups if bare < 0 else groups | self.tables.opens[self.automaton(bare).states]
        if s.phase == ARRAY_OPEN_SPACED:
            return SPACES | CLOSE_ARRAY_GROUP
        return 0 if s.phase == DONE else SPACES | QUOTE_GROUP | CLOSE_OBJECT_GROUP

    @cython.cfunc
    @cython.exceptval(-1)
    def set_ids(self, first: index, end: index) -> cython.bint:
        """Set the bits of some token ids of the trie."""
        self.work += (end - first) >> 3
        for r in range(first, end):
            token_id = self.ids[r]
            self.row[token_id >> 5] |= bit32(token_id & 31)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def clear_ids(self, first: index, end: index) -> cython.bint:
        """Clear the bits of some token ids of the trie."""
        self.work += (end - first) >> 3
        for r in range(first, end):
            token_id = self.ids[r]
            self.row[token_id >> 5] &= ~bit32(token_id & 31)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def set_own(self, node: cython.pointer[TrieNode]) -> cython.bint:
        """Set the bits of the token ids that end at a node."""
        if node.own == 1:
            self.row[node.token >> 5] |= bit32(node.token & 31)
        elif node.own != 0:
            self.set_ids(node.rank, node.rank + node.own)
        return True

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def trie_node(self, number: index) -> cython.pointer[TrieNode]:
        """Return a node of the trie that is walked."""
        if number < 0 or number >= self.nodes.shape[0]:
            self.is_lost = True
            number = 0
        if not cython.compiled:
            return self.nodes[number]
        return cython.address(self.nodes[number])

    @cython.cfunc
    @cython.exceptval(-1)
    def set_text(self, node: cython.pointer[TrieNode], count: i64) -> cython.bint:
        """Do so with those of a string that has so many characters then."""
        self.set_own(node)
        if self.is_counted:
            self.count_characters(node, count)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def walk(self, first: index, end: index, depth: index) -> cython.bint:
        """Set the bits of the legal tokens at and below some siblings.

        Args:
            first: the first of them.
            end: the node behind the last.
            depth: where the state before them is.

        """
        s = self.state(depth)
        is_string: cython.bint = s.phase == IN_STRING or s.phase == IN_NAME or s.phase == IN_ANY
        is_string = is_string or (s.phase >= IN_RAW and s.pending == 0)
        if is_string and s.trie_node < 0 and s.automaton_state >= 0:
            if s.pending != 0:
                return self.walk_pending(first, end, depth, False)
            a = self.automaton(self.automaton_of(s))
            return self.walk_string(a, first, end, depth, depth, s.automaton_state, s.count, False)
        groups = self.legal_groups(s)
        safe = cython.cast(cython.longlong, 0)
        room = cython.cast(cython.longlong, 0)
        if s.phase == IN_BARE or (
            s.phase == IN_ARGUMENT and s.trie_node < 0 and s.automaton_state >= 0
        ):
            at = self.automaton(self.automaton_of(s)).states + s.automaton_state
            safe = self.tables.safe[at]
            room = self.tables.safe_steps[at]
        for number in range(first, end):
            node = self.trie_node(number)
            if groups >> cython.cast(cython.longlong, node.group) & 1 == 0:
                continue
            if node.below & ~safe == 0 and node.height <= room:
                self.work += 1
                self.set_ids(node.rank, node.rank_end)
                continue
            self.states[depth + 1] = self.states[depth]
            self.work += 1
            if self.step(self.state(depth + 1), cython.cast(cython.longlong, node.byte)):
                self.set_own(node)
                if node.children != 0:
                    self.walk(node.child, node.child + node.children, depth + 1)
                    if self.is_quote(node.byte) or self.is_laid_out or self.is_python:
                        self.leave_out_from(node, depth + 1)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def walk_string(
        self,
        a: cython.pointer[Automaton],
        first: index,
        end: index,
        base: index,
        depth: index,
        state: i64,
        count: i64,
        is_looping: cython.bint,
    ) -> cython.bint:
        """Walk within a string or raw text; a `State` is written where it ends.

        Args:
            a: the automaton, in which alone the text is.
            first: the first of some siblings.
            end: the node behind the last.
            base: where a state of the same string is.
            depth: the bytes before the siblings.
            state: of the automaton, before them.
            count: the characters of the string.
            is_looping: whether all before them leaves the first state of a wide row as it is.

        """
        at = a.states + state
        languages = self.state(base).languages
        is_json: cython.bint = a.kind == OF_JSON
        quote = self.quote_of(self.state(base))
        groups = self.tables.opens[at] | self.ending_groups(is_json)
        # What is safe may lead to an end that comes too early.
        safe = 0 if self.is_counted or self.is_finite(at) else self.safe_groups(at)
        room = cython.cast(cython.longlong, self.tables.safe_steps[at])
        # Tokens that only stay in this state may all be set already, or be too long.
        may_be: cython.bint = self.limit >= 0 and room >= FAR_STEPS
        left_out = safe if may_be and not self.leads_beyond(a, state, languages) else 0
        if safe != 0:
            room = min(room, self.room_of(a, state, languages, count))
        is_same: cython.bint = is_looping and state == self.state(0).automaton_state
        last = cython.cast(cython.longlong, -1)  # siblings often lead to one state
        does_lead = False
        for number in range(first, end):
            node = self.trie_node(number)
            if groups >> cython.cast(cython.longlong, node.group) & 1 == 0:
                continue
            height = cython.cast(cython.longlong, node.height)
            if count + height <= self.limit or node.below & ~left_out == 0:
                continue
            if node.below & ~safe == 0 and height <= room:
                self.set_ids(node.rank, node.rank_end)
                continue
            byte = cython.cast(cython.longlong, node.byte)
            if byte >= 128:
                self.walk_beyond(a, number, base, depth, state, count, is_same)
                continue
            self.work += 1
            if is_json and (byte == quote or byte == 92):
                self.leave_string(number, base, depth, state, count, is_same)
                continue
            if byte < 32 and is_json and not self.may_be_raw(byte):
                continue
            class_ = self.tables.ascii[a.ascii + byte]
            if class_ < 0:
                continue
            to = self.tables.transitions[a.transitions + state * a.classes + class_]
            if to != last:
                last = to
                does_lead = self.leads_on(a, to, languages, count + 1)
            if not does_lead:
                continue
            if a.kind == RAW_ENDING and self.tables.accepts[a.states + to] & languages != 0:
                self.leave_raw(number, base, depth, state, count, 0, is_same)
                continue
            self.set_text(node, count + 1)
            self.note_finite(a, node, to, count + 1)
            if node.children != 0:
                child = cython.cast(cython.Py_ssize_t, node.child)
                below = child + node.children
                self.walk_string(a, child, below, base, depth + 1, to, count + 1, is_same)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def safe_groups(self, at: index) -> i64:
        """Return the safe groups of a state of an automaton, which stands there in the tables."""
        safe = self.tables.safe[at]
        return safe & ~APOSTROPHE_GROUP if self.is_python else safe

    @cython.cfunc
    @cython.exceptval(-1)
    def ending_groups(self, is_json: cython.bint) -> i64:
        """Return the groups of bytes that are looked at in each state of a string or raw text."""
        groups = QUOTE_GROUP | BACKSLASH_GROUP if is_json else CONTROL_GROUP
        return groups | APOSTROPHE_GROUP | CONTROL_GROUP if self.is_python else groups

    @cython.cfunc
    @cython.exceptval(-1)
    def walk_beyond(
        self,
        a: cython.pointer[Automaton],
        number: index,
        base: index,
        depth: index,
        state: i64,
        count: i64,
        is_looping: cython.bint,
    ) -> cython.bint:
        """Walk at and below a node with the first byte of a character; see `walk_string`."""
        node = self.trie_node(number)
        byte = cython.cast(cython.longlong, node.byte)
        if byte < 0xC2 or byte > 0xF4:
            return False
        if self.takes_all(a, node, base, state, count, node.height):
            return self.set_ids(node.rank, node.rank_end)
        missing = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        kind = UTF_8_OF_2 + missing - 1
        return self.walk_character(
            a, number, number + 1, base, depth, state, count, is_looping, kind, missing, 0, -1
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def walk_character(
        self,
        a: cython.pointer[Automaton],
        first: index,
        end: index,
        base: index,
        depth: index,
        state: i64,
        count: i64,
        is_looping: cython.bint,
        kind: i64,
        missing: i64,
        value: i64,
        to: i64,
    ) -> cython.bint:
        """Walk within a character beyond ASCII of such a string; see `walk_string` and `utf_8`.

        Args:
            kind: of the character.
            missing: how many bytes it lacks behind the siblings.
            value: its bits before them.
            to: the state that every character leads to which begins so; -1 if it is not the same.

        """
        is_first: cython.bint = kind == UTF_8_OF_2 + missing - 1
        for number in range(first, end):
            node = self.trie_node(number)
            byte = cython.cast(cython.longlong, node.byte)
            bits = byte & 63
            if is_first:
                bits = byte & (63 >> missing)
            elif byte & 0xC0 != 0x80:
                continue
            bits |= value << 6
            self.work += 1
            after = to
            if after < 0:
                after = self.state_of_all(a, base, depth, state, count, kind, missing, bits)
                if after == ILLEGAL_CHARACTER:
                    continue
            if missing == 0 and a.kind == RAW_ENDING and self.tables.accepts[a.states + after] != 0:
                pending = kind | 1 << 4 | value << 8
                self.leave_raw(number, base, depth, state, count, pending, False)
                continue
            height = cython.cast(cython.longlong, node.height) - is_first
            may_take_all: cython.bint = node.children != 0 and after >= 0
            if may_take_all and self.takes_all(a, node, base, after, count + 1, height):
                self.set_ids(node.rank, node.rank_end)
                continue
            self.set_text(node, count + 1)
            self.note_finite(a, node, after, count + 1)
            if node.children == 0:
                continue
            child = cython.cast(cython.Py_ssize_t, node.child)
            below = child + node.children
            if missing == 0:
                self.walk_string(a, child, below, base, depth + 1, after, count + 1, is_looping)
                continue
            rest = missing - 1
            self.walk_character(
                a, child, below, base, depth + 1, state, count, is_looping, kind, rest, bits, after
            )
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def takes_all(
        self,
        a: cython.pointer[Automaton],
        node: cython.pointer[TrieNode],
        base: index,
        state: i64,
        count: i64,
        height: i64,
    ) -> cython.bint:
        """Return whether all at and below a node goes on in the string; see `walk_string`.

        Args:
            a: the automaton.
            node: of a byte of a character beyond ASCII.
            base: where a state of the same string is.
            state: before the character, or that it leads to whatever its other bytes are.
            count: the characters of the string there.
            height: the most characters from there on.

        """
        at = a.states + state
        if self.is_counted or self.is_finite(at):
            return False
        if a.kind == RAW_ENDING and self.tables.accepts[at] != 0:
            return False
        if height == 0:
            return node.below & CONTROL_GROUP == 0
        steps = self.tables.cjk_steps[at]
        if node.below & ~CJK_GROUP != 0:
            steps = self.tables.safe_steps[at]
            if node.below & ~self.safe_groups(at) != 0:
                return False
        if height > steps:
            return False
        return height <= self.room_of(a, state, self.state(base).languages, count)

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def state_of_all(
        self,
        a: cython.pointer[Automaton],
        base: index,
        depth: index,
        state: i64,
        count: i64,
        kind: i64,
        missing: i64,
        value: i64,
    ) -> i64:
        """Return the state that each character leads to which begins with some bits.

        Returns -1 if it is not the same for all, `ILLEGAL_CHARACTER` if none leads on.
        """
        least = value << (6 * missing)
        greatest = least + bit(6 * missing) - 1
        low = least
        high = greatest
        if kind == UTF_8_OF_3:
            low = max(low, 0x800)
            if low <= LAST_SURROGATE and high >= FIRST_SURROGATE:
                high = FIRST_SURROGATE - 1
        elif kind == UTF_8_OF_4:
            low = max(low, 0x10000)
            high = min(high, LAST_CHARACTER)
        if low > high:
            return ILLEGAL_CHARACTER
        if not self.is_in_range(a, low):
            self.last_range += 1
            if not self.is_in_range(a, low):
                self.last_range = self.range_of(a, low)
        if self.is_in_range(a, high):
            class_ = self.tables.range_class[self.last_range]
            to = cython.cast(cython.longlong, -1)
            if class_ >= 0:
                to = self.tables.transitions[a.transitions + state * a.classes + class_]
            if not self.leads_on(a, to, self.state(base).languages, count + 1):
                return ILLEGAL_CHARACTER
            return to if low == least and high == greatest else -1
        self.put_state(base, depth, state, count)
        return -1 if self.viable(self.state(depth + 1), low, high) else ILLEGAL_CHARACTER

    @cython.cfunc
    @cython.exceptval(-1)
    def is_in_range(self, a: cython.pointer[Automaton], character: i64) -> cython.bint:
        """Return whether a character is in the range that the last one was in."""
        end = a.range0 + a.ranges
        if (
            not a.range0 <= self.last_range < end
            or self.tables.range_low[self.last_range] > character
        ):
            return False
        return self.last_range + 1 == end or character < self.tables.range_low[self.last_range + 1]

    @cython.cfunc
    def put_state(self, base: index, depth: index, state: i64, count: i64) -> cython.bint:
        """Write the state behind a byte more, in the string that another state is in."""
        self.states[depth + 1] = self.states[base]
        s = self.state(depth + 1)
        s.automaton_state = state
        s.count = count
        s.pending = 0
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def leave_string(
        self, number: index, base: index, depth: index, state: i64, count: i64, is_same: cython.bint
    ) -> cython.bint:
        """Walk a node whose byte is a quote or a backslash; see `walk_string`."""
        node = self.trie_node(number)
        self.put_state(base, depth, state, count)
        s = self.state(depth + 1)
        child = cython.cast(cython.Py_ssize_t, node.child)
        end = child + node.children
        if node.byte == 92:
            if self.character_byte(s, 92) != INSIDE:
                return False
            self.set_text(node, count + 1)
            self.note_finite(self.automaton(self.automaton_of(s)), node, -1, count + 1)
            return self.walk_pending(child, end, depth + 1, is_same)
        if s.phase == IN_ANY:
            if self.tables.accepts[self.automaton(s.node).states + state] != 0:
                self.note_exit(number, depth, is_same)
            return True
        if not self.step(s, cython.cast(cython.longlong, node.byte)):
            return False
        self.set_own(node)
        return child < end and self.walk(child, end, depth + 1)

    @cython.cfunc
    def leave_raw(
        self,
        number: index,
        base: index,
        depth: index,
        state: i64,
        count: i64,
        pending: i64,
        is_same: cython.bint,
    ) -> cython.bint:
        """Walk a node whose byte may end raw text; `pending` is before it. See `walk_string`."""
        node = self.trie_node(number)
        self.put_state(base, depth, state, count)
        s = self.state(depth + 1)
        s.pending = pending
        if s.phase == IN_ANY:
            return self.note_exit(number, depth, is_same)
        if not self.step(s, cython.cast(cython.longlong, node.byte)):
            return False
        self.set_own(node)
        if node.children == 0:
            return False
        child = cython.cast(cython.Py_ssize_t, node.child)
        self.walk(child, child + node.children, depth + 1)
        return self.leave_out_from(node, depth + 1)

    @cython.cfunc
    def note_exit(self, number: index, depth: index, is_same: cython.bint) -> cython.bint:
        """Append an exit of the wide row that is made."""
        self.exits[self.count] = number
        self.depths[self.count] = ~depth if is_same else depth
        self.count += 1
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def is_finite(self, at: index) -> cython.bint:
        """Return whether texts of a few lengths are left in a state, which stands there."""
        return self.finite_count >= 0 and self.tables.free_to[at] < 0

    @cython.cfunc
    @cython.exceptval(-1)
    def note_finite(
        self,
        a: cython.pointer[Automaton],
        node: cython.pointer[TrieNode],
        state: i64,
        count: i64,
    ) -> cython.bint:
        """Append the tokens that end at a node, if few lengths are left behind; see `WideRow`.

        Args:
            a: the automaton.
            node: of the trie.
            state: behind the tokens; -1 if a character or an escape is unfinished.
            count: as the walk counts the characters.

        """
        if node.own == 0 or self.finite_count < 0:
            return False
        key = cython.cast(cython.longlong, -1)
        if state >= 0:
            if not self.is_finite(a.states + state):
                return False
            key = state << 32 | (count + FAR)
        for r in range(node.rank, node.rank + node.own):
            self.finite_ids[self.finite_count] = self.ids[r]
            self.finite_keys[self.finite_count] = key
            self.finite_count += 1
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def clear_finite(self, a: cython.pointer[Automaton], wide: WideRow) -> cython.bint:
        """Clear those of a wide row's tokens that lead to no text of a legal length."""
        s = self.state(0)
        first = cython.cast(cython.Py_ssize_t, 0)
        for group in range(wide.finite_ends.shape[0]):
            end = cython.cast(cython.Py_ssize_t, wide.finite_ends[group])
            key = wide.finite_keys[group]
            if key < 0 or not self.leads_on(a, key >> 32, s.languages, s.count + (key & LOW_HALF)):
                self.work += (end - first) >> 3
                for i in range(first, end):
                    token_id = wide.finite_ids[i]
                    if key >= 0 or not self.is_legal(token_id):
                        self.row[token_id >> 5] &= ~bit32(token_id & 31)
            first = end
        return True

    @cython.cfunc
    def clear_ending(self):
        """Clear the tokens in which a delimiter ends within a JSON string."""
        s = self.state(0)
        stop = s.stop if s.phase == IN_STRING or s.phase == IN_NAME else 0
        ending = self.ending_row(stop)
        if ending is None:
            return
        tokens = cython.cast(Row, ending).row
        for w in range(self.tree.words):
            both = self.row[w] & tokens[w]
            if both == 0:
                continue
            for b in range(32):
                if both >> b & 1 and not self.is_legal(w << 5 | b):
                    self.row[w] &= ~bit32(b)

    @cython.cfunc
    def is_legal(self, token_id: index) -> cython.bint:
        """Return whether a token may follow the first state."""
        self.states[1] = self.states[0]
        s = self.state(1)
        for i in range(self.tree.text0[token_id], self.tree.text0[token_id + 1]):
            self.work += 1
            if not self.step(s, self.tree.text[i]):
                return False
        return True

    @cython.cfunc
    def ending_row(self, stop: index):
        """Return the row of the tokens in which a delimiter ends; None if there are none."""
        found = self.tables.ending[stop]
        if found is None:
            key = (self.tables.digest_of(self.tables.pairs[STOPS]), stop)
            found = self.tables.ending[stop] = self.tree.shared.get(key)
        if found is None:
            row = np.zeros(self.tree.words, np.int32)
            whole = self.row
            self.row = row
            self.walk_stops(0, self.tree.trie.roots, stop)
            self.row = whole
            found = False
            if row.any():
                charge = Charge(self.tree.memory, _ROW_BYTES + 4 * self.tree.words)
                found = self.tree.shared.setdefault(key, Row(row, charge))
            self.tables.ending[stop] = found
        return None if found is False else found

    @cython.cfunc
    def walk_stops(self, first: index, end: index, stop: i64) -> cython.bint:
        """Set the bits of the tokens at and below some siblings in which a delimiter ends."""
        at = self.automaton(self.tables.pairs[STOPS]).states + stop
        safe = self.tables.safe[at]
        room = cython.cast(cython.longlong, self.tables.safe_steps[at])
        for number in range(first, end):
            node = self.trie_node(number)
            if node.below & ~safe == 0 and room >= FAR_STEPS:
                continue
            self.work += 1
            s = self.state(1)
            s.stop = stop
            if not self.avoids_stops(s, node.byte):
                self.set_ids(node.rank, node.rank_end)
            elif node.children != 0:
                child = cython.cast(cython.Py_ssize_t, node.child)
                self.walk_stops(child, child + node.children, s.stop)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def walk_pending(
        self, first: index, end: index, depth: index, is_looping: cython.bint
    ) -> cython.bint:
        """Walk on within an unfinished character of a string; see `walk_string`."""
        for number in range(first, end):
            node = self.trie_node(number)
            self.states[depth + 1] = self.states[depth]
            s = self.state(depth + 1)
            self.work += 1
            if self.character_byte(s, cython.cast(cython.longlong, node.byte)) != INSIDE:
                continue
            self.set_text(node, self.state(depth).count + 1)
            a = self.automaton(self.automaton_of(s))
            to = -1 if s.pending != 0 else cython.cast(cython.longlong, s.automaton_state)
            self.note_finite(a, node, to, s.count)
            child = cython.cast(cython.Py_ssize_t, node.child)
            below = child + node.children
            if s.pending != 0:
                self.walk_pending(child, below, depth + 1, is_looping)
            else:
                self.walk_string(a, child, below, depth + 1, depth + 1, to, s.count, is_looping)
        return True

    @cython.cfunc
    def count_characters(self, node: cython.pointer[TrieNode], count: i64):
        """Note how many characters the tokens add that end at a node."""
        for r in range(node.rank, node.rank + node.own):
            self.added[self.ids[r]] = count + FAR

    @cython.cfunc
    def reach(self, exit_: index, depth: i64) -> cython.bint:
        """Advance the first state by the bytes before an exit; return whether that is legal."""
        first = self.tree.text0[self.ids[self.trie_node(exit_).rank]]
        for i in range(depth):
            self.states[i + 1] = self.states[i]
            self.work += 1
            if not self.step(self.state(i + 1), self.tree.text[first + i]):
                return False
        return True

    @cython.cfunc
    def is_listed(self, s: cython.pointer[State], exit_: index, depth: i64) -> cython.bint:
        """Return whether the bytes before an exit may end a text of the state's trie."""
        trie_node = s.trie_node
        first = self.tree.text0[self.ids[self.trie_node(exit_).rank]]
        is_raw: cython.bint = s.phase >= IN_RAW  # then the byte of the exit is one of the text
        for i in range(depth + 1 if is_raw else depth):
            byte = self.tree.text[first + i]
            if byte >= 128:  # compared with characters only where there are such edges
                return self.tables.trie_opens[trie_node] & BEYOND_ASCII_GROUPS != 0
            if byte == 92 and not is_raw:  # an escape may spell any character
                return True
            trie_node = self.child_of(trie_node, byte)
            if trie_node < 0:
                return False
        value = self.tables.trie_value[trie_node]
        return value >= 0 if s.phase == IN_NAME or s.phase == IN_KEY else value != 0

    @cython.cfunc
    def leave(self, exit_: index, depth: i64) -> cython.bint:
        """Set the bits of the legal tokens of an exit."""
        if self.reach(exit_, depth):
            self.walk(exit_, exit_ + 1, depth)
        return True

    @cython.cfunc
    def leave_alike(self, wide: WideRow) -> cython.bint:
        """Set the bits of the legal tokens of all looping exits of a wide row."""
        s = self.state(0)
        trie_node = s.trie_node
        self.nodes = wide.behind.nodes
        self.ids = wide.behind.ids
        s.trie_node = -1
        self.walk(0, wide.behind.roots, 0)
        s.trie_node = trie_node
        self.nodes = self.tree.trie.nodes
        self.ids = self.tree.trie.ids
        if trie_node < 0:
            return True
        groups = self.tables.trie_opens[trie_node] | BACKSLASH_GROUP | bit(ALWAYS)
        self.work += wide.looping
        for e in range(wide.looping):  # the text before the quote may be one of the trie
            if groups >> cython.cast(cython.longlong, wide.groups[e]) & 1 == 0:
                continue
            exit_ = wide.exits[e]
            if self.is_listed(s, exit_, wide.depths[e]):
                node = self.trie_node(exit_)
                self.clear_ids(node.rank, node.rank_end)
                self.leave(exit_, wide.depths[e])
        return True

    @cython.cfunc
    def mask(self) -> cython.bint:
        """Write the row of the first state."""
        s = self.state(0)
        number: cython.Py_ssize_t = -1
        near = cython.cast(cython.longlong, FAR)
        are_longer = False  # whether tokens of more characters than that may be legal
        is_raw: cython.bint = s.phase >= IN_RAW
        is_string: cython.bint = is_raw or s.phase == IN_STRING or s.phase == IN_NAME
        is_apostrophe: cython.bint = self.is_python and s.stop == 39
        is_second: cython.bint = is_raw or is_apostrophe
        is_short: cython.bint = False  # whether a least length may decide
        shorter_rows = self.tree.raw_shorter_rows if is_second else self.tree.shorter_rows
        if is_string and s.pending == 0 and s.automaton_state >= 0:
            a = self.automaton(self.automaton_of(s))
            leads = self.tables.leads[a.states + s.automaton_state]
            is_finite: cython.bint = False
            if a.bounds != 0:
                free_to = cython.cast(
                    cython.longlong, self.tables.free_to[a.states + s.automaton_state]
                )
                is_finite = free_to < 0
                near = (~free_to if is_finite else free_to) - s.count
                are_longer = self.may_be_longer(a, leads, near + s.count)
            is_short = s.count < a.minimum
            if near >= 0 and not (is_short and is_finite) and leads & ~s.languages == 0:
                number = self.tables.wide[a.states + s.automaton_state]
                if self.is_python and number >= 0:
                    number = 2 * number + is_apostrophe
        self.nodes = self.tree.trie.nodes
        self.ids = self.tree.trie.ids
        self.base = NO_BASE
        if number < 0:
            clear_row(self.row, self.tree.words)
            self.walk(0, self.tree.trie.roots, 0)
            return self.set_markers()
        wide = self.wide_row(self.automaton_of(s), s.automaton_state, number, self.quote_of(s))
        first = cython.cast(cython.Py_ssize_t, 0)
        words = self.tree.words
        if near < shorter_rows and is_second:
            write_common(self.row, wide.row, self.tree.raw_shorter, near * words, words)
        elif near < shorter_rows:
            write_common(self.row, wide.row, self.tree.shorter, near * words, words)
        else:
            write_row(self.row, wide.row, words)
            self.base = number
        if is_short:
            self.clear_finite(self.automaton(self.automaton_of(s)), wide)
        if near >= shorter_rows and wide.looping != 0 and self.is_any_length(s):
            self.leave_alike(wide)
            first = wide.looping
        for e in range(first, wide.exits.shape[0]):
            self.leave(wide.exits[e], wide.depths[e])
        if near < shorter_rows and are_longer:
            self.walk_long(near)
        if s.trie_node >= 0 and self.trie_leads_on(s, s.trie_node):
            state = s.automaton_state
            s.automaton_state = -1
            self.walk(0, self.tree.trie.roots, 0)
            s.automaton_state = state
        if self.is_plain and s.phase == IN_NAME:
            self.clear_escapes()
        return self.set_markers()

    @cython.cfunc
    def clear_escapes(self):
        """Clear the tokens with needless escapes, which the wide row of a name has."""
        for k in range(self.tree.escaping.shape[0]):
            token_id = self.tree.escaping[k]
            if self.row[token_id >> 5] >> (token_id & 31) & 1 and not self.is_legal(token_id):
                self.row[token_id >> 5] &= ~bit32(token_id & 31)

    @cython.cfunc
    def may_be_longer(
        self, a: cython.pointer[Automaton], languages: i64, count: i64
    ) -> cython.bint:
        """Return whether some of the languages has words of more characters."""
        for k in range(a.bounds):
            most = self.tables.bounds[a.bound0 + k].maximum
            if languages >> k & 1 and (most < 0 or most > count):
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def leads_beyond(self, a: cython.pointer[Automaton], state: i64, languages: i64) -> cython.bint:
        """Return whether a state may be that of a text of more characters than are set already."""
        languages &= self.tables.leads[a.states + state]
        for k in range(a.bounds):
            if languages >> k & 1 == 0:
                continue
            bound = self.tables.bounds[a.bound0 + k]
            left = cython.cast(cython.longlong, bound.maximum) - self.limit - 1
            if bound.maximum < 0 or bound.rest0 < 0:
                return True
            if left < 0:
                continue
            rest = self.tables.rests[bound.rest0 + state]
            if bound.minimum == 0:
                if rest <= left:
                    return True
            elif left >= MOST_RESTS or rest & (bit(left + 1) - 1) != 0:
                return True
        return False

    @cython.cfunc
    def walk_long(self, near: i64) -> cython.bint:
        """Set the bits of the legal tokens within a string that have more characters than so many.

        Without its exits, which are set already: so nothing is missed where the limit leaves out
        tokens behind them.
        """
        s = self.state(0)
        trie_node = s.trie_node
        s.trie_node = -1
        self.limit = s.count + near
        self.walk(0, self.tree.trie.roots, 0)
        self.limit = -LAST_62
        s.trie_node = trie_node
        return True

    @cython.cfunc
    def wide_row(self, automaton: index, state: i64, number: index, quote: i64) -> WideRow:
        """Return a wide row; make it where no grammar holds it."""
        found = self.tables.row_of(number)
        if found is None:
            key = (self.tables.digest_of(automaton), state, quote)
            found = self.tree.shared.get(key)
            if found is None:
                found = self.make_wide_row(automaton, state, quote, None)
                self.tree.shared[key] = found
            self.tables.hold_row(number, cython.cast(Row, found))
        return cython.cast(WideRow, found)

    @cython.cfunc
    def make_wide_row(self, automaton: index, state: i64, quote: i64, added) -> WideRow:
        """Make a wide row.

        Args:
            automaton: its number.
            state: the state of it.
            quote: the byte that ends a string.
            added: is set to the characters that each token id adds (int32); or None.

        """
        maker = Text(self.tree, self.tables)
        scratch = self.tree.borrow()
        row = np.zeros(self.tree.words, np.int32)
        exits = np.zeros((2, self.tree.trie.nodes.shape[0]), np.int32)
        maker.begin_wide(automaton, state, quote, scratch, row, exits[0], exits[1])
        maker.added = added
        maker.is_counted = added is not None
        a = maker.automaton(automaton)
        if a.minimum > 0 and self.tables.free_to[a.states + state] >= 0:
            maker.finite_ids = np.zeros(self.tree.trie.ids.shape[0], np.int32)
            maker.finite_keys = np.zeros(self.tree.trie.ids.shape[0], np.int64)
            maker.finite_count = 0
        try:
            maker.walk_string(a, 0, self.tree.trie.roots, 0, 0, state, -FAR, True)
        finally:
            self.tree.spare.append(scratch)
        if maker.is_lost:
            raise IndexError(_LOST)
        self.work += maker.work + maker.count * _WORK_OF_EXIT + max(maker.finite_count, 0)
        nodes, depths = exits[:, : maker.count]
        loops = depths < 0  # as `leave_string` marks them
        order = np.argsort(~loops, kind="stable")
        nodes = nodes[order]
        depths = np.where(loops, ~depths, depths)[order].astype(np.int32)
        looping = int(loops.sum())
        behind = self.tree.behind(nodes[:looping], depths[:looping]) if looping else self.tree.trie
        groups = self.first_groups(nodes, depths)
        finite = maker.finite_groups()
        size = row.nbytes + nodes.nbytes + depths.nbytes + groups.nbytes
        size += sum([each.nbytes for each in finite])
        charge = Charge(self.tree.memory, _ROW_BYTES + size)
        return WideRow(row, nodes, depths, groups, looping, behind, *finite, charge)

    @cython.cfunc
    def finite_groups(self):
        """Return such tokens of the wide row that is made, by their keys; see `WideRow`."""
        if self.finite_count <= 0:
            return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)
        keys = np.asarray(self.finite_keys)[: self.finite_count]
        order = np.argsort(keys, kind="stable")
        finite_keys, counts = np.unique(keys, return_counts=True)
        finite_ids = np.asarray(self.finite_ids)[: self.finite_count][order]
        return finite_ids, np.cumsum(counts).astype(np.int32), finite_keys

    @cython.cfunc
    def first_groups(self, exits: cython.int[::1], depths: cython.int[::1]):
        """Return the groups of the first bytes before exits, `ALWAYS` where there is none."""
        found = np.full(exits.shape[0], ALWAYS, np.uint8)
        groups: cython.uchar[::1] = found
        for e in range(exits.shape[0]):
            if depths[e] != 0:
                token_id = self.tree.trie.ids[self.tree.trie.nodes[exits[e]].rank]
                byte = self.tree.text[self.tree.text0[token_id]]
                for root in range(self.tree.trie.roots):
                    if self.tree.trie.nodes[root].byte == byte:
                        groups[e] = self.tree.trie.nodes[root].group
        return found

    @cython.cfunc
    def begin_wide(
        self,
        automaton: index,
        state: i64,
        quote: i64,
        scratch: Scratch,
        row: cython.int[::1],
        exits: cython.int[::1],
        depths: cython.int[::1],
    ):
        """Set up the walk of a wide row."""
        self.states = scratch.states
        self.row = row
        self.exits = exits
        self.depths = depths
        self.nodes = self.tree.trie.nodes
        self.ids = self.tree.trie.ids
        s = self.state(0)
        s.phase = IN_ANY
        s.node = automaton
        s.automaton_state = state
        s.trie_node = -1
        s.pending = 0
        s.count = -FAR  # far from every greatest length
        s.languages = -1
        s.frame = -1
        s.stop = quote

    def free_row(self, quote: i64):
        """Make the wide row of the first automaton's first state.

        Args:
            quote: the byte that ends a string.

        Returns:
            It, and for each token id the characters that it adds (int32).

        """
        added = np.zeros(self.tree.words * 32, np.int32)
        return self.make_wide_row(0, 0, quote, added), added


if not cython.compiled:
    for _class in (MemoryCounter, Charge, Scratch, Trie, Row, WideRow, KeptRow, Tree, Tables, Text):
        _class.__init__ = _class.__cinit__
