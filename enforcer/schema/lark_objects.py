"""Objects as rules for llguidance, their properties in any order.

Owns: which declared names are tracked by a bit of the rule's parameter, so that none
repeats and every required one occurs, and the counter for the rest. Must not know:
values other than by their symbol.

A parameter has 64 bits. Names on which completeness depends come first, then
witnesses, then a counter, then as many optional names as there are bits left. An optional
name without a bit may repeat, which no validator notices: each value on its own fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.regex import ANY, both, either, inverse, literal
from enforcer.schema.nodes import NEVER
from enforcer.schema.presence import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.regex import Regex
    from enforcer.schema.lark import Writer
    from enforcer.schema.nodes import ObjectShape
    from enforcer.schema.presence import Merged, Term

_BITS = 64


@dataclass(frozen=True, slots=True)
class _Property:
    """One way to go on: symbols, and what the name is tracked by."""

    name: str
    value: str
    declared: str | None = None
    marks: tuple[int, ...] = ()
    counted: bool = False


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the bits of the parameter stand for.

    Attributes:
        bits: bit of each tracked name.
        must: bits `[bits_of_names, …)` of witnesses, which have to be set at the end.
        counter: range of bits that counts properties that are not required.
        least: least count.
        most: greatest count; None where there is none.
        terms: names that must or must not be there; one term has to hold.

    """

    bits: dict[str, int]
    witnesses: tuple[int, ...]
    counter: tuple[int, int] | None
    least: int
    most: int | None
    terms: tuple[Term, ...]


