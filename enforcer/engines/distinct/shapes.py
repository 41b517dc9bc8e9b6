"""The values that elements are made of, in a form that texts can be read along.

Owns: how the part of a finished grammar that elements need is asked while a text is read along it,
and which of its values are endless. Must not know: how it travels, texts, ids, engines.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from enforcer.budget.arrays import Arrays
from enforcer.budget.objects import Objects
from enforcer.engines.distinct.number_completions import Few
from enforcer.regex import NOTHING, minimal_automaton
from enforcer.regex.minimal_automaton import State
from enforcer.schema.finishing.distinct import bare_states, is_remembered
from enforcer.schema.finishing.infinite import is_vast
from enforcer.schema.grammar import (
    NEVER,
    ArrayShape,
    Value,
    ValueId,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from enforcer.budget.objects import Pair
    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex

_T = TypeVar("_T")
_MANY_NUMBERS = 10**7  # more than the elements of any text
_FAR = 10**15
_LEAST_WIDTH = Fraction(1, 10**6)


class ElementShapes:
    """Values by number, each with its shapes; see `enforcer.budget.steps.Shapes`.

    Every value costs one: what the shapes are asked is only whether something is missing.

    Args:
        definitions: the values that elements reach, themselves included.
        bare: what is written without quotes of each, words and numbers, as automata; built from
            the definitions if it is not given.

    Attributes:
        few: numbers that have been listed.

    """

    final = True

    def __init__(
        self,
        definitions: Mapping[ValueId, Value],
        bare: Mapping[ValueId, Regex] | None = None,
    ) -> None:
        self._definitions = definitions
        self.few = Few()
        self.bare: Mapping[ValueId, Regex] = (
            _Lazy(definitions, lambda value: minimal_automaton.read(bare_states(value)))
            if bare is None
            else bare
        )
        self.objects: Mapping[ValueId, tuple[Objects, ...]] = _Lazy(
            definitions, lambda value: tuple(Objects(self, x) for x in value.objects)
        )
        self.arrays: Mapping[ValueId, tuple[Arrays, ...]] = _Lazy(
            definitions, lambda value: tuple(Arrays(self, x) for x in value.arrays)
        )

    @property
    def definitions(self) -> Mapping[ValueId, Value]:
        """What each number stands for."""
        return self._definitions

    def behind(self, bare: Regex, char: str) -> Regex:
        """Give what may follow one more character of what is written without quotes."""
        return bare.behind(char) if isinstance(bare, State) else NOTHING

    def reach(self, _: Regex, *, quoted: bool = True) -> int:  # noqa: ARG002
        """Bound nothing: no end is asked for."""
        return 0

    def lives(self, value: ValueId) -> bool:
        """Tell whether anything fits a value."""
        return value != NEVER and value in self._definitions

    def cost(self, value: ValueId) -> float:  # noqa: ARG002
        """Count every value as one."""
        return 1

    def first(self, value: ValueId) -> bytes:
        """Give nothing: no end is asked for."""
        raise NotImplementedError(value)

    def pair(self, pair: Pair, *, comma: bool = False) -> float:  # noqa: ARG002
        """Count every property as one."""
        return 1

    @cached_property
    def finite(self) -> frozenset[ValueId]:
        """The values that can be listed; all others have more members than a text has elements.

        The least set that holds each whose parts it holds: what leads back to itself is endless.
        """
        found: set[ValueId] = set()
        grown = True
        while grown:
            more = {
                number
                for number, value in self._definitions.items()
                if number not in found and self._is_finite(value, found)
            }
            grown = bool(more)
            found |= more
        return frozenset(found)

    def _is_finite(self, value: Value, found: set[ValueId]) -> bool:
        def known(children: Iterable[ValueId]) -> bool:
            return all(child in found or not self.lives(child) for child in children)

        return (
            not any(map(_is_vast, value.numbers))
            and (value.strings is None or not is_vast(value.strings))
            and all(
                known(child for _, child in shape.names)
                and not any(self.lives(child) for _, child in shape.classes)
                for shape in value.objects
            )
            and all(
                known(_elements(array))
                and (
                    array.maximum is not None
                    or bool(array.choices)
                    or is_remembered(array)
                    or not self.lives(array.rest)
                )
                for array in value.arrays
            )
        )


def _elements(array: ArrayShape) -> tuple[ValueId, ...]:
    """List the values of all elements that there may be."""
    if array.choices:
        return tuple(choice.value for slot in array.choices for choice in slot)
    every = (*array.prefix, array.rest)
    return every if array.maximum is None else every[: array.maximum]


class _Lazy(dict[ValueId, _T]):
    """What is made of each value when it is first asked for."""

    def __init__(self, definitions: Mapping[ValueId, Value], make: Callable[[Value], _T]) -> None:
        super().__init__()
        self._from = definitions
        self._make = make

    def __missing__(self, number: ValueId) -> _T:
        found = self[number] = self._make(self._from[number])
        return found


def _is_vast(numbers: NumberSet) -> bool:
    """Tell whether a set has more members than a text has elements."""
    low, high, multiple = numbers.low, numbers.high, numbers.multiple
    if (low is not None and low > _FAR) or (high is not None and high < -_FAR):
        return False  # where texts end
    if multiple is not None:
        if multiple > 1:
            return (low is None or high is None) and multiple < _MANY_NUMBERS
        return low is None or high is None or (high - low) / multiple > _MANY_NUMBERS
    if low is None or high is None:
        return True
    return high - low > _LEAST_WIDTH * max(Fraction(1), abs(low), abs(high))
