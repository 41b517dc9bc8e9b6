"""Tables bound to a vocabulary: what starts the texts of one grammar.

Owns: that. Must not know: how tables are made.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from enforcer import kernel
from enforcer.errors import EngineFailure
from enforcer.machine.json_text import SPANS_OF_JSON, SPANS_OF_PYTHON, QuotedTexts, may_occur
from enforcer.machine.key_tokens import OF_MARKER, KeyTokens
from enforcer.machine.pairs import AUTOMATA
from enforcer.machine.parts import OWN_ROWS
from enforcer.machine.tables import free_tables
from enforcer.machine.tree import SEARCH_ORDER, build_tree
from enforcer.machine.verification import RECORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.machine.tables import Tables
    from enforcer.vocabulary import Vocabulary

_OWN = 40_000  # bytes of views and objects beside arrays, measured
_SLOTS = 16  # bytes for each row that it may hold
_LAYOUTS = 4  # of a vocabulary, whose tokens about keys are remembered
_ESCAPE = re.compile(rb"\\")
_NO_KEYS = KeyTokens((), (OF_MARKER, OF_MARKER))


def bound(tables: Tables, tree: kernel.Tree) -> kernel.Tables:
    """Bind tables to a vocabulary.

    Raises:
        EngineFailure: their markers are no tokens of it.

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
    """Build the tree of a vocabulary's tokens, and the rows of any string.

    Args:
        vocabulary: whose tokens they are.
        memory: counts the bytes that texts of its grammars make; None for a counter of its own.
        is_raw: whether texts are raw; if not, tokens that no JSON text has are left out.
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
        *(*map(found_in, (*spans, _ESCAPE)), SEARCH_ORDER),
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
    """Return that tokens may depend on a name, whichever it is: fewer rows are kept."""
    return True


def _free_rows(
    tree: kernel.Tree, tables: Tables, quote: str = '"'
) -> tuple[kernel.WideRow, npt.NDArray[np.int32]]:
    """Return the wide row of any text, and the rows of its tokens by their greatest length."""
    free, added = kernel.TextMatcher(tree, bound(tables, tree)).free_row(ord(quote))
    member = np.unpackbits(np.asarray(free.row).view(np.uint8), bitorder="little").astype(np.bool_)
    rows = [
        np.packbits(member & (added <= most), bitorder="little").view(np.int32)
        for most in range(int(added.max(initial=0)) + 1)
    ]
    return free, np.concatenate(rows)


def _trie(texts: Sequence[bytes], token_ids: Sequence[int]) -> kernel.Trie:
    """Make a trie of tokens as the kernel walks it; `texts` in ascending order."""
    found = build_tree(texts, token_ids)
    return kernel.Trie(found.nodes, found.ids.data, found.roots)


class MachineGrammar:
    """A compiled grammar; see `enforcer.engines.CompiledGrammar`.

    Attributes:
        tables: its tables.
        weight: bytes that it holds, without what its texts have made.

    """

    def __init__(self, tables: Tables, tree: kernel.Tree) -> None:
        self._tree = tree
        self.tables = bound(tables, tree)
        arrays = sum(array.nbytes for array in tables.arrays.values())
        self.weight = _OWN + _SLOTS * len(self.tables.rows) + arrays

    def matcher(self) -> kernel.TextMatcher:
        """Start a new text."""
        return kernel.TextMatcher(self._tree, self.tables)
