"""Texts whose masks a keeper sees, id by id.

Owns: the matcher of `enforcer.engines` around that of another engine, and what comes of rollbacks.
Must not know: what is kept, which engine it is around.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from enforcer.engines.keeper import PLACES
from enforcer.errors import EngineFailure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher
    from enforcer.engines.keeper import Keeper, TextKeeper
    from enforcer.vocabulary import Vocabulary

_PLACE = 400  # bytes, roughly


class JsonKeeper:
    """A keeper of JSON that goes on by token ids."""

    def __init__(self, keeper: Keeper, vocabulary: Vocabulary) -> None:
        self.keeper = keeper
        self.start = keeper.start
        self.forbid = keeper.forbid
        self._read = keeper.read
        self._bytes = vocabulary.token_bytes

    def after(self, place: Any, token_id: int) -> Any:
        """Go on by an id; see `TextKeeper`."""
        return self._read(place, self._bytes(token_id))


class KeptMatcher:
    """One text: what the engine within allows, less what is too much."""

    def __init__(self, inner: ArgumentMatcher, keeper: TextKeeper) -> None:
        self._inner = inner
        self._keeper = keeper
        self.keep = getattr(inner, "keep", None)  # the machine's; other texts hold little
        self._ids = array("I")
        # After the last ids; those before are read again if need be.
        self._places: list[Any] = [keeper.start]

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next."""
        self._inner.fill(row)
        self._keeper.forbid(self._places[-1], row)

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then."""
        if not self._inner.accept(token_id):
            return False
        try:
            place = self._keeper.after(self._places[-1], token_id)
        except EngineFailure:
            self._inner.rollback(1)
            raise
        if place is None:
            self._inner.rollback(1)
            return False
        self._ids.append(token_id)
        self._places.append(place)
        if len(self._places) > 2 * PLACES:
            del self._places[:PLACES]
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        self._inner.rollback(count)
        del self._ids[len(self._ids) - count :]
        del self._places[max(len(self._places) - count, 0) :]
        if self._places:
            return
        self._places = [self._keeper.start]
        for token_id in self._ids:
            place = self._keeper.after(self._places[-1], token_id)
            if place is None:
                raise EngineFailure("a text that was taken cannot be read again")
            self._places[0] = place

    def token_ids(self) -> list[int]:
        """Return the accepted token ids of the whole text."""
        return self._ids.tolist()

    @property
    def weight(self) -> int:
        """Bytes of this text, without the elements that are kept."""
        own: int = getattr(self._inner, "weight", 0)
        return own + self._ids.itemsize * len(self._ids) + _PLACE * len(self._places)

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        return self._inner.is_accepting()
