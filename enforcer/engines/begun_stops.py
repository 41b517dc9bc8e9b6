"""Masks of raw strings in which what ends them may have begun, made from those before it began.

In formats of pairs a string stands as it is, up to its stop, and an engine looks up its masks until
it meets the stop's first character. From there to where it is plain that no stop has begun it tries
each id, 1.2 ms a mask, though next to none is more or less legal than before.

*Why.* Let a value be any string, or any that is long enough, and is: what may follow it is any text
that holds no stop, and then its stop. Let `t` be what has been written of it where no stop has
begun, and `u` what was written since. What an id `b` may stand behind, `t` or `tu`, depends on the
stops in `tb` and `tub` alone. They are the same stops unless `tub` holds one that begins in `u` and
ends in `b`, and so unless `b` begins with what is missing of one that has begun in `u`. Those are
few, and asked for.

Owns: that; in which values it holds. Must not know: which engine it is around.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from enforcer.engines import pairs_follower
from enforcer.engines.beside import AroundGrammar, BesideEngine
from enforcer.engines.keeper import PLACES
from enforcer.engines.mask_rows import clear, has, put
from enforcer.engines.stops import NOTHING, Begun, Stops
from enforcer.errors import EngineFailure
from enforcer.layouts import LayoutKind
from enforcer.layouts.declared import types_of_properties
from enforcer.machine.spellable import NO_STRING, Spellable
from enforcer.schema.finishing.ways import others_of, values_of
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import ArgumentEngine, ArgumentMatcher, CompiledGrammar
    from enforcer.engines.pairs import Pairs
    from enforcer.layouts import BoundLayout
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ValueId
    from enforcer.vocabulary import Vocabulary

_BACK = 8  # ids that are taken back at most; a stop with white space inside may be endless
_EACH = 200  # bytes of a property


class Place(NamedTuple):
    """A place in a raw string.

    Attributes:
        needs: characters that must come before any text may.
        begun: which stops have begun; empty if none has.

    """

    needs: int
    begun: Begun


class RawString:
    """Follows the strings of some properties; see `enforcer.engines.keeper.Follower`."""

    def __init__(self, stops: Stops, needs: int) -> None:
        self.start = Place(needs, NOTHING)
        self._stops = stops

    def read(self, place: Place, data: bytes) -> Place:
        """Go on with the bytes of an id."""
        begun = self._stops.after(place.begun, data)
        needs = place.needs and max(0, place.needs - len(data.decode(errors="ignore")))
        if begun is place.begun and needs == place.needs:
            return place
        return Place(needs, begun)


class BegunStopEngine(BesideEngine):
    """Makes masks of raw strings for another engine."""

    mark: ClassVar[str] = "\0stops "

    def __init__(self, engine: ArgumentEngine, vocabulary: Vocabulary) -> None:
        super().__init__(engine, vocabulary)
        self._stops: dict[tuple[str, ...], Stops] = {}

    def divide(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None
    ) -> tuple[ArgumentGrammar, list[Any]]:
        """Give the grammar as it is; and by names of properties, how long their strings must be.

        That of others stands behind them. None is one whose strings have to fit something.
        """
        if layout is None or layout.layout.kind is not LayoutKind.PAIRS:
            return grammar, []
        spellable = Spellable(grammar, layout)
        values = _values(grammar)
        found = {name: _needs(spellable, name, ids) for name, ids in values.items()}
        if all(needs is None for needs in found.values()):
            return grammar, []
        others = found.pop(None, None)
        return grammar, [layout.avoided, found, others]

    def around(
        self, inner: CompiledGrammar, kept: list[Any], laid_out: Pairs | None
    ) -> CompiledGrammar:
        """Give the grammar whose texts are followed."""
        if laid_out is None:
            raise EngineFailure("a stop without a layout")
        texts, names, others = kept
        stops = self._stops_of(tuple(texts))

        def raw(needs: int | None) -> RawString | None:
            return None if needs is None else RawString(stops, needs)

        by = pairs_follower.by_name(
            {name: raw(needs) for name, needs in names.items()}, raw(others)
        )
        follower = pairs_follower.PairsFollower(laid_out, self.vocabulary, None, by)
        return AroundGrammar(
            inner, lambda text: BegunStopMatcher(text, follower, stops), _EACH * len(names)
        )

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build what the engine within needs, and find the ids that may begin a stop."""
        if layout is not None and layout.layout.kind is LayoutKind.PAIRS:
            self._stops_of(layout.avoided)
        super().warm(layout)

    def _stops_of(self, texts: tuple[str, ...]) -> Stops:
        if texts not in self._stops:
            self._stops[texts] = Stops(texts, self.vocabulary)
        return self._stops[texts]


