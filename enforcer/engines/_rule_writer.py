"""The normal form, and formats of a text, as grammar rules without parameters.

Owns: how values are written as rules, and what such rules cannot say. Any property order takes a
rule for each set of properties read so far, so objects with many declared properties are refused;
so is what has to be counted or compared across members. Must not know: any engine or its notation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.engines._recursion import recursion
from enforcer.engines._rules import (
    OTHER_ENGINE,
    Expression,
    Name,
    Repetition,
    Rules,
    Sequence,
    Text,
    choice,
)
from enforcer.errors import Problem, UnsatisfiableSchema, UnsupportedSchema
from enforcer.numbers.languages import number_texts
from enforcer.regex import (
    Regex,
    RegexError,
    both,
    either,
    inverse,
    is_surely_empty,
    literal,
    parse,
)
from enforcer.regex.constructors import concat, repeat
from enforcer.request.response_format import FormatKind
from enforcer.schema.grammar import NOTHING
from enforcer.spelling import JSON, WHITE_SPACE

if TYPE_CHECKING:
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId

_GAP = repeat(WHITE_SPACE, 0, 1)
_EMPTY = Sequence(())
_OPEN_OBJECT = Text(concat(literal("{"), _GAP))
_CLOSE_OBJECT = Text(concat(_GAP, literal("}")))
_OPEN_ARRAY = Text(concat(literal("["), _GAP))
_CLOSE_ARRAY = Text(concat(_GAP, literal("]")))
_COMMA = Text(concat(_GAP, literal(","), _GAP))
_COLON = Text(concat(_GAP, literal(":"), _GAP))


def rules_of(grammar: ArgumentGrammar, *, orders: int, rules: int, nests: bool) -> Rules:
    """Write a normal form as rules.

    Args:
        grammar: the normal form.
        orders: sets of properties that one object may have a rule for, each.
        rules: how many there may be in all.
        nests: whether a rule may lead back to itself.

    Raises:
        UnsupportedSchema: what rules without parameters cannot say; lists every offender. Where
            rules may not lead back to themselves, the first that do.

    """
    if not nests:
        advice = f"this engine cannot enforce values that nest without a limit; {OTHER_ENGINE}"
        if (problem := recursion(grammar, advice)) is not None:
            raise UnsupportedSchema((problem,))
    return _Writer(grammar, orders, rules).write()


def rules_of_text(wanted: ResponseFormat) -> Rules:
    """Write a regular expression or a choice as rules.

    Raises:
        UnsupportedSchema: a grammar, whose notation differs from engine to engine, or an
            expression that is not regular.

    """
    path = f"$.response_format.{wanted.kind.value}"
    keyword = wanted.kind.value
    if wanted.kind is FormatKind.GRAMMAR:
        reason = f"this engine does not support `{keyword}`; {OTHER_ENGINE}"
        raise UnsupportedSchema.of(path, keyword, reason)
    if wanted.kind is FormatKind.CHOICE:
        texts = (literal(text) for text in json.loads(wanted.source))
        return Rules(Text(either(*texts)), {})
    try:
        regex = parse(f"^(?:{wanted.source})$")
    except RegexError as error:
        raise UnsupportedSchema.of(path, keyword, str(error)) from error
    if is_surely_empty(regex):  # what is too large to tell, an engine refuses by itself
        reason = "no text matches this regular expression"
        raise UnsatisfiableSchema.of(path, keyword, reason)
    return Rules(Text(regex), {})


class _Writer:
    def __init__(self, grammar: ArgumentGrammar, orders: int, rules: int) -> None:
        self._grammar = grammar
        self._orders = orders
        self._rules = rules
        self._bodies: dict[str, Expression] = {}
        self._problems: dict[Problem, None] = {}

    def write(self) -> Rules:
        queue = [self._grammar.root]
        seen = set(queue)
        for number in queue:
            value = self._grammar.definitions[number]
            self._define(number, value)
            for child in self._children(value):
                if child not in seen:
                    seen.add(child)
                    queue.append(child)
            if len(self._bodies) > self._rules:
                self._refuse("$", "", "the schema has too many rules for this engine")
                break
        if self._problems:
            raise UnsupportedSchema(tuple(self._problems))
        start = Sequence((Text(_GAP), _value(self._grammar.root)))
        return Rules(start, self._bodies)

    def _refuse(self, path: str, keyword: str, reason: str) -> None:
        self._problems[Problem(path, keyword, f"{reason}; {OTHER_ENGINE}")] = None

    def _children(self, value: Value) -> list[ValueId]:
        found = [child for array in value.arrays for child in (*array.prefix, array.rest)]
        for shape in value.objects:
            found.extend(child for _, child in (*shape.names, *shape.classes))
        return [child for child in found if not self._is_never(child)]

    def _is_never(self, number: ValueId) -> bool:
        return self._grammar.definitions[number] == NOTHING

    def _define(self, number: ValueId, value: Value) -> None:
        options: list[Expression] = []
        texts = [*map(literal, value.words), *map(number_texts, value.numbers)]
        if texts:
            options.append(Text(either(*texts)))
        if value.strings is not None:
            options.append(Text(value.strings, JSON))
        options.extend(self._object(number, i, x) for i, x in enumerate(value.objects))
        options.extend(self._array(x) for x in value.arrays)
        self._bodies[_value(number).rule] = choice(options)

    # Arrays.

    def _array(self, array: ArrayShape) -> Expression:
        if array.choices or array.unique:
            keyword = "contains" if array.contains else "uniqueItems"
            self._refuse(
                f"{array.path}.{keyword}",
                keyword,
                f"this engine cannot count or compare elements, as `{keyword}` demands",
            )
        body: Expression = _EMPTY
        prefix = array.prefix[: array.maximum]
        most = None if array.maximum is None else array.maximum - len(prefix)
        if most != 0 and not self._is_never(array.rest):
            least = max(array.minimum - len(prefix), 0)
            rest = _value(array.rest)
            if prefix:
                body = Repetition(Sequence((_COMMA, rest)), least, most)
            else:
                body = _listed(rest, least, most)
        # From the last one on outwards: each optional element brings what follows it.
        for i in range(len(prefix) - 1, -1, -1):
            comma = (_COMMA,) if i else ()
            body = Sequence((*comma, _value(prefix[i]), body))
            if array.minimum <= i:
                body = Repetition(body, 0, 1)
        return Sequence((_OPEN_ARRAY, body, _CLOSE_ARRAY))

    # Objects.

    def _object(self, number: ValueId, nth: int, shape: ObjectShape) -> Expression:
        if shape.witnesses:
            self._refuse(
                shape.witnesses[0].path,
                "not",
                "this engine cannot enforce that some undeclared property has a certain value",
            )
            return _EMPTY
        if shape.some and shape.maximum is not None:
            self._refuse(
                f"{shape.path}.maxProperties",
                "maxProperties",
                "this engine cannot count properties of which some of a set are required",
            )
            return _EMPTY
        others = self._others(shape)
        if others and shape.minimum > len(shape.required) + 1:
            self._refuse(
                f"{shape.path}.minProperties",
                "minProperties",
                "this engine cannot tell whether an undeclared name that counts has come before",
            )
            return _EMPTY
        names = tuple(name for name, value in shape.names if not self._is_never(value))
        walk = _Walk(shape, names, is_open=bool(others))
        if (1 << min(len(walk.names), 64)) * (walk.cap + 1) > self._orders:
            self._refuse(
                f"{shape.path}.properties" if shape.names else shape.path,
                "properties" if shape.names else "maxProperties",
                f"this engine needs a rule for each set of properties, and there are more than "
                f"{self._orders}; declare fewer properties in one object",
            )
            return _EMPTY
        prefix = f"o{number}n{nth}"
        pairs = [self._pair(f"{prefix}p{i}", *x) for i, x in enumerate(self._named(walk))]
        extras = [self._pair(f"{prefix}x{i}", *x) for i, x in enumerate(others)]
        extra = choice(extras) if extras else None
        queue = [walk.start]
        seen = set(queue)

        def after(place: _Place | None, pair: Expression, comma: Expression) -> list[Expression]:
            if place is None:
                return []
            if place not in seen:
                seen.add(place)
                queue.append(place)
            return [Sequence((comma, pair, Name(f"{prefix}s{place.read}e{place.others}")))]

        def options(place: _Place, comma: Expression) -> Expression:
            found: list[Expression] = [_CLOSE_OBJECT] if walk.is_done(place) else []
            for i, pair in enumerate(pairs):
                found.extend(after(walk.read(place, i), pair, comma))
            if extra is not None and (comma is _EMPTY or not walk.is_free(place)):
                found.extend(after(walk.other(place), extra, comma))
            return choice(found)

        opened = Sequence((_OPEN_OBJECT, options(walk.start, _EMPTY)))
        for place in queue:
            body = options(place, _COMMA)
            if extra is not None and walk.is_free(place):
                body = Sequence((Repetition(Sequence((_COMMA, extra)), 0, None), body))
            self._bodies[f"{prefix}s{place.read}e{place.others}"] = body
        return opened

    def _named(self, walk: _Walk) -> list[tuple[Regex, ValueId]]:
        values = dict(walk.shape.names)
        return [(literal(name), values[name]) for name in walk.names]

    def _others(self, shape: ObjectShape) -> list[tuple[Regex, ValueId]]:
        """List the languages of undeclared names that a property may have."""
        undeclared = inverse(either(*(literal(name) for name, _ in shape.names)))
        found = []
        for names, value in shape.classes:
            left = both(names, undeclared)
            if not self._is_never(value) and not is_surely_empty(left):
                found.append((left, value))
        return found

    def _pair(self, rule: str, names: Regex, value: ValueId) -> Name:
        self._bodies[rule] = Sequence((Text(names, JSON), _COLON, _value(value)))
        return Name(rule)


@dataclass(frozen=True, slots=True)
class _Place:
    """How far an object has come: a bit for each declared name, and a count of others."""

    read: int
    others: int


class _Walk:
    """The places of one object and the ways between them that can be completed."""

    def __init__(self, shape: ObjectShape, names: tuple[str, ...], *, is_open: bool) -> None:
        self.shape = shape
        self.names = names
        self.start = _Place(0, 0)
        self._some = tuple(
            sum(1 << i for i, name in enumerate(names) if name in clause) for clause in shape.some
        )
        self._required = sum(1 << i for i, name in enumerate(names) if name in shape.required)
        # Others are counted as far as a bound tells counts apart.
        self.cap = 0
        if is_open:
            self.cap = shape.minimum if shape.maximum is None else shape.maximum

    def _fits(self, place: _Place) -> bool:
        if self.shape.maximum is None:
            return True
        missing = (self._required & ~place.read).bit_count()
        return place.read.bit_count() + place.others + missing <= self.shape.maximum

    def read(self, place: _Place, name: int) -> _Place | None:
        """Read a declared name; None if it repeats or leaves no room for a required one."""
        if place.read >> name & 1:
            return None
        following = _Place(place.read | 1 << name, place.others)
        return following if self._fits(following) else None

    def other(self, place: _Place) -> _Place | None:
        """Read an undeclared name; None if that leaves no room for a required one."""
        if self.shape.maximum is None:
            return _Place(place.read, min(place.others + 1, self.cap))
        following = _Place(place.read, place.others + 1)
        return following if self._fits(following) else None

    def is_free(self, place: _Place) -> bool:
        """Tell whether any number of undeclared names may follow without being counted."""
        return self.shape.maximum is None and place.others == self.cap

    def is_done(self, place: _Place) -> bool:
        """Tell whether the object may end."""
        count = place.read.bit_count() + place.others
        return (
            not self._required & ~place.read
            and all(place.read & clause for clause in self._some)
            and count >= self.shape.minimum
        )


def _value(number: ValueId) -> Name:
    return Name(f"v{number}")


def _listed(part: Expression, least: int, most: int | None) -> Expression:
    more = Repetition(
        Sequence((_COMMA, part)), max(least - 1, 0), None if most is None else most - 1
    )
    return Repetition(Sequence((part, more)), min(least, 1), 1)
