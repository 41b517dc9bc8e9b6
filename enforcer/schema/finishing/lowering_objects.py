"""Constraints across the properties of one object, made countable or refused.

Owns: turning counts of properties, clauses and witnesses into required and marked names
that an engine can count. Where a name that is written twice would count twice, it must not be
(`distinct_names`).
Must not know: keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from enforcer.regex import ANY, both, either, fullmatch, inverse, literal
from enforcer.schema.finishing.infinite import is_infinite, stays_infinite
from enforcer.schema.grammar import NEVER, Mark, ObjectShape, Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from enforcer.regex import Regex
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula
    from enforcer.schema.limits import Limits

_MOST_WITNESSES = 3  # properties counted together in one object


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
        if shape.maximum is not None and shape.some:
            return [each for x in self._with_clauses_split(shape) for each in self.lower(x)]
        shape = self._with_finite_names_declared(shape)
        lowered = []
        for each in self._with_witnesses_placed(shape):
            if each.witnesses and each.maximum == len(each.required) + 1:
                each = self._with_one_undeclared(each)  # noqa: PLW2901 - the same, rid of witnesses
            tidied = self._algebra.objects.tidy(each)
            if tidied is not None:
                countable, distinct = self._minimum(tidied)
                lowered.append(self._marked(countable, distinct=distinct))
        return lowered

    def _with_clauses_split(self, shape: ObjectShape) -> list[ObjectShape]:
        """Require one name of each clause; with a greatest count, room is kept for them."""
        done = [replace(shape, some=frozenset())]
        for clause in sorted(shape.some, key=sorted):
            done = [replace(x, required=x.required | {n}) for x in done for n in sorted(clause)]
            self._algebra.spend(len(done))
        tidied = (self._algebra.objects.tidy(each) for each in done)
        return [each for each in tidied if each is not None]

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

    def _minimum(self, shape: ObjectShape) -> tuple[ObjectShape, bool]:
        """Give a shape whose least count can be kept, and if that takes distinct names."""
        is_open = any(value != NEVER for _, value in shape.classes)
        most = len(shape.required) + 1
        if not shape.minimum or not is_open or shape.minimum <= most:
            return shape, False
        if _has_fresh_names(shape):
            return shape, True
        self._refuse(
            f"{shape.path}.minProperties",
            "minProperties",
            "properties whose names have a pattern with a greatest length cannot be counted; "
            "declare the names, or set `additionalProperties` to false",
        )
        return replace(shape, minimum=most), False

    def _with_witnesses_placed(self, shape: ObjectShape) -> list[ObjectShape]:
        """Split a shape by the properties that may be its witnesses.

        A declared name that is a witness becomes required. What stays a witness after
        that is an undeclared property.
        """
        algebra, done = self._algebra, [replace(shape, witnesses=())]
        for witness in shape.witnesses:
            split = []
            for each in done:
                for i, (name, value) in enumerate(each.names):
                    hit = algebra.conj((value, witness.value))
                    if _in(witness.names, name) and not algebra.is_empty(hit):
                        names = (*each.names[:i], (name, hit), *each.names[i + 1 :])
                        split.append(replace(each, names=names, required=each.required | {name}))
                if self._has_undeclared(each, witness):
                    split.append(replace(each, witnesses=(*each.witnesses, witness)))
            algebra.spend(len(split))
            done = split
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

    def _has_undeclared(self, shape: ObjectShape, witness: Witness) -> bool:
        return any(
            self._algebra.meet_strings(names, witness.names) is not None
            and not self._algebra.is_empty(self._algebra.conj((value, witness.value)))
            for names, value in shape.classes
        )

    def _marked(self, shape: ObjectShape, *, distinct: bool) -> ObjectShape:
        """List which undeclared properties count as which witnesses."""
        bare = replace(shape, witnesses=(), distinct_names=distinct)
        if not shape.witnesses:
            return bare
        if len(shape.witnesses) > _MOST_WITNESSES or shape.maximum is not None:
            self._refuse(
                shape.path,
                "not",
                "negated constraints on undeclared properties cannot be combined like this",
            )
            return bare
        algebra, marks = self._algebra, []
        repeatable = True
        indices = range(len(shape.witnesses))
        for hits in (x for n in range(1, len(indices) + 1) for x in combinations(indices, n)):
            wanted = [shape.witnesses[i] for i in hits]
            names = both(*(each.names for each in wanted))
            fits = algebra.conj(each.value for each in wanted)
            for regex, value in shape.classes:
                common = algebra.meet_strings(regex, names)
                hit = algebra.conj((value, fits))
                if common is None or algebra.is_empty(hit):
                    continue
                if not algebra.is_empty(algebra.conj((value, algebra.neg(fits)))):
                    # The same name might follow again with a value that does not fit, and
                    # the last one is the one that counts.
                    repeatable = False
                marks.append(Mark(common, hit, hits))
        marked = replace(
            bare,
            witnesses=tuple(Witness(ANY, NEVER, each.path) for each in shape.witnesses),
            marks=tuple(marks),
        )
        if repeatable:
            return marked
        if _has_fresh_names(shape) and len(_endless(marks)) == len(shape.witnesses):
            return replace(marked, distinct_names=True)
        self._refuse(
            shape.witnesses[0].path,
            "not",
            "that some undeclared property has a certain value cannot be enforced where the names "
            "have a pattern with a greatest length; declare the property",
        )
        return bare


def may_run_out(shape: ObjectShape) -> bool:
    """Return whether undeclared names may be fewer than are counted, since some were left out."""
    is_counted = shape.minimum > len(shape.required) + 1 or bool(shape.witnesses)
    if not shape.distinct_names or not is_counted:
        return False
    return not _has_fresh_names(shape) or len(_endless(shape.marks)) < len(shape.witnesses)


def _endless(marks: Iterable[Mark]) -> set[int]:
    """Return the witnesses for which there are infinitely many names."""
    return {i for mark in marks if is_infinite(mark.names) for i in mark.hits}


def _has_fresh_names(shape: ObjectShape) -> bool:
    """Tell whether any beginning of an undeclared name can always become one not used yet."""
    return all(stays_infinite(names) for names, value in shape.classes if value != NEVER)


def _in(names: Regex, name: str) -> bool:
    return names == ANY or fullmatch(names, name)


def _needs_lowering(shape: ObjectShape) -> bool:
    return bool(
        shape.minimum
        or shape.witnesses
        or (shape.maximum is not None and shape.some)
        or (shape.names and any(_may_be_declared(*each) for each in shape.classes))
    )


def _may_be_declared(names: Regex, value: Formula) -> bool:
    """Tell whether the names of a class may be few, so that all of them may be declared."""
    return value != NEVER and (names.boolean or names.longest is not None)
