"""Where a text has arrays or objects that must be kept distinct, by names and indices.

Owns: the tracks of a finished grammar. A track is a way (`ways`), and says what has to be kept
distinct there; a grammar in which the path does not tell is refused. Must not know: keywords'
syntax, engines, how texts are followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.regex import ANY, either, literal
from enforcer.schema.finishing.distinct import (
    ENTANGLED,
    Mixed,
    bare_key,
    bare_states,
    is_bounded,
    is_remembered,
    is_text,
    obstacle,
    reached,
    remembered,
)
from enforcer.schema.finishing.infinite import can_be_explored, stays_infinite
from enforcer.schema.finishing.presence import can_join
from enforcer.schema.finishing.ways import (
    Leads,
    TooManyWays,
    leading,
    values_of,
    ways,
)
from enforcer.schema.grammar import NEVER, ObjectShape
from enforcer.schema.limits import BITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.regex import Regex
    from enforcer.schema.finishing.ways import Parts, Way
    from enforcer.schema.grammar import Value, ValueId

_MOST_TRACKS = 5_000
_ALL_NUMBERS = 4_000  # of all of them together
_TWO = 2  # elements that can be equal
_NUMEROUS = (
    "the elements have more kinds of numbers than can be followed; give them the same bounds, or "
    "drop `uniqueItems`"
)
_MIXED_NAMES = (
    "what is said of undeclared or of so many required properties depends on other parts of the "
    "text; say it in one place, declare fewer names beside it, or leave out their greatest length"
)


@dataclass(frozen=True, slots=True)
class Track:
    """What is known of a value by the way that leads to it.

    Attributes:
        element: the value of the elements, if it is an array whose elements must differ.
        unrepeated: if it is an object whose names must differ, the language of all of them;
            where some fresh name is left behind any beginning of one, `ANY` will do.
        leads: the tracks of its parts.

    """

    element: ValueId | None = None
    unrepeated: Regex | None = None
    leads: Leads = field(default_factory=Leads)


def tracks(definitions: Mapping[ValueId, Value], root: ValueId) -> tuple[Track, ...]:
    """Follow all ways from the root to arrays of distinct elements.

    Returns:
        Tracks; `NOWHERE` and `ROOT` are indices of them. None at all if there are no such
        arrays and objects.

    Raises:
        Mixed: a way leads to such an array or to another, or to objects that rule names out.

    """
    kept = [shape for value in definitions.values() for shape in remembered(value)]
    if not kept:
        return ()
    try:
        found = ways(definitions, root, _MOST_TRACKS)
    except TooManyWays:
        raise Mixed(kept) from None
    elements = [_element(way, definitions) for way in found]
    unrepeated = [_unrepeated(way.objects, way.parts) for way in found]
    every = {
        definitions[each] for x in elements if x is not None for each in reached(definitions, x)
    }
    automata = {bare_key(value): len(bare_states(value)) for value in every}
    if sum(automata.values()) > _ALL_NUMBERS:
        arrays = (x for x in kept if not isinstance(x, ObjectShape))
        raise Mixed((x for x in arrays if not is_text(definitions[x.rest])), _NUMEROUS)
    asked = zip(elements, unrepeated, strict=True)
    relevant = leading(found, (at for at, what in enumerate(asked) if what != (None, None)))
    return tuple(
        Track(elements[at], unrepeated[at], way.leads.among(relevant))
        if at in relevant
        else Track()
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
        if not is_bounded(definitions[element]):
            raise Mixed(kept, ENTANGLED)
        return element
    for each in reached(definitions, element):
        reason = obstacle(definitions[each])
        if reason is not None:
            raise Mixed(kept, reason)
    return element


def _unrepeated(objects: list[ObjectShape], parts: Parts) -> Regex | None:
    """Give the names that may not be written twice here, if that has to be kept.

    A text must not come to where only used names could follow. Grammars let no name be written
    twice that they have a bit for; behind any beginning of another one there are fresh names, if
    that is so of every object that there may be. Where there is one alone, with more names than
    bits, it is known which are left.
    """
    kept = [shape for shape in objects if shape.distinct_names]
    if not kept:
        return None
    joined = [shape for shape in objects if can_join(shape)]
    if all(map(_has_bits, objects)) and _have_bits(joined, parts):
        return ANY
    others = [names for names, value in kept[0].classes if value != NEVER]
    if len(set(objects)) > 1 or not all(map(can_be_explored, others)):
        raise Mixed(kept, _MIXED_NAMES)
    return either(*(literal(name) for name, value in kept[0].names if value != NEVER), *others)


def _has_bits(shape: ObjectShape) -> bool:
    """Tell whether every declared name has a bit, and others never run out."""
    usable = [names for names, value in shape.classes if value != NEVER]
    counted = len(shape.witnesses) + (shape.minimum if shape.maximum is None else shape.maximum)
    return len(shape.names) + counted <= BITS and all(map(stays_infinite, usable))


def _have_bits(joined: list[ObjectShape], parts: Parts) -> bool:
    """Tell whether all the properties of objects that become one have a bit each."""
    names = {name for shape in joined for name, value in shape.names if value != NEVER}
    if len(names) > BITS:
        return False
    values = {
        (name, value)
        for name in names
        for value in values_of(joined, name, parts)
        if value != NEVER
    }
    return len(values) <= BITS
