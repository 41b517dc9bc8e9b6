"""Arrays whose elements must differ, and objects whose names must, beyond what bits can tell apart.

They can be kept distinct by whoever follows a text with a memory, which is outside of any grammar.
Such an array stays `unique` in a finished grammar, without choices; such an object has
`distinct_names`.

Owns: which these are, what elements they cannot have, since what one can still become must be
countable member by member, and doing without. Must not know: keywords' syntax, engines, the paths
of a text that lead there (`tracks`), how texts are followed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import NotSpellableError
from enforcer.regex import either, literal
from enforcer.regex.minimal_automaton import TooManyStates, minimal
from enforcer.schema.finishing.infinite import can_be_explored, is_infinite
from enforcer.schema.grammar import NEVER, ObjectShape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from enforcer.numbers.sets import NumberSet
    from enforcer.schema.grammar import ArrayShape, Value, ValueId

    _Bare = tuple[tuple[str, ...], tuple[NumberSet, ...]]

_MOST_NUMBERS = 2_000  # states of one type's numbers
_MOST_SHAPES = 24  # of one type, in one value
_MIXED = (
    "whether the elements of this array have to be distinct depends on other parts of the text; "
    "say `uniqueItems` in all alternatives, or in none"
)
_MANIFOLD = (
    "the elements have more alternatives than can be followed side by side; use fewer, or drop "
    "`uniqueItems`"
)
_DIVIDED = (
    "which of these numbers are left when some are used cannot be told; list them in an `enum`"
)
_COUNTED = "elements that hold arrays with `contains` cannot be kept unique; drop one of the two"
_WITNESSED = (
    "elements of which some undeclared property must have a certain value cannot be kept unique; "
    "declare the property"
)
_NAMED = (
    "how many undeclared names the elements may have cannot be told; declare the names, or give "
    "the pattern no greatest length"
)
_LIMITED = (
    "elements with undeclared names and `maxProperties` cannot be kept unique; declare the names, "
    "or drop one of the two"
)
_TALLIED = (
    "elements whose undeclared properties are counted cannot be kept unique; drop one of the two"
)
_ENTANGLED = (
    "which of these strings are left when some are used cannot be followed; write a simpler "
    "pattern for the elements, or drop `uniqueItems`"
)


class Mixed(Exception):  # noqa: N818 - carries what is wrong to the compiler, never leaves it
    """Arrays or objects that cannot be told from others, or not be kept distinct.

    Attributes:
        shapes: those arrays and objects.
        reason: why.

    """

    def __init__(self, shapes: Iterable[ArrayShape | ObjectShape], reason: str = _MIXED) -> None:
        self.shapes = tuple(shapes)
        self.reason = reason
        super().__init__(self.shapes, reason)


def is_remembered(shape: ArrayShape) -> bool:
    """Tell whether an array of a finished grammar is for whoever follows a text to keep."""
    return shape.unique and not shape.choices


def remembered(value: Value) -> list[ArrayShape | ObjectShape]:
    """List what of a value of a finished grammar is for whoever follows a text to keep."""
    if not (value.arrays or value.objects):
        return []
    arrays = [shape for shape in value.arrays if is_remembered(shape)]
    return [*arrays, *[shape for shape in value.objects if shape.distinct_names]]


def offence(shape: ArrayShape | ObjectShape) -> tuple[str, str]:
    """Give the path and the keyword that ask for a memory."""
    if not isinstance(shape, ObjectShape):
        return f"{shape.path}.uniqueItems", "uniqueItems"
    if shape.witnesses:
        return shape.witnesses[0].path, "not"
    return f"{shape.path}.minProperties", "minProperties"


def is_text(value: Value) -> bool:
    """Tell whether a value is a language of strings and nothing else."""
    others = value.null or value.booleans or value.numbers or value.arrays or value.objects
    return value.strings is not None and not others


def is_bounded(value: Value) -> bool:
    """Tell whether it costs little to find out what is left of the strings of a value."""
    return value.strings is None or can_be_explored(value.strings)


def reached(definitions: Mapping[ValueId, Value], number: ValueId) -> tuple[ValueId, ...]:
    """List all values that are part of one, itself first."""
    found = {number: None}
    queue = [number]
    for each in queue:
        fresh = [x for x in definitions[each].children() if x in definitions and x not in found]
        found.update(dict.fromkeys(fresh))
        queue.extend(fresh)
    return tuple(found)


def obstacle(value: Value) -> str | None:
    """Say what makes it hard to tell how many values begin like a text."""
    if not is_bounded(value):
        return _ENTANGLED
    if len(value.objects) > _MOST_SHAPES or len(value.arrays) > _MOST_SHAPES:
        return _MANIFOLD
    try:
        bare_states(value)
    except (NotSpellableError, TooManyStates):
        return _DIVIDED
    if any(array.choices and not array.unique for array in value.arrays):
        return _COUNTED
    for shape in value.objects:
        if shape.witnesses or shape.marks:
            return _WITNESSED
        if shape.distinct_names:
            return _TALLIED
        usable = [names for names, child in shape.classes if child != NEVER]
        if not all(map(is_infinite, usable)):
            return _NAMED
        if usable and shape.maximum is not None:
            return _LIMITED  # a name that is repeated counts twice, and its last value alone
    return None


def bare_states(value: Value) -> list[Any]:
    """Build the automaton of what is written without quotes of a value, words and numbers.

    Raises:
        NotSpellableError: a divisor that no expression holds.
        TooManyStates: it is too large.

    """
    return _bare_states(bare_key(value))


def bare_key(value: Value) -> _Bare:
    """Give what is written without quotes of a value."""
    return value.words, value.numbers


@lru_cache(maxsize=256)
def _bare_states(bare: _Bare) -> list[Any]:
    words, numbers = bare
    texts = either(*map(literal, words), *map(number_texts, numbers))
    return minimal(texts, _MOST_NUMBERS)


def forgotten(
    definitions: dict[ValueId, Value], shapes: Iterable[ArrayShape | ObjectShape]
) -> dict[ValueId, Value]:
    """Return the definitions with these shapes, but with nothing to remember of them."""
    dropped = set(shapes)
    return {
        number: value._replace(
            arrays=tuple(
                replace(shape, unique=False) if shape in dropped else shape
                for shape in value.arrays
            ),
            objects=tuple(
                _uncounted(shape) if shape in dropped else shape for shape in value.objects
            ),
        )
        if not dropped.isdisjoint((*value.arrays, *value.objects))
        else value
        for number, value in definitions.items()
    }


def _uncounted(shape: ObjectShape) -> ObjectShape:
    return replace(
        shape,
        minimum=min(shape.minimum, len(shape.required) + 1),
        witnesses=(),
        marks=(),
        distinct_names=False,
    )
