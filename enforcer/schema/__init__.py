"""The schema compiler: a JSON Schema in, an engine-neutral grammar out.

Three stages, each a package: `reading` turns JSON and its keywords into a formula, `algebra` knows
which values a formula stands for, `finishing` lists all that can be reached, so that an engine can
count and complete it. `grammar` is what comes out, `limits` what a caller chooses.

Owns: the order of the stages, and the names that callers need. Every schema is either compiled
exactly, or refused with the path and the keyword. Must not know: engines, tools, hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import Problem, SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema.algebra.formulas import is_of_objects
from enforcer.schema.grammar import ANY_OBJECT, ArgumentGrammar
from enforcer.schema.limits import Conventions, Formats, Integers, Limits, OnUnsupported, Root
from enforcer.schema.lowering.pruning import prune
from enforcer.schema.lowering.unfolding import unfold
from enforcer.schema.lowering.values import Lowering
from enforcer.schema.provenance import Provenance
from enforcer.schema.reading.document import Closing, SchemaDocument
from enforcer.schema.reading.json_values import check_json
from enforcer.schema.reading.parse import SchemaParser
from enforcer.schema.reading.unsatisfiable_part import unsatisfiable_part

if TYPE_CHECKING:
    from enforcer.schema.grammar import Formula, Value
    from enforcer.schema.reading.document import SchemaLocation

__all__ = [
    "ArgumentGrammar",
    "Conventions",
    "Formats",
    "Integers",
    "Limits",
    "OnUnsupported",
    "Root",
    "compile_schema",
    "trace_schema",
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
    return trace_schema(
        schema, limits=limits, on_unsupported=on_unsupported, root=root, conventions=conventions
    )[0]


def trace_schema(
    schema: object,
    *,
    limits: Limits = _DEFAULT,
    on_unsupported: OnUnsupported = OnUnsupported.REFUSE,
    root: Root = Root.ANY,
    conventions: Conventions = _USUAL,
) -> tuple[ArgumentGrammar, Provenance]:
    """Compile a schema as `compile_schema` does, and tell where its values come from.

    What tells it holds all that was read, and is not for keeping.
    """
    if schema is None and root is Root.OBJECT:
        schema = True
    try:
        return _compile(schema, limits, on_unsupported, root, conventions)
    except RecursionError:
        raise SchemaLimit.of(
            "$", "", "the schema is nested too deeply; flatten it with `$defs`"
        ) from None


def _compile(
    schema: object,
    limits: Limits,
    on_unsupported: OnUnsupported,
    root: Root,
    conventions: Conventions,
) -> tuple[ArgumentGrammar, Provenance]:
    # Reading: one formula for the whole schema, and what was noted on the way.
    closing = Closing.WHOLE if conventions.closed_objects else Closing.OPEN
    document = SchemaDocument(schema, scoped=check_json(schema, limits), closing=closing)
    parser = SchemaParser(document, limits, on_unsupported, conventions)
    formula = parser.whole()

    # Algebra: asked for the normal form of each formula when the next stage comes to it.
    algebra = parser.algebra
    if root is Root.OBJECT and not is_of_objects(algebra.look(formula)):
        formula = algebra.conj((formula, algebra.value(ANY_OBJECT)))
    parser.positions[formula] = [document.root]

    # Finishing: all values that are reached, each lowered; then without those that never end.
    refused: list[tuple[Formula, Problem]] = []
    lowered: list[Formula] = []

    def refuse(each: Formula, path: str, keyword: str, reason: str) -> None:
        refused.append((each, Problem(path, keyword, reason)))

    def lower(each: Formula) -> Value:
        lowered.append(each)
        return lowering.lower(each)

    lowering = Lowering(algebra, limits, refuse)
    try:
        reached = unfold(formula, limits, lower)
    except UnsupportedSchema as error:
        # What stands in for something unsupported may be the reason.
        parser.unsupported.update(dict.fromkeys(problem for _, problem in refused))
        parser.raise_problems()
        places = parser.positions.get(lowered[-1], [])
        if isinstance(error, SchemaLimit) and error.path == "$" and places:
            raise error.under(places[0].path) from None
        raise
    provenance = Provenance(parser, reached.alias)
    for each, problem in refused:
        parser.unsupported.update(dict.fromkeys(provenance.offenders(each, problem)))
    parser.raise_problems()
    definitions = prune(reached.definitions, reached.root)

    def fits(place: SchemaLocation) -> bool:
        try:
            found = unfold(parser.parse(place), limits, lowering.lower)
        except (UnsupportedSchema, RecursionError):
            return True  # as far as anyone knows
        return prune(found.definitions, found.root) is not None

    if definitions is None:
        raise UnsatisfiableSchema((unsatisfiable_part(parser, fits),))
    relaxed = tuple(parser.unsupported)
    return ArgumentGrammar(definitions, reached.root, relaxed, schema), provenance
