"""Whether a server would enforce what is declared, and what in it may not be meant.

Owns: what is asked of each declaration, and what the time that it takes means on a server. Must not
know: how files declare schemas (that is `declarations`), what is printed (`check_report`), how
schemas are compiled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING

from enforcer.budget.shortest import Untimed, shortest, unknown_text, untimed
from enforcer.checking.work import LOOK, SECONDS, TOO_SLOW
from enforcer.cli.check_report import Checked, Status
from enforcer.cli.time_limit import TooLong, at_most
from enforcer.errors import (
    InvalidTools,
    Problem,
    RequestError,
    SchemaError,
    SchemaLimit,
    UnsupportedSchema,
)
from enforcer.request import response_format
from enforcer.request.tools import read_name
from enforcer.schema import OnUnsupported, Root, compile_schema
from enforcer.schema.grammar import NEVER
from enforcer.schema.reading.document import step
from enforcer.schema.reading.surprises import surprises
from enforcer.turn.request_envelope import refuse_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.budget.pieces import Pieces
    from enforcer.cli.declarations import Declaration
    from enforcer.engines import ArgumentEngine
    from enforcer.layouts import BoundLayout
    from enforcer.request.options import Options
    from enforcer.schema.grammar import ArgumentGrammar
    from enforcer.turn.dialect import Dialect

_MILLI = 1000
_OTHER_CONSTRAINT = (
    "the server enforces tool calls itself: a `structural_tag` of the client's own cannot be "
    "combined with that; leave it out"
)
_FORMAT = "$.response_format"  # where errors about formats lead
_NEVER_GIVEN = "nothing fits this property, so that it can never be given; is that meant?"
# Times that a server has. To know how far off a schema is helps; nobody waits minutes for it.
_STOPPED = 5
_SLOW = (
    "it counts as slow on a server, which checks it after all others, and answers 503 where too "
    "many of these wait; here it took {seconds:.1f} s of processor time"
)


@dataclass(frozen=True, slots=True)
class Judge:
    """A server, as far as it decides on schemas and formats.

    Attributes:
        engine: what would enforce them.
        options: what to do with what cannot be enforced exactly, and how schemas are read.
        dialect: what calls are written in.
        layout: of arguments there.
        pieces: of the vocabulary, where texts are to be finished within a budget.

    """

    engine: ArgumentEngine
    options: Options
    dialect: Dialect
    layout: BoundLayout
    pieces: Pieces | None = None

    def check(self, declared: Sequence[Declaration], told: set[object]) -> Iterator[Checked]:
        """Check what one document declares, apart from what requests before it have declared.

        Args:
            declared: what it declares.
            told: tools and formats of earlier documents, with their schemas; those of this one
                are added.

        """
        seen: set[object] = set()
        before = frozenset(told)
        for declaration in declared:
            said = declaration.schema if declaration.form is None else declaration.form
            key = (repr(declaration.name), json.dumps(said, sort_keys=True))
            is_tool = declaration.root is Root.OBJECT
            name = declaration.name
            if declaration.form is not None:
                key = (declaration.path, key[1])
                if key in before:
                    continue
            if is_tool and key in before and isinstance(name, str) and name not in seen:
                seen.add(name)
                continue
            told.add(key)
            one = self._check(declaration)
            if is_tool:
                if isinstance(declaration.name, str) and declaration.name in seen:
                    problem = Problem(declaration.name_path, "", "the name is declared twice")
                    one = _refused_too(one, problem)
                else:
                    try:
                        seen.add(read_name(declaration.name, declaration.name_path))
                        refuse_name(self.dialect, str(declaration.name), declaration.name_path)
                    except InvalidTools as error:
                        one = _refused_too(one, Problem(error.path, "", error.reason))
            yield one

    def _check(self, declaration: Declaration) -> Checked:
        """Check one schema or format, and say what the time that it took means on a server."""
        begun = process_time()
        try:
            with at_most(_STOPPED * SECONDS):
                one = self._enforced(declaration)
        except TooLong:
            one = Checked(declaration, Status.REFUSED)
            return _too_slow(one, process_time() - begun, "it was stopped after")
        one = _timed(one, process_time() - begun)
        if declaration.form is not None and declaration.schema is None:
            return one
        if one.status is Status.REFUSED and self.options.on_unsupported is OnUnsupported.REFUSE:
            one = replace(one, relaxable=self._relaxable(one))
        if not isinstance(declaration.schema, Mapping | bool | None):
            return one
        noted = surprises(declaration.schema, closed=self.options.conventions.closed_objects)
        found = SchemaError(tuple(noted)).under(declaration.path).problems if noted else ()
        return replace(one, surprises=(*one.surprises, *found))

    def _enforced(self, declaration: Declaration) -> Checked:
        """Do what a server does before it takes a schema or format."""
        schema = declaration.schema
        if declaration.form is not None and schema is None:
            if self.pieces is not None:
                kind = str((declaration.form or {}).get("type", ""))
                text = unknown_text(kind)
                return _late(
                    declaration, [replace(text, path="$" + text.path.removeprefix(_FORMAT))]
                )
            return self._enforced_text(declaration)
        if declaration.root is Root.OBJECT and not isinstance(schema, Mapping | None):
            reason = f"a tool's schema must be an object, not {type(schema).__name__}"
            problem = Problem(declaration.path, "", reason)
            return Checked(declaration, Status.REFUSED, (problem,), InvalidTools.__name__)
        try:
            grammar = compile_schema(
                {} if schema is None else schema,
                root=declaration.root,
                on_unsupported=self.options.on_unsupported,
                conventions=self.options.conventions,
            )
            # A schema by itself may be of any text; arguments are laid out as the format has them.
            layout = self.layout if declaration.root is Root.OBJECT else None
            self.engine.check(grammar, layout)
            ends = None if self.pieces is None else shortest(grammar, self.pieces)
        except SchemaError as error:
            problems = error.under(declaration.path).problems
            return Checked(declaration, Status.REFUSED, problems, type(error).__name__)
        late = ends.problems if isinstance(ends, Untimed) else ()
        may_be_late = (
            self.options.on_unsupported is not OnUnsupported.REFUSE and declaration.form is None
        )
        if late and not may_be_late:
            return _late(declaration, late)
        relaxed = SchemaError(grammar.relaxed).under(declaration.path) if grammar.relaxed else None
        return Checked(
            declaration,
            Status.RELAXED if relaxed else Status.EXACT,
            relaxed.problems if relaxed else (),
            rules=len(grammar.definitions),
            surprises=tuple(_never_given(grammar, declaration)),
            untimed=tuple(each.under(declaration.path) for each in late),
        )

    def _enforced_text(self, declaration: Declaration) -> Checked:
        """Do the same for a format of text that is no JSON Schema."""
        try:
            if declaration.form is not None and declaration.form.get("type") == "structural_tag":
                raise InvalidTools(_FORMAT, _OTHER_CONSTRAINT)
            wanted = response_format.parse(declaration.form)
            if wanted is not None:
                self.engine.check_text(wanted)
        except RequestError as error:
            problems = error.at(lambda path: declaration.path + path.removeprefix(_FORMAT)).problems
            return Checked(declaration, Status.REFUSED, problems, type(error).__name__)
        return Checked(declaration, Status.EXACT)

    def _relaxable(self, one: Checked) -> bool:
        """Tell whether relaxing would have the refused schema enforced, or a superset of it."""
        if one.error != UnsupportedSchema.__name__:
            return False
        declaration = one.declaration
        schema = {} if declaration.schema is None else declaration.schema
        try:
            with at_most(_STOPPED * SECONDS):
                grammar = compile_schema(
                    schema,
                    root=declaration.root,
                    on_unsupported=OnUnsupported.RELAX,
                    conventions=self.options.conventions,
                )
                if declaration.form is None or self.pieces is None:
                    return True  # of a tool, calls may then be cut off
                return not isinstance(shortest(grammar, self.pieces), Untimed)
        except (SchemaError, TooLong):
            return False


def _refused_too(one: Checked, problem: Problem) -> Checked:
    """Refuse the tool for its name, whatever its schema is."""
    earlier = one.problems if one.status is Status.REFUSED else ()
    return replace(
        one,
        status=Status.REFUSED,
        problems=(problem, *earlier),
        error=one.error or InvalidTools.__name__,
        relaxable=False,
    )


def _timed(one: Checked, seconds: float) -> Checked:
    """Refuse what a server has no time for, whatever came of it, and note what is slow there."""
    if seconds > SECONDS:
        return _too_slow(one, seconds, "it took")
    one = replace(one, milliseconds=seconds * _MILLI)
    if seconds > LOOK and one.status is not Status.REFUSED:
        note = Problem(one.declaration.path, "", _SLOW.format(seconds=seconds))
        return replace(one, surprises=(*one.surprises, note))
    return one


def _too_slow(one: Checked, seconds: float, how: str) -> Checked:
    problem = Problem(one.declaration.path, "", f"{TOO_SLOW}; here {how} {seconds:.1f} s")
    return Checked(
        one.declaration,
        Status.REFUSED,
        (problem,),
        SchemaLimit.__name__,
        milliseconds=seconds * _MILLI,
    )


def _late(declaration: Declaration, late: Sequence[Problem]) -> Checked:
    """Refuse what cannot be finished within a budget, in the words of a server."""
    error = untimed(*late).under(declaration.path)
    return Checked(
        declaration,
        Status.REFUSED,
        error.problems,
        type(error).__name__,
        untimed=tuple(each.under(declaration.path) for each in late),
    )


def _never_given(grammar: ArgumentGrammar, declaration: Declaration) -> Iterator[Problem]:
    """Note the properties of the whole value that nothing fits, unless they are declared so."""
    schema = declaration.schema
    declared = schema.get("properties") if isinstance(schema, Mapping) else None
    shapes = grammar.definitions[grammar.root].objects
    if not isinstance(declared, Mapping) or not shapes:
        return
    never = [{name for name, value in shape.names if value == NEVER} for shape in shapes]
    for name in sorted(set.intersection(*never)):
        said = declared.get(name)
        if isinstance(said, Mapping) and "not" not in said:
            path = step(step(declaration.path, "properties"), name)
            yield Problem(path, "", _NEVER_GIVEN)
