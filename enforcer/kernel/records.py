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
# node            | value          | node of the value that begins or is being written
#                 | IN_ANY         | the number of an automaton
# values          | value          | values of the node that may still be meant, as bits
#                 | IN_WRITTEN     | the next character of the written name
#                 | BEHIND_NESTED  | values that the nested JSON fits, as bits
# automaton_state | text, IN_BARE  | state of its automaton; -1 if no word of it is left
# trie_node       | text           | in the trie of listed strings or names; -1 if none is left
# languages       | text, IN_BARE  | languages of automaton or trie that are followed, as bits
#                 | IN_NAME        | classes of undeclared names that are followed, as bits
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

# The records of tables, which `enforcer.machine.tables` makes. In the comments on their fields:
#
#   `x0` and `xs`    number of the first record of a table (`x0`), and how many there are (`xs`)
#   bits             number of the first word in `Tables.bits`: for each of some things a set, as
#                    bits. A set of shapes has `shape_words` words; one of names a bit for each
#                    declared name; any other set one word
#
# A node: a set of values of which one has to be written. Value `v` is bit `v`.
#
# field              | meaning
# -------------------|-------------------------------------------------------------------------
# values             | number of values
# many_words         | bits: one set, the values with more texts than any array has elements
# raw                | kind of the automaton of its texts, see `OF_JSON`
# string_automaton   | number of the automaton of its strings; -1: none
# string_trie        | root of the trie of its listed strings; -1: none
# string_languages   | number of languages of strings
# strings_of         | bits: for each language the values that it spells
# scalars            | raw text: number of languages of whole texts; behind any other, JSON follows
# json_node          | raw text: number of the node of that JSON; -1: none
# bare_automaton     | number of the automaton of numbers, booleans and null; -1: none
# bare_languages     | number of its languages
# bare_of            | bits: for each of its languages the values that it spells
# shapes             | number of shapes: alternatives of objects; 0: no value is an object
# shape_words        | words of a set of shapes
# shapes_of          | bits: for each value its shapes
# name0, names       | declared names, ascending: records of `NAME`
# name_trie          | root of the trie of declared names; -1: none
# required_names     | bits: one set of declared names, those that some shape requires
# class0, classes    | classes of undeclared names; `Tables.classes` has for each class bits: for
#                    | each value of `class_node` the shapes that allow it
# class_automaton    | number of the automaton with a language for each class; -1: none
# class_node         | number of the node of an undeclared property's value
# class_values       | number of values of that node
# names_end          | 1: some class may run out of names
# limit0, limits     | a record of `LIMIT` for each shape; 0: properties are not counted
# least              | number of properties from which on no shape has too few
# room               | number of properties from which on some shape may be full; -1: never
# mark0, marks       | records of `MARK`
# witnesses          | number of undeclared properties that some shape requires
# witnessed          | bits: for each witness the shapes that require it
# array0, arrays     | alternatives of arrays: records of `ARRAY`; 0: no value is an array
# arrays_of          | bits: for each value its arrays
# slot0, slots       | records of `ITEM_SLOT`: one for each place of `prefixItems`, the last for all
#                    | further elements
# tallies            | number of arrays with a tally: they count elements or keep few ones distinct
# distinct           | arrays of distinct strings, see `NOT_UNIQUE`
# unique_values      | bits: one set, the arrays of other distinct elements; -1: none
NODE = record(
    "Node",
    "string_automaton string_trie bare_automaton values shape_words shapes shapes_of "
    "required_names name_trie names name0 class_automaton classes class0 class_node class_values "
    "arrays array0 arrays_of slot0 slots strings_of string_languages bare_of bare_languages "
    "limits limit0 least room tallies marks mark0 witnesses witnessed raw names_end distinct "
    "scalars json_node unique_values many_words",
    np.int32,
)
# A declared name.
#   node, values    node of its property's value; number of values
#   fits            bits: for each value the shapes that allow it
#   required        bits: one set, the shapes that require the name
#   place           where it stands among the names of the node in the schema's order
NAME = record("Name", "node values fits required place", np.int32)
# How many properties a shape has.
#   minimum, maximum    -1: no maximum
#   required            bits: one set of declared names, those that the shape requires
LIMIT = record("Limit", "minimum maximum required", np.int32)
# A property that counts as a witness, which is an undeclared property that some shape requires.
#   name, class_    number of its declared name, or -1 and the number of its class
#   value           value of its node that it has to fit
#   hits            bits: for each witness the shapes for which it counts
MARK = record("Mark", "name class_ value hits", np.int32)
# Elements at one place of arrays.
#   node, values    node of the element; number of values
#   fits            bits: for each value the arrays that allow it
#   hits            bits: for each value and each array the kinds for which it counts; where a tally
#                   keeps elements distinct, which element it is
ITEM_SLOT = record("ItemSlot", "node values fits hits", np.int32)
# An alternative of arrays.
#   value                the value of the node that it is
#   minimum, maximum     lengths; -1: no maximum
#   tally                number of its tally among those of a frame; -1: none
#   count0, counts       records of `COUNT`; 0: its tally, if any, keeps elements distinct
#   slots                number of places that `needs` tells apart; the last is for all further ones
#   sums                 number of tallies
#   need0                first record of `NEED`: that of place `i` and tally `j` is `i * sums + j`
#                        behind it
#   farthest             most further elements that any tally needs
ARRAY = record(
    "Array",
    "value minimum maximum tally counts count0 slots sums need0 farthest",
    np.int32,
)
# A counted kind of elements, a digit of a tally.
#   step          what one element adds to the tally
#   most          greatest digit
#   is_bounded    1: more elements are illegal; 0: more are not counted
COUNT = record("Count", "step most is_bounded", np.int32)
# Further elements that an array needs at a place with a tally, and the most that may follow; `FAR`
# for `least` if it cannot be completed, for `most` if there is no bound.
NEED = record("Need", "least most", np.int32)
# An automaton.
#   transitions, ascii, states    where its transitions, the classes of ASCII, and its states begin
#   classes                       number of classes of characters
#   range0, ranges                ranges of characters
#   kind                          see `OF_JSON`
#   bound0, bounds                a record of `BOUND` for each language; 0: no lengths
#   minimum                       characters from which on no least length decides
#   steady                        characters up to which no greatest length decides
#   varied                        characters by which each language that has many words has many
AUTOMATON = record(
    "Automaton",
    "transitions classes ascii range0 ranges states kind bound0 bounds minimum steady varied",
    np.int32,
)
# The lengths of a language.
#   minimum, maximum    -1: no maximum
#   rest0               where the lengths of its completions begin in `Tables.rests`, a word for
#                       each state; -1: the automaton's states count lengths
#   steady              characters up to which the maximum does not decide
BOUND = record("Bound", "minimum maximum rest0 steady", np.int32)

