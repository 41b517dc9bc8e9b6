"""Records, phases and other constants of the kernel, and functions of single words.

Shared by all files of the kernel, which are one translation unit. Each record is a C struct beside
a numpy dtype of the same fields. The fields of the tables' records are described in
`enforcer.machine.tables`.
"""

from __future__ import annotations

import cython
import numpy as np

i32 = cython.typedef(cython.int)
i64 = cython.typedef(cython.longlong)
index = cython.typedef(cython.Py_ssize_t)


def record(_struct: str, fields: str, kind: type[np.generic]) -> np.dtype:
    """Return the dtype of records whose fields are all of one kind.

    `hatch_build.py` declares beside it the C struct of that name with the same fields.
    """
    return np.dtype([(name, kind) for name in fields.split()])


# The state of a text. Where a phase is not named, a field has what was there before.
#
# field           | phase          | meaning
# ----------------|----------------|------------------------------------------------------------
# frame           | all            | innermost open object or array, in the arena; -1 for none
# top             | all            | where the arena ends for this state
# node            | value          | of the value that begins or is being written
#                 | IN_ANY         | the number of an automaton
# values          | value          | of the node, a bit for each that may still be meant
#                 | IN_WRITTEN     | the next character of the written name
#                 | BEHIND_NESTED  | those that the nested JSON fits
# automaton_state | text, IN_BARE  | of the automaton; -1 if no word of it is left
# trie_node       | text           | of listed strings or declared names; -1 if none is left
# languages       | text, IN_BARE  | of the automaton or trie, a bit for each that is followed
#                 | IN_NAME        | classes of undeclared names, likewise
#                 | BETWEEN        | 1 where another key may follow, 2 where the text may end
# count           | text           | characters so far
#                 | IN_BARE        | bytes that lie in the arena
# pending         | text           | the unfinished character or escape: its kind, a count, its bits
#                 | others         | white space before the next token
# stop            | text of JSON   | state of the automaton of delimiters, in layouts of pairs
#                 | text of Python | the byte that ends the string
# fingerprint     | text, IN_BARE  | of what is written so far; then of the whole value
#
# "value" is BEGIN, IN_STRING, IN_RAW, IN_VALUE and IN_BARE; "text" is IN_STRING, IN_NAME and all
# phases from IN_ANY on.
STATE = record(
    "State",
    "frame phase node values automaton_state trie_node pending count languages top stop "
    "fingerprint",
    np.int64,
)

# The state of a turn around its texts: a place of `turn.Around`; in a header the range of names
# that agree in `depth` bytes, behind it the name's number as `low`; completed calls.
TURN_STATE = record("TurnState", "place low high depth calls", np.int64)

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

