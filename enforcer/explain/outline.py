"""A schema, ready for words about texts, and what of it a place in a text stands for.

Owns: finding the values of the grammar that are at a place, and where in the schema they come from.
Must not know: words, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.budget.frames import InArray, InName, InObject
from enforcer.regex import fullmatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.budget.arrays import Arrays
    from enforcer.budget.frames import Thread
    from enforcer.budget.objects import Objects
    from enforcer.budget.shortest import Shortest
    from enforcer.schema.grammar import ValueId
    from enforcer.schema.provenance import Provenance, Sources


@dataclass(frozen=True, slots=True)
class Outline:
    """A schema, ready for words about texts.

    Attributes:
        what: what such a text is, as `the arguments of "get_weather"`.
        plan: follows texts.
        provenance: where in the schema values come from.
        distinct: the arrays whose elements have to differ, of which the plan knows nothing: the
            numbers of their values, and their places in these.

    """

    what: str
    plan: Shortest
    provenance: Provenance
    distinct: tuple[tuple[ValueId, int], ...] = ()

    def differs(self, array: Arrays) -> bool:
        """Tell whether the elements of an array of the plan have to differ."""
        return any(array is self.plan.arrays[number][at] for number, at in self.distinct)

    def levels(
        self, path: Sequence[str | int], inside: Sequence[InObject | InArray]
    ) -> list[tuple[tuple[ValueId, ...], Sources]]:
        """Give the values that stand at each step of a path, and their sources.

        Args:
            path: from the outermost value of a text to a place in it.
            inside: what a reading of the text stands in there, see `containers`.

        """
        numbers: tuple[ValueId, ...] = (self.plan.grammar.root,)
        sources = self.provenance.root
        found = [(numbers, sources)]
        for i, (key, frame) in enumerate(zip(path, inside, strict=False)):
            numbers = _children(frame, key)
            if i + 1 < len(inside):
                inner = inside[i + 1].plan
                numbers = tuple(n for n in numbers if self._has(n, inner))
            sources = self.provenance.below(sources, key, numbers)
            found.append((numbers, sources))
        return found

    def _has(self, number: ValueId, plan: Objects | Arrays) -> bool:
        return any(plan is each for each in self.plan.objects[number]) or any(
            plan is each for each in self.plan.arrays[number]
        )


def containers(thread: Thread) -> list[InObject | InArray]:
    """Give the objects and arrays that one reading of a text stands in, from the outermost."""
    found: list[InObject | InArray] = []
    at: Thread | None = thread
    while at is not None:
        around = at.frame.before if isinstance(at.frame, InName) else at.frame
        if isinstance(around, InObject | InArray):
            found.append(around)
        at = at.outer
    return found[::-1]


def _children(frame: InObject | InArray, key: str | int) -> tuple[ValueId, ...]:
    if isinstance(frame, InObject):
        if frame.pair is not None:
            return (frame.pair.value,)
        plan, name = frame.plan, str(key)
        if name in plan.index:
            return (plan.names[plan.index[name]][1],)
        return tuple(value for regex, value in plan.classes if fullmatch(regex, name))
    shape, at = frame.plan.shape, int(key)
    if shape.choices:
        choices = shape.choices[min(at, len(shape.choices) - 1)]
        return tuple(dict.fromkeys(choice.value for choice in choices))
    return (shape.prefix[at] if at < len(shape.prefix) else shape.rest,)
