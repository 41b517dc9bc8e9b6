"""Keepers of elements of any kind, one for each text.

Owns: what a matcher asks of one. Must not know: engines, how texts are followed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from enforcer.engines.distinct.element_follower import START as FIRST_SPOT
from enforcer.engines.distinct.element_follower import ElementFollower
from enforcer.engines.distinct.element_tokens import ElementMask
from enforcer.engines.distinct.fuel import Fuel, unlimited
from enforcer.engines.distinct.shapes import ElementShapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines.distinct.element_places import Spot
    from enforcer.engines.distinct.element_tokens import ElementTokens
    from enforcer.engines.distinct.uniqueness import Uniqueness
    from enforcer.schema.grammar import ValueId

    Row = npt.NDArray[np.int32]


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


def keepers(uniqueness: Uniqueness, tokens: ElementTokens) -> Callable[[], ElementKeeper]:
    """Prepare what the texts of a grammar share, and return what makes a keeper for each."""
    shapes = ElementShapes(uniqueness.definitions, uniqueness.bare)
    elements = ElementFollower(uniqueness.tracks, shapes, unlimited())
    risky = {element: tokens.risky(elements, element) for element in uniqueness.elements}
    return partial(ElementKeeper, uniqueness, shapes, tokens, risky)
