"""The lexer that all copies of one llguidance matcher share, and how its loss is noticed.

Owns: the vocabulary as llguidance holds it, a lexer's first mask, its fuel and its end, and turning
panics into exceptions. Must not know: texts, schemas.

The lexer builds its states lazily, as texts reach them. That has consequences which llguidance
leaves to its host:

- A lexer at one of its limits is lost to every text. Computing a mask says so; accepting an id does
  not: every id looks illegal then. So an id is only called illegal while the lexer lives.
- The fuel of a step is refilled by computing a mask, never by accepting an id.
- Calls to a shared lexer wait for each other and, but for those for a mask, hold Python's global
  interpreter lock meanwhile.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from enforcer.errors import EnforcerError, EngineFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    import llguidance
    import numpy.typing as npt

_T = TypeVar("_T")

_UNMASKED = 16  # ids taken before the fuel is filled up


# What comes out of a call into the engine as it is; see `failed` for the rest.
PASSED = (EnforcerError, KeyboardInterrupt, SystemExit, GeneratorExit)


def failed(error: BaseException) -> EngineFailure:
    """Give what stands for whatever the engine raises.

    A panic in Rust is raised as a `PanicException`, which is no `Exception`.
    """
    return EngineFailure(f"llguidance failed: {type(error).__name__}: {error!s:.300}")


def guarded(what: Callable[[], _T]) -> _T:
    """Call into the engine; whatever it raises comes out as `EngineFailure`."""
    try:
        return what()
    except PASSED:
        raise
    except BaseException as error:
        raise failed(error) from error


class _Scratch(threading.local):
    """A mask for whoever needs one for a moment: one for each thread, which its caches hold.

    Attributes:
        row: int32.
        place: its address and size in bytes; numpy takes a microsecond to tell the former.

    """

    def __init__(self, like: npt.NDArray[np.int32]) -> None:
        self.row = np.empty_like(like)
        self.place = (int(self.row.ctypes.data), self.row.nbytes)


class Table:
    """A vocabulary as llguidance holds it, less the ids that are never legal.

    Attributes:
        tokenizer: the engine's own table.
        special_ids: the ids that are never legal; the engine has them as special tokens.
        row: mask of the others, int32.
        size: ids in the vocabulary.
        scratch: where masks are computed.

    """

    __slots__ = ("row", "scratch", "size", "special_ids", "tokenizer")

    def __init__(
        self,
        tokenizer: llguidance.LLTokenizer,
        special_ids: frozenset[int],
        row: npt.NDArray[np.int32],
        size: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.special_ids = special_ids
        self.row = row
        self.size = size
        self.scratch = _Scratch(row)


class Lexer:
    """What all copies of one matcher share.

    Attributes:
        start: the matcher, which is never advanced.
        first: the first mask of every text; None if there is none.
        is_complete: whether a text may end there.
        lock: held during every call for `start` or a copy of it; a thread that waits for it
            keeps no other one waiting.
        lost: why no text can go on with this one; None while it lives.

    """

    __slots__ = (
        "_first_id", "_table", "_unmasked",
        "first", "is_complete", "lock", "lost", "start", "weight",
    )  # fmt: skip

    def __init__(self, start: llguidance.LLMatcher, table: Table) -> None:
        self.start = start
        self.lock = threading.Lock()
        self.lost: str | None = None
        self.weight = 0
        self._table = table
        self.first: npt.NDArray[np.int32] | None = None
        self.is_complete = False
        self._first_id: int | None = None  # one that every text may begin with; see `is_lost`
        self._unmasked = 0

    def find_first(self) -> str | None:
        """Find the first mask; return what went wrong."""
        copy = self._fill_up()
        if copy.is_error():
            return str(copy.get_error())
        self.first = self._table.scratch.row & self._table.row
        if self.first.any():
            word = int((self.first != 0).argmax())
            bits = int(self.first[word]) & 0xFFFFFFFF
            self._first_id = 32 * word + (bits & -bits).bit_length() - 1
        self.is_complete = bool(copy.is_accepting())
        return None

    def count(self) -> None:
        """Count an id that is about to be taken; fill up the fuel now and then."""
        self._unmasked += 1
        if self._unmasked >= _UNMASKED:
            self._fill_up()

    def masked(self) -> None:
        """Note that a mask has been computed, which fills up the fuel."""
        self._unmasked = 0

    def _fill_up(self) -> llguidance.LLMatcher:
        self.masked()
        copy = self.start.deep_copy()  # a mask that is kept would be given without any work
        copy.unsafe_compute_mask_ptr(*self._table.scratch.place)
        return copy

    def is_lost(self) -> bool:
        """Find out whether it has come to a limit."""
        if self.lost is None and self._first_id is not None:
            copy = self.start.deep_copy()
            if not copy.consume_token(self._first_id):
                self.lost = str(copy.get_error())
        return self.lost is not None


def first_line(why: str) -> str:
    """Give what the engine says in short."""
    return (why.strip().splitlines() or ["no reason given"])[0][:300]
