"""Two ways to keep elements distinct: where all of them are strings, and any others.

Strings alone need no shapes, and what is left of a language is quickly said.

Owns: what an engine's matcher asks of either. Must not know: engines, how texts are followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from enforcer.engines.distinct.doubts import Doubts, DoubtsOf
from enforcer.engines.distinct.elements import START as SPOT
from enforcer.engines.distinct.following import START
from enforcer.engines.distinct.tokens import is_member

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines.distinct.elements import Elements
    from enforcer.engines.distinct.following import Follower, Place
    from enforcer.engines.distinct.places import Spot
    from enforcer.engines.distinct.tokens import Tokens

    Row = npt.NDArray[np.int32]


class Keeper(Protocol):
    """Keeps the elements of a grammar's texts distinct; its places are its own, and immutable."""

    start: Any

    def read(self, place: Any, data: bytes) -> Any:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        ...

    def illegal(self, place: Any, row: Row) -> Iterable[int]:
        """List the ids of a mask row for which it is None, and perhaps others not in it."""
        ...


class StringKeeper:
    """Keeps elements distinct that all are strings."""

    def __init__(self, follower: Follower, tokens: Tokens) -> None:
        self.start = START
        self._follower = follower
        self._tokens = tokens

    def read(self, place: Place, data: bytes) -> Place | None:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        return self._follower.read(place, data)

    def illegal(self, place: Place, row: Row) -> Iterable[int]:
        """List the ids of a mask row for which it is None."""
        for token_id in self._tokens.doubtful(place, row):
            if is_member(row, token_id):
                data = self._tokens.token(token_id)
                if self._follower.read(place, data) is None:
                    yield token_id


class ElementKeeper:
    """Keeps elements of any kind distinct."""

    def __init__(self, elements: Elements, doubts: Doubts) -> None:
        self.start = SPOT
        self._elements = elements
        self._doubts = DoubtsOf(doubts, elements)

    def read(self, place: Spot, data: bytes) -> Spot | None:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        return self._elements.read(place, data)

    def illegal(self, place: Spot, row: Row) -> Iterable[int]:
        """List the ids of a mask row for which it is None, and perhaps others not in it."""
        return self._doubts.illegal(place, row)
