"""Lowering of object shapes: counts and witnesses become required and marked names.

Engines can count these names. `distinct_names` is set where a name that is written twice would
count twice. Must not know: keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.regex import ANY, both, either, inverse, literal
from enforcer.schema.grammar import NEVER, Mark, ObjectShape, Witness
from enforcer.schema.lowering.distinct import may_run_out, offence, uncounted

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.regex import Regex
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula
    from enforcer.schema.limits import Limits

_COMBINED = "negated constraints on undeclared properties cannot be combined like this"
_RUN_OUT = {
    "minProperties": (
        "properties cannot be counted if a pattern limits the length of their names; "
        "declare the names, or set `additionalProperties` to false"
    ),
    "not": (
        "a value of some undeclared property cannot be demanded if a pattern limits the length of "
        "names; declare the property"
    ),
}


class ObjectLowering:
    """Lowers object shapes; for the arguments see `values.Lowering`."""

    def __init__(
        self, algebra: Algebra, limits: Limits, refuse: Callable[[str, str, str], None]
    ) -> None:
        self._algebra = algebra
        self._limits = limits
        self._refuse = refuse

    def lower(self, shape: ObjectShape) -> list[ObjectShape]:
        """Return lowered shapes whose union is the shape."""
        if not _needs_lowering(shape):
            return [shape]
        shape = self._with_finite_names_declared(shape)
        lowered = []
        for each in self._with_witnesses_placed(shape):
            if each.witnesses and each.maximum == len(each.required) + 1:
                each = self._with_one_undeclared(each)  # noqa: PLW2901 - the same, rid of witnesses
            tidied = self._algebra.objects.tidy(each)
            if tidied is not None:
                lowered.append(self._marked(tidied))
        return lowered

    def _with_finite_names_declared(self, shape: ObjectShape) -> ObjectShape:
        names, classes = dict(shape.names), []
        for regex, value in shape.classes:
            members = None
            if value != NEVER:
                undeclared = both(regex, inverse(either(*(literal(name) for name in names))))
                members = self._algebra.members(
                    undeclared if names else regex, self._limits.name_bits
                )
            if members is None:
                classes.append((regex, value))
            else:
                names.update(dict.fromkeys(members, value))
                classes.append((regex, NEVER))
        return replace(shape, names=tuple(names.items()), classes=tuple(classes))

    def _with_witnesses_placed(self, shape: ObjectShape) -> list[ObjectShape]:
        """Return the shape split by the declared properties that may be its witnesses.

        A witness that is left is an undeclared property.
        """
        done = [replace(shape, witnesses=())]
        for witness in shape.witnesses:
            done = [x for each in done for x in self._algebra.objects.placed(each, witness)]
            self._algebra.spend(len(done))
        return done

    def _with_one_undeclared(self, shape: ObjectShape) -> ObjectShape:
        """Return the shape without witnesses, where one further property must be all of them."""
        names = both(*(each.names for each in shape.witnesses))
        fits = self._algebra.conj(each.value for each in shape.witnesses)
        classes: list[tuple[Regex, Formula]] = [(inverse(names), NEVER)]
        for regex, value in shape.classes:
            common = self._algebra.meet_strings(regex, names)
            if common is not None:
                classes.append((common, self._algebra.conj((value, fits))))
        return replace(
            shape,
            names=tuple((n, v if n in shape.required else NEVER) for n, v in shape.names),
            classes=tuple(classes),
            minimum=len(shape.required) + 1,
            witnesses=(),
        )

    def _marked(self, shape: ObjectShape) -> ObjectShape:
        """Return the shape with a mark for each class of names that may be a witness."""
        is_open = any(value != NEVER for _, value in shape.classes)
        distinct = is_open and shape.minimum > len(shape.required) + 1
        if shape.witnesses and shape.maximum is not None:
            self._refuse(shape.path, "not", _COMBINED)
            return replace(shape, witnesses=(), distinct_names=distinct)
        algebra, marks = self._algebra, []
        for number, witness in enumerate(shape.witnesses):
            for regex, value in shape.classes:
                names = algebra.meet_strings(regex, witness.names)
                hit = algebra.conj((value, witness.value))
                if names is not None and not algebra.is_empty(hit):
                    marks.append(Mark(names, hit, number))
                    # With another value the name is taken, and the witness still missing.
                    other = algebra.conj((value, algebra.neg(witness.value)))
                    distinct = distinct or not algebra.is_empty(other)
        counted = replace(
            shape,
            witnesses=tuple(Witness(ANY, NEVER, each.path) for each in shape.witnesses),
            marks=tuple(marks),
            distinct_names=distinct,
        )
        if not may_run_out(counted):
            return counted
        path, keyword = offence(counted)
        self._refuse(path, keyword, _RUN_OUT[keyword])
        return uncounted(counted)


def _needs_lowering(shape: ObjectShape) -> bool:
    if shape.minimum or shape.witnesses:
        return True
    # Of a class with few names, all may be declared.
    return bool(shape.names) and any(
        value != NEVER and (names.boolean or names.longest is not None)
        for names, value in shape.classes
    )
