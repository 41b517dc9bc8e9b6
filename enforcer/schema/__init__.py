"""The schema compiler: a JSON Schema in, an engine-neutral grammar out.

Three stages, each a package: `reading` turns JSON and its keywords into a formula, `algebra` knows
which values a formula stands for, `finishing` lists all that can be reached, so that an engine can
count and complete it. `nodes` and `limits` are the words that they share.

Owns: the order of the stages, and the names that callers need. Every schema is either compiled
exactly, or refused with the path and the keyword. Must not know: engines, tools, hosts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from enforcer.errors import Problem, SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema.finishing.distinct import Mixed, forgotten, tracks
from enforcer.schema.finishing.pruning import prune
from enforcer.schema.finishing.settle import Settler
from enforcer.schema.finishing.unfolding import unfold
from enforcer.schema.limits import Conventions, Formats, Limits, OnUnsupported, Root
from enforcer.schema.nodes import ANY_OBJECT, ArgumentGrammar
from enforcer.schema.reading.culprit import culprit
from enforcer.schema.reading.document import Closing, SchemaDocument, check_json
from enforcer.schema.reading.parse import SchemaParser

if TYPE_CHECKING:
    from enforcer.schema.reading.document import Place

__all__ = [
    "ArgumentGrammar",
    "Conventions",
    "Formats",
    "Limits",
    "OnUnsupported",
    "Root",
    "compile_schema",
]

_DEFAULT = Limits()
_USUAL = Conventions()


def compile_schema(
    schema: object,
    *,
    limits: Limits = _DEFAULT,
    on_unsupported: OnUnsupported = OnUnsupported.REFUSE,
    root: Root = Root.ANY,
    conventions: Conventions = _USUAL,
) -> ArgumentGrammar:
    """Compile a JSON Schema, given as parsed JSON.

    Args:
        schema: an object or a boolean; with `Root.OBJECT` also None, for any object.
        limits: bounds above which a schema is refused.
        on_unsupported: whether what cannot be enforced exactly is refused, or left out
            and reported in `ArgumentGrammar.relaxed`.
        root: whether the value must be an object besides fitting the schema.
        conventions: what authors are taken to mean where they and the standard differ.

    Raises:
        InvalidSchema: not a JSON Schema.
        UnsupportedSchema: cannot be enforced exactly; lists every offender.
        UnsatisfiableSchema: nothing fits it.
        SchemaLimit: over a limit.

    """
    if schema is None and root is Root.OBJECT:
        schema = True
    try:
        return _compile(schema, limits, on_unsupported, root, conventions)
    except RecursionError:
        raise SchemaLimit(
            (Problem("$", "", "the schema is nested too deeply; flatten it with `$defs`"),)
        ) from None


def _compile(
    schema: object,
    limits: Limits,
    on_unsupported: OnUnsupported,
    root: Root,
    conventions: Conventions,
) -> ArgumentGrammar:
    # Reading: one formula for the whole schema, and what was noted on the way.
    closing = Closing.WHOLE if conventions.closed_objects else Closing.OPEN
    document = SchemaDocument(schema, scoped=check_json(schema, limits), closing=closing)
    parser = SchemaParser(document, limits, on_unsupported, conventions)
    formula = parser.parse(document.root)
    parser.raise_malformed()

    # Algebra: asked for the normal form of each formula when the next stage comes to it.
    algebra = parser.algebra
    if root is Root.OBJECT:
        formula = algebra.conj((formula, algebra.value(ANY_OBJECT)))

    # Finishing: all values that are reached, each settled; then without those that never end.
    def refuse(path: str, keyword: str, reason: str) -> None:
        parser.unsupported[Problem(path, keyword, reason)] = None

    settler = Settler(algebra, limits, refuse, parser.divisors, parser.patterns)
    try:
        reached, top = unfold(algebra, formula, limits, settler.settle_all)
    except UnsupportedSchema:
        # What stands in for something unsupported may be the reason.
        parser.raise_problems()
        raise
    parser.raise_problems()
    definitions = prune(reached, top)

    def fits(place: Place) -> bool:
        try:
            found = unfold(algebra, parser.parse(place), limits, settler.settle)
        except (UnsupportedSchema, RecursionError):
            return True  # as far as anyone knows
        return prune(*found) is not None

    if definitions is None:
        raise UnsatisfiableSchema((culprit(parser, fits),))
    while True:  # until it is plain where arrays of distinct elements are
        try:
            tracks(definitions, top)
            break
        except Mixed as mixed:
            for shape in mixed.shapes:
                refuse(f"{shape.path}.uniqueItems", "uniqueItems", mixed.reason)
            definitions = forgotten(definitions, mixed.shapes)
    parser.raise_problems()
    asked = f"{root.value} {on_unsupported.value} {limits!r} {conventions!r}"
    key = f"{asked} {json.dumps(schema, sort_keys=False)}"
    return ArgumentGrammar(definitions, top, tuple(parser.unsupported), key)
