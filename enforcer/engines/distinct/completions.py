"""How a value that has been begun may be completed, listed as far as anyone asks.

To know whether a text can still become an element that is not there yet, its completions are listed
until one is found that is not: at most one more than there are elements. `MANY` stands for those of
a part that has infinitely many (an open object, a string of any kind), or more than any text has
elements: then there is always a new one, and nothing else need be listed.

Owns: listing the members of values, and the completions of texts, so that no two are equal but for
numbers. Must not know: ids, which elements are there already.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.budget.frames import InObject, Phase, rest_of
from enforcer.budget.objects import Pair
from enforcer.engines.distinct.number_completions import numbers
from enforcer.engines.distinct.values import Object
from enforcer.regex import NOTHING
from enforcer.schema.finishing.distinct import is_remembered
from enforcer.schema.finishing.infinite import is_vast, moves

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from enforcer.budget.arrays import Arrays, Place
    from enforcer.budget.frames import InName
    from enforcer.engines.distinct.fuel import Fuel
    from enforcer.engines.distinct.shapes import ElementShapes
    from enforcer.engines.distinct.values import Json
    from enforcer.partial import Partial
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ValueId


class Many:
    """More values than any text has elements, no two of them equal."""

    def __repr__(self) -> str:
        return "MANY"


MANY = Many()


def _following(regex: Regex) -> Iterator[tuple[str, Regex]]:
    """List the next characters, each with what may follow it."""
    return ((char, after) for members, after in moves(regex) for char in members)


def texts(regex: Regex, fuel: Fuel) -> Iterator[str]:
    """List the members of a finite language, depth first."""
    if regex.nullable:
        yield ""
    stack = [_following(regex)]
    text: list[str] = []
    while stack:
        move = next(stack[-1], None)
        if move is None:
            stack.pop()
            if text:
                text.pop()
            continue
        fuel.burn(1)
        char, after = move
        text.append(char)
        if after.nullable:
            yield "".join(text)
        stack.append(_following(after))


def strings(regex: Regex, start: str, partial: Partial, fuel: Fuel) -> Iterator[str | Many]:
    """List the strings that begin with some characters and a part of another one."""
    if not partial.pending:
        if is_vast(regex):
            yield MANY
        else:
            yield from (start + text for text in texts(regex, fuel))
        return
    for members, after in moves(regex):
        common = members & partial.characters
        if common and is_vast(after):
            yield MANY
            return
        for char in common:
            yield from (start + char + text for text in texts(after, fuel))


class Completions:
    """Lists members and completions along the shapes of elements."""

    def __init__(self, shapes: ElementShapes, fuel: Fuel) -> None:
        self._shapes = shapes
        self._fuel = fuel

    def members(self, number: ValueId) -> Iterator[Json | Many]:
        """List the members of a value."""
        shapes = self._shapes
        self._fuel.burn(1)
        if number not in shapes.finite:
            yield MANY
            return
        yield from numbers(shapes.bare[number], "", shapes.few, self._fuel)
        value = shapes.definitions[number]
        if value.strings is not None:
            yield from texts(value.strings, self._fuel)
        for array in shapes.arrays[number]:
            yield from self.elements(array, array.start, frozenset())
        for plan in shapes.objects[number]:
            for others in self.properties(InObject(plan)):
                yield others if isinstance(others, Many) else Object(others)

    def elements(
        self, plan: Arrays, at: Place, taken: Container[Json], *, more: bool = False
    ) -> Iterator[tuple[Json, ...] | Many]:
        """List what an array may still have.

        Args:
            plan: its shape.
            at: where in it the text is.
            taken: elements that it has, if all have to differ.
            more: whether another element has to follow.

        """
        self._fuel.burn(1)
        if self._goes_on(plan, at):
            yield MANY
            return
        if not more and plan.rest(at, comma=False) == 1:
            yield ()
        distinct = is_remembered(plan.shape)
        for value, after in plan.steps(at):
            for member in self.members(value):
                if isinstance(member, Many):
                    yield MANY
                    return
                if distinct and member in taken:
                    continue
                then = With(taken, member) if distinct else taken
                for rest in self.elements(plan, after, then):
                    yield rest if isinstance(rest, Many) else (member, *rest)

    def _goes_on(self, plan: Arrays, at: Place) -> bool:
        """Tell whether an array may go on in infinitely many ways."""
        shape, shapes = plan.shape, self._shapes
        if shape.choices or not isinstance(at, int):
            return False
        maximum, finite = shape.maximum, shapes.finite
        if maximum is not None and at >= maximum:
            return False
        ahead = [*shape.prefix[at:maximum]]
        if maximum is None or maximum > max(at, len(shape.prefix)):
            ahead.append(shape.rest)
            if maximum is None and shapes.lives(shape.rest) and not is_remembered(shape):
                return True
        return any(shapes.lives(value) and value not in finite for value in ahead)

    def properties(
        self, frame: InObject, *, more: bool = False
    ) -> Iterator[dict[str, Json] | Many]:
        """List what an object may still have; `more` if another property has to follow."""
        plan, shape = frame.plan, frame.plan.shape
        free = [i for i in range(len(plan.names)) if not frame.seen >> i & 1]
        must = frozenset(name for name in shape.required if not _has(frame, name))
        count = frame.seen.bit_count() + len(frame.extras)
        room = None if shape.maximum is None else shape.maximum - count
        spare = room is None or room > len(must)
        if room is not None and room < len(must):
            return
        if plan.classes and spare:
            yield MANY
            return
        finite = self._shapes.finite
        usable = [plan.names[i] for i in free if spare or plan.names[i][0] in must]
        if any(value not in finite for _, value in usable):
            yield MANY
            return
        if not must <= {name for name, _ in usable}:
            return
        clauses = [x for x in shape.some if not any(_has(frame, name) for name in x)]
        least = max(shape.minimum - count, len(must), int(more))
        yield from self._chosen(usable, 0, {}, (must, clauses, least, room))

    def _chosen(
        self,
        usable: list[tuple[str, ValueId]],
        at: int,
        chosen: dict[str, Json],
        wanted: tuple[frozenset[str], list[frozenset[str]], int, int | None],
    ) -> Iterator[dict[str, Json]]:
        self._fuel.burn(1)
        must, clauses, least, room = wanted
        possible = {*chosen, *(name for name, _ in usable[at:])}
        most = len(possible) if room is None else room
        still = sum(name not in chosen for name in must)
        if (
            min(len(possible), most) < least
            or len(chosen) + still > most
            or any(possible.isdisjoint(clause) for clause in clauses)
        ):
            return
        if at == len(usable):
            yield chosen
            return
        name, value = usable[at]
        for member in self.members(value):
            if not isinstance(member, Many):  # none of these is endless
                yield from self._chosen(usable, at + 1, {**chosen, name: member}, wanted)
        if name not in must:
            yield from self._chosen(usable, at + 1, chosen, wanted)

    def named(self, frame: InName) -> Iterator[tuple[str, InObject] | Many]:
        """List the names that one may become, and the place behind each."""
        before, plan = frame.before, frame.before.plan
        for name in plan.beginning(frame.text):
            index = plan.index.get(name)
            if index is None or before.seen >> index & 1:
                continue
            if rest_of(frame.partial, name[len(frame.text) :]) is not None:
                yield name, replace(before, phase=Phase.NAMED, pair=Pair(index, *plan.names[index]))
        for rest, (_, value) in zip(frame.rests, plan.classes, strict=True):
            if rest == NOTHING:
                continue
            for other in strings(rest, frame.text, frame.partial, self._fuel):
                if isinstance(other, Many):
                    yield MANY
                    return
                if other not in plan.declared:
                    pair = Pair(None, other, value)
                    yield other, replace(before, phase=Phase.NAMED, pair=pair)


def _has(frame: InObject, name: str) -> bool:
    index = frame.plan.index.get(name)
    return index is not None and bool(frame.seen >> index & 1)


class With:
    """Elements and one more."""

    __slots__ = ("_last", "_others")

    def __init__(self, others: Container[Json], last: Json) -> None:
        self._others = others
        self._last = last

    def __contains__(self, value: object) -> bool:
        return value == self._last or value in self._others
