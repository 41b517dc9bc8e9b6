"""Whole texts of values that are many things at once, or have many properties.

Owns: writing some that fit, or nearly do, and how long they are at most. Must not know: engines,
vocabularies, how a grammar is written.

Alternatives that only the end of a text tells apart are all followed until there: a `oneOf` whose
branches overlap holds, beside each of them, what all others may not be. How many that are shows
deep within a text, and nowhere near the beginning of it. What each of many names costs adds up.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from enforcer.numbers.languages import spelled_sets
from enforcer.regex import RegexBudget, both, example, length
from enforcer.regex.caching import cached
from enforcer.schema.grammar import NEVER, ObjectShape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, Value, ValueId

_MANY = 3  # alternatives; of fewer not much can come
_NAMES = 60  # more take more
_TEXTS = 16  # of one value
_LENGTH = 1_200  # characters of one text, but for what has to be there
_OF_NAMES = 400  # where only names are many
_VALUES = 400  # within one text
_DEEP = 12
_ELEMENTS = 8  # of one array, unless it asks for more
_SEARCHED = 300  # states, for a string
_SOME = length(1, None)


class Instances:
    """Writes texts of the values of one grammar."""

    def __init__(self, grammar: ArgumentGrammar) -> None:
        self._definitions = grammar.definitions
        self._shapes: dict[ValueId, list[ObjectShape | ArrayShape]] = {}
        self._left = 0  # values that the text may still have

    def texts(self, number: ValueId) -> Iterator[str]:
        """Write a text for each of a value's alternatives, if they are many, as JSON.

        Conditions that tie properties together may make it illegal somewhere: whoever tries it
        stops there.
        """
        count = len(self._inner(number))
        if count >= _MANY:
            yield from self._texts(number, min(count, _TEXTS), _LENGTH)

    def short(self, number: ValueId) -> str | None:
        """Write a value with little in it, as JSON; None where that is hard."""
        self._left = _VALUES
        return self._text(number, 0, 0, 0)

    def texts_of_names(self, number: ValueId) -> Iterator[str]:
        """Write one text with some of a value's properties, if they and nothing else are many."""
        shapes = self._inner(number)
        if len(shapes) < _MANY and any(
            isinstance(shape, ObjectShape) and len(shape.names) > _NAMES for shape in shapes
        ):
            yield from self._texts(number, len(shapes), _OF_NAMES)

    def _texts(self, number: ValueId, count: int, room: int) -> Iterator[str]:
        seen: set[str] = set()
        for which in range(count):
            self._left = _VALUES
            text = self._text(number, which, _DEEP, room)
            if text is not None and text not in seen:
                seen.add(text)
                yield text

    def _inner(self, number: ValueId) -> list[ObjectShape | ArrayShape]:
        """List the objects and arrays of a value that say something of their inside."""
        found = self._shapes.get(number)
        if found is None:
            value = self._definitions[number]
            found = self._shapes[number] = [
                *(shape for shape in value.objects if any(x != NEVER for _, x in shape.names)),
                *(shape for shape in value.arrays if self._has_parts(shape)),
            ]
        return found

    def _has_parts(self, shape: ArrayShape) -> bool:
        if shape.prefix or shape.rest == NEVER:
            return bool(shape.prefix)
        rest = self._definitions[shape.rest]
        is_anything = rest.arrays and rest.strings is not None
        return not is_anything and bool(rest.arrays or any(each.names for each in rest.objects))

    def _text(self, number: ValueId, which: int, depth: int, room: int) -> str | None:
        """Write a value as one of its alternatives; None where that is hard."""
        self._left -= 1
        if self._left < 0:
            return None
        shapes = self._inner(number) if depth > 0 and room > 0 else []
        if shapes:
            return self._nested(shapes[which % len(shapes)], depth, room)
        value = self._definitions[number]
        scalar = _scalar(value)
        if scalar is not None or depth <= -_DEEP:
            return scalar
        nested: tuple[ObjectShape | ArrayShape, ...] = value.objects or value.arrays
        return self._nested(nested[0], depth, min(room, 0)) if nested else None

    def _nested(self, shape: ObjectShape | ArrayShape, depth: int, room: int) -> str:
        if isinstance(shape, ObjectShape):
            return self._object(shape, depth, room)
        return self._array(shape, depth, room)

    def _object(self, shape: ObjectShape, depth: int, room: int) -> str:
        parts: list[str] = []
        for name, child in sorted(shape.names, key=lambda each: each[0] not in shape.required):
            if child == NEVER or (room <= 0 and name not in shape.required):
                continue
            text = self._text(child, 0, depth - 1, room // 2)
            if text is not None:
                parts.append(f"{json.dumps(name)}: {text}")
                room -= len(parts[-1])
        return f"{{{', '.join(parts)}}}"

    def _array(self, shape: ArrayShape, depth: int, room: int) -> str:
        elements = list(shape.prefix[:_ELEMENTS])
        if shape.rest != NEVER:
            most = _ELEMENTS if shape.maximum is None else min(_ELEMENTS, shape.maximum)
            count = min(max(2, len(self._inner(shape.rest))), most - len(elements))
            elements += [shape.rest] * max(count, shape.minimum - len(elements))
        parts: list[str] = []
        for which, element in enumerate(elements):
            text = self._text(element, which, depth - 1, room // 2)
            if text is None or (room <= 0 and which >= shape.minimum):
                break
            parts.append(text)
            room -= len(text)
        return f"[{', '.join(parts)}]"


def _scalar(value: Value) -> str | None:
    """Write a value that is no object and no array; None where that is hard."""
    if value.strings is not None:
        return _string(value.strings)
    if value.numbers:
        numbers, _ = spelled_sets(value.numbers)
        return None if numbers is None else _example(numbers)
    if value.booleans:
        return json.dumps(max(value.booleans))
    return "null" if value.null else None


@cached
def _string(language: Regex) -> str | None:
    found = _example(both(language, _SOME))
    text = _example(language) if found is None else found
    return None if text is None else json.dumps(text, ensure_ascii=False)


@cached
def _example(language: Regex) -> str | None:
    try:
        return example(language, budget=_SEARCHED)
    except RegexBudget:
        return None
