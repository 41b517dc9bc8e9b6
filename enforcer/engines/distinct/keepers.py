"""Two ways to keep elements distinct: one for strings, one for elements of any kind.

Strings need no shapes, and what is left of their language is quickly told. Names of objects are
strings.

Owns: what an engine's matcher asks of either. Must not know: engines, how texts are followed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.engines.distinct.element_follower import START as FIRST_SPOT
from enforcer.engines.distinct.element_follower import ElementFollower
from enforcer.engines.distinct.element_tokens import ElementMask
from enforcer.engines.distinct.fuel import Fuel, unlimited
from enforcer.engines.distinct.shapes import ElementShapes
from enforcer.engines.distinct.string_follower import START, StringFollower
from enforcer.engines.mask_rows import among, clear

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from enforcer.engines.distinct.element_places import Spot
    from enforcer.engines.distinct.element_tokens import ElementTokens
    from enforcer.engines.distinct.string_follower import Place
    from enforcer.engines.distinct.string_tokens import StringTokens
    from enforcer.engines.distinct.uniqueness import Uniqueness
    from enforcer.engines.keeper import Keeper
    from enforcer.regex import Regex
    from enforcer.schema.finishing.tracks import Track
    from enforcer.schema.grammar import ValueId

    Row = npt.NDArray[np.int32]


class StringKeeper(StringFollower):
    """Keeps elements distinct that all are strings."""

    start = START

    def __init__(
        self, tracks: Sequence[Track], languages: Mapping[ValueId, Regex], tokens: StringTokens
    ) -> None:
        super().__init__(tracks, languages)
        self._tokens = tokens

    def forbid(self, place: Place, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        doubtful = among(row, np.array([*self._tokens.doubtful(place, row)], np.int64)).tolist()
        read = ((i, self.read(place, self._tokens.token(i))) for i in doubtful)
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
        uniqueness: where the arrays are.
        shapes: of their elements.
        tokens: of the vocabulary.
        risky: for each kind of element, the ids that may end it behind a comma.

    """

    def __init__(
        self,
        uniqueness: Uniqueness,
        shapes: ElementShapes,
        tokens: ElementTokens,
        risky: Mapping[ValueId, Row],
    ) -> None:
        self.start = FIRST_SPOT
        self._fuel = Fuel()
        self._elements = ElementFollower(uniqueness.tracks, shapes, self._fuel)
        self._mask = ElementMask(tokens, self._elements, risky)

    def read(self, place: Spot, data: bytes) -> Spot | None:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        self._fuel.fill()
        return self._elements.read(place, data)

    def forbid(self, place: Spot, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        self._fuel.fill()
        self._mask.forbid(place, row)


def keepers(
    uniqueness: Uniqueness,
    string_tokens: Callable[[], StringTokens],
    element_tokens: Callable[[], ElementTokens],
) -> Callable[[], Keeper]:
    """Prepare what the texts of a grammar share, and give what makes a keeper for each.

    Args:
        uniqueness: what has to be distinct in texts of the grammar.
        string_tokens: gives the vocabulary as a keeper of strings needs it.
        element_tokens: gives it as a keeper of any elements needs it.

    """
    languages = uniqueness.languages
    if languages is not None:
        # What it looks at hardly grows with a text.
        strings = StringKeeper(uniqueness.tracks, languages, string_tokens())
        return lambda: strings
    elements = _element_keepers(uniqueness, element_tokens())
    if not uniqueness.has_names:
        return elements
    names = StringKeeper(uniqueness.tracks, {}, string_tokens())
    return lambda: BothKeepers(names, elements())


def _element_keepers(uniqueness: Uniqueness, tokens: ElementTokens) -> Callable[[], ElementKeeper]:
    """Prepare what the texts of a grammar share, and give what makes a keeper for each."""
    shapes = ElementShapes(uniqueness.definitions, uniqueness.bare)
    elements = ElementFollower(uniqueness.tracks, shapes, unlimited())
    risky = {element: tokens.risky(elements, element) for element in uniqueness.elements}
    return partial(ElementKeeper, uniqueness, shapes, tokens, risky)
