"""Object shapes that differ only in which properties must or must not be there.

Owns: merging such shapes, which `oneOf`, `anyOf` over `required`, `dependentRequired` and the
like produce by the hundred, into one shape with several terms. Where they differ in the
values of a name too, each cell of its values (see `cells`) counts as a property of its own.
Must not know: engines.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from enforcer.schema.finishing.factoring import factored
from enforcer.schema.grammar import NEVER
from enforcer.schema.limits import BITS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from enforcer.schema.grammar import ObjectShape, ValueId

    # A name and one of the values that its property may have.
    Property = tuple[str, ValueId]
    Cells = Mapping[tuple[str, ValueId], tuple[ValueId, ...]]

_MOST_TERMS = 200
_MOST_TERMS_OF_CELLS = 1_000
_MOST_PROPERTIES = BITS - 4  # that can be told apart where they decide
_MOST_CONDITIONS = 60_000  # a second to compile


@dataclass(frozen=True, slots=True)
class Term:
    """What must hold together.

    Attributes:
        required: properties that must be present.
        forbidden: properties that must not.
        some: sets of properties, of each of which one must be present.

    """

    required: frozenset[Property]
    forbidden: frozenset[Property] = frozenset()
    some: frozenset[frozenset[Property]] = frozenset()

    @property
    def properties(self) -> frozenset[Property]:
        """All properties that matter."""
        return self.required.union(self.forbidden, *self.some)

    def implies(self, other: Term) -> bool:
        """Tell whether whatever fits this term fits the other."""
        return (
            other.required <= self.required
            and other.forbidden <= self.forbidden
            and all(x in self.some or not x.isdisjoint(self.required) for x in other.some)
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """A shape whose `required` is replaced by terms, one of which must hold.

    Its `names` may hold a name several times, with values of which none fits two.
    """

    shape: ObjectShape
    terms: tuple[Term, ...]


@dataclass(slots=True)
class _Group:
    """Shapes that can be one, and the values that each name has in them."""

    members: list[ObjectShape] = field(default_factory=list)
    values: dict[str, dict[ValueId, None]] = field(default_factory=dict)


def merge(shapes: Sequence[ObjectShape], cells: Cells) -> list[Merged]:
    """Merge shapes where that is exact; others come back alone.

    Args:
        shapes: alternatives.
        cells: for a name and a value, the disjoint ones that make it up, the same
            for all values of one name.

    """
    if len(shapes) == 1:
        return [_alone(shapes[0])]
    out = [_alone(shape) for shape in shapes if not can_join(shape)]
    groups: list[_Group] = []
    for shape in filter(can_join, shapes):
        _place(groups, shape, cells)
    for group in groups:
        merged = _merged(group, cells)
        if merged is None:
            out.extend(merge(group.members, {}))
        else:
            out.append(merged)
    return out


def stays_above(shapes: Sequence[ObjectShape], count: int) -> bool:
    """Tell whether more shapes are left than some, where they are merged without cells."""
    groups: list[_Group] = []
    for shape in filter(can_join, shapes):
        _place(groups, shape, {})
        if len(groups) > count:
            return True
    return False


def can_join(shape: ObjectShape) -> bool:
    """Tell whether a shape may become one with others."""
    apart = shape.minimum or shape.maximum is not None or shape.witnesses
    return not (apart or shape.distinct_names)


def _place(groups: list[_Group], shape: ObjectShape, cells: Cells) -> None:
    if not any(_joins(group, shape, cells) for group in groups):
        groups.append(_Group())
        _joins(groups[-1], shape, cells)


def _alone(shape: ObjectShape) -> Merged:
    values = dict(shape.names)
    required = frozenset((name, values[name]) for name in shape.required)
    some = frozenset(frozenset((name, values[name]) for name in clause) for clause in shape.some)
    return Merged(shape, (Term(required, some=some),))


def _joins(group: _Group, shape: ObjectShape, cells: Cells) -> bool:
    """Take a shape into a group; False, the group unchanged, if it does not fit in."""
    if not group.members:
        group.members.append(shape)
        group.values = {name: _only(value) for name, value in shape.names}
        return True
    first = group.members[0]
    most = _MOST_TERMS_OF_CELLS if cells else _MOST_TERMS
    if len(group.members) >= most or shape.classes != first.classes:
        return False
    own = dict(shape.names)
    joined: dict[str, dict[ValueId, None]] = {}
    for name in {**group.values, **own}:
        found = group.values.get(name)
        if found is None:
            found = _only(first.child(name))
        value = own[name] if name in own else shape.child(name)
        joined[name] = {**found, **_only(value)}
        if len(joined[name]) > 1 and not all((name, each) in cells for each in joined[name]):
            return False
    group.values = joined
    group.members.append(shape)
    return True


def _only(value: ValueId) -> dict[ValueId, None]:
    return {} if value == NEVER else {value: None}


def _merged(group: _Group, cells: Cells) -> Merged | None:
    """Make one shape of a group; None if that is too much to tell apart by cells."""
    # For each name its properties, and which of them a value stands for.
    parts = {
        name: {
            value: tuple((name, x) for x in (cells[name, value] if len(values) > 1 else (value,)))
            for value in values
        }
        for name, values in group.values.items()
    }
    properties = [
        each
        for name, split in parts.items()
        for each in dict.fromkeys(x for found in split.values() for x in found) or ((name, NEVER),)
    ]
    found = dict.fromkeys(_term(shape, parts) for shape in group.members)
    terms = [term for term in found if frozenset() not in term.some]
    kept = _weakest(terms)
    times = Counter(name for name, _ in properties)
    split = {each for each in properties if times[each[0]] > 1}
    if split:
        deciding = split.union(*(term.properties for term in kept))
        if len(deciding) > _MOST_PROPERTIES or _weight(kept, deciding) > _MOST_CONDITIONS:
            return None
    shape = replace(
        group.members[0], names=tuple(properties), required=frozenset(), some=frozenset()
    )
    return Merged(shape, tuple(kept))


def _weakest(terms: Sequence[Term]) -> list[Term]:
    """Leave out those that imply another; they are different."""
    # Each pair is looked at: a bit for each property makes that cheap.
    bits: dict[Property, int] = {}
    for term in terms:
        for each in term.required | term.forbidden:
            bits.setdefault(each, 1 << len(bits))
    needs = [
        (sum(bits[x] for x in term.required), sum(bits[x] for x in term.forbidden))
        for term in terms
    ]
    kept = []
    for i, (required, forbidden) in enumerate(needs):
        other, more = ~required, ~forbidden
        weaker = [j for j, (own, none) in enumerate(needs) if not (own & other or none & more)]
        if not any(terms[i].implies(terms[j]) for j in weaker if j != i):
            kept.append(terms[i])
    return kept


def _weight(terms: Sequence[Term], properties: Collection[Property]) -> int:
    """Estimate how many conditions a rule has: each property asks what is still possible."""
    numbers = {each: str(i) for i, each in enumerate(properties)}
    possible = factored(frozenset(numbers[x] for x in term.forbidden) for term in terms)
    return len(properties) * (possible.count(",") + 1)


def _term(shape: ObjectShape, parts: Mapping[str, Mapping[ValueId, tuple[Property, ...]]]) -> Term:
    required: set[Property] = set()
    forbidden: set[Property] = set()
    some: set[frozenset[Property]] = set()
    allowed: dict[str, tuple[Property, ...]] = {}
    own = dict(shape.names)
    for name, split in parts.items():
        value = own[name] if name in own else shape.child(name)
        allowed[name] = split.get(value, ())
        for found in split.values():
            forbidden.update(found)
        forbidden.difference_update(allowed[name])
    for clause in [*(frozenset([name]) for name in shape.required), *shape.some]:
        options = frozenset(each for name in clause for each in allowed[name])
        if len(options) == 1:
            required.update(options)
        else:
            some.add(options)
    # Without what follows from the rest, no two terms imply each other.
    open_clauses = frozenset(clause for clause in some if required.isdisjoint(clause))
    return Term(frozenset(required), frozenset(forbidden), open_clauses)
