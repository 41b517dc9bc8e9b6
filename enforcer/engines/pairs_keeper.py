"""Keeps, of arguments in pairs of a key and a raw value, what keepers of JSON keep.

Owns: which ids of a mask are asked of whom. Must not know: what is kept, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.engines.mask_rows import among, clear, members, put
from enforcer.engines.pairs_follower import VALUE, PairsFollower

if TYPE_CHECKING:
    from enforcer.engines.keeper import Keeper
    from enforcer.engines.mask_rows import Ids, Row
    from enforcer.engines.pairs import Crossing, Pairs
    from enforcer.engines.pairs_follower import Place
    from enforcer.vocabulary import Vocabulary


class PairsKeeper(PairsFollower):
    """Keeps one text of pairs; see `enforcer.engines.keeper.TextKeeper`.

    Args:
        pairs: what is known of the layout.
        crossing: the ids that end or open values and go on.
        vocabulary: all ids.
        nested: keeps what is kept of JSON.

    """

    def __init__(
        self, pairs: Pairs, crossing: Crossing, vocabulary: Vocabulary, nested: Keeper
    ) -> None:
        super().__init__(pairs, vocabulary, nested)
        self._keeper = nested
        self._crossing = crossing

    def forbid(self, place: Place, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        crossing = self._crossing
        if place.field != VALUE:
            self._judge_opening(place, crossing.opening, row)
            return
        before = row.copy() if self._pairs.stop else row
        if place.within is not None:
            self._keeper.forbid(place.within, row)
        if not self._pairs.stop:
            return  # an id ends the value
        # Behind the bytes that end the value its keeper misreads an id.
        for rest in self.rests(place):
            ending = among(before, crossing.beginning(rest))
            if len(ending) and self.read(place, rest) is not None:
                put(row, ending)
                self._judge_opening(place, crossing.opening_among(ending), row)
        if len(crossing.whole):
            self._judge(place, among(before, crossing.whole), row)

    def _judge_opening(self, place: Place, opening: Row | None, row: Row) -> None:
        if opening is not None:
            self._judge(place, members(row & opening), row)

    def _judge(self, place: Place, ids: Ids, row: Row) -> None:
        fits = [self.after(place, token_id) is not None for token_id in ids.tolist()]
        clear(row, ids)
        put(row, ids[fits])
