"""The trie of a vocabulary's tokens, as flat records.

A mask is made by one walk over the nodes: a byte that fits leads to the children of its node. Where
an automaton state takes every byte of a subtree without leaving it, its tokens are added at once:
`below` has the byte groups of the subtree, `ids[rank : rank_end]` its token ids.

Owns: the records, the byte groups. Must not know: grammars, automata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer import kernel
from enforcer.errors import InvalidVocabulary
from enforcer.vocabulary import MOST_EQUAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

# Printable ASCII in groups, a bit each: bit `n` stands for the characters of `ASCII_GROUPS[n]`.
# Most tokens are of small letters: a pattern that tells one of them apart looks at few tokens more.
ASCII_GROUPS = (
    *("abcdef", "g", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ", "0123456789"),
    *" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\x7f",
    *"hijklmnopqrstuvwxyz",
)
# Bytes of characters beyond ASCII, by the first of them: apart from the others those of U+4000 to
# U+9FFF, which are most tokens beyond ASCII, of U+2000 to U+2FFF, since `.` leaves out two, and
# those that begin as some white space does; and the group of control characters, and of bytes that
# UTF-8 does not have where they stand, which no automaton state takes as a whole.
CJK = 1 << 58
AS_WHITE_SPACE = 1 << 59
U_2000 = 1 << 60
BEYOND_ASCII = 1 << 61
IN_NO_STATE = 1 << 62

# The last characters of spans beyond ASCII, and their groups.
_SPANS = (
    *((0xBF, AS_WHITE_SPACE), (0xFFF, BEYOND_ASCII), (0x1FFF, AS_WHITE_SPACE), (0x2FFF, U_2000)),
    *((0x3FFF, AS_WHITE_SPACE), (0x9FFF, CJK), (0xEFFF, BEYOND_ASCII), (0xFFFF, AS_WHITE_SPACE)),
    (0x10FFFF, BEYOND_ASCII),
)

_BYTE_BITS = np.full(256, IN_NO_STATE, np.int64)
for _bit, _characters in enumerate(ASCII_GROUPS):
    _BYTE_BITS[[*_characters.encode()]] = 1 << _bit
_BYTE_BITS[0xC2:0xF5] = BEYOND_ASCII
_BYTE_BITS[0xE2] = U_2000
_BYTE_BITS[0xE4:0xEA] = CJK
_BYTE_BITS[[0xC2, 0xE1, 0xE3, 0xEF]] = AS_WHITE_SPACE

# The bytes in the order in which an end is searched for: those that end something, digits, others.
_SEARCHED = dict.fromkeys([*b"\"'}]),:9876543210tfnTFN-[{", *range(32, 256)])

# By a byte the number of its group, if a character begins with it.
GROUP_NUMBERS = np.log2(_BYTE_BITS.astype(np.float64)).astype(np.uint8)
GROUP_NUMBERS[0x80:0xC2] = GROUP_NUMBERS[0xF5:] = 61

# int32; those, each with the number of its group from bit 8 on.
SEARCH_ORDER = np.array([byte | int(GROUP_NUMBERS[byte]) << 8 for byte in _SEARCHED], np.int32).data

# In the order in which `kernel.fill_trie` takes them.
_COLUMNS: dict[str, type[np.generic]] = {
    "below": np.int64,
    "child": np.int32,
    "rank": np.int32,
    "rank_end": np.int32,
    "children": np.int32,
    "own": np.int32,
    "height": np.int32,
    "byte": np.uint8,
}


def groups_beyond_ascii(low: int, high: int) -> int:
    """Return the groups, as bits, of which some character of a span beyond ASCII is."""
    found = 0
    for last, group in _SPANS:
        if low <= last:
            found |= group
            if high <= last:
                break
    return found


@dataclass(frozen=True, slots=True, eq=False)
class VocabularyTree:
    """A trie of tokens, level by level.

    Attributes:
        nodes: records of `kernel.TRIE_NODE`: the roots, then the nodes behind one byte, and so on;
            siblings stand side by side in the order of their bytes.
        ids: int32, the token ids in the order of their bytes; a node's fields `rank` and `rank_end`
            are places in it.
        roots: number of roots.

    """

    nodes: npt.NDArray[Any]
    ids: npt.NDArray[np.int32]
    roots: int


def build_tree(texts: Sequence[bytes], token_ids: Sequence[int]) -> VocabularyTree:
    """Build the trie of some tokens; 0.05 s for Kimi's 163,840.

    Args:
        texts: the bytes of each token, none of them empty, in ascending order.
        token_ids: the id of each.

    Raises:
        InvalidVocabulary: more than 65,535 tokens are equal.

    """
    starts = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, texts), np.int32, len(texts)), out=starts[1:])
    room = int(starts[-1])
    columns: dict[str, npt.NDArray[Any]]
    columns = {name: np.zeros(room, dtype) for name, dtype in _COLUMNS.items()}
    tables: tuple[npt.NDArray[Any], ...]
    tables = (starts, _BYTE_BITS, np.empty(room, np.uint8), *columns.values())
    count = kernel.fill_trie(b"".join(texts), *(table.data for table in tables))
    if columns["own"].max(initial=0) > MOST_EQUAL:
        raise InvalidVocabulary(f"more than {MOST_EQUAL:,} tokens of the same bytes")
    nodes = np.zeros(count, kernel.TRIE_NODE)
    for name, column in columns.items():
        nodes[name] = column[:count]
    ids = np.array(token_ids, np.int32)
    nodes["token"] = np.where(nodes["own"] > 0, ids[nodes["rank"]], -1)
    nodes["group"] = GROUP_NUMBERS[nodes["byte"]]
    roots = len({data[0] for data in texts})
    return VocabularyTree(nodes.view(np.recarray), ids, roots)
