"""Where a normal form leads back to itself, for engines that can only go down.

Owns: finding the first value that may contain itself, and naming what in the schema
leads there: an open object or array, or a reference. Must not know: rules, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import Problem
from enforcer.schema.grammar import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import Value, ValueId


def recursion(grammar: ArgumentGrammar, advice: str) -> Problem | None:
    """Return the problem of the first value that may contain itself, if one does.

    Args:
        grammar: the normal form.
        advice: what to do instead, the end of the reason.

    """
    root = grammar.root
    edges = {root: ("$", "$ref")}
    under_way = {root}
    walks = [(root, _children(grammar.definitions[root]))]
    done: set[ValueId] = set()
    while walks:
        number, children = walks[-1]
        for child, path, keyword in children:
            if child in under_way:
                where, what = edges[child]
                if what != "$ref" and not _holds_anything(grammar.definitions[child]):
                    what = "$ref"
                return Problem(where, what, f"values may nest without end here; {advice}")
            if child not in done and grammar.definitions[child] != NOTHING:
                edges[child] = (path, keyword)
                under_way.add(child)
                walks.append((child, _children(grammar.definitions[child])))
                break
        else:
            walks.pop()
            under_way.discard(number)
            done.add(number)
    return None


def _children(value: Value) -> Iterator[tuple[ValueId, str, str]]:
    """Yield each child with its path and the keyword that lets it be there."""
    for shape in value.objects:
        for name, child in shape.names:
            yield child, f"{shape.path}.properties.{name}", ""
        for _, child in shape.classes:
            yield child, shape.path, "additionalProperties"
    for array in value.arrays:
        for i, child in enumerate(array.prefix):
            yield child, f"{array.path}.prefixItems[{i}]", ""
        yield array.rest, array.path, "items"


def _holds_anything(value: Value) -> bool:
    """Tell whether a value is open: of every type, as where the schema says nothing."""
    return bool(value.null and value.booleans and value.numbers and value.strings and value.objects)
