"""Checks of declarations as a server does them, with the lint and the time that they take.

Checks each declaration, and all of a request together against its limits. Must not know: how files
declare schemas (`declarations`), how results are shown (`check_report`).
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time
from types import FrameType
from typing import TYPE_CHECKING, Any

from enforcer.checking.work import LOOK, SECONDS, TOO_SLOW
from enforcer.errors import (
    InvalidTools,
    Problem,
    RequestError,
    SchemaError,
    SchemaLimit,
    UnsupportedSchema,
)
from enforcer.request import response_format
from enforcer.request.spec import too_large
from enforcer.request.tools import as_text, read_name
from enforcer.schema import OnUnsupported, Root, compile_schema
from enforcer.schema.grammar import NEVER, ArgumentGrammar
from enforcer.schema.reading.document import step
from enforcer.schema.reading.mistakes import NO_VALUE, mistake
from enforcer.tools.cli.check_report import CheckedSchema, Oversized, SchemaStatus
from enforcer.tools.lint import notes
from enforcer.turn.request_envelope import refuse_name

if TYPE_CHECKING:
    from enforcer.engines import ArgumentEngine
    from enforcer.layouts import BoundLayout
    from enforcer.request.options import Options
    from enforcer.schema.limits import Limits
    from enforcer.tools.cli.declarations import Declaration
    from enforcer.turn.dialect import Dialect

_MILLI = 1000
_OTHER_CONSTRAINT = (
    "the server enforces tool calls itself: a `structural_tag` of the client's own cannot be "
    "combined with that; leave it out"
)
_FORMAT = "$.response_format"  # the path of errors about a response format
_NEVER_GIVEN = f"{NO_VALUE}, so that this property can never be given; is that meant?"
# Times that a server has. To know how far off a schema is helps; nobody waits minutes for it.
_STOPPED = 5
# By which the processor's clock goes on, in seconds, while `at_most` has set its timer.
_TICK = 0.004
_SLOW = (
    "it counts as slow on a server, which checks it after all others, and answers 503 where too "
    "many of these wait; here it took {seconds:.1f} s of processor time"
)


class TooLong(BaseException):  # no `Exception`, lest what is ended take it for an error of its own
    """The time limit of `at_most` is over."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Limit the processor time of the code inside.

    Python ends it between two of its steps, and so not within a call of a library. Works in the
    main thread only, which alone receives signals.

    Raises:
        TooLong: the time is over.

    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True, slots=True)