class _Read(NamedTuple):
    """How many ids have been read, and where they lead."""

    ids: int
    place: pairs_follower.Place


class BegunStopMatcher:
    """One text; it is only read where a stop may have begun."""

    def __init__(
        self, inner: ArgumentMatcher, follower: pairs_follower.PairsFollower, stops: Stops
    ) -> None:
        self._inner = inner
        self._follower = follower
        self._stops = stops
        self._ids = array("I")
        self._read = [_Read(0, follower.start)]
        self._is_unsure = False  # whether a stop may have begun

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next."""
        begun = self._begun() if self._is_unsure else NOTHING
        back = self._back() if begun else 0
        if not back:
            self._inner.fill(row)
            return
        completing = self._stops.completing(begun)
        legal = [i for i in completing.alone if self._is_legal(i)]
        ahead = 0
        if completing.by is not None and self._inner.accept(completing.by):
            ahead = 1
            self._inner.fill(row)
            goes_on = completing.others[has(row, completing.rests)]
            legal += [completing.by, *goes_on.tolist()]
        # Both at once: where a mask is taken back the engine computes the one before it.
        self._inner.rollback(ahead + back)
        self._inner.fill(row)
        for token_id in self._ids[-back:]:
            if not self._inner.accept(token_id):
                raise EngineFailure("a text that was taken cannot be read again")
        clear(row, completing.ids)
        put(row, legal)

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then."""
        if not self._inner.accept(token_id):
            return False
        self._ids.append(token_id)
        if token_id in self._stops.beginning:
            self._is_unsure = True
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        if not count:
            return
        self._inner.rollback(count)
        del self._ids[-count:]
        while len(self._read) > 1 and self._read[-1].ids > len(self._ids):
            self._read.pop()
        self._is_unsure = True

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        return self._inner.is_accepting()

    def _begun(self) -> Begun:
        """Read on; tell which stops have begun."""
        telling, follower, ids = self._stops.telling, self._follower, self._ids
        place, run = self._read[-1].place, bytearray()
        for at in range(self._read[-1].ids, len(ids)):
            if ids[at] not in telling and not _begun_at(place):
                run += self._stops.bytes_of(ids[at])
                continue
            if run:
                place = self._reached(at, follower.read(place, bytes(run)))
                run.clear()
            place = self._reached(at + 1, follower.after(place, ids[at]))
        if run:
            place = self._reached(len(ids), follower.read(place, bytes(run)))
        begun = _begun_at(place)
        self._is_unsure = bool(begun)
        return begun

    def _reached(self, count: int, place: pairs_follower.Place | None) -> pairs_follower.Place:
        if place is None:
            raise EngineFailure("a text that was taken cannot be followed")
        self._read.append(_Read(count, place))
        if len(self._read) > 2 * PLACES:
            del self._read[1:-PLACES]
        return place

    def _back(self) -> int:
        """Count the ids since no stop had begun in this value; 0 if that is not known."""
        last, count = self._read[-1].place, len(self._ids)
        for at, place in reversed(self._read[:-1]):
            if count - at > _BACK or place.follower is not last.follower:
                break
            if not _begun_at(place):
                is_free = not place.within.needs and not self._stops.may_end(self._ids[at:])
                return count - at if is_free else 0
        return 0

    def _is_legal(self, token_id: int) -> bool:
        is_legal = self._inner.accept(token_id)
        if is_legal:
            self._inner.rollback(1)
        return is_legal


def _begun_at(place: pairs_follower.Place) -> Begun:
    return NOTHING if place.within is None else place.within.begun


def _values(grammar: ArgumentGrammar) -> dict[str | None, set[ValueId]]:
    """Give what the value of each property may be; None stands for those without a name here."""
    root = grammar.definitions[grammar.root]
    parts = dict(root.cells)
    names = {name for shape in root.objects for name, _ in shape.names}
    # Where types are declared, these are read by one of their own, whatever else is said of them.
    names.update(types_of_properties(grammar.schema))
    found: dict[str | None, set[ValueId]] = {
        name: set(values_of(root.objects, name, parts)) for name in sorted(names)
    }
    return {**found, None: set(others_of(root.objects))}


def _needs(spellable: Spellable, name: str | None, ids: Iterable[ValueId]) -> int | None:
    """Tell how many characters a string must have that then may hold anything.

    None if there is no such number, or there are no strings.
    """
    most = NO_STRING
    for number in ids:
        needs = spellable.free_after(name, number) if number != NEVER else NO_STRING
        if needs is None:
            return None
        most = max(most, needs)
    return None if most == NO_STRING else most
