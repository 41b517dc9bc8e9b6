"""Texts that show what a grammar may cost an engine: to the edge of each of its values.

Owns: which beginnings of texts are worth trying, and how few are enough. Must not know:
engines, vocabularies, how a grammar is written.

A text is tried to find out two things: whether the engine bears it, and, on the way, the
states that the first masks of a call would have to find otherwise.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from enforcer.engines.spellable import Spellable
from enforcer.layouts import ID, Kind
from enforcer.layouts.texts import written_key
from enforcer.regex import demanding, example, literal
from enforcer.schema.nodes import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from enforcer.layouts import BoundLayout
    from enforcer.layouts.pattern import Piece
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.nodes import Formula, Value

_MOST_PLACES = 64
_MOST_STRINGS = 40
_TEXTS = 4  # of one language of strings
_LENGTH = 48  # characters of each
_WORK = 4_000  # sizes of what may follow, summed, to choose one text
_DEEP = 24


def probes(grammar: ArgumentGrammar) -> Iterator[tuple[str, str]]:
    """Yield beginnings of texts, each with the path of the value that it ends in.

    They are legal but for values that only make sense together: whoever tries them stops at
    what is refused.
    """
    seen = {grammar.root}
    strings: set[Regex] = set()
    queue = [("$", "", grammar.root, 0)]
    for path, before, formula, depth in queue:
        value = grammar.definitions[formula]
        yield path, before
        for string in _strings(value):
            if string not in strings and len(strings) < _MOST_STRINGS:
                strings.add(string)
                for text in demanding(string, _LENGTH, _TEXTS, budget=_WORK):
                    yield path, before + json.dumps(text, ensure_ascii=False)[:-1]
        if depth >= _DEEP:
            continue
        for step, opening, child in _children(value):
            if child not in seen and len(queue) < _MOST_PLACES:
                seen.add(child)
                queue.append((path + step, before + opening, child, depth + 1))


def probes_of_pairs(
    grammar: ArgumentGrammar, layout: BoundLayout
) -> Iterator[tuple[str, list[str | int]]]:
    """Yield such beginnings where arguments are pairs: texts, and control ids between them."""
    spellable = Spellable(grammar, layout)
    shapes = grammar.definitions[grammar.root].objects
    values = {each: shape.path for shape in shapes for each in shape.names if each[1] != NEVER}
    is_python = layout.layout.kind is Kind.PYTHON
    for (name, value), path in list(values.items())[:_MOST_PLACES]:
        here = f"{path}.properties.{name}"
        within = replace(grammar, root=value)
        if is_python:
            for _, text in probes(within):
                yield here, [f"{name}={text}"]
            continue
        behind = layout.part("key", "type" if spellable.typed else "value")
        opening = [*layout.part(None, "key"), *_key(name, layout), *behind]
        for option in spellable.options(name, value):
            before = opening
            if option.type is not None:
                before = [*opening, *option.type.encode(), *layout.part("type", "value")]
            if option.scalar is not None:
                for text in demanding(option.scalar, _LENGTH, 1, budget=_WORK):
                    yield here, _texts([*before, *text.encode()])
            if option.nested is not None:
                for _, text in probes(within):
                    yield here, _texts([*before, *text.encode()])


def _key(name: str, layout: BoundLayout) -> bytes:
    return (example(written_key(literal(name), layout)) or "").encode()


def _texts(pieces: Iterable[Piece]) -> list[str | int]:
    """Gather bytes to texts, and leave out white space, which need not be there."""
    found: list[str | int] = []
    symbols = [piece for piece in pieces if isinstance(piece, int)]
    for is_id, group in groupby(symbols, key=lambda symbol: symbol >= ID):
        some = list(group)
        found += [symbol - ID for symbol in some] if is_id else [bytes(some).decode()]
    return found


def _strings(value: Value) -> Iterator[Regex]:
    if value.strings is not None:
        yield value.strings
    for shape in value.objects:
        yield from (names for names, child in shape.classes if child != NEVER)


def _children(value: Value) -> Iterator[tuple[str, str, Formula]]:
    for shape in value.objects:
        for name, child in shape.names:
            if child != NEVER:
                yield f".properties.{name}", f"{{{json.dumps(name)}: ", child
        for _, child in shape.classes:
            if child != NEVER:
                yield ".additionalProperties", '{"": ', child
    for array in value.arrays:
        first = array.prefix[0] if array.prefix else array.rest
        if first != NEVER:
            yield ".items", "[", first
