"""`python -m enforcer.diagnosis.stages FILE`: a schema as each stage of the compiler has it.

Owns: writing formulas, normal forms and finished grammars for people to read. Must not know: how
any of them is worked out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from enforcer.errors import EnforcerError
from enforcer.explain.words import kinds, strings_of
from enforcer.regex import ANY
from enforcer.schema import Conventions, Limits, OnUnsupported, compile_schema
from enforcer.schema.algebra import shapes
from enforcer.schema.algebra.formulas import And, Not, OneOf, Or, Reference, Unknown
from enforcer.schema.algebra.shapes import ALWAYS, ANYTHING, NEVER
from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId
from enforcer.schema.reading.document import SchemaDocument
from enforcer.schema.reading.json_values import check_json
from enforcer.schema.reading.parse import SchemaParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from enforcer.regex import Regex
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.algebra.shapes import Formula

_ANY_SCALAR = Value(ANYTHING.null, ANYTHING.booleans, ANYTHING.numbers, ANYTHING.strings)
_ANY_ARRAY = (shapes.ArrayShape(), ArrayShape((), ValueId(ALWAYS)))
_JOINTS = {And: "all of", Or: "some of", OneOf: "one of"}


def stages(schema: object) -> str:
    """Write a schema as each stage of its compilation has it.

    Raises:
        SchemaError: it cannot be compiled.

    """
    limits = Limits()
    document = SchemaDocument(schema, scoped=check_json(schema, limits))
    parser = SchemaParser(document, limits, OnUnsupported.REFUSE, Conventions())
    root = parser.parse(parser.document.root)
    parser.raise_problems()
    grammar = compile_schema(schema)
    values = {each: value for each, value in grammar.definitions.items() if each != NEVER}
    return "\n".join(
        (
            f"# Reading: the schema is the formula f{root}",
            *_formulas(parser.algebra, root),
            "",
            "# Algebra: the normal form of each formula that is asked for",
            *(f"f{each} = {line}" for each, line in _normal_forms(parser.algebra, root)),
            "",
            f"# Finishing: what is left, countable and completable; the value is v{grammar.root}",
            *(f"v{each} = {_value(value, _name_of_value)}" for each, value in values.items()),
        )
    )


def _formulas(algebra: Algebra, root: Formula) -> Iterator[str]:
    """Write the formula of the root, and all that it is built of, once each."""
    seen, queue = {root}, [root]
    for formula in queue:
        node = algebra.look(formula)
        parts: Iterable[Formula] = ()
        if isinstance(node, Unknown | Reference):
            said = "an unknown" if isinstance(node, Unknown) else "a reference"
        elif isinstance(node, Not):
            parts = (node.part,)
            said = f"not {_name(node.part)}"
        elif isinstance(node, And | Or | OneOf):
            parts = node.parts
            said = f"{_JOINTS[type(node)]}({', '.join(map(_name, parts))})"
        else:
            parts = node.children()
            said = _value(node, _name)
        yield f"f{formula} = {said}"
        fresh = [each for each in dict.fromkeys(parts) if each not in {*seen, NEVER, ALWAYS}]
        seen.update(fresh)
        queue.extend(fresh)


def _normal_forms(algebra: Algebra, root: Formula) -> Iterator[tuple[Formula, str]]:
    """Write the normal form of the root and of all formulas that it mentions."""
    seen, queue = {NEVER, ALWAYS, root}, [root]
    for formula in queue:
        value = algebra.normal(formula)
        yield formula, _value(value, _name)
        fresh = [each for each in dict.fromkeys(value.children()) if each not in seen]
        seen.update(fresh)
        queue.extend(fresh)


def _name(formula: Formula) -> str:
    return {NEVER: "never", ALWAYS: "anything"}.get(formula, f"f{formula}")


def _name_of_value(formula: Formula) -> str:
    return "never" if formula == NEVER else f"v{formula}"


def _value(value: shapes.Value | Value, name: Callable[[Formula], str]) -> str:
    scalar = Value(value.null, value.booleans, value.numbers, value.strings)
    scalars = ["any scalar"] if scalar == _ANY_SCALAR else kinds(scalar, ())
    arrays = [_array(each, name) for each in value.arrays]
    objects = [_object(each, name) for each in value.objects]
    return "\n   | ".join([*scalars, *arrays, *objects]) or "never"


def _array(array: shapes.ArrayShape | ArrayShape, name: Callable[[Formula], str]) -> str:
    if array in _ANY_ARRAY:
        return "any array"
    said = [
        *map(name, array.prefix),
        *([] if array.rest == NEVER else [f"{name(array.rest)}, …"]),
    ]
    bounds = [_bounds("elements", array.minimum, array.maximum)]
    if isinstance(array, ArrayShape):
        for i, count in enumerate(array.contains):
            ways = dict.fromkeys(x.value for slot in array.choices for x in slot if i in x.counted)
            counted = _listed(map(name, ways))
            bounds.append(f"{_bounds('times', count.minimum, count.maximum)} {counted}")
    else:
        for each in array.contains:
            times = _bounds("times", each.minimum, each.maximum)
            bounds.append(f"{times} {name(each.value)}")
        bounds += ["repeated"] * array.repeated
    bounds += ["unique"] * array.unique
    return f"array [{', '.join(said)}]" + "".join(f"; {each}" for each in bounds if each)


def _object(shape: shapes.ObjectShape | ObjectShape, name: Callable[[Formula], str]) -> str:
    said = [
        f"{key}{'' if key in shape.required else '?'}: {name(child)}" for key, child in shape.names
    ]
    said += [f"{_names(names)}: {name(child)}" for names, child in shape.classes if child != NEVER]
    bounds = [_bounds("properties", shape.minimum, shape.maximum)]
    bounds += [f"some of {_listed(sorted(each))}" for each in sorted(shape.some, key=sorted)]
    for each in shape.marks if isinstance(shape, ObjectShape) else shape.witnesses:
        bounds.append(f"some {_names(each.names)}: {name(each.value)}")
    if isinstance(shape, ObjectShape) and shape.distinct_names:
        bounds.append("no name twice")
    return f"object {{{', '.join(said)}}}" + "".join(f"; {each}" for each in bounds if each)


def _names(names: Regex) -> str:
    if names == ANY:
        return "…"
    members = strings_of(names)
    return "some names" if members is None else _listed(map(json.dumps, members))


def _bounds(what: str, minimum: int, maximum: int | None) -> str:
    least = [f"at least {minimum}"] if minimum else []
    most = [] if maximum is None else [f"at most {maximum}"]
    return f"{' and '.join([*least, *most])} {what}" if least or most else ""


def _listed(parts: Iterable[str]) -> str:
    return " or ".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Show the stages of the schema in a file; returns the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    try:
        sys.stdout.write(stages(json.loads(Path(given[0]).read_text("utf-8"))))
    except (EnforcerError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