# The memo of a question about a place within a string, asked once a row; see `automata.answer`.
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

# The words of a frame, an open object or array in the arena:
#
#   0                                KIND                                    LIVE
#   PARENT FINGERPRINT ... LEVEL   | KIND NODE_OF CURRENT CLASSES WRITTEN  | sets of bits
#   no kept row depends on these   | rows depend on these
#
#   array     LIVE: live arrays (one word) | `tallies` words, see `tally_behind`
#   object    LIVE: live shapes | names that it has | names that may come
#             | where properties are counted: their number (one word), and the full shapes, which
#               have room for nothing but what they require
#             | for each witness the shapes that have it
#
# `state.frame_size` has the number of words.
PARENT = cython.declare(cython.int, 0)  # the frame around it; -1: none
FINGERPRINT = cython.declare(cython.int, 1)  # of its parts so far; see `hash_combine`
NAME_FINGERPRINT = cython.declare(cython.int, 2)  # of the name that was written last
IS_FINGERPRINTED = cython.declare(cython.int, 3)  # whether its parts need fingerprints
LEVEL = cython.declare(cython.int, 4)  # number of frames around it
KIND = cython.declare(cython.int, 5)
NODE_OF = cython.declare(cython.int, 6)  # number of its node
CURRENT = cython.declare(cython.int, 7)  # array: its length; object: number of its present name
CLASSES = cython.declare(cython.int, 8)  # classes of its present name, as bits, if undeclared
WRITTEN = cython.declare(cython.int, 9)  # 1 + where its last undeclared name or element is; 0: none
LIVE = cython.declare(cython.int, 10)

# Kinds of frames. Of distinct strings the arena has the characters, of other distinct values the
# fingerprints.
OBJECT_FRAME = cython.declare(cython.int, 0)
ARRAY_FRAME = cython.declare(cython.int, 1)
UNIQUE_STRINGS = cython.declare(cython.int, 2)
UNIQUE_VALUES = cython.declare(cython.int, 3)

