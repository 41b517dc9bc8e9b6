"""`python -m enforcer.diagnosis.stages FILE`: a schema as each stage of the compiler has it.

Owns: writing formulas, normal forms and finished grammars for people to read. Must not know: how
any of them is worked out.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enforcer.errors import EnforcerError
from enforcer.explain.words import kinds, strings_of
from enforcer.regex import ANY
from enforcer.schema import Conventions, Limits, OnUnsupported, compile_schema
from enforcer.schema.algebra.formulas import And, Not, OneOf, Or, Reference, Unknown
from enforcer.schema.grammar import ALWAYS, ANYTHING, NEVER, ArrayShape, Value
from enforcer.schema.reading.document import SchemaDocument
from enforcer.schema.reading.json_values import check_json
from enforcer.schema.reading.parse import SchemaParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from enforcer.regex import Regex
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula, ObjectShape

_ANY_SCALAR = Value(ANYTHING.null, ANYTHING.booleans, ANYTHING.numbers, ANYTHING.strings)
# Fields of shapes that are written out, and what says nothing in the others.
_SAID = ("prefix", "rest", "names", "classes", "required")
_NOTHING: tuple[object, ...] = (0, None, (), frozenset())
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
            *_reached(root, partial(_formula, parser.algebra)),
            "",
            "# Algebra: the normal form of each formula that is asked for",
            *_reached(root, partial(_normal_form, parser.algebra)),
            "",
            f"# Finishing: what is left, countable and completable; the value is v{grammar.root}",
            *(f"v{each} = {_value(value, _name_of_value)}" for each, value in values.items()),
        )
    )


def _reached(
    root: Formula, written: Callable[[Formula], tuple[str, Iterable[Formula]]]
) -> Iterator[str]:
    """Write the root and all that it is built of, once each; `written` gives a text and parts."""
    seen, queue = {NEVER, ALWAYS, root}, [root]
    for formula in queue:
        said, parts = written(formula)
        yield f"f{formula} = {said}"
        fresh = [each for each in dict.fromkeys(parts) if each not in seen]
        seen.update(fresh)
        queue.extend(fresh)


def _formula(algebra: Algebra, formula: Formula) -> tuple[str, Iterable[Formula]]:
    node = algebra.look(formula)
    if isinstance(node, Unknown | Reference):
        return "an unknown" if isinstance(node, Unknown) else "a reference", ()
    if isinstance(node, Not):
        return f"not {_name(node.part)}", (node.part,)
    if isinstance(node, And | Or | OneOf):
        return f"{_JOINTS[type(node)]}({', '.join(map(_name, node.parts))})", node.parts
    return _value(node, _name), node.children()


def _normal_form(algebra: Algebra, formula: Formula) -> tuple[str, Iterable[Formula]]:
    value = algebra.normal(formula)
    return _value(value, _name), value.children()


def _name(formula: Formula) -> str:
    return {NEVER: "never", ALWAYS: "anything"}.get(formula, f"f{formula}")


def _name_of_value(formula: Formula) -> str:
    return "never" if formula == NEVER else f"v{formula}"


def _value(value: Value, name: Callable[[Formula], str]) -> str:
    scalar = Value(value.null, value.booleans, value.numbers, value.strings)
    scalars = ["any scalar"] if scalar == _ANY_SCALAR else kinds(scalar, ())
    arrays = [_array(each, name) for each in value.arrays]
    objects = [_object(each, name) for each in value.objects]
    return "\n   | ".join([*scalars, *arrays, *objects]) or "never"


def _array(array: ArrayShape, name: Callable[[Formula], str]) -> str:
    if array == ArrayShape():
        return "any array"
    said = [
        *map(name, array.prefix),
        *([] if array.rest == NEVER else [f"{name(array.rest)}, …"]),
    ]
    return f"array [{', '.join(said)}]{_more(array)}"


def _object(shape: ObjectShape, name: Callable[[Formula], str]) -> str:
    said = [
        f"{key}{'' if key in shape.required else '?'}: {name(child)}" for key, child in shape.names
    ]
    said += [f"{_names(names)}: {name(child)}" for names, child in shape.classes if child != NEVER]
    return f"object {{{', '.join(said)}}}{_more(shape)}"


def _more(shape: Any) -> str:
    """Write the other fields of a shape that demand something."""
    found = {each.name: getattr(shape, each.name) for each in fields(shape) if each.compare}
    return "".join(
        f"; {name} {value}"
        for name, value in found.items()
        if name not in _SAID and value not in _NOTHING
    )


def _names(names: Regex) -> str:
    if names == ANY:
        return "…"
    members = strings_of(names)
    return "some names" if members is None else " or ".join(map(json.dumps, members))


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
