"""What an object has around its values, as symbols of llguidance's Lark.

Owns: brackets, commas and names of JSON's objects, and of the arguments of a call in each layout.
Must not know: which properties an object has, and in what order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from enforcer.layouts.pattern import ID, Choice, Field, Space
from enforcer.layouts.texts import OPTIONAL_SPACE, keys, quick_keys, written_key
from enforcer.regex import ANY, both, either, fullmatch, inverse, length, literal
from enforcer.regex.caching import cached
from enforcer.regex.constructors import EPSILON, NOTHING, concat, repeat
from enforcer.regex.derivative import RegexBudget
from enforcer.regex.plain import plain
from enforcer.regex.syntax import Complement, Concat, Intersection, Literal, Repeat, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from enforcer.engines.llguidance.sheet import Sheet
    from enforcer.layouts import BoundLayout
    from enforcer.layouts.pattern import Piece
    from enforcer.machine.spellable import Option, Spellable
    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex
    from enforcer.schema.grammar import Value, ValueId

_NOT_EMPTY = length(1, None)
_SIZE = 200  # that a language without its empty text may be larger
_STATES = 64  # of its automaton: what holds no stop has a few, `format: regex` thousands


class Framing(Protocol):
    """Symbols around the values of an object; any of them may be empty."""

    @property
    def opening(self) -> str:
        """What stands before the first pair."""
        ...

    @property
    def comma(self) -> str:
        """What stands between two pairs."""
        ...

    @property
    def closing(self) -> str:
        """What stands behind the last pair."""
        ...

    def name(self, *names: str) -> str:
        """Return the symbols of one of some names, and of all between it and its value."""
        ...

    def other_name(self, names: Regex, but: Sequence[str]) -> str:
        """Return those of a name of a language, but none of some."""
        ...

    def value(self, name: str | None, value: ValueId) -> str:
        """Return the symbol of a value, and of all that stands between it and the next pair.

        Args:
            name: the name of its property; None for one that is not declared.
            value: its value.

        """
        ...


class JsonFraming:
    """Objects as JSON has them."""

    opening, comma, closing = "OPEN_OBJECT", "COMMA", "CLOSE_OBJECT"

    def __init__(self, sheet: Sheet, symbol_of: Callable[[ValueId], str]) -> None:
        self._sheet = sheet
        self._symbol_of = symbol_of

    def name(self, *names: str) -> str:
        """Return the symbols of one of some names; see `Framing`."""
        return f"{self._sheet.name(*names)} COLON"

    def other_name(self, names: Regex, but: Sequence[str]) -> str:
        """Return those of a name of a language, but none of some."""
        found = self._sheet.strings(names, but)
        return f"{found[0] if len(found) == 1 else self._sheet.rule('|'.join(found), 'q')} COLON"

    def value(self, name: str | None, value: ValueId) -> str:  # noqa: ARG002 - all are alike
        """Return the symbol of a value."""
        return self._symbol_of(value)


class PythonFraming:
    """Keyword arguments, and the bracket behind them."""

    opening, comma, closing = "WS?", "COMMA", "CLOSE_CALL"
    header = 'CLOSE_CALL:WS?")"\n'

    def __init__(self, sheet: Sheet, symbol_of: Callable[[ValueId], str]) -> None:
        self._sheet = sheet
        self._symbol_of = symbol_of

    def name(self, *names: str) -> str:
        """Return the symbols of one of some names; see `Framing`."""
        return self._named(either(*map(literal, names)))

    def other_name(self, names: Regex, but: Sequence[str]) -> str:
        """Return those of a name of a language, but none of some."""
        return self._named(both(names, *(inverse(literal(each)) for each in but)))

    def value(self, name: str | None, value: ValueId) -> str:  # noqa: ARG002 - all are alike
        """Return the symbol of a value."""
        return self._symbol_of(value)

    def _named(self, names: Regex) -> str:
        equals = concat(OPTIONAL_SPACE, literal("="), OPTIONAL_SPACE)
        return self._sheet.text(concat(names, equals))


class TaggedFraming:
    """Pairs of a key and a raw value.

    Args:
        sheet: what terminals and rules are written on.
        spellable: tells how the values of properties can be written.
        symbol_of: returns the symbol of a value that is no scalar, in JSON.
        divided: returns the symbols of sets of numbers that have no terminal.

    """

    comma = opening = ""

    def __init__(
        self,
        sheet: Sheet,
        spellable: Spellable,
        symbol_of: Callable[[Value], str],
        divided: Callable[[Iterable[NumberSet]], Iterable[str]],
    ) -> None:
        self._sheet = sheet
        self._spellable = spellable
        self._symbol_of = symbol_of
        self._divided = divided
        self._layout: BoundLayout = spellable.layout
        self._typed = spellable.typed
        self.closing = self._sequence(self._layout.close)

    def name(self, *names: str) -> str:
        """Return the symbols of one of some names; see `Framing`."""
        return self._named(either(*map(literal, names)))

    def other_name(self, names: Regex, but: Sequence[str]) -> str:
        """Return those of a name of a language, but none of some."""
        found = [names]
        if names != ANY and names == keys(self._layout):
            found += quick_keys(self._layout)
        symbols = [self._named(_without(each, but)) for each in found]
        return symbols[0] if len(symbols) == 1 else self._sheet.rule("|".join(symbols), "q")

    def value(self, name: str | None, value: ValueId) -> str:
        """Return the symbol of a value, with its type before it where that is written."""
        found = self._spellable.options(name, value)
        return self._sheet.rule("|".join(x for each in found for x in self._bodies(each)), "k")

    def _named(self, names: Regex) -> str:
        before = self._layout.part(None, "key")
        behind = self._layout.part("key", "type" if self._typed else "value")
        return self._sequence((*before, written_key(names, self._layout), *behind))

    def _bodies(self, option: Option) -> Iterable[str]:
        before: tuple[Piece | Regex, ...] = ()
        if option.type is not None:
            before = (literal(option.type), *self._layout.part("type", "value"))
        stop = self._layout.stop
        for texts in (option.scalar, option.quick):
            if texts is not None:
                yield self._sequence((*before, texts, *stop))
        symbols = [*self._divided(option.hard)]
        if option.nested is not None:
            symbols.append(self._symbol_of(option.nested))
        end = self._sequence((Space.OPTIONAL, *stop))
        for symbol in symbols:
            yield f"{self._sequence(before)} WS? {symbol} {end}"

    def _sequence(self, pieces: Iterable[Piece | Regex]) -> str:
        """Write pieces; what has no id within is one terminal."""
        symbols: list[str] = []
        run: list[Regex] = []
        data = bytearray()

        def end_bytes() -> None:
            if data:
                run.append(literal(data.decode()))
                data.clear()

        def end_run() -> None:
            end_bytes()
            symbols.extend(self._terminal(run))
            run.clear()

        for piece in pieces:
            if isinstance(piece, int):
                if piece < ID:
                    data.append(piece)
                else:
                    end_run()
                    symbols.append(f"<[{piece - ID}]>")
                continue
            end_bytes()
            if isinstance(piece, Field | Choice):
                raise TypeError("a field where what stands in it should")
            run.append(OPTIONAL_SPACE if isinstance(piece, Space) else piece)
        end_run()
        return " ".join(symbols)

    def _terminal(self, run: Sequence[Regex]) -> list[str]:
        if not run:
            return []
        if all(each is OPTIONAL_SPACE for each in run):
            return ["WS?"]
        regex = _joined(run)
        if not regex.nullable:
            return [self._sheet.text(regex)]
        # No terminal is empty in llguidance.
        some = _some(regex)
        return [] if some in {NOTHING, EPSILON} else [f"{self._sheet.text(some)}?"]


def _without(names: Regex, but: Sequence[str]) -> Regex:
    """Leave out some names; what none of them is in stays as it is, which is followed faster."""
    return both(names, *(inverse(literal(each)) for each in but if fullmatch(names, each)))


def _joined(run: Sequence[Regex]) -> Regex:
    """Join texts; what is fixed stands in every operand, as `terminals.expression` has it.

    So does white space that may be there before what is fixed: where it ends is plain.
    """
    bounded = [each for each in run if isinstance(each, Intersection | Complement)]
    if len(bounded) != 1 or not all(
        each in bounded or isinstance(each, Literal) or (each is OPTIONAL_SPACE and not at)
        for at, each in enumerate(run)
    ):
        return concat(*run)
    if run[0] is OPTIONAL_SPACE and not isinstance(run[1], Literal):
        return concat(*run)
    (found,) = bounded
    parts = found.parts if isinstance(found, Intersection) else (found,)

    def around(part: Regex) -> Regex:
        return concat(*(part if each is found else each for each in run))

    cut = [inverse(around(part.part)) for part in parts if isinstance(part, Complement)]
    kept = [around(part) for part in parts if not isinstance(part, Complement)]
    return both(*(kept or [around(ANY)]), *cut)


@cached
def _some(texts: Regex) -> Regex:
    """Leave out the empty text, if possible without an intersection more."""
    if isinstance(texts, Intersection):
        first, *others = sorted(texts.parts, key=lambda part: isinstance(part, Complement))
        return both(_some(first), *others)
    if texts.boolean:
        return both(texts, _NOT_EMPTY)
    try:
        return plain(both(texts, _NOT_EMPTY), 2 * texts.size + _SIZE, states=_STATES)
    except RegexBudget:
        return _not_empty(texts)


def _not_empty(texts: Regex) -> Regex:
    """Do the same part by part, however many states the language has; engines follow it slower."""
    if not texts.nullable:
        return texts
    if isinstance(texts, Union):
        return either(*map(_not_empty, texts.parts))
    if isinstance(texts, Repeat):
        return repeat(_not_empty(texts.part), 1, texts.maximum)
    if isinstance(texts, Concat):
        first, *rest = texts.parts
        behind = concat(*rest)
        return either(concat(_not_empty(first), behind), _not_empty(behind))
    return NOTHING if texts == EPSILON else both(texts, _NOT_EMPTY)
