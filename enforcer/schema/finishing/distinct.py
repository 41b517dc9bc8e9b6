"""Arrays whose elements must differ and are more than bits can tell apart.

Owns: which of them can be kept distinct by whoever follows a text with a memory, which is outside
of any grammar: all strings, and at every place of a text it must be plain, from the names and the
indices that lead there, whether the array is one of those. Such an array stays `unique` in a
finished grammar, without choices. Must not know: keywords' syntax, engines, how texts are followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from enforcer.regex.derivative import successors
from enforcer.regex.syntax import names_in
from enforcer.schema.algebra.objects import child_of
from enforcer.schema.nodes import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from enforcer.regex import Regex
    from enforcer.schema.nodes import ArrayShape, Formula, ObjectShape, Value

_MOST_TRACKS = 5_000
_MOST_STATES = 200  # of a language that only exploring tells what is left of
_TWO = 2  # elements that can be equal
_MIXED = (
    "whether the elements of this array have to be distinct depends on other parts of the text; "
    "say `uniqueItems` in all alternatives, or in none"
)
_ENTANGLED = (
    "which of these strings are left when some are used cannot be followed; write a simpler "
    "pattern for the elements, or drop `uniqueItems`"
)


@dataclass(frozen=True, slots=True)
class Track:
    """What is known of a value by the way that leads to it.

    Attributes:
        distinct: the language of the elements, if it is an array whose elements must differ.
        prefix: tracks of the first elements of an array.
        rest: that of all further elements.
        names: tracks of properties by declared name.
        others: that of all other properties.

    """

    distinct: Regex | None = None
    prefix: tuple[int, ...] = ()
    rest: int = 0
    names: tuple[tuple[str, int], ...] = ()
    others: int = 0


NOWHERE = 0  # the track of values that have no such array in them


class Mixed(Exception):  # noqa: N818 - carries what is wrong to the compiler, never leaves it
    """Arrays of distinct elements that cannot be told from others, or not be kept so.

    Attributes:
        shapes: those arrays.
        reason: why.

    """

    def __init__(self, shapes: Iterable[ArrayShape], reason: str = _MIXED) -> None:
        self.shapes = tuple(shapes)
        self.reason = reason
        super().__init__(self.shapes, reason)


def is_remembered(shape: ArrayShape) -> bool:
    """Tell whether an array of a finished grammar is for whoever follows a text to keep."""
    return shape.unique and not shape.choices


def can_be_remembered(value: Value) -> bool:
    """Tell whether elements of a value grammar can be kept distinct: a language of strings."""
    others = value.null or value.booleans or value.numbers or value.arrays or value.objects
    return value.strings is not None and not others


def _is_bounded(strings: Regex) -> bool:
    """Tell whether it costs little to find out what is left of a language."""
    if not strings.boolean:
        return True
    seen = {strings}
    queue = [strings]
    for state in queue:
        if len(seen) > _MOST_STATES or any(names_in(state)):
            return False
        fresh = [after for _, after in successors(state) if after not in seen]
        seen.update(fresh)
        queue.extend(fresh)
    return True


def tracks(definitions: Mapping[Formula, Value], root: Formula) -> tuple[Track, ...]:
    """Follow all ways from the root to arrays of distinct elements.

    Returns:
        Tracks; the first is `NOWHERE`, the second the root's. None at all if there are no such
        arrays.

    Raises:
        Mixed: a way leads to such an array or to another.

    """
    kept = [x for value in definitions.values() for x in value.arrays if is_remembered(x)]
    if not kept:
        return ()
    numbers: dict[frozenset[Formula], int] = {}
    order: list[frozenset[Formula]] = []

    def number(formulas: Iterable[Formula]) -> int:
        key = frozenset(f for f in formulas if f != NEVER and f in definitions)
        if not key:
            return NOWHERE
        if key not in numbers:
            if len(order) > _MOST_TRACKS:
                raise Mixed(kept)
            order.append(key)
            numbers[key] = len(order)
        return numbers[key]

    number((root,))
    found = [Track()]
    for key in order:
        values = [definitions[f] for f in sorted(key)]
        found.append(_track(values, definitions, number))
    return _relevant(found)


def _track(
    values: list[Value],
    definitions: Mapping[Formula, Value],
    of: Callable[[Iterable[Formula]], int],
) -> Track:
    arrays = [
        shape
        for value in values
        for shape in value.arrays
        if shape.maximum is None or shape.maximum >= _TWO
    ]
    distinct = _distinct(arrays, definitions)
    length = max((len(x.choices) - 1 if x.choices else len(x.prefix) for x in arrays), default=0)
    every = [shape for value in values for shape in value.arrays]
    at = [of(f for shape in every for f in _elements(shape, i)) for i in range(length + 1)]
    objects = [shape for value in values for shape in value.objects]
    parts = {(name, whole): pieces for value in values for (name, whole), pieces in value.cells}
    names = {name for shape in objects for name, _ in shape.names}
    return Track(
        distinct,
        tuple(at[:-1]),
        at[-1],
        tuple(
            (name, of(f for shape in objects for f in _properties(shape, name, parts)))
            for name in sorted(names)
        ),
        of(
            f
            for shape in objects
            for f in (*(x for _, x in shape.classes), *(mark.value for mark in shape.marks))
        ),
    )


def _distinct(arrays: list[ArrayShape], definitions: Mapping[Formula, Value]) -> Regex | None:
    kept = [shape for shape in arrays if is_remembered(shape)]
    if not kept:
        return None
    languages = {definitions[shape.rest].strings for shape in kept}
    if len(kept) < len(arrays) or len(languages) > 1:
        raise Mixed(kept)
    language = languages.pop()
    if language is None or not _is_bounded(language):
        raise Mixed(kept, _ENTANGLED)
    return language


def _elements(shape: ArrayShape, index: int) -> Iterable[Formula]:
    if shape.choices:
        return (choice.value for choice in shape.choices[min(index, len(shape.choices) - 1)])
    return (shape.prefix[index] if index < len(shape.prefix) else shape.rest,)


def _properties(
    shape: ObjectShape, name: str, parts: Mapping[tuple[str, Formula], tuple[Formula, ...]]
) -> Iterable[Formula]:
    whole = child_of(shape, name)
    return (whole, *parts.get((name, whole), ()))


def _relevant(found: list[Track]) -> tuple[Track, ...]:
    """Leave out what leads to no such array."""
    leading: set[int] = {i for i, track in enumerate(found) if track.distinct is not None}
    grown = True
    while grown:
        more = {
            i
            for i, track in enumerate(found)
            if not leading.isdisjoint(
                (*track.prefix, track.rest, track.others, *(n for _, n in track.names))
            )
        }
        grown = not more <= leading
        leading |= more

    def kept(number: int) -> int:
        return number if number in leading else NOWHERE

    return tuple(
        Track(
            track.distinct,
            tuple(map(kept, track.prefix)),
            kept(track.rest),
            tuple((name, kept(number)) for name, number in track.names),
            kept(track.others),
        )
        if i in leading
        else Track()
        for i, track in enumerate(found)
    )


def forgotten(
    definitions: dict[Formula, Value], shapes: Iterable[ArrayShape]
) -> dict[Formula, Value]:
    """Return the definitions with arrays of these shapes whose elements may be equal."""
    dropped = set(shapes)
    return {
        formula: replace(
            value,
            arrays=tuple(
                replace(shape, unique=False) if shape in dropped else shape
                for shape in value.arrays
            ),
        )
        if not dropped.isdisjoint(value.arrays)
        else value
        for formula, value in definitions.items()
    }