# The records of tables, which `enforcer.machine.tables` makes. "Bits" is the number of the first
# word in the table of bits; a set of shapes has `shape_words` words, other sets one. `x0` and `xs`
# are the first of some records of a table and how many there are.
#
# A node: a set of values of which one has to be written, a bit each.
#   string_automaton, string_trie    languages of strings and listed strings; -1 for none
#   strings_of, string_languages     bits: for each language the values that it spells
#   bare_automaton, bare_of, bare_languages    the same of numbers, booleans and null
#   raw, scalars, json_node          raw text: its kind; languages of text, before those in which
#                                    JSON follows; the node of that JSON
#   shapes, shape_words              ways to be an object; the words of a set of them
#   shapes_of                        bits: for each value the shapes that are it
#   name_trie, name0, names, required_names    declared names; bits: those that a shape requires
#   class_automaton, class0, classes, class_node, class_values    classes of undeclared names, and
#                                    the node of their values; for a class and value the shapes
#   names_end                        whether a class may run out of names
#   limit0, limits, least, room      counted properties, a limit a shape; the number from which on
#                                    no shape has too few; that from which on one may be full
#   mark0, marks, witnesses, witnessed    undeclared properties that some shape requires; bits: for
#                                    each the shapes that want it
#   array0, arrays, arrays_of        ways to be an array; bits: for each value those that are it
#   slot0, slots                     item slots: for each place of `prefixItems` one, one for others
#   tallies                          arrays that count elements
#   distinct                         see `NOT_UNIQUE`: arrays of distinct strings
#   unique_values                    bits: arrays of other distinct elements; -1 for none
#   many_words                       bits: the values with very many texts, which search may assume
NODE = record(
    "Node",
    "string_automaton string_trie bare_automaton values shape_words shapes shapes_of "
    "required_names name_trie names name0 class_automaton classes class0 class_node class_values "
    "arrays array0 arrays_of slot0 slots strings_of string_languages bare_of bare_languages "
    "limits limit0 least room tallies marks mark0 witnesses witnessed raw names_end distinct "
    "scalars json_node unique_values many_words",
    np.int32,
)
# A declared name: the node of its values, how many, bits: for each value the shapes that allow it,
# the shapes that require the name.
NAME = record("Name", "node values fits required", np.int32)
# Of a shape: properties, -1 for no maximum; bits: the names that it requires.
LIMIT = record("Limit", "minimum maximum required", np.int32)
# A property that is a witness: a declared name, or -1 and a class; the value that it has to have;
# bits: for each witness the shapes whose witness it is.
MARK = record("Mark", "name class_ value hits", np.int32)
# Elements at one place: their node, how many values; bits: for each value the arrays that allow it,
# and for each value and array what it counts for.
ITEM_SLOT = record("ItemSlot", "node values fits hits", np.int32)
# An array: the value that it is; lengths, -1 for no maximum; the number of its tally, -1 for none;
# the kinds that it counts; its item slots; how many tallies there are; what each still needs; how
# many elements from its end on one decides.
ARRAY = record(
    "Array",
    "value minimum maximum tally counts count0 slots sums need0 farthest",
    np.int32,
)
# A counted kind of elements, as a digit of a tally: its step, the most that matter, whether more
# are illegal.
COUNT = record("Count", "step most is_bounded", np.int32)
# Elements that an array needs behind a tally, and the most that may follow.
NEED = record("Need", "least most", np.int32)
# An automaton: where its transitions, classes of ASCII, ranges of characters and states begin; its
# kind (see `OF_JSON`); bounds of length of its languages; the greatest least length; characters up
# to which no greatest length decides; characters from which on a language has many words.
AUTOMATON = record(
    "Automaton",
    "transitions classes ascii range0 ranges states kind bound0 bounds minimum steady varied",
    np.int32,
)
# Lengths of a language, -1 for no maximum; where its lengths left (`rests`) begin, a bit each, -1
# if the automaton knows them; characters up to which the maximum does not decide.
BOUND = record("Bound", "minimum maximum rest0 steady", np.int32)

# What a walk has found of a place within a string, so that it is looked at once a row.
ANSWER = record("Answer", "turn place languages asked found", np.int64)

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
FINGERPRINT = cython.declare(
    cython.int, 1
)  # of what an object or array has so far; see `hash_combine`
NAME_FINGERPRINT = cython.declare(cython.int, 2)  # of the name that was written last
IS_FINGERPRINTED = cython.declare(cython.int, 3)  # whether prints are needed of what is in it
LEVEL = cython.declare(cython.int, 4)  # how many frames are around
IS_ARRAY = cython.declare(cython.int, 5)
NODE_OF = cython.declare(cython.int, 6)
CURRENT = cython.declare(cython.int, 7)  # the name being written (-1: undeclared); the elements
CLASSES = cython.declare(cython.int, 8)  # the classes of an undeclared name
WRITTEN = cython.declare(cython.int, 9)  # the last undeclared name or distinct element, and one
LIVE = cython.declare(cython.int, 10)

