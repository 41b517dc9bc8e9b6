"""The native kernel: follows a turn and the texts of its calls, and fills bitmask rows.

*Theory.* A grammar is a finite set of *nodes*; a node is a set of values of which one has to be
written. Reading a text runs a bottom-up tree automaton over it (Comon et al., Tree Automata
Techniques and Applications, 2008, chapter 8: unranked trees): a finished child reports which values
of its node it fits, and only those shapes of its parent stay live that allow one of them. All
readings of a text are followed at once, as bit sets in the *frames* of the open objects and arrays.
Strings, numbers and names run through deterministic automata over characters, or through tries
where they are listed. A prefix of a text is viable if some reading of it can be completed.

*Files, from the interface downward.* `matcher` is the interface of a text, `turn_matcher` that of
the turn around texts, whose automaton is `turn`. `rows` makes bitmask rows and
caches them, by `walk` over the trie of tokens. `search` looks for an end of a distinct element;
`ends` finds how a text can end, guided by `aims` and by what `costs` has learned of the grammar;
`drafts` how it likely goes on.
`values` has `step`, the automaton itself; `arrays`, `objects` and `strings` are its parts; `names`
has the undeclared names of objects and the distinct strings of arrays. Below them are `automata`,
`state` (fields and arena), `tables` (a grammar), `tokens` (a vocabulary) and `records` (structures
and constants). Each file imports from files below it only.

*Distinct elements* (`uniqueItems`) are enforced in three ways: of a small domain by a tally of bits
in the frame (`arrays`), strings by the characters in the arena (`names`, with `strings`), any other
values by fingerprints (`values`, `arrays`) and `search`.

*Work* is counted in trie nodes, in ranges of characters that are looked at, and in words of bit
sets where a frame is copied or compared with its shapes.

*Rules of these files.* They are compiled by Cython as one translation unit (`hatch_build.py`), or
run interpreted, slowly, for tests. Local variables have no declared types, since `infer_types`
finds them. A possible result is no `exceptval`, unless the function cannot raise: callers would
return an error without an exception. Bits 31 and 63 are set by `bit32` and `bit`, because Python's
integers do not wrap. Objects are made by `__cinit__`, which `cls.__new__(cls)` cannot leave out.
Views are attributes of an object and no arguments of inner functions: a view has 200 bytes.
Recursion goes as deep as a token of a trie has bytes, and no deeper.
"""

from enforcer.kernel.native import (
    ARRAY,
    AUTOMATON,
    BOUND,
    COUNT,
    ITEM_SLOT,
    LIMIT,
    LONGEST,
    MARK,
    NAME,
    NEED,
    NODE,
    STATE,
    TRIE_NODE,
    Around,
    MemoryCounter,
    Names,
    Row,
    Tables,
    TextMatcher,
    Tree,
    Trie,
    Turn,
    WideRow,
    as_records,
    fill_trie,
)

__all__ = [
    "ARRAY",
    "AUTOMATON",
    "BOUND",
    "COUNT",
    "ITEM_SLOT",
    "LIMIT",
    "LONGEST",
    "MARK",
    "NAME",
    "NEED",
    "NODE",
    "STATE",
    "TRIE_NODE",
    "Around",
    "MemoryCounter",
    "Names",
    "Row",
    "Tables",
    "TextMatcher",
    "Tree",
    "Trie",
    "Turn",
    "WideRow",
    "as_records",
    "fill_trie",
]
