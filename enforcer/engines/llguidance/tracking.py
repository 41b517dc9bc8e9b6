"""What an object's rules keep in llguidance's parameter: 64 bits.

Owns: which properties and counts have a bit, how a property changes the parameter, and the
conditions on it. Must not know: how rules, names and values are written.

Required names come first, then witnesses, then the other declared names, then bits that
undeclared properties set one after the other where they are counted. So a count is a number of
bits set. A name with several kinds of values that decide has a bit for each. An optional name
without a bit may repeat, which no validator notices: each value on its own fits.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from enforcer.errors import UnsupportedSchema
from enforcer.schema.finishing.factoring import factored, nested
from enforcer.schema.grammar import NEVER
from enforcer.schema.limits import BITS

if TYPE_CHECKING:
    from enforcer.schema.finishing.presence import Merged, Property, Term
    from enforcer.schema.grammar import ObjectShape


@dataclass(frozen=True, slots=True)
class Way:
    """One way to go on: symbols, and what the name is tracked by."""

    name: str
    value: str
    declared: Property | None = None
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tracking:
    """What the bits of the parameter stand for.

    Attributes:
        bits: bit of each tracked property.
        witnesses: bits of the witnesses, which have to be set at the end.
        others: bits that undeclared properties set, one each, in this order.
        counted: range of the bits, or of the number, of properties not required.
        by_number: whether that range holds a number instead of a set of bits.
        least: least count.
        most: greatest count; None where there is none.
        terms: properties that must or must not be there; one term has to hold.

    """

    bits: dict[Property, int]
    witnesses: tuple[int, ...]
    others: tuple[int, ...]
    counted: tuple[int, int]
    by_number: bool
    least: int
    most: int | None
    terms: tuple[Term, ...]

    @property
    def counts(self) -> bool:
        """Whether properties are counted at all."""
        return self.least > 0 or self.most is not None


def plan(merged: Merged) -> Tracking:
    """Say what each bit stands for.

    Raises:
        UnsupportedSchema: there are too few.

    """
    shape, terms = merged.shape, merged.terms
    declared = [each for each in shape.names if each[1] != NEVER]
    required = [each for each in declared if each in terms[0].required]
    bits = {each: i for i, each in enumerate(required)}
    bit = len(required)
    witnesses = tuple(range(bit, bit + len(shape.witnesses)))
    bit = first = bit + len(witnesses)
    least = max(shape.minimum - len(required), 0)
    most = None if shape.maximum is None else shape.maximum - len(required)
    is_open = any(value != NEVER for _, value in shape.classes)
    times = Counter(name for name, _ in declared)
    deciding = {each for each in declared if times[each[0]] > 1}
    deciding.update(*(term.properties for term in terms))
    optional = [each for each in declared if each not in bits]
    optional.sort(key=lambda each: each not in deciding)
    needed = sum(each in deciding for each in optional)
    extra = 0
    if is_open:
        # Reaching a least count of one takes a single bit, however many set it.
        from_below = least if shape.distinct_names else min(least, 1)
        extra = most if most is not None else from_below
    by_number = most is not None and first + len(optional) + extra > BITS
    if by_number:
        # The number saturates when all its bits are set, above what is compared.
        extra = max(least, (most or 0) + 1).bit_length()
    room = BITS - extra
    closed_count = least > 0 and not is_open and not by_number
    if first + needed > room:
        refuse_width(shape)
    if closed_count and first + len(optional) > room:
        refuse_width(shape, "minProperties")
    if not by_number:
        for each in optional[: room - first]:
            bits[each] = first + len(bits) - len(required)
    bit = first + len(bits) - len(required)
    return Tracking(
        bits,
        witnesses,
        () if by_number else tuple(range(bit, bit + extra)),
        (bit if by_number else first, bit + extra),
        by_number,
        least,
        most,
        terms,
    )


def moves(kept: Tracking, each: Way) -> list[tuple[str, list[str]]]:
    """List how a property may change the parameter, and under which conditions."""
    conditions = _viable(kept, each)
    low, high = kept.counted
    required = each.declared in kept.terms[0].required
    if kept.most is not None and not required and low < high:
        compare = "lt" if kept.by_number else "bit_count_lt"
        conditions.append(f"{compare}([{low}:{high}], {kept.most})")
    if each.declared in kept.bits:
        absent = [
            f"bit_clear({bit})" for (name, _), bit in kept.bits.items() if name == each.declared[0]
        ]
        return [(f"set_bit({kept.bits[each.declared]})", [*absent, *conditions])]
    if kept.by_number:
        return [(f"incr([{low}:{high}])", conditions)]
    if kept.most is None and len(kept.others) <= 1:
        return [(_setting((*each.marks, *kept.others)), conditions)]
    found = []
    if kept.most is None:  # more than have to be
        found.append((_setting(each.marks), [f"bit_set({kept.others[-1]})", *conditions]))
    for i, bit in enumerate(kept.others):
        order = [f"bit_set({kept.others[i - 1]})"] if i else []
        found.append((_setting((*each.marks, bit)), [f"bit_clear({bit})", *order, *conditions]))
    return found


def done(kept: Tracking) -> list[str]:
    """Return the conditions under which the object may end."""
    bits = kept.bits
    if len(kept.terms) == 1 and kept.terms[0].properties == kept.terms[0].required:
        must = len(kept.terms[0].required) + len(kept.witnesses)
        conditions = [all_set(must)] if must else []
    else:
        conditions = [f"is_ones([{bit}:{bit + 1}])" for bit in kept.witnesses]
        options = factored(
            frozenset(
                [
                    *(f"bit_set({bits[each]})" for each in term.required),
                    *(f"bit_clear({bits[each]})" for each in term.forbidden),
                    *(
                        nested("or", sorted(f"bit_set({bits[each]})" for each in clause))
                        for clause in term.some
                    ),
                ]
            )
            for term in kept.terms
        )
        if options:
            conditions.append(options)
    if kept.least and kept.counted[0] < kept.counted[1]:
        low, high = kept.counted
        compare = "ge" if kept.by_number else "bit_count_ge"
        conditions.append(f"{compare}([{low}:{high}], {kept.least})")
    return conditions


def _viable(kept: Tracking, each: Way) -> list[str]:
    """Return the conditions under which the object can be completed after a property."""
    if not any(term.forbidden for term in kept.terms):
        return []
    # What is missing can always be added, so only what is forbidden matters.
    clear = {x: f"bit_clear({bit})" for x, bit in kept.bits.items()}
    options = factored(
        frozenset(map(clear.__getitem__, term.forbidden))
        for term in kept.terms
        if each.declared not in term.forbidden
    )
    return [options] if options else []


def _setting(bits: tuple[int, ...]) -> str:
    return f"bit_or({sum(1 << bit for bit in bits):#x})" if bits else "_"


def all_set(count: int) -> str:
    """Give the condition that so many of the first bits are set."""
    return "bit_set(0)" if count == 1 else f"is_ones([0:{count}])"


def refuse_width(shape: ObjectShape, keyword: str = "required") -> NoReturn:
    """Refuse a shape that needs more bits than there are."""
    raise UnsupportedSchema.of(
        shape.path,
        keyword,
        f"at most {BITS} properties on which it depends whether an object is "
        "complete can be tracked; make some optional, or group them into "
        "objects of their own",
    )


def guard(conditions: list[str]) -> str:
    """Give conditions, all of which must hold, as what follows an alternative."""
    return f" %if {nested('and', conditions)}" if conditions else ""