class Objects:
    """Writes the rules of object shapes."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._counting: dict[str, str] = {}
        self._others: dict[tuple[Regex, tuple[str, ...]], str] = {}

    def rules(self, shapes: Sequence[ObjectShape]) -> list[str]:
        """Return the rules of shapes, fewer than those where some can be merged."""
        return [self._rule(merged) for merged in merge(shapes)] if shapes else []

    def _rule(self, merged: Merged) -> str:
        layout = self._plan(merged)
        properties = self._properties(merged.shape, layout)
        if not layout.bits and not layout.witnesses and layout.counter is None:
            return self._plain(properties, at_least_one=layout.least > 0)
        return self._tracked(layout, properties)

    def _plan(self, merged: Merged) -> _Layout:
        shape, terms = merged.shape, merged.terms
        declared = [name for name, value in shape.names if value != NEVER]
        deciding = {name for term in terms for name in (*term.required, *term.forbidden)}
        first = [name for name in declared if name in deciding]
        first.sort(key=lambda name: name not in terms[0].required)
        bits = {name: i for i, name in enumerate(first)}
        bit = len(first)
        witnesses = tuple(range(bit, bit + len(shape.witnesses)))
        bit += len(witnesses)
        required = len(terms[0].required)
        least = max(shape.minimum - required, 0)
        most = None if shape.maximum is None else shape.maximum - required
        counter = None
        if (least and (required or least > 1)) or most is not None:
            # The counter saturates when all its bits are set, above what is compared.
            width = max(least, (most or 0) + 1).bit_length()
            counter = (bit, bit + width)
            bit += width
        optional = [name for name in declared if name not in bits]
        if bit > _BITS or (least > 1 and bit + len(optional) > _BITS):
            raise UnsupportedSchema(
                (
                    Problem(
                        shape.path,
                        "required",
                        f"at most {_BITS} required properties of one object can be tracked, "
                        "counts included; make some optional, or group them into objects",
                    ),
                )
            )
        bits.update(zip(optional, range(bit, _BITS), strict=False))
        return _Layout(bits, witnesses, counter, least, most, terms)

    def _properties(self, shape: ObjectShape, layout: _Layout) -> list[_Property]:
        writer, counted = self._writer, layout.counter is not None
        properties = [
            _Property(
                writer.string(literal(name)),
                writer.value(value),
                name,
                counted=counted and name not in layout.terms[0].required,
            )
            for name, value in shape.names
            if value != NEVER
        ]
        names = tuple(name for name, _ in shape.names)
        properties.extend(
            _Property(self._undeclared(regex, names), writer.value(value), counted=counted)
            for regex, value in shape.classes
            if value != NEVER
        )
        properties.extend(
            _Property(
                self._undeclared(mark.names, names),
                writer.value(mark.value),
                marks=tuple(layout.witnesses[i] for i in mark.hits),
                counted=counted,
            )
            for mark in shape.marks
        )
        return properties

    def _pair(self, each: _Property) -> str:
        return self._writer.rule(f"{each.name} COLON {each.value}", "p")

    def _undeclared(self, regex: Regex, names: tuple[str, ...]) -> str:
        """Return the terminal of the names in a class that are not declared."""
        key = (regex, names)
        if key not in self._others:
            if names:
                known = inverse(either(*(literal(name) for name in names)))
                regex = known if regex == ANY else both(regex, known)
            self._others[key] = self._writer.string(regex)
        return self._others[key]

    def _plain(self, properties: list[_Property], *, at_least_one: bool) -> str:
        if not properties:
            return self._writer.rule("OPEN_OBJECT CLOSE_OBJECT", "o")
        pairs = " | ".join(dict.fromkeys(map(self._pair, properties)))
        pair = pairs if len(properties) == 1 else self._writer.rule(pairs, "q")
        optional = "" if at_least_one else "?"
        return self._writer.rule(
            f"OPEN_OBJECT ({pair} (COMMA {pair})*){optional} CLOSE_OBJECT", "o"
        )

    def _tracked(self, layout: _Layout, properties: list[_Property]) -> str:
        writer = self._writer
        first, more = writer.fresh("m"), writer.fresh("m")
        done = _if(self._done(layout))
        loose = [x for x in properties if x.declared not in layout.bits and not x.marks]
        # Pairs that change no bit form a left-recursive list, so that a long object does
        # not nest as deep as it is long.
        gap = ""
        if loose and layout.counter is None:
            pairs = writer.rule(" | ".join(dict.fromkeys(map(self._pair, loose))), "q")
            gap = f"(COMMA {pairs})* "
        start, rest = [], [f"{gap}CLOSE_OBJECT{done}"]
        if not layout.least:
            start.append(f"CLOSE_OBJECT{done}")
        for each in properties:
            condition = _if(self._condition(layout, each))
            going_on = self._going_on(each, more, layout)
            start.append(f"{going_on}{condition}")
            if not gap or each not in loose:
                rest.append(f"{gap}COMMA {going_on}{condition}")
        writer.line(f"{first}::_ : " + "\n  | ".join(start))
        writer.line(f"{more}::_ : " + "\n  | ".join(rest))
        return writer.rule(f"OPEN_OBJECT {first}::0", "o")

    def _going_on(self, each: _Property, more: str, layout: _Layout) -> str:
        """Return a pair and what follows it, with the parameter changed on the way."""
        bit = layout.bits.get(each.declared) if each.declared is not None else None
        bits = (*(() if bit is None else (bit,)), *each.marks)
        change = f"bit_or({sum(1 << bit for bit in bits):#x})" if bits else "_"
        if not each.counted or layout.counter is None:
            return f"{self._pair(each)} {more}::{change}"
        low, high = layout.counter
        # One function is allowed at a time, so the counter has a rule of its own. Without
        # a condition llguidance would inline that rule and lose one of the functions.
        key = f"{more}::incr([{low}:{high}]) %if ge([{low}:{high}], 0)"
        if key not in self._counting:
            self._counting[key] = self._writer.fresh("m")
            self._writer.line(f"{self._counting[key]}::_ : {key}")
        return f"{self._pair(each)} {self._counting[key]}::{change}"

    @staticmethod
    def _done(layout: _Layout) -> list[str]:
        """Return the conditions under which the object may end."""
        bits = layout.bits
        if len(layout.terms) == 1 and not layout.terms[0].forbidden:
            must = len(layout.terms[0].required) + len(layout.witnesses)
            conditions = [f"is_ones([0:{must}])"] if must else []
        else:
            conditions = [f"is_ones([{bit}:{bit + 1}])" for bit in layout.witnesses]
            options = [
                _all(
                    [
                        *(f"bit_set({bits[name]})" for name in sorted(term.required)),
                        *(f"bit_clear({bits[name]})" for name in sorted(term.forbidden)),
                    ]
                )
                for term in layout.terms
            ]
            if all(options):
                conditions.append(_nested("or", options))
        if layout.counter is not None and layout.least:
            conditions.append(f"ge([{layout.counter[0]}:{layout.counter[1]}], {layout.least})")
        return conditions

    @staticmethod
    def _condition(layout: _Layout, each: _Property) -> list[str]:
        """Return the conditions under which a property may follow and be completed."""
        conditions, name = [], each.declared
        if name in layout.bits:
            conditions.append(f"bit_clear({layout.bits[name]})")
        if any(term.forbidden for term in layout.terms):
            # Some term must still be able to hold: what is missing can always be added.
            options = [
                _all([f"bit_clear({layout.bits[x]})" for x in sorted(term.forbidden)])
                for term in layout.terms
                if name not in term.forbidden
            ]
            if all(options):
                conditions.append(_nested("or", options))
        if each.counted and layout.counter is not None and layout.most is not None:
            conditions.append(f"lt([{layout.counter[0]}:{layout.counter[1]}], {layout.most})")
        return conditions


def _if(conditions: list[str]) -> str:
    return f" %if {_all(conditions)}" if conditions else ""


def _all(conditions: list[str]) -> str:
    return _nested("and", conditions) if conditions else ""


def _nested(operator: str, conditions: list[str]) -> str:
    """Join conditions by an operator of two operands, balanced to stay shallow."""
    conditions = list(dict.fromkeys(conditions))
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    left, right = _nested(operator, conditions[:half]), _nested(operator, conditions[half:])
    return f"{operator}({left}, {right})"
