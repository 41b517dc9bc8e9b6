"""Keeps, of arguments in pairs of a key and a raw value, what keepers of JSON keep.

Owns: which value a text stands in, and who follows it: JSON is read by the keeper of JSON, as if it
stood in an object under its key; strings that stand as they are by keepers of their own. Must not
know: what is kept, engines.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.engines.mask_rows import among, clear, members, put
from enforcer.layouts.declared import STRING
from enforcer.layouts.pattern import ID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from enforcer.engines.keeper import Keeper
    from enforcer.engines.mask_rows import Ids, Row
    from enforcer.engines.pairs import Crossing, Pairs
    from enforcer.layouts.machine import Places
    from enforcer.vocabulary import Vocabulary

    Raw = Callable[[str], Keeper | None]

_KEY, _TYPE, _VALUE = "key", "type", "value"
_JSON_TYPES = frozenset({"array", "object"})
_BLANK = b" \t\r\n"
_BRACKETS = (b"[", b"{")


class Place(NamedTuple):
    """A place in a text.

    Attributes:
        places: those of the machine.
        field: the field that it is in.
        held: what has been written of a key, or of a type.
        key: the last key.
        type: the type behind it.
        keeper: what follows the value that it is in.
        within: the place of that.
        waits: whether the value has not begun of which the first byte tells if it is JSON.

    """

    places: Places
    field: str = ""
    held: bytes = b""
    key: str = ""
    type: str = ""
    keeper: Keeper | None = None
    within: Any = None
    waits: bool = False


class PairsKeeper:
    """Follows one text of pairs; see `enforcer.engines.keeper.TextKeeper`.

    Args:
        pairs: what is known of the layout.
        crossing: the ids that end or open values and go on.
        vocabulary: all ids.
        json_keeper: keeps what is kept of JSON.
        raw: gives the keeper of the strings of a property that stand as they are, if any.

    """

    def __init__(
        self,
        pairs: Pairs,
        crossing: Crossing,
        vocabulary: Vocabulary,
        json_keeper: Keeper,
        raw: Raw,
    ) -> None:
        self.start = Place(pairs.machine.start)
        self._pairs = pairs
        self._crossing = crossing
        self._bytes = vocabulary.token_bytes
        self._controls = vocabulary.control_ids
        self._json = json_keeper
        self._raw = raw

    def after(self, place: Place, token_id: int) -> Place | None:
        """Go on by an id; None if it is too much."""
        if token_id in self._controls:
            return self.read(place, (ID + token_id,))
        return self.read(place, self._bytes(token_id))

    def forbid(self, place: Place, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        crossing = self._crossing
        if place.field != _VALUE:
            self._judge_opening(place, crossing.opening, row)
            return
        before = row.copy() if self._pairs.stop else row
        if place.keeper is not None:
            place.keeper.forbid(place.within, row)
        if not self._pairs.stop:
            return  # an id ends the value
        # Behind the bytes that end the value its keeper misreads an id.
        for rest in self._rests(place):
            ending = among(before, crossing.beginning(rest))
            if len(ending) and self.read(place, rest) is not None:
                put(row, ending)
                self._judge_opening(place, crossing.opening_among(ending), row)
        if len(crossing.whole):
            self._judge(place, among(before, crossing.whole), row)

    def _rests(self, place: Place) -> list[bytes]:
        """List what of the stop is missing where a beginning of it has been written."""
        stop, matched = self._pairs.stop, self._pairs.machine.matched
        return [stop[n:] for at in place.places if (n := matched.get(at)) and n < len(stop)]

    def _judge_opening(self, place: Place, opening: Row | None, row: Row) -> None:
        if opening is not None:
            self._judge(place, members(row & opening), row)

    def _judge(self, place: Place, ids: Ids, row: Row) -> None:
        fits = [self.after(place, token_id) is not None for token_id in ids.tolist()]
        clear(row, ids)
        put(row, ids[fits])

    def read(self, place: Place, symbols: Sequence[int]) -> Place | None:
        """Go on with some symbols; None if they are too much."""
        if self._stays(place, symbols):
            return self._within(place, bytes(symbols))
        finder = self._pairs.machine
        data = bytearray()  # of the field that the text is in, since the last look at it
        for symbol in symbols:
            places = finder.step(place.places, symbol)
            if places is None:
                return None
            field = finder.field_at(places)
            if place.field == _VALUE:
                has_ended = finder.behind in places
                if symbol < ID and (field == _VALUE or (has_ended and self._pairs.stop)):
                    data.append(symbol)
                if field != _VALUE or has_ended:
                    if self._within(place, data) is None:
                        return None
                    data.clear()
                    place = Place(places, "" if has_ended else _VALUE)
                    continue
            elif field and field == place.field:
                data.append(symbol)
            elif field != place.field:
                place = self._entered(place, field, bytes(data))
                data.clear()
            place = place._replace(places=places)
        if place.field == _VALUE:
            return self._within(place, data)
        if not data:
            return place
        held = place.held + data
        # A name that is longer than any that is declared need not be known.
        return place._replace(held=held[: self._pairs.longest + 1] if place.field == _KEY else held)

    def _stays(self, place: Place, symbols: Sequence[int]) -> bool:
        """Tell whether symbols stay within a value, at the first glance."""
        if self._pairs.machine.field_at(place.places) != _VALUE or not isinstance(symbols, bytes):
            return False
        stop = self._pairs.stop
        return stop[:1] not in symbols and not self._rests(place) if stop else True

    def _entered(self, place: Place, field: str, data: bytes) -> Place:
        """Leave a key or a type, and enter what comes next."""
        # One that is too long to be declared may have been cut off within a character.
        text = (place.held + data).decode(errors="replace")
        if place.field == _TYPE:
            place = place._replace(type=text)
        elif place.field == _KEY:
            unescaped = text.replace("&quot;", '"').replace("&amp;", "&")
            place = place._replace(key=unescaped if self._pairs.escaped else text)
        place = place._replace(field=field, held=b"")
        return self._opened(place) if field == _VALUE else place

    def _opened(self, place: Place) -> Place:
        """Say who follows the value that begins."""
        if self._pairs.typed and place.type != STRING:
            return self._as_json(place) if place.type in _JSON_TYPES else place
        raw = self._raw(place.key)
        if raw is not None:
            return place._replace(keeper=raw, within=raw.start)
        return place._replace(waits=not self._pairs.typed and place.key in self._pairs.nested)

    def _as_json(self, place: Place) -> Place:
        name = b"{" + json.dumps(place.key).encode() + b":"
        within = self._json.read(self._json.start, name)
        return place._replace(keeper=self._json, within=within, waits=False)

    def _within(self, place: Place, data: bytes | bytearray) -> Place | None:
        """Go on within a value."""
        if place.waits:
            data = data.lstrip(_BLANK)
            if data:
                is_json = data.startswith(_BRACKETS)
                place = self._as_json(place) if is_json else place._replace(waits=False)
        if place.keeper is None or not data:
            return place
        within = place.keeper.read(place.within, bytes(data))
        return None if within is None else place._replace(within=within)


def no_raw(_: str) -> None:
    """Keep nothing of strings that stand as they are."""


def by_name(keepers: Mapping[str, Keeper | None], others: Keeper | None) -> Raw:
    """Give the keeper of each declared name, and that of all others."""
    return lambda name: keepers.get(name, others)
