"""Where a text has arrays whose elements must be kept distinct, by names and indices.

Owns: the tracks of a finished grammar. A track is a way (`ways`), and says what has to be kept
distinct there; a grammar in which the path does not tell is refused. Must not know: keywords'
syntax, engines, how texts are followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.schema.finishing.distinct import (
    Mixed,
    bare_key,
    bare_states,
    is_remembered,
    is_text,
    obstacle,
    reached,
)
from enforcer.schema.finishing.ways import (
    Leads,
    TooManyWays,
    leading,
    ways,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.schema.finishing.ways import Way
    from enforcer.schema.grammar import Value, ValueId

_MOST_TRACKS = 5_000
_ALL_NUMBERS = 4_000  # of all of them together
_TWO = 2  # elements that can be equal
_NUMEROUS = (
    "the elements have more kinds of numbers than can be followed; give them the same bounds, or "
    "drop `uniqueItems`"
)


@dataclass(frozen=True, slots=True)
class Track:
    """What is known of a value by the way that leads to it.

    Attributes:
        element: the value of the elements, if it is an array whose elements must differ.
        leads: the tracks of its parts.

    """

    element: ValueId | None = None
    leads: Leads = field(default_factory=Leads)


def tracks(definitions: Mapping[ValueId, Value], root: ValueId) -> tuple[Track, ...]:
    """Follow all ways from the root to arrays of distinct elements.

    Returns:
        Tracks; `NOWHERE` and `ROOT` are indices of them. None at all if there are no such
        arrays and objects.

    Raises:
        Mixed: a way leads to such an array or to another, or to objects that rule names out.

    """
    arrays = [shape for value in definitions.values() for shape in value.arrays]
    kept = [shape for shape in arrays if is_remembered(shape)]
    if not kept:
        return ()
    try:
        found = ways(definitions, root, _MOST_TRACKS)
    except TooManyWays:
        raise Mixed(kept) from None
    elements = [_element(way, definitions) for way in found]
    every = {
        definitions[each] for x in elements if x is not None for each in reached(definitions, x)
    }
    automata = {bare_key(value): len(bare_states(value)) for value in every}
    if sum(automata.values()) > _ALL_NUMBERS:
        raise Mixed((x for x in kept if not is_text(definitions[x.rest])), _NUMEROUS)
    relevant = leading(found, (at for at, element in enumerate(elements) if element is not None))
    return tuple(
        Track(elements[at], way.leads.among(relevant)) if at in relevant else Track()
        for at, way in enumerate(found)
    )


def _element(way: Way, definitions: Mapping[ValueId, Value]) -> ValueId | None:
    arrays = [
        shape
        for value in way.values
        for shape in value.arrays
        if shape.maximum is None or shape.maximum >= _TWO
    ]
    kept = [shape for shape in arrays if is_remembered(shape)]
    if not kept:
        return None
    elements = {shape.rest for shape in kept}
    if len(kept) < len(arrays) or len(elements) > 1:
        raise Mixed(kept)
    element = elements.pop()
    if is_text(definitions[element]):
        return element
    for each in reached(definitions, element):
        reason = obstacle(definitions[each])
        if reason is not None:
            raise Mixed(kept, reason)
    return element
