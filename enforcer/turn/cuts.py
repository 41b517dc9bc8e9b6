"""Tokens that a border cuts in two.

Owns: such tokens with the ids of their two parts, and which of them two masks permit. Must not
know: what stands before a border or behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import has, is_member
from enforcer.turn.bits import NO_IDS, ids_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.engines.mask_rows import Ids, Row, Truths


@dataclass(frozen=True, slots=True)
class Loose:
    """An id with a part that is no id of text.

    Attributes:
        token: the id.
        count: bytes of its first part.
        head, tail: the longest ids that the two parts begin with: where they may not come, the
            parts may not.

    """

    token: int
    count: int
    head: int
    tail: int


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Ids of text that a border cuts in two.

    Attributes:
        ids: those of which both parts are ids of text themselves.
        heads, tails: the ids of the parts, in the same order.
        loose: the others.

    """

    ids: Ids
    heads: Ids
    tails: Ids
    loose: tuple[Loose, ...]

    def __bool__(self) -> bool:
        return bool(len(self.ids)) or bool(self.loose)

    def among(self, before: Cut) -> Cut:
        """Give those that have to be known behind another border."""
        needed = before.behind
        loose = tuple(each for each in self.loose if each.token in needed)
        return self._chosen(np.isin(self.ids, needed), loose)

    def permitted(self, row: Row, reads: Callable[[Loose], bool]) -> Cut:
        """Return those whose second parts may come behind the border, by its row or as `reads`."""
        loose = (each for each in self.loose if is_member(row, each.tail) and reads(each))
        return self._chosen(has(row, self.tails), tuple(loose))

    def begun(self, row: Row, reads: Callable[[Loose], bool]) -> Cut:
        """Return those whose first parts may come before the border, by its row or as `reads`."""
        loose = (each for each in self.loose if is_member(row, each.head) and reads(each))
        return self._chosen(has(row, self.heads), tuple(loose))

    def _chosen(self, which: Truths, loose: tuple[Loose, ...]) -> Cut:
        if which.all() and len(loose) == len(self.loose):
            return self
        return Cut(self.ids[which], self.heads[which], self.tails[which], loose)

    @property
    def behind(self) -> Ids:
        """The ids that have to be known behind the border."""
        if not self.loose:
            return self.tails
        return np.concatenate([self.tails, ids_of(each.tail for each in self.loose)])

    @property
    def weight(self) -> int:
        """Bytes that it holds, about."""
        return 3 * self.ids.nbytes + 100 * len(self.loose)

    @property
    def every(self) -> list[int]:
        """All of the ids that are cut."""
        return [*self.ids.tolist(), *(each.token for each in self.loose)]


NONE = Cut(NO_IDS, NO_IDS, NO_IDS, ())
