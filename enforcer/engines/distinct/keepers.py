"""Two ways to keep elements distinct: where all of them are strings, and any others.

Strings alone need no shapes, and what is left of a language is quickly said. Names of objects are
strings.

Owns: what an engine's matcher asks of either. Must not know: engines, how texts are followed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from enforcer.engines.distinct.doubts import DoubtsOf
from enforcer.engines.distinct.elements import START as SPOT
from enforcer.engines.distinct.elements import Elements
from enforcer.engines.distinct.following import START, Follower
from enforcer.engines.distinct.fuel import Fuel, endless
from enforcer.engines.distinct.shapes import ElementShapes
from enforcer.engines.distinct.tokens import among, clear

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines.distinct.doubts import Doubts
    from enforcer.engines.distinct.following import Place
    from enforcer.engines.distinct.places import Spot
    from enforcer.engines.distinct.tokens import Tokens
    from enforcer.engines.distinct.tracks import Ways
    from enforcer.schema.grammar import ValueId

    Row = npt.NDArray[np.int32]


class Keeper(Protocol):
    """Keeps the elements of a text distinct; its places are its own, and immutable.

    Its methods raise `EngineFailure` where that takes too long to tell.
    """

    start: Any

    def read(self, place: Any, data: bytes) -> Any:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        ...

    def forbid(self, place: Any, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
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

    def forbid(self, place: Place, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        doubtful = among(row, self._tokens.doubtful(place, row))
        read = ((i, self._follower.read(place, self._tokens.token(i))) for i in doubtful)
        clear(row, [token_id for token_id, after in read if after is None])


class BothKeepers:
    """Keeps names distinct by one keeper and elements by another; a place is one of each."""

    def __init__(self, names: Keeper, elements: Keeper) -> None:
        self.start = (names.start, elements.start)
        self._both = (names, elements)

    def read(self, place: tuple[Any, Any], data: bytes) -> tuple[Any, Any] | None:
        """Go on with the bytes of an id; None if one of the keepers does not."""
        names, elements = (
            keeper.read(at, data) for keeper, at in zip(self._both, place, strict=True)
        )
        return None if names is None or elements is None else (names, elements)

    def forbid(self, place: tuple[Any, Any], row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        for keeper, at in zip(self._both, place, strict=True):
            keeper.forbid(at, row)


class ElementKeeper:
    """Keeps elements of any kind distinct, in one text, with fuel of its own.

    Args:
        ways: to the arrays.
        shapes: of their elements.
        doubts: of the vocabulary.
        risky: for each kind of element, the ids that may end it behind a comma.

    """

    def __init__(
        self, ways: Ways, shapes: ElementShapes, doubts: Doubts, risky: Mapping[ValueId, Row]
    ) -> None:
        self.start = SPOT
        self._fuel = Fuel()
        self._elements = Elements(ways.tracks, shapes, self._fuel)
        self._doubts = DoubtsOf(doubts, self._elements, risky)

    def read(self, place: Spot, data: bytes) -> Spot | None:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        self._fuel.fill()
        return self._elements.read(place, data)

    def forbid(self, place: Spot, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        self._fuel.fill()
        self._doubts.forbid(place, row)


def keepers(
    ways: Ways, tokens: Callable[[], Tokens], doubts: Callable[[], Doubts]
) -> Callable[[], Keeper]:
    """Prepare what the texts of a grammar share, and give what makes a keeper for each.

    Args:
        ways: to the arrays and objects of the grammar.
        tokens: gives the vocabulary as a keeper of strings needs it.
        doubts: gives it as a keeper of any elements needs it.

    """
    languages = ways.languages
    if languages is not None:
        # What it looks at hardly grows with a text.
        strings = StringKeeper(Follower(ways.tracks, languages), tokens())
        return lambda: strings
    elements = _element_keepers(ways, doubts())
    if not ways.has_names:
        return elements
    names = StringKeeper(Follower(ways.tracks, {}), tokens())
    return lambda: BothKeepers(names, elements())


def _element_keepers(ways: Ways, doubts: Doubts) -> Callable[[], ElementKeeper]:
    """Prepare what the texts of a grammar share, and give what makes a keeper for each."""
    shapes = ElementShapes(ways.definitions, ways.bare)
    elements = Elements(ways.tracks, shapes, endless())
    risky = {element: doubts.risky(elements, element) for element in ways.elements}
    return partial(ElementKeeper, ways, shapes, doubts, risky)