class Judge:
    """The decisions of a server on schemas and formats.

    Attributes:
        engine: the argument engine.
        options: the mode for unsupported schemas, and how schemas are read.
        dialect: the tool-call format.
        layout: of arguments in that format.
        seen: tools and formats of earlier documents, with their schemas.

    """

    engine: ArgumentEngine
    options: Options
    dialect: Dialect
    layout: BoundLayout
    seen: set[tuple[str, str]] = field(default_factory=set)

    def check(self, declared: Sequence[Declaration]) -> Iterator[CheckedSchema]:
        """Check the declarations of one document that no earlier document has."""
        names: set[str] = set()
        before = frozenset(self.seen)
        for each in declared:
            is_format, is_tool = each.form is not None, each.root is Root.OBJECT
            name = each.path if is_format else repr(each.name)
            said = json.dumps(each.form if is_format else each.schema, sort_keys=True)
            if (name, said) in before and (is_format or (is_tool and name not in names)):
                names.add(name)
                continue
            self.seen.add((name, said))
            one = self._check(each)
            if is_tool and name in names:
                one.refuse(InvalidTools(each.name_path, "the name is declared twice"))
            elif is_tool:
                names.add(name)
                try:
                    read_name(each.name, each.name_path)
                    refuse_name(self.dialect, str(each.name), each.name_path)
                except InvalidTools as error:
                    one.refuse(error)
            yield one

    def _check(self, declaration: Declaration) -> CheckedSchema:
        """Check one schema or format, and note if it is slow on a server."""
        one = CheckedSchema(declaration)
        begun, at_first = process_time(), perf_counter()
        how = "took"
        try:
            with at_most(_STOPPED * SECONDS):
                self._enforce(one)
        except RequestError as error:
            one.refuse(error)
        except TooLong:
            how = "was stopped after"
        seconds = process_time() - begun
        if seconds > SECONDS:
            one = CheckedSchema(declaration)
            reason = f"{TOO_SLOW}; here it {how} {seconds:.1f} s"
            one.refuse(SchemaLimit.of(declaration.path, "", reason))
        elif seconds > LOOK and one.status is not SchemaStatus.REFUSED:
            one.notes += (Problem(declaration.path, "", _SLOW.format(seconds=seconds)),)
        took = max(seconds, min(seconds + _TICK, perf_counter() - at_first))
        one.milliseconds = round(took * _MILLI, 3)
        if declaration.form is not None and declaration.schema is None:
            return one
        if (
            one.status is SchemaStatus.REFUSED
            and self.options.on_unsupported is OnUnsupported.REFUSE
        ):
            one.relaxable = self._relaxable(one)
        if isinstance(declaration.schema, Mapping):
            noted = notes(declaration.schema, closed=self.options.conventions.closed_objects)
            found = (each.under(declaration.path) for each in noted)
            one.notes += tuple(each for each in found if each not in one.problems)
        return one

    def _enforce(self, one: CheckedSchema) -> None:
        """Check a schema or format as a server does before it accepts a request.

        Raises:
            RequestError: it is rejected.

        """
        declaration, schema = one.declaration, one.declaration.schema
        if declaration.form is not None and schema is None:
            try:
                self._enforce_text(declaration.form)
            except RequestError as error:
                raise error.at(lambda at: declaration.path + at.removeprefix(_FORMAT)) from error
            return
        if declaration.root is Root.OBJECT and not isinstance(schema, Mapping | None):
            reason = f"a tool's schema must be an object, not {type(schema).__name__}"
            raise InvalidTools(declaration.path, reason)
        try:
            grammar = self._compiled(declaration, self.options.on_unsupported)
            # A schema by itself may be of any text; arguments are laid out as the format has them.
            layout = self.layout if declaration.root is Root.OBJECT else None
            self.engine.check(grammar, layout)
        except SchemaError as error:
            raise error.under(declaration.path) from error
        one.rules = len(grammar.definitions)
        one.notes = tuple(_never_given(grammar, declaration))
        if grammar.relaxed:
            one.status = SchemaStatus.RELAXED
            one.problems = tuple(each.under(declaration.path) for each in grammar.relaxed)

    def _enforce_text(self, form: Mapping[str, Any]) -> None:
        """Check a text format that is no JSON Schema."""
        kind = str(form.get("type", ""))
        if kind == "structural_tag":
            raise InvalidTools(_FORMAT, _OTHER_CONSTRAINT)
        wanted = response_format.parse(form)
        if wanted is not None:
            self.engine.check(wanted)

    def _compiled(self, declaration: Declaration, on_unsupported: OnUnsupported) -> ArgumentGrammar:
        return compile_schema(
            {} if declaration.schema is None else declaration.schema,
            root=declaration.root,
            on_unsupported=on_unsupported,
            conventions=self.options.conventions,
        )

    def _relaxable(self, one: CheckedSchema) -> bool:
        """Return whether relaxing would enforce the rejected schema or a superset."""
        if one.error != UnsupportedSchema.__name__:
            return False
        try:
            with at_most(_STOPPED * SECONDS):
                self._compiled(one.declaration, OnUnsupported.RELAX)
                return True
        except (SchemaError, TooLong):
            return False


def _never_given(grammar: ArgumentGrammar, declaration: Declaration) -> Iterator[Problem]:
    """Note properties of the root without any valid value, unless that is declared."""
    schema = declaration.schema
    declared = schema.get("properties") if isinstance(schema, Mapping) else None
    shapes = grammar.definitions[grammar.root].objects
    if not isinstance(declared, Mapping) or not shapes:
        return
    never = [{name for name, value in shape.names if value == NEVER} for shape in shapes]
    for name in sorted(set.intersection(*never)):
        said = declared.get(name)
        if isinstance(said, Mapping) and "not" not in said and not _is_noted(said):
            path = step(step(declaration.path, "properties"), name)
            yield Problem(path, "", _NEVER_GIVEN)


def _is_noted(schema: Mapping[str, Any]) -> bool:
    """Return whether the lint already notes that no value is valid."""
    return any((mistake(schema, keyword) or "").startswith(NO_VALUE) for keyword in schema)


def oversized(declared: Sequence[Declaration], limits: Limits) -> Iterator[Oversized]:
    """Yield the declarations of one document that together are over a request's limits."""
    together: dict[tuple[bool, str], list[Declaration]] = {}
    for one in declared:
        if one.request is not None:
            together.setdefault((True, one.request), []).append(one)
        elif one.root is Root.OBJECT:
            together.setdefault((False, one.path.rpartition("[")[0] or "$"), []).append(one)
    for (is_request, path), group in together.items():
        tools = sum(one.root is Root.OBJECT for one in group)
        reason = too_large(tools, sum(map(_size, group)), limits)
        if reason is not None:
            at = f"{path}.tools" if is_request and tools else group[0].path if is_request else path
            yield Oversized(group[0].where, at, reason, is_request)


def _size(one: Declaration) -> int:
    """Return the characters of a schema in a spec; 0 if it is rejected by itself."""
    try:
        return 0 if one.schema is None else len(as_text(one.schema, one.path))
    except InvalidTools:
        return 0
