"""Arrays as rules for llguidance.

Owns: prefix, rest and length as repetition; counted elements as a small automaton;
unique elements as a set of bits. Must not know: values other than by their symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.schema.finishing.counting import counting_automaton
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.engines.llguidance.sheet import Sheet
    from enforcer.schema.grammar import ArrayShape, ValueId


class Arrays:
    """Writes the rules of array shapes.

    Args:
        sheet: what they are written on.
        symbol_of: returns the symbol of a value.

    """

    def __init__(self, sheet: Sheet, symbol_of: Callable[[ValueId], str]) -> None:
        self._sheet = sheet
        self._symbol_of = symbol_of
        self.used = False

    def body(self, array: ArrayShape) -> str:
        """Return an alternative for a shape."""
        self.used = True
        if array.unique and array.choices:
            return self._unique(array)
        if array.choices:
            return self._counted(array)
        return f"OPEN_ARRAY {self._elements(array)} CLOSE_ARRAY"

    def _elements(self, array: ArrayShape) -> str:
        maximum = array.maximum
        prefix = array.prefix if maximum is None else array.prefix[:maximum]
        symbols = [self._symbol_of(child) for child in prefix]
        least = max(array.minimum - len(prefix), 0)
        most = None if maximum is None else maximum - len(prefix)
        body = ""
        if array.rest != NEVER and most != 0:
            rest = self._symbol_of(array.rest)
            if prefix:
                body = self._repeat(f"COMMA {rest}", least, most)
            else:
                body = self._list(rest, least, most)
        # From the last one on outwards: each optional element brings what follows it.
        for i in range(len(symbols) - 1, -1, -1):
            body = f"{'COMMA ' if i else ''}{symbols[i]} {body}"
            if array.minimum <= i:
                body = f"({body})?"
        return body

    def _list(self, symbol: str, least: int, most: int | None) -> str:
        more = self._repeat(
            f"COMMA {symbol}", max(least - 1, 0), None if most is None else most - 1
        )
        body = f"{symbol}{more}"
        return f"({body})?" if least == 0 else body

    def _repeat(self, body: str, least: int, most: int | None) -> str:
        if most is None and least == 0:
            return f"({body})*"
        if most == 0:
            return ""
        return f"({body}){{{least},{'' if most is None else most}}}"

    # Elements that are counted.

    def _counted(self, array: ArrayShape) -> str:
        """Write the automaton over the numbers of elements, a rule for each state."""
        sheet, found = self._sheet, counting_automaton(array)
        names = {state: sheet.fresh("a") for state in found.moves}
        for state, name in names.items():
            comma = "" if state == found.start else "COMMA "
            options = [
                f"{comma}{self._symbol_of(value)} {names[after]}"
                for value, after in found.moves[state]
            ]
            if state in found.final:
                options.append("CLOSE_ARRAY")
            sheet.line(f"{name}:{'|'.join(dict.fromkeys(options))}")
        return f"OPEN_ARRAY {names[found.start]}"

    # Elements that are unique.

    def _unique(self, array: ArrayShape) -> str:
        sheet = self._sheet
        choices = array.choices[-1]
        size = len(choices)
        first, more = sheet.fresh("a"), sheet.fresh("a")
        for name, comma in ((first, ""), (more, "COMMA ")):
            options = [f"CLOSE_ARRAY %if bit_count_ge([0:{size}], {array.minimum})"]
            options.extend(
                f"{comma}{self._symbol_of(choice.value)} {more}::set_bit({i}) "
                f"%if and(bit_clear({i}), bit_count_lt([0:{size}], {array.maximum}))"
                for i, choice in enumerate(choices)
            )
            sheet.line(f"{name}::_:{'|'.join(options)}")
        return f"OPEN_ARRAY {first}::0"
