"""Objects as rules for llguidance, their properties in any order.

Owns: which declared names are tracked by a bit of the rule's parameter, so that none
repeats and every required one occurs, and how properties are counted with the same bits.
Must not know: values other than by their symbol, what names, brackets and commas look like
(`framing` does).

A parameter has 64 bits: required names first, then witnesses, then the other declared
names, then bits that undeclared properties set one after the other where they are
counted. So a count is a number of bits set. A name with several kinds of values that decide
has a bit for each. An optional name without a bit may repeat, which no validator notices:
each value on its own fits. Where no name can repeat, since somebody beside the engine keeps
them distinct, more required names than bits are a number.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.schema.finishing.factoring import factored, nested
from enforcer.schema.finishing.presence import merge
from enforcer.schema.limits import BITS
from enforcer.schema.nodes import NEVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines.llguidance.framing import Framing
    from enforcer.engines.llguidance.sheet import Sheet
    from enforcer.regex import Regex
    from enforcer.schema.finishing.presence import Cells, Merged, Property, Term
    from enforcer.schema.nodes import ObjectShape


@dataclass(frozen=True, slots=True)
class _Property:
    """One way to go on: symbols, and what the name is tracked by."""

    name: str
    value: str
    declared: Property | None = None
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Layout:
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


class Objects:
    """Writes the rules of object shapes.

    Args:
        sheet: what they are written on.
        framing: gives the symbols of all that an object has around its values.

    """

    def __init__(self, sheet: Sheet, framing: Framing) -> None:
        self._sheet = sheet
        self._framing = framing
        self._others: dict[tuple[Regex, tuple[str, ...]], str] = {}

    def bodies(self, shapes: Sequence[ObjectShape], cells: Cells) -> list[str]:
        """Return alternatives for shapes, fewer than those where some can be merged."""
        return [self._body(merged) for merged in merge(shapes, cells)] if shapes else []

    def _body(self, merged: Merged) -> str:
        shape, terms = merged.shape, merged.terms
        counts = shape.minimum or shape.maximum is not None or shape.witnesses
        is_usual = len(terms) == 1 and terms[0].properties == terms[0].required
        if shape.distinct_names and not counts:
            return self._tallied(shape)
        if is_usual and not counts and len(_names(shape)) == len(shape.names):
            return self._each_once(shape, frozenset(name for name, _ in terms[0].required))
        layout = self._plan(merged)
        properties = self._properties(shape, layout)
        if layout.most == 0 and not terms[0].required:
            properties = []
        counted = layout.most is not None or len(layout.others) > 1
        if not properties or not (layout.bits or layout.witnesses or counted):
            return self._plain(
                [self._pair(each) for each in properties], at_least_one=layout.least > 0
            )
        return self._tracked(layout, properties)

    def _each_once(self, shape: ObjectShape, required: frozenset[str]) -> str:
        """Write the usual object: declared properties at most once, no other condition.

        A rule for a property and one for what follows it call each other. Pairs that change
        no bit stand in a left-recursive list between the two, so that a long object does not
        nest as deep as it is long.
        """
        sheet, framing = self._sheet, self._framing
        opening, comma, closing = framing.opening, framing.comma, framing.closing
        declared = [
            (name, f"{framing.name(name)} {framing.value(name, value)}")
            for name, value in shape.names
            if value != NEVER
        ]
        names = [name for name, _ in declared]
        tracked = [name for name in names if name in required]
        must = len(tracked)
        tracked += [name for name in names if name not in required]
        if must > BITS:
            _refuse_width(shape)
        bits = {name: bit for bit, name in enumerate(tracked[:BITS])}
        untracked = [each for each in shape.names if each[1] != NEVER and each[0] not in bits]
        loose = self._alike(untracked)
        loose += [f"{symbol} {value}" for symbol, value in self._undeclared_of(shape)]
        if not bits:
            return self._plain(loose, at_least_one=False)
        if len(declared) == 1 and not loose:
            pair = declared[0][1]
            return f"{opening} {pair if must else f'({pair})?'} {closing}"
        first, more = sheet.fresh("m"), sheet.fresh("m")
        done = f"{closing}{_if([_all_set(must)] if must else [])}"
        start = [f"{opening} {first}::0"]
        if not must:
            start.append(f"{opening} {closing}")
        if loose:
            pair = loose[0] if len(loose) == 1 else sheet.rule("|".join(loose), "q")
            gap = sheet.rule(f"({comma} {pair})*", "g")
            start.append(f"{opening} {pair} {more}::0")
            after = f"{gap} {comma} {first}::_|{gap} {done}"
        else:
            # A comma promises a property, so one must be left.
            after = f"{comma} {first}::_ %if not(is_ones([0:{len(bits)}]))|{done}"
        moves = "|".join(
            f"{pair} {more}::set_bit({bits[name]}) %if bit_clear({bits[name]})"
            for name, pair in declared
            if name in bits
        )
        sheet.line(f"{first}::_:{moves}")
        sheet.line(f"{more}::_:{after}")
        return "|".join(start)

    def _tallied(self, shape: ObjectShape) -> str:
        """Write an object of distinct names that has more required ones than there are bits."""
        sheet, framing = self._sheet, self._framing
        opening, comma, closing = framing.opening, framing.comma, framing.closing
        declared = [each for each in shape.names if each[1] != NEVER]
        required = [each for each in declared if each[0] in shape.required]
        optional = [each for each in declared if each[0] not in shape.required]
        must = sheet.rule("|".join(self._alike(required)), "q")
        first, more = sheet.fresh("m"), sheet.fresh("m")
        number = f"[0:{len(required).bit_length()}]"
        moves = [f"{must} {more}::incr({number})"]
        loose = self._alike(optional)
        loose += [f"{symbol} {value}" for symbol, value in self._undeclared_of(shape)]
        if loose:
            moves.append(f"{sheet.rule('|'.join(loose), 'q')} {more}::_")
        sheet.line(f"{first}::_:{'|'.join(moves)}")
        sheet.line(
            f"{more}::_:{comma} {first}::_|{closing}{_if([f'ge({number}, {len(required)})'])}"
        )
        return f"{opening} {first}::0"

    def _plan(self, merged: Merged) -> _Layout:
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
            _refuse_width(shape)
        if closed_count and first + len(optional) > room:
            _refuse_width(shape, "minProperties")
        if not by_number:
            for each in optional[: room - first]:
                bits[each] = first + len(bits) - len(required)
        bit = first + len(bits) - len(required)
        return _Layout(
            bits,
            witnesses,
            () if by_number else tuple(range(bit, bit + extra)),
            (bit if by_number else first, bit + extra),
            by_number,
            least,
            most,
            terms,
        )

    def _properties(self, shape: ObjectShape, layout: _Layout) -> list[_Property]:
        framing = self._framing
        properties = [
            _Property(framing.name(name), framing.value(name, value), (name, value))
            for name, value in shape.names
            if (name, value) in layout.bits
        ]
        untracked = [x for x in shape.names if x[1] != NEVER and x not in layout.bits]
        for symbol, alike in self._by_value(untracked).items():
            terminal = framing.any_name([name for name, _ in alike])
            properties.append(_Property(terminal, symbol, alike[0]))
        properties.extend(_Property(*each) for each in self._undeclared_of(shape))
        names = _names(shape)
        properties.extend(
            _Property(
                self._undeclared(mark.names, names),
                framing.value(None, mark.value),
                marks=tuple(layout.witnesses[i] for i in mark.hits),
            )
            for mark in shape.marks
        )
        return properties

    def _by_value(self, untracked: Sequence[Property]) -> dict[str, list[Property]]:
        """Gather properties that no bit tracks by the symbol of their values.

        The engine keeps an item for each alternative at each place of a property: with 1,000
        names side by side masks took 7 ms, so names with the same values are one terminal.
        """
        found: dict[str, list[Property]] = {}
        for each in untracked:
            found.setdefault(self._framing.value(*each), []).append(each)
        return found

    def _alike(self, declared: Sequence[Property]) -> list[str]:
        framing = self._framing
        return [
            f"{framing.any_name([name for name, _ in alike])} {value}"
            for value, alike in self._by_value(declared).items()
        ]

    def _pair(self, each: _Property) -> str:
        return f"{each.name} {each.value}"

    def _undeclared_of(self, shape: ObjectShape) -> list[tuple[str, str]]:
        """List the terminals of the names that are not declared, and the symbols of values."""
        names = _names(shape)
        return [
            (self._undeclared(regex, names), self._framing.value(None, value))
            for regex, value in shape.classes
            if value != NEVER
        ]

    def _undeclared(self, regex: Regex, names: tuple[str, ...]) -> str:
        """Return the symbol of the names in a class that are not declared."""
        key = (regex, names)
        if key not in self._others:
            self._others[key] = self._framing.other_name(regex, names)
        return self._others[key]

    def _plain(self, pairs: Sequence[str], *, at_least_one: bool) -> str:
        framing = self._framing
        if not pairs:
            return f"{framing.opening} {framing.closing}"
        pair = pairs[0] if len(pairs) == 1 else self._sheet.rule("|".join(pairs), "q")
        optional = "" if at_least_one else "?"
        return f"{framing.opening}({pair}({framing.comma} {pair})*){optional}{framing.closing}"

    def _tracked(self, layout: _Layout, properties: list[_Property]) -> str:
        """Write an object by a rule for its start and one for all that follows."""
        sheet, framing = self._sheet, self._framing
        comma, closing = framing.comma, framing.closing
        first, more = sheet.fresh("m"), sheet.fresh("m")
        done = _if(self._done(layout))
        loose = [x for x in properties if x.declared not in layout.bits and not x.marks]
        gap = ""
        if loose and not layout.counts:
            pairs = sheet.rule("|".join(dict.fromkeys(map(self._pair, loose))), "q")
            gap = f"{sheet.rule(f'({comma} {pairs})*', 'g')} "
        start, rest = [], [f"{gap}{closing}{done}"]
        if not layout.least:
            start.append(f"{closing}{done}")
        for each in properties:
            pair = sheet.rule(self._pair(each), "p")
            for change, conditions in self._moves(layout, each):
                going_on = f"{pair} {more}::{change}{_if(conditions)}"
                start.append(going_on)
                if not gap or each not in loose:
                    rest.append(f"{gap}{comma} {going_on}")
        sheet.line(f"{first}::_:{'|'.join(start)}")
        sheet.line(f"{more}::_:{'|'.join(rest)}")
        return f"{framing.opening} {first}::0"

    def _moves(self, layout: _Layout, each: _Property) -> list[tuple[str, list[str]]]:
        """List how a property may change the parameter, and under which conditions."""
        conditions = self._viable(layout, each)
        low, high = layout.counted
        required = each.declared in layout.terms[0].required
        if layout.most is not None and not required and low < high:
            compare = "lt" if layout.by_number else "bit_count_lt"
            conditions.append(f"{compare}([{low}:{high}], {layout.most})")
        if each.declared in layout.bits:
            absent = [
                f"bit_clear({bit})"
                for (name, _), bit in layout.bits.items()
                if name == each.declared[0]
            ]
            return [(f"set_bit({layout.bits[each.declared]})", [*absent, *conditions])]
        if layout.by_number:
            return [(f"incr([{low}:{high}])", conditions)]
        if layout.most is None and len(layout.others) <= 1:
            return [(_setting((*each.marks, *layout.others)), conditions)]
        moves = []
        if layout.most is None:  # more than have to be
            moves.append((_setting(each.marks), [f"bit_set({layout.others[-1]})", *conditions]))
        for i, bit in enumerate(layout.others):
            order = [f"bit_set({layout.others[i - 1]})"] if i else []
            moves.append((_setting((*each.marks, bit)), [f"bit_clear({bit})", *order, *conditions]))
        return moves

    @staticmethod
    def _done(layout: _Layout) -> list[str]:
        """Return the conditions under which the object may end."""
        bits = layout.bits
        if len(layout.terms) == 1 and layout.terms[0].properties == layout.terms[0].required:
            must = len(layout.terms[0].required) + len(layout.witnesses)
            conditions = [_all_set(must)] if must else []
        else:
            conditions = [f"is_ones([{bit}:{bit + 1}])" for bit in layout.witnesses]
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
                for term in layout.terms
            )
            if options:
                conditions.append(options)
        if layout.least and layout.counted[0] < layout.counted[1]:
            low, high = layout.counted
            compare = "ge" if layout.by_number else "bit_count_ge"
            conditions.append(f"{compare}([{low}:{high}], {layout.least})")
        return conditions

    @staticmethod
    def _viable(layout: _Layout, each: _Property) -> list[str]:
        """Return the conditions under which the object can be completed after a property."""
        if not any(term.forbidden for term in layout.terms):
            return []
        # What is missing can always be added, so only what is forbidden matters.
        options = factored(
            frozenset(f"bit_clear({layout.bits[x]})" for x in term.forbidden)
            for term in layout.terms
            if each.declared not in term.forbidden
        )
        return [options] if options else []


def _names(shape: ObjectShape) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, _ in shape.names))


def _setting(bits: tuple[int, ...]) -> str:
    return f"bit_or({sum(1 << bit for bit in bits):#x})" if bits else "_"


def _all_set(count: int) -> str:
    return "bit_set(0)" if count == 1 else f"is_ones([0:{count}])"


def _refuse_width(shape: ObjectShape, keyword: str = "required") -> NoReturn:
    raise UnsupportedSchema(
        (
            Problem(
                shape.path,
                keyword,
                f"at most {BITS} properties on which it depends whether an object is "
                "complete can be tracked; make some optional, or group them into "
                "objects of their own",
            ),
        )
    )


def _if(conditions: list[str]) -> str:
    return f" %if {nested('and', conditions)}" if conditions else ""
