"""Normal forms that any engine surely holds, told without asking one.

Owns: a bound on what a schema consists of, low enough that no limit of the default
engine is near. Checking most schemas then costs no compilation; a schema that is over the
bound is not refused, only compiled to find out. Must not know: engines, notations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex.syntax import Chars, Complement, Literal, Repeat, Union
from enforcer.schema.numbers import INTEGERS, REALS

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.nodes import ArrayShape, ObjectShape, Value
    from enforcer.schema.numbers import NumberSet

_VALUES = 200
_NAMES = 48  # of one object; fewer than the bits that the default engine tracks names by
_TEXTS = 100  # alternatives of one string language
_TEXT = 200  # characters of one alternative
_LENGTH = 1_000  # of an array


def is_simple(grammar: ArgumentGrammar) -> bool:
    """Tell whether a grammar is small and made of the plainest parts only.

    Those are: free and listed strings, numbers that are free, whole or constant, arrays
    and objects without counts, names that are declared or free.
    """
    return len(grammar.definitions) <= _VALUES and all(
        _is_simple_value(value) for value in grammar.definitions.values()
    )


def _is_simple_value(value: Value) -> bool:
    return (
        len(value.numbers) <= _TEXTS
        and len(value.arrays) + len(value.objects) <= 2  # noqa: PLR2004 - an array or an object
        and (value.strings is None or _is_simple_text(value.strings))
        and all(map(_is_simple_number, value.numbers))
        and all(map(_is_simple_array, value.arrays))
        and all(map(_is_simple_object, value.objects))
    )


def _is_simple_number(numbers: NumberSet) -> bool:
    return numbers in (REALS, INTEGERS) or (
        numbers.low is not None and numbers.low == numbers.high and not numbers.not_multiples
    )


def _is_simple_array(array: ArrayShape) -> bool:
    return (
        not array.choices
        and not array.contains
        and max(array.minimum, array.maximum or 0, len(array.prefix)) <= _LENGTH
    )


def _is_simple_object(shape: ObjectShape) -> bool:
    return (
        len(shape.names) <= _NAMES
        and len(shape.classes) == 1
        and not (shape.some or shape.witnesses or shape.minimum)
        and shape.maximum is None
        and all(len(name) <= _TEXT for name, _ in shape.names)
        and _is_simple_text(shape.classes[0][0])
    )


def _is_simple_text(regex: Regex) -> bool:
    """Tell whether a language is that of every string, of a few, or of all but a few."""
    if isinstance(regex, Repeat):
        return isinstance(regex.part, Chars) and (regex.minimum, regex.maximum) == (0, None)
    if isinstance(regex, Complement):
        return _is_listed(regex.part)
    return _is_listed(regex)


def _is_listed(regex: Regex) -> bool:
    texts = regex.parts if isinstance(regex, Union) else (regex,)
    return len(texts) <= _TEXTS and all(
        (isinstance(text, Literal) and len(text.text) <= _TEXT)
        or (isinstance(text, Chars) and len(text.chars.ranges) <= _TEXTS)
        for text in texts
    )
