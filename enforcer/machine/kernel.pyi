# Types of the kernel, which mypy cannot read.

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

STATE: Final[np.dtype[Any]]
NODE: Final[np.dtype[Any]]
NAME: Final[np.dtype[Any]]
PLACE: Final[np.dtype[Any]]
ARRAY: Final[np.dtype[Any]]
AUTOMATON: Final[np.dtype[Any]]

_Array: TypeAlias = npt.NDArray[Any] | memoryview

def records(table: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]: ...

class WideRow:
    row: memoryview
    exits: memoryview

class Tree:
    free: WideRow
    words: int
    def __init__(
        self,
        byte: _Array,
        skip: _Array,
        token: _Array,
        depth: _Array,
        parent: _Array,
        below: _Array,
        rank: _Array,
        height: _Array,
        way: _Array,
        ids: _Array,
        text0: _Array,
        text: _Array,
        words: int,
    ) -> None: ...
    def set_free(self, free: WideRow, shorter: _Array) -> None: ...

class Tables:
    rows: list[WideRow | None]
    def __init__(self, *arrays: Any) -> None: ...

class Text:
    work: int
    weight: int
    def __init__(self, tree: Tree, tables: Tables) -> None: ...
    def fill(self, row: npt.NDArray[np.int32]) -> None: ...
    def accept(self, token_id: int) -> bool: ...
    def rollback(self, count: int) -> None: ...
    def is_accepting(self) -> bool: ...
    def keep(self, count: int) -> None: ...
    def free_row(self, automaton: int) -> tuple[WideRow, npt.NDArray[np.int32]]: ...
    def make_rows(self, most: int) -> None: ...
