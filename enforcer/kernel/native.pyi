# Types of the compiled kernel, for type checkers.

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

STATE: Final[np.dtype[Any]]
NODE: Final[np.dtype[Any]]
NAME: Final[np.dtype[Any]]
ITEM_SLOT: Final[np.dtype[Any]]
ARRAY: Final[np.dtype[Any]]
LIMIT: Final[np.dtype[Any]]
MARK: Final[np.dtype[Any]]
COUNT: Final[np.dtype[Any]]
NEED: Final[np.dtype[Any]]
AUTOMATON: Final[np.dtype[Any]]
BOUND: Final[np.dtype[Any]]
TRIE_NODE: Final[np.dtype[Any]]
LONGEST: Final[int]
SOURCES: Final[str]

_Array: TypeAlias = npt.NDArray[Any] | memoryview

def as_records(table: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]: ...
def fill_trie(
    data: bytes,
    starts: memoryview,
    bits: memoryview,
    left: memoryview,
    below: memoryview,
    child: memoryview,
    rank: memoryview,
    rank_end: memoryview,
    children: memoryview,
    own: memoryview,
    height: memoryview,
    byte: memoryview,
) -> int: ...

class MemoryCounter:
    bytes: int
    most: int
    def __init__(self) -> None: ...

class Trie:
    def __init__(self, nodes: _Array, ids: _Array, roots: int) -> None: ...

class Row:
    row: memoryview

class WideRow(Row): ...

class Tree:
    free: WideRow
    raw_free: WideRow | None
    words: int
    tokens: int
    tries: dict[bytes, Trie]
    memory: MemoryCounter
    key_tokens: Callable[[tuple[int, ...]], Any]
    def __init__(
        self,
        trie: Trie,
        text0: _Array,
        text: _Array,
        words: int,
        memory: MemoryCounter,
        make_trie: Callable[[list[bytes], list[int]], Trie],
        affects_earlier: Callable[[str, int], bool],
        key_tokens: Callable[[tuple[int, ...]], Any],
        spanning: _Array,
        listing: _Array,
        commas: _Array,
        opening: _Array,
        order: _Array,
    ) -> None: ...
    def set_rows(self, free: WideRow, shorter: _Array, digits: _Array) -> None: ...
    def set_raw_rows(self, free: WideRow, shorter: _Array) -> None: ...

class Tables:
    rows: list[WideRow | None]
    arrays_by_name: dict[str, _Array]
    def __init__(self, *arrays: Any) -> None: ...

class TextMatcher:
    work: int
    weight: int
    tables: Tables
    def __init__(self, tree: Tree, tables: Tables) -> None: ...
    def fill(self, row: npt.NDArray[np.int32]) -> None: ...
    def accept(self, token_id: int) -> bool: ...
    def rollback(self, count: int) -> None: ...
    def is_accepting(self) -> bool: ...
    def token_ids(self) -> list[int]: ...
    def fingerprint(self, behind: int) -> int: ...
    def keep(self, count: int) -> None: ...
    def end_cost(self) -> int: ...
    @property
    def end_start(self) -> int: ...
    def end_ids(self) -> list[int]: ...
    def ids_in_time(
        self, token_ids: npt.NDArray[np.int64], room: int
    ) -> tuple[list[int], list[int]]: ...
    def end_growth(self) -> tuple[int, int, int, int]: ...
    def draft(
        self, most: int, style: int, is_likely: bool
    ) -> tuple[int, list[bytes | int], bool]: ...
    def open_values(self) -> tuple[tuple[int, ...], str, list[tuple[int, ...]]]: ...
    def undeclared_names(self, level: int) -> list[str]: ...
    def free_row(self, automaton: int) -> tuple[WideRow, npt.NDArray[np.int32]]: ...