# What `IS_ARRAY` has where elements are distinct: strings, which are kept themselves; any values,
# of which prints are.
UNIQUE_STRINGS = cython.declare(cython.int, 2)
UNIQUE_VALUES = cython.declare(cython.int, 3)

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
STRING_SEED = cython.declare(cython.int, 1)
NUMBER_SEED = cython.declare(cython.int, 2)
WORD_SEED = cython.declare(cython.int, 3)
ARRAY_SEED = cython.declare(cython.int, 4)
OBJECT_SEED = cython.declare(cython.int, 5)
LAST_62 = cython.declare(cython.longlong, (1 << 62) - 1)
SURE_DIGITS = cython.declare(cython.int, 8)  # behind which doubles may be equal
DOUBLE_DIGITS = cython.declare(cython.int, 17)  # behind which all are
WHOLE_DIGITS = cython.declare(cython.int, 18)  # of a number, with its sign, that is its own hash

# `distinct` of a node whose arrays keep no strings distinct, and of one with always more of them.
NOT_UNIQUE = cython.declare(cython.int, 0)
NEVER_ENDING = cython.declare(cython.int, 0x7FFFFFFF)

# A written name or string: a word with the one before it, the number of its characters, and whether
# rows depend on one of both (see `Tree.affects_earlier`); where they may run out, for each class or
# language how many of its first characters begin no other one of these (one more than it has if all
# do); its characters.
LENGTH_AT = cython.declare(cython.int, 32)
LENGTHS = cython.declare(cython.longlong, (1 << 29) - 1)
AFFECTS_EARLIER = cython.declare(cython.longlong, 1 << 62)
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
BEYOND_ASCII_GROUP = cython.declare(cython.longlong, 1 << 61)
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
OUT_OF_BOUNDS = "an index of the kernel is out of bounds"

LONGEST = 256  # bytes of a token in a trie; a walk takes up to 600 bytes of stack for each
FIRST_WORDS = 384  # of an arena
FIRST_STATES = 40

MOST_TRIED = 50_000  # steps of all searches for a row, or for an id

# Of a table of states, and at least of one of prints.
FINGERPRINT_SLOTS = cython.declare(cython.longlong, 16_384)
ENDING_LEVELS = cython.declare(
    cython.int, 8
)  # objects and arrays in one another that end an element

MOST_DIFFERING = 1_536  # words

# What a kept row differs from, where that is no wide row.
NO_BASE = cython.declare(cython.Py_ssize_t, -1)
DIGITS_BASE = cython.declare(cython.Py_ssize_t, -2)


def run_cinits(self, *arguments):
    """Run every `__cinit__` from the base class down: `__init__` where nothing is compiled."""
    for each in reversed(type(self).__mro__):
        if "__cinit__" in vars(each):
            each.__cinit__(self, *arguments)


def as_records(table: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a flat table as records, whose fields are attributes."""
    flat = table.reshape(-1)
    whole = flat.nbytes // dtype.itemsize * dtype.itemsize // flat.itemsize
    return flat[:whole].view(dtype).view(np.recarray)


def new_words(count: int) -> np.ndarray | memoryview:
    """Return `count` words of 64 bits, all zero, whose elements are Python's own integers."""
    words = np.zeros(count, np.int64)
    return words if cython.compiled else memoryview(words)


def new_records(count: int, dtype: np.dtype) -> np.ndarray:
    """Return `count` records of words of 64 bits, all zero."""
    words = np.zeros(count * len(dtype), np.int64)
    return words.view(dtype) if cython.compiled else as_records(words, dtype)


def new_states(count: int) -> np.ndarray:
    """Return `count` states, all zero."""
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
def hash_combine(found: i64, word: i64) -> i64:
    """Return the fingerprint of a sequence with one word more.

    A *fingerprint* is a hash of 62 bits. Equal values have equal ones. If those of two others are
    equal, which has the chance of a hash, the second value is illegal as if it were repeated.
    """
    n = cython.cast(cython.ulonglong, found) * PRIME & ALL_64
    n = ((n ^ n >> 32) + cython.cast(cython.ulonglong, word)) * PRIME & ALL_64
    n ^= n >> 29
    n = n * PRIME & ALL_64
    return cython.cast(cython.longlong, n >> 2)


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
