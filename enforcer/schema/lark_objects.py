"""Objects as rules for llguidance, their properties in any order.

Owns: which declared names are tracked by a bit of the rule's parameter, so that none
repeats and every required one occurs, and the counter for the rest. Must not know:
values other than by their symbol.

A parameter has 64 bits. Required names come first, then witnesses, then a counter, then
as many optional names as there are bits left; an optional name without a bit may repeat,
which no validator notices, since each value on its own fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.regex import ANY, both, either, inverse, literal
from enforcer.schema.nodes import NEVER

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema.lark import Writer
    from enforcer.schema.nodes import ObjectShape

_BITS = 64


@dataclass(frozen=True, slots=True)
class _Property:
    """One way to go on: `pair` is a symbol, the rest is what its name is tracked by."""

    pair: str
    bit: int | None = None
    marks: tuple[int, ...] = ()
    counted: bool = False


@dataclass(frozen=True, slots=True)
class _Layout:
    """Bits of the parameter: `[0:must)` required and witnesses, then a counter."""

    must: int
    counter: tuple[int, int] | None
    least: int
    most: int | None


class Objects:
    """Writes the rules of object shapes."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._others: dict[tuple[Regex, tuple[str, ...]], str] = {}

    def rule(self, shape: ObjectShape) -> str:
        """Return the rule of a shape."""
        layout, properties = self._plan(shape)
        if not any(each.bit is not None or each.marks for each in properties) and (
            layout.counter is None
        ):
            return self._plain(properties)
        return self._tracked(layout, properties)

    def _plan(self, shape: ObjectShape) -> tuple[_Layout, list[_Property]]:
        declared = [name for name, value in shape.names if value != NEVER]
        required = [name for name in declared if name in shape.required]
        optional = [name for name in declared if name not in shape.required]
        must = len(required) + len(shape.witnesses)
        least = max(shape.minimum - len(required), 0)
        most = None if shape.maximum is None else shape.maximum - len(required)
        counter = None
        bit = must
        if least or most is not None:
            # The counter saturates when all its bits are set, above what is compared.
            width = max(least, (most or 0) + 1).bit_length()
            counter = (bit, bit + width)
            bit += width
        if must > _BITS or bit > _BITS or (least and bit + len(optional) > _BITS):
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
        bits = {name: i for i, name in enumerate(required)}
        for name in optional:
            if bit < _BITS:
                bits[name] = bit
                bit += 1
        values = dict(shape.names)
        properties = [
            _Property(
                self._pair(self._writer.string(literal(name)), values[name]),
                bits.get(name),
                counted=counter is not None and name not in shape.required,
            )
            for name in declared
        ]
        names = tuple(name for name, _ in shape.names)
        for regex, value in shape.classes:
            if value != NEVER:
                terminal = self._undeclared(regex, names)
                if terminal is not None:
                    properties.append(
                        _Property(self._pair(terminal, value), counted=counter is not None)
                    )
        for mark in shape.marks:
            terminal = self._undeclared(mark.names, names)
            if terminal is not None:
                bits_of = tuple(len(required) + i for i in mark.hits)
                properties.append(
                    _Property(self._pair(terminal, mark.value), None, bits_of, counter is not None)
                )
        return _Layout(must, counter, least, most), properties

    def _pair(self, name: str, value: int) -> str:
        return self._writer.rule(f"{name} COLON {self._writer.value(value)}", "p")

    def _undeclared(self, regex: Regex, names: tuple[str, ...]) -> str | None:
        """Return the terminal of the names in a class that are not declared."""
        key = (regex, names)
        if key not in self._others:
            if names:
                known = either(*(literal(name) for name in names))
                regex = inverse(known) if regex == ANY else both(regex, inverse(known))
            self._others[key] = self._writer.string(regex)
        return self._others[key]

    def _plain(self, properties: list[_Property]) -> str:
        if not properties:
            return self._writer.rule("OPEN_OBJECT CLOSE_OBJECT", "o")
        pairs = " | ".join(dict.fromkeys(each.pair for each in properties))
        pair = pairs if len(properties) == 1 else self._writer.rule(pairs, "q")
        return self._writer.rule(f"OPEN_OBJECT ({pair} (COMMA {pair})*)? CLOSE_OBJECT", "o")

    def _tracked(self, layout: _Layout, properties: list[_Property]) -> str:
        writer = self._writer
        first, more = writer.fresh("m"), writer.fresh("m")
        after = _Chains(writer, more, layout.counter)
        done = self._done(layout)
        loose = [each for each in properties if each.bit is None and not each.marks]
        # Pairs that change no bit form a left-recursive list, so that a long object does
        # not nest as deep as it is long.
        gap = ""
        if loose and layout.counter is None:
            pairs = writer.rule(" | ".join(dict.fromkeys(x.pair for x in loose)), "q")
            gap = f"(COMMA {pairs})* "
        start, rest = [f"CLOSE_OBJECT{done}"], [f"{gap}CLOSE_OBJECT{done}"]
        for each in properties:
            condition = self._condition(layout, each)
            target = after.target(each)
            start.append(f"{each.pair} {target}{condition}")
            if not gap or each not in loose:
                rest.append(f"{gap}COMMA {each.pair} {target}{condition}")
        writer.line(f"{first}::_ : " + "\n  | ".join(start))
        writer.line(f"{more}::_ : " + "\n  | ".join(rest))
        return writer.rule(f"OPEN_OBJECT {first}::0", "o")

    @staticmethod
    def _done(layout: _Layout) -> str:
        conditions = []
        if layout.must:
            conditions.append(f"is_ones([0:{layout.must}])")
        if layout.counter is not None and layout.least:
            conditions.append(f"ge([{layout.counter[0]}:{layout.counter[1]}], {layout.least})")
        return _if(conditions)

    @staticmethod
    def _condition(layout: _Layout, each: _Property) -> str:
        conditions = []
        if each.bit is not None:
            conditions.append(f"bit_clear({each.bit})")
        if each.counted and layout.counter is not None and layout.most is not None:
            conditions.append(f"lt([{layout.counter[0]}:{layout.counter[1]}], {layout.most})")
        return _if(conditions)


def _if(conditions: list[str]) -> str:
    if not conditions:
        return ""
    joined = conditions[0]
    for each in conditions[1:]:
        joined = f"and({joined}, {each})"
    return f" %if {joined}"


class _Chains:
    """Rules that change the parameter several times: one function is allowed at a time."""

    def __init__(self, writer: Writer, more: str, counter: tuple[int, int] | None) -> None:
        self._writer = writer
        self._more = more
        self._counter = counter
        self._made: dict[tuple[str, ...], str] = {}

    def target(self, each: _Property) -> str:
        """Return the symbol that follows a pair."""
        functions = [] if each.bit is None else [f"set_bit({each.bit})"]
        functions.extend(f"set_bit({mark})" for mark in each.marks)
        if each.counted and self._counter is not None:
            functions.append(f"incr([{self._counter[0]}:{self._counter[1]}])")
        return self._symbol(tuple(functions))

    def _symbol(self, functions: tuple[str, ...]) -> str:
        if len(functions) <= 1:
            return f"{self._more}::{functions[0] if functions else '_'}"
        rest = functions[1:]
        if rest not in self._made:
            self._made[rest] = self._writer.fresh("m")
            self._writer.line(f"{self._made[rest]}::_ : {self._symbol(rest)}")
        return f"{self._made[rest]}::{functions[0]}"
