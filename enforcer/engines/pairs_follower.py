"""Which key and value a text of pairs stands in, id by id.

Owns: that. JSON is read by what follows JSON, as if it stood in an object under its key. Must not
know: what for, engines.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.layouts.declared import STRING
from enforcer.layouts.pattern import ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines.keeper import Follower
    from enforcer.engines.pairs import Pairs
    from enforcer.layouts.machine import Places
    from enforcer.vocabulary import Vocabulary

VALUE = "value"
_KEY, _TYPE = "key", "type"
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
        within: the place of who follows JSON in the value; None where the value is none.
        waits: whether the value has not begun of which the first byte tells if it is JSON.

    """

    places: Places
    field: str = ""
    held: bytes = b""
    key: str = ""
    type: str = ""
    within: Any = None
    waits: bool = False


class PairsFollower:
    """Follows texts of pairs; see `Place`.

    Args:
        pairs: what is known of the layout.
        vocabulary: all ids.
        nested: follows JSON.

    """

    def __init__(self, pairs: Pairs, vocabulary: Vocabulary, nested: Follower) -> None:
        self.start = Place(pairs.machine.start)
        self._pairs = pairs
        self._bytes = vocabulary.token_bytes
        self._controls = vocabulary.control_ids
        self._nested = nested

    def after(self, place: Place, token_id: int) -> Place | None:
        """Go on by an id; None if it is too much."""
        if token_id in self._controls:
            return self.read(place, (ID + token_id,))
        return self.read(place, self._bytes(token_id))

    def rests(self, place: Place) -> list[bytes]:
        """List what of the stop is missing where a beginning of it has been written."""
        stop, matched = self._pairs.stop, self._pairs.machine.matched
        return [stop[n:] for at in place.places if (n := matched.get(at)) and n < len(stop)]

    def read(self, place: Place, symbols: Sequence[int]) -> Place | None:
        """Go on with some symbols; None if they are too much."""
        staying = self._staying(place, symbols)
        if staying:
            within = self._within(place, bytes(symbols[:staying]))
            if within is None or staying == len(symbols):
                return within
            place, symbols = within, symbols[staying:]
        finder = self._pairs.machine
        data = bytearray()  # of the field that the text is in, since the last look at it
        for symbol in symbols:
            places = finder.step(place.places, symbol)
            if places is None:
                return None
            field = finder.field_at(places)
            if place.field == VALUE:
                has_ended = finder.behind in places
                if symbol < ID and (field == VALUE or (has_ended and self._pairs.stop)):
                    data.append(symbol)
                if field != VALUE or has_ended:
                    if self._within(place, data) is None:
                        return None
                    data.clear()
                    place = Place(places, "" if has_ended else VALUE)
                    continue
            elif field and field == place.field:
                data.append(symbol)
            elif field != place.field:
                place = self._entered(place, field, bytes(data))
                data.clear()
            place = place._replace(places=places)
        if place.field == VALUE:
            return self._within(place, data)
        if not data:
            return place
        held = place.held + data
        # A name that is longer than any that is declared need not be known.
        return place._replace(held=held[: self._pairs.longest + 1] if place.field == _KEY else held)

    def _staying(self, place: Place, symbols: Sequence[int]) -> int:
        """Count the symbols that stay within a value, at the first glance."""
        if self._pairs.machine.field_at(place.places) != VALUE or not isinstance(symbols, bytes):
            return 0
        stop = self._pairs.stop
        if not stop:
            return len(symbols)  # an id ends it
        at = symbols.find(stop[:1])
        return 0 if self.rests(place) else len(symbols) if at < 0 else at

    def _entered(self, place: Place, field: str, data: bytes) -> Place:
        """Leave a key or a type, and enter what comes next."""
        # One that is too long to be declared may have been cut off within a character.
        text = (place.held + data).decode(errors="replace")
        if place.field == _TYPE:
            place = place._replace(type=text)
        elif place.field == _KEY:
            place = place._replace(key=self._pairs.escape.read(text))
        place = place._replace(field=field, held=b"")
        return self._opened(place) if field == VALUE else place

    def _opened(self, place: Place) -> Place:
        """Say who follows the value that begins."""
        if self._pairs.typed and place.type != STRING:
            return self._as_json(place) if place.type in _JSON_TYPES else place
        return place._replace(waits=not self._pairs.typed and place.key in self._pairs.nested)

    def _as_json(self, place: Place) -> Place:
        name = b"{" + json.dumps(place.key).encode() + b":"
        within = self._nested.read(self._nested.start, name)
        return place._replace(within=within, waits=False)

    def _within(self, place: Place, data: bytes | bytearray) -> Place | None:
        """Go on within a value."""
        if place.waits:
            data = data.lstrip(_BLANK)
            if data:
                is_json = data.startswith(_BRACKETS)
                place = self._as_json(place) if is_json else place._replace(waits=False)
        if place.within is None or not data:
            return place
        within = self._nested.read(place.within, bytes(data))
        if within is place.within:
            return place
        return None if within is None else place._replace(within=within)
