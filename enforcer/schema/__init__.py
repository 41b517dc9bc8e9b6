"""The schema compiler: a JSON Schema in, an engine-neutral grammar out.

Owns: `compile_schema` and the names that callers need. Every schema is either compiled
exactly, or refused with the path and the keyword. Must not know: engines, tools, hosts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from enforcer.errors import Problem, SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema.finishing.pruning import prune
from enforcer.schema.finishing.settle import Settler
from enforcer.schema.finishing.unfolding import unfold
from enforcer.schema.limits import Limits, OnUnsupported, Root
from enforcer.schema.nodes import ANY_OBJECT, ArgumentGrammar
from enforcer.schema.reading.culprit import culprit
from enforcer.schema.reading.document import Document, check_json
from enforcer.schema.reading.parse import SchemaParser

if TYPE_CHECKING:
    from enforcer.schema.reading.document import Place

__all__ = ["ArgumentGrammar", "Limits", "OnUnsupported", "Root", "compile_schema"]

_DEFAULT = Limits()


def compile_schema(
    schema: object,
    *,
    limits: Limits = _DEFAULT,
    on_unsupported: OnUnsupported = OnUnsupported.REFUSE,
    root: Root = Root.ANY,
) -> ArgumentGrammar:
    """Compile a JSON Schema, given as parsed JSON.

    Args:
        schema: an object or a boolean; with `Root.OBJECT` also None, for any object.
        limits: bounds above which a schema is refused.
        on_unsupported: whether what cannot be enforced exactly is refused, or left out
            and reported in `ArgumentGrammar.relaxed`.
        root: whether the value must be an object besides fitting the schema.

    Raises:
        InvalidSchema: not a JSON Schema.
        UnsupportedSchema: cannot be enforced exactly; lists every offender.
        UnsatisfiableSchema: nothing fits it.
        SchemaLimit: over a limit.

    """
    if schema is None and root is Root.OBJECT:
        schema = True
    try:
        return _compile(schema, limits, on_unsupported, root)
    except RecursionError:
        raise SchemaLimit(
            (Problem("$", "", "the schema is nested too deeply; flatten it with `$defs`"),)
        ) from None


def _compile(
    schema: object, limits: Limits, on_unsupported: OnUnsupported, root: Root
) -> ArgumentGrammar:
    scoped = check_json(schema, limits)
    document = Document(schema, scoped=scoped)
    parser = SchemaParser(document, limits, on_unsupported)
    formula = parser.parse(document.root)
    parser.raise_malformed()
    algebra = parser.algebra
    if root is Root.OBJECT:
        formula = algebra.conj((formula, algebra.value(ANY_OBJECT)))

    def refuse(path: str, keyword: str, reason: str) -> None:
        parser.unsupported[Problem(path, keyword, reason)] = None

    def fits(place: Place) -> bool:
        try:
            found = unfold(algebra, parser.parse(place), limits, settler.settle)
        except (UnsupportedSchema, RecursionError):
            return True  # as far as anyone knows
        return prune(*found) is not None

    settler = Settler(algebra, limits, refuse, parser.divisors, parser.patterns)
    try:
        definitions, top = unfold(algebra, formula, limits, settler.settle_all)
    except UnsupportedSchema:
        # What stands in for something unsupported may be the reason.
        parser.raise_problems()
        raise
    parser.raise_problems()
    pruned = prune(definitions, top)
    if pruned is None:
        raise UnsatisfiableSchema((culprit(parser, fits),))
    key = f"{root.value} {on_unsupported.value} {limits!r} {json.dumps(schema, sort_keys=False)}"
    return ArgumentGrammar(pruned, top, tuple(parser.unsupported), key)
