"""Texts that show what a grammar may cost an engine, up to the edge of each of its values.

Owns: which beginnings of texts are worth trying, and how few are enough. Must not know: engines,
vocabularies, how a grammar is written.

A text is tried for two reasons: to find out whether the engine bears it, and to have the lexer
build, when the grammar is compiled, the states that the first masks of a call would need. Where a
string must not match something, a mask takes long wherever that may begin, for the first time: so
texts lead through all that may follow within it. Where it may soon go on in very many ways, masks
may find new states all along: so one text does, at random.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby, islice
from random import Random
from typing import TYPE_CHECKING

from enforcer.engines.llguidance.instances import Instances
from enforcer.layouts import ID, LayoutKind
from enforcer.layouts.texts import keys, written_key
from enforcer.machine.spellable import Spellable
from enforcer.regex import (
    ANY,
    RegexBudget,
    both,
    breadth,
    demanding,
    either,
    example,
    inverse,
    leading,
    literal,
    wandering,
)
from enforcer.regex.caching import cached
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from enforcer.layouts import BoundLayout
    from enforcer.layouts.pattern import Piece
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId

_MOST_PLACES = 64
_MOST_LANGUAGES = 40
_NAMES = 128  # beginnings and ends of names
_WHOLE = 32  # texts of values that have many alternatives
_TEXTS = 4  # of one language of strings
_LENGTH = 48  # characters of each
_WORK = 4_000  # sizes of what may follow, summed, to choose one text
# Each of these with the sizes of what may follow, summed, as the work that is done at most.
_THROUGH = (64, 100_000)  # in how many ways a string may go on, all of which are led through
_BROAD = (8, 200, 80_000)  # characters, and in how many ways those go on that are wandered through
_WANDERING = (96, 200_000)  # characters
_DEEP = 24
_ELEMENTS = 32  # at the begin of an array, each with a value of its own
_SEARCHED = 1_000  # states, for a name of a class
_SPELLED = 16  # more for each character of a name that is written in a format's own way


def probes(grammar: ArgumentGrammar, *, thorough: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the path of a value, the text before it, and a beginning of it or of a name in it.

    They are legal but for values that only make sense together: whoever tries them stops at
    what is refused.

    Args:
        grammar: a finished one.
        thorough: with whole texts of values that have many alternatives, and of many names, and
            with strings at random, which find out what is too much, and little that others need.

    """
    seen = {grammar.root}
    languages: set[Regex] = set()
    instances, wanted, names = Instances(grammar), _WHOLE if thorough else 0, _NAMES
    queue = [("$", "", grammar.root, 0)]
    for path, before, number, depth in queue:
        value = grammar.definitions[number]
        yield path, before, ""
        for opening, language in _languages(value):
            if language not in languages and len(languages) < _MOST_LANGUAGES:
                languages.add(language)
                # Within a name a text does not go on for long.
                within = () if opening else _within(language, thorough=thorough)
                for text in (*_edges(language, _TEXTS), *within):
                    yield path, before + opening, json.dumps(text, ensure_ascii=False)[:-1]
        for text in islice(instances.texts(number), wanted):
            wanted -= 1
            yield path, before, text
        for step, opening, text in islice(_spelled_names(value), names):
            names -= 1
            yield path + step, before + opening, text
        # Whose states are known by now.
        for text in instances.texts_of_names(number) if thorough else ():
            yield path, before, text
        if depth >= _DEEP:
            continue
        for step, opening, child in _children(value, instances):
            if child not in seen and len(queue) < _MOST_PLACES:
                seen.add(child)
                queue.append((path + step, before + opening, child, depth + 1))


def probes_of_pairs(
    grammar: ArgumentGrammar, layout: BoundLayout, *, thorough: bool
) -> Iterator[tuple[str, list[str | int], list[str | int]]]:
    """Yield the same where arguments are pairs: texts, and control ids between them."""
    spellable = Spellable(grammar, layout)
    shapes = grammar.definitions[grammar.root].objects
    is_python = layout.layout.kind is LayoutKind.PYTHON
    to_key = () if is_python else layout.part(None, "key")
    languages = {names: shape.path for shape in shapes for names in _names(shape)}
    for names, path in list(languages.items())[:_MOST_LANGUAGES]:
        written = written_key(both(names, keys(layout)), layout)
        for text in _edges(written, _TEXTS):
            yield path, _texts(to_key), [text]
    values = {each: shape.path for shape in shapes for each in _properties(shape, keys(layout))}
    for (name, declared, value), path in list(values.items())[:_MOST_PLACES]:
        here = f"{path}.properties.{name}" if declared else f"{path}.additionalProperties"
        within = replace(grammar, root=value)
        if is_python:
            for _, before, text in probes(within, thorough=thorough):
                yield here, [f"{name}={before}"], [text]
            continue
        behind = layout.part("key", "type" if spellable.typed else "value")
        opening = [*to_key, *_key(name, layout), *behind]
        for option in spellable.options(name if declared else None, value):
            typed = opening
            if option.type is not None:
                typed = [*opening, *option.type.encode(), *layout.part("type", "value")]
            if option.scalar is not None:
                within_it = _within(option.scalar, thorough=thorough)
                for text in (*_edges(option.scalar, 1), *within_it):
                    yield here, _texts(typed), [text]
            if option.nested is not None:
                for _, before, text in probes(within, thorough=thorough):
                    yield here, _texts([*typed, *before.encode()]), [text]


