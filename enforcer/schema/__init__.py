"""The schema compiler: a JSON Schema in, an engine-neutral grammar out.

Three stages, each a package: `reading` turns JSON and its keywords into a formula, `algebra` gives
the normal form of a formula, `lowering` lists all values that can be reached and rewrites them for
engines, which count with a few bits. `grammar` is the IR that comes out, `limits` holds the
caller's settings. Every schema is compiled exactly, or refused with the path and the keyword; in
relax mode the refused constraints are left out. Must not know: engines, tools, hosts.
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
    """Compile a JSON Schema to a grammar.

    Args:
        schema: parsed JSON, an object or a boolean; with `Root.OBJECT` also None, for any object.
        limits: bounds above which a schema is refused.
        on_unsupported: whether constraints that cannot be enforced exactly are refused, or left
            out and reported in `ArgumentGrammar.relaxed`.
        root: whether the value must be an object besides fitting the schema.
        conventions: readings of keywords that depart from the standard.

    Raises:
        InvalidSchema: not a JSON Schema.
        UnsupportedSchema: cannot be enforced exactly; lists every offender.
        UnsatisfiableSchema: no value fits it.
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
    """Compile a schema as `compile_schema` does; return the sources of its values too.

    The provenance holds the whole parsed schema: do not cache it.
    """
    if schema is None and root is Root.OBJECT:
        schema = True
    closing = Closing.WHOLE if conventions.closed_objects else Closing.OPEN
    try:
        document = SchemaDocument(schema, scoped=check_json(schema, limits), closing=closing)
        return _compile(SchemaParser(document, limits, on_unsupported, conventions), root)
    except RecursionError:
        raise SchemaLimit.of(
            "$", "", "the schema is nested too deeply; flatten it with `$defs`"
        ) from None


def _compile(parser: SchemaParser, root: Root) -> tuple[ArgumentGrammar, Provenance]:
    # Reading: one formula for the whole schema; problems are collected in the parser.
    algebra, limits, document = parser.algebra, parser.limits, parser.document
    formula = parser.whole()

    # Algebra: the normal form of a formula is worked out when lowering comes to it.
    if root is Root.OBJECT and not is_of_objects(algebra.look(formula)):
        formula = algebra.conj((formula, algebra.value(ANY_OBJECT)))
    parser.positions[formula] = [document.root]

    # Lowering: all values that are reached; then without those that can never be completed.
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
        # A formula that replaces something unsupported may be the reason.
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
            return True  # unknown
        return prune(found.definitions, found.root) is not None

    if definitions is None:
        raise UnsatisfiableSchema((unsatisfiable_part(parser, fits),))
    relaxed, schema = tuple(parser.unsupported), document.root.schema
    return ArgumentGrammar(definitions, reached.root, relaxed, schema), provenance
