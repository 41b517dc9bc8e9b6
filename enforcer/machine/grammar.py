"""Grammars bound to a vocabulary, whose tokens are a trie.

A mask is made by one walk over the trie's nodes: a byte that fits leads to the children of its
node. If an automaton state takes every byte of a subtree, the subtree's tokens are added at once:
`below` has its byte groups, `ids[rank : rank_end]` its token ids.

Owns: the trie, and the objects that start texts. Must not know: how tables are made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer import kernel
from enforcer.errors import EngineFailure, InvalidVocabulary
from enforcer.machine.boundary_tokens import (
    OF_MARKER,
    SPANS_OF_JSON,
    SPANS_OF_PYTHON,
    KeyTokens,
    QuotedTexts,
    may_occur,
)
from enforcer.machine.builder import OWN_ROWS
from enforcer.machine.byte_groups import BYTE_GROUPS, GROUP_NUMBERS
from enforcer.machine.pairs import AUTOMATA
from enforcer.machine.tables import free_tables, make_usual
from enforcer.machine.wire import RECORDS
from enforcer.vocabulary import MOST_EQUAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.machine.tables import CompiledTables
    from enforcer.vocabulary import Vocabulary

_OWN = 40_000  # bytes of views and objects beside arrays, measured
_SLOTS = 16  # bytes for each row that it may hold
_LAYOUTS = 4  # whose tokens about keys are cached, for each vocabulary
_ESCAPE = re.compile(rb"\\")
_NO_KEYS = KeyTokens((), (OF_MARKER, OF_MARKER))

# The order in which a search tries bytes: first those that end a value, then digits, then others.
_SEARCHED = dict.fromkeys([*b"\"'}]),:9876543210tfnTFN-[{", *range(32, 256)])
# int32; the same bytes, each with the number of its group from bit 8 on.
_SEARCH_ORDER = np.array(
    [byte | int(GROUP_NUMBERS[byte]) << 8 for byte in _SEARCHED], np.int32
).data

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
    """Build the trie of tokens; 0.05 s for Kimi's 163,840.

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
    tables = (starts, BYTE_GROUPS, np.empty(room, np.uint8), *columns.values())
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


def bound(tables: CompiledTables, tree: kernel.Tree) -> kernel.Tables:
    """Return tables bound to a vocabulary.

    Raises:
        EngineFailure: a marker of the tables is no token of the vocabulary.

    """
    arrays = {
        name: kernel.as_records(array, RECORDS[name]) if name in RECORDS else array.data
        for name, array in tables.arrays.items()
    }
    count = 2 * tables.wide_rows if tables.is_python else tables.wide_rows
    rows = [tree.free, tree.raw_free, *[None] * (count - OWN_ROWS)]
    if max(tables.arrays["markers"], default=0) >= tree.tokens:
        raise EngineFailure("tables of a grammar are of another vocabulary's markers")
    around = tuple(tables.arrays["pairs"][AUTOMATA:].tolist())
    keys = tree.key_tokens(around) if around else _NO_KEYS
    spanning = np.array(keys.spanning, np.int32)
    return kernel.Tables(
        arrays,
        tables.white_space,
        tables.is_python,
        rows,
        keys.affects_earlier,
        spanning,
        tree.memory,
    )