def _key(name: str, layout: BoundLayout) -> bytes:
    written = written_key(literal(name), layout)
    return (example(written, budget=_SEARCHED + _SPELLED * len(name)) or "").encode()


def _texts(pieces: Iterable[Piece]) -> list[str | int]:
    """Gather bytes to texts, and leave out white space, which need not be there."""
    found: list[str | int] = []
    symbols = [piece for piece in pieces if isinstance(piece, int)]
    for is_id, group in groupby(symbols, key=lambda symbol: symbol >= ID):
        some = list(group)
        found += [symbol - ID for symbol in some] if is_id else [bytes(some).decode()]
    return found


def _languages(value: Value) -> Iterator[tuple[str, Regex]]:
    """Yield the languages of strings and of undeclared names, each with what stands before it."""
    if value.strings is not None:
        yield "", value.strings
    for shape in value.objects:
        for names in _names(shape):
            yield "{", names


@cached
def _edges(language: Regex, texts: int) -> tuple[str, ...]:
    return tuple(demanding(language, _LENGTH, texts, budget=_WORK))


def _within(language: Regex, *, thorough: bool) -> tuple[str, ...]:
    found = _through(language) if language.boolean else ()
    return (*found, *_anywhere(language)) if thorough else found


@cached
def _through(language: Regex) -> tuple[str, ...]:
    states, work = _THROUGH
    return tuple(leading(language, states, budget=work))


@cached
def _anywhere(language: Regex) -> tuple[str, ...]:
    length, many, work = _BROAD
    is_long = language.longest is None or language.longest > _LENGTH
    if not is_long or breadth(language, length, many, budget=work) < many:
        return ()
    length, work = _WANDERING
    random = Random(0)  # noqa: S311 - the same text each time
    return (wandering(language, length, random, budget=work),)


def _spelled_names(value: Value) -> Iterator[tuple[str, str, str]]:
    """Yield the step to a property, what stands before a piece of its name, and that piece.

    Where names begin all of them may go on, and where one ends all that may follow.
    """
    names = {
        json.dumps(name, ensure_ascii=False)[1:-1]: f".properties.{name}"
        for shape in value.objects
        for name, child in shape.names
        if name and child != NEVER
    }
    for letter in dict.fromkeys(name[0] for name in names):
        yield "", '{"', letter
    for name, step in names.items():
        yield step, '{"' + name[:-1], name[-1] + '": '


def _names(shape: ObjectShape) -> Iterator[Regex]:
    yield from (names for names, child in shape.classes if child != NEVER)
    yield from (mark.names for mark in shape.marks)


def _children(value: Value, instances: Instances) -> Iterator[tuple[str, str, ValueId]]:
    for shape in value.objects:
        for name, declared, child in _properties(shape):
            step = f".properties.{name}" if declared else ".additionalProperties"
            yield step, f"{{{json.dumps(name)}: ", child
    for array in value.arrays:
        yield from _elements(array, instances)


def _elements(array: ArrayShape, instances: Instances) -> Iterator[tuple[str, str, ValueId]]:
    """Yield what each element may be, behind short ones; none behind one that is hard to write."""
    before = "["
    for at, element in enumerate((*array.prefix, array.rest)):
        step = f".prefixItems[{at}]" if at < len(array.prefix) else ".items"
        choices = [element]
        if array.choices:
            choices = [each.value for each in array.choices[min(at, len(array.choices) - 1)]]
        choices = [each for each in choices if each != NEVER]
        for each in choices:
            yield step, before, each
        text = instances.short(choices[0]) if choices and at < _ELEMENTS else None
        if text is None:
            return
        before += f"{text}, "


def _properties(shape: ObjectShape, allowed: Regex = ANY) -> Iterator[tuple[str, bool, ValueId]]:
    """Yield names that may occur, if they are declared, and their values; one name of a class."""
    for name, child in shape.names:
        if child != NEVER:
            yield name, True, child
    declared = {name for name, _ in shape.names}
    for names, child in shape.classes:
        if child == NEVER:
            continue
        found = _first(both(names, allowed))
        if found in declared:
            found = _first(both(names, allowed, inverse(either(*map(literal, declared)))))
        if found is not None:
            yield found, False, child


@cached
def _first(names: Regex) -> str | None:
    try:
        return example(names, budget=_SEARCHED)
    except RegexBudget:
        return None  # then values of such properties are not tried
