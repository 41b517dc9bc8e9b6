"""Objects as rules for llguidance, their properties in any order.

Owns: the rules of an object, so that no name repeats, every required one occurs, and what is
counted is. Must not know: values other than by their symbol, what names, brackets and commas look
like (`framing` does), what the bits of the parameter stand for but in the usual object, where each
name has one (`tracking` does).

Where names are kept distinct beside the engine (`engines.distinct`), required names need no bits:
they are counted, so there may be more of them than bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.engines.llguidance import tracking
from enforcer.engines.llguidance.tracking import Way, all_set, guard, refuse_width
from enforcer.schema.finishing.presence import merge
from enforcer.schema.grammar import NEVER
from enforcer.schema.limits import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines.llguidance.framing import Framing
    from enforcer.engines.llguidance.sheet import Sheet
    from enforcer.engines.llguidance.tracking import Tracking
    from enforcer.regex import Regex
    from enforcer.schema.finishing.presence import Cells, Merged, Property
    from enforcer.schema.grammar import ObjectShape


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
        if len(shapes) == 1 and _is_usual(shapes[0]):
            return [self._each_once(shapes[0], shapes[0].required)]
        return [self._body(merged) for merged in merge(shapes, cells)] if shapes else []

    def _body(self, merged: Merged) -> str:
        shape, terms = merged.shape, merged.terms
        counts = shape.minimum or shape.maximum is not None or shape.witnesses
        is_usual = len(terms) == 1 and terms[0].properties == terms[0].required
        if shape.distinct_names and not counts:
            return self._tallied(shape)
        if is_usual and not counts and len(_names(shape)) == len(shape.names):
            return self._each_once(shape, frozenset(name for name, _ in terms[0].required))
        kept = tracking.plan(merged)
        properties = self._properties(shape, kept)
        if kept.most == 0 and not terms[0].required:
            properties = []
        counted = kept.most is not None or len(kept.others) > 1
        if not properties or not (kept.bits or kept.witnesses or counted):
            return self._plain(
                [self._pair(each) for each in properties], at_least_one=kept.least > 0
            )
        return self._tracked(kept, properties)

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
            refuse_width(shape)
        bits = {name: bit for bit, name in enumerate(tracked[:BITS])}
        loose: list[str] = []
        if len(tracked) > BITS:
            untracked = [x for x in shape.names if x[1] != NEVER and x[0] not in bits]
            loose = self._alike(untracked)
        loose += [f"{symbol} {value}" for symbol, value in self._undeclared_of(shape)]
        if not bits:
            return self._plain(loose, at_least_one=False)
        if len(declared) == 1 and not loose:
            pair = declared[0][1]
            return f"{opening} {pair if must else f'({pair})?'} {closing}"
        first, more = sheet.fresh("m"), sheet.fresh("m")
        done = f"{closing}{guard([all_set(must)] if must else [])}"
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
            f"{more}::_:{comma} {first}::_|{closing}{guard([f'ge({number}, {len(required)})'])}"
        )
        return f"{opening} {first}::0"

    def _properties(self, shape: ObjectShape, kept: Tracking) -> list[Way]:
        framing = self._framing
        properties = [
            Way(framing.name(name), framing.value(name, value), (name, value))
            for name, value in shape.names
            if (name, value) in kept.bits
        ]
        untracked = [x for x in shape.names if x[1] != NEVER and x not in kept.bits]
        for symbol, alike in self._by_value(untracked).items():
            terminal = framing.name(*(name for name, _ in alike))
            properties.append(Way(terminal, symbol, alike[0]))
        properties.extend(Way(*each) for each in self._undeclared_of(shape))
        names = _names(shape)
        properties.extend(
            Way(
                self._undeclared(mark.names, names),
                framing.value(None, mark.value),
                marks=tuple(kept.witnesses[i] for i in mark.hits),
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
            f"{framing.name(*(name for name, _ in alike))} {value}"
            for value, alike in self._by_value(declared).items()
        ]

    def _pair(self, each: Way) -> str:
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

    def _tracked(self, kept: Tracking, properties: list[Way]) -> str:
        """Write an object by a rule for its start and one for all that follows."""
        sheet, framing = self._sheet, self._framing
        comma, closing = framing.comma, framing.closing
        first, more = sheet.fresh("m"), sheet.fresh("m")
        done = guard(tracking.done(kept))
        loose = [x for x in properties if x.declared not in kept.bits and not x.marks]
        gap = ""
        if loose and not kept.counts:
            pairs = sheet.rule("|".join(dict.fromkeys(map(self._pair, loose))), "q")
            gap = f"{sheet.rule(f'({comma} {pairs})*', 'g')} "
        start, rest = [], [f"{gap}{closing}{done}"]
        if not kept.least:
            start.append(f"{closing}{done}")
        for each in properties:
            pair = sheet.rule(self._pair(each), "p")
            for change, conditions in tracking.moves(kept, each):
                going_on = f"{pair} {more}::{change}{guard(conditions)}"
                start.append(going_on)
                if not gap or each not in loose:
                    rest.append(f"{gap}{comma} {going_on}")
        sheet.line(f"{first}::_:{'|'.join(start)}")
        sheet.line(f"{more}::_:{'|'.join(rest)}")
        return f"{framing.opening} {first}::0"


def _is_usual(shape: ObjectShape) -> bool:
    """Tell whether an object has no other condition than which of its names are required."""
    counts = shape.minimum or shape.maximum is not None or shape.witnesses
    return not (counts or shape.some or shape.distinct_names)


def _names(shape: ObjectShape) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, _ in shape.names))