def bound_vocabulary(
    vocabulary: Vocabulary,
    memory: kernel.MemoryCounter | None = None,
    *,
    is_raw: bool = False,
    is_python: bool = False,
) -> kernel.Tree:
    """Build the tree of a vocabulary's tokens, with the mask rows of unconstrained text.

    Args:
        vocabulary: the tokens.
        memory: counts the bytes of mask rows that its grammars cache; None for an own counter.
        is_raw: whether texts are raw; if not, tokens that no JSON text holds are left out.
        is_python: whether texts are Python's keyword arguments.

    """
    keys, ids = vocabulary.sorted_text
    occurring = [
        len(key) <= kernel.LONGEST and (is_raw or is_python or may_occur(key)) for key in keys
    ]

    def found_in(span: re.Pattern[bytes]) -> memoryview:
        ids_of = (i for text, i in zip(keys, ids, strict=True) if span.search(text))
        return np.array([*ids_of], np.int32).data

    spans = SPANS_OF_PYTHON if is_python else SPANS_OF_JSON
    ends = np.cumsum(np.fromiter(map(len, vocabulary.texts), np.int32, vocabulary.size))
    tree = kernel.Tree(
        _trie([*compress(keys, occurring)], [*compress(ids, occurring)]),
        np.concatenate(([0], ends)).astype(np.int32).data,
        np.frombuffer(b"".join(vocabulary.texts), np.uint8).data,
        vocabulary.words,
        memory or kernel.MemoryCounter(),
        _trie,
        _affect_earlier if is_python else QuotedTexts(keys).affects_earlier,
        lru_cache(_LAYOUTS)(lambda around: KeyTokens(zip(keys, ids, strict=True), around)),
        *(*map(found_in, (*spans, _ESCAPE)), _SEARCH_ORDER),
    )
    free, shorter = _free_rows(tree, free_tables(is_python=is_python))
    digits = np.zeros(vocabulary.words * 32, np.bool_)
    digits[[token_id for text, token_id in zip(keys, ids, strict=True) if text.isdigit()]] = True
    tree.set_rows(free, shorter, np.packbits(digits, bitorder="little").view(np.int32))
    if is_raw:
        tree.set_raw_rows(*_free_rows(tree, free_tables(is_raw=True)))
    if is_python:
        tree.set_raw_rows(*_free_rows(tree, free_tables(is_python=True), "'"))
    return tree


def _affect_earlier(_text: str, _used_up: int) -> bool:
    """Return True: tokens may depend on any name of Python's, so fewer rows are cached."""
    return True


def _free_rows(
    tree: kernel.Tree, tables: CompiledTables, quote: str = '"'
) -> tuple[kernel.WideRow, npt.NDArray[np.int32]]:
    """Return the wide row of unconstrained text, and the rows of its tokens by greatest length."""
    free, added = kernel.TextMatcher(tree, bound(tables, tree)).free_row(ord(quote))
    member = np.unpackbits(np.asarray(free.row).view(np.uint8), bitorder="little").astype(np.bool_)
    rows = [
        np.packbits(member & (added <= most), bitorder="little").view(np.int32)
        for most in range(int(added.max(initial=0)) + 1)
    ]
    return free, np.concatenate(rows)


def _trie(texts: Sequence[bytes], token_ids: Sequence[int]) -> kernel.Trie:
    """Return a trie of tokens as the kernel walks it; `texts` in ascending order."""
    found = build_tree(texts, token_ids)
    return kernel.Trie(found.nodes, found.ids.data, found.roots)


class MachineGrammar:
    """A compiled grammar; see `enforcer.engines.CompiledGrammar`.

    Attributes:
        tables: its tables, bound to the vocabulary.
        weight: its size in bytes, without cached mask rows.

    """

    def __init__(self, tables: CompiledTables, tree: kernel.Tree) -> None:
        self._tree = tree
        self.tables = bound(tables, tree)
        arrays = sum(array.nbytes for array in tables.arrays.values())
        self.weight = _OWN + _SLOTS * len(self.tables.rows) + arrays

    def matcher(self) -> kernel.TextMatcher:
        """Return a matcher at the beginning of a text."""
        return kernel.TextMatcher(self._tree, self.tables)


def any_grammar(vocabulary: Vocabulary, tree: kernel.Tree | None = None) -> MachineGrammar:
    """Return the grammar of any JSON object over a trie of all tokens, the vocabulary's own one."""
    found = bound_vocabulary(vocabulary, is_raw=True) if tree is None else tree
    return MachineGrammar(make_usual(), found)
