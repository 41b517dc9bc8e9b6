"""Tokens of which a border cuts two parts.

Owns: such tokens with the ids of their two parts, and which of them two masks permit. Must not
know: what stands before a border or behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import has
from enforcer.turn.bits import NO_IDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.engines.mask_rows import Ids, Row, Truths


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Ids of text that a border cuts in two.

    Attributes:
        ids: all of them.
        heads, tails: the ids of the parts, in the same order; of a part that is no id itself, the
            longest one that it begins with: where that may not come, the part may not.
        loose: bytes of the first parts of those ids, the last ones, that have such a part.

    """

    ids: Ids
    heads: Ids
    tails: Ids
    loose: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(len(self.ids))

    def among(self, before: Cut) -> Cut:
        """Return those that have to be known behind another border."""
        return self._chosen(np.isin(self.ids, before.tails), lambda _, __: True)

    def permitted(self, row: Row, reads: Callable[[int, int], bool]) -> Cut:
        """Return those whose second parts may come behind the border.

        Args:
            row: the mask row there.
            reads: decides on an id with a part that is none, by the bytes of its first part.

        """
        return self._chosen(has(row, self.tails), reads)

    def begun(self, row: Row, reads: Callable[[int, int], bool]) -> Cut:
        """Return those whose first parts may come before the border; see `permitted`."""
        return self._chosen(has(row, self.heads), reads)

    def _chosen(self, which: Truths, reads: Callable[[int, int], bool]) -> Cut:
        loose = []
        for at, count in enumerate(self.loose, len(self.ids) - len(self.loose)):
            which[at] = which[at] and reads(int(self.ids[at]), count)
            loose += [count] if which[at] else []
        if which.all():
            return self
        return Cut(self.ids[which], self.heads[which], self.tails[which], tuple(loose))

    @property
    def weight(self) -> int:
        """Approximate size in bytes."""
        return 3 * self.ids.nbytes


NONE = Cut(NO_IDS, NO_IDS, NO_IDS, ())