# Questions that `automata.answer` remembers; any other one is a range of characters, of which one
# has to lead on. `VARIES`, `OUTER` and `AROUND` are about frames before `Search.steady`.
LEADS_ON = cython.declare(cython.longlong, -1)
ROOM = cython.declare(cython.longlong, -2)
VARIES = cython.declare(cython.longlong, -3)
OUTER = cython.declare(cython.longlong, -4)
AROUND = cython.declare(cython.longlong, -5)
EXACT = cython.declare(cython.longlong, 1 << 60)  # added to a range where written names matter
NOT_ASKED = cython.declare(cython.longlong, -(1 << 62))
ANSWERS = cython.declare(cython.int, 2048)

# Where fingerprints begin, by the kind of value.
STRING_SEED = cython.declare(cython.int, 1)
NUMBER_SEED = cython.declare(cython.int, 2)
WORD_SEED = cython.declare(cython.int, 3)
ARRAY_SEED = cython.declare(cython.int, 4)
OBJECT_SEED = cython.declare(cython.int, 5)
LAST_62 = cython.declare(cython.longlong, (1 << 62) - 1)
# Characters of a number behind which further digits may leave the double as it is, and behind which
# they do; and the most characters of a whole number whose value is hashed without Python.
SURE_DIGITS = cython.declare(cython.int, 8)
DOUBLE_DIGITS = cython.declare(cython.int, 17)
WHOLE_DIGITS = cython.declare(cython.int, 18)

# `distinct` of a node: no array keeps strings distinct; the strings never run out. Any other value
# is one more than a lower bound on the number of strings.
NOT_UNIQUE = cython.declare(cython.int, 0)
NEVER_ENDING = cython.declare(cython.int, 0x7FFFFFFF)

# A written name or distinct string in the arena:
#
#   one word             where the one before it is (see `WRITTEN`), its length, and two marks of it
#                        or any one before it: `AFFECTS_EARLIER` and `IS_ENDED`
#   if texts can end,    for each class or language how many of its first characters begin no other
#   `classes + 1` words  text; 1 more than its length if all do. Then the last one before it with
#                        such a prefix
#   the rest             its characters, three a word
LENGTH_AT = cython.declare(cython.int, 32)
LENGTHS = cython.declare(cython.longlong, (1 << 29) - 1)
AFFECTS_EARLIER = cython.declare(cython.longlong, 1 << 62)  # see `Tree.affects_earlier`
IS_ENDED = cython.declare(cython.longlong, 1 << 61)  # some prefix has no text left
CHARACTERS = cython.declare(cython.longlong, 3)  # of a word
CHARACTER_BITS = cython.declare(cython.longlong, 21)
CHARACTER = cython.declare(cython.longlong, (1 << 21) - 1)

# What a byte does to a string.
ILLEGAL = cython.declare(cython.int, 0)
INSIDE = cython.declare(cython.int, 1)
QUOTE = cython.declare(cython.int, 2)
ILLEGAL_CHARACTER = cython.declare(cython.int, -3)  # takes the place of an automaton's state

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
FIRST_SURROGATE = cython.declare(cython.int, 0xD800)  # surrogates stand for markers in automata
LAST_SURROGATE = cython.declare(cython.int, 0xDFFF)
FIRST_MARKER = cython.declare(cython.int, 256)  # symbols of a text from it on are no bytes
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
FAR_STEPS = cython.declare(cython.int, 1 << 28)  # or more: any number of safe characters
MOST_RESTS = cython.declare(cython.int, 62)  # shorter lengths have a bit each, all others the next
SLOTS = cython.declare(cython.int, 512)  # slots of a grammar's cache of rows
BLOCK = cython.declare(cython.Py_ssize_t, 16)  # words compared at once
OUT_OF_BOUNDS = "an index of the kernel is out of bounds"

LONGEST = 256  # bytes of a token in a trie; a walk takes up to 600 bytes of stack a byte
FIRST_WORDS = 384  # of a new arena
FIRST_STATES = 40  # of a new list of past states
FIRST_IDS = 128  # of a new list of accepted token ids

MOST_TRIED = 50_000  # steps of all searches for a row or an accepted token id

# Slots of the memo of searched states, and at first of the table of elements' fingerprints.
FINGERPRINT_SLOTS = cython.declare(cython.longlong, 16_384)
ENDING_LEVELS = cython.declare(cython.int, 8)  # nested objects and arrays that end an element

MOST_DIFFERING = 1_536  # words

# `base` of a row that no wide row is the base of: an empty row, that of the digits, or none.
NO_BASE = cython.declare(cython.Py_ssize_t, -1)
DIGITS_BASE = cython.declare(cython.Py_ssize_t, -2)
WHOLE_ROW = cython.declare(cython.Py_ssize_t, -3)


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

    A *fingerprint* is a hash of 62 bits. Equal values have equal fingerprints. If two different
    values collide, the second is illegal as a repetition.
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
