"""What follows a text beside an engine, and says which ids are too much.

Owns: the protocols, and how far back a text is remembered. Must not know: what is kept, and who
asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


PLACES = 64  # that are remembered of a text: more than drafts take back


class Follower(Protocol):
    """Follows texts by their bytes; its places are its own, and immutable."""

    start: Any

    def read(self, place: Any, data: bytes) -> Any:
        """Go on with the bytes of an id that the engine takes; None if it is too much."""
        ...


class Keeper(Follower, Protocol):
    """Follows texts and says which ids are too much.

    Its methods raise `EngineFailure` where that takes too long to tell.
    """

    def forbid(self, place: Any, row: npt.NDArray[np.int32]) -> None:
        """Leave out of a mask row the ids for which it is None."""
        ...


class TextKeeper(Protocol):
    """A keeper that goes on by ids, of whatever layout the text has."""

    start: Any

    def after(self, place: Any, token_id: int) -> Any:
        """Go on by an id that the engine takes; None if it is too much."""
        ...

    def forbid(self, place: Any, row: npt.NDArray[np.int32]) -> None:
        """Leave out of a mask row the ids for which it is None."""
        ...
