"""Constraints across the properties of one object, made countable or refused.

Owns: turning counts of properties, clauses and witnesses into required and marked names
that an engine can count. Where a name that is written twice would count twice, it must not be
(`distinct_names`).
Must not know: keywords' syntax, engines.
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
        "properties whose names have a pattern with a greatest length cannot be counted; "
        "declare the names, or set `additionalProperties` to false"
    ),
    "not": (
        "that some undeclared property has a certain value cannot be enforced where the names "
        "have a pattern with a greatest length; declare the property"
    ),
}


class ObjectLowering:
    """Rewrites one object shape after another; for its arguments, see `lowering.Lowering`."""

    def __init__(
        self, algebra: Algebra, limits: Limits, refuse: Callable[[str, str, str], None]
    ) -> None:
        self._algebra = algebra
        self._limits = limits
        self._refuse = refuse

    def lower(self, shape: ObjectShape) -> list[ObjectShape]:
        """Return shapes that can be counted, of which any object fits one if it fits this."""
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
        """Split a shape by the properties that may be its witnesses.

        What stays a witness after that is an undeclared property.
        """
        done = [replace(shape, witnesses=())]
        for witness in shape.witnesses:
            done = [x for each in done for x in self._algebra.objects.placed(each, witness)]
            self._algebra.spend(len(done))
        return done

    def _with_one_undeclared(self, shape: ObjectShape) -> ObjectShape:
        """Leave out the witnesses where there is room for one property that is all of them."""
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
        """List which undeclared properties count as which witnesses."""
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
                    # With another value, the name is used up, and the witness is still missing.
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
    return bool(
        shape.minimum
        or shape.witnesses
        or (shape.names and any(_may_be_declared(*each) for each in shape.classes))
    )


def _may_be_declared(names: Regex, value: Formula) -> bool:
    """Return whether the names of a class may be few, so that all of them may be declared."""
    return value != NEVER and (names.boolean or names.longest is not None)
