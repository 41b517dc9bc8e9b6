"""The parts of a finished grammar that a place in a text may have to fit.

Must not know: words, engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from enforcer.numbers.doubles import exact
from enforcer.numbers.sets import contains
from enforcer.regex import fullmatch
from enforcer.schema.grammar import NEVER, ArgumentGrammar, ArrayShape, ObjectShape, Value, ValueId

if TYPE_CHECKING:
    from enforcer.schema.provenance import Provenance, Sources
    from enforcer.tools.explain.cursor import Container

    Shape = ArrayShape | ObjectShape


@dataclass(frozen=True, slots=True)
class Outline:
    """A schema, ready for words about texts.

    Attributes:
        what: such a text is, as `the arguments of "get_weather"`.
        grammar: of the texts.
        provenance: where in the schema values come from.

    """

    what: str
    grammar: ArgumentGrammar
    provenance: Provenance

    def shapes(self, inside: Sequence[Container]) -> list[tuple[Shape, Sources]]:
        """Return the shapes that the innermost container may have, with their sources.

        A shape that does not fit the complete members is left out.
        """
        shapes: list[tuple[Shape, Sources]] = []
        for depth, container in enumerate(inside):
            values = self.values(shapes, inside[depth - 1].key)
            shapes = [
                (shape, sources)
                for value, sources in (values if depth else self.whole)
                for shape in _shapes(value, container.members)
            ]
            if len(shapes) > 1:  # one alone is the one that the engine follows
                with suppress(RecursionError):  # members that are nested too deeply
                    live = [each for each in shapes if self._holds(each[0], container.members)]
                    shapes = live or shapes
        return shapes

    @property
    def whole(self) -> list[tuple[Value, Sources]]:
        """The value of a whole text."""
        return [(self.grammar.definitions[self.grammar.root], self.provenance.root)]

    def values(
        self, shapes: Iterable[tuple[Shape, Sources]], key: str | int | None
    ) -> list[tuple[Value, Sources]]:
        """Return the values that a member of a container may have, with their sources."""
        found: dict[tuple[ValueId, tuple[str, ...]], Sources] = {}
        if key is not None:
            for shape, sources in shapes:
                for number in _children(shape, key):
                    below = self.provenance.below(sources, key, (number,))
                    found.setdefault((number, below.paths), below)
        return [(self.grammar.definitions[number], below) for (number, _), below in found.items()]

    def _holds(self, shape: Shape, members: dict[str, Any] | list[Any]) -> bool:
        keyed = members.items() if isinstance(members, dict) else enumerate(members)
        return all(
            any(self._fits(number, member) for number in _children(shape, key))
            for key, member in keyed
        )

    def _fits(self, number: ValueId, data: Any) -> bool:
        value = self.grammar.definitions[number]
        if isinstance(data, str):
            return value.strings is not None and fullmatch(value.strings, data)
        if isinstance(data, dict | list):
            return any(
                shape.minimum <= len(data)
                and (shape.maximum is None or len(data) <= shape.maximum)
                and (isinstance(shape, ArrayShape) or shape.required <= {*data})
                and self._holds(shape, data)
                for shape in _shapes(value, data)
            )
        if data is None or isinstance(data, bool):
            return value.null if data is None else data in value.booleans
        return abs(data) == inf or any(contains(each, exact(data)) for each in value.numbers)


def _shapes(value: Value, members: dict[str, Any] | list[Any]) -> Sequence[Shape]:
    return value.objects if isinstance(members, dict) else value.arrays


def _children(shape: Shape, key: str | int) -> Iterable[ValueId]:
    if not isinstance(shape, ArrayShape):
        child = shape.child(str(key))
        return () if child == NEVER else (child,)
    at = int(key)
    if not shape.choices:
        return (shape.child(at),)
    choices = shape.choices[min(at, len(shape.choices) - 1)]
    return dict.fromkeys(choice.value for choice in choices)
